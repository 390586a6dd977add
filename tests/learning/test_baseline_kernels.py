"""The compiled draws and indices of the baselines, against plain ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastswitch._utils.random import stream
from lastswitch.learning import ThompsonSampling
from lastswitch.learning.baselines.beta_draws import (
    gamma_draw,
    largest_draw,
    largest_draw_reference,
)
from lastswitch.learning.baselines.rotting_index import largest_index, largest_index_reference

SEEDS = st.integers(0, 10_000)


def pairs(rng, size):
    """Draw what Gamma draws are made of."""
    return np.stack([rng.standard_normal(size), rng.random(size)])


@given(SEEDS, st.integers(1, 6), st.integers(0, 40), st.booleans())
def test_the_largest_draw_is_the_plain_one(seed, arms, size, masked):
    """Same arm, same pairs used, also with a mask and when the pairs run out."""
    rng = stream(seed, "test")
    posteriors = 1.0 + rng.exponential(20.0, (2, arms))
    numbers, at = pairs(rng, size), int(rng.integers(0, size + 1))
    allowed = np.arange(arms) % 2 == 0 if masked else None
    got = largest_draw(posteriors, numbers, at, allowed)
    assert got == largest_draw_reference(posteriors, numbers, at, allowed)


@pytest.mark.parametrize("shape", [1.0, 1.5, 4.0, 300.0])
def test_gamma_draws_follow_their_distribution(shape):
    """Empirical and true distribution differ by less than 40,000 draws can explain."""
    from scipy.stats import gamma, kstest

    numbers, at, draws = pairs(stream(1, "test"), 60_000), 0, []
    for _ in range(40_000):
        draw, at = gamma_draw(shape, numbers, at)
        draws.append(draw)
    assert kstest(draws, gamma(shape).cdf).pvalue > 1e-3


def test_each_arm_is_played_as_often_as_it_is_best():
    """P(Beta(3, 1) draws above Beta(1, 1)) = 3/4, untouched by where pairs run out."""
    policy = ThompsonSampling(2, seed=4)
    policy.tell(policy.ask(allowed=[0]).id, 1.0)
    policy.tell(policy.ask(allowed=[0]).id, 1.0)
    plays = sum(policy.ask().arm == 0 for _ in range(20_000))
    assert abs(plays / 20_000 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 20_000)


def test_draws_of_different_asks_are_independent():
    """The choice of one ask says nothing about the next: equal arms, no correlation."""
    policy = ThompsonSampling(2, seed=5)
    arms = np.array([policy.ask().arm for _ in range(20_000)]) - 0.5
    assert abs(np.mean(arms[1:] * arms[:-1])) < 4 * 0.25 / math.sqrt(20_000)


@given(SEEDS, st.integers(1, 6), st.floats(0.0, 3.0), st.booleans())
def test_the_largest_rotting_index_is_the_plain_one(seed, arms, root, masked):
    """The first arm whose most pessimistic window is most promising."""
    rng = stream(seed, "test")
    windows = np.full((arms, 8), np.inf)
    for row in windows:
        row[: rng.integers(0, 8)] = rng.random()
    windows = np.where(np.isfinite(windows), rng.random(windows.shape), np.inf)
    allowed = np.arange(arms) % 2 == 0 if masked else None
    assert largest_index(windows, root, allowed) == largest_index_reference(windows, root, allowed)
