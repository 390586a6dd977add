"""From a ruled problem to a Plan, by any of the solvers, or to the reason why there is none."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.progress import Progress, Report
from lastswitch.errors import (
    BlockError,
    InfeasibleError,
    LastSwitchError,
    PlanError,
    RuleError,
    UndecidedError,
)
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.certificate import rounding
from lastswitch.planning.certified import solve_model
from lastswitch.planning.clock import Clock, OutOfTime
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.milp import flows as ilp
from lastswitch.planning.optima.frequency import places_bound
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.playing import RoundsPlayed
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.planning.search import stages
from lastswitch.planning.search.incumbent import ROUNDING
from lastswitch.planning.solve import ACCURACY, VISIBLE, owned_up
from lastswitch.planning.warm import schedule_start
from lastswitch.rules.records import Counting

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.rules import Rule


def plan_ruled(
    problem: RuledProblem,
    solver: str = "certified",
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    warm: Plan | None = None,
    progress: Report | None = None,
) -> Plan:
    """Plan under rules: the best schedule and its certificate.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> plan_ruled(RuledProblem(block, rules=[r.never(1, [1])], plays=(0, 1))).rounds
    ((0,), (), (0,))
    """
    if solver == "certified":
        stages.ready_to_share()  # compiling is no part of the plan's seconds
    began = time.perf_counter()
    start, prices = (None, None) if warm is None else schedule_start(warm, problem)
    answer = solved(
        problem,
        solver=solver,
        gap=gap,
        time_limit=time_limit,
        start=start,
        prices=prices,
        progress=progress,
    )
    seconds = time.perf_counter() - began - answer.loading
    if answer.rounds is None:
        if not answer.infeasible:
            raise _undecided(seconds)
        raise _infeasible(problem, time_limit)
    return plan_of(problem, answer, solver, seconds)


def _undecided(seconds: float) -> UndecidedError:
    return UndecidedError(
        f"no schedule was found in {seconds:.3g} seconds, nor shown not to exist; "
        "give more time, or drop a rule."
    )


def _infeasible(problem: RuledProblem, time_limit: float | None) -> InfeasibleError:
    from lastswitch.planning.conflicts import conflict

    found = conflict(problem, time_limit)
    return InfeasibleError(str(found), found.rules)


def solved(
    problem: RuledProblem,
    *,
    solver: str = "certified",
    gap: float = 0.0,
    time_limit: float | None = None,
    start: RoundsPlayed | None = None,
    prices: FloatArray | None = None,
    progress: Report | None = None,
) -> Solution:
    """Return the best schedule found and a bound, or that there is none."""
    if solver == "relaxation":
        raise PlanError(
            "the paper's Algorithm 2 plans one arm in every round and no rules; use "
            "solver='certified', 'ilp' or 'brute-force'."
        )
    if solver == "brute-force":
        rounds, bound = brute_force.solve(problem, time_limit=time_limit)
        return Solution(rounds or (), bound)
    clock = Clock(time_limit, progress)
    try:
        model = ruled_model(problem, clock)
    except OutOfTime:
        return _at_hand(problem, start)
    if solver == "ilp":
        rounds, bound = ilp.solve(model, gap=gap, time_limit=clock.limit, progress=progress)
        return Solution(rounds or (), bound)
    return solve_model(
        model,
        gap=gap,
        clock=clock,
        start=start,
        prices=prices,
    )


def _at_hand(problem: RuledProblem, start: RoundsPlayed | None) -> Solution:
    """Return what is known without looking: the schedule to start from, if it keeps the rules."""
    if start is not None:
        with contextlib.suppress(BlockError):
            problem.value(start)
            return Solution(start, problem.ceiling())
    return Solution((), math.inf)


def plan_of(problem: RuledProblem, answer: Solution, solver: str, seconds: float) -> Plan:
    """Return the Plan of a solver's answer, its schedule evaluated by definition."""
    assert answer.rounds is not None
    value = problem.value(answer.rounds)
    free, largest = problem.ceiling(), problem.length * problem.plays[1] * problem.scale
    if solver in ACCURACY:
        error = ACCURACY[solver] * largest
        seen = VISIBLE * ACCURACY[solver] * problem.size(answer.rounds)
        bound = owned_up(value, answer.bound, error, seen, free)
    else:
        bound, error = answer.bound, ROUNDING * largest
        # What is summed up takes as long to size as to value, and rarely matters.
        small = solver == "certified" and error > problem.sizes[0]
        if small and error > rounding(value, problem.size(answer.rounds)):
            bound = max(bound, value + error)  # small pays are lost in rounding of large ones
    bound = min(bound, free)
    if value > bound and value - bound <= rounding(value, bound, problem.size(answer.rounds)):
        bound = value  # the two are the same sum in a different order
    return Plan(
        block=(),
        rounds=answer.rounds,
        value=value,
        bound=bound,
        solver=solver,
        seconds=seconds,
        names=problem.names,
        problem=problem,
        repeats=problem.repeats,
        prices=answer.prices,
    )


