"""The one policy interface: ask for a pull, tell its reward.

How to write one is told in :mod:`lastswitch.learning.chooser`. A reward may be told at any time, so
every told reward is remembered, as 8 bytes per pull, to tell a harmless repetition from a
contradiction. A pull whose reward never comes stays open (some 300 bytes); ``tell(id, None)``
closes it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from lastswitch._checks import check_whole
from lastswitch.errors import PolicyError, TellError
from lastswitch.learning.asking import Asker
from lastswitch.learning.checks import (
    FINITE,
    as_reward,
    generator_from,
    generator_state,
    share,
    start_states,
)
from lastswitch.learning.chooser import ONE_PLAY
from lastswitch.learning.ledger import Pull
from lastswitch.learning.proposals import Mask, Proposal
from lastswitch.learning.tracks import LATEST, Subject, Track, check_subject

__all__ = ["REGISTRY", "Mask", "Policy", "Pull"]

#: Every policy class by the name its files carry.
REGISTRY: dict[str, type[Policy]] = {}

_new_tuple = tuple.__new__


class Policy(Asker):
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

    def __init__(
        self,
        n_arms: int,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int | None = None,
        plays: int | tuple[int, int] = 1,
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed, plays=plays)
        self._low, self._high = self.rewards if self.learns else (-FINITE, FINITE)
        self._as_told = self.learns and self.rewards == (0.0, 1.0)
        self._scaled = self.learns and not self._as_told
        #: The files it was loaded from and saved to, and what it left there.
        self.files: dict[Path, str] = {}
        self._earlier = 0
        # Once more by themselves: an ask and a tell take about a microsecond.
        self._standing, books = self._proposals.standing, self._ledger
        self._open, self._names, self._told = books.open, books.names, books.rewards

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.type_name()] = cls

    def __repr__(self) -> str:
        pulls, subjects = self.n_asked, len(self._tracks)
        return (
            f"{type(self).__name__}({self.n_arms} arm{'s' * (self.n_arms != 1)}, "
            f"{pulls} pull{'s' * (pulls != 1)} for {subjects} subject{'s' * (subjects != 1)})"
        )

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
        mask = self._alive if allowed is None else self._mask(allowed)
        try:
            track = self._tracks[subject]
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

    def advance(self, subject: Subject = None, rounds: int = 1) -> None:
        """Let ``rounds`` go by in which ``subject`` plays nothing: every arm rests.

        A proposal that stands for the subject expires. A subject not seen before is enrolled
        first, in ``initial``.
        """
        check_whole("rounds", rounds, 0, PolicyError, LATEST)
        check_subject(subject)
        known = self._tracks.get(subject)
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
        return list(self._tracks)

    @property
    def n_asked(self) -> int:
        """Pulls played so far."""
        return self._ledger.plays - self._earlier

    def track(self, subject: Subject = None) -> Track:
        """Return the track of ``subject``, enrolling it if it is new."""
        check_subject(subject)
        return self._tracks.get(subject) or self.enrol(subject)

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
        if subject in self._tracks:
            raise PolicyError(
                f"subject {subject!r} is already known; enrol it before its first ask."
            )
        proposed = self._beginning(subject)
        began = proposed if at is None else check_whole("at", at, 0, PolicyError, LATEST)
        start = None if state is None else start_states(state, self.n_arms)
        if began != proposed or start not in (None, self._start):
            self._proposals.withdraw(subject)
        return self._subjects.enrol(subject, began, start)

    def _beginning(self, subject: Subject) -> int:
        """Return the round in which a subject not seen before is enrolled."""
        proposal = self._proposals.of(subject)
        return 0 if proposal is None else proposal.round

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
            **self._roster_rows(),
            **self._ledger.snapshot(),
        }

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Go on where ``snapshot`` was taken, of a policy built with the same arguments.

        Only for a policy that has not been asked yet.
        """
        if self._tracks or self.n_asked:
            raise PolicyError("only a fresh policy can resume a snapshot; build a new one.")
        self._resume_roster(snapshot)
        self._subjects.resume(snapshot["tracks"])
        self._ledger.resume(snapshot, self.n_arms)
        self._propose_again(snapshot["proposals"])
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
