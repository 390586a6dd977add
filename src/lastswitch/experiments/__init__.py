"""Play policies on bandits and compare them.

Names load on use: a simulation does not pay for plots, nor a plot for a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.experiments.comparison import (
        Comparison as Comparison,
        load_comparison as load_comparison,
    )
    from lastswitch.experiments.experiment import (
        Experiment as Experiment,
        FailedTasksError as FailedTasksError,
        compare as compare,
        run_experiments as run_experiments,
    )
    from lastswitch.experiments.run import Run as Run
    from lastswitch.experiments.simulation import simulate as simulate
    from lastswitch.experiments.sweeps import read_sweep as read_sweep, run_sweep as run_sweep
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "comparison": ["Comparison", "load_comparison"],
            "experiment": ["Experiment", "FailedTasksError", "compare", "run_experiments"],
            "run": ["Run"],
            "simulation": ["simulate"],
            "sweeps": ["read_sweep", "run_sweep"],
        },
    )
