"""The neighbours' policies: the contract, and the guarantees their papers state."""

import math

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning import (
    RAWUCB,
    UCB1,
    BlockingGreedy,
    BlockingUCB,
    ExploreThenCommit,
    FrequencyPolicy,
    Lookahead,
    PurelyPeriodic,
    ThompsonSampling,
)
from lastswitch.learning.baselines.frequency_program import solve_program
from lastswitch.model.families import random_bandit
from lastswitch.model.instances import blocking, five_arms, two_arms
from lastswitch.testing import check_policy

BANDIT = ls.Bandit(
    [ls.curves.constant(0.3), ls.curves.step(3, 0.6), ls.curves.step(2, 0.9), ([0.5], [0.1, 0.0])]
)
POLICIES = {
    "UCB1": lambda: UCB1(4),
    "ThompsonSampling": lambda: ThompsonSampling(4, seed=1),
    "RAWUCB": lambda: RAWUCB(4),
    "BlockingGreedy": lambda: BlockingGreedy([0.5, 0.4, 0.3, 0.2], [4, 3, 2, 1]),
    "BlockingUCB": lambda: BlockingUCB(4, [4, 3, 2, 1]),
    "FrequencyPolicy": lambda: FrequencyPolicy(BANDIT, seed=2),
    "FrequencyPolicy runs": lambda: FrequencyPolicy(BANDIT, runs=3, seed=2),
    "ExploreThenCommit": lambda: ExploreThenCommit(4, 30, depth=2, runs=2),
    "Lookahead": lambda: Lookahead(4, depth=5),
    "Lookahead Thompson": lambda: Lookahead(4, depth=5, method="thompson"),
}
SHARE = 1 - 1 / math.e


def with_null_arm(bandit):
    """Add an arm that earns nothing: a round that may be let go by."""
    return ls.Bandit([*bandit.curves, ls.curves.constant(0.0)])


def average(bandit, policy, horizon=2000):
    """Return what a policy earns per round in expectation over the noise."""
    return ls.simulate(bandit, policy, horizon, 0).mean_total / horizon


@pytest.mark.parametrize("name", POLICIES)
def test_baselines_keep_the_contract(name):
    """Legal pulls, true states, masks, late rewards, refusals, determinism, files."""
    check_policy(POLICIES[name], n_arms=4, rounds=40)


@pytest.mark.parametrize("learner", [UCB1, ThompsonSampling])
def test_stateless_learners_find_the_best_stationary_arm(learner):
    """On arms that never change they play the best one nearly always."""
    bandit = ls.Bandit([ls.curves.constant(p) for p in (0.2, 0.8, 0.3)])
    run = ls.simulate(bandit, learner(3), 3000, 0)
    assert run.plays[1] > 2400


def test_raw_ucb_leaves_an_arm_once_its_rewards_fall():
    """Of an arm that falls below another after 300 plays, few more plays are wasted."""
    policy, plays = RAWUCB(2), [0, 0]
    for _ in range(2000):
        pull = policy.ask()
        plays[pull.arm] += 1
        policy.tell(pull.id, 0.5 if pull.arm else float(plays[0] <= 300))
    assert 300 < plays[0] < 400


def test_raw_ucb_windows_are_means_of_the_latest_full_turns():
    """After rewards 0..12 of one arm: windows 1, 2, 4, 8 hold the last complete 2^j rewards."""
    policy = RAWUCB(1, rewards=(0, 16))
    for reward in range(13):
        policy.tell(policy.ask().id, float(reward))
    assert (16 * policy.windows[0, :5]).tolist() == [12.0, 10.5, 9.5, 3.5, math.inf]


