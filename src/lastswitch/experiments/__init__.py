"""Play policies on bandits and compare them.

Names load on use: a simulation does not pay for plots, nor a plot for a cluster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastswitch.experiments.comparison import Comparison
    from lastswitch.experiments.experiment import (
        Experiment,
        FailedTasksError,
        compare,
        run_experiments,
    )
    from lastswitch.experiments.simulation import Run, simulate
    from lastswitch.experiments.sweeps import read_sweep, run_sweep

_HOMES = {
    "Comparison": "comparison",
    **dict.fromkeys(["Experiment", "FailedTasksError", "compare", "run_experiments"], "experiment"),
    **dict.fromkeys(["Run", "simulate"], "simulation"),
    **dict.fromkeys(["read_sweep", "run_sweep"], "sweeps"),
}

__all__ = [
    "Comparison",
    "Experiment",
    "FailedTasksError",
    "Run",
    "compare",
    "read_sweep",
    "run_experiments",
    "run_sweep",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
