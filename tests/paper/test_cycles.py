"""Proposition 2: some cycle of length d is within K/d of the optimum, (K + 2)/d in general."""

from __future__ import annotations

import pytest

import lastswitch as ls
from lastswitch.paper.theory import best_cycle_floor
from paper_cases import (
    CONSTANT_STREAKS,
    SEEDS,
    WEARING_STREAKS,
    average,
    best_window,
    drawn,
    optimum,
)

HORIZON = 60
SIZES = (4, 6, 10, 12, 20)


@pytest.mark.parametrize("family", CONSTANT_STREAKS)
def test_proposition_2_with_constant_streaks(family):
    """The best window B* of the optimal sequence, repeated from round 1, stays above the floor."""
    for seed in SEEDS:
        bandit = drawn(family, 3, 5, seed)
        best, sequence = optimum(bandit, HORIZON)
        for size in SIZES:
            block = best_window(bandit, sequence, size)
            assert average(bandit, block, HORIZON) >= (
                best_cycle_floor(best, bandit, HORIZON, size) - 1e-9
            )


@pytest.mark.parametrize("family", CONSTANT_STREAKS + WEARING_STREAKS)
def test_proposition_2_in_general(family):
    """The repaired window B', repeated from round 1, stays above the general floor."""
    for seed in SEEDS:
        bandit = drawn(family, 3, 5, seed)
        best, sequence = optimum(bandit, HORIZON)
        for size in SIZES:
            block = ls.blocks.repaired_block(best_window(bandit, sequence, size), 3)
            assert average(bandit, block, HORIZON) >= (
                best_cycle_floor(best, bandit, HORIZON, size, streaks=True) - 1e-9
            )


def test_a_window_beats_the_average_only_when_d_divides_t():
    """The proof's first step needs d | T: of rewards 1, 0, 1 no window of two averages 2/3."""
    bandit = ls.Bandit([ls.Curve([1.0], [0.0]), ls.curves.constant(0.0)])
    best, sequence = optimum(bandit, 3)
    pays = ls.blocks.block_pays(bandit, sequence)
    assert best == pytest.approx(2 / 3)
    assert max(pays[0] + pays[1], pays[1] + pays[2]) / 2 == 1 / 2


def test_how_tight_proposition_2_is():
    """The best cycle of each length loses far less than K/d allows: at most 0.4 of it here."""
    shares = []
    for family in CONSTANT_STREAKS:
        for seed in SEEDS:
            bandit = drawn(family, 3, 5, seed)
            best = ls.optimal_average(bandit).value
            for size in (6, 9, 12):
                cycle = ls.plan_cycle(bandit, size)
                assert cycle.optimal
                shares.append((best - cycle.value / size) / (bandit.n_arms / size))
    assert min(shares) >= -1e-9
    assert max(shares) < 0.4
    assert sum(shares) / len(shares) < 0.1
