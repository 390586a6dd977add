"""From a log to curves: :func:`fit_curves`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Unpack

from lastswitch._checks import check_flag
from lastswitch.errors import LastSwitchWarning
from lastswitch.logs.armfit import FitRules, check_rules
from lastswitch.logs.cleaning import BadRows, bad_row_hints, refuse_bad_rows
from lastswitch.logs.counts import Counts, check_tables
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.ordering import Ordered, count_in_order, unordered_words
from lastswitch.logs.reading import EventLog, LogOptions, LogRules, Reading
from lastswitch.logs.source import LogLike
from lastswitch.logs.summary import LogSummary


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
