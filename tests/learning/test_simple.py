"""The fixed cycle and the greedy oracle."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError, InputTypeError
from lastswitch.learning import FixedCycle, OracleGreedy, simple
from strategies import bandits


@given(bandits(), st.integers(0, 99), st.sampled_from([20_000, 3]))
@settings(max_examples=60, deadline=None)
def test_the_oracle_always_plays_a_best_arm(bandit, seed, remembered):
    """Whatever it remembers, every pull has the largest mean of its moment, also under masks."""
    limit, simple._MOMENTS = simple._MOMENTS, remembered
    try:
        policy = OracleGreedy(bandit, seed=seed)
        for turn in range(40):
            subject = turn % 2
            means = bandit.means(policy.track(subject).state())
            arms = list(range(bandit.n_arms)) if turn % 5 else [seed % bandit.n_arms]
            pull = policy.ask(subject, allowed=arms)
            assert means[pull.arm] == max(means[arm] for arm in arms)
    finally:
        simple._MOMENTS = limit


def test_ties_are_broken_at_random_and_by_seed():
    """Three equal arms share the plays, and a seed repeats them."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 3)
    policies = [OracleGreedy(bandit, seed=seed) for seed in (4, 4, 5)]
    plays = [[policy.ask().arm for _ in range(300)] for policy in policies]
    assert plays[0] == plays[1] != plays[2]
    assert min(Counter(plays[0]).values()) > 60


def test_the_oracle_ends_at_the_rate_the_printed_curves_give():
    """On the five arms greedy ends at 0.91 / 6: it takes arm 1 at delay 6 for 0.16."""
    bandit = ls.instances.five_arms()
    run = ls.simulate(bandit, OracleGreedy(bandit), 3000, seed=0)
    assert run.means[-1200:].mean() == pytest.approx(0.91 / 6)


def test_the_oracle_needs_a_bandit():
    """A number of arms is not enough to be greedy on."""
    with pytest.raises(InputTypeError, match="needs the Bandit"):
        OracleGreedy(5)


def test_a_cycle_goes_round():
    """The block is played again and again, for each subject from its beginning."""
    policy = FixedCycle([2, 0, 0])
    assert [policy.ask("ann").arm for _ in range(7)] == [2, 0, 0, 2, 0, 0, 2]
    assert policy.ask("bob").arm == 2


def test_a_cycle_skips_what_is_not_allowed():
    """The next allowed arm of the cycle is played, or the first allowed one if there is none."""
    policy = FixedCycle([0, 1, 0, 2], n_arms=4)
    assert policy.ask(allowed=[2, 3]).arm == 2
    assert policy.ask(allowed=[3]).arm == 3
    assert policy.ask().arm == 0


@pytest.mark.parametrize("block", [[], [-1, 0], [0, 3]])
def test_a_cycle_that_cannot_be_played_is_refused(block):
    """Empty, or naming an arm that is not there."""
    with pytest.raises(BlockError):
        FixedCycle(block, n_arms=3)
