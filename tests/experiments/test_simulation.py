"""Playing one policy on one bandit."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import ExperimentError, InputTypeError
from lastswitch.experiments.simulation import reference_run, simulate
from lastswitch.planning.ruled_problem import RuledProblem
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
            return ls.learning.Pull(0, arm, 1, subject)

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


RULED = ls.Bandit(
    [ls.Curve([0.4, 0.9], [0.2]), ls.Curve([0.6], [0.5, 0.1]), ls.curves.step(3, 0.8)],
    rules=[ls.rules.apart(0, 3, cost=0.25), ls.rules.at_most("everyone", 3, within=2)],
    plays=(0, 2),
    silence=0.05,
)
ROUNDS = [(0, 1), (), (2,), (0, 1), (0,), (1, 2), ()]


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian", "none"])
def test_rounds_of_several_plays_are_simulated_by_definition(noise):
    """Arms, states and rewards are those of the plain reference, with subjects too."""
    bandit = replace(RULED, rules=(), noise=noise)
    for subjects in (1, 3):
        fast = simulate(bandit, ls.FixedCycle(ROUNDS), 40, seed=3, subjects=subjects)
        slow = reference_run(bandit, ls.FixedCycle(ROUNDS), 40, seed=3, subjects=subjects)
        assert fast.rounds == slow.rounds
        assert (fast.horizon, len(fast.rounds)) == (40, 40 * subjects)
        for part in ("arms", "taus", "rewards", "sizes"):
            assert (getattr(fast, part) == getattr(slow, part)).all()


def test_a_run_earns_what_the_ruled_problem_says():
    """Pays, silence and broken soft rules: the definition planners are tested by."""
    problem = RuledProblem.from_bandit(RULED, len(ROUNDS))
    run = simulate(RULED, ls.FixedCycle(ROUNDS), len(ROUNDS), seed=1)
    assert run.rounds == ROUNDS
    assert run.costs.sum() == pytest.approx(problem.cost(ROUNDS)) == 0.25
    assert run.mean_total == pytest.approx(problem.value(ROUNDS))
    assert run.cumulative_means[-1] == pytest.approx(run.mean_total)
    empty = sum(2 - len(arms) for arms in ROUNDS)
    assert run.total == pytest.approx(run.rewards.sum() + 0.05 * empty - 0.25)


def test_the_optimum_played_out_earns_its_value():
    """So that regret against it is right; a soft rule is worth breaking here or not."""
    best = ls.optimal_total(RULED, 12)
    run = simulate(RULED, ls.FixedCycle(best.rounds, 3), 12)
    assert run.mean_total == pytest.approx(best.value)


def test_costs_of_one_play_a_round_are_taken_from_what_is_earned():
    """Not from the rewards that the policy is told."""
    bandit = ls.Bandit([([1.0], [1.0])], noise="none", rules=[ls.rules.apart(0, 2, cost=0.25)])
    run = simulate(bandit, ls.FixedCycle([0]), 4)
    assert run.rewards.tolist() == [1.0] * 4
    assert run.earned.tolist() == [1.0, 0.75, 0.75, 0.75]
    assert run.total == 3.25


def test_a_broken_hard_rule_is_named_with_its_round():
    """Also of several plays a round and of several subjects."""
    bandit = replace(RULED, rules=[ls.rules.apart(0, 2)])
    with pytest.raises(ExperimentError, match=r"in round 4\."):
        simulate(bandit, ls.FixedCycle(ROUNDS), 10)
    with pytest.raises(ExperimentError, match=r"in round 4 of subject 0\."):
        simulate(bandit, ls.FixedCycle(ROUNDS), 10, subjects=2)


def test_a_policy_that_plays_more_than_the_bandit_is_refused():
    """Before anything is played, and with what to build."""
    bandit = replace(RULED, rules=(), plays=(0, 1))
    with pytest.raises(ExperimentError, match="plays 0 to 2 arms a round, and this bandit 0 to 1"):
        simulate(bandit, ls.FixedCycle(ROUNDS), 10)
    with pytest.raises(ExperimentError, match="1 to 1 arms a round, and this bandit 2 to 2"):
        simulate(replace(RULED, rules=(), plays=2), ls.FixedCycle([0, 1, 2]), 10)
    assert simulate(bandit, ls.FixedCycle([0, 1, 2]), 10).sizes.tolist() == [1] * 10


def test_comparisons_of_several_plays_have_the_ruled_optimum_for_comparator():
    """Its own cycle has no regret there, and the curve ends in the optimum's value."""
    best = ls.optimal_total(RULED, 10).rounds
    policies = {"optimum": partial(ls.FixedCycle, best, 3), "cycle": partial(ls.FixedCycle, ROUNDS)}
    found = ls.compare(RULED, policies, 10, 2, n_jobs=1, progress=None)
    assert found.optimum.curve[-1] == pytest.approx(found.optimum.value)
    assert found.regret("optimum").mean[-1] == pytest.approx(0.0)
    assert found.regret("cycle").mean[-1] > 0.1
