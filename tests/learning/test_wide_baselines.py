"""Baselines of several plays a round, and ranking policies: facts of their papers."""

import math

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import PolicyError
from lastswitch.learning import (
    ExploreThenCommit,
    FrequencyPolicy,
    PeriodicUCB,
    PurelyPeriodic,
    RankingElimination,
    RankingPolicy,
)
from lastswitch.learning.baselines.periodic import FAMILIES, doubled, fitted, guarantee
from lastswitch.learning.baselines.ranking import ranking_values
from lastswitch.model.instances import k_delays, k_monotone, k_recovering, play_play_rest
from lastswitch.testing import check_policy

RECOVERING = k_recovering([0.9, 0.7, 0.6, 0.5, 0.8], scales=[3.0, 1.5, 2.0, 4.0, 6.0], plays=2)
POLICIES = {
    "FrequencyPolicy": lambda: FrequencyPolicy(RECOVERING),
    "FrequencyPolicy, pairs": lambda: FrequencyPolicy(
        ls.Bandit(RECOVERING.curves, plays=2), runs=2, depth=6
    ),
    "ExploreThenCommit": lambda: ExploreThenCommit(5, 300, depth=3, plays=(0, 2)),
    "PurelyPeriodic": lambda: PurelyPeriodic(RECOVERING),
    "PurelyPeriodic, one play": lambda: PurelyPeriodic(ls.Bandit(RECOVERING.curves)),
    "PeriodicUCB": lambda: PeriodicUCB(5, plays=(0, 2), depth=6, first=8),
    "RankingPolicy": lambda: RankingPolicy(ls.Bandit(RECOVERING.curves)),
    "RankingElimination": lambda: RankingElimination(5, 60, sorting=1),
}


def average(bandit, policy, horizon=1200):
    """Return what a policy earns per round, without the noise, after a beginning."""
    return ls.simulate(bandit, policy, horizon, 0).expected[horizon // 4 :].mean()


@pytest.mark.parametrize("name", POLICIES)
def test_baselines_of_rounds_keep_the_contract(name):
    """Legal rounds, true states, masks, late rewards, refusals, determinism, files."""
    check_policy(POLICIES[name], n_arms=5, rounds=40)


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_randomised_offsets_earn_their_share_for_k_plays(plays):
    """Papadigenopoulos et al. (2022): 1 - k^k/(e^k k!) of the program, on average over offsets."""
    bandit = k_recovering([0.9, 0.7, 0.6, 0.5], scales=[3.0, 1.5, 2.0, 4.0], plays=plays)
    policies = [FrequencyPolicy(bandit, seed=seed) for seed in range(16)]
    earned = np.mean([average(bandit, policy, 400) for policy in policies])
    assert guarantee(plays) * policies[0].bound <= earned <= policies[0].bound + 1e-9


def test_the_share_for_k_plays_is_tight_on_identical_steps():
    """Foussoul et al. (2023): of m·k such arms as many are candidates at once as coins fall."""
    m, k = 6, 2
    bandit = k_monotone(m - 1, plays=k)
    bandit = ls.Bandit([bandit.curves[0]] * (m * k), plays=(0, k))
    earned = np.mean([average(bandit, FrequencyPolicy(bandit, seed=s), 240) for s in range(40)])
    n, p = m * k, 1 / m
    tails = sum((k - j) * math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k))
    assert earned == pytest.approx(k - tails, abs=0.06)
    assert earned / k >= guarantee(k) - 0.02


def test_play_play_rest_is_found_with_silence():
    """Foussoul et al. (2023): one arm of pay 1{τ ≥ -1}, best average 2/3."""
    policy = FrequencyPolicy(play_play_rest(), runs=2)
    assert policy.bound == pytest.approx(2 / 3)
    assert average(play_play_rest(), policy) == pytest.approx(2 / 3, abs=0.01)


def test_silence_that_pays_more_is_kept():
    """The program plays only what pays more than an empty place."""
    bandit = ls.Bandit([ls.curves.constant(0.3), ls.curves.step(3, 0.9)], plays=(0, 1), silence=0.5)
    policy = FrequencyPolicy(bandit)
    assert policy.bound == pytest.approx((0.9 + 3 * 0.5) / 4)
    assert average(bandit, policy, 400) == pytest.approx(policy.bound, abs=0.01)


def test_exploring_side_by_side_ends_near_its_share():
    """Foussoul et al. (2023), the learner: after exploring, its share of the optimum."""
    bandit = k_recovering([0.9, 0.7, 0.6, 0.5], scales=[1.0, 0.8, 0.7, 2.0], plays=2)
    bound = FrequencyPolicy(bandit).bound
    late = []
    for seed in range(4):
        policy = ExploreThenCommit(4, 6000, depth=6, seed=seed, plays=(0, 2), initial=-1)
        late.append(ls.simulate(bandit, policy, 6000, seed).expected[-1500:].mean())
    assert np.mean(late) >= guarantee(2) * bound
    with pytest.raises(PolicyError, match="explores in silence"):
        ExploreThenCommit(4, 600, plays=2)


