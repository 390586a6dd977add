"""What a rotation would gain over what the log did, over round-robin and over the best arm alone.

The curves are uncertain, so the gain is: subjects are resampled (by their groups), the curves
read again from each resample, and every schedule valued on the same resampled curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._checks import check_list, check_path, check_whole
from lastswitch._random import stream
from lastswitch.errors import LogError
from lastswitch.intervals import Interval
from lastswitch.logs.counts import Floats
from lastswitch.logs.saving import fit_beside, load_fit

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.planning.plan import Plan


@dataclass(frozen=True)
class Gain:
    """Mean reward per round of a repeated rotation, and what it gains over three habits.

    All are in rewards scaled to [0, 1]. ``log`` is the mean of every reward in the log;
    ``best_arm`` repeats the one arm that holds up best, for ever; streaks longer than the log saw
    are taken to pay what its deepest ones did.
    """

    rotation: Interval
    log: Interval
    round_robin: Interval
    best_arm: Interval
    over_log: Interval
    over_round_robin: Interval
    over_best_arm: Interval
    best_arm_name: str
    level: float

    def __str__(self) -> str:
        rows = [
            ("what the log did", self.log, self.over_log),
            ("round-robin", self.round_robin, self.over_round_robin),
            (f"always {self.best_arm_name}", self.best_arm, self.over_best_arm),
        ]
        width = max(len(label) for label, _, _ in rows)
        lines = [
            f"Repeated for ever, predicted to pay {self.rotation:.4f} a round "
            f"({self.level:.0%} intervals, subjects resampled)",
            *(
                f"  over {label:<{width}}  {gain:+.4f}  {_percent(gain, base)}"
                for label, base, gain in rows
            ),
            "  The rotation was chosen on the same log, and logs are not experiments: expect less.",
        ]
        return "\n".join(lines)


def predicted_gain(
    fit: CurveFit | str | PathLike[str],
    plan: Plan | Sequence[int] | Sequence[str],
    *,
    draws: int = 500,
    seed: int = 0,
) -> Gain:
    """Predict what repeating ``plan`` would earn, and gain, under the curves of ``fit``.

    Parameters
    ----------
    fit
        A fit, the file it was saved in, or the bandit's file it was saved beside.
    plan
        A plan, or the arms to repeat, by number or by name.
    draws
        How many times subjects are resampled.

    Examples
    --------
    >>> import lastswitch as ls
    >>> truth = ls.Bandit([([0.9], [0.0]), ([0.3], [0.3])], names=["jazz", "talk"])
    >>> fit = ls.fit_curves(ls.logs.simulate(truth, subjects=200, rounds=50, seed=1))
    >>> gain = predicted_gain(fit, ["jazz", "talk"])
    >>> gain.over_best_arm.low > 0.2, gain.best_arm_name
    (True, 'talk')
    """
    fit = _fit(fit)
    block = arms_of(plan, fit.counts.names)
    best = int(np.argmax([arm.curve.streak[-1] for arm in fit.arms]))
    schedules = {"rotation": block, "round_robin": list(range(len(fit.arms))), "best_arm": [best]}
    weights = resamples(fit.counts.groups, draws, seed)
    cells = {name: cycle_cells(schedule) for name, schedule in schedules.items()}
    paid = {name: np.zeros(draws + 1) for name in cells}
    for arm in sorted({arm for visits in cells.values() for arm, _ in visits}):
        pays = _Pays(fit, arm, weights)
        for name, visits in cells.items():
            for number, tau in visits:
                if number == arm:
                    paid[name] += pays.at(tau) / len(visits)
    paid["log"] = _log_means(fit, weights)
    level = fit.rules.level
    ranges = {name: interval_of(values, level) for name, values in paid.items()}
    over = {
        f"over_{name}": interval_of(paid["rotation"] - paid[name], level)
        for name in ("log", "round_robin", "best_arm")
    }
    return Gain(**ranges, **over, best_arm_name=fit.arms[best].name, level=level)


def cycle_cells(block: Sequence[int]) -> list[tuple[int, int]]:
    """Return the arm and its state at every slot of a block repeated for ever.

    A block of a single arm is one endless streak, whose state is written -10⁹.

    Examples
    --------
    >>> cycle_cells([0, 0, 1])
    [(0, 1), (0, -1), (1, 2)]
    """
    if len(set(block)) == 1:
        return [(block[0], -(10**9))] * len(block)
    cells: list[tuple[int, int]] = []
    last: dict[int, int] = {}
    run = 0
    for now, arm in enumerate([*block, *block]):
        gap = now - last.get(arm, -1)
        run = run + 1 if gap == 1 and now else 0
        cells.append((arm, -run if run else gap - 1))
        last[arm] = now
    return cells[len(block) :]  # the second turn finds the states that the first one left


def arms_of(plan: Plan | Sequence[int] | Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the arms of a plan as numbers into ``names``: by name where the plan has names.

    Examples
    --------
    >>> arms_of(["talk", "jazz"], ["jazz", "talk"]), arms_of([0, 1], ["jazz", "talk"])
    ([1, 0], [0, 1])
    """
    from lastswitch.planning.plan import Plan

    given: list[int | str] = (
        [plan.names[arm] for arm in plan.block]
        if isinstance(plan, Plan)
        else check_list("the rotation", plan, "its arms by name or number")
    )
    known: dict[int | str, int] = {name: arm for arm, name in enumerate(names)}
    known |= {arm: arm for arm in range(len(names))}
    strange = [
        arm for arm in given if not (isinstance(arm, int | str | np.integer) and arm in known)
    ]
    if strange or not given:
        raise LogError(f"the log has no arm {strange or given}; its arms are {list(names[:20])}.")
    return [known[arm] for arm in given]


