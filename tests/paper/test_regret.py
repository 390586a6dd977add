"""Theorems 1 and 2, Algorithm 1: measured regret, the bound and the growth order."""

from __future__ import annotations

from functools import cache

import pytest

import lastswitch as ls
from lastswitch.paper import theory
from paper_cases import drawn, optimum

#: Family, arms, and whether streaks wear out (Theorem 2) or not (Theorem 1).
CASES = [("step", 2, False), ("uniform", 3, False), ("satiating", 2, True)]
#: Horizons with their fourth root as block size.
GROWING = [(256, 4), (1296, 6), (2401, 7)]


@cache
def played(family: str, arms: int, streaks: bool, horizon: int, block: int) -> ls.experiments.Run:
    """Return one seeded run of ISI-CombUCB1 with α = 1.5."""
    policy = ls.ISICombUCB1(arms, block, alpha=1.5, streaks=streaks)
    return ls.simulate(drawn(family, arms, 4, 1), policy, horizon, seed=0)


def regret(family: str, arms: int, streaks: bool, horizon: int, block: int) -> float:
    """Return the expected regret of that run against the true optimum."""
    run = played(family, arms, streaks, horizon, block)
    return optimum(run.bandit, horizon)[0] * horizon - run.mean_total


@pytest.mark.parametrize(("family", "arms", "streaks"), CASES)
def test_regret_stays_under_the_bound(family, arms, streaks):
    """Theorem 1, or 2: measured regret never exceeds the bound, here by two orders of magnitude."""
    for horizon, block in GROWING:
        bound = theory.regret_bound(
            drawn(family, arms, 4, 1), horizon, block, streaks=streaks
        ).total
        assert 0 <= regret(family, arms, streaks, horizon, block) < bound / 100


@pytest.mark.parametrize(("family", "arms", "streaks"), CASES)
def test_regret_grows_no_faster_than_its_order(family, arms, streaks):
    """With d = T^(1/4) regret stays below 0.6 K T^(3/4), without any logarithm."""
    for horizon, block in GROWING:
        measured = regret(family, arms, streaks, horizon, block)
        assert measured < 0.6 * theory.regret_order(arms, horizon)


def test_estimation_is_sublinear_at_a_fixed_block_size():
    """Against the best block for r̃: four times the rounds, less than three times the regret."""
    bandit, block = drawn("uniform", 3, 4, 1), 4
    best = ls.plan_block(bandit, block, start="unknown").value
    arms = played("uniform", 3, False, 2048, block).arms.reshape(-1, block).tolist()
    losses = [best - ls.blocks.calibrated_reward(bandit, each) for each in arms]
    assert min(losses) > -1e-9
    assert sum(losses) < 3 * sum(losses[: len(losses) // 4])
    bound = theory.regret_bound(bandit, 2048, block)
    assert sum(losses) < bound.estimation + bound.start


def test_algorithm_1_settles_on_the_best_calibrated_block():
    """The last blocks of Algorithm 1 are worth nearly what the best block for r̃ is worth."""
    bandit, block = drawn("uniform", 3, 4, 1), 4
    best = ls.plan_block(bandit, block, start="unknown").value
    arms = played("uniform", 3, False, 2048, block).arms.reshape(-1, block).tolist()
    late = [ls.blocks.calibrated_reward(bandit, each) for each in arms[-64:]]
    assert sum(late) / len(late) > 0.9 * best


def test_the_bound_says_nothing_at_the_paper_s_own_horizon():
    """At T = 5112 and K = 5 no block size brings Theorem 1 below T; for K = 2 it takes millions."""
    assert all(
        theory.regret_bound(5, 5112, size).total > 5112
        for size in range(1, 5113)
        if 5112 % size == 0
    )
    for horizon, vacuous in ((10**6, True), (10**7, False)):
        size = theory.best_block_size(2, horizon, dividing=True)
        assert (theory.regret_bound(2, horizon, size).total > horizon) == vacuous
