"""Enumeration: the definition of the best block, in code.

The other solvers are tested against this one. Blocks are tried in lexicographic order and the
first best one is kept.
"""

from __future__ import annotations

import itertools
import math
import time

from lastswitch.errors import PlanError
from lastswitch.planning.greedy import plain_bound
from lastswitch.planning.plan import Solution, Tell
from lastswitch.planning.problem import BlockProblem

#: More blocks than this would take hours; the other exact solvers take milliseconds.
MOST_BLOCKS = 20_000_000


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    warm: Solution | None = None,
) -> Solution:
    """Try every block the problem admits.

    Out of time (or on Ctrl-C) the best block so far comes back with the bound of pulling, in
    every slot, the best pay any memory could have there. ``gap`` and ``warm`` change nothing:
    there is no bound to compare with before the end.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solve(problem).block
    (0, 1, 0)
    """
    choices = [[i for i in range(problem.n_arms) if row[i]] for row in problem.allowed]
    count = math.prod(len(arms) for arms in choices)
    if count > MOST_BLOCKS:
        raise PlanError(
            f"brute-force would try {count:.2g} blocks ({problem.n_arms} arms, {problem.length} "
            f"slots), more than {MOST_BLOCKS:.2g}; use solver='certified', which is exact too."
        )
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    began, best, best_value = time.perf_counter(), None, -math.inf
    distinct = problem.distinct_start and problem.length > 1
    try:
        for number, block in enumerate(itertools.product(*choices)):
            if distinct and block[0] == block[1]:
                continue
            value = problem.value(block)
            if value > best_value:
                best, best_value = block, value
            if number % 1024 == 1023:
                now = time.perf_counter()
                if now > deadline:
                    return Solution(best or block, plain_bound(problem))
                if progress is not None:
                    progress(now - began, best_value, plain_bound(problem))
    except KeyboardInterrupt:
        if best is None:
            raise
        return Solution(best, plain_bound(problem))
    assert best is not None  # a BlockProblem always admits a block
    return Solution(best, best_value)
