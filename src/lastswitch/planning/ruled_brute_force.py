"""Enumeration of every schedule: the definition of the best one under rules, in code."""

from __future__ import annotations

import itertools
import math
import time

from lastswitch.errors import BlockError, PlanError
from lastswitch.planning.playing import RoundsPlayed
from lastswitch.planning.ruled_problem import RuledProblem

#: More schedules than this would take hours.
MOST_SCHEDULES = 5_000_000


def solve(
    problem: RuledProblem, *, time_limit: float | None = None
) -> tuple[RoundsPlayed | None, float]:
    """Try every schedule; return the first best one (None if there is none) and a bound.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> solve(RuledProblem(block, rules=[r.never(1, [1])], plays=(0, 1)))
    (((0,), (), (0,)), 1.4)
    """
    choices = [round_choices(problem, t) for t in range(problem.length)]
    count = math.prod(map(len, choices))
    if count > MOST_SCHEDULES:
        raise PlanError(
            f"brute-force would try {count:.2g} schedules of {problem!r}, more than "
            f"{MOST_SCHEDULES:.2g}; use solver='certified', which is exact too."
        )
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    best, best_value = None, -math.inf
    for number, rounds in enumerate(itertools.product(*choices)):
        try:
            value = problem.value(rounds)
        except BlockError:
            continue
        if value > best_value:
            best, best_value = rounds, value
        if number % 256 == 255 and time.perf_counter() > deadline:
            return best, problem.ceiling()
    return best, best_value


def round_choices(problem: RuledProblem, t: int) -> list[tuple[int, ...]]:
    """Return every set of arms round ``t`` may play, as far as plays and masks say.

    Examples
    --------
    >>> from lastswitch.planning.problem import BlockProblem
    >>> block = BlockProblem([[0.9]] * 2, [[0.1]] * 2, [[0.5]] * 2)
    >>> round_choices(RuledProblem(block, plays=(0, 2)), 0)
    [(), (0,), (1,), (0, 1)]
    """
    arms = [i for i in range(problem.n_arms) if problem.allowed[t, i]]
    least, most = problem.plays
    return [
        chosen for size in range(least, most + 1) for chosen in itertools.combinations(arms, size)
    ]
