"""The plays of a plan at the times of a calendar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from lastswitch._utils.ascii import printable
from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.codec import stamp, to_text
from lastswitch._utils.csv import csv_text
from lastswitch._utils.extras import load_extra
from lastswitch.calendars.calendar import Calendar
from lastswitch.calendars.when import WEEKDAYS
from lastswitch.errors import InputTypeError, PlanError
from lastswitch.rules.records import Counting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.planning.plan import Plan

VERSION = 1
#: Dates listed where a rule binds, before the rest is summed up.
_SHOWN = 6
Library = Literal["pandas", "polars"]


class Play(NamedTuple):
    """One play: in which round, from when to when, on which day, of which arm.

    ``begin`` and ``end`` are in the calendar's zone. ``day`` is the day the round belongs to,
    which a calendar whose days begin at 04:00 also gives to the small hours after it.
    """

    round: int
    begin: datetime
    end: datetime
    day: date
    arm: int
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """What is played when: the plays of a plan at the times of a calendar.

    Made by ``plan.calendar(calendar)``. Printing it shows weeks in rows; ``to_csv``, ``to_json``,
    ``to_ics`` and ``to_playlist`` return text, and write it if given a path.

    Parameters
    ----------
    plan
        What is played, round by round.
    calendar
        When the rounds are.
    length
        How many rounds: the plan's own; a cycle can be repeated for as long as wanted.

    Examples
    --------
    >>> import lastswitch as ls
    >>> plan = ls.plan_block(ls.instances.two_arms(), 4)
    >>> schedule = plan.calendar(ls.Calendar("2024-06-03"))
    >>> [(play.day.isoformat(), play.arm) for play in schedule.plays]
    [('2024-06-03', 1), ('2024-06-04', 0), ('2024-06-05', 1), ('2024-06-06', 0)]
    """

    plan: Plan
    calendar: Calendar
    length: int
    plays: tuple[Play, ...] = field(init=False)

    def __init__(self, plan: Plan, calendar: Calendar, length: int | None = None) -> None:
        if not isinstance(calendar, Calendar):
            raise InputTypeError(
                f"a plan is dated by a Calendar, got {type(calendar).__name__}; "
                "make one with lastswitch.Calendar('2024-06-03')."
            )
        turn = len(plan.rounds)
        size = turn if length is None else check_whole("length", length, 1, PlanError)
        if size > turn and not plan.repeats:
            raise PlanError(
                f"length must be at most the plan's {turn} rounds, got {size}: only a cycle "
                "(plan_cycle) is repeated; plan more rounds."
            )
        object.__setattr__(self, "plan", plan)
        object.__setattr__(self, "calendar", calendar)
        object.__setattr__(self, "length", size)
        plays = (
            Play(k, *calendar.span(k), calendar.day(k), arm, plan.names[arm])
            for k in range(size)
            for arm in plan.rounds[k % turn]
        )
        object.__setattr__(self, "plays", tuple(plays))

    def __str__(self) -> str:
        from lastswitch.calendars.text import text

        return printable(text(self))

    def __repr__(self) -> str:
        return f"Schedule({self.length} rounds, {len(self.plays)} plays, {self.calendar!r})"

    def arms(self, number: int) -> tuple[int, ...]:
        """Return the arms of a round: none where it is silent."""
        return self.plan.rounds[number % len(self.plan.rounds)]

    @cached_property
    def pinned(self) -> frozenset[tuple[int, int]]:
        """Each round and arm that is played there because a rule pins it."""
        rules = getattr(self.plan.problem, "bound_rules", ())
        turn = len(self.plan.rounds)
        asked = {
            (t, arm)
            for rule in rules
            if isinstance(rule, Counting) and rule.form == "pinned"
            for start, stop in rule.spans or ()
            for t in range(start, stop)
            for arm in rule.who
        }
        plays = ((play.round, play.arm) for play in self.plays)
        return frozenset((number, arm) for number, arm in plays if (number % turn, arm) in asked)

    def explain(self, time_limit: float | None = None) -> str:
        """Return what every rule costs and where it binds, by dates.

        Parameters
        ----------
        time_limit
            Seconds to spend on each rule, as in ``plan.explain``.

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([ls.curves.constant(0.5), ls.curves.constant(0.25)])
        >>> june = ls.Calendar("2024-06-03")
        >>> rules = june.resolve([ls.rules.never(0, when="tue")], 4)
        >>> print(ls.plan_block(bandit, 4, rules=rules).calendar(june).explain())
        4 rounds, worth 1.75 (0.438 per round), proven optimal
        arm 0: never on tue
          costs 0.25; without it Tue 4 Jun would break it
        """
        return self.plan.explain(time_limit).text(self.say_rounds)

    def say_rounds(self, rounds: Sequence[int]) -> str:
        """Return rounds by their dates, the first few."""
        from lastswitch.calendars.sheet import say_day

        found = []
        for number in rounds[:_SHOWN]:
            clock = "" if self.calendar.daily else f" {self.calendar.time(number):%H:%M}"
            found.append(f"{say_day(self.calendar.day(number))}{clock}")
        return ", ".join(found) + (f" and {len(rounds) - _SHOWN} more" * (len(rounds) > _SHOWN))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the days, coloured by arm, and return the axes.

        Days run across in wide axes and down in narrow ones.
        """
        from lastswitch.calendars.figure import draw

        return draw(self, ax)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return one row per play, safe to open in a spreadsheet; write it to ``path`` if given.

        Times are those of the calendar's wall clock.

        Examples
        --------
        >>> import lastswitch as ls
        >>> plan = ls.plan_block(ls.instances.two_arms(), 2)
        >>> print(plan.calendar(ls.Calendar("2024-06-03", every="12h")).to_csv())
        round,date,weekday,begin,end,arm
        0,2024-06-03,Monday,2024-06-03 00:00:00,2024-06-03 12:00:00,arm 1
        1,2024-06-03,Monday,2024-06-03 12:00:00,2024-06-04 00:00:00,arm 0
        <BLANKLINE>
        """
        rows = [
            (
                *(play.round, play.day, WEEKDAYS[play.day.weekday()].capitalize()),
                *(_wall(play.begin), _wall(play.end), play.name),
            )
            for play in self.plays
        ]
        return _given(csv_text(["round", "date", "weekday", "begin", "end", "arm"], rows), path)

    def to_playlist(self, path: str | PathLike[str] | None = None) -> str:
        """Return what a playout system imports: a time and a title per play, as CSV.

        Examples
        --------
        >>> import lastswitch as ls
        >>> plan = ls.plan_block(ls.instances.two_arms(), 2)
        >>> print(plan.calendar(ls.Calendar("2024-06-03 06:00", every="1h")).to_playlist())
        time,title
        2024-06-03 06:00:00,arm 1
        2024-06-03 07:00:00,arm 0
        <BLANKLINE>
        """
        rows = [(_wall(play.begin), play.name) for play in self.plays]
        return _given(csv_text(["time", "title"], rows), path)

    def to_json(self, path: str | PathLike[str] | None = None, *, note: str = "") -> str:
        """Return the plays, the calendar and the plan's certificate as JSON, and a ``note`` if any.

        Examples
        --------
        >>> import json
        >>> import lastswitch as ls
        >>> plan = ls.plan_block(ls.instances.two_arms(), 2)
        >>> json.loads(plan.calendar(ls.Calendar("2024-06-03")).to_json())["plays"][1]["arm"]
        'arm 0'
        """
        plan = self.plan
        content = {
            "calendar": self.calendar.to_dict(),
            "value": plan.value,
            "bound": plan.bound,
            "optimal": plan.optimal,
            "repeats": plan.repeats,
            "rounds": self.length,
            "plays": [
                {
                    "round": play.round,
                    "date": play.day.isoformat(),
                    "begin": play.begin.isoformat(),
                    "end": play.end.isoformat(),
                    "arm": play.name,
                }
                for play in self.plays
            ],
        }
        if note:
            content["note"] = note
        return _given(to_text(stamp("schedule", VERSION, content)), path)

    def to_ics(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "lastswitch",
        stamp: datetime | None = None,
        note: str = "",
    ) -> str:
        """Return an iCalendar file (RFC 5545) with one event per play.

        The event of a place in a round keeps its identity whatever is played there: publish a new
        plan under the same ``name``, and a calendar that follows the feed changes its events
        instead of doubling them. Rounds of days are all-day events.

        Parameters
        ----------
        path
            Where to write it.
        name
            What to call the feed; feeds of different names never share an event.
        stamp
            When the feed was made, with a zone; now, if not given.
        note
            What to say of the whole feed.

        Examples
        --------
        >>> import lastswitch as ls
        >>> plan = ls.plan_block(ls.instances.two_arms(), 2)
        >>> feed = plan.calendar(ls.Calendar("2024-06-03")).to_ics(name="radio")
        >>> [line for line in feed.splitlines() if line.startswith("DTSTART")]
        ['DTSTART;VALUE=DATE:20240603', 'DTSTART;VALUE=DATE:20240604']
        """
        from lastswitch.calendars.ics import feed

        return _given(feed(self, name, stamp, note), path)

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return one row per play as a data frame of pandas or Polars.

        Examples
        --------
        >>> import lastswitch as ls
        >>> plan = ls.plan_block(ls.instances.two_arms(), 2)
        >>> plan.calendar(ls.Calendar("2024-06-03")).to_frame()["name"].tolist()
        ['arm 1', 'arm 0']
        """
        check_choice("library", library, get_args(Library), PlanError)
        module = load_extra(library, "frames")
        columns = {name: [getattr(play, name) for play in self.plays] for name in Play._fields}
        if library == "polars":
            zoned = module.Datetime("us", self.calendar.zone)
            types = [module.Int64, zoned, zoned, module.Date, module.Int64, module.String]
            return module.DataFrame(columns, schema=dict(zip(Play._fields, types, strict=True)))
        frame = module.DataFrame(columns)
        zone = self.calendar.zone
        kind = "datetime64[us]" if zone is None else f"datetime64[us, {zone}]"
        return frame.astype({"round": "int64", "begin": kind, "end": kind, "arm": "int64"})


def _wall(moment: datetime) -> str:
    """Return what the clock on the wall shows."""
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _given(text: str, path: str | PathLike[str] | None) -> str:
    """Write ``text`` to ``path``, if there is one, and return it."""
    if path is not None:
        write_atomic(Path(path) if isinstance(path, str) else path, text)
    return text
