"""What a repeated rotation is worth to some subjects, and how sure that is.

Each is compared with itself: what a state pays is taken against what the same subject was used to
in the log. How sure the sum is comes from two sides, and the larger error counts: how far it moves
when groups of subjects are left out, and how far it would move if every subject's rewards were
shuffled among its own plays. The first sees that subjects differ; the second does not take a few
who happen to agree for certainty.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray
from lastswitch.intervals import Interval
from lastswitch.logs.armfit import ArmReading, read_arm
from lastswitch.logs.counts import Counts, sum_by
from lastswitch.logs.curvefit import CurveFit
from lastswitch.logs.cycles import ENDLESS, Rounds, cycle_cells
from lastswitch.logs.within import FULL, event_weights, fit_within, spread, strata_of


class Worth(NamedTuple):
    """What a schedule pays a play, or gains: a sum of rewards, each with its weight.

    ``pulls`` is how far each group of subjects moves it; ``weights`` what an event of each cell of
    the counts adds to it.
    """

    value: float
    pulls: FloatArray
    weights: FloatArray

    def plus(self, other: Worth, share: float = 1.0) -> Worth:
        """Return the sum with a share of another; what both have in common adds up or cancels."""
        return Worth(
            self.value + share * other.value,
            self.pulls + share * other.pulls,
            self.weights + share * other.weights,
        )

    def interval(self, counts: Counts, level: float, more: float = 0.0) -> Interval:
        """Return its interval; ``more`` is an error from elsewhere, of something to compare with.

        Student's t with as many degrees of freedom as the groups' pulls amount to (Satterthwaite):
        a few large ones are not taken for many.
        """
        from scipy.special import stdtrit

        error = float(np.hypot(self.error(counts), more))
        half = float(stdtrit(_freedom(self.pulls), (1 + level) / 2)) * error
        return Interval(self.value, self.value - half, self.value + half, error)

    def error(self, counts: Counts) -> float:
        """Return the standard error: the larger of leaving out groups and of shuffling."""
        left_out = float(spread(self.pulls[:, None])[0])
        return max(left_out, float(np.sqrt(_shuffled(counts, self.weights))))


def _freedom(pulls: FloatArray) -> float:
    """Return the degrees of freedom of a sum of squares, from how unequal the squares are."""
    squares = pulls[pulls != 0] ** 2
    many = len(squares)
    if many < 2:
        return 1.0
    squares = squares / squares.sum()
    spare = float(np.sum(squares**2)) - 1 / many
    return float(np.clip(2 / spare if spare > 0 else np.inf, 1.0, many - 1))


def _shuffled(counts: Counts, weights: FloatArray) -> float:
    """Return the variance of ``weights @ total`` when rewards are shuffled within subjects."""
    size = int(counts.subject.max(initial=-1)) + 1
    events, total, squares = (sum_by(counts.subject, sums, size) for sums in counts.sums)
    many = np.maximum(events, 1.0)
    inside = np.maximum(squares - total**2 / many, 0.0) / np.maximum(events - 1, 1.0)
    linear = sum_by(counts.subject, weights * counts.events, size)
    square = sum_by(counts.subject, weights**2 * counts.events, size)
    return float(np.sum(inside * np.maximum(square - linear**2 / many, 0.0)))


def log_worth(counts: Counts) -> Worth:
    """Return what the log paid a play to the average subject."""
    size = int(counts.subject.max(initial=-1)) + 1
    events = sum_by(counts.subject, counts.events, size)
    total = sum_by(counts.subject, counts.total, size)
    weight = np.minimum(events, FULL)
    weight /= max(weight.sum(), 1e-300)
    means = np.divide(total, events, out=np.zeros(size), where=events > 0)
    value = float(weight @ means)
    group = np.arange(size) % counts.groups
    pulls = sum_by(group, weight * (means - value), counts.groups)
    own = np.divide(weight, events, out=np.zeros(size), where=events > 0)
    return Worth(value, pulls, own[counts.subject])


class Readings:
    """The arms of a fit, each read when first asked for, and what rotations of them are worth."""

    def __init__(self, fit: CurveFit) -> None:
        self._fit = fit
        self._usual = log_worth(fit.counts).value
        self._arms: dict[int, ArmReading] = {}

    def arm(self, arm: int) -> ArmReading:
        """Return one arm, with the errors of its values."""
        if arm not in self._arms:
            fit = self._fit
            self._arms[arm] = read_arm(fit.counts, arm, fit.rules, fit.binary)
        return self._arms[arm]

    def habit(self, counts: Counts, rounds: Rounds) -> Worth | None:
        """Return what a habit gains, None if it visits states the log does not know."""
        cells = cycle_cells(rounds)
        # An endless streak goes beyond every log.
        known = all(tau == ENDLESS or self.arm(arm).known_at(tau) for arm, tau in cells)
        return self.worth(counts, rounds) if known else None

    def worth(self, counts: Counts, rounds: Rounds) -> Worth:
        """Say what repeated rounds gain a play over the log, for the subjects of ``counts``.

        Which states are known, and which so sparse that they are read together, is the fit's to
        say; what they pay is taken from ``counts``, which are centred and may be of other subjects.
        A state is read by itself here even where the curve has levelled off (endless streaks
        apart), for a level that nothing speaks against need not be one. States the fit does not
        know pay their lower bound; one that ``counts`` have not seen pays what the fit says, and is
        as sure as it is there.
        """
        visits = Counter(cycle_cells(rounds))
        plays = sum(visits.values())
        value, pulls, weights = 0.0, np.zeros(counts.groups), np.zeros(len(counts.events))
        for arm in sorted({arm for arm, _ in visits}):
            reading = self.arm(arm)
            strata = strata_of(counts, arm)
            seen = sum_by(strata.column, strata.events, strata.width)
            wanted = np.zeros(int(reading.pools.max()) + 1)
            for (_, tau), many in ((cell, n) for cell, n in visits.items() if cell[0] == arm):
                at = _columns(reading, tau)
                if not seen[at].any():
                    value += many / plays * (float(reading.fit.curve(tau)) - self._usual)
                    pulls += many / plays * reading.pulls_at(tau)
                else:
                    share = seen[at] / seen[at].sum()
                    wanted += many / plays * sum_by(reading.pools[at], share, len(wanted))
            if wanted.any():
                fitted = fit_within(strata, reading.pools, len(wanted))
                value += float(fitted.means @ wanted)
                pulls += fitted.pulls @ wanted
                rows = counts.rows_of(arm)
                weights[rows] = event_weights(strata, reading.pools, wanted)
        return Worth(value, pulls, weights)


def _columns(reading: ArmReading, tau: int) -> NDArray[np.int64]:
    """Return the columns to read for ``tau``, none where it is not known.

    An endless streak goes beyond every log: it is read where streaks have levelled off.
    """
    if tau == ENDLESS:
        return reading.endless
    if not reading.known_at(tau):
        return np.empty(0, dtype=np.int64)
    side = reading.rest if tau > 0 else reading.streak
    if abs(tau) > len(side.known):
        tau = int(np.sign(tau)) * (int(np.flatnonzero(side.known)[-1]) + 1)
    return np.array([reading.column(tau)])
