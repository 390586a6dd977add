"""Planning: problem, solvers, plan; cycles and true optima.

Names load on use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.planning.cycles import best_cycle as best_cycle, plan_cycle as plan_cycle
    from lastswitch.planning.optima.frequency import average_bound as average_bound
    from lastswitch.planning.optima.totals import (
        optimal_average as optimal_average,
        optimal_total as optimal_total,
    )
    from lastswitch.planning.optima.optimum import Optimum as Optimum
    from lastswitch.planning.plan import Plan as Plan, Solution as Solution
    from lastswitch.planning.problem import BlockProblem as BlockProblem
    from lastswitch.planning.solve import plan_block as plan_block
    from lastswitch.planning.terminal import Terminal as Terminal
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "cycles": ["best_cycle", "plan_cycle"],
            "optima.frequency": ["average_bound"],
            "optima.totals": ["optimal_average", "optimal_total"],
            "optima.optimum": ["Optimum"],
            "plan": ["Plan", "Solution"],
            "problem": ["BlockProblem"],
            "solve": ["plan_block"],
            "terminal": ["Terminal"],
        },
    )
