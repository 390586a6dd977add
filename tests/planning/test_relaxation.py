"""The paper's Algorithm 2: a good block, and a bound that is true even when it misses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch import BlockProblem, plan_block
from lastswitch.planning.certificate import rounding
from lastswitch.planning.milp import relaxation
from planning.program_cases import random_problem


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_value_and_bound_enclose_the_optimum(seed):
    """Whatever the features, value ≤ optimum ≤ bound."""
    problem = random_problem(seed)
    best = plan_block(problem, solver="brute-force").value
    solution = relaxation.solve(problem)
    assert problem.value(solution.block) <= best + rounding(best)
    assert solution.bound >= best - rounding(best)


@pytest.mark.parametrize("form", ["core", "general", "arc-flow"])
def test_an_integral_relaxation_is_solved(form):
    """Where the relaxation is integral, Algorithm 2 finds and proves the optimum."""
    problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], np.zeros((2, 5)))
    solution = relaxation.solve(problem, form=form)
    best = plan_block(problem, solver="brute-force").value
    assert problem.value(solution.block) == pytest.approx(best)
    assert solution.bound == pytest.approx(best)


def test_algorithm_2_can_miss():
    """It is a heuristic: on some tables it returns a block that is not the best."""
    misses = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = BlockProblem(rng.random((3, 7)), rng.random((3, 1)), np.zeros((3, 7)))
        best = plan_block(problem, solver="certified").value
        misses += plan_block(problem, solver="relaxation").value < best - 1e-9
    assert 0 < misses < 20


def test_out_of_time_gives_a_block_and_a_bound():
    """A limit that ends the algorithm early still leaves a block under a true bound."""
    rng = np.random.default_rng(0)
    problem = BlockProblem(rng.random((8, 30)), rng.random((8, 1)), np.zeros((8, 30)))
    plan = plan_block(problem, solver="relaxation", time_limit=0.3)
    best = plan_block(problem, solver="certified", time_limit=2.0)
    assert plan.value <= best.bound + 1e-9
    assert best.value <= plan.bound + 1e-9


def test_progress_is_reported_slot_by_slot():
    """Each fixed slot reports a bound, and bounds never rise."""
    bounds = []
    problem = random_problem(3, max_length=6)
    relaxation.solve(problem, progress=lambda seconds, value, bound: bounds.append(bound))
    assert len(bounds) == problem.length
    assert bounds == sorted(bounds, reverse=True)
