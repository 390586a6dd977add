"""Playing one policy on one bandit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import ExperimentError, InputTypeError
from lastswitch.experiments.simulation import reference_run, simulate
from strategies import bandits


class Wanderer(ls.Policy):
    """Plays at random and leans towards arms that paid: its choices depend on its rewards."""

    shared = ("paid",)

    def __init__(self, n_arms, *, initial=1, seed=0):
        super().__init__(n_arms, initial=initial, rewards=(-9, 10), seed=seed)
        self.paid = [1.0] * n_arms

    def choose(self, track, allowed):
        """Draw an arm, more often one that paid."""
        weights = np.array(self.paid)
        return int(self.rng.choice(self.n_arms, p=weights / weights.sum()))

    def learn(self, pull, reward, note):
        """Remember what was paid."""
        self.paid[pull.arm] += max(reward, 0.0)


@given(
    bandits(),
    st.sampled_from(["bernoulli", "gaussian", "none"]),
    st.integers(1, 30),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_the_fast_loop_plays_what_the_definition_plays(bandit, noise, horizon, subjects, seed):
    """Same arms, states and rewards to the bit, for any bandit, noise and number of subjects."""
    noisy = ls.Bandit(bandit.curves, noise=noise, initial=bandit.initial)
    policies = [Wanderer(noisy.n_arms, initial=noisy.initial, seed=seed) for _ in range(2)]
    fast = simulate(noisy, policies[0], horizon, seed, subjects=subjects)
    slow = reference_run(noisy, policies[1], horizon, seed, subjects=subjects)
    assert fast.arms.tolist() == slow.arms.tolist()
    assert fast.taus.tolist() == slow.taus.tolist()
    assert fast.rewards.tolist() == slow.rewards.tolist()


def test_long_runs_draw_their_noise_in_one_stream():
    """Batches of noise join without a seam."""
    bandit = ls.instances.five_arms()
    fast = simulate(bandit, ls.FixedCycle([0, 1, 2], 5, initial=-1), 9000, 3)
    slow = reference_run(bandit, ls.FixedCycle([0, 1, 2], 5, initial=-1), 9000, 3)
    assert np.array_equal(fast.rewards, slow.rewards)


@given(bandits(), st.integers(1, 40))
def test_means_are_those_of_the_states_played(bandit, horizon):
    """The expected reward of every play is its arm's curve at its state."""
    run = simulate(bandit, Wanderer(bandit.n_arms, initial=bandit.initial), horizon, 1)
    expected = [
        bandit.mean(int(arm), int(tau)) for arm, tau in zip(run.arms, run.taus, strict=True)
    ]
    assert run.means.tolist() == expected
    assert run.mean_total == pytest.approx(ls.block_reward(bandit, run.arms))


@given(bandits(), st.integers(1, 25), st.integers(1, 3))
def test_counts_add_up(bandit, horizon, subjects):
    """Plays, visits and cumulative rewards all count every play once."""
    policy = Wanderer(bandit.n_arms, initial=bandit.initial)
    run = simulate(bandit, policy, horizon, 0, subjects=subjects)
    assert run.plays.sum() == sum(run.states().values()) == horizon * subjects
    assert run.cumulative[-1] == pytest.approx(run.total)
    assert run.horizon == horizon


def test_switches_are_counted_within_each_subject():
    """Two subjects that each repeat their own arm never switch."""

    class OwnArm(ls.Policy):
        def choose(self, track, allowed):
            return 0 if track is self.track(0) else 1

    bandit = ls.Bandit([([1.0], [1.0]), ([1.0], [1.0])], noise="none")
    run = simulate(bandit, OwnArm(2), 5, subjects=2)
    assert run.arms.tolist() == [0, 1] * 5
    assert run.switches == 0


def test_another_seed_gives_other_noise():
    """The seed names the noise."""
    bandit = ls.instances.two_arms()
    totals = {
        simulate(bandit, ls.FixedCycle([0, 1], initial=-1), 400, seed).total for seed in range(6)
    }
    assert len(totals) > 1


def test_arrays_are_small():
    """A play of a Bernoulli bandit takes a few bytes besides its reward."""
    run = simulate(ls.instances.two_arms(), ls.FixedCycle([0, 1], initial=-1), 100)
    assert run.arms.itemsize == run.taus.itemsize == 1


def test_a_policy_that_starts_elsewhere_is_refused():
    """Forgetting initial= would silently simulate another model."""
    with pytest.raises(ExperimentError, match=r"initial=bandit\.initial"):
        simulate(ls.instances.two_arms(), ls.FixedCycle([0, 1]), 10)


def test_a_policy_for_other_arms_is_refused():
    """The number of arms must agree."""
    with pytest.raises(ExperimentError, match="built for 2 arms, the bandit has 5"):
        simulate(ls.instances.five_arms(), ls.FixedCycle([0, 1], initial=-1), 10)


@pytest.mark.parametrize("arm", [-1, 2])
def test_an_arm_that_is_not_there_is_refused(arm):
    """A policy from elsewhere may choose anything; the round and the arm are named."""

    class Stray:
        def ask(self, subject=None):
            return ls.Pull(0, arm, 1, subject)

        def tell(self, pull_id, reward):
            raise AssertionError("nothing was played")

    with pytest.raises(ExperimentError, match=f"chose arm {arm} in round 0"):
        simulate(ls.instances.two_arms(), Stray(), 10)


def test_what_is_not_a_policy_is_refused():
    """A class instead of an instance, or a string, gets a sentence."""
    with pytest.raises(InputTypeError, match="needs ask"):
        simulate(ls.instances.two_arms(), "greedy", 10)


@pytest.mark.parametrize("horizon", [0, -3, 2.5, True])
def test_a_horizon_that_is_not_one_is_refused(horizon):
    """The offending value is repeated."""
    with pytest.raises(ExperimentError, match=f"got {horizon}"):
        simulate(ls.instances.two_arms(), ls.FixedCycle([0, 1], initial=-1), horizon)
