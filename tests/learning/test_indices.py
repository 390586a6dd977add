"""Indices: each bounds what it should, and the fast one is the plain one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastswitch._utils.random import stream
from lastswitch.learning.rotation.indices import (
    INDICES,
    empirical_bernstein,
    exploration_level,
    kl_ucb,
    kl_upper,
    kl_upper_reference,
    thompson,
    ucb1,
)

means = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1 - 1e-9]), st.floats(0, 1))
budgets = st.one_of(st.sampled_from([0.0, 1e-12, 30.0, math.inf]), st.floats(0, 10))


@given(means, budgets)
def test_newton_finds_what_bisection_finds(mean, budget):
    """The compiled KL upper bound equals its definition."""
    assert kl_upper(mean, budget) == pytest.approx(kl_upper_reference(mean, budget), abs=1e-5)


@given(means, st.floats(0.01, 5), st.floats(0.01, 5))
def test_a_larger_budget_never_lowers_the_bound(mean, small, more):
    """The KL upper bound grows with its budget and stays between the mean and 1."""
    low, high = kl_upper(mean, small), kl_upper(mean, small + more)
    assert mean - 1e-12 <= low <= high + 1e-9 <= 1 + 1e-9


@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0.01, 3),
)
def test_kl_is_never_looser_than_ucb1(entries, level):
    """Pinsker's inequality: at equal level the KL index is at most UCB1's."""
    n = np.array([count for count, _ in entries], dtype=float)
    sums = n * [mean for _, mean in entries]
    levels = np.full(len(n), level)
    assert (kl_ucb(n, sums, sums, levels) <= ucb1(n, sums, sums, levels) + 1e-9).all()


@pytest.mark.parametrize("name", INDICES)
def test_an_entry_never_seen_is_worth_one(name):
    """Optimism in the face of no evidence at all."""
    zero = np.zeros(2)
    assert INDICES[name](zero, zero, zero, np.full(2, math.inf)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", INDICES)
def test_rewards_outside_the_unit_interval_are_clipped(name):
    """Noise may push a mean out of [0, 1]; the index stays inside."""
    n, sums = np.array([4.0, 4.0]), np.array([-3.0, 9.0])
    values = INDICES[name](n, sums, sums**2, np.full(2, 0.1))
    assert ((values >= 0) & (values <= 1)).all()


def test_a_steady_entry_is_trusted_sooner():
    """Empirical Bernstein gives less doubt to rewards that do not vary."""
    n, sums = np.full(2, 100.0), np.full(2, 50.0)
    steady, noisy = empirical_bernstein(n, sums, np.array([25.0, 50.0]), np.full(2, 1.0))
    assert steady < noisy


def test_the_level_falls_with_plays_of_the_entry_and_rises_with_time():
    """More of the plays means less doubt; the same plays later mean more."""
    early, late = (exploration_level([1, 10], plays, seen=4) for plays in (20, 2000))
    assert (late > early).all()
    assert early[0] > early[1]


def test_thompson_draws_follow_the_posterior():
    """The mean of many draws is the posterior's mean, and draws never leave [0, 1]."""
    n, sums = np.full(4000, 8.0), np.full(4000, 2.0)
    draws = thompson(n, sums, sums, stream(0, "test"))
    assert draws.mean() == pytest.approx(3 / 10, abs=0.01)
    assert ((draws >= 0) & (draws <= 1)).all()
