"""What a block pays: the compiled pass against the definition, and the paper's lemma."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError, InputTypeError, StateError
from lastswitch.model import block_reference as reference
from lastswitch.model.curves import constant
from strategies import bandits, blocks, states


@given(data=st.data(), bandit=bandits())
def test_the_kernel_plays_the_block_out(data, bandit):
    """Compiled pays equal the pays of moving every state round by round."""
    start, block = data.draw(states(bandit.n_arms)), data.draw(blocks(bandit.n_arms))
    expected = reference.pays_of_block(bandit, block, start.tolist())
    assert ls.blocks.block_pays(bandit, block, start).tolist() == expected


@given(data=st.data(), bandit=bandits())
def test_calibrated_rewards_agree_with_their_definition(data, bandit):
    """First plays pay nothing."""
    block = data.draw(blocks(bandit.n_arms))
    expected = reference.calibrated_reward(bandit, block)
    assert ls.blocks.calibrated_reward(bandit, block) == pytest.approx(expected, abs=1e-12)


@given(data=st.data(), bandit=bandits())
def test_cycle_reward_is_the_limit_of_repeating(data, bandit):
    """After enough turns, a turn pays the cycle reward."""
    block = data.draw(blocks(bandit.n_arms))
    expected = reference.cycle_reward(bandit, block)
    assert ls.cycle_reward(bandit, block) == pytest.approx(expected, abs=1e-12)


def pays_in_delays(tables, block):
    """Play ``block`` in the literature's other convention: pay by rounds since the last play."""
    delays, pays = [1] * len(tables), []
    for arm in block:
        table = tables[arm]
        pays.append(table[min(delays[arm], len(table)) - 1])
        delays = [1 if i == arm else delay + 1 for i, delay in enumerate(delays)]
    return pays


def test_delays_agree_with_a_simulation_in_delays():
    """Three thousand random sequences pay the same in every round in both conventions."""
    rng = np.random.default_rng(7)
    for _ in range(3000):
        n_arms = int(rng.integers(1, 5))
        tables = [rng.random(rng.integers(1, 7)).tolist() for _ in range(n_arms)]
        bandit = ls.Bandit([ls.Curve.from_delays(table) for table in tables], initial=-1)
        block = rng.integers(0, n_arms, rng.integers(1, 40)).tolist()
        assert ls.blocks.block_pays(bandit, block).tolist() == pays_in_delays(tables, block)


@given(data=st.data(), bandit=bandits(constant_streaks=True))
def test_lemma_2_with_constant_streaks(data, bandit):
    """Two starts change a block's pay by at most the number of arms."""
    block = data.draw(blocks(bandit.n_arms, max_size=20))
    one, other = (data.draw(states(bandit.n_arms)) for _ in range(2))
    difference = ls.block_reward(bandit, block, one) - ls.block_reward(bandit, block, other)
    assert abs(difference) <= bandit.n_arms + 1e-9


@given(data=st.data(), bandit=bandits(min_arms=2))
def test_lemma_2_in_general(data, bandit):
    """The repaired block loses at most K + 2, whatever the two starts."""
    block = data.draw(blocks(bandit.n_arms, min_size=2, max_size=20))
    one, other = (data.draw(states(bandit.n_arms)) for _ in range(2))
    repaired = ls.blocks.repaired_block(block, bandit.n_arms)
    assert len(repaired) == len(block)
    assert repaired[0] != repaired[1]
    loss = ls.block_reward(bandit, block, one) - ls.block_reward(bandit, repaired, other)
    assert loss <= bandit.n_arms + 2 + 1e-9


def test_a_block_needs_repair_only_if_it_opens_with_a_repeat():
    """The second play becomes the block's second arm, or any other arm if it has only one."""
    assert ls.blocks.repaired_block([2, 0, 0], 3) == [2, 0, 0]
    assert ls.blocks.repaired_block([2, 2, 1, 0], 3) == [2, 1, 1, 0]
    assert ls.blocks.repaired_block([0, 0], 3) == [0, 1]
    assert ls.blocks.repaired_block([1], 3) == [1]
    with pytest.raises(BlockError, match="single arm"):
        ls.blocks.repaired_block([0, 0], 1)


def test_the_start_defaults_to_the_bandits():
    """A block is played from where the bandit starts unless told otherwise."""
    bandit = ls.Bandit([ls.Curve([0.1, 0.9], [0.0])], initial=2)
    assert ls.block_reward(bandit, [0]) == 0.9
    assert ls.block_reward(bandit, [0], start=[1]) == 0.1


def test_what_cannot_be_played_is_refused():
    """Each message says what was given."""
    bandit = ls.Bandit([constant(0.5)] * 2)
    with pytest.raises(BlockError, match="at least one"):
        ls.block_reward(bandit, [])
    with pytest.raises(BlockError, match="arm 2 does not exist"):
        ls.cycle_reward(bandit, [0, 2])
    with pytest.raises(InputTypeError, match="list of integers"):
        ls.blocks.calibrated_reward(bandit, ["a"])
    with pytest.raises(StateError, match="2 integer states, one per arm; got"):
        ls.block_reward(bandit, [0], start=[1, 1, 1])


def test_long_blocks_of_many_arms_agree_too():
    """A thousand plays over twenty arms, with deep states and seasons."""
    rng = np.random.default_rng(0)
    tables = [(rng.random(9), np.sort(rng.random(5))[::-1]) for _ in range(20)]
    tails = ["hold", "repeat"] * 10
    bandit = ls.Bandit([ls.Curve(*t, tail) for t, tail in zip(tables, tails, strict=True)])
    block = rng.integers(0, 20, 1000).tolist()
    expected = reference.pays_of_block(bandit, block, bandit.start().tolist())
    assert ls.blocks.block_pays(bandit, block).tolist() == expected
