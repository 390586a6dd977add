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

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._checks import check_path
from lastswitch.errors import InputTypeError, LogError
from lastswitch.intervals import Interval
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.cycles import Rounds, rounds_of, same_plays
from lastswitch.logs.saving import find_fit, load_fit
from lastswitch.logs.worths import Readings, Worth, log_worth

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
