"""Planning: problem, solvers, plan; cycles and true optima.

Names load on use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastswitch.planning.cycles import best_cycle, plan_cycle
    from lastswitch.planning.frequency import average_bound
    from lastswitch.planning.optima import Optimum, optimal_average, optimal_total
    from lastswitch.planning.params import SearchParams
    from lastswitch.planning.plan import Plan, Progress, Solution
    from lastswitch.planning.problem import BlockProblem, Terminal
    from lastswitch.planning.solve import plan_block

_HOMES = {
    "BlockProblem": "problem",
    "Optimum": "optima",
    "Plan": "plan",
    "Progress": "plan",
    "SearchParams": "params",
    "Solution": "plan",
    "Terminal": "problem",
    "average_bound": "frequency",
    "best_cycle": "cycles",
    "optimal_average": "optima",
    "optimal_total": "optima",
    "plan_block": "solve",
    "plan_cycle": "cycles",
}

__all__ = [
    "BlockProblem",
    "Optimum",
    "Plan",
    "Progress",
    "SearchParams",
    "Solution",
    "Terminal",
    "average_bound",
    "best_cycle",
    "optimal_average",
    "optimal_total",
    "plan_block",
    "plan_cycle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
