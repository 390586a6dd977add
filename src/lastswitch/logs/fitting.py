"""From a log to curves: :func:`fit_curves`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple, Unpack

from lastswitch._utils.checks import check_flag
from lastswitch.errors import LastSwitchWarning
from lastswitch.logs.armfit import FitRules, check_rules
from lastswitch.logs.cleaning import BadRows, bad_row_hints, refuse_bad_rows
from lastswitch.logs.counts import Census, Counts, check_tables, count_states
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.reading import EventLog, LogOptions, LogRules, Reading
from lastswitch.logs.source import LogLike
from lastswitch.logs.summary import ORDERS, LogSummary


def fit_curves(
    log: LogLike | EventLog,
    *,
    strict: bool = False,
    max_rest: int = 60,
    max_streak: int = 20,
    level: float = 0.95,
    min_events: int = 30,
    min_subjects: int = 5,
    smooth: float | None = None,
    **how: Unpack[LogOptions],
) -> CurveFit:
    """Fit what every arm pays, rested and repeated, to a log of events.

    Everything is compared within subjects: a state's mean is that of the average subject, and the
    three questions (does it wear out, recover, have a period) are answered from the differences
    each subject shows against itself. What the log does not hold is said to be unknown.

    Parameters
    ----------
    log
        The log: a CSV or Parquet file, several, a folder or a pattern; a data frame (pandas,
        Polars, Arrow); or an Ibis table. Or an :class:`lastswitch.logs.EventLog`, which also says
        how it is read.
    strict
        Refuse a log with bad rows instead of leaving them out with a notice.
    max_rest, max_streak
        Depth of the tables: longer rests and streaks are counted with the last.
    level
        Confidence of the intervals; ``1 - level`` is the chance of any false answer.
    min_events, min_subjects
        A state seen less often, or by fewer subjects, is pooled with its neighbours, and unknown
        where that is still too little: planning counts on its lower bound only.
    smooth
        Average each rest value with its neighbours within about this many rounds.
    **how
        How the log is read, the parameters of :class:`lastswitch.logs.EventLog`: ``subject``,
        ``time``, ``arm`` and ``reward`` name columns; ``every``, ``zone``, ``day_starts``,
        ``skip`` and ``order`` make rounds; ``time_format``, ``decimal``, ``reward_words``,
        ``together``, ``scale`` and ``copies`` read values; ``backend`` and ``memory`` do the work.

    Examples
    --------
    >>> from lastswitch import Bandit
    >>> from lastswitch.logs import simulate
    >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])], names=["jazz", "talk"])
    >>> log = simulate(truth, subjects=200, rounds=50, seed=1)
    >>> fit_curves(log, every="1d").arms[0].rest[1].mean > 0.7
    True
    """
    rules = FitRules(level, min_events, min_subjects, smooth)
    check_rules(rules)
    check_tables(0, max_rest, max_streak)
    check_flag("strict", strict)
    with EventLog.of(log, how).open("reward") as reading:
        bad = reading.events.bad
        if strict:
            refuse_bad_rows(bad)
        ordered = count_in_order(reading, max_rest, max_streak)
        summary = _summary(reading, ordered)
    if bad:
        _warn(bad)
    fit = fit_counts(ordered.census.counts, summary, rules._replace(blurred=ordered.blurred))
    single = tuple(fitted.name for fitted in fit.arms if not fitted.repeats)
    summary = replace(summary, single=single, agreed=agreed_orders(fit, ordered.others))
    return CurveFit(fit.arms, fit.counts, summary, fit.rules)


def _summary(reading: Reading, ordered: Ordered) -> LogSummary:
    census, events, rules = ordered.census, reading.events, reading.rules
    maybe_copies = rules.copies == "keep" and (ordered.tied or census.merged)
    unordered = (
        unordered_words(ordered.tied, ordered.pairs, ordered.blurred) if ordered.blurred else ""
    )
    zone = rules.times.zone
    return LogSummary(
        events.rows,
        census.plays,
        events.subjects,
        census.merged,
        rules.every,
        reading.scale,
        events.bad,
        copies=reading.copies() if maybe_copies else 0,
        tied=ordered.tied,
        pairs=ordered.pairs,
        order=_order_words(rules) if ordered.tied else "",
        unordered=unordered,
        silent=census.silent,
        share=census.share,
        zone=None if zone is None else zone.key,
        day_starts=rules.day_starts,
        skip="" if rules.skip is None else str(rules.skip),
    )


def _order_words(rules: LogRules) -> str:
    if rules.seed is not None:
        return f"they come in a random order (seed {rules.seed})"
    return "these few come in a random order"


def agreed_orders(fit: CurveFit, others: tuple[Counts, ...]) -> tuple[tuple[int, ...], ...]:
    """Count the random orders, this one included, that give each answer this one gives."""
    if not others:
        return ()
    plain = replace(fit.summary, agreed=())
    here = [[found.answer for found in row] for row in fit.findings]
    same = [[1] * len(row) for row in here]
    for counts in others:
        there = fit_counts(counts, plain, fit.rules).findings
        for arm, row in enumerate(there):
            for question, found in enumerate(row):
                same[arm][question] += found.answer == here[arm][question]
    return tuple(tuple(row) for row in same)


def _warn(bad: tuple[BadRows, ...]) -> None:
    lines = [f"  {entry}" for entry in bad]
    lines += [f"  to read more of them: {hint}" for hint in bad_row_hints(bad)]
    listing = "\n".join(lines)
    warnings.warn(f"bad rows left out:\n{listing}", LastSwitchWarning, stacklevel=3)


#: Share of consecutive events without an order from which on it must be chosen.
MOST_TIED = 0.05
#: Below this share of them, other orders are not tried: they cannot change an answer.
_FEW_TIED = 0.001


class Ordered(NamedTuple):
    """Counts, what is not known for lack of an order, and the counts of other random orders."""

    census: Census
    tied: int
    pairs: int
    blurred: int
    others: tuple[Counts, ...]


def count_in_order(reading: Reading, rest: int, streak: int) -> Ordered:
    """Count every play of a log, drawing the order of tied events at random."""

    def count(shuffle: int | None = None) -> Census:
        one = reading.rules.columns.subject is None
        connection, rows = reading.source.connection, reading.events.rows
        states = reading.states(shuffle)
        return count_states(states, connection, rest, streak, one=one, rows=rows)

    plain = count()
    tied, pairs = plain.tied, max(plain.pairs - reading.events.subjects, 1)
    if not tied:
        return Ordered(plain, 0, pairs, 0, ())
    seed = reading.rules.seed
    drawn = count(0 if seed is None else seed)
    if seed is None and tied > MOST_TIED * pairs:
        return Ordered(drawn, tied, pairs, min(_largest_batch(reading), rest), ())
    if tied < _FEW_TIED * pairs:
        return Ordered(drawn, tied, pairs, 0, ())
    others = tuple(count((seed or 0) + more).counts for more in range(1, ORDERS))
    return Ordered(drawn, tied, pairs, 0, others)


def unordered_words(tied: int, pairs: int, blurred: int) -> str:
    """Return why nothing is said of streaks and short rests, and what to do.

    Examples
    --------
    >>> unordered_words(30, 40, 4)[:66]
    '30 of 40 consecutive events (75%) have the time of the one before '
    """
    return (
        f"{tied:,} of {pairs:,} consecutive events ({tied / pairs:.0%}) have the time of the one "
        f"before them, and which came first is not in the log: streaks, and rests up to {blurred} "
        "rounds, cannot be told. Say what orders them, a column or a seed to draw an order by "
        "(order), or let the clock make the rounds (every)."
    )


def _largest_batch(reading: Reading) -> int:
    """Return the most events that share a subject and a time."""
    table = reading.table
    batches = table.group_by(["subject", "time"]).aggregate(many=table.count())
    found = reading.source.connection.to_pyarrow(batches.aggregate(most=batches.many.max()))
    return int(found["most"][0].as_py())
