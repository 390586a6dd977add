"""Certificates at the edge of arithmetic: what is not proven is not called so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lastswitch as ls
from fuzz.plain import best_schedule
from lastswitch import rules as r
from lastswitch.cohorts import CohortProblem
from lastswitch.errors import BanditError, CohortError, PlanError, ProblemError, RuleError
from lastswitch.planning import BlockProblem, Plan, Terminal
from lastswitch.planning.ruled_problem import RuledProblem


def test_an_infinite_bound_proves_nothing():
    """However large the value is; and a value that overflowed is none."""
    assert not Plan((0,), 1e300, math.inf).optimal
    assert Plan((0,), 1e300, 1e300).optimal
    with pytest.raises(PlanError, match="finite"):
        Plan((0,), math.inf, math.inf)


def nothing_to_decide(**options) -> RuledProblem:
    """Return two arms that must not play, with silence."""
    block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    rules = [r.never([0, 1]), r.at_least(0, 2, cost=940_300.0)]
    return RuledProblem(block, rules=rules, plays=(0, 1), silence=0.25, **options)


def test_an_integer_program_with_nothing_to_decide_is_proven():
    """HiGHS has no bound of its own for it."""
    plan = ls.plan_block(nothing_to_decide(), solver="ilp")
    assert plan.optimal
    assert plan.bound == pytest.approx(0.75 - 2 * 940_300.0)
    costs, lacking = plan.explain().rules
    assert costs.least == pytest.approx(2 * 940_300.0 + 0.5, rel=1e-3)
    assert "costs nothing" not in str(costs)
    assert lacking.most == pytest.approx(2 * 940_300.0)


def test_an_explanation_from_an_infinite_bound_says_no_more_than_is_known():
    """At least nothing, at most what the best plan without the rule could earn."""
    plan = replace(ls.plan_block(nothing_to_decide()), bound=math.inf)
    for report in plan.explain().rules:
        assert report.least == 0.0 < report.most
        assert report.binds is None
        assert "costs nothing" not in str(report)


#: One arm, so one block each; much larger pays than it collects are never met, or cancel out.
MIXED = [
    BlockProblem([[1.0, 1e99]], [[1.0]], [[3e-300, -1e100]]),
    BlockProblem([[1.0]], [[3e5, -3e5, -7e-6]], [[6e-7, 2e6, -0.9, 7e2, 1.6e6]], run=[2**62]),
    BlockProblem([[1.0]], [[1.0]], [[0.0]], terminal=Terminal([[0.0]], [[3e-300]], [1e100])),
]


@pytest.mark.parametrize("solver", ["ilp", "relaxation"])
@pytest.mark.parametrize("problem", MIXED)
def test_pays_of_mixed_sizes_are_owned_up_to(problem, solver):
    """HiGHS is off by more than its accuracy there: the bound is then one made without it."""
    plan = ls.plan_block(problem, solver=solver)
    assert plan.value == problem.value([0] * problem.length) <= plan.bound


def test_pays_of_like_sizes_are_proven_by_every_solver():
    """The same owning up makes no proof of an ordinary problem worse."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        parts = rng.random((3, 2)), rng.random((3, 1)), rng.random((3, 5))
        problem = BlockProblem(*parts)
        ruled = RuledProblem(problem, rules=[r.at_most(0, 2)], plays=(0, 1))
        assert ls.plan_block(problem, solver="ilp").optimal
        assert ls.plan_block(ruled, solver="ilp").optimal


@pytest.mark.parametrize("size", [1e308, -1e308, 1.1e100])
def test_silence_and_costs_are_bounded_like_tables(size):
    """Beyond, sums overflow: a plan was worth infinity, and a cost made rules hard."""
    with pytest.raises(BanditError, match="silence"):
        ls.Bandit([ls.curves.constant(0.5)], plays=(0, 1), silence=size)
    with pytest.raises(RuleError, match="cost"):
        r.at_most(0, 1, cost=abs(size))
    block = BlockProblem([[0.9]], [[0.1]], [[0.5] * 3])
    with pytest.raises(BanditError, match="silence"):
        RuledProblem(block, plays=(0, 1), silence=size)


@pytest.mark.parametrize("silence", [1e100, -1e100, -1e9])
def test_blocks_are_right_up_to_there(silence):
    """The definition and the bound agree with every schedule listed."""
    block = BlockProblem([[0.9]], [[0.1]], [[0.5] * 3])
    rules = [r.at_most(0, 2), r.at_least(0, 3, cost=abs(silence) / 1e9)]
    problem = RuledProblem(block, rules=rules, plays=(0, 1), silence=silence)
    plan = ls.plan_block(problem)
    assert plan.value == pytest.approx(best_schedule(problem))
    assert plan.bound >= plan.value


def test_cohorts_take_silence_that_pays_are_not_lost_in():
    """From -1e9 on a cohort's value was above the best possible."""
    options = {"plays": (0, 1), "length": 3}
    for number in (-1e9, 2e6):
        with pytest.raises(CohortError, match="1e\\+06"):
            CohortProblem(ls.Bandit([ls.curves.constant(0.5)]), silence=number, **options)
    with pytest.raises(CohortError, match="1e\\+06"):
        CohortProblem(ls.Bandit([ls.curves.constant(0.5)]), 3, rules=[r.at_most(0, 1, cost=1e7)])
    CohortProblem(ls.Bandit([ls.curves.constant(0.5)]), silence=-1e6, **options)


def test_one_arm_may_keep_its_distance_at_the_start_by_silence():
    """Rounds 0 and 1 share no arm if one of them plays none."""
    bandit = ls.Bandit([ls.Curve([0.5, 0.75], [0.125])])
    plan = ls.plan_block(bandit, 4, plays=(0, 1), distinct_start=True)
    assert not set(plan.rounds[0]) & set(plan.rounds[1])
    assert plan.value == best_schedule(plan.problem)
    again = Plan.from_dict(plan.to_dict())
    assert again.problem.distinct_start
    with pytest.raises(ProblemError, match="distinct_start"):
        ls.plan_block(bandit, 4, plays=1, distinct_start=True)
    with pytest.raises(ProblemError, match="distinct_start asks for 2"):
        ls.plan_block(bandit, 4, plays=1, distinct_start=True, rules=[r.at_most(0, 4)])
