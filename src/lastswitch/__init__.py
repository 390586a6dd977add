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

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

__version__ = "0.2.0"

if TYPE_CHECKING:
    from lastswitch.calendars import calendar as calendar
    from lastswitch.model import (
        blocks as blocks,
        curves as curves,
        environment as environment,
        figures as figures,
        files as files,
        instances as instances,
        states as states,
    )
    from lastswitch import (
        cohorts as cohorts,
        errors as errors,
        experiments as experiments,
        learning as learning,
        logs as logs,
        paper as paper,
        planning as planning,
        rules as rules,
        calendars as calendars,
        testing as testing,
    )
    from lastswitch._utils.progress import Progress as Progress
    from lastswitch.model.bandit import Bandit as Bandit
    from lastswitch.model.blocks import (
        block_reward as block_reward,
        cycle_reward as cycle_reward,
    )
    from lastswitch.calendars.calendar import Calendar as Calendar
    from lastswitch.cohorts import (
        Budget as Budget,
        CohortPlan as CohortPlan,
        plan_cohort as plan_cohort,
    )
    from lastswitch.model.curves import Curve as Curve
    from lastswitch.errors import LastSwitchError as LastSwitchError
    from lastswitch.experiments import (
        Comparison as Comparison,
        Run as Run,
        compare as compare,
        load_comparison as load_comparison,
        simulate as simulate,
    )
    from lastswitch.model.files import (
        load as load,
        load_bandit as load_bandit,
        load_calendar as load_calendar,
        load_plan as load_plan,
    )
    from lastswitch.learning import (
        CalibratedCombUCB1 as CalibratedCombUCB1,
        CombUCB1 as CombUCB1,
        DoublePlayCombUCB1 as DoublePlayCombUCB1,
        FixedCycle as FixedCycle,
        ISICombUCB1 as ISICombUCB1,
        OracleGreedy as OracleGreedy,
        Policy as Policy,
        Prior as Prior,
        Pull as Pull,
        RotationUCB as RotationUCB,
        load_policy as load_policy,
    )
    from lastswitch.logs import (
        CurveFit as CurveFit,
        fit_curves as fit_curves,
        load_fit as load_fit,
        predicted_gain as predicted_gain,
    )
    from lastswitch.planning import (
        BlockProblem as BlockProblem,
        Optimum as Optimum,
        Plan as Plan,
        average_bound as average_bound,
        best_cycle as best_cycle,
        optimal_average as optimal_average,
        optimal_total as optimal_total,
        plan_block as plan_block,
        plan_cycle as plan_cycle,
    )
    from lastswitch.calendars import Schedule as Schedule
    from lastswitch.service.client import Client as Client
    from lastswitch.warming import warm_up as warm_up
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "_utils.progress": ["Progress"],
            "model.bandit": ["Bandit"],
            "model.blocks": [
                "block_reward",
                "cycle_reward",
            ],
            "calendars.calendar": ["Calendar"],
            "cohorts": ["Budget", "CohortPlan", "plan_cohort"],
            "model.curves": ["Curve"],
            "errors": ["LastSwitchError"],
            "experiments": ["Comparison", "Run", "compare", "load_comparison", "simulate"],
            "model.files": ["load", "load_bandit", "load_calendar", "load_plan"],
            "learning": [
                "CalibratedCombUCB1",
                "CombUCB1",
                "DoublePlayCombUCB1",
                "FixedCycle",
                "ISICombUCB1",
                "OracleGreedy",
                "Policy",
                "Prior",
                "Pull",
                "RotationUCB",
                "load_policy",
            ],
            "logs": ["CurveFit", "fit_curves", "load_fit", "predicted_gain"],
            "planning": [
                "BlockProblem",
                "Optimum",
                "Plan",
                "average_bound",
                "best_cycle",
                "optimal_average",
                "optimal_total",
                "plan_block",
                "plan_cycle",
            ],
            "calendars": ["Schedule"],
            "service.client": ["Client"],
            "warming": ["warm_up"],
        },
        modules=[
            "model.blocks",
            "calendars.calendar",
            "cohorts",
            "model.curves",
            "errors",
            "experiments",
            "model.figures",
            "model.files",
            "model.instances",
            "learning",
            "logs",
            "paper",
            "planning",
            "rules",
            "calendars",
            "model.states",
            "testing",
        ],
        extras=["model.environment"],
        moved={
            "model.blocks": ["block_pays", "calibrated_reward"],
            "learning": ["Anytime"],
            "model.states": ["state_after", "trajectory", "transition"],
        },
    )
