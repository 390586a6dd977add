"""What the author of a policy writes: how it chooses, and what a reward teaches it.

Subclass :class:`~lastswitch.learning.Policy` and give it

- ``choose(track, allowed) -> arm``: which arm to play for the subject of this
  :class:`~lastswitch.learning.tracks.Track` (``allowed`` is ``None`` or one bool per arm). It may
  set ``track.note`` to anything JSON-able that it wants back with this pull's reward. It does not
  move the states: the base class does. A policy of several plays a round, or of none or one
  (``plays=(0, 1)``), has ``choose_round(track, allowed) -> arms`` instead, and if it keeps count of
  its plays, ``playing(track, arms)``, called when they are really played; its note comes back with
  each of the round's pulls.
- ``learn(pull, reward, note)``: what a reward teaches (default: nothing). Whatever the range the
  policy was told, ``reward`` lies in [0, 1].
- ``missed(pull, note)``: called when a reward is told as missing (default: nothing).
- ``shared``: names of the attributes that hold what it has learned, as JSON-able values or NumPy
  arrays. They are what a snapshot holds besides the tracks.

Keep every constructor argument as an attribute of the same name, so that the policy can be built
again from a file (or override ``parameters``). Randomness comes from ``self.rng`` alone, which a
snapshot also holds. Whatever else ``choose`` changes must be something it can work out again:
proposals are tried out and undone through ``learned`` and ``relearn``.
:func:`lastswitch.testing.check_policy` checks the whole contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from inspect import signature
from operator import index
from typing import Any, ClassVar

import numpy as np

from lastswitch._checks import check_whole
from lastswitch._random import stream
from lastswitch.bandit import checked_plays
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.checks import (
    MOST_ARMS,
    check_like,
    check_range,
    generator_state,
    start_states,
)
from lastswitch.learning.ledger import Pull
from lastswitch.learning.proposals import Mask
from lastswitch.learning.tracks import Track

#: One play in every round.
ONE_PLAY = (1, 1)


class Chooser:
    """The half of a :class:`~lastswitch.learning.Policy` that its author writes."""

    #: Attributes that hold what the policy has learned.
    shared: ClassVar[tuple[str, ...]] = ()
    #: Whether rewards teach it anything; one that learns nothing takes any finite reward.
    learns: ClassVar[bool] = True

    def __init__(
        self,
        n_arms: int,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int | None = None,
        plays: int | tuple[int, int] = 1,
    ) -> None:
        self.n_arms = check_whole("n_arms", n_arms, 1, PolicyError, MOST_ARMS)
        self.plays = checked_plays(plays, self.n_arms)
        how = "choose" if self.plays == ONE_PLAY else "choose_round"
        if getattr(type(self), how) is getattr(Chooser, how):
            raise InputTypeError(
                f"{type(self).__name__} has no {how}(track, allowed), and plays={plays!r} needs it."
            )
        self._start = start_states(initial, self.n_arms)
        self.initial = self._start if np.ndim(initial) else self._start[0]
        self.rewards = check_range(rewards)
        self.seed = None if seed is None else check_whole("seed", seed, 0, PolicyError)
        #: Behind `rng`; part of every snapshot.
        self.generator: np.random.Generator | None = None
        if self.seed is not None:
            self.generator = stream(self.seed, "policy", type(self).__name__)

    @property
    def rng(self) -> np.random.Generator:
        """Where a policy's random numbers come from, if it was given a seed."""
        if self.generator is None:
            raise PolicyError(
                f"{type(self).__name__} draws random numbers and has no seed; give it one, such "
                "as seed=0."
            )
        return self.generator

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm to play for the subject of ``track``."""
        raise self._plays_rounds()

    def choose_round(self, track: Track, allowed: Mask | None) -> Iterable[int]:
        """Return the arms to play this round for the subject of ``track``, none for silence."""
        return (self.choose(track, allowed),)

    def playing(self, track: Track, arms: tuple[int, ...]) -> None:
        """Hear which arms the round plays, right before the states move.

        Only of a policy that has ``choose_round``, and not of rounds that are only proposed.
        """

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Learn from the reward of ``pull``; ``note`` is what ``choose`` left in the track."""

    def missed(self, pull: Pull, note: Any) -> None:
        """Hear that the reward of ``pull`` will never come."""

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments, from which an equal policy can be built."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def learned(self) -> dict[str, Any]:
        """Return what the policy has learned, as JSON-able values and arrays."""
        return {name: getattr(self, name) for name in self.shared}

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what :meth:`learned` returned, if it can be what such a policy learns."""
        for name in self.shared:
            check_like(name, learned[name], getattr(self, name))
        for name in self.shared:
            setattr(self, name, learned[name])

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a track, or the notes of its open pulls, that this policy cannot have left."""

    def describe(self) -> dict[str, Any]:
        """Return, as plain JSON, all that makes this policy behave unlike another.

        That is its class and its arguments, large ones (a bandit, a prior) by their digest: what
        a store of results keys its entries by.

        Examples
        --------
        >>> from lastswitch.learning import FixedCycle
        >>> FixedCycle((0, 1)).describe() == FixedCycle([0, 1], n_arms=None).describe()
        True
        """
        from lastswitch.learning.saving import describe

        return describe(self)

    @classmethod
    def type_name(cls) -> str:
        """Return the name by which files call this class: bare for this library's own."""
        if cls.__module__.startswith("lastswitch."):
            return cls.__name__
        return f"{cls.__module__}.{cls.__qualname__}"

    def _choice(self, track: Track, mask: Mask | None) -> int:
        """Return the arm that is chosen, if it may be played."""
        return self._checked(self.choose(track, mask), mask)

    def _checked(self, choice: int, mask: Mask | None) -> int:
        arm = index(choice)
        if not 0 <= arm < self.n_arms or (mask is not None and not mask[arm]):
            raise PolicyError(
                f"{type(self).__name__}.choose returned arm {arm}, which is not one of the "
                f"{self.n_arms} arms allowed now; mend its choose()."
            )
        return arm

    def _round_choice(self, track: Track, mask: Mask | None) -> tuple[int, ...]:
        """Return the arms that are chosen, in order, if they may be played."""
        return self._checked_round(self.choose_round(track, mask), mask)

    def _checked_round(self, choice: Iterable[int], mask: Mask | None) -> tuple[int, ...]:
        arms, (least, most) = tuple(sorted(map(index, choice))), self.plays
        free = all(0 <= arm < self.n_arms and (mask is None or mask[arm]) for arm in arms)
        if not free or len(set(arms)) < len(arms) or not least <= len(arms) <= most:
            raise PolicyError(
                f"{type(self).__name__}.choose_round returned {arms}; a round plays {least} to "
                f"{most} different arms, of those allowed now. Mend its choose_round()."
            )
        return arms

    def _plays_rounds(self) -> PolicyError:
        """Return the error for asking for one pull where a round may have more, or none."""
        least, most = self.plays
        return PolicyError(
            f"this policy plays {least} to {most} arms a round, and ask gives one; call ask_round, "
            "which gives the pulls of the whole round."
        )

    def _mark(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return what a choice may change apart from its track, for :meth:`_undo`."""
        return deepcopy(self.learned()), generator_state(self.generator)

    def _undo(self, mark: tuple[dict[str, Any], dict[str, Any] | None]) -> None:
        self.relearn(mark[0])
        if self.generator is not None and mark[1] is not None:
            self.generator.bit_generator.state = mark[1]