class _Pays:
    """What one arm pays in each state: in the log, then in every resample."""

    def __init__(self, fit: CurveFit, arm: int, weights: Floats) -> None:
        groups = fit.counts.by_group(arm)
        self._shape = fit.arms[arm].shape
        self._sums = weights @ groups.events, weights @ groups.total
        self._tables: dict[bool, Floats] = {}

    def at(self, tau: int) -> Floats:
        rested = tau > 0
        if rested not in self._tables:
            read = self._shape.rest_values if rested else self._shape.streak_values
            self._tables[rested] = read(*self._sums)
        table = self._tables[rested]
        return np.asarray(table[:, min(abs(tau), table.shape[1]) - 1])


def _fit(fit: CurveFit | str | PathLike[str]) -> CurveFit:
    from lastswitch.logs.curvefit import CurveFit

    if isinstance(fit, CurveFit):
        return fit
    path = check_path(fit)
    return load_fit(path if path.suffix == ".npz" else fit_beside(path) or path)


def resamples(groups: int, draws: int, seed: int) -> Floats:
    """Return how often each group is drawn: once in the first row, which is the log itself."""
    check_whole("draws", draws, 1, LogError)
    check_whole("seed", seed, 0, LogError)
    rng = stream(seed, "logs", "gain")
    drawn = rng.multinomial(groups, np.full(groups, 1 / groups), size=draws)
    return np.vstack([np.ones(groups), drawn])


def _log_means(fit: CurveFit, weights: Floats) -> Floats:
    counts = fit.counts
    events = np.bincount(counts.group, counts.events, minlength=counts.groups)
    total = np.bincount(counts.group, counts.total, minlength=counts.groups)
    return np.asarray(weights @ total / np.maximum(weights @ events, 1.0))


def interval_of(values: Floats, level: float) -> Interval:
    """Return the first value, the log's own, with the interval of the resampled others."""
    tail = (1 - level) / 2
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return Interval(float(values[0]), float(low), float(high))


def _percent(gain: Interval, base: Interval) -> str:
    return f"({gain.mean / base.mean:+.0%})" if base.mean > 0 else ""
