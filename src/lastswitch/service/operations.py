"""What operations are, and the rows they work on: subjects where they stand, and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lastswitch.service.rotation import Arms, Version

if TYPE_CHECKING:
    from lastswitch.service.deciders import Decider

#: A round of the past and the arms it played.
Played = tuple[int, Arms]


@dataclass
class Standing:
    """A subject's arms before its next round.

    Examples
    --------
    >>> from lastswitch.service.rotation import make_version
    >>> version = make_version("radio", 1, {"arms": [{"name": "jazz"}, {"name": "talk"}]})
    >>> ann = Standing()
    >>> ann.play(version, 3, (1,))
    [1]
    >>> ann.next, ann.state, ann.before(version, 6)
    (4, [2, -1], [4, 2])
    """

    #: The first round not yet over; None before the first play.
    next: int | None = None
    state: list[int] = field(default_factory=list)
    recent: list[Played] = field(default_factory=list)

    def before(self, version: Version, round_: int) -> list[int]:
        """Return the states in which a round finds the arms, after rest since the last play."""
        initial = version.bandit.initial
        state = [*self.state, *initial[len(self.state) :]]
        idle = 0 if self.next is None else round_ - self.next
        return [max(tau, 0) + idle for tau in state] if idle > 0 else state

    def history(self, version: Version, round_: int) -> list[Arms]:
        """Return the arms of the rounds before, the latest last, as far back as rules can see."""
        begin = round_ - version.look_back
        rounds: list[Arms] = [()] * version.look_back
        for number, arms in self.recent:
            if number >= begin:
                rounds[number - begin] = arms
        known = begin if not self.recent else min(self.recent[0][0], round_)
        return rounds[max(0, known - begin) :] if self.recent else []

    def play(self, version: Version, round_: int, arms: Sequence[int]) -> list[int]:
        """Let a round play ``arms``; return the states they were played in."""
        state = self.before(version, round_)
        taus = [state[arm] for arm in arms]
        self.state = [min(t, 0) - 1 if i in arms else max(t, 0) + 1 for i, t in enumerate(state)]
        self.next = round_ + 1
        self.recent = self._kept([*self.recent, (round_, tuple(arms))], version.look_back)
        return taus

    def _kept(self, rounds: list[Played], look_back: int) -> list[Played]:
        """Return the rounds that rules can see, and one before: it tells that the rest was idle."""
        if not look_back:
            return []
        seen = [number >= (self.next or 0) - look_back for number, _ in rounds]
        return rounds[max(0, seen.index(True) - 1) :]


OFFERED, PLAYED, REWARDED = "offered", "played", "rewarded"
LAPSED, CANCELLED = "lapsed", "cancelled"


@dataclass
class Subject:
    """A subject's row."""

    rotation: str
    name: str
    standing: Standing = field(default_factory=Standing)
    open_id: str | None = None
    #: How often the row changed; None before it is first written.
    guard: int | None = None
    changed: bool = False


@dataclass
class Decision:
    """A decision's row."""

    id: str
    rotation: str
    version: int
    subject: str
    round: int
    arms: Arms
    taus: tuple[int, ...]
    propensity: float
    by: str
    reason: str
    status: str
    asked: float
    until: float | None = None
    due: float | None = None
    #: One reward per arm; an entry is None when it will never come.
    reward: tuple[float | None, ...] | None = None
    #: Whether the reward was told, or booked when the window closed.
    told: bool = True
    would: Arms | None = None
    digest: str = ""
    #: The status the row has in the database; None if it is not there yet.
    was: str | None = None


class Line(NamedTuple):
    """A line of the journal."""

    at: float
    kind: str
    decision: Decision
    #: What a worker's beliefs have to undo should the line not be written.
    decider: Decider | None = None


class Ask(NamedTuple):
    """Ask what a subject plays."""

    rotation: str
    id: str
    keyed: bool
    subject: str
    at: int | str | None = None
    allowed: tuple[str, ...] | None = None
    plays: int | None = None
    confirm: bool = True
    digest: str = ""


class Confirm(NamedTuple):
    """Say that an offer is played."""

    id: str
    scope: str | None = None


class Cancel(NamedTuple):
    """Say that an offer is not played."""

    id: str
    scope: str | None = None


class Tell(NamedTuple):
    """Say what a decision paid."""

    id: str
    reward: float | tuple[float | None, ...] | None
    scope: str | None = None


class Close(NamedTuple):
    """Book what is missing when a decision's window has closed."""

    id: str


Operation = Ask | Confirm | Cancel | Tell | Close


class Answer(NamedTuple):
    """What an operation is answered with."""

    status: int
    decision: Decision | None = None
