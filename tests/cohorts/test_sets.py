"""Tables over the places of rounds find what plain backward induction finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from cohorts.cohort_cases import random_case, single_problems
from cohorts.plain import Plain
from lastswitch import rules as r
from lastswitch.cohorts import sets
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.sets import Sets
from lastswitch.cohorts.tree import arm_tree

seeds = st.integers(0, 2**32 - 1)


def agree(seed):
    """Compare both ways at random prices and weights; return whether the tables serve."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, 4)
    problem = case.problem
    if not Sets.fits(problem):
        return False
    rows = problem.standing(case.states, case.recent)
    price = rng.integers(0, 5, (problem.n_arms, problem.length)) / 10
    weight = rng.choice([0.0, 1.0, 2.5], 4)
    plain, fast = (way(problem).at(rows, weight)(price) for way in (Plain, Sets))
    assert fast.bound == pytest.approx(plain.bound, abs=1e-9)
    assert (np.isinf(fast.value) == np.isinf(plain.value)).all()
    singles = single_problems(case)
    for n in np.flatnonzero(fast.value > -np.inf):
        rounds = [tuple(arm for arm in arms if arm >= 0) for arms in fast.arms[n].tolist()]
        paid = sum(price[arm, t] for t, arms in enumerate(rounds) for arm in arms)
        assert weight[n] * fast.value[n] - paid == pytest.approx(fast.bound[n], abs=1e-9)
        assert fast.value[n] == pytest.approx(singles[n].value(rounds), abs=1e-9)
    return True


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_tables_find_the_best_plan_at_any_price_and_weight(seed):
    """Values, bounds and plans, by their definition."""
    agree(seed)


def test_most_random_problems_are_served():
    """The property above is not empty."""
    assert sum(agree(seed) for seed in range(40)) >= 20


def test_chunks_change_nothing(monkeypatch):
    """Standings are looked at one by one, however they come."""
    rng = np.random.default_rng(3)
    bandit = ls.Bandit(
        [ls.Curve(np.sort(rng.random(6)), [0.1, 0.0]) for _ in range(5)], plays=(0, 1)
    )
    problem = CohortProblem(bandit, 5, rules=[r.at_most("everyone", 2, within=4)])
    states = rng.integers(1, 9, (300, 5))
    recent = rng.integers(-1, 5, (300, 3))
    rows = problem.standing(states, recent)
    price, weight = rng.random((5, 5)) / 4, rng.choice([1.0, 2.0], 300)
    whole = Sets(problem).at(rows, weight)(price)
    monkeypatch.setattr(sets, "MOST_NUMBERS", 20 * 2**5)
    monkeypatch.setattr(sets, "FEW", 10)
    order = rng.permutation(300)
    parts = Sets(problem).at(rows[order], weight[order])(price)
    for one, other in zip(whole, parts, strict=True):
        assert (one[order] == other).all()


def test_equal_plans_are_told_apart_alike_whoever_else_is_there():
    """A rule that binds nobody of a part must not change which of equal plans is taken."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 3, plays=(0, 1))
    problem = CohortProblem(bandit, 4, rules=[r.at_most("everyone", 1, spans=[(-3, 1)])])
    rows = problem.standing(np.ones((2, 3), int), [[-1, -1, -1], [-1, -1, 0]])
    both = Sets(problem).at(rows, np.ones(2))(np.zeros((3, 4)))
    for n in range(2):
        alone = Sets(problem).at(rows[n : n + 1], np.ones(1))(np.zeros((3, 4)))
        assert (alone.arms == both.arms[n]).all()


def test_a_tree_needs_rules_that_do_not_cross():
    """Successions between arms and crossing groups have none."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 4)
    assert arm_tree(CohortProblem(bandit, 3, rules=[r.never_after([0, 1], [0, 1])])) is not None
    for rules in [[r.never_after(0, 1)], [r.apart([0, 1], 2), r.apart([1, 2], 2)]]:
        assert arm_tree(CohortProblem(bandit, 3, rules=rules)) is None
