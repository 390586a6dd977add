"""From a log to plays with states: everything a caller may say about the log, in one place.

Fitting, replaying and asking for current states all read a log this one way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.spelling import spelled
from lastswitch._utils.suggest import suggestion
from lastswitch.calendars.when import When, WhenLike, parse_when
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs.cleaning import BadRows, Events, read_events
from lastswitch.logs.clock import Rounds, clock_rounds, day_start
from lastswitch.logs.open_clock import OpenClock, open_events
from lastswitch.logs.source import (
    BackendLike,
    Columns,
    LogLike,
    Source,
    distinct_rows,
    open_log,
    select_columns,
)
from lastswitch.logs.states import Together, plays_by_clock, plays_in_order, with_states
from lastswitch.logs.times import TimeRules, time_rules
from lastswitch.logs.values import NumberRules, number_rules

if TYPE_CHECKING:
    from ibis.expr.types import Table

#: A moment: a date, a time, or text for one; a number for times that are numbers.
Moment = str | date | float
ScaleRule = Literal["none", "clip", "minmax"]
CopyRule = Literal["keep", "drop"]


class Scale(NamedTuple):
    """How rewards were brought to [0, 1]: ``(reward - low) / (high - low)``, then cut if asked."""

    rule: ScaleRule
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class LogRules:
    """How a log is read: its columns, its clock, its numbers, its order and its copies."""

    columns: Columns
    times: TimeRules
    numbers: NumberRules
    every: str | float | None = None
    day_starts: str = "00:00"
    together: Together = "mean"
    scale: ScaleRule = "none"
    copies: CopyRule = "keep"
    seed: int | None = None
    skip: When | None = None

    @property
    def chosen_order(self) -> bool:
        """Whether the caller said in which order events of one time come."""
        return self.every is not None or self.seed is not None


class LogOptions(TypedDict, total=False):
    """What may be said of how a log is read: the parameters of :class:`EventLog`, all optional."""

    every: str | float | None
    at: Moment | None
    subject: str | None
    time: str
    arm: str
    zone: str | None
    day_starts: str
    skip: WhenLike | None
    order: str | int | None
    time_format: str | None
    backend: BackendLike
    memory: str
    reward: str
    decimal: str
    reward_words: Mapping[str, float] | None
    together: Together
    scale: ScaleRule
    copies: CopyRule
    propensity: str | None


@dataclass(frozen=True)
class EventLog:
    """A log of events and how it is read: what fits, replays and plans of cohorts are asked of.

    Every function that reads a log takes one, or the log itself and the parameters from ``every``
    on as keywords.

    Parameters
    ----------
    log
        A CSV or Parquet file, several, a folder or a pattern; a data frame (pandas, Polars,
        Arrow); or an Ibis table. It is only read.
    every
        None: each subject's events in order are its rounds. ``"1d"``, ``"12h"``, ``"1w"``, ...: the
        clock gives the rounds, so a day without events is a day of rest. A number for times that
        are numbers.
    at
        Of current states only: the moment that lies in the coming round, which is not played yet.
        Events in it and later are not looked at. A date, a time, or text for one; a number for
        times that are numbers. By default, the round after the log's last, and without ``every``
        the one after each subject's own last. If it is closed, the next open round.
    subject, time, arm, reward
        The columns that say who, when, what was played and what it paid; only fits and replays
        read rewards. ``subject=None`` takes the whole log as one subject's; a fit then compares
        stretches of 20 rounds within themselves.
    zone, day_starts
        On whose clock days are cut, such as ``"America/Lima"``, and at what time of day. Times that
        carry no zone are read as of this one. Without ``zone``, days are cut at midnight UTC, or
        at the log's own midnight if its times carry none.
    skip
        Rounds that do not exist, in words as a :class:`lastswitch.Calendar` has them, such as
        ``"sat-sun"`` or ``"22:00-06:00"``: rest is counted in open rounds, and events in closed
        ones are left out with a notice.
    order
        Events of one subject at one time have no order. A column that gives them one, or a whole
        number, the seed of a random order. Where more than 5 % of consecutive events are tied, a
        fit answers no question unless ``order`` or ``every`` is given.
    time_format
        How times in text are written, such as ``"%d/%m/%Y %H:%M"``; ``"unix"`` or ``"unix_ms"``
        for numbers that are seconds or milliseconds since 1970. ISO 8601 needs none.
    backend
        ``"duckdb"`` (the default, embedded), ``"spark"``, or an Ibis connection.
    memory
        What the embedded engine may hold before it spills to disk.
    decimal, reward_words
        How rewards in text are written: the decimal mark, and words that stand for numbers, such
        as ``{"yes": 1, "no": 0}``.
    together
        With ``every``: what several events of one subject and arm in one round pay, their
        ``"mean"`` or ``"max"``. They are one play.
    scale
        ``"none"``: rewards are in [0, 1] already (others are refused). ``"clip"`` cuts them there,
        ``"minmax"`` maps the smallest to 0 and the largest to 1.
    copies
        What to do with rows equal in every column of the log: ``"keep"`` or ``"drop"`` them.
    propensity
        Of replays only: the column with the chance the arm of each event had of being played.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({"time": ["2024-06-01", "2024-06-02"], "arm": ["jazz", "talk"]})
    >>> log = EventLog(events, subject=None, every="1d", at="2024-06-03")
    >>> log.states()["tau"].to_pylist(), log.recent(1)["arm"].to_pylist()
    ([1, -1], ['talk'])
    """

    log: LogLike
    every: str | float | None = None
    at: Moment | None = None
    subject: str | None = "subject"
    time: str = "time"
    arm: str = "arm"
    zone: str | None = None
    day_starts: str = "00:00"
    skip: WhenLike | None = None
    order: str | int | None = None
    time_format: str | None = None
    backend: BackendLike = None
    memory: str = "3GB"
    reward: str = "reward"
    decimal: str = "."
    reward_words: Mapping[str, float] | None = None
    together: Together = "mean"
    scale: ScaleRule = "none"
    copies: CopyRule = "keep"
    propensity: str | None = None

    @classmethod
    def of(cls, log: LogLike | EventLog, options: LogOptions) -> EventLog:
        """Return ``log`` as a request, read as ``options`` say where they say anything.

        Examples
        --------
        >>> EventLog.of("plays.csv", {"every": "1d"}).every
        '1d'
        >>> EventLog.of("plays.csv", {"evry": "1d"})
        Traceback (most recent call last):
        lastswitch.errors.InputTypeError: a log has no option 'evry' (did you mean 'every'?).
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise InputTypeError(f"a log has no option {name!r}{suggestion(name, known)}.")
        return replace(log, **options) if isinstance(log, cls) else cls(log, **options)

    def states(self) -> Any:
        """Return the state of every arm that a subject ever played: ``subject, arm, tau``.

        See :func:`lastswitch.logs.current_states`.
        """
        from lastswitch.logs.current import standing

        with self.open() as reading:
            found = reading.source.connection.to_pyarrow(standing(reading, self.at))
        return found.sort_by([("subject", "ascending"), ("arm", "ascending")])

    def recent(self, rounds: int) -> Any:
        """Return who played what in the last ``rounds`` rounds, as an Arrow table.

        It has the columns ``subject``, ``round`` (-1 for the last one) and ``arm``.
        """
        from lastswitch.logs.current import recent_plays

        with self.open() as reading:
            found = reading.source.connection.to_pyarrow(recent_plays(reading, self.at, rounds))
        return found.sort_by([(name, "ascending") for name in ("subject", "round", "arm")])

    @contextmanager
    def open(self, *rewards: str) -> Iterator[Reading]:
        """Open and clean the log, its plays and these columns of rewards; close it at the end.

        ``rewards`` may be ``"reward"`` and ``"propensity"``.
        """
        rules = self._rules(rewards)
        with open_log(self.log, self.backend, self.memory) as source:
            yield read_log(source, rules)

    def _rules(self, rewards: Collection[str] = ()) -> LogRules:
        """Return how the log is to be read, checked before it is opened."""
        order, seed = self.order, None
        check_choice("scale", self.scale, get_args(ScaleRule), LogError)
        check_choice("together", self.together, get_args(Together), LogError)
        check_choice("copies", self.copies, get_args(CopyRule), LogError)
        if order is not None and (isinstance(order, bool) or not isinstance(order, str | int)):
            raise InputTypeError(
                f"{spelled('order')} must be the name of a column, or a whole number to draw a "
                f"random order by, got {order!r}.",
                parameter="order",
            )
        if order is not None and self.every is not None:
            raise LogError(
                f"{spelled('order')} and {spelled('every')} exclude each other: the clock gives "
                "the rounds then, and the order of events within one does not matter.",
                parameter="order",
            )
        if self.at is not None and self.every is None:
            raise LogError(
                f"at={self.at!r} is a moment on the clock: say how long a round is, such as "
                f"{spelled('every', '1d')}.",
                parameter="at",
            )
        if self.every is None and day_start(self.day_starts):
            raise LogError(
                f"{spelled('day_starts')} cuts the clock: say how long a round is, such as "
                f"{spelled('every', '1d')}.",
                parameter="day_starts",
            )
        if self.skip is not None and not isinstance(self.every, str):
            raise LogError(
                f"{spelled('skip')} leaves out rounds of the clock: say how long a round is, such "
                f"as {spelled('every', '1d')}.",
                parameter="skip",
            )
        if order is not None and not isinstance(order, str):
            seed, order = check_whole("order", order, 0, LogError), None
        columns = Columns(
            self.subject,
            self.time,
            self.arm,
            self.reward if "reward" in rewards else None,
            self.propensity if "propensity" in rewards else None,
            order,
        )
        return LogRules(
            columns,
            time_rules(self.time_format, self.zone),
            number_rules(self.decimal, self.reward_words),
            self.every,
            self.day_starts,
            self.together,
            self.scale if rewards else "none",
            self.copies,
            seed,
            None if self.skip is None else parse_when(self.skip),
        )