@pytest.mark.parametrize("seed", range(4))
def test_blocking_greedy_earns_its_share(seed):
    """The greedy of Basu et al. earns at least 1 - 1/e of the optimum."""
    rng = np.random.default_rng(seed)
    means, delays = rng.uniform(0.1, 1, 3).tolist(), rng.integers(1, 6, 3).tolist()
    bandit = with_null_arm(blocking(delays, means))
    policy = BlockingGreedy([*means, 0.0], [*delays, 1])
    assert average(bandit, policy) >= SHARE * ls.optimal_average(bandit).value - 0.01


def test_blocking_ucb_learns_to_play_as_the_greedy_oracle():
    """In the long run the learner earns what the oracle earns."""
    means, delays = [0.9, 0.6, 0.2], [3, 2, 1]
    bandit = blocking(delays, means)
    oracle = average(bandit, BlockingGreedy(means, delays, initial=-1), 6000)
    assert average(bandit, BlockingUCB(3, delays, initial=-1), 6000) >= 0.93 * oracle


@pytest.mark.parametrize("seed", range(4))
def test_rounded_frequencies_earn_their_share_of_monotone_curves(seed):
    """Papadigenopoulos et al.: 1 - 1/e of the optimum on average over offsets."""
    bandit = with_null_arm(random_bandit("monotone", 3, 4, seed))
    best = ls.optimal_average(bandit).value
    earned = [average(bandit, FrequencyPolicy(bandit, seed=s), 500) for s in range(12)]
    assert np.mean(earned) >= SHARE * best


SPARED = {
    **{f"{family} {seed}": (family, seed) for family in ("monotone", "step") for seed in range(4)},
    "two arms": None,
    "five arms": None,
}


def spared(name):
    """Return a bandit with an arm that loses nothing by a play out of turn."""
    if SPARED[name] is None:
        return two_arms() if name == "two arms" else five_arms()
    return with_null_arm(random_bandit(SPARED[name][0], 4, 5, SPARED[name][1]))


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("name", SPARED)
def test_rounds_without_a_turn_do_not_cost_the_share(name, runs):
    """Where some arm loses nothing by filling in, 1 - 1/e of the program is earned on average."""
    bandit = spared(name)
    policies = [FrequencyPolicy(bandit, runs=runs, seed=s) for s in range(60)]
    earned = [average(bandit, policy, 120) for policy in policies]
    share = SHARE * (1 - 1 / runs if runs > 1 else 1)
    assert np.mean(earned) >= share * policies[0].bound


def test_one_who_explored_keeps_the_share_on_the_two_arms():
    """After exploring, no seed plays the tired arm where a constant one loses nothing."""
    bandit, late = two_arms(), []
    best = ls.optimal_average(bandit).value
    for seed in range(20):
        policy = ExploreThenCommit(2, 3000, depth=4, seed=seed, initial=bandit.initial)
        late.append(ls.simulate(bandit, policy, 3000, seed).expected[-1000:].mean())
    assert np.mean(late) >= SHARE * best
    assert min(late) >= 0.5 * best


@pytest.mark.parametrize("name", SPARED)
def test_periods_keep_half_where_an_arm_is_spare(name):
    """Simchi-Levi et al.: half of the relaxation on curves that never fall."""
    bandit = spared(name)
    policy = PurelyPeriodic(bandit)
    assert average(bandit, policy, 600) >= 0.5 * policy.bound - 1e-2


@pytest.mark.parametrize("runs", [2, 4])
def test_rounded_frequencies_earn_their_share_of_streaks(runs):
    """Foussoul et al.: (1 - 1/runs)(1 - 1/e) of the optimum on curves nondecreasing in τ."""
    bandit = with_null_arm(random_bandit("satiating", 3, 4, 0))
    best = ls.optimal_average(bandit).value
    earned = [average(bandit, FrequencyPolicy(bandit, runs=runs, seed=s), 500) for s in range(12)]
    assert np.mean(earned) >= (1 - 1 / runs) * SHARE * best


