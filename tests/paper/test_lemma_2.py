"""Lemma 2: what a block loses when it starts from another state, and that no less is true."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError
from lastswitch.paper.theory import state_change_loss
from strategies import bandits, blocks, states

SLACK = 1e-9


def two_starts(constant_streaks: bool):
    """Draw a bandit, a block and two states."""
    return bandits(min_arms=2, max_arms=4, constant_streaks=constant_streaks).flatmap(
        lambda b: st.tuples(st.just(b), blocks(b.n_arms), states(b.n_arms), states(b.n_arms))
    )


@given(two_starts(constant_streaks=True))
@settings(max_examples=30)
def test_equation_4(case):
    """With constant streaks the same block loses at most K; at most its number of arms."""
    bandit, block, one, other = case
    loss = ls.block_reward(bandit, block, one) - ls.block_reward(bandit, block, other)
    assert loss <= state_change_loss(bandit, block=block) + SLACK
    assert loss <= state_change_loss(bandit) + SLACK


@given(two_starts(constant_streaks=False))
@settings(max_examples=30)
def test_equation_5(case):
    """In general B' loses at most K + 2; at most the finer constant of each case of the proof."""
    bandit, block, one, other = case
    repaired = ls.blocks.repaired_block(block, bandit.n_arms)
    loss = ls.block_reward(bandit, block, one) - ls.block_reward(bandit, repaired, other)
    assert loss <= state_change_loss(bandit, streaks=True, block=block) + SLACK
    assert loss <= state_change_loss(bandit, streaks=True) + SLACK


@given(two_starts(constant_streaks=True))
@settings(max_examples=30)
def test_calibrated_reward_lies_between(case):
    """r(B | τ) − K ≤ r̃(B) ≤ r(B | τ), the inequality behind the calibrated objective."""
    bandit, block, one, _ = case
    calibrated, full = (
        ls.blocks.calibrated_reward(bandit, block),
        ls.block_reward(bandit, block, one),
    )
    assert full - bandit.n_arms - SLACK <= calibrated <= full + SLACK


@given(two_starts(constant_streaks=False))
@settings(max_examples=30)
def test_repaired_block_keeps_its_calibrated_reward(case):
    """r̃(B') ≥ r(B | τ) − (K + 2), the inequality behind Proposition 5."""
    bandit, block, one, _ = case
    repaired = ls.blocks.repaired_block(block, bandit.n_arms)
    full = ls.block_reward(bandit, block, one)
    assert ls.blocks.calibrated_reward(bandit, repaired) >= full - (bandit.n_arms + 2) - SLACK


@given(two_starts(constant_streaks=False))
@settings(max_examples=30)
def test_repaired_block_has_the_length_of_the_block_and_starts_with_a_switch(case):
    """B' is as long as B; its second pull differs from its first."""
    bandit, block, _, _ = case
    repaired = ls.blocks.repaired_block(block, bandit.n_arms)
    assert len(repaired) == len(block)
    assert len(block) == 1 or repaired[0] != repaired[1]


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_k_is_attained(n_arms):
    """One pull of each arm, each exactly on its spike, or just beside it: the loss is K."""
    bandit = ls.Bandit([ls.curves.spike(at=20, high=1.0)] * n_arms)
    block = list(range(n_arms))
    on = [20 - t for t in range(n_arms)]
    assert ls.block_reward(bandit, block, on) == n_arms
    assert ls.block_reward(bandit, block, [1] * n_arms) == 0


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_k_plus_2_is_attained(n_arms):
    """Three opening pulls that all pay, and B' none of them: the loss is K + 2."""
    tires = ls.Curve([0.0] * 19 + [1.0, 0.0], [1.0, 1.0, 0.0])  # pays on τ = 20, −1 and −2
    bandit = ls.Bandit([tires] + [ls.curves.spike(at=20, high=1.0)] * (n_arms - 1))
    block = [0, 0, 0, *range(1, n_arms)]
    on = [20] + [20 - t for t in range(3, n_arms + 2)]
    repaired = ls.blocks.repaired_block(block, n_arms)
    assert ls.block_reward(bandit, block, on) == n_arms + 2
    assert ls.block_reward(bandit, repaired, [-9] + [40] * (n_arms - 1)) == 0


@pytest.mark.parametrize("size", [4, 10, 40])
def test_the_same_block_can_lose_everything_when_streaks_wear_out(size):
    """Why B' is needed: B itself may lose its whole length, Equation 24 in the proof."""
    bandit = ls.Bandit([ls.Curve([1.0], [1.0] * size + [0.0]), ls.curves.constant(0.0)])
    block = [0] * size
    assert ls.block_reward(bandit, block, [1, 1]) == size
    assert ls.block_reward(bandit, block, [-size - 1, 1]) == 0


def test_the_general_form_needs_two_arms():
    """With one arm there is no B': the only block loses everything, and the call says so."""
    with pytest.raises(BlockError, match="two arms"):
        ls.blocks.repaired_block([0, 0], n_arms=1)