@dataclass(frozen=True)
class Reading:
    """A log that has been opened and cleaned: its events with rewards in [0, 1]."""

    source: Source
    rules: LogRules
    events: Events
    table: Table
    scale: Scale
    rounds: Rounds | OpenClock | None

    def states(self, shuffle: int | None = None) -> Table:
        """Return every play with its state; ``shuffle`` draws the order of tied events."""
        if self.rounds is not None:
            return with_states(plays_by_clock(self.table, self.rounds, self.rules.together))
        return with_states(plays_in_order(self.table, shuffle))

    def copies(self) -> int:
        """Count the rows that equal another one in every column of the log."""
        table = self.source.table
        different = distinct_rows(table)
        many = (self.source.connection.to_pyarrow(t.count()).as_py() for t in (table, different))
        whole, apart = many
        return int(whole) - int(apart)


def read_log(source: Source, rules: LogRules) -> Reading:
    """Clean the events of an opened log and bring their rewards to [0, 1]."""
    whole = distinct_rows(source.table) if rules.copies == "drop" else source.table
    raw = select_columns(whole, rules.columns)
    events = read_events(source, raw, rules.times, rules.numbers)
    rounds: Rounds | OpenClock | None = None
    if rules.every is not None:
        zone = rules.times.zone if events.clock == "stamps" else None
        rounds = clock_rounds(
            rules.every, events.clock, zone=zone, day_starts=rules.day_starts, span=events.span
        )
        if rules.skip is not None and isinstance(rules.every, str):
            rounds = OpenClock(rules.every, zone, rules.day_starts, rules.skip, events.span)
            events = open_events(source, events, rounds)
    table, scale = unit_rewards(events, rules.scale)
    reading = Reading(source, rules, events, table, scale, rounds)
    return _without_copies(reading) if rules.copies == "drop" else reading


