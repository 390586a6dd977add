"""From a log to curves: :func:`fit_curves` and what it returns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from lastswitch._checks import check_choice, check_flag, check_positive, check_whole, is_number
from lastswitch.bandit import Bandit
from lastswitch.errors import LastSwitchWarning, LogError
from lastswitch.logs.armfit import ArmFit, FitRules, fit_arm
from lastswitch.logs.cleaning import BadRows, Events, describe_row, read_events, refuse_bad_rows
from lastswitch.logs.counts import Census, Counts, count_states
from lastswitch.logs.questions import Finding, answer_questions
from lastswitch.logs.source import BackendLike, Columns, LogLike, Source, open_log, select_columns
from lastswitch.logs.states import (
    Together,
    clock_rounds,
    plays_by_clock,
    plays_in_order,
    with_states,
)

if TYPE_CHECKING:
    from ibis.expr.types import Table
    from matplotlib.figure import Figure

    from lastswitch.learning.rotation_prior import Prior

ScaleRule = Literal["none", "clip", "minmax"]

#: What every page, table and figure made from a log must say.
CAUTION = (
    "Logs are not experiments: what was played was chosen by someone, for reasons the log does "
    "not hold (who was shown what, when, and who stayed). Take these curves as a start for "
    "learning, not as proof."
)


class Scale(NamedTuple):
    """How rewards were brought to [0, 1]: ``(reward - low) / (high - low)``, then cut if asked."""

    rule: ScaleRule
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class LogSummary:
    """What was read: rows, what was wrong with some, and how rounds and rewards were made."""

    rows: int
    plays: int
    subjects: int
    merged: int
    every: str | float | None
    scale: Scale
    bad: tuple[BadRows, ...] = ()

    @property
    def notices(self) -> tuple[str, ...]:
        """What was done to the log's rows that its owner should know."""
        found = [str(entry) for entry in self.bad]
        if self.merged:
            found.append(f"{self.merged:,} × event joined to another of its subject, arm and round")
        return tuple(found)