@pytest.mark.parametrize("seed", range(6))
def test_periods_of_a_family_always_fit(seed):
    """Harmonic periods whose frequencies sum to k never have more than k arms in a round."""
    rng = np.random.default_rng(seed)
    places, family = int(rng.integers(1, 4)), int(rng.choice(FAMILIES))
    periods, room = [], float(places)
    for _ in range(12):
        period = doubled(int(rng.integers(1, 20)), family)
        if 1 / period <= room + 1e-12:
            periods.append(period)
            room -= 1 / period
    turns = fitted(periods, places)
    assert [turn.period for turn in turns] == periods
    for t in range(2 * max(periods)):
        assert sum(t % turn.period == turn.offset for turn in turns) <= places


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_purely_periodic_play_earns_half_the_relaxation(plays):
    """Simchi-Levi et al. (2021): periods lengthened to a family cost at most half."""
    for scale in (0.7, 1.5, 4.0):
        bandit = k_recovering([0.9, 0.7, 0.6, 0.5, 0.8], scales=[scale] * 5, plays=plays)
        policy = PurelyPeriodic(bandit)
        earned = average(bandit, policy)
        assert 0.5 * policy.bound <= earned <= policy.bound + 1e-9


def test_purely_periodic_play_is_optimal_where_periods_double():
    """Eight arms that pay from a delay of 4 on, two a round: every place always pays."""
    bandit = ls.Bandit([ls.curves.step(3, 1.0)] * 8, plays=(0, 2))
    assert average(bandit, PurelyPeriodic(bandit)) == 2.0 == PurelyPeriodic(bandit).bound


def test_periodic_learners_come_near_periodic_play():
    """In the long run at least nine tenths of what the one who knows the curves earns."""
    bandit = k_recovering([0.9, 0.7, 0.6, 0.5], scales=[1.0, 0.8, 0.7, 2.0], plays=2)
    known = average(bandit, PurelyPeriodic(bandit, depth=8))
    run = ls.simulate(bandit, PeriodicUCB(4, plays=(0, 2), depth=8, initial=-1), 12_000, 0)
    assert run.expected[-3000:].mean() >= 0.9 * known


def cella_and_cesa_bianchi(delays):
    """Return their seven arms: μ(τ) = (1 - 0.999^τ 1{τ ≤ d}) μ, at delay τ."""
    tops = [0, 1 / 3, 2 / 3, 4 / 5, 13 / 15, 14 / 15, 1]
    tables = [
        [(1 - 0.999**tau * (tau <= d)) * top for tau in range(1, 9)]
        for top, d in zip(tops, delays, strict=True)
    ]
    return ls.Bandit([ls.Curve.from_delays(table) for table in tables], initial=-1)


def test_ranking_values_are_what_cycling_earns():
    """g(m) on their seven arms is the average of π_m played out, and the best m is taken."""
    bandit = cella_and_cesa_bianchi([1, 2, 3, 2, 1, 4, 6])
    policy = RankingPolicy(bandit)
    assert policy.order == [6, 5, 4, 3, 2, 1, 0]
    values = ranking_values(bandit, policy.order)
    for m, value in enumerate(values, start=1):
        cycle = ls.FixedCycle(policy.order[:m], 7, initial=-1)
        assert average(bandit, cycle, 1680) == pytest.approx(value)
    assert policy.value == max(values)
    assert average(bandit, policy, 1680) == pytest.approx(policy.value)
    assert policy.value <= ls.optimal_average(bandit).bound + 1e-9


def test_ranking_elimination_finds_the_length_with_few_switches():
    """On their arms: most of g(m*), and policies change O(K ln ln T) times."""
    bandit = cella_and_cesa_bianchi([2, 2, 2, 2, 2, 2, 2])
    best = RankingPolicy(bandit)
    policy = RankingElimination(7, 20_000, initial=-1)
    run = ls.simulate(bandit, policy, 20_000, 0)
    assert policy.order[:5] == best.order[:5] or set(policy.order[:6]) == set(best.order[:6])
    assert run.expected[-4000:].mean() >= 0.93 * best.value
    assert policy.stage <= 6


def test_k_delays_may_fall_with_rest():
    """The program bounds the optimum also of pays that are not monotone."""
    bandit = k_delays([[0.0, 0.9, 0.2], [0.2, 0.1, 0.8]], plays=1)
    assert FrequencyPolicy(bandit).bound >= ls.optimal_average(bandit).value - 1e-6
