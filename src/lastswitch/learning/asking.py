"""Asking for whole rounds, and proposals: what is asked for is not always played.

The one-play ask is in :mod:`lastswitch.learning.policy`, written for speed; this is the rest of
asking, for policies of any number of plays a round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._checks import check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.checks import generator_state
from lastswitch.learning.chooser import ONE_PLAY
from lastswitch.learning.ledger import Ledger, Pull, checked_pull
from lastswitch.learning.proposals import Mask, Proposal, Proposals, from_rows, not_proposed
from lastswitch.learning.roster import Roster
from lastswitch.learning.tracks import FARTHEST, LATEST, Subject, Track, Tracks, check_subject
from lastswitch.states import as_array


class Asker(Roster, ABC):
    """Rounds asked for and proposed: what a :class:`~lastswitch.learning.Policy` does with them."""

    def __init__(self, n_arms: int, **options: Any) -> None:
        super().__init__(n_arms, **options)
        self._subjects, self._proposals = Tracks(self._start), Proposals()
        self._tracks, self._ledger = self._subjects.of, Ledger()
        self.added = {}

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
        mask = self._round_mask(allowed)
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

    @abstractmethod
    def ask(
        self,
        subject: Subject = None,
        *,
        at: int | None = None,
        allowed: ArrayLike | None = None,
        confirm: bool = True,
    ) -> Pull:
        """Return the next pull for ``subject``."""

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

    def _answer(
        self, subject: Subject, at: int | None, mask: Mask | None, confirm: bool
    ) -> Proposal | int:
        """Return what stands or is now proposed, or the round to choose for."""
        check_subject(subject)
        proposal, track = self._proposals.of(subject), self._tracks.get(subject)
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
        track, drawn = self._tracks.get(subject), generator_state(self.generator)
        before = None if track is None else track.copy()
        try:
            yield
        except BaseException:
            if track is None or before is None:
                self._tracks.pop(subject, None)
            else:
                track.become(before)
            if self.generator is not None and drawn is not None:
                self.generator.bit_generator.state = drawn
            raise

    def _propose(self, subject: Subject, at: int, mask: Mask | None) -> Proposal:
        """Propose what would be played, leaving everything as it is."""
        before, track = self._mark(), self._tracks.get(subject)
        trial = self._tracks[subject] = self._subjects.trial(subject, at)
        try:
            arms = self._arms(trial, mask)
            taus = [trial.tau(arm) for arm in arms]
        finally:
            self._undo(before)
            if track is None:
                del self._tracks[subject]
            else:
                self._tracks[subject] = track
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
            mask = self._round_mask(allowed)
            trial = self._subjects.trial(subject, at)
            own = tuple(checked_pull(self.n_arms, *named) for named in pulls)
            proposal = Proposal(subject, own, at, mask)
            self._checked_round([pull.arm for pull in own], mask)
            right = all(trial.tau(pull.arm) == pull.tau for pull in own)
            if trial.now != at or not right or not proposal.fits(at, mask):
                raise PolicyError(f"{own} cannot be proposed for round {at}.")
            self._proposals.add(proposal)

    def _arms(self, track: Track, mask: Mask | None) -> tuple[int, ...]:
        """Return what is chosen for a round, whatever the number of its plays."""
        if self.plays == ONE_PLAY:
            return (self._choice(track, mask),)
        return self._round_choice(track, mask)

    def _round_mask(self, allowed: ArrayLike | None) -> Mask | None:
        """Return ``allowed`` as one bool per arm, with no arm at all where a round may be silent.

        Examples
        --------
        >>> from lastswitch.learning import FixedCycle
        >>> FixedCycle([(0,), ()])._round_mask([])
        (False,)
        """
        if allowed is None:
            return self._alive
        least, given = self.plays[0], as_array(allowed)
        nothing = given.shape == (0,) or (given.shape == (self.n_arms,) and not np.any(given))
        if least == 0 and nothing and given.dtype.kind in "bf":
            return (False,) * self.n_arms
        mask = self._mask(allowed)
        if sum(mask) < least:
            raise PolicyError(
                f"allowed leaves {sum(mask)} arms, and a round plays at least {least}; allow more."
            )
        return mask
