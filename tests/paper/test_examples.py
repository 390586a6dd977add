"""Examples 1 and 2, exactly as computed in the paper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.model.instances import example_1, example_2


@pytest.mark.parametrize("epsilon", [0.25, 0.01])
@pytest.mark.parametrize("horizon", [2, 10, 50])
def test_example_1_greedy_and_optimum(epsilon, horizon):
    """Oracle greedy earns 1 + (T − 1)ε; the optimum alternates and earns T/2."""
    bandit = example_1(epsilon)
    state, earned = bandit.start(), 0.0
    for _ in range(horizon):
        arm = int(np.argmax(bandit.means(state)))
        earned += bandit.mean(arm, int(state[arm]))
        state = ls.states.transition(state, arm)
    assert earned == pytest.approx(1 + (horizon - 1) * epsilon)
    assert ls.block_reward(bandit, [0, 1] * (horizon // 2)) == horizon / 2


@pytest.mark.parametrize("horizon", [2, 10, 50])
def test_example_1_optimum_is_half_the_horizon_up_to_one_repeat(horizon):
    """The exact optimum is T/2 for ε = 0; an ε > 0 adds one repeat at the very end."""
    assert ls.optimal_total(example_1(0.0), horizon).value == horizon / 2
    assert ls.optimal_total(example_1(0.25), horizon).value == horizon / 2 + 0.25


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_example_1_average_is_the_better_of_alternating_and_repeating(epsilon):
    """The best average is max(1/2, ε): from ε = 1/2 on greedy keeps all of it."""
    best = ls.optimal_average(example_1(epsilon))
    assert best.fraction == max(Fraction(1, 2), Fraction(epsilon))


@pytest.mark.parametrize("n_arms", [2, 3, 4, 6])
def test_example_2_values(n_arms):
    """The optimum averages 1; the window of 2K − 1 rounds, repeated, averages K/(2K − 1)."""
    bandit = example_2(n_arms)
    turn = list(range(n_arms))
    window = turn + turn[:-1]
    assert ls.optimal_average(bandit).value == 1.0
    assert ls.cycle_reward(bandit, turn) == n_arms
    assert ls.cycle_reward(bandit, window) == n_arms
    assert ls.block_reward(bandit, window, np.full(n_arms, n_arms)) == 2 * n_arms - 1


@pytest.mark.parametrize("n_arms", [2, 10, 100])
def test_example_2_is_tight_for_proposition_2(n_arms):
    """Floor (K − 1)/(2K − 1) and value K/(2K − 1) meet as K grows."""
    size = 2 * n_arms - 1
    floor = ls.paper.theory.best_cycle_floor(1.0, n_arms, horizon=size, length=size)
    assert floor == pytest.approx((n_arms - 1) / size)
    assert n_arms / size - floor == pytest.approx(1 / size)
