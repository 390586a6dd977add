"""From a log to curves: :func:`fit_curves`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

from lastswitch._checks import check_flag
from lastswitch._when import WhenLike
from lastswitch.errors import LastSwitchWarning
from lastswitch.logs.armfit import FitRules, check_rules
from lastswitch.logs.cleaning import BadRows, bad_row_hints, refuse_bad_rows
from lastswitch.logs.counts import Counts, check_tables
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.ordering import Ordered, count_in_order, unordered_words
from lastswitch.logs.reading import CopyRule, LogRules, Reading, ScaleRule, log_rules, read_log
from lastswitch.logs.source import BackendLike, Columns, LogLike, open_log
from lastswitch.logs.states import Together
from lastswitch.logs.summary import LogSummary


def fit_curves(
    log: LogLike,
    *,
    subject: str | None = "subject",
    time: str = "time",
    arm: str = "arm",
    reward: str = "reward",
    every: str | float | None = None,
    zone: str | None = None,
    day_starts: str = "00:00",
    skip: WhenLike | None = None,
    order: str | int | None = None,
    time_format: str | None = None,
    decimal: str = ".",
    reward_words: Mapping[str, float] | None = None,
    together: Together = "mean",
    scale: ScaleRule = "none",
    copies: CopyRule = "keep",
    strict: bool = False,
    backend: BackendLike = None,
    max_rest: int = 60,
    max_streak: int = 20,
    level: float = 0.95,
    min_events: int = 30,
    min_subjects: int = 5,
    smooth: float | None = None,
    memory: str = "3GB",
) -> CurveFit:
    """Fit what every arm pays, rested and repeated, to a log of events.

    Everything is compared within subjects: a state's mean is that of the average subject, and the
    three questions (does it wear out, recover, have a period) are answered from the differences
    each subject shows against itself. What the log does not hold is said to be unknown.

    Parameters
    ----------
    log
        A CSV or Parquet file, several, a folder or a pattern; a data frame (pandas, Polars,
        Arrow); or an Ibis table. It is only read.
    subject, time, arm, reward
        The columns that say who, when, what was played and what it paid. ``subject=None`` takes
        the whole log as one subject's; stretches of 20 rounds are then compared within themselves.
    every
        None: each subject's events in order are its rounds. ``"1d"``, ``"12h"``, ``"1w"``, ...: the
        clock gives the rounds, so a day without events is a day of rest. A number for times that
        are numbers.
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
        number, the seed of a random order. Where more than 5 % of consecutive events are tied, no
        question is answered unless ``order`` or ``every`` is given.
    time_format
        How times in text are written, such as ``"%d/%m/%Y %H:%M"``; ``"unix"`` or ``"unix_ms"``
        for numbers that are seconds or milliseconds since 1970. ISO 8601 needs none.
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
    strict
        Refuse a log with bad rows instead of leaving them out with a notice.
    backend
        ``"duckdb"`` (the default, embedded), ``"spark"``, or an Ibis connection.
    max_rest, max_streak
        Depth of the tables: longer rests and streaks are counted with the last.
    level
        Confidence of the intervals; ``1 - level`` is the chance of any false answer.
    min_events, min_subjects
        A state seen less often, or by fewer subjects, is pooled with its neighbours, and unknown
        where that is still too little: planning counts on its lower bound only.
    smooth
        Average each rest value with its neighbours within about this many rounds.
    memory
        What the embedded engine may hold before it spills to disk.

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
    reads = log_rules(
        Columns(subject, time, arm, reward),
        order=order,
        every=every,
        zone=zone,
        day_starts=day_starts,
        skip=skip,
        time_format=time_format,
        decimal=decimal,
        reward_words=reward_words,
        together=together,
        scale=scale,
        copies=copies,
    )
    with open_log(log, backend, memory) as source:
        reading = read_log(source, reads)
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
