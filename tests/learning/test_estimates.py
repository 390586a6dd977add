"""Counts, sums and the bounds made of them."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.learning.estimates import Estimates, unvisited_first

SEEN = st.lists(st.tuples(st.integers(0, 1), st.integers(-4, 6), st.floats(-1, 1)), max_size=20)


@settings(max_examples=40)
@given(SEEN, st.integers(0, 4), st.integers(1, 3), st.integers(1, 50))
def test_bounds_are_the_paper_s_formula(seen, rest, streak, t):
    """Every bound is mean + √(1.5 log t / n) over the rewards of its cell, +∞ without any."""
    estimates = Estimates(2, rest, streak)
    cells = {}
    for arm, tau, reward in seen:
        estimates.add(arm, tau, reward)
        key = min(tau, rest) if tau > 0 and rest else -min(max(-tau, 1), streak)
        cells.setdefault((arm, key), []).append(reward)
    bounds = estimates.optimistic(1.5, t)
    for arm in range(2):
        states = [*range(1, rest + 1), *range(-1, -streak - 1, -1)]
        for column, tau in enumerate(states):
            rewards = cells.get((arm, tau), [])
            expected = math.inf
            if rewards:
                n = len(rewards)
                expected = sum(rewards) / n + math.sqrt(1.5 * math.log(t) / n)
            assert bounds[arm, column] == pytest.approx(expected, abs=1e-12)


BOUNDS = st.one_of(st.just(math.inf), st.floats(-2, 2))


@settings(max_examples=40)
@given(st.lists(BOUNDS, min_size=3, max_size=3), st.integers(1, 3))
def test_infinite_bounds_are_compared_first(row, length):
    """Sums of stand-ins order sequences by number of infinities, then by the finite sum."""
    stand_in = unvisited_first(np.array([row]), length)[0]

    def plain(picks):
        finite = [row[i] for i in picks if not math.isinf(row[i])]
        return len(picks) - len(finite), sum(finite)

    for left, right in product(product(range(3), repeat=length), repeat=2):
        (more, finite), (fewer, other) = plain(left), plain(right)
        if more > fewer or (more == fewer and finite > other + 1e-9):
            assert stand_in[list(left)].sum() > stand_in[list(right)].sum()
