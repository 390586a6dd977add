"""Ask every arm whether it wears out, whether it recovers, and whether it has a period.

Each answer is a difference of two means with its interval, tested against groups of subjects (so
that a few eager subjects do not pass for evidence) and corrected for asking of many arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from lastswitch._random import stream
from lastswitch.logs.counts import Counts, Floats, Tally

if TYPE_CHECKING:
    from lastswitch.logs.armfit import ArmFit, FitRules
    from lastswitch.logs.curvefit import CurveFit

Question = Literal["wears out", "recovers", "has a period"]
Answer = Literal["yes", "no", "reverse", "unclear"]

#: A difference within this share of the arm's mean is called none.
NEGLIGIBLE = 0.1
_DRAWS = 199


@dataclass(frozen=True)
class Finding:
    """The answer to one question about one arm.

    ``effect`` is a difference in reward, ``low`` and ``high`` its interval; ``p_value`` is
    corrected for the number of arms (Holm). ``period`` is the rounds of a period found.
    """

    question: Question
    answer: Answer
    words: str
    effect: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p_value: float = float("nan")
    period: int | None = None

    def __str__(self) -> str:
        return f"{self.question}: {self.answer}. {self.words}"


class Contrast(NamedTuple):
    """The difference of two means, the means themselves, and how sure it is."""

    effect: float
    low: float
    high: float
    p_value: float
    before: float
    after: float


def answer_questions(fit: CurveFit) -> tuple[tuple[Finding, Finding, Finding], ...]:
    """Answer all three questions for every arm of a fit."""
    numbers = range(len(fit.arms))
    wear = [_wears_out(fit.counts, arm, fit.rules) for arm in numbers]
    rise = [_recovers(fit.counts, arm, fit.rules) for arm in numbers]
    beat = [_has_period(fit.arms[arm], fit.rules) for arm in numbers]
    events, total, _ = fit.counts.pooled
    usual = (total.sum(axis=1) / events.sum(axis=1)).tolist()
    answered = (_judged(column, usual, fit.rules.level) for column in (wear, rise, beat))
    worn, back, beats = answered
    timed = [_timed(found, arm) for found, arm in zip(back, fit.arms, strict=True)]
    return tuple(zip(worn, timed, beats, strict=True))


def contrast(groups: Tally, before: Sequence[int], after: Sequence[int], level: float) -> Contrast:
    """Return the mean reward in columns ``after`` minus that in columns ``before``.

    Its variance is that between groups of subjects, or that between single events where this is
    larger, so what subjects have in common in both means cancels as it should.
    """
    from scipy.stats import t

    sums = [
        Tally(*(table[:, list(cols)].sum(axis=1) for table in groups)) for cols in (before, after)
    ]
    events = [float(part.events.sum()) for part in sums]
    means = [float(part.total.sum()) / many for part, many in zip(sums, events, strict=True)]
    spread = [
        max(float(part.squares.sum()) / many - mean**2, 0.0)
        for part, many, mean in zip(sums, events, means, strict=True)
    ]
    single = sum(s / max(many - 1, 1.0) for s, many in zip(spread, events, strict=True))
    residual = [
        (part.total - mean * part.events) / many
        for part, many, mean in zip(sums, events, means, strict=True)
    ]
    used = int(np.count_nonzero(sums[0].events + sums[1].events))
    shared = (
        used / (used - 1) * float(np.sum((residual[1] - residual[0]) ** 2)) if used > 1 else 0.0
    )
    error = float(np.sqrt(max(single, shared)))
    freedom = used - 1 if used > 1 else max(sum(events) - 2, 1.0)
    effect = means[1] - means[0]
    if error == 0.0:
        return Contrast(effect, effect, effect, 1.0 if effect == 0 else 0.0, *means)
    half = float(t.ppf((1 + level) / 2, freedom)) * error
    p_value = 2 * float(t.sf(abs(effect) / error, freedom))
    return Contrast(effect, effect - half, effect + half, p_value, *means)


def _wears_out(counts: Counts, arm: int, rules: FitRules) -> Finding:
    """Compare the deepest streaks with plays after a rest."""
    events = counts.pooled.events[arm]
    rested, runs = _sides(counts)
    worn = _deepest(events, runs, rules.min_events, share=0.1)
    if events[rested].sum() < rules.min_events or not worn:
        return _too_few("wears out", "plays after a rest or in a row")
    found = contrast(counts.by_group(arm), rested, worn, rules.level)
    times = worn[0] - counts.rest
    deep = f"after {times} or more in a row" if times > 1 else "in a row"
    words = f"It pays {found.before:.3g} after a rest and {found.after:.3g} {deep}"
    answer: Answer = "yes" if found.effect < 0 else "reverse"
    return _finding("wears out", answer, words, found)


def _recovers(counts: Counts, arm: int, rules: FitRules) -> Finding:
    """Compare long rests with plays in a row, or with the shortest rest if there are none."""
    events = counts.pooled.events[arm]
    rested, runs = _sides(counts)
    low = runs if events[runs].sum() >= rules.min_events else [1]
    high = [c for c in _deepest(events, rested, rules.min_events, share=0.25) if c not in low]
    if events[low].sum() < rules.min_events or events[high].sum() < rules.min_events:
        return _too_few("recovers", "plays after a short and a long rest")
    found = contrast(counts.by_group(arm), low, high, rules.level)
    start = "when repeated" if low is runs else "after one round of rest"
    words = (
        f"It pays {found.before:.3g} {start} and {found.after:.3g} after {high[0]} or more "
        "rounds of rest"
    )
    answer: Answer = "yes" if found.effect > 0 else "reverse"
    return _finding("recovers", answer, words, found)


def _timed(found: Finding, fitted: ArmFit) -> Finding:
    """Add how long recovery takes, where there is one."""
    if found.answer != "yes":
        return found
    low = fitted.curve.streak[0] if fitted.streak else fitted.curve.rest[0]
    goal = low + 0.9 * (fitted.curve.rest[-1] - low)
    # The first rest that cannot be told apart from that: a hair's breadth must not add rounds.
    reach = [state.value + max(state.high - state.mean, 0.0) for state in fitted.rest]
    back = next((rest for rest, value in enumerate(reach, 1) if value >= goal), len(reach))
    words = f"{found.words} Nine tenths are back after {back} round{'s' if back > 1 else ''}."
    return replace(found, words=words)


def _has_period(fitted: ArmFit, rules: FitRules) -> Finding:
    """Look for a pattern that repeats along the rest side, beyond a rise or a fall."""
    seen = []
    for state in fitted.rest:  # the longest unbroken stretch of well-counted rests from 1 on
        if state.events < rules.min_events:
            break
        seen.append(state)
    if len(seen) < 6:
        return _too_few("has a period", "well-counted rests (at least 6)")
    from scipy.stats import norm

    means = np.array([state.mean for state in seen])
    wide = np.array([state.high - state.low for state in seen])
    errors = np.maximum(wide / (2 * norm.ppf((1 + rules.level) / 2)), 1e-6)
    trend = _monotone(means, errors)
    scores, base = _period_scores(means, errors, trend)
    if scores.max() <= 0:
        return Finding("has a period", "no", "", p_value=1.0)
    p_value = _period_chance(trend, errors, float(scores.max()), fitted.name)
    # Multiples of a period score about as well: the shortest that does is the period.
    period = int(np.flatnonzero(scores >= 0.9 * scores.max())[0]) + 2
    phases = [_phase_mean(means - base, errors, phase, period) for phase in range(period)]
    best, worst = max(phases), min(phases)
    effect = best[0] - worst[0]
    half = float(norm.ppf((1 + rules.level) / 2)) * np.hypot(best[1], worst[1])
    longest = len(seen) // 2
    peak = phases.index(best) or period
    words = (
        f"Every {period} rounds of rest (at {peak}, {peak + period}, ...) it pays {effect:.3g} "
        f"more than at the low point; periods up to {longest} were tried"
    )
    found = Contrast(effect, effect - half, effect + half, p_value, worst[0], best[0])
    return replace(_finding("has a period", "yes", words, found), period=period)


def _period_scores(means: Floats, errors: Floats, trend: Floats) -> tuple[Floats, Floats]:
    """Score every period by how much better than the trend it predicts each rest.

    Returned with the scores is what the pattern was laid upon: the trend (a monotone fit, so that
    a rise, a fall or a step is no period), or a level. A level, since the trend of a pure season
    is a step that its first turn alone does not follow. A rest never predicts itself, so that a
    single peak is no period.
    """
    weight = 1 / errors**2
    level = np.full(len(means), np.average(means, weights=weight))
    missed = float(np.sum(weight * (means - trend) ** 2))
    scores = [
        np.array([missed - _missed(means - base, weight, p) for p in range(2, len(means) // 2 + 1)])
        for base in (trend, level)
    ]
    best = int(scores[1].max() > scores[0].max())
    return scores[best], (trend, level)[best]


def _missed(residual: Floats, weight: Floats, period: int) -> float:
    """Return what is left when every rest is predicted by the others of its phase."""
    phase = np.arange(len(residual)) % period
    mass = np.bincount(phase, weight)[phase] - weight
    pull = np.bincount(phase, weight * residual)[phase] - weight * residual
    guess = np.divide(pull, mass, out=np.zeros(len(residual)), where=mass > 0)
    return float(np.sum(weight * (residual - guess) ** 2))


def _monotone(means: Floats, errors: Floats) -> Floats:
    from scipy.optimize import isotonic_regression

    weight = 1 / errors**2
    fits = [isotonic_regression(means, weights=weight, increasing=up).x for up in (True, False)]
    return np.asarray(min(fits, key=lambda fit: float(np.sum(weight * (means - fit) ** 2))))


def _period_chance(trend: Floats, errors: Floats, best: float, label: str) -> float:
    """Return the chance of a score this good without any period.

    The best score is redrawn under the trend alone. It is the largest of many quadratic forms, so
    its tail is Gumbel's, which gives small chances without drawing for ever.
    """
    rng = stream(0, "logs", "period", label)
    noise = rng.standard_normal((_DRAWS, len(trend)))
    drawn = []
    for means in trend + errors * noise:
        scores, _ = _period_scores(means, errors, _monotone(means, errors))
        drawn.append(float(scores.max()))
    scale = max(float(np.std(drawn)) * np.sqrt(6) / np.pi, 1e-12)
    centre = float(np.mean(drawn)) - np.euler_gamma * scale
    return float(-np.expm1(-np.exp(-(best - centre) / scale)))


def _phase_mean(residual: Floats, errors: Floats, phase: int, period: int) -> tuple[float, float]:
    """Return the mean residual at rests ``phase``, ``phase + period``, ... and its error."""
    mine = np.arange(1, len(residual) + 1) % period == phase
    weight = 1 / errors[mine] ** 2
    return float(np.average(residual[mine], weights=weight)), float(weight.sum() ** -0.5)


def _sides(counts: Counts) -> tuple[list[int], list[int]]:
    return list(range(1, 1 + counts.rest)), list(range(1 + counts.rest, counts.width))


def _deepest(events: Floats, columns: list[int], least: int, share: float) -> list[int]:
    """Return the deepest columns that hold enough events together: chosen by counts alone."""
    needed = max(least, share * float(events[columns].sum()))
    held = np.cumsum(events[columns][::-1])
    if held[-1] < needed:
        return []
    return columns[len(columns) - 1 - int(np.searchsorted(held, needed)) :]


def _too_few(question: Question, what: str) -> Finding:
    return Finding(question, "unclear", f"Too few {what} to tell.")


def _finding(question: Question, answer: Answer, words: str, found: Contrast) -> Finding:
    return Finding(question, answer, words, found.effect, found.low, found.high, found.p_value)


def _judged(findings: list[Finding], usual: list[float], level: float) -> list[Finding]:
    """Correct the chances for the number of arms, and say yes or no."""
    asked = [place for place, found in enumerate(findings) if not np.isnan(found.p_value)]
    raw = np.array([findings[place].p_value for place in asked])
    judged = list(findings)
    for place, p_value in zip(asked, _holm(raw), strict=True):
        judged[place] = _verdict(findings[place], float(p_value), usual[place], level)
    return judged


def _holm(p_values: Floats) -> Floats:
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _verdict(found: Finding, p_value: float, usual: float, level: float) -> Finding:
    sure = p_value < 1 - level
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    between = f"difference {found.effect:+.3g}, between {found.low:+.3g} and {found.high:+.3g}"
    if found.question == "has a period" and not sure:
        words = f"No period stands out ({chance})."
        return replace(found, answer="no", words=words, p_value=p_value, period=None)
    words = f"{found.words} ({between}, {chance})."
    if sure:
        if found.answer == "reverse":
            words += " That is the opposite: habit, or the log's own choices, may explain it."
        if found.question == "has a period":
            words += " Beyond its table the fitted curve holds its last value: it does not go on."
        return replace(found, words=words, p_value=p_value)
    small = max(abs(found.low), abs(found.high)) <= NEGLIGIBLE * usual
    return replace(found, answer="no" if small else "unclear", words=words, p_value=p_value)