def test_the_share_is_tight_on_identical_steps():
    """With m arms of pay 1{τ ≥ m - 1} the rounding earns 1 - (1 - 1/m)^m, about 1 - 1/e."""
    m = 8
    bandit = with_null_arm(ls.Bandit([ls.curves.step(m - 1, 1.0)] * m))
    earned = [average(bandit, FrequencyPolicy(bandit, seed=s), 800) for s in range(40)]
    assert np.mean(earned) == pytest.approx(1 - (1 - 1 / m) ** m, abs=0.03)


def test_a_single_arm_that_pays_twice_rests_every_third_round():
    """Pay 1{τ ≥ -1} and idling: play, play, rest earns 2/3, and the program says so."""
    arm = ls.Curve([1.0], [1.0, 0.0])
    bandit = ls.Bandit([arm, ls.curves.constant(0.0)])
    policy = FrequencyPolicy(bandit, runs=2)
    assert policy.bound == pytest.approx(2 / 3)
    assert average(bandit, policy, 600) == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("family", ["spike", "monotone", "step"])
def test_the_program_bounds_the_optimum_of_delay_models(family):
    """With constant streaks no policy averages more than the frequency program."""
    bandit = random_bandit(family, 3, 4, 1)
    value = solve_program(*bandit.tables(24, 1), 1).value
    assert value >= ls.optimal_average(bandit).value - 1e-6


def test_explore_then_commit_ends_near_its_share():
    """After exploring, the rounded program of the estimates earns 1 - 1/e of the optimum."""
    bandit = with_null_arm(random_bandit("monotone", 2, 4, 3))
    best = ls.optimal_average(bandit).value
    late = []
    for seed in range(6):
        policy = ExploreThenCommit(3, 8000, depth=5, seed=seed)
        late.append(ls.simulate(bandit, policy, 8000, seed).means[-3000:].mean())
    assert np.mean(late) >= SHARE * best


def test_exploration_visits_every_state_it_means_to():
    """Every rest up to the depth and every streak up to the runs has been seen."""
    policy = ExploreThenCommit(3, 2000, depth=4, runs=2)
    while not policy.schedule:
        policy.tell(policy.ask().id, 0.5)
    assert min(policy.counts) >= policy.samples


@pytest.mark.parametrize("method", ["ucb", "thompson"])
def test_lookahead_sees_what_greedy_does_not(method):
    """Two steps ahead earn more on the five arms than the greedy oracle ever does."""
    bandit = five_arms()
    policy = Lookahead(5, steps=3, depth=12, method=method, noise=0.3, initial=-1)
    assert average(bandit, policy, 2500) > 1.5 * average(
        bandit, ls.learning.OracleGreedy(bandit), 2500
    )


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: UCB1(2, alpha=0), PolicyError, "alpha must be positive, got 0"),
        (lambda: RAWUCB(2, sigma=-1), PolicyError, "sigma must be positive, got -1"),
        (lambda: BlockingUCB(2, [1]), PolicyError, r"one entry per arm \(2\), got \[1\]"),
        (
            lambda: BlockingGreedy([1, 1], [0, 1]),
            PolicyError,
            r"delays\[0\] must be a whole number of at least 1, got 0",
        ),
        (lambda: BlockingUCB(2, [1, 1.5]), PolicyError, r"delays\[1\] must .* got 1\.5"),
        (lambda: UCB1(2, alpha="much"), PolicyError, "alpha must be positive, got 'much'"),
        (lambda: ThompsonSampling(2, seed=-1), PolicyError, "seed must be .* got -1"),
        (lambda: Lookahead(2, steps=0), PolicyError, "steps must be .* got 0"),
        (lambda: FrequencyPolicy("radio"), InputTypeError, "got str"),
        (lambda: Lookahead(10, steps=9), PolicyError, "fewer steps"),
        (lambda: Lookahead(2, method="greedy"), PolicyError, "got 'greedy'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(build, error, message):
    """The message says what was wrong and what was given."""
    with pytest.raises(error, match=message):
        build()
