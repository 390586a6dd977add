"""The one policy interface: ask for a pull, tell its reward.

A reward may be told at any time, so every told reward is remembered, as 8 bytes per pull, to tell a
harmless repetition from a contradiction. A pull whose reward never comes stays open (some 300
bytes); ``tell(id, None)`` closes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from inspect import signature
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_whole
from lastswitch._utils.random import stream
from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning.policy.checks import (
    FINITE,
    MOST_ARMS,
    as_reward,
    check_like,
    check_range,
    generator_state,
    set_generator,
    share,
    start_states,
)
from lastswitch.learning.policy.ledger import Ledger, Pull, checked_pull
from lastswitch.learning.policy.proposals import Proposal, Proposals, from_rows, not_proposed
from lastswitch.learning.policy.roster import Roster
from lastswitch.learning.policy.tracks import (
    FARTHEST,
    LATEST,
    Mask,
    Subject,
    Track,
    Tracks,
    check_subject,
)
from lastswitch.model.bandit import checked_plays

__all__ = ["ONE_PLAY", "REGISTRY", "Mask", "Policy", "Pull"]

#: One play in every round.
ONE_PLAY = (1, 1)
#: Every policy class by the name its files carry.
REGISTRY: dict[str, type[Policy]] = {}

_new_tuple = tuple.__new__


class Policy:
    """Base of every policy: ids, subjects, states, clocks, late rewards and files.

    The author of a policy subclasses it and writes

    - ``choose(track, allowed) -> arm``: which arm to play for the subject of this
      :class:`~lastswitch.learning.Track` (``allowed`` is ``None`` or one bool per arm). It may set
      ``track.note`` to anything JSON-able that it wants back with this pull's reward. It does not
      move the states: the base class does. A policy of several plays a round, or of none or one
      (``plays=(0, 1)``), has ``choose_round(track, allowed) -> arms`` instead, and if it keeps
      count of its plays, ``playing(track, arms)``, called when they are really played; its note
      comes back with each of the round's pulls.
    - ``learn(pull, reward, note)``: what a reward teaches (default: nothing). Whatever the range
      the policy was told, ``reward`` lies in [0, 1].
    - ``missed(pull, note)``: called when a reward is told as missing (default: nothing).
    - ``shared``: names of the attributes that hold what it has learned, as JSON-able values or
      NumPy arrays. They are what a snapshot holds besides the tracks.

    Every constructor argument is to be kept as an attribute of the same name, so that the policy
    can be built again from a file (or override ``parameters``). Randomness comes from ``self.rng``
    alone, which a snapshot also holds. Whatever else ``choose`` changes must be something it can
    work out again: proposals are tried out and undone through ``learned`` and ``relearn``. One that
    refuses does so before it changes what it has learned.
    :func:`lastswitch.testing.check_policy` checks the whole contract.

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
    plays
        How many different arms a round plays: a number, or a range such as (0, 2). A policy for
        which it is not 1 is asked with :meth:`ask_round`.

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
        plays: int | tuple[int, int] = 1,
    ) -> None:
        self.n_arms = check_whole("n_arms", n_arms, 1, PolicyError, MOST_ARMS)
        self.plays = checked_plays(plays, self.n_arms)
        how = "choose" if self.plays == ONE_PLAY else "choose_round"
        if getattr(type(self), how) is getattr(Policy, how):
            raise InputTypeError(
                f"{type(self).__name__} has no {how}(track, allowed), and plays={plays!r} needs it."
            )
        start = start_states(initial, self.n_arms)
        self.initial = start if np.ndim(initial) else start[0]
        self.rewards = check_range(rewards)
        self.seed = None if seed is None else check_whole("seed", seed, 0, PolicyError)
        #: Behind `rng`; part of every snapshot.
        self.generator: np.random.Generator | None = None
        if self.seed is not None:
            self.generator = stream(self.seed, "policy", type(self).__name__)
        self._low, self._high = self.rewards if self.learns else (-FINITE, FINITE)
        self._as_told = self.learns and self.rewards == (0.0, 1.0)
        self._scaled = self.learns and not self._as_told
        #: The files it was loaded from and saved to, and what it left there.
        self.files: dict[Path, str] = {}
        self._earlier = 0
        self._roster = Roster(self.n_arms)
        self._subjects, self._proposals, self._ledger = Tracks(start), Proposals(), Ledger()
        #: The tracks of all subjects.
        self.tracks = self._subjects.of
        # Once more by themselves: an ask and a tell take about a microsecond.
        self._standing, books = self._proposals.standing, self._ledger
        self._open, self._names, self._told = books.open, books.names, books.rewards

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.type_name()] = cls

    def __repr__(self) -> str:
        pulls, subjects = self.n_asked, len(self.tracks)
        return (
            f"{type(self).__name__}({self.n_arms} arm{'s' * (self.n_arms != 1)}, "
            f"{pulls} pull{'s' * (pulls != 1)} for {subjects} subject{'s' * (subjects != 1)})"
        )

    # What its author writes.

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

    def grow(self, prior: Any) -> None:
        """Make room for one more arm, or refuse before anything changes (the default)."""
        raise PolicyError(
            f"{type(self).__name__} cannot take up a new arm; build a new policy with "
            f"n_arms={self.n_arms + 1}, or use RotationUCB."
        )

    def retiring(self, arm: int) -> None:
        """Hear that ``arm`` is retired; masks keep it from being chosen."""

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
        from lastswitch.learning.policy.saving import describe

        return describe(self)

    @classmethod
    def type_name(cls) -> str:
        """Return the name by which files call this class: bare for this library's own."""
        if cls.__module__.startswith("lastswitch."):
            return cls.__name__
        return f"{cls.__module__}.{cls.__qualname__}"

    # Asking and telling.

    def ask(
        self,
        subject: Subject = None,
        *,
        at: int | None = None,
        allowed: ArrayLike | None = None,
        confirm: bool = True,
    ) -> Pull:
        """Return the next pull for ``subject``.

        Not for a policy that may play several arms in a round, or none: see :meth:`ask_round`.

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
        mask = self._roster.alive if allowed is None else self._roster.mask(allowed)
        try:
            track = self.tracks[subject]
        except (KeyError, TypeError):  # new, or a list, say, which is refused
            track = None
        if track is None or at is not None or self._standing or not confirm:
            if self.plays != ONE_PLAY:
                raise self._plays_rounds()
            found = self._answer(subject, at, mask, confirm)
            if isinstance(found, Proposal):
                return found.pulls[0]
            with self._whole(subject):
                track = self._subjects.rested(subject, found)
                arm = self._choice(track, mask)
            self._proposals.withdraw(subject)
        else:
            arm = self.choose(track, mask)
        if arm.__class__ is not int or mask is not None or not 0 <= arm < self.n_arms:
            arm = self._checked(arm, mask)
        note = track.note
        if note is not None:
            track.note = None
        books = self._ledger
        try:
            name = self._names.pop()
        except IndexError:
            name = books.next_name()
        place = books.plays
        books.plays = place + 1
        # Half the cost of Pull(...), which would only repack its four arguments.
        pull: Pull = _new_tuple(Pull, (name, arm, track.play(arm), subject))
        self._open[name] = (pull, note, place)
        return pull

    def ask_round(
        self,
        subject: Subject = None,
        *,
        at: int | None = None,
        allowed: ArrayLike | None = None,
        confirm: bool = True,
    ) -> tuple[Pull, ...]:
        """Return the pulls of the next round for ``subject``: none if it is silent.

        Every pull has its own id, and its reward is told by itself. With ``confirm=False`` the
        round is proposed, and its pulls stand or fall together: the id of any of them confirms or
        cancels them all. A silence that was proposed has no id; asking again with
        ``confirm=True``, or :meth:`advance`, lets it go by.

        Parameters
        ----------
        subject, at, allowed, confirm
            As in :meth:`ask`. A policy that may play none takes an ``allowed`` that names no arm.

        Examples
        --------
        >>> from lastswitch.learning import FixedCycle
        >>> policy = FixedCycle([(0, 1), (2,), ()])
        >>> for _ in range(4):
        ...     [(pull.arm, pull.tau) for pull in policy.ask_round("ann")]
        [(0, 1), (1, 1)]
        [(2, 2)]
        []
        [(0, 2), (1, 2)]
        """
        if self.plays == ONE_PLAY:
            return (self.ask(subject, at=at, allowed=allowed, confirm=confirm),)
        mask = self._roster.round_mask(allowed, self.plays[0])
        found = self._answer(subject, at, mask, confirm)
        if isinstance(found, Proposal):
            return found.pulls
        with self._whole(subject):
            track = self._subjects.rested(subject, found)
            arms = self._round_choice(track, mask)
            self.playing(track, arms)
        self._proposals.withdraw(subject)
        note, track.note = track.note, None
        taus = track.play_round(arms)
        hand_out = self._ledger.hand_out
        return tuple(
            [hand_out(arm, tau, subject, note) for arm, tau in zip(arms, taus, strict=True)]
        )

    def confirm(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the proposed pull ``id`` is played: now its arms' states move.

        If the policy would by now choose another arm, the proposed one is played all the same and
        what was planned to follow it is planned anew. Confirming again does nothing. Pulls of one
        round are played together.
        """
        proposal = self._proposals.by_id.get(id)
        if proposal is None:
            if self._ledger.place(id) is None:
                raise not_proposed(id)
            return
        self._confirm(proposal)

    def cancel(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the proposed pull ``id`` is not played: it is as if it had not been asked.

        Neither is any other pull of its round.
        """
        proposal = self._proposals.by_id.get(id)
        if proposal is not None:
            self._proposals.withdraw(proposal.subject)
        elif self._ledger.place(id) is not None:
            raise PolicyError(
                f"pull {id!r} is confirmed, and what is played cannot be cancelled; if its reward "
                "will never come, tell(id, None)."
            )
        else:
            raise not_proposed(id)

    def advance(self, subject: Subject = None, rounds: int = 1) -> None:
        """Let ``rounds`` go by in which ``subject`` plays nothing: every arm rests.

        A proposal that stands for the subject expires. A subject not seen before is enrolled
        first, in ``initial``.
        """
        check_whole("rounds", rounds, 0, PolicyError, LATEST)
        check_subject(subject)
        known = self.tracks.get(subject)
        now = self._beginning(subject) if known is None else known.now
        if rounds:
            check_whole("the round after the rest", now + rounds, 0, PolicyError, LATEST)
        track = self.track(subject)
        if rounds:
            self._proposals.withdraw(subject)
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
            value = as_reward(reward, self._low, self._high, id)
        waiting = self._open
        try:
            entry = waiting[id]
        except (KeyError, TypeError):  # told already, or a list, say, which is no pull's id
            entry = None
        if entry is None:
            if isinstance(id, str) and id in self._proposals.by_id:
                raise TellError(f"pull {id!r} is only proposed; confirm it before its reward.")
            return self._ledger.check_repeat(id, value)
        pull, note, place = entry
        if value != value:
            self.missed(pull, note)
        elif self._as_told:
            self.learn(pull, value, note)
        elif self._scaled:
            self.learn(pull, share(value, self._low, self._high), note)
        self._told[place] = value
        del waiting[id]

    # What there is.

    @property
    def start(self) -> tuple[int, ...]:
        """The states a subject not seen before is in."""
        return self._subjects.start

    @property
    def retired(self) -> list[int]:
        """The arms that are not played any more."""
        return self._roster.retired

    @property
    def added(self) -> dict[int, str]:
        """What the arms that were added are called, by number."""
        return self._roster.names

    @property
    def outstanding(self) -> list[Pull]:
        """Pulls played whose reward has not been told, oldest first."""
        return [pull for pull, _, _ in self._open.values()]

    @property
    def proposed(self) -> list[Pull]:
        """Pulls that wait to be confirmed or cancelled, oldest first."""
        standing = self._proposals.standing.values()
        return [pull for proposal in standing for pull in proposal.pulls]

    @property
    def subjects(self) -> list[Subject]:
        """Subjects seen so far, in order of appearance."""
        return list(self.tracks)

    @property
    def n_asked(self) -> int:
        """Pulls played so far."""
        return self._ledger.plays - self._earlier

    def track(self, subject: Subject = None) -> Track:
        """Return the track of ``subject``, enrolling it if it is new."""
        check_subject(subject)
        return self.tracks.get(subject) or self.enrol(subject)

    def enrol(
        self,
        subject: Subject = None,
        state: Sequence[int] | None = None,
        *,
        at: int | None = None,
    ) -> Track:
        """Add a subject in round ``at``, in ``state`` if its arms do not start in ``initial``.

        By default that is the round of the proposal that stands for it, or else round 0. A proposal
        for another round or state is withdrawn.
        """
        check_subject(subject)
        if subject in self.tracks:
            raise PolicyError(
                f"subject {subject!r} is already known; enrol it before its first ask."
            )
        proposed = self._beginning(subject)
        began = proposed if at is None else check_whole("at", at, 0, PolicyError, LATEST)
        start = None if state is None else start_states(state, self.n_arms)
        if began != proposed or start not in (None, self.start):
            self._proposals.withdraw(subject)
        return self._subjects.enrol(subject, began, start)

    # Arms that come and go.

    def add_arm(self, name: str | None = None, prior: Any = None) -> int:
        """Take up one more arm; return its number.

        What is known of the other arms stays. A subject that has begun finds the new arm rested:
        in ``initial``, or for one round where ``initial`` is a streak.

        Parameters
        ----------
        name
            What to call it, for :meth:`retire` and for ``added``.
        prior
            What is known of it: a :class:`~lastswitch.learning.Prior` of one arm.

        Raises
        ------
        PolicyError
            If this policy cannot learn of an arm it was not built with.

        Examples
        --------
        >>> from lastswitch import RotationUCB
        >>> policy = RotationUCB(2)
        >>> policy.add_arm("new song"), policy.n_arms
        (2, 3)
        >>> policy.retire("new song")
        >>> policy.retired
        [2]
        """
        check_whole("n_arms with the new arm", self.n_arms + 1, 1, PolicyError, MOST_ARMS)
        self._roster.check_name(name)
        self.grow(prior)
        tau = 1 if isinstance(self.initial, tuple) else self.initial
        start = (*self.start, tau)
        if isinstance(self.initial, tuple):
            self.initial = start
        self.n_arms += 1
        self._subjects.grow(start)
        self._proposals.grow()
        return self._roster.add(name)

    def retire(self, arm: int | str) -> None:
        """Never play ``arm`` (its number, or the name it was added under) again.

        Rewards of its earlier pulls are still heard. A proposal to play it is withdrawn. Retiring
        it again does nothing.
        """
        number = self._roster.retire(arm, least=max(1, self.plays[0]))
        for track in self.tracks.values():
            track.drop_block()
            track.cache = None
        for proposal in list(self._proposals.standing.values()):
            if any(pull.arm == number for pull in proposal.pulls):
                self._proposals.withdraw(proposal.subject)
        self.retiring(number)

    # Keeping.

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
            "tracks": self._subjects.rows(),
            "proposals": self._proposals.rows(),
            **self._roster.rows(),
            **self._ledger.snapshot(),
        }

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Go on where ``snapshot`` was taken, of a policy built with the same arguments.

        Only for a policy that has not been asked yet.
        """
        if self.tracks or self.n_asked:
            raise PolicyError("only a fresh policy can resume a snapshot; build a new one.")
        self._roster.names |= self._roster.checked_names(snapshot.get("names", ()))
        for arm in snapshot.get("retired", ()):
            self.retire(arm)
        self._subjects.resume(snapshot["tracks"])
        self._ledger.resume(snapshot, self.n_arms)
        self._propose_again(snapshot["proposals"])
        notes: dict[Subject, list[Any]] = {}
        for pull, note, _ in self._open.values():
            if pull.subject not in self.tracks:
                raise PolicyError(f"pull {pull.id!r} is of a subject that is not there.")
            notes.setdefault(pull.subject, []).append(note)
        self.relearn(deepcopy(snapshot["learned"]))
        for subject, track in self.tracks.items():
            self.check_kept(track, notes.get(subject, ()))
        set_generator(self.generator, snapshot["generator"])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole policy to ``path``; :func:`load_policy` resumes it bit for bit.

        Refuses to write over a file that another policy has saved since this one was loaded from
        it or saved to it.
        """
        from lastswitch.learning.policy.saving import save_policy

        return save_policy(self, path)

    def accompany(self, other: Policy, played: int) -> None:
        """See the subjects of ``other``, and count its pulls as one's own after the first few.

        For a policy that runs another one inside; ``played`` are the pulls before that one began.
        """
        self.tracks, self._ledger, self._earlier = other.tracks, other._ledger, played

    # Behind the verbs.

    def _answer(
        self, subject: Subject, at: int | None, mask: Mask | None, confirm: bool
    ) -> Proposal | int:
        """Return what stands or is now proposed, or the round to choose for."""
        check_subject(subject)
        proposal, track = self._proposals.of(subject), self.tracks.get(subject)
        if at is not None:
            at = check_whole("at", at, 0, PolicyError, LATEST)
            if track is not None and at < track.now:
                raise PolicyError(
                    f"round {at} of subject {subject!r} is over; its next is round {track.now}."
                )
        if proposal is not None:
            if proposal.fits(at, mask):
                if confirm:
                    self._confirm(proposal)
                return proposal
            at = proposal.round if at is None else at
        if at is None:
            at = 0 if track is None else track.now
        return at if confirm else self._propose(subject, at, mask)

    @contextmanager
    def _whole(self, subject: Subject) -> Iterator[None]:
        """Leave a subject and the random numbers as they were, if what is done for it fails.

        What is learned is the policy's own to leave alone: it refuses before it changes anything.
        """
        track, drawn = self.tracks.get(subject), generator_state(self.generator)
        before = None if track is None else track.copy()
        try:
            yield
        except BaseException:
            if track is None or before is None:
                self.tracks.pop(subject, None)
            else:
                track.become(before)
            if self.generator is not None and drawn is not None:
                self.generator.bit_generator.state = drawn
            raise

    def _propose(self, subject: Subject, at: int, mask: Mask | None) -> Proposal:
        """Propose what would be played, leaving everything as it is."""
        before, track = self._mark(), self.tracks.get(subject)
        trial = self.tracks[subject] = self._subjects.trial(subject, at)
        try:
            arms = self._arms(trial, mask)
            taus = [trial.tau(arm) for arm in arms]
        finally:
            self._undo(before)
            if track is None:
                del self.tracks[subject]
            else:
                self.tracks[subject] = track
        pulls = tuple(
            Pull(self._ledger.new_id(), arm, tau, subject)
            for arm, tau in zip(arms, taus, strict=True)
        )
        proposal = Proposal(subject, pulls, at, mask)
        self._proposals.withdraw(subject)
        self._proposals.add(proposal)
        return proposal

    def _confirm(self, proposal: Proposal) -> None:
        """Play what was proposed, whatever the policy would choose by now."""
        subject, pulls, at, allowed = proposal
        with self._whole(subject):
            track, arms = self._subjects.rested(subject, at), tuple(pull.arm for pull in pulls)
            before, trial = self._mark(), track.copy()
            if self._arms(track, allowed) != arms:
                self._undo(before)
                track.become(trial)
                if self.plays == ONE_PLAY:
                    self._arms(track, tuple(other in arms for other in range(self.n_arms)))
                track.drop_block()
            if self.plays != ONE_PLAY:
                self.playing(track, arms)
        self._proposals.withdraw(subject)
        note, track.note = track.note, None
        track.play_round(arms)
        for pull in pulls:
            self._ledger.enter(pull, note)

    def _propose_again(self, rows: Sequence[Sequence[Any]]) -> None:
        """Let the proposals of a snapshot stand, if they can be such."""
        for subject, pulls, at, allowed in from_rows(rows):
            check_subject(subject)
            check_whole("the round of a proposal", at, 0, PolicyError, FARTHEST)
            mask = self._roster.round_mask(allowed, self.plays[0])
            trial = self._subjects.trial(subject, at)
            own = tuple(checked_pull(self.n_arms, *named) for named in pulls)
            proposal = Proposal(subject, own, at, mask)
            self._checked_round([pull.arm for pull in own], mask)
            right = all(trial.tau(pull.arm) == pull.tau for pull in own)
            if trial.now != at or not right or not proposal.fits(at, mask):
                raise PolicyError(f"{own} cannot be proposed for round {at}.")
            self._proposals.add(proposal)

    def _beginning(self, subject: Subject) -> int:
        """Return the round in which a subject not seen before is enrolled."""
        proposal = self._proposals.of(subject)
        return 0 if proposal is None else proposal.round

    def _arms(self, track: Track, mask: Mask | None) -> tuple[int, ...]:
        """Return what is chosen for a round, whatever the number of its plays."""
        if self.plays == ONE_PLAY:
            return (self._choice(track, mask),)
        return self._round_choice(track, mask)

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

    def _start_in(self, states: Sequence[int]) -> None:
        """Let subjects not seen before start in ``states``, where that is not ``initial``."""
        self._subjects.start = tuple(states)
