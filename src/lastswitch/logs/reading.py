"""From a log to plays with states: everything a caller may say about the log, in one place.

Fitting, replaying and asking for current states all read a log this one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from lastswitch._checks import check_choice, check_whole
from lastswitch._when import When, WhenLike, parse_when
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs.cleaning import BadRows, Events, read_events
from lastswitch.logs.clock import Rounds, clock_rounds, day_start
from lastswitch.logs.open_clock import OpenClock, open_events
from lastswitch.logs.source import Columns, Source, distinct_rows, select_columns
from lastswitch.logs.states import Together, plays_by_clock, plays_in_order, with_states
from lastswitch.logs.times import TimeRules, time_rules
from lastswitch.logs.values import NumberRules, number_rules

if TYPE_CHECKING:
    from ibis.expr.types import Table

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


def log_rules(
    columns: Columns,
    *,
    order: str | int | None = None,
    every: str | float | None = None,
    zone: str | None = None,
    day_starts: str = "00:00",
    skip: WhenLike | When | None = None,
    time_format: str | None = None,
    decimal: str = ".",
    reward_words: Mapping[str, float] | None = None,
    together: Together = "mean",
    scale: ScaleRule = "none",
    copies: CopyRule = "keep",
) -> LogRules:
    """Return how a log is to be read, checked before it is opened."""
    check_choice("scale", scale, get_args(ScaleRule), LogError)
    check_choice("together", together, get_args(Together), LogError)
    check_choice("copies", copies, get_args(CopyRule), LogError)
    if order is not None and (isinstance(order, bool) or not isinstance(order, str | int)):
        raise InputTypeError(
            f"order must be the name of a column, or a whole number to draw a random order by, "
            f"got {order!r}."
        )
    if order is not None and every is not None:
        raise LogError(
            "order and every exclude each other: the clock gives the rounds then, and the order of "
            "events within one does not matter."
        )
    if every is None and day_start(day_starts):
        raise LogError("day_starts cuts the clock: say how long a round is, such as every='1d'.")
    if skip is not None and not isinstance(every, str):
        raise LogError(
            "skip leaves out rounds of the clock: say how long a round is, such as every='1d'."
        )
    seed = None
    if isinstance(order, str):
        columns = Columns(**{**vars(columns), "order": order})
    elif order is not None:
        seed = check_whole("order", order, 0, LogError)
    return LogRules(
        columns,
        time_rules(time_format, zone),
        number_rules(decimal, reward_words),
        every,
        day_starts,
        together,
        scale,
        copies,
        seed,
        None if skip is None else parse_when(skip),
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
            f"rewards must lie in [0, 1], but go from {low:g} to {high:g}; use scale='minmax' to "
            "map that range to [0, 1], or scale='clip' to cut what lies outside."
        )
    if rule != "minmax":
        return Scale(rule)
    if low == high:
        raise LogError(f"every reward is {low:g}: there is no range to scale by scale='minmax'.")
    return Scale(rule, low, high)
