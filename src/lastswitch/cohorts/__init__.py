"""A plan for every subject of a cohort, within budgets that all of them share.

Names load on use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.cohorts.budgets import Budget as Budget
    from lastswitch.cohorts.call import plan_cohort as plan_cohort
    from lastswitch.cohorts.problem import CohortProblem as CohortProblem
    from lastswitch.cohorts.result import BudgetUse as BudgetUse, CohortPlan as CohortPlan
    from lastswitch.cohorts.solving import Solution as Solution, solve as solve
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "budgets": ["Budget"],
            "call": ["plan_cohort"],
            "problem": ["CohortProblem"],
            "result": ["BudgetUse", "CohortPlan"],
            "solving": ["Solution", "solve"],
        },
    )
