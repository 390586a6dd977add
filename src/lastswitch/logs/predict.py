"""What a rotation would gain over what the log did, over round-robin and over the best arm alone.

A rotation chosen on a log is chosen for what looked best there, luck included. So its prediction is
made *going forward*: subjects are dealt into parts; a rotation is chosen on the first parts and
valued on the next, chosen anew on all of these and valued on the one after, and so on. No subject
has a say in both a choice and its value, and no later one in an earlier choice: each value is as
good as new, whatever was chosen, and the errors of their average are those of independent ones.
(Were every part to choose for every other, as in plain cross-validation, the values would hang
together most where only noise tells rotations apart, and intervals would be too short.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_path
from lastswitch._utils.intervals import Interval
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs.armfit import ArmReading, read_arm
from lastswitch.logs.counts import Counts, sum_by
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.cycles import ENDLESS, Rounds, cycle_cells, rounds_of, same_plays
from lastswitch.logs.saving import find_fit, load_fit
from lastswitch.logs.within import FULL, event_weights, fit_within, spread, strata_of

if TYPE_CHECKING:
    from lastswitch.planning.plan import Plan


#: Parts the subjects are dealt into, and how many of them the first choice is made on.
PARTS, FIRST = 5, 2
#: Planning a rotation anew stops within this share of the best, or after these seconds.
_GAP, _SECONDS = 0.005, 5.0
_NOTHING = Interval(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Gain:
    """Mean reward per play of a repeated rotation, and what it gains over three habits.

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
            f"Repeated for ever, predicted to pay {self.rotation:.4f} a play "
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
        A plan, which is taken to be chosen on this log: rotations of its length, under its rules,
        are planned and valued on different subjects. Or the arms to repeat, by number or by name,
        valued as given.

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
    rounds = rounds_of(plan, fit.counts.names)
    log, readings = log_worth(fit.counts), Readings(fit)
    whole = fit.counts.centred()
    given = readings.worth(whole, rounds)
    forward = isinstance(plan, Plan) and fit.counts.groups >= 4 * PARTS
    over = _forward(fit, plan) if forward and isinstance(plan, Plan) else given
    turn = list(range(len(fit.arms)))
    robin = readings.habit(whole, turn)
    best = _holds_best(fit)
    alone = None if best is None else readings.habit(whole, [best])

    def ranged(worth: Worth, more: float = 0.0) -> Interval:
        return worth.interval(fit.counts, fit.rules.level, more)

    def beyond(habit: Worth | None, its: Rounds) -> Interval | None:
        if habit is None:
            return None
        # Nothing is gained over a habit by keeping it.
        return _NOTHING if same_plays(rounds, its) else ranged(over.plus(habit, -1))

    return Gain(
        rotation=ranged(log.plus(over)),
        log=ranged(log),
        round_robin=None if robin is None else ranged(log.plus(robin)),
        best_arm=None if alone is None else ranged(log.plus(alone)),
        over_log=ranged(over),
        over_round_robin=beyond(robin, turn),
        over_best_arm=None if best is None else beyond(alone, [best]),
        fresh=ranged(over, given.error(fit.counts)),
        best_arm_name="" if best is None else fit.arms[best].name,
        held_out=forward,
        level=fit.rules.level,
    )


def _forward(fit: CurveFit, plan: Plan) -> Worth:
    """Choose on the parts so far, value on the next, for every part but the first ones."""
    counts = fit.counts
    centred, part = counts.centred(), np.arange(counts.groups) % PARTS
    worth = Worth(0.0, np.zeros(counts.groups), np.zeros(len(counts.events)))
    for number in range(FIRST, PARTS):
        before = fit_counts(counts.of_groups(part < number), fit.summary, fit.rules)
        chosen = rounds_of(replan(plan, before), counts.names)
        mine = part == number
        found = Readings(before).worth(centred.of_groups(mine), chosen)
        weights = np.zeros(len(counts.events))
        weights[mine[counts.group]] = found.weights
        worth = worth.plus(found._replace(weights=weights), 1 / (PARTS - FIRST))
    return worth


def replan(plan: Plan, fit: CurveFit) -> Plan:
    """Plan as ``plan`` was, under its rules, on other curves of the same arms."""
    from lastswitch.planning import plan_block, plan_cycle
    from lastswitch.planning.ruled_problem import RuledProblem

    problem, options = plan.problem, dict[str, Any](gap=_GAP, time_limit=_SECONDS)
    if problem is not None:
        if plan.names and tuple(plan.names) != fit.counts.names:
            raise LogError(
                f"the plan's arms are {list(plan.names[:20])} and the log's are "
                f"{list(fit.counts.names[:20])}: a plan that keeps rules is made again on parts "
                "of the log, which needs the same arms in the same order. Plan on fit.bandit."
            )
        options["allowed"] = problem.allowed[0] if plan.repeats else problem.allowed
    if isinstance(problem, RuledProblem):
        options |= {"rules": problem.bound_rules, "plays": problem.plays}
        options["silence"] = problem.silence
    make = plan_cycle if plan.repeats else plan_block
    return make(fit.bandit, len(plan.rounds), **options)


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
