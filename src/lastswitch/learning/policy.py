"""The one policy interface: ask for a pull, tell its reward.

Writing a policy
----------------
Subclass :class:`Policy` and give it

- ``choose(track, allowed) -> arm``: which arm to play for the subject of this
  :class:`~lastswitch.learning.tracks.Track` (``allowed`` is ``None`` or one bool per arm). It may
  set ``track.note`` to anything JSON-able that it wants back with this pull's reward. It does not
  move the states: the base class does.
- ``learn(pull, reward, note)``: what a reward teaches (default: nothing).
- ``missed(pull, note)``: called when a reward is told as missing (default: nothing).
- ``shared``: names of the attributes that hold what it has learned, as JSON-able values or NumPy
  arrays. They are what a saved file holds besides the tracks.

Keep every constructor argument as an attribute of the same name, so that the policy can be built
again from a file (or override ``parameters``). Randomness comes from ``self.rng`` alone, which the
file also holds. :func:`lastswitch.testing.check_policy` checks the whole contract.

What is kept
------------
A reward may be told at any time, so every told reward is remembered, as 8 bytes per pull, to tell a
harmless repetition from a contradiction. A pull whose reward never comes stays open (some 300
bytes); ``tell(id, None)`` closes it.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from inspect import signature
from operator import index
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._checks import check_whole
from lastswitch._random import stream
from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning.tracks import Subject, Track
from lastswitch.states import as_allowed, as_array

Mask = tuple[bool, ...]

_new_tuple = tuple.__new__
_NAN = math.nan

#: Every policy class by the name its files carry.
REGISTRY: dict[str, type[Policy]] = {}


class Pull(NamedTuple):
    """What to play now, and the id under which to tell its reward.

    Examples
    --------
    >>> Pull(id=0, arm=2, tau=1, subject=None).arm
    2
    """

    id: int
    arm: int
    tau: int
    subject: Subject


class Policy(ABC):
    """Base of every policy: ids, subjects, states, late rewards and files.

    Not safe to share between threads; wrap it in a lock if you must.

    Parameters
    ----------
    n_arms
        Number of arms.
    initial
        States every subject starts in: one integer, or one per arm. The paper's delay models
        start at -1.
    seed
        Seeds ``self.rng``; leave it to ``None`` in a policy that draws nothing.

    Examples
    --------
    A policy that plays whatever arm has rested longest:

    >>> class RoundRobin(Policy):
    ...     def choose(self, track, allowed):
    ...         states = track.state()
    ...         arms = [i for i in range(self.n_arms) if allowed is None or allowed[i]]
    ...         return max(arms, key=states.__getitem__)
    >>> policy = RoundRobin(3)
    >>> pull = policy.ask(subject="ann")
    >>> policy.tell(pull.id, 1.0)
    >>> [policy.ask(subject="ann").arm for _ in range(3)]
    [1, 2, 0]
    >>> policy
    RoundRobin(3 arms, 4 pulls for 1 subject)
    """

    #: Attributes that hold what the policy has learned.
    shared: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, n_arms: int, *, initial: int | Sequence[int] = 1, seed: int | None = None
    ) -> None:
        self.n_arms = check_whole("n_arms", n_arms, 1, PolicyError)
        self.initial = initial
        self.seed = seed
        self.generator: np.random.Generator | None = None  # behind `rng`; saved with the policy
        if seed is not None:
            check_whole("seed", seed, 0, PolicyError)
            self.generator = stream(seed, "policy", type(self).__name__)
        self._start = _start_states(initial, self.n_arms)
        self._tracks: dict[Subject, Track] = {}
        self._open: dict[int, tuple[Pull, Any]] = {}
        self._rewards = array("d")  # by id; NaN where there is none (yet)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.type_name()] = cls

    def __repr__(self) -> str:
        pulls, subjects = len(self._rewards), len(self._tracks)
        return (
            f"{type(self).__name__}({self.n_arms} arm{'s' * (self.n_arms != 1)}, "
            f"{pulls} pull{'s' * (pulls != 1)} for {subjects} subject{'s' * (subjects != 1)})"
        )

    @property
    def rng(self) -> np.random.Generator:
        """Where a policy's random numbers come from, if it was given a seed."""
        if self.generator is None:
            raise PolicyError(
                f"{type(self).__name__} draws random numbers and has no seed; give it one, such "
                "as seed=0."
            )
        return self.generator

    # What a policy author writes.

    @abstractmethod
    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm to play for the subject of ``track``."""

    def learn(self, pull: Pull, reward: float, note: Any) -> None:  # noqa: B027
        """Learn from the reward of ``pull``; ``note`` is what ``choose`` left in the track."""

    def missed(self, pull: Pull, note: Any) -> None:  # noqa: B027
        """Hear that the reward of ``pull`` will never come."""

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments, as JSON-able values."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def state(self) -> dict[str, Any]:
        """Return what the policy has learned, as JSON-able values and arrays."""
        return {name: getattr(self, name) for name in self.shared}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` returned."""
        for name in self.shared:
            setattr(self, name, state[name])

    # What a user calls.

    def ask(self, subject: Subject = None, allowed: ArrayLike | None = None) -> Pull:
        """Return the next pull for ``subject``.

        Parameters
        ----------
        subject
            Whose turn it is. Subjects have their own states and blocks and share what is learned;
            one not seen before starts in ``initial``.
        allowed
            The arms that may be played now: one True or False per arm, or a list of arms by number.
        """
        mask = None if allowed is None else self._mask(allowed)
        try:
            track = self._tracks.get(subject)
        except TypeError:  # a list, say, which `enrol` refuses
            track = None
        if track is None:
            track = self.enrol(subject)
        arm = self.choose(track, mask)
        if arm.__class__ is not int:
            arm = index(arm)
        if not 0 <= arm < self.n_arms or (mask is not None and not mask[arm]):
            raise PolicyError(
                f"{type(self).__name__}.choose returned arm {arm}, which is not one of the "
                f"{self.n_arms} arms allowed now; mend its choose()."
            )
        note = track.note
        track.note = None
        number = len(self._rewards)
        # Half the cost of Pull(...), which would only repack its four arguments.
        pull = _new_tuple(Pull, (number, arm, track.play(arm), subject))
        self._rewards.append(_NAN)
        self._open[number] = (pull, note)
        return pull

    def tell(self, id: int, reward: float | None) -> None:  # noqa: A002 - the contract's word
        """Give the reward of pull ``id``: now or later, in any order, or as missing.

        Repeating the same reward does nothing. ``None`` and NaN say that it will never come.

        Raises
        ------
        TellError
            If no such pull was asked, its reward is infinite, or it already has another one.
        """
        if reward.__class__ is float and reward - reward == 0.0:  # the common case, finite
            value = reward
        else:
            value = _reward(id, reward)
        try:
            entry = self._open.get(id)
        except TypeError:  # a list, say, which is no pull's id
            entry = None
        if entry is None:
            self._check_repeat(id, value)
            return
        pull, note = entry
        if value == value:
            self.learn(pull, value, note)
            self._rewards[id] = value
        else:
            self.missed(pull, note)
        del self._open[id]

    @property
    def outstanding(self) -> list[Pull]:
        """Pulls whose reward has not been told, oldest first."""
        return [pull for pull, _ in self._open.values()]

    @property
    def subjects(self) -> list[Subject]:
        """Subjects seen so far, in order of appearance."""
        return list(self._tracks)

    @property
    def n_asked(self) -> int:
        """Pulls asked so far."""
        return len(self._rewards)

    def track(self, subject: Subject = None) -> Track:
        """Return the track of ``subject``, enrolling it if it is new."""
        found = self._tracks.get(subject)
        return self.enrol(subject) if found is None else found

    def enrol(self, subject: Subject = None, state: Sequence[int] | None = None) -> Track:
        """Add a subject, in ``state`` if its arms do not start in ``initial``."""
        if subject is not None and not isinstance(subject, str | int):
            raise InputTypeError(
                f"a subject is a string, an integer or None, got {subject!r} "
                f"({type(subject).__name__}); pass a name that a file can hold."
            )
        if subject in self._tracks:
            raise PolicyError(
                f"subject {subject!r} is already known; enrol it before its first ask."
            )
        start = self._start if state is None else _start_states(state, self.n_arms)
        self._tracks[subject] = track = Track(start)
        return track

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole policy to ``path``; :func:`load_policy` resumes it bit for bit."""
        from lastswitch.learning.saving import save_policy

        return save_policy(self, path)

    @classmethod
    def type_name(cls) -> str:
        """Return the name by which files call this class: bare for this library's own."""
        if cls.__module__.startswith("lastswitch."):
            return cls.__name__
        return f"{cls.__module__}.{cls.__qualname__}"

    # Internals.

    def _mask(self, allowed: ArrayLike) -> Mask:
        """Return ``allowed`` as one bool per arm."""
        return tuple(as_allowed(allowed, self.n_arms, PolicyError).tolist())

    def _check_repeat(self, number: int, value: float) -> None:
        """Accept a reward told again, refuse one that contradicts the first or has no pull."""
        if not (isinstance(number, int | np.integer) and 0 <= number < len(self._rewards)):
            raise TellError(
                f"pull {number!r} was never asked; ids run from 0 to {len(self._rewards) - 1}."
                if self._rewards
                else f"pull {number!r} was never asked: nothing has been asked yet."
            )
        first = self._rewards[number]
        if first == value or (first != first and value != value):
            return
        shown, again = ("missing" if v != v else v for v in (first, value))
        raise TellError(
            f"pull {number} was already told {shown}, now {again}; "
            "tell each pull once, or repeat the same reward."
        )


def _reward(number: int, reward: float | None) -> float:
    """Return ``reward`` as a float, NaN when it is missing."""
    if reward is None:
        return math.nan
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"a reward is a number, or None when missing, got {reward!r} for pull {number}."
        ) from None
    if not math.isinf(value):
        return value
    raise TellError(f"the reward of pull {number} must be finite, got {value}.")


def _start_states(initial: int | Sequence[int], n_arms: int) -> tuple[int, ...]:
    """Return one start state per arm."""
    states = as_array(initial)
    if states.dtype.kind not in "iu" or states.shape not in ((), (n_arms,)):
        raise PolicyError(f"start states must be one integer or {n_arms} of them, got {initial!r}.")
    return tuple(np.broadcast_to(states, n_arms).tolist())