#: Rules, plays and silence.
Options = tuple["tuple[Rule, ...]", tuple[int, int], float]


def plan_ruled_cycle(
    bandit: Bandit,
    length: int,
    allowed: ArrayLike | None,
    options: Options,
    *,
    gap: float,
    clock: Clock,
) -> Plan:
    """Plan a cycle of ``length`` rounds under rules, with the arms allowed, in all or by round."""
    problem = _turn(bandit, length, allowed, options)
    return plan_ruled(problem, gap=gap, time_limit=clock.limit, progress=_telling(clock))


def _turn(bandit: Bandit, length: int, allowed: ArrayLike | None, options: Options) -> RuledProblem:
    """Return the problem of one turn of a cycle."""
    rules, plays, silence = options
    return RuledProblem.from_bandit(
        bandit,
        length,
        rules=rules,
        plays=plays,
        silence=silence,
        allowed=allowed,
        repeats=True,
    )


def _telling(clock: Clock) -> Report:
    """Return what passes progress on to whom the clock tells."""

    def tell(progress: Progress) -> None:
        if progress.value is not None and progress.bound is not None:
            clock.tell(progress.value, progress.bound)

    return tell


def common_period(rules: Iterable[Rule]) -> int:
    """Return the number of rounds that fits the periods of all rules: 1 if they have none.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> common_period([r.at_most(0, 1, every=4), r.at_least(1, 1, every=6), r.apart(0, 2)])
    12
    """
    return math.lcm(*(rule.every or 1 for rule in rules if isinstance(rule, Counting)))


def best_ruled_cycle(
    bandit: Bandit, limit: int, arms: list[int], options: Options, *, gap: float, clock: Clock
) -> Plan:
    """Plan the cycle of at most ``limit`` rounds with the best average under rules.

    Only lengths that fit the rules' periods are. The bound of a length that is refused, or not
    decided in time, is what the arms could average without rules.
    """
    stages.ready_to_grow_shared()  # compiling is no part of any length's seconds
    rules, plays, silence = options
    period = common_period(rules)
    lengths = range(limit - limit % period, 0, -period) or range(limit, limit + 1)
    best: Plan | None = None
    bound, ceiling = -math.inf, math.inf
    empty: RuledProblem | None = None  # the longest without a schedule
    refused: RuleError | None = None
    for number, length in enumerate(lengths):
        if number and clock.over:
            bound = math.inf
            break
        part = clock.part(1 / (len(lengths) - number))
        try:
            problem = _turn(bandit, length, arms, options)
            if math.isinf(ceiling):
                curves = tuple(bandit.curves[arm] for arm in arms)
                ceiling = places_bound(curves, plays, silence, part)
            answer = solved(problem, gap=gap, time_limit=part.limit, progress=_telling(part))
        except RuleError as error:
            refused, bound = refused or error, math.inf
            continue
        except KeyboardInterrupt:
            if best is None:
                raise
            bound = math.inf
            break
        bound = max(bound, answer.bound / length)
        if answer.infeasible:  # of another length there may be one
            empty = empty or problem
        elif answer.rounds is not None:
            plan = plan_of(problem, answer, "certified", clock.seconds)
            if best is None or plan.per_round > best.per_round:
                best = plan
            if ceiling <= best.per_round + rounding(best.per_round):
                break
        if answer.interrupted:
            clock.stop()
            bound = math.inf
            break
    if best is None:
        raise _no_cycle(empty, refused, bound, clock)
    bound = min(bound, ceiling) * len(best.rounds)
    return replace(best, bound=max(bound, best.value), seconds=clock.seconds)


def _no_cycle(
    empty: RuledProblem | None, refused: RuleError | None, bound: float, clock: Clock
) -> LastSwitchError:
    """Return why there is no cycle of any length: none exists only if no length has one."""
    if refused is not None:
        return refused
    if empty is None or bound > -math.inf:
        return _undecided(clock.seconds)
    return _infeasible(empty, clock.limit)