@dataclass(frozen=True)
class CurveFit:
    """Curves fitted to a log, with what they rest on.

    Examples
    --------
    >>> from lastswitch.logs import simulate
    >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])], names=["jazz", "talk"])
    >>> fit = fit_curves(simulate(truth, subjects=200, rounds=50, seed=1))
    >>> fit.bandit.names, round(fit.bandit.mean(0, 2), 1)
    (('jazz', 'talk'), 0.8)
    """

    arms: tuple[ArmFit, ...]
    counts: Counts
    summary: LogSummary
    rules: FitRules

    @cached_property
    def bandit(self) -> Bandit:
        """The fitted curves as a bandit. Arms start rested as long as the log ever saw."""
        noise, sigma = ("bernoulli", 0.1) if self.binary else ("gaussian", self._residual())
        return Bandit(
            [arm.curve for arm in self.arms],
            noise=noise if sigma > 0 else "none",  # type: ignore[arg-type]
            names=self.counts.names,
            initial=[len(arm.curve.rest) for arm in self.arms],
            sigma=sigma,
        )

    @cached_property
    def binary(self) -> bool:
        """Whether every reward counted was 0 or 1."""
        return is_binary(self.counts)

    @cached_property
    def findings(self) -> tuple[tuple[Finding, Finding, Finding], ...]:
        """Whether each arm wears out, whether it recovers, and whether it has a period."""
        return answer_questions(self)

    @property
    def log_mean(self) -> float:
        """What the log earned per play."""
        return float(self.counts.total.sum() / self.counts.events.sum())

    def prior(self) -> Prior:
        """Return what the log saw as a warm start: ``RotationUCB(n_arms, prior=fit)``.

        Counts and sums of rewards by arm and state; first plays are in none.

        Examples
        --------
        >>> from lastswitch.logs import simulate
        >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])])
        >>> prior = fit_curves(simulate(truth, subjects=20, rounds=50, seed=1)).prior()
        >>> prior.rest_counts.shape == prior.rest_sums.shape, prior.streak_counts.shape[0]
        (True, 2)
        """
        from lastswitch.learning.rotation_prior import Prior

        events, total, _ = self.counts.pooled
        rests = slice(1, 1 + self.counts.rest)
        runs = slice(1 + self.counts.rest, None)
        return Prior(events[:, rests], total[:, rests], events[:, runs], total[:, runs])

    def plot(self, arm: int | str) -> Figure:
        """Draw one arm, by number or by name: the curve, what was seen, and how much."""
        from lastswitch.logs.figures import draw_arm

        bandit = self.bandit
        number = bandit.index(arm) if isinstance(arm, str) else bandit.check_arm(arm)
        return draw_arm(self, number)

    def write(self, path: str | PathLike[str]) -> list[Path]:
        """Write the bandit to ``path`` (``.toml``) and the fit, a table, a page, figures beside."""
        from lastswitch.logs.outputs import write_outputs

        return write_outputs(self, path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fit to one file; :func:`lastswitch.logs.load_fit` gives it back."""
        from lastswitch.logs.saving import save_fit

        return save_fit(self, path)

    def __str__(self) -> str:
        """Return what was found, in words."""
        lines = [
            f"{self.summary.plays:,} plays of {len(self.arms)} arms by "
            f"{self.summary.subjects:,} subjects, mean reward {self.log_mean:.4f}",
            *(f"left out: {notice}" for notice in self.summary.notices),
        ]
        for arm, findings in zip(self.arms, self.findings, strict=True):
            lines += [arm.name, *(f"  {found}" for found in findings)]
        return "\n".join([*lines, CAUTION])

    def _residual(self) -> float:
        """Return the standard deviation of rewards around the mean of their state."""
        events, total, squares = self.counts.pooled
        inside = squares - np.divide(total**2, events, out=np.zeros_like(total), where=events > 0)
        return float(np.sqrt(max(inside.sum(), 0.0) / events.sum()))


def fit_curves(
    log: LogLike,
    *,
    subject: str | None = "subject",
    time: str = "time",
    arm: str = "arm",
    reward: str = "reward",
    every: str | float | None = None,
    together: Together = "mean",
    scale: ScaleRule = "none",
    strict: bool = False,
    backend: BackendLike = None,
    max_rest: int = 60,
    max_streak: int = 20,
    level: float = 0.95,
    min_events: int = 30,
    smooth: float | None = None,
    memory: str = "3GB",
) -> CurveFit:
    """Fit what every arm pays, rested and repeated, to a log of events.

    Parameters
    ----------
    log
        A CSV or Parquet file, several, a folder or a pattern; a data frame (pandas, Polars,
        Arrow); or an Ibis table. It is only read.
    subject, time, arm, reward
        The columns that say who, when, what was played and what it paid. ``subject=None`` takes
        the whole log as one subject's.
    every
        None: each subject's events in order are its rounds (events at one time in the order of
        their arms' names, then rewards). ``"1d"``, ``"12h"``, ``"1w"``, ...: the clock gives the
        rounds, so a day without events is a day of rest. Days are cut at midnight UTC, or at the
        log's own midnight if its times carry no zone: shift the times first for another cut. A
        number for times that are numbers.
    together
        With ``every``: what several events of one subject and arm in one round pay, their
        ``"mean"`` or ``"max"``. They are one play.
    scale
        ``"none"``: rewards are in [0, 1] already (others are refused). ``"clip"`` cuts them there,
        ``"minmax"`` maps the smallest to 0 and the largest to 1.
    strict
        Refuse a log with bad rows instead of leaving them out with a notice.
    backend
        ``"duckdb"`` (the default, embedded), ``"spark"``, or an Ibis connection.
    max_rest, max_streak
        Depth of the tables: longer rests and streaks are counted with the last.
    level
        Confidence of the intervals.
    min_events
        States with fewer events are pooled with their neighbours.
    smooth
        Average each rest value with its neighbours within about this many rounds.
    memory
        What the embedded engine may hold before it spills to disk.

    Examples
    --------
    >>> from lastswitch.logs import simulate
    >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])], names=["jazz", "talk"])
    >>> log = simulate(truth, subjects=200, rounds=50, seed=1)
    >>> fit_curves(log, every="1d").arms[0].rest[1].mean > 0.7
    True
    """
    rules = FitRules(level, min_events, smooth)
    check_rules(rules, max_rest, max_streak, scale, together)
    check_flag("strict", strict)
    columns = Columns(subject, time, arm, reward)
    with open_log(log, backend, memory) as source:
        events = read_events(source, select_columns(source.table, columns))
        if strict:
            refuse_bad_rows(events.bad)
        table, factor = unit_rewards(events, scale)
        states = states_of(table, events, every, together)
        census = count_states(states, source.connection, max_rest, max_streak)
        bad = (*events.bad, *_copies(source, states, census))
    if strict:
        refuse_bad_rows(bad)
    summary = LogSummary(
        events.rows, census.plays, events.subjects, census.merged, every, factor, bad
    )
    if bad:
        listing = "\n".join(f"  {entry}" for entry in bad)
        warnings.warn(f"bad rows left out:\n{listing}", LastSwitchWarning, stacklevel=2)
    return fit_counts(census.counts, summary, rules)


def fit_counts(counts: Counts, summary: LogSummary, rules: FitRules) -> CurveFit:
    """Fit curves to counts already made."""
    binary = is_binary(counts)
    arms = tuple(fit_arm(counts, arm, rules, binary) for arm in range(counts.n_arms))
    return CurveFit(arms, counts, summary, rules)


def is_binary(counts: Counts) -> bool:
    """Say whether every reward was 0 or 1: then, and only then, squares sum to the same."""
    return bool(np.allclose(counts.squares, counts.total, rtol=0, atol=1e-9))


def states_of(table: Table, events: Events, every: str | float | None, together: Together) -> Table:
    """Return every play of the log with its state."""
    if every is None:
        return with_states(plays_in_order(table))
    return with_states(plays_by_clock(table, clock_rounds(every, events.clock), together))


def check_rules(
    rules: FitRules, max_rest: int, max_streak: int, scale: str, together: str = "mean"
) -> None:
    """Refuse settings under which no log can be read."""
    check_choice("scale", scale, get_args(ScaleRule), LogError)
    check_choice("together", together, get_args(Together), LogError)
    check_whole("max_rest", max_rest, 1, LogError)
    check_whole("max_streak", max_streak, 1, LogError)
    check_whole("min_events", rules.min_events, 1, LogError)
    if not (is_number(rules.level) and 0 < rules.level < 1):
        raise LogError(f"level must lie strictly between 0 and 1, got {rules.level!r}.")
    if rules.smooth is not None:
        check_positive("smooth", rules.smooth, LogError)


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


def _copies(source: Source, states: Table, census: Census) -> tuple[BadRows, ...]:
    if not census.copies:
        return ()
    few = states.filter(states.copies > 0).select("subject", "arm", "reward").limit(3)
    rows: list[dict[str, Any]] = source.connection.to_pyarrow(few).to_pylist()
    return (BadRows("copy", census.copies, tuple(map(describe_row, rows))),)