def _without_copies(reading: Reading) -> Reading:
    """Book the rows that were dropped as copies, so that all rows add up."""
    dropped, events = reading.copies(), reading.events
    if not dropped:
        return reading
    bad = (*events.bad, BadRows("copy", dropped, ()))
    kept = Events(**{**vars(events), "rows": events.rows + dropped, "bad": bad})
    return Reading(**{**vars(reading), "events": kept})


def unit_rewards(events: Events, rule: ScaleRule) -> tuple[Table, Scale]:
    """Return the events with rewards in [0, 1], and how they were brought there."""
    scale = _scale(events, rule)
    if rule == "none":
        return events.table, scale
    unit = (events.table.reward - scale.low) / (scale.high - scale.low)
    return events.table.mutate(reward=unit.clip(lower=0.0, upper=1.0)), scale


def _scale(events: Events, rule: ScaleRule) -> Scale:
    low, high = events.lowest, events.highest
    if rule == "none" and (low < 0 or high > 1):
        raise LogError(
            f"rewards must lie in [0, 1], but go from {low:g} to {high:g}; use "
            f"{spelled('scale', 'minmax')} to map that range to [0, 1], or "
            f"{spelled('scale', 'clip')} to cut what lies outside.",
            parameter="scale",
        )
    if rule != "minmax":
        return Scale(rule)
    if low == high:
        raise LogError(
            f"every reward is {low:g}: there is no range to scale by {spelled('scale', 'minmax')}.",
            parameter="scale",
        )
    return Scale(rule, low, high)
