"""From a ruled problem to a Plan, by any of the solvers, or to the reason why there is none."""

from __future__ import annotations

import math
import time

from lastswitch.errors import InfeasibleError, PlanError, UndecidedError
from lastswitch.planning.certificate import rounding
from lastswitch.planning.plan import Plan, Progress
from lastswitch.planning.ruled import brute_force, ilp, search
from lastswitch.planning.ruled.compiled import compiled
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.problem import RuledProblem
from lastswitch.planning.ruled.search import Answer


def plan_ruled(
    problem: RuledProblem,
    *,
    solver: str = "certified",
    gap: float = 0.0,
    time_limit: float | None = None,
    warm: Plan | None = None,
    progress: Progress | None = None,
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
    progress: Progress | None = None,
) -> Answer:
    """Return the best schedule found and a bound, or that there is none."""
    if solver == "relaxation":
        raise PlanError(
            "the paper's Algorithm 2 plans one arm in every round and no rules; use "
            "solver='certified', 'ilp' or 'brute-force'."
        )
    if solver == "brute-force":
        rounds, bound = brute_force.solve(problem, time_limit=time_limit)
        return Answer(rounds, bound)
    arms = compiled(problem)
    if solver == "ilp":
        rounds, bound = ilp.solve(arms, gap=gap, time_limit=time_limit)
        return Answer(rounds, bound)
    return search.solve(
        arms,
        gap=gap,
        time_limit=time_limit,
        progress=progress,
        start=start,
        prices=prices,  # type: ignore[arg-type]
    )


def plan_of(problem: RuledProblem, answer: Answer, solver: str, seconds: float) -> Plan:
    """Return the Plan of a solver's answer, its schedule evaluated by definition."""
    assert answer.rounds is not None
    value, bound = problem.value(answer.rounds), answer.bound
    size = problem.size(answer.rounds)
    if value > bound and value - bound <= rounding(value, bound, size):
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


def left_of(time_limit: float | None, began: float) -> float | None:
    """Return what is left of a time limit; never nothing."""
    if time_limit is None:
        return None
    return max(time_limit - (time.perf_counter() - began), 1e-3)


def finite(bound: float) -> bool:
    """Tell whether a bound says anything.

    Examples
    --------
    >>> finite(1.0), finite(math.inf)
    (True, False)
    """
    return math.isfinite(bound)
