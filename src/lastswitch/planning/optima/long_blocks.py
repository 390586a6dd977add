"""Long blocks of few joint states: a best walk on their graph, exact whatever the length.

What the certified solver builds grows with the length of the block; the graph of joint states does
not, and its best walk repeats itself (:mod:`lastswitch.planning.optima.walks`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lastswitch.model.bandit import Bandit
from lastswitch.model.blocks import block_pays
from lastswitch.model.states import as_start
from lastswitch.planning.clock import running
from lastswitch.planning.optima.joint_states import group_arms, joint_graph
from lastswitch.planning.plan import Solution

if TYPE_CHECKING:
    from lastswitch.model.states import Start
    from lastswitch.planning.problem import BlockProblem

#: Shorter blocks are sooner planned by the certified solver.
LONG = 300
#: Joint states, reached or not, that are soon listed.
FEW = 100_000
#: What share of a time limit may go into it.
SHARE = 0.5


def walked(
    bandit: Bandit, problem: BlockProblem, start: Start, time_limit: float | None
) -> Solution | None:
    """Return a best block; None where the certified solver has to do it, or time is over.

    ``problem`` is that of planning ``bandit`` from ``start``. Its mask must be the same in all
    slots.

    Examples
    --------
    >>> from lastswitch.model.instances import five_arms
    >>> from lastswitch.planning.problem import BlockProblem
    >>> bandit = five_arms()
    >>> problem = BlockProblem.from_bandit(bandit, 5000)
    >>> solution = walked(bandit, problem, "initial", None)
    >>> round(problem.value(solution.block), 3) == round(solution.bound, 3)
    True
    """
    taus, length = as_start(start, bandit.start()), problem.length
    if taus is None or length < LONG or problem.distinct_start:
        return None
    if (problem.allowed != problem.allowed[0]).any():
        return None
    here = np.flatnonzero(problem.allowed[0])
    some = Bandit([bandit.curves[arm] for arm in here])
    arms = group_arms(some)
    if arms is None or math.prod(map(len, arms.machines)) > FEW:
        return None
    from lastswitch.planning.optima.walks import best_walk

    walk = None
    with running(time_limit, None, "planning a long block") as whole:
        clock = whole.part(SHARE)
        with clock.ending():
            states = zip(arms.machines, taus[here].tolist(), strict=True)
            origin = [machine.at(tau) for machine, tau in states]
            graph = joint_graph(arms, origin, FEW, length, clock)
            walk = None if graph is None else best_walk(graph, length, clock)
    if walk is None or graph is None:
        return None
    block = np.array(walk.arms(graph))
    value = float(block_pays(some, block, taus[here]).sum())
    return Solution(here[block], max(walk.bound, value))
