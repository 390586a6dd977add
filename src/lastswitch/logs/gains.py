"""What a rotation would gain over what the log did, over round-robin and over the best arm alone.

A rotation chosen on a log is chosen for what looked best there, luck included. So its prediction is
made by *holding out*: subjects are split into parts; for each part the curves are fitted and the
rotation is planned anew without it, and what that rotation is worth is read from the part itself.
No subject has a say in both the choice and its value. And each is compared with itself: what a
state pays is taken against what the same subject was used to in the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._checks import check_path
from lastswitch.errors import InputTypeError
from lastswitch.intervals import Interval
from lastswitch.logs.armfit import ArmReading, read_arm
from lastswitch.logs.counts import Counts, Floats, sum_by
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.cycles import arms_of, cycle_cells
from lastswitch.logs.saving import find_fit, load_fit
from lastswitch.logs.within import FULL, Fitted, fit_within, spread, strata_of

if TYPE_CHECKING:
    from lastswitch.planning.plan import Plan

#: Parts subjects are split into for holding out.
PARTS = 5
#: Planning a part's rotation stops within this share of the best, or after these seconds.
_GAP, _SECONDS = 0.005, 5.0
# What choosing for one another adds to the variance of the parts' average when nothing but noise
# chooses: 0.36 for the best of three equals in theory, 0.7 measured on coin flips of few subjects.
_SHARED = 0.7


class Worth(NamedTuple):
    """What a schedule pays a round, or gains, and how each group of subjects pulls at that."""

    value: float
    pulls: Floats

    def plus(self, other: Worth, sign: int = 1) -> Worth:
        """Return the sum, or the difference; what both have in common adds up or cancels."""
        return Worth(self.value + sign * other.value, self.pulls + sign * other.pulls)


@dataclass(frozen=True)
class Gain:
    """Mean reward per round of a repeated rotation, and what it gains over three habits.

    All are in rewards scaled to [0, 1], for the average subject. ``log`` is what the log paid;
    ``best_arm`` repeats the one arm that holds up best, for ever. A habit the log knows too little
    about is None. Intervals are for the truth behind the log; ``fresh`` is where ``over_log``
    would fall in a fresh log of as many subjects. ``held_out`` says whether the rotation was chosen
    and valued on different subjects.
    """

    rotation: Interval
    log: Interval
    round_robin: Interval | None
    best_arm: Interval | None
    over_log: Interval
    over_round_robin: Interval | None
    over_best_arm: Interval | None
    fresh: Interval
    best_arm_name: str
    held_out: bool
    level: float

    def __str__(self) -> str:
        rows = [
            ("what the log did", self.log, self.over_log),
            ("round-robin", self.round_robin, self.over_round_robin),
            (f"always {self.best_arm_name}", self.best_arm, self.over_best_arm),
        ]
        width = max(len(label) for label, _, _ in rows)
        how = "chosen and valued on different subjects" if self.held_out else "as given"
        lines = [
            f"Repeated for ever, predicted to pay {self.rotation:.4f} a round "
            f"({self.level:.0%} intervals; {how})",
            *(
                f"  over {label:<{width}}  {gain:+.4f}  {_percent(gain, base)}"
                for label, base, gain in rows
                if gain is not None and base is not None
            ),
            f"  A fresh log of as many subjects would show {self.fresh.low:+.4f} to "
            f"{self.fresh.high:+.4f} over what this one did.",
        ]
        return "\n".join(lines)


def predicted_gain(
    fit: CurveFit | str | PathLike[str],
    plan: Plan | Sequence[int] | Sequence[str],
) -> Gain:
    """Predict what repeating ``plan`` would earn, and gain, for subjects like those of a log.

    Parameters
    ----------
    fit
        A fit, the file it was saved in, or the file of the bandit it gave.
    plan
        A plan, which is taken to be chosen on this log: rotations of its length are planned and
        valued on different subjects. Or the arms to repeat, by number or by name, valued as given.

    Examples
    --------
    >>> import lastswitch as ls
    >>> truth = ls.Bandit([([0.9], [0.0]), ([0.3], [0.3])], names=["jazz", "talk"])
    >>> fit = ls.fit_curves(ls.logs.simulate(truth, subjects=200, rounds=50, seed=1))
    >>> gain = predicted_gain(fit, ["jazz", "talk"])
    >>> gain.over_best_arm.low > 0.2, gain.best_arm_name
    (True, 'talk')
    """
    from lastswitch.planning.plan import Plan

    fit = _fit(fit)
    block = arms_of(plan, fit.counts.names)
    log, readings = log_worth(fit.counts), _Readings(fit)
    whole = fit.counts.centred()
    parts = _parts(fit) if isinstance(plan, Plan) else []
    over = (
        _held_out(fit, readings, plan, parts)
        if parts and isinstance(plan, Plan)
        else readings.worth(whole, block)
    )
    robin = readings.habit(whole, list(range(len(fit.arms))))
    best = _holds_best(fit)
    alone = None if best is None else readings.habit(whole, [best])

    def ranged(worth: Worth | None, factor: float = 1.0) -> Interval | None:
        return None if worth is None else _range(worth, fit.rules.level, factor)

    return Gain(
        _range(log.plus(over), fit.rules.level),
        _range(log, fit.rules.level),
        ranged(None if robin is None else log.plus(robin)),
        ranged(None if alone is None else log.plus(alone)),
        _range(over, fit.rules.level),
        ranged(None if robin is None else over.plus(robin, -1)),
        ranged(None if alone is None else over.plus(alone, -1)),
        _range(over, fit.rules.level, np.sqrt(2.0)),
        "" if best is None else fit.arms[best].name,
        bool(parts),
        fit.rules.level,
    )


class _Readings:
    """The arms of a fit, read again with the pull of every group, each when first asked for."""

    def __init__(self, fit: CurveFit) -> None:
        self._fit = fit
        self._usual = log_worth(fit.counts).value
        self._arms: dict[int, ArmReading] = {}

    def arm(self, arm: int) -> ArmReading:
        if arm not in self._arms:
            fit = self._fit
            self._arms[arm] = read_arm(fit.counts, arm, fit.rules, fit.binary)
        return self._arms[arm]

    def habit(self, centred: Counts, block: list[int]) -> Worth | None:
        """Return what a habit gains, None if it visits states the log does not know."""
        known = all(self.arm(arm).known_at(tau) for arm, tau in cycle_cells(block))
        single = len(set(block)) == 1  # an endless streak goes beyond every log
        return self.worth(centred, block) if known or single else None

    def worth(self, counts: Counts, block: Sequence[int]) -> Worth:
        """Say what a repeated block gains over the log for (a part of) the subjects.

        ``counts`` are centred. States the log does not know pay their lower bound, and so say
        nothing of subjects; a state the part has not seen is worth what the whole log says.
        """
        cells = cycle_cells(block)
        value, pulls = 0.0, np.zeros(counts.groups)
        fitted: dict[int, tuple[Fitted, Floats]] = {}
        for arm, tau in cells:
            reading = self.arm(arm)
            side = reading.rest if tau > 0 else reading.streak
            if not reading.known_at(tau) and not (len(set(block)) == 1 and side.known.any()):
                value += float(reading.fit.curve(tau)) - self._usual
                continue
            if arm not in fitted:
                pools = int(reading.joined.max()) + 1
                strata = strata_of(counts, arm)
                mine = reading.joined[strata.column]
                seen = sum_by(mine[mine >= 0], strata.events[mine >= 0], pools)
                fitted[arm] = fit_within(strata, reading.joined, pools), seen
            means, held = fitted[arm]
            at = _deepest(reading, tau)
            pool = int(reading.joined[at])
            if held[pool] > 0:
                value += float(means.means[pool])
                pulls += means.pulls[:, pool]
            else:
                value += float(side.values[min(abs(tau), len(side.values)) - 1]) - self._usual
        return Worth(value / len(cells), pulls / len(cells))


def _deepest(reading: ArmReading, tau: int) -> int:
    """Return the column to read for ``tau``: the deepest known one for an endless streak."""
    side = reading.rest if tau > 0 else reading.streak
    if abs(tau) <= len(side.known):
        return reading.column(tau)
    last = int(np.flatnonzero(side.known)[-1]) + 1
    return reading.column(last if tau > 0 else -last)


def _parts(fit: CurveFit) -> list[NDArray[np.bool_]]:
    """Return the groups of each part; none where there are too few to hold any out."""
    groups = fit.counts.groups
    if groups < 4 * PARTS:
        return []
    return [np.arange(groups) % PARTS == part for part in range(PARTS)]


def _held_out(
    fit: CurveFit, readings: _Readings, plan: Plan, parts: list[NDArray[np.bool_]]
) -> Worth:
    """Plan without the subjects of each part, and average what those plans gain on the part.

    What the parts gain is not independent: each helped to choose for the others. Where they choose
    alike this does no harm; where only noise tells rotations apart it makes the variance of the
    average larger, by about ``_SHARED`` of itself.
    """
    centred = fit.counts.centred()
    worths, visits = [], []
    for part in parts:
        others = fit_counts(fit.counts.of_groups(~part), fit.summary, fit.rules)
        block = replan(plan, others)
        visits.append(Counter(cycle_cells(block)))
        worths.append(readings.worth(centred.of_groups(part), block))
    alike = np.mean([sum((a & b).values()) / len(block) for a, b in combinations(visits, 2)])
    wider = np.sqrt(1 + _SHARED * min(1.0, 4 * (1 - float(alike))))
    pulls = np.mean([worth.pulls for worth in worths], axis=0)
    return Worth(float(np.mean([worth.value for worth in worths])), wider * pulls)


def replan(plan: Plan, fit: CurveFit) -> list[int]:
    """Plan as ``plan`` was, on other curves."""
    from lastswitch.planning import plan_block, plan_cycle

    make = plan_cycle if plan.repeats else plan_block
    made = make(fit.bandit, len(plan.block), gap=_GAP, time_limit=_SECONDS)
    return list(made.block)


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
    return Worth(value, sum_by(group, weight * (means - value), counts.groups))


def _range(worth: Worth, level: float, factor: float = 1.0) -> Interval:
    from scipy.special import stdtrit

    error = factor * float(spread(worth.pulls[:, None])[0])
    freedom = max(int(np.count_nonzero(worth.pulls)) - 1, 1)
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Interval(worth.value, worth.value - half, worth.value + half, error)


def _holds_best(fit: CurveFit) -> int | None:
    """Return the arm whose deepest known streak pays most."""
    known = {
        arm: [state.value for state in fitted.streak if state.known]
        for arm, fitted in enumerate(fit.arms)
    }
    held = {arm: values[-1] for arm, values in known.items() if values}
    return max(held, key=lambda arm: held[arm]) if held else None


def _fit(fit: CurveFit | str | PathLike[str]) -> CurveFit:
    if isinstance(fit, CurveFit):
        return fit
    path = check_path(fit)
    if path.suffix == ".npz":
        return load_fit(path)
    found = find_fit(path).fit
    if found is None:
        raise InputTypeError(
            f"no fit belongs to {str(path)!r}: predicted_gain needs a fit, a fit's file or the "
            "file of the bandit that a fit wrote, unchanged and beside it."
        )
    return found


def _percent(gain: Interval, base: Interval) -> str:
    return f"({gain.mean / base.mean:+.0%})" if base.mean > 0 else ""
