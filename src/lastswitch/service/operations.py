"""What operations are, and the rows they work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from lastswitch.service.deciders import Decider
from lastswitch.service.rotation import Arms
from lastswitch.service.subjects import Standing

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
