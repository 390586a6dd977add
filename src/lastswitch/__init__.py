"""Plan and learn schedules for actions that wear out when repeated and recover when rested.

An implementation of Last Switch Dependent bandits (Laforgue, Clerici, Cesa-Bianchi,
Gilad-Bachrach, AISTATS 2022), with exact planning, true optima and a path from logs to a rotation.

Examples
--------
>>> import lastswitch as ls
>>> radio = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)], names=["jazz", "talk"])
>>> ls.cycle_reward(radio, [0, 1, 1]) / 3  # doctest: +ELLIPSIS
0.5...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lastswitch import curves, errors
from lastswitch.bandit import Bandit
from lastswitch.blocks import (
    block_pays,
    block_reward,
    calibrated_reward,
    cycle_reward,
    repaired_block,
)
from lastswitch.curves import Curve
from lastswitch.errors import LastSwitchError
from lastswitch.states import state_after, trajectory, transition

if TYPE_CHECKING:
    from lastswitch.experiments import Comparison, Run, compare, simulate
    from lastswitch.files import load_bandit, load_plan, save_bandit, save_plan
    from lastswitch.instances import pinwheel
    from lastswitch.learning import (
        Anytime,
        CalibratedCombUCB1,
        CombUCB1,
        DoublePlayCombUCB1,
        FixedCycle,
        ISICombUCB1,
        OracleGreedy,
        Policy,
        Pull,
        RotationUCB,
        load_policy,
    )
    from lastswitch.logs import CurveFit, fit_curves
    from lastswitch.planning import (
        BlockProblem,
        Optimum,
        Plan,
        Terminal,
        average_bound,
        best_cycle,
        optimal_average,
        optimal_total,
        plan_block,
        plan_cycle,
    )

__version__ = "0.1.0"

#: Names that load on use, and the module each lives in.
_LAZY = {
    **dict.fromkeys(["Comparison", "Run", "compare", "simulate"], "lastswitch.experiments"),
    **dict.fromkeys(["load_bandit", "load_plan", "save_bandit", "save_plan"], "lastswitch.files"),
    "pinwheel": "lastswitch.instances",
    **dict.fromkeys(
        [
            "Anytime",
            "CalibratedCombUCB1",
            "CombUCB1",
            "DoublePlayCombUCB1",
            "FixedCycle",
            "ISICombUCB1",
            "OracleGreedy",
            "Policy",
            "Pull",
            "RotationUCB",
            "load_policy",
        ],
        "lastswitch.learning",
    ),
    **dict.fromkeys(["CurveFit", "fit_curves"], "lastswitch.logs"),
    **dict.fromkeys(
        [
            "BlockProblem",
            "Optimum",
            "Plan",
            "Terminal",
            "average_bound",
            "best_cycle",
            "optimal_average",
            "optimal_total",
            "plan_block",
            "plan_cycle",
        ],
        "lastswitch.planning",
    ),
}
_MODULES = (
    "experiments",
    "figures",
    "files",
    "instances",
    "learning",
    "logs",
    "paper",
    "planning",
    "testing",
)
#: Modules that need an extra to load; ``dir`` leaves them out, since ``help`` loads what it lists.
_EXTRA_MODULES = ("environment",)

__all__ = [
    "Anytime",
    "Bandit",
    "BlockProblem",
    "CalibratedCombUCB1",
    "CombUCB1",
    "Comparison",
    "Curve",
    "CurveFit",
    "DoublePlayCombUCB1",
    "FixedCycle",
    "ISICombUCB1",
    "LastSwitchError",
    "Optimum",
    "OracleGreedy",
    "Plan",
    "Policy",
    "Pull",
    "RotationUCB",
    "Run",
    "Terminal",
    "average_bound",
    "best_cycle",
    "block_pays",
    "block_reward",
    "calibrated_reward",
    "compare",
    "curves",
    "cycle_reward",
    "errors",
    "fit_curves",
    "load_bandit",
    "load_plan",
    "load_policy",
    "optimal_average",
    "optimal_total",
    "pinwheel",
    "plan_block",
    "plan_cycle",
    "repaired_block",
    "save_bandit",
    "save_plan",
    "simulate",
    "state_after",
    "trajectory",
    "transition",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
    elif name in (*_MODULES, *_EXTRA_MODULES):
        value = import_module(f"lastswitch.{name}")
    else:
        raise AttributeError(f"module 'lastswitch' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
