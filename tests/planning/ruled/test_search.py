"""The certified solver under rules finds what enumeration finds, and proves it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from lastswitch import rules as r
from lastswitch.planning import BlockProblem
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.certified import feasible, solve_model
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import random_ruled, ruled_problems


def agrees(problem: RuledProblem) -> bool:
    """Check one problem against enumeration; return whether it has a schedule."""
    best, value = brute_force.solve(problem)
    answer = solve_model(ruled_model(problem))
    if best is None:
        assert answer.infeasible
        return False
    assert answer.rounds is not None
    assert problem.value(answer.rounds) == pytest.approx(value, abs=1e-9)
    assert value - 1e-9 <= answer.bound <= value + 1e-9
    return True


@settings(max_examples=300, deadline=None)
@given(ruled_problems)
def test_the_best_schedule_is_found_and_proven_or_none_exists(problem):
    """Rules, plays, silence, soft costs, history and masks, in any mix."""
    agrees(problem)


def test_a_thousand_seeded_problems_and_many_without_any_schedule():
    """The same on fixed seeds, so that both outcomes surely occur often."""
    found = [agrees(random_ruled(np.random.default_rng(seed), 200)) for seed in range(1000)]
    assert 100 < found.count(False) < 500


@settings(max_examples=100, deadline=None)
@given(ruled_problems)
def test_a_schedule_without_looking_at_pays_keeps_the_rules(problem):
    """Feasibility alone agrees with enumeration too."""
    best, _ = brute_force.solve(problem)
    answer = feasible(ruled_model(problem))
    assert answer.infeasible == (best is None)
    if best is not None:
        problem.value(answer.rounds)  # refuses a schedule that breaks a hard rule


def notifications() -> RuledProblem:
    """Return four weeks of six messages, three a week at most."""
    rng = np.random.default_rng(3)
    rest = np.sort(rng.random((6, 8)), axis=1)
    block = BlockProblem(rest, 0.2 * rest[:, :1], np.repeat(rest[:, -1:], 28, axis=1))
    rules = [r.at_most("everyone", 3, within=7), r.rest("everyone", 3)]
    return RuledProblem(block, rules=rules, plays=(0, 1))


def test_a_month_of_notifications_is_proven_and_a_clock_is_kept():
    """Sliding windows over silence; stopped at once, the answer is honest."""
    problem = notifications()
    answer = solve_model(ruled_model(problem))
    assert problem.value(answer.rounds) == pytest.approx(answer.bound, abs=1e-9)
    hasty = solve_model(ruled_model(problem), clock=Clock(1e-6))
    assert hasty.bound >= answer.bound - 1e-9
    assert not hasty.infeasible


def test_a_gap_that_is_asked_for_is_kept():
    """Within a gap the value is near the bound, and the bound is true."""
    problem = notifications()
    best = solve_model(ruled_model(problem)).bound
    answer = solve_model(ruled_model(problem), gap=0.05)
    assert problem.value(answer.rounds) >= best / 1.05 - 1e-9
    assert answer.bound >= best - 1e-9


def test_a_known_schedule_and_prices_may_be_given():
    """A warm start changes nothing but the way."""
    problem = notifications()
    first = solve_model(ruled_model(problem))
    again = solve_model(ruled_model(problem), start=first.rounds, prices=first.prices)
    assert again.bound == pytest.approx(first.bound)
    assert math.isfinite(first.prices.sum())
