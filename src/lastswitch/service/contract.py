"""The contract: what asking, confirming, cancelling and telling do to subjects and decisions.

Pure: operations work on rows in memory and leave behind the rows that changed and the lines of the
journal to write. Whoever calls them reads the rows before and commits them, whole or not at all,
afterwards (:mod:`lastswitch.service.store`).

- A decision's id comes from the client's key, so the same request finds the same decision.
- A subject has at most one offer that stands; it is the answer to whoever asks for that subject
  again, until it is confirmed or cancelled, its time is over, or it is in the way.
- An offer lapses, and a missing reward is booked, at the time they are due, whenever that is
  noticed: answers never depend on when a sweep comes by.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lastswitch._utils.checks import shown
from lastswitch.errors import CalendarError
from lastswitch.service.clock import TooFarError
from lastswitch.service.deciders import Asked, Decider, NoArmError, NoTimeError
from lastswitch.service.operations import (
    CANCELLED,
    LAPSED,
    OFFERED,
    PLAYED,
    REWARDED,
    Answer,
    Ask,
    Cancel,
    Close,
    Confirm,
    Decision,
    Line,
    Operation,
    Subject,
)
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import Version

#: No round lies beyond this.
FARTHEST = 2**52


class Mark(NamedTuple):
    """Rows as they were before an operation: what it may change."""

    lines: int
    decisions: dict[str, Decision | None]
    subjects: dict[tuple[str, str], Subject | None]
    room: tuple[str, float | None]
    alias: str | None


@dataclass
class Work:
    """Rows that operations work on, and what became of them."""

    now: float
    #: The decider of the newest version of a rotation, and a version by number.
    decider: Callable[[str], Decider]
    version: Callable[[str, int], Version]
    subjects: dict[tuple[str, str], Subject] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    #: Keys that were answered with a standing offer: its id, and the digest of the request.
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict)
    new_aliases: dict[str, tuple[str, str]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    #: Subjects a rotation may still take in.
    room: dict[str, float] = field(default_factory=dict)
    #: When all deciding of this group must be done, by ``time.monotonic``: others wait for it.
    until: float = math.inf

    def do(self, operation: Operation) -> Answer:
        """Do one operation, or raise the problem with it, leaving everything as it was.

        What was due by now (an offer that lapsed, a reward that is missing) happens all the same.
        """
        if isinstance(operation, Ask):
            return self._ask(operation)
        if isinstance(operation, Close):
            return self._close(operation)
        decision = self.decisions.get(operation.id)
        if decision is None or operation.scope not in (None, decision.rotation):
            raise Problem.unknown("decision", operation.id)
        self._notice(decision)
        if isinstance(operation, Confirm):
            return self._confirm(decision)
        if isinstance(operation, Cancel):
            return self._cancel(decision)
        return self._tell(decision, operation.reward)

    def mark(self, operation: Operation) -> Mark:
        """Return what it takes to go back to before an operation, whatever it breaks on."""
        names = {operation.id}
        if operation.id in self.aliases:
            names.add(self.aliases[operation.id][0])
        found = self.decisions.get(operation.id)
        who = None if found is None else (found.rotation, found.subject)
        if isinstance(operation, Ask):
            who = (operation.rotation, operation.subject)
        subject = None if who is None else self.subjects.get(who)
        if subject is not None and subject.open_id is not None:
            names.add(subject.open_id)
        return Mark(
            len(self.lines),
            {name: _copied(self.decisions.get(name)) for name in names},
            {} if who is None else {who: _copied(subject)},
            ("", None) if who is None else (who[0], self.room.get(who[0])),
            operation.id if operation.id not in self.new_aliases else None,
        )

    def back(self, mark: Mark) -> list[Line]:
        """Go back to a mark; return the lines that are no longer to be written."""
        undone, self.lines[mark.lines :] = self.lines[mark.lines :], []
        _put_back(self.decisions, mark.decisions)
        _put_back(self.subjects, mark.subjects)
        rotation, room = mark.room
        if room is not None:
            self.room[rotation] = room
        if mark.alias is not None and self.new_aliases.pop(mark.alias, None) is not None:
            del self.aliases[mark.alias]
        return undone

    # Asking.

    def _ask(self, ask: Ask) -> Answer:
        decider = self.decider(ask.rotation)
        before = self._asked_before(ask)
        if before is not None:
            self._notice(before)
            return Answer(200, before)
        version = decider.version
        allowed = _numbers(ask, version)
        if ask.plays is not None and not (
            version.bandit.plays[0] <= ask.plays <= version.bandit.plays[1]
        ):
            raise Problem(
                422,
                "plays",
                f"plays must lie between {version.bandit.plays[0]} and {version.bandit.plays[1]}, "
                f"as the rotation says; got {ask.plays}.",
            )
        subject = self.subjects.get((ask.rotation, ask.subject))
        subject = Subject(ask.rotation, ask.subject) if subject is None else subject
        offer = self._standing_offer(subject)
        round_ = self._round(ask, version, subject, offer)
        fits = offer is not None and (allowed is None or set(offer.arms) <= allowed)
        if offer is not None and offer.round == round_ and fits:
            return self._answer_with(offer, subject, ask)
        if subject.guard is None and self.room.get(ask.rotation, 1) <= 0:
            raise Problem(
                403,
                "too-many-subjects",
                "this rotation takes in no more subjects; raise subjects in its [serve], or "
                "--subjects of the service.",
            )
        left = self.until - time.monotonic()
        if left <= 0.0:
            raise Problem(
                503,
                "busy",
                "deciding took too long for others to wait on; ask again in a moment, for fewer "
                "subjects at once, or with less to plan.",
                retry_after=1,
            )
        asked = Asked(ask.id, ask.subject, round_, allowed, ask.plays, left)
        try:
            choice = decider.decide(asked, subject.standing)
        except NoArmError as error:
            raise Problem(409, "no-arm", str(error)) from error
        except NoTimeError as error:
            raise Problem(503, "busy", str(error), retry_after=1) from error
        if offer is not None:
            self._lapse(offer, subject)
        state = subject.standing.before(version, round_)
        decision = Decision(
            id=ask.id,
            rotation=ask.rotation,
            version=version.number,
            subject=ask.subject,
            round=round_,
            arms=choice.arms,
            taus=tuple(state[arm] for arm in choice.arms),
            propensity=choice.propensity,
            by=choice.by,
            reason=choice.reason,
            status=OFFERED,
            asked=self.now,
            would=choice.would,
            digest=ask.digest,
        )
        if subject.guard is None and (ask.rotation, ask.subject) not in self.subjects:
            self.room[ask.rotation] = self.room.get(ask.rotation, math.inf) - 1.0
        self.subjects[ask.rotation, ask.subject] = subject
        self.decisions[ask.id] = decision
        subject.changed = True
        if ask.confirm:
            self._play(decision, subject, decider)
        else:
            decision.until = self._stands_until(version, round_)
            subject.open_id = decision.id
            self._write("offer", decision, decider)
        return Answer(201, decision)

    def _asked_before(self, ask: Ask) -> Decision | None:
        """Return the decision that the same request led to before."""
        decision, digest = self.decisions.get(ask.id), ""
        if decision is not None:
            digest = decision.digest
        elif ask.id in self.aliases:
            name, digest = self.aliases[ask.id]
            decision = self.decisions[name]
        if decision is not None and digest != ask.digest and ask.keyed:
            raise Problem(
                422,
                "key-reused",
                "this Idempotency-Key was used for another request; give each request its own key.",
            )
        return decision

    def _standing_offer(self, subject: Subject) -> Decision | None:
        """Return the offer that stands for a subject; one whose time is over lapses now."""
        if subject.open_id is not None:
            self._notice(self.decisions[subject.open_id])
        return None if subject.open_id is None else self.decisions[subject.open_id]

    def _notice(self, decision: Decision) -> None:
        """Let happen to a decision what was due by now."""
        if self._over(decision):
            self._lapse(decision, self._owner(decision))
        self._book_missing(decision)

    def _over(self, offer: Decision) -> bool:
        return offer.status == OFFERED and offer.until is not None and offer.until <= self.now

    def _round(self, ask: Ask, version: Version, subject: Subject, offer: Decision | None) -> int:
        """Return the round that is asked for."""
        following, calendar = subject.standing.next, version.calendar
        clock = self.decider(ask.rotation).clock
        if calendar is not None and ask.at is not None:
            try:
                round_ = clock.round_at(ask.at, self.now, version.ahead)
            except TooFarError as error:
                raise Problem(422, "too-far", str(error)) from error
            except CalendarError as error:
                raise Problem(409, "no-round", str(error)) from error
        elif isinstance(ask.at, int):
            round_ = ask.at
        elif calendar is not None:
            try:
                round_ = clock.round(self.now)
            except CalendarError as error:
                raise Problem(409, "no-round", str(error)) from error
        elif ask.at is not None:
            raise Problem(
                422,
                "at",
                "this rotation has no calendar, so `at` is the number of a round; "
                f"got {ask.at!r:.60}.",
            )
        else:
            round_ = following or 0 if offer is None else offer.round
        if not -FARTHEST < round_ < FARTHEST:
            raise Problem(422, "at", f"there is no round {round_}.")
        if following is not None and round_ < following:
            words = ""
            with suppress(CalendarError):  # too far away to be said
                words = "" if calendar is None else f", {clock.say(following)}"
            raise Problem(
                409,
                "round-over",
                f"round {round_} of {ask.subject!r} is over; its next is round {following}{words}.",
                next=following,
            )
        return round_

    def _answer_with(self, offer: Decision, subject: Subject, ask: Ask) -> Answer:
        """Answer with the offer that stands."""
        if ask.keyed:
            self.aliases[ask.id] = self.new_aliases[ask.id] = (offer.id, ask.digest)
        if ask.confirm:
            self._play(offer, subject, self.decider(offer.rotation))
        return Answer(200, offer)

    def _stands_until(self, version: Version, round_: int) -> float:
        until = self.now + version.stand
        if version.calendar is not None:
            with suppress(CalendarError):  # so far away that it does not end before
                ends = self.decider(version.rotation).clock.end(round_)
                until = min(until, ends) if ends > self.now else until
        return until

    # Confirming and cancelling.

    def _confirm(self, decision: Decision) -> Answer:
        if decision.status in (PLAYED, REWARDED):
            return Answer(200, decision)
        if decision.status != OFFERED:
            raise Problem(410, "gone", f"the offer was {decision.status}; ask again.")
        self._play(decision, self._owner(decision), self.decider(decision.rotation))
        return Answer(200, decision)

    def _cancel(self, decision: Decision) -> Answer:
        if decision.status in (PLAYED, REWARDED):
            raise Problem(
                409,
                "played",
                "the decision is confirmed, and what is played cannot be cancelled; if its reward "
                "will never come, tell null.",
            )
        if decision.status == OFFERED:
            self._withdraw(decision, self._owner(decision), CANCELLED, "cancel")
        return Answer(200, decision)

    def _lapse(self, offer: Decision, subject: Subject) -> None:
        self._withdraw(offer, subject, LAPSED, "lapse")

    def _withdraw(self, offer: Decision, subject: Subject, status: str, kind: str) -> None:
        if offer.status != OFFERED:
            return
        offer.status = status
        if subject.open_id == offer.id:
            subject.open_id, subject.changed = None, True
        decider = self.decider(offer.rotation)
        decider.settled(offer.subject, offer.arms, played=False)
        self._write(kind, offer, None)

    def _play(self, decision: Decision, subject: Subject, decider: Decider) -> None:
        version = self.version(decision.rotation, decision.version)
        subject.standing.play(version, decision.round, decision.arms)
        subject.open_id, subject.changed = None, True
        decision.status, decision.until = PLAYED, None
        if decision.arms and version.window < math.inf:
            decision.due = self.now + version.window
        decider.settled(decision.subject, decision.arms, played=True)
        self._write("play", decision, decider)

    def _owner(self, decision: Decision) -> Subject:
        return self.subjects[decision.rotation, decision.subject]

    # Rewards.

    def _tell(self, decision: Decision, reward: Any) -> Answer:
        if decision.status == OFFERED:
            raise Problem(409, "not-played", "the decision is only offered; confirm it first.")
        if decision.status not in (PLAYED, REWARDED):
            raise Problem(410, "gone", "the offer was never played; it has no reward.")
        value = _rewards(decision, reward, self.version(decision.rotation, decision.version))
        if decision.status == REWARDED:
            if value == decision.reward:
                return Answer(200, decision)
            first = "was told" if decision.told else "was booked when its window closed as"
            raise Problem(
                409,
                "told-already",
                f"the decision {first} {_shown(decision.reward)}, now {_shown(value)}; "
                "tell each decision once, or repeat the same reward.",
            )
        self._book(decision, value, told=True)
        return Answer(201, decision)

    def _close(self, operation: Close) -> Answer:
        decision = self.decisions.get(operation.id)
        if decision is not None:
            self._book_missing(decision)
        return Answer(200, decision)

    def _book_missing(self, decision: Decision) -> None:
        if decision.status == PLAYED and decision.due is not None and decision.due <= self.now:
            missing = self.version(decision.rotation, decision.version).settings.missing
            self._book(decision, (missing,) * len(decision.arms), told=False)

    def _book(self, decision: Decision, value: tuple[float | None, ...], told: bool) -> None:
        decision.reward, decision.told = value, told
        decision.status = REWARDED
        self._write("reward", decision, self.decider(decision.rotation))

    def _write(self, kind: str, decision: Decision, decider: Decider | None) -> None:
        self.lines.append(Line(self.now, kind, decision, decider))
        if decider is not None and decider.learner is not None and kind == "play":
            for arm, tau in zip(decision.arms, decision.taus, strict=True):
                decider.learner.played(arm, tau)


def _numbers(ask: Ask, version: Version) -> frozenset[int] | None:
    if ask.allowed is None:
        return None
    unknown = [name for name in ask.allowed if name not in version.number_of]
    if unknown:
        raise Problem(
            422, "unknown-arm", f"the rotation has no arm {unknown[0]!r:.80}; see its `arms`."
        )
    return frozenset(version.number_of[name] for name in ask.allowed)


def _rewards(decision: Decision, given: Any, version: Version) -> tuple[float | None, ...]:
    """Return one reward per arm, checked."""
    count = len(decision.arms)
    many = tuple(given) if isinstance(given, list | tuple) else (given,)
    if count == 0:
        raise Problem(422, "silence", "nothing was played, so there is no reward.")
    if len(many) != count:
        raise Problem(
            422, "reward", f"the decision played {count} arms; give a list of {count} rewards."
        )
    low, high = version.settings.rewards
    for value in many:
        if value is not None and not low <= value <= high:
            raise Problem(
                422, "reward", f"a reward lies between {low:g} and {high:g}, got {shown(value)}."
            )
    return tuple(None if value is None else float(value) for value in many)


def _copied(row: Any) -> Any:
    """Return a copy of a row that stays as it is while the row changes."""
    found = copy(row)
    if isinstance(row, Subject):
        found.standing = copy(row.standing)
    return found


def _put_back(rows: dict[Any, Any], kept: dict[Any, Any]) -> None:
    for name, row in kept.items():
        if row is None:
            rows.pop(name, None)
        else:
            rows[name] = row


def _shown(value: tuple[float | None, ...] | None) -> str:
    words = ["missing" if entry is None else f"{entry:g}" for entry in value or ()]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"
