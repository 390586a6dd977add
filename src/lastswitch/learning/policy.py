"""The one policy interface: ask for a pull, tell its reward.

Writing a policy
----------------
Subclass :class:`Policy` and give it

- ``choose(track, allowed) -> arm``: which arm to play for the subject of this
  :class:`~lastswitch.learning.tracks.Track` (``allowed`` is ``None`` or one bool per arm). It may
  set ``track.note`` to anything JSON-able that it wants back with this pull's reward. It does not
  move the states: the base class does.
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

What is kept
------------
A reward may be told at any time, so every told reward is remembered, as 8 bytes per pull, to tell a
harmless repetition from a contradiction. A pull whose reward never comes stays open (some 400
bytes); ``tell(id, None)`` closes it.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from inspect import signature
from operator import index
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._checks import check_whole
from lastswitch._random import stream
from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning.checks import (
    FINITE,
    MOST_ARMS,
    check_like,
    check_range,
    check_subject,
    generator_from,
    generator_state,
    start_states,
)
from lastswitch.learning.ledger import Ledger, checked_pull
from lastswitch.learning.ledger import Pull as Pull
from lastswitch.learning.tracks import FARTHEST, Subject, Track
from lastswitch.states import as_allowed

Mask = tuple[bool, ...]

#: Every policy class by the name its files carry.
REGISTRY: dict[str, type[Policy]] = {}


class Proposal(NamedTuple):
    """A pull that waits to be confirmed, its round, and the arms that were allowed."""

    pull: Pull
    round: int
    allowed: Mask | None


class Policy(ABC):
    """Base of every policy: ids, subjects, states, clocks, late rewards and files.

    Not safe to share between threads; wrap it in a lock if you must.

    Parameters
    ----------
    n_arms
        Number of arms.
    initial
        States every subject starts in: one integer, or one per arm. The paper's delay models
        start at -1.
    rewards
        The smallest and the largest reward there can be. A reward outside is refused; those
        inside are learned as shares of the range, so that 0 is the smallest and 1 the largest.
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
    #: Whether rewards teach it anything; one that learns nothing takes any finite reward.
    learns: ClassVar[bool] = True

    def __init__(
        self,
        n_arms: int,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int | None = None,
    ) -> None:
        self.n_arms = check_whole("n_arms", n_arms, 1, PolicyError, MOST_ARMS)
        self._start = start_states(initial, self.n_arms)
        self.initial = self._start if np.ndim(initial) else self._start[0]
        self.rewards = check_range(rewards)
        self._low, self._high = self.rewards if self.learns else (-FINITE, FINITE)
        self._scaled = self.learns and self.rewards != (0.0, 1.0)
        self.seed = None if seed is None else check_whole("seed", seed, 0, PolicyError)
        #: Behind `rng`; part of every snapshot.
        self.generator: np.random.Generator | None = None
        if self.seed is not None:
            self.generator = stream(self.seed, "policy", type(self).__name__)
        #: The files it was loaded from and saved to, and what it left there.
        self.files: dict[Path, str] = {}
        self._tracks: dict[Subject, Track] = {}
        self._proposals: dict[str, Proposal] = {}
        self._standing: dict[Subject, str] = {}  # the proposal of each subject
        self._ledger, self._earlier = Ledger(), 0
        # Once more by themselves: an ask and a tell take about a microsecond.
        self._open, self._told = self._ledger.open, self._ledger.rewards
        self._issue = self._ledger.issue

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.type_name()] = cls

    def __repr__(self) -> str:
        pulls, subjects = self.n_asked, len(self._tracks)
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

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:  # noqa: B027
        """Refuse a track, or the notes of its open pulls, that this policy cannot have left."""

    # What a user calls.

    def ask(
        self,
        subject: Subject = None,
        *,
        at: int | None = None,
        allowed: ArrayLike | None = None,
        confirm: bool = True,
    ) -> Pull:
        """Return the next pull for ``subject``.

        Parameters
        ----------
        subject
            Whose turn it is. Subjects have their own states, clocks and blocks and share what is
            learned; one not seen before starts in ``initial``.
        at
            The round to be played, on the subject's clock. Rounds it has skipped are rounds of
            rest. By default the round after its last play, or after :meth:`advance`. A subject's
            clock starts at its first ``at``, or at 0.
        allowed
            The arms that may be played now: one True or False per arm, or a list of arms by number.
        confirm
            ``True``: the pull is played, and the states move. ``False``: it is proposed, and
            nothing moves until :meth:`confirm`. A proposal stands until it is confirmed or
            cancelled, or the subject's clock leaves its round; while it stands, it is the answer to
            every further ask of its subject (one with ``confirm=True`` confirms it), unless that
            ask names another round or forbids its arm, which withdraws it.
        """
        mask = None if allowed is None else self._mask(allowed)
        try:
            track = self._tracks.get(subject)
        except TypeError:  # a list, say, which `enrol` refuses
            track = None
        if track is None or at is not None or self._standing or not confirm:
            return self._ask(subject, at, mask, confirm)
        arm = self.choose(track, mask)
        if arm.__class__ is not int or mask is not None or not 0 <= arm < self.n_arms:
            arm = self._checked(arm, mask)
        note = track.note
        if note is not None:
            track.note = None
        return self._issue(arm, track.play(arm), subject, note)

    def confirm(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the proposed pull ``id`` is played: now its arms' states move.

        If the policy would by now choose another arm, the proposed one is played all the same and
        what was planned to follow it is planned anew. Confirming again does nothing.
        """
        proposal = self._proposals.get(id)
        if proposal is None:
            if self._ledger.place(id) is None:
                raise _not_proposed(id)
            return
        pull, at, allowed = proposal
        self._withdraw(pull.subject)
        track = self._at(pull.subject, at)
        before = self._mark()
        trial = track.copy()
        arm = self._choice(track, allowed)
        if arm != pull.arm:
            self._undo(before)
            track = self._tracks[pull.subject] = trial
            self._choice(track, tuple(other == pull.arm for other in range(self.n_arms)))
            if track.block:
                track.block, track.at = (), 0
        note = track.note
        track.note = None
        track.play(pull.arm)
        self._ledger.enter(pull, note)

    def cancel(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the proposed pull ``id`` is not played: it is as if it had not been asked."""
        proposal = self._proposals.get(id)
        if proposal is not None:
            self._withdraw(proposal.pull.subject)
        elif self._ledger.place(id) is not None:
            raise PolicyError(
                f"pull {id!r} is confirmed, and what is played cannot be cancelled; if its reward "
                "will never come, tell(id, None)."
            )
        else:
            raise _not_proposed(id)

    def advance(self, subject: Subject = None, rounds: int = 1) -> None:
        """Let ``rounds`` go by in which ``subject`` plays nothing: every arm rests.

        A proposal that stands for the subject expires. A subject not seen before is enrolled
        first, in ``initial``.
        """
        check_whole("rounds", rounds, 0, PolicyError, FARTHEST)
        track = self.track(subject)
        if rounds:
            check_whole("the round after the rest", track.now + rounds, 0, PolicyError, FARTHEST)
            self._withdraw(subject)
            track.rest(int(rounds))

    def tell(self, id: str, reward: float | None) -> None:  # noqa: A002 - the contract's word
        """Give the reward of pull ``id``: now or later, in any order, or as missing.

        Repeating the same reward does nothing. ``None`` and NaN say that it will never come.

        Raises
        ------
        TellError
            If no such pull was played, its reward lies outside ``rewards``, or it already has
            another one.
        """
        if reward.__class__ is float and self._low <= reward <= self._high:  # the common case
            value = reward
        else:
            value = self._reward(id, reward)
        try:
            entry = self._open.get(id)
        except TypeError:  # a list, say, which is no pull's id
            entry = None
        if entry is None:
            if id.__class__ is str and id in self._proposals:
                raise TellError(f"pull {id!r} is only proposed; confirm it before its reward.")
            self._ledger.check_repeat(id, value)
            return
        pull, note, place = entry
        if value == value:
            self.learn(pull, self._share(value) if self._scaled else value, note)
            self._told[place] = value
        else:
            self.missed(pull, note)
        del self._open[id]

    @property
    def outstanding(self) -> list[Pull]:
        """Pulls played whose reward has not been told, oldest first."""
        return [pull for pull, _, _ in self._open.values()]

    @property
    def proposed(self) -> list[Pull]:
        """Pulls that wait to be confirmed or cancelled, oldest first."""
        return [proposal.pull for proposal in self._proposals.values()]

    @property
    def subjects(self) -> list[Subject]:
        """Subjects seen so far, in order of appearance."""
        return list(self._tracks)

    @property
    def n_asked(self) -> int:
        """Pulls played so far."""
        return len(self._ledger.rewards) - self._earlier

    def track(self, subject: Subject = None) -> Track:
        """Return the track of ``subject``, enrolling it if it is new."""
        check_subject(subject)
        found = self._tracks.get(subject)
        return self.enrol(subject) if found is None else found

    def enrol(
        self, subject: Subject = None, state: Sequence[int] | None = None, *, at: int = 0
    ) -> Track:
        """Add a subject in round ``at``, in ``state`` if its arms do not start in ``initial``."""
        check_subject(subject)
        if subject in self._tracks:
            raise PolicyError(
                f"subject {subject!r} is already known; enrol it before its first ask."
            )
        began = check_whole("at", at, 0, PolicyError, FARTHEST)
        start = self._start if state is None else start_states(state, self.n_arms)
        self._tracks[subject] = track = Track(start, began)
        return track

    def describe(self) -> dict[str, Any]:
        """Return, as plain JSON, all that makes this policy behave unlike another.

        That is its class and its arguments, large ones (a bandit, a prior) by their digest: what
        a store of results keys its entries by.

        Examples
        --------
        >>> from lastswitch.learning import FixedCycle
        >>> FixedCycle([0, 1]).describe()["parameters"]["block"]
        [0, 1]
        """
        from lastswitch.learning.saving import describe

        return describe(self)

    def snapshot(self) -> dict[str, Any]:
        """Return everything the policy has seen and become, for :meth:`resume`.

        Examples
        --------
        >>> from lastswitch.learning import FixedCycle
        >>> policy, again = FixedCycle([0, 1]), FixedCycle([0, 1])
        >>> pull = policy.ask("ann")
        >>> again.resume(policy.snapshot())
        >>> again.ask("ann").arm
        1
        """
        return {
            "learned": deepcopy(self.learned()),
            "generator": generator_state(self.generator),
            "tracks": [[subject, *track.to_row()] for subject, track in self._tracks.items()],
            "proposals": [[*pull, *rest] for pull, *rest in self._proposals.values()],
            **self._ledger.snapshot(),
        }

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Go on where ``snapshot`` was taken, of a policy built with the same arguments.

        Only for a policy that has not been asked yet.
        """
        if self._tracks or self.n_asked:
            raise PolicyError("only a fresh policy can resume a snapshot; build a new one.")
        starts: dict[tuple[int, ...], tuple[int, ...]] = {self._start: self._start}
        for subject, *row in snapshot["tracks"]:
            check_subject(subject)
            track = Track.from_row(row, self.n_arms)
            track.start = starts.setdefault(track.start, track.start)  # share equal starts
            self._tracks[subject] = track
        self._ledger.resume(snapshot, self.n_arms)
        for *given, at, allowed in snapshot["proposals"]:
            self._propose_again(checked_pull(self.n_arms, *given), at, allowed)
        notes: dict[Subject, list[Any]] = {}
        for pull, note, _ in self._open.values():
            if pull.subject not in self._tracks:
                raise PolicyError(f"pull {pull.id!r} is of a subject that is not there.")
            notes.setdefault(pull.subject, []).append(note)
        self.relearn(deepcopy(snapshot["learned"]))
        for subject, track in self._tracks.items():
            self.check_kept(track, notes.get(subject, ()))
        self.generator = generator_from(snapshot["generator"], self.generator)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole policy to ``path``; :func:`load_policy` resumes it bit for bit.

        Refuses to write over a file that another policy has saved since this one was loaded from
        it or saved to it.
        """
        from lastswitch.learning.saving import save_policy

        return save_policy(self, path)

    def accompany(self, other: Policy, played: int) -> None:
        """See the subjects of ``other``, and count its pulls as one's own after the first few.

        For a policy that runs another one inside; ``played`` are the pulls before that one began.
        """
        self._tracks, self._ledger, self._earlier = other._tracks, other._ledger, played

    @classmethod
    def type_name(cls) -> str:
        """Return the name by which files call this class: bare for this library's own."""
        if cls.__module__.startswith("lastswitch."):
            return cls.__name__
        return f"{cls.__module__}.{cls.__qualname__}"

    # Internals.

    def _ask(self, subject: Subject, at: int | None, mask: Mask | None, confirm: bool) -> Pull:
        """Ask with a clock, a proposal, or for a new subject."""
        check_subject(subject)
        proposal = self._proposals.get(self._standing.get(subject, ""))
        track = self._tracks.get(subject)
        if at is not None:
            at = check_whole("at", at, 0, PolicyError, FARTHEST)
            if track is not None and at < track.now:
                raise PolicyError(
                    f"round {at} of subject {subject!r} is over; its next is round {track.now}."
                )
        if proposal is not None:
            if at in (None, proposal.round) and (mask is None or mask[proposal.pull.arm]):
                if confirm:
                    self.confirm(proposal.pull.id)
                return proposal.pull
            at = proposal.round if at is None else at
            self._withdraw(subject)
        if at is None:
            at = 0 if track is None else track.now
        if confirm:
            track = self._at(subject, at)
            arm = self._choice(track, mask)
            note, track.note = track.note, None
            return self._ledger.issue(arm, track.play(arm), subject, note)
        return self._try(subject, at, mask)

    def _try(self, subject: Subject, at: int, mask: Mask | None) -> Pull:
        """Propose what would be played, leaving everything as it is."""
        before, track = self._mark(), self._tracks.get(subject)
        try:
            if track is not None:
                self._tracks[subject] = track.copy()
            trial = self._at(subject, at)
            arm = self._choice(trial, mask)
            tau = trial.tau(arm)
        finally:
            if track is None:
                self._tracks.pop(subject, None)
            else:
                self._tracks[subject] = track
            self._undo(before)
        pull = Pull(self._ledger.new_id(), arm, tau, subject)
        self._propose(pull, at, mask)
        return pull

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

    def _at(self, subject: Subject, at: int) -> Track:
        """Return the track of ``subject``, rested until round ``at``."""
        track = self._tracks.get(subject)
        if track is None:
            return self.enrol(subject, at=at)
        track.rest(at - track.now)
        return track

    def _propose(self, pull: Pull, at: int, mask: Mask | None) -> None:
        self._proposals[pull.id] = Proposal(pull, at, mask)
        self._standing[pull.subject] = pull.id

    def _propose_again(self, pull: Pull, at: int, allowed: ArrayLike | None) -> None:
        """Let a proposal of a snapshot stand, if it can be one."""
        check_subject(pull.subject)
        check_whole("the round of a proposal", at, 0, PolicyError, FARTHEST)
        mask = None if allowed is None else self._mask(allowed)
        track = self._tracks.get(pull.subject)
        trial = Track(self._start, at) if track is None else track.copy()
        if at >= trial.now:
            trial.rest(at - trial.now)
            fits = trial.tau(pull.arm) == pull.tau and (mask is None or mask[pull.arm])
            if fits and pull.id not in self._proposals and pull.subject not in self._standing:
                return self._propose(pull, at, mask)
        raise PolicyError(f"{pull} cannot be proposed for round {at}.")

    def _withdraw(self, subject: Subject) -> None:
        """Drop the proposal that stands for ``subject``, if one does."""
        standing = self._standing.pop(subject, None)
        if standing is not None:
            del self._proposals[standing]

    def _mark(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return what a choice may change apart from its track, for :meth:`_undo`."""
        return deepcopy(self.learned()), generator_state(self.generator)

    def _undo(self, mark: tuple[dict[str, Any], dict[str, Any] | None]) -> None:
        self.relearn(mark[0])
        if self.generator is not None and mark[1] is not None:
            self.generator.bit_generator.state = mark[1]

    def _mask(self, allowed: ArrayLike) -> Mask:
        """Return ``allowed`` as one bool per arm."""
        return tuple(as_allowed(allowed, self.n_arms, PolicyError).tolist())

    def _reward(self, name: Any, reward: float | None) -> float:
        """Return ``reward`` as a float, NaN when it is missing; refuse one outside the range."""
        if reward is None:
            return math.nan
        try:
            value = float(reward)
        except (TypeError, ValueError):
            raise InputTypeError(
                f"a reward is a number, or None when missing, got {reward!r} for pull {name!r}."
            ) from None
        if value != value or self._low <= value <= self._high:
            return value
        if not math.isfinite(value):
            raise TellError(f"the reward of pull {name!r} must be finite, got {value}.")
        raise TellError(
            f"the reward {value} of pull {name!r} lies outside {list(self.rewards)}, the range "
            "this policy was told; build it with rewards=(smallest, largest) of what you tell it."
        )

    def _share(self, value: float) -> float:
        """Return where in its range a reward lies, from 0 to 1."""
        return min(1.0, max(0.0, (value - self._low) / (self._high - self._low)))


def _not_proposed(name: Any) -> PolicyError:
    return PolicyError(
        f"no pull {name!r} is proposed: it was cancelled or withdrawn, has expired, or was never "
        "asked with confirm=False."
    )
