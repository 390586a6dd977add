"""From a ruled problem to a Plan, by any of the solvers, or to the reason why there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from lastswitch._progress import Progress, Report
from lastswitch.bandit import checked_rules
from lastswitch.errors import InfeasibleError, PlanError, RuleError, UndecidedError
from lastswitch.planning.certificate import rounding
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.certified import solve_model
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.ruled import brute_force, ilp
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.problem import RuledProblem
from lastswitch.planning.search import stages
from lastswitch.rules.records import Counting

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.rules import Rule


#: What HiGHS takes for equal, relative to all that is summed up.
ACCURACY = {"ilp": 1e-6}


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
    answer = solved(
        problem,
        solver=solver,
        gap=gap,
        time_limit=time_limit,
        start=None if warm is None else warm.rounds,
        prices=None if warm is None else warm.prices,
        progress=progress,
    )
    if answer.rounds is None:
        if not answer.infeasible:
            raise UndecidedError(
                f"no schedule was found in {time.perf_counter() - began:.3g} seconds, nor shown "
                "not to exist; give more time, or drop a rule."
            )
        from lastswitch.planning.ruled.conflicts import conflict

        found = conflict(problem, time_limit)
        raise InfeasibleError(str(found), found.rules)
    return plan_of(problem, answer, solver, time.perf_counter() - began)


def solved(
    problem: RuledProblem,
    *,
    solver: str = "certified",
    gap: float = 0.0,
    time_limit: float | None = None,
    start: RoundsPlayed | None = None,
    prices: object = None,
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
    began = time.perf_counter()
    arms = ruled_model(problem)
    if time_limit is not None:
        time_limit = max(time_limit - (time.perf_counter() - began), 1e-3)
    if solver == "ilp":
        rounds, bound = ilp.solve(arms, gap=gap, time_limit=time_limit)
        return Solution(rounds or (), bound)
    return solve_model(
        arms,
        gap=gap,
        clock=Clock(time_limit, progress),
        start=start,
        prices=prices,  # type: ignore[arg-type]
    )


def plan_of(problem: RuledProblem, answer: Solution, solver: str, seconds: float) -> Plan:
    """Return the Plan of a solver's answer, its schedule evaluated by definition."""
    assert answer.rounds is not None
    value, bound = problem.value(answer.rounds), answer.bound
    if value > bound:
        size = problem.size(answer.rounds)
        allowed = max(ACCURACY.get(solver, 0.0) * size, rounding(value, bound, size))
        if value - bound <= allowed:
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


#: Rules, plays and silence as callers give them; None: the bandit's own.
Options = tuple["Iterable[Rule] | None", "int | tuple[int, int] | None", "float | None"]


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
    rules, plays, silence = options

    def tell(progress: Progress) -> None:
        if progress.value is not None and progress.bound is not None:
            clock.tell(progress.value, progress.bound)

    problem = RuledProblem.from_bandit(
        bandit,
        length,
        rules=rules,
        plays=plays,
        silence=silence,
        allowed=allowed,
        repeats=True,
    )
    return plan_ruled(problem, gap=gap, time_limit=clock.limit, progress=tell)


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

    Only lengths that fit the rules' periods are; where none does, the error of the longest tells.
    """
    best: Plan | None = None
    bound, refused = -math.inf, None
    given, plays, silence = options
    rules = bandit.rules if given is None else checked_rules(given, bandit.names, bandit.groups)
    options, period = (rules, plays, silence), common_period(rules)
    lengths = range(limit - limit % period, 0, -period) or range(limit, limit + 1)
    for tried, length in enumerate(lengths):
        part = clock.part(1 / (len(lengths) - tried))
        try:
            plan = plan_ruled_cycle(bandit, length, arms, options, gap=gap, clock=part)
        except (InfeasibleError, RuleError) as error:  # of another length there may be one
            refused = refused or error
            continue
        bound = max(bound, plan.bound / length)
        if best is None or plan.per_round > best.per_round:
            best = plan
    if best is None:
        assert refused is not None
        raise refused
    return replace(best, bound=max(bound * len(best.rounds), best.value), seconds=clock.seconds)
