"""Does an arm have a period: a pattern along its rests that repeats, beyond a rise or a fall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.random import stream

_DRAWS = 199
#: Rests in a row that must be well counted for a period to be looked for.
LEAST = 6


class Beat(NamedTuple):
    """The best period: its length, its peak, how much it adds there, and the chance of that."""

    period: int
    peak: int
    longest: int
    effect: float
    low: float
    high: float
    p_value: float


def find_period(means: FloatArray, pulls: FloatArray, level: float, label: str) -> Beat | None:
    """Return the best period along rests 1, 2, ...; None where no period predicts anything.

    ``pulls`` (groups, rests) are the groups' shares in the errors of ``means``, which are compared
    with one another only.
    """
    from scipy.stats import norm

    errors = np.maximum(np.sqrt(np.sum(pulls**2, axis=0)), 1e-6)
    trend = _monotone(means, errors)
    scores, base = _period_scores(means, errors, trend)
    if scores.max() <= 0:
        return None
    p_value = _period_chance(trend, errors, pulls, float(scores.max()), label)
    # Multiples of a period score about as well: the shortest that does is the period.
    period = int(np.flatnonzero(scores >= 0.9 * scores.max())[0]) + 2
    phases = [_phase_mean(means - base, errors, phase, period) for phase in range(period)]
    best, worst = max(phases), min(phases)
    effect = best[0] - worst[0]
    half = float(norm.ppf((1 + level) / 2)) * float(np.hypot(best[1], worst[1]))
    return Beat(
        period,
        phases.index(best) or period,
        len(means) // 2,
        effect,
        effect - half,
        effect + half,
        p_value,
    )


def _period_scores(
    means: FloatArray, errors: FloatArray, trend: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Score every period by how much better than the trend it predicts each rest.

    Returned with the scores is what the pattern was laid upon: the trend (a monotone fit, so that
    a rise, a fall or a step is no period), or a level. A level, since the trend of a pure season
    is a step that its first turn alone does not follow. A rest never predicts itself, and the one
    that gains most does not count, so that a single peak is no period.
    """
    weight = 1 / errors**2
    level = np.full(len(means), np.average(means, weights=weight))
    missed, periods = weight * (means - trend) ** 2, range(2, len(means) // 2 + 1)
    gains = [
        [missed - _missed(means - base, weight, p) for p in periods] for base in (trend, level)
    ]
    scores = [np.array([gain.sum() - gain.max() for gain in tried]) for tried in gains]
    best = int(scores[1].max() > scores[0].max())
    return scores[best], (trend, level)[best]


def _missed(residual: FloatArray, weight: FloatArray, period: int) -> FloatArray:
    """Return what is left of every rest when the others of its phase predict it."""
    phase = np.arange(len(residual)) % period
    mass = np.bincount(phase, weight)[phase] - weight
    pull = np.bincount(phase, weight * residual)[phase] - weight * residual
    guess = np.divide(pull, mass, out=np.zeros(len(residual)), where=mass > 0)
    missed: FloatArray = weight * (residual - guess) ** 2
    return missed


def _monotone(means: FloatArray, errors: FloatArray) -> FloatArray:
    from scipy.optimize import isotonic_regression

    weight = 1 / errors**2
    fits = [isotonic_regression(means, weights=weight, increasing=up).x for up in (True, False)]
    return np.asarray(min(fits, key=lambda fit: float(np.sum(weight * (means - fit) ** 2))))


def _period_chance(
    trend: FloatArray, errors: FloatArray, pulls: FloatArray, best: float, label: str
) -> float:
    """Return the chance of a score this good without any period.

    The best score is redrawn under the trend alone, each group of subjects pulling at random. It
    is the largest of many quadratic forms, so its tail is Gumbel's, which gives small chances
    without drawing for ever.
    """
    rng = stream(0, "logs", "period", label)
    noise = rng.standard_normal((_DRAWS, len(pulls))) @ pulls
    drawn = []
    for means in trend + noise:
        scores, _ = _period_scores(means, errors, _monotone(means, errors))
        drawn.append(float(scores.max()))
    scale = max(float(np.std(drawn)) * np.sqrt(6) / np.pi, 1e-12)
    centre = float(np.mean(drawn)) - np.euler_gamma * scale
    return float(-np.expm1(-np.exp(-(best - centre) / scale)))


def _phase_mean(
    residual: FloatArray, errors: FloatArray, phase: int, period: int
) -> tuple[float, float]:
    """Return the mean residual at rests ``phase``, ``phase + period``, ... and its error."""
    mine = np.arange(1, len(residual) + 1) % period == phase
    weight = 1 / errors[mine] ** 2
    return float(np.average(residual[mine], weights=weight)), float(weight.sum() ** -0.5)
