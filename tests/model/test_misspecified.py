"""Worlds that are no bandits of this kind: they move as their papers say."""

import itertools

import pytest

import lastswitch as ls
from lastswitch.errors import BanditError
from lastswitch.model.instances import MISSPECIFIED, misspecified


@pytest.mark.parametrize("name", MISSPECIFIED)
def test_a_run_pays_what_the_world_s_memory_says(name):
    """Means are those of the memory before each play, within [0, 1]; rewards are 0 or 1."""
    world = misspecified(name)
    run = world.play(ls.FixedCycle([0, 1, 1, 2], world.n_arms), 40, seed=3)
    state = world.start
    for arm, mean in zip(run.arms.tolist(), run.means.tolist(), strict=True):
        assert mean == world.mean(state, arm)
        assert 0.0 <= mean <= 1.0
        state = world.after(state, arm)
    assert set(run.rewards.tolist()) <= {0.0, 1.0}
    again = world.play(ls.FixedCycle([0, 1, 1, 2], world.n_arms), 40, seed=3)
    assert again.rewards.tolist() == run.rewards.tolist()


@pytest.mark.parametrize("name", MISSPECIFIED)
def test_the_oracle_is_the_best_of_all_ways_where_they_can_be_tried(name):
    """Over six rounds, against every sequence of arms."""
    world, horizon = misspecified(name), 6
    best = 0.0
    for block in itertools.product(range(world.n_arms), repeat=horizon):
        state, total = world.start, 0.0
        for arm in block:
            total += world.mean(state, arm)
            state = world.after(state, arm)
        best = max(best, total)
    assert world.oracle(horizon) == pytest.approx(best)


@pytest.mark.parametrize("name", MISSPECIFIED)
def test_the_states_do_not_tell_what_these_worlds_pay(name):
    """Two pasts that leave an arm in one state, and it pays differently: the model is broken."""
    world = misspecified(name)
    pays = {}
    for past in itertools.product(range(world.n_arms), repeat=5):
        state = world.start
        for arm in past:
            state = world.after(state, arm)
        tau = ls.states.state_after([1] * world.n_arms, past)
        for arm in range(world.n_arms):
            pays.setdefault((arm, int(tau[arm])), set()).add(round(world.mean(state, arm), 6))
    assert any(len(found) > 1 for found in pays.values())


def test_satiation_follows_its_two_equations():
    """After a play s = γ, after another γ(γ + 1), and it fades by γ a round."""
    world = misspecified("rebounding")
    once = world.after(world.start, 0)
    assert once[0] == pytest.approx(0.8)
    assert world.after(once, 0)[0] == pytest.approx(0.8 * 1.8)
    assert world.after(once, 1)[0] == pytest.approx(0.64)
    assert world.mean(once, 0) == pytest.approx(0.9 - 0.2 * 0.8)


def test_a_world_that_is_not_there_is_refused():
    """The worlds there are are named."""
    with pytest.raises(BanditError, match="rebounding"):
        misspecified("bouncing")
