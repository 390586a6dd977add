"""One search for each standing finds what plain backward induction finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohorts.cohort_cases import random_case
from cohorts.plain import Plain
from lastswitch.cohorts.certified import Certified
from lastswitch.cohorts.options import plan_worth


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_searches_find_the_best_plan_at_any_price_and_weight(seed):
    """Values, bounds and plans, under rules that cross as well."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, 3)
    problem = case.problem
    rows = problem.standing(case.states, case.recent)
    price = rng.integers(0, 5, (problem.n_arms, problem.length)) / 10
    weight = rng.choice([0.0, 1.0, 2.5], 3)
    plain, found = (way(problem).at(rows, weight)(price) for way in (Plain, Certified))
    assert found.bound == pytest.approx(plain.bound, abs=1e-7)
    assert (np.isinf(found.value) == np.isinf(plain.value)).all()
    for n in np.flatnonzero(found.value > -np.inf):
        rounds = [tuple(arm for arm in arms if arm >= 0) for arms in found.arms[n].tolist()]
        paid = sum(price[arm, t] for t, arms in enumerate(rounds) for arm in arms)
        assert found.value[n] == plan_worth(problem, rows[n], rounds)
        assert weight[n] * found.value[n] - paid == pytest.approx(plain.bound[n], abs=1e-7)
