"""The paper's Algorithm 2: fix one slot at a time by the linear relaxation of the rest.

Laforgue et al. (2022), Appendix B: for each slot in turn, try each arm in it, relax everything
after to [0, 1], and keep the arm whose relaxation is worth most. A heuristic: the block need not
be the best. Its certificate is free, though. Every block is either the one returned or parts from
it at some slot, where the relaxation of the arm it takes there bounds it.
"""

from __future__ import annotations

import math
import time

import numpy as np

from lastswitch.planning.greedy import admitted_arms, greedy_block, plain_bound
from lastswitch.planning.milp.highs import Model
from lastswitch.planning.milp.programs import Form, build_program
from lastswitch.planning.plan import Solution, Tell
from lastswitch.planning.problem import BlockProblem


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    warm: Solution | None = None,
    form: Form | None = None,
) -> Solution:
    """Run Algorithm 2, each linear program starting from the last one's basis.

    ``gap`` and ``warm`` change nothing. Out of time, or on Ctrl-C, the slots not yet fixed are
    filled greedily. ``form`` is as for the integer program; all forms have the same relaxation,
    but may break its ties differently.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solution = solve(problem)
    >>> solution.block, round(solution.bound, 6)
    ([0, 1, 0], 0.9)
    """
    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    program = build_program(problem, form)
    block: list[int] = []
    passed_over, bound = -math.inf, plain_bound(problem)
    try:
        model = Model(program, integer=False)
        for slot in range(problem.length):
            columns = np.flatnonzero(program.slot == slot)
            arms = admitted_arms(problem, block)
            worth: list[float] = []
            for arm in arms:
                if time.perf_counter() > deadline:
                    raise TimeoutError
                upper = np.where(program.arm[columns] == arm, program.upper[columns], 0.0)
                worth.append(model.relax(columns, upper))
            best = int(np.argmax(worth))
            block.append(arms[best])
            passed_over = max([passed_over, *(w for k, w in enumerate(worth) if k != best)])
            bound = min(bound, max(passed_over, worth[best]))
            chosen = program.arm[columns] == arms[best]
            model.relax(columns, np.where(chosen, program.upper[columns], 0.0))
            if progress is not None:
                progress(time.perf_counter() - began, -math.inf, bound)
    except (TimeoutError, KeyboardInterrupt):
        pass  # what is bounded so far stays true
    return Solution(greedy_block(problem, block), bound)
