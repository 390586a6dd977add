"""Propositions 4 and 5: double play, calibration sequences and the calibrated objective."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

import lastswitch as ls
from lastswitch.paper import theory
from paper_cases import (
    CONSTANT_STREAKS,
    SEEDS,
    WEARING_STREAKS,
    average,
    drawn,
    every_block,
    optimum,
)

ARMS = 3
SIZES = (4, 6)
CASES = [(family, False) for family in CONSTANT_STREAKS]
CASES += [(family, True) for family in (*WEARING_STREAKS, "mixed")]


def horizon_for(size: int) -> int:
    """Return a horizon that both d and d + K divide."""
    return math.lcm(size, size + ARMS) * 4


@pytest.mark.parametrize(("family", "streaks"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_double_play(family, streaks, size):
    """Equation 9: repeating the best cycle B*_double stays above its floor."""
    horizon = horizon_for(size)
    for seed in SEEDS:
        bandit = drawn(family, ARMS, 5, seed)
        block = ls.plan_cycle(bandit, size).block
        floor = theory.double_play_floor(
            optimum(bandit, horizon)[0], bandit, horizon, size, streaks=streaks
        )
        assert average(bandit, block, horizon) >= floor - 1e-9


@pytest.mark.parametrize(("family", "streaks"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_calibration_sequence(family, streaks, size):
    """Equation 10: [B_σ, B*_σ] stays above its floor, whatever the permutation σ."""
    horizon = horizon_for(size)
    for seed in SEEDS:
        bandit = drawn(family, ARMS, 5, seed)
        floor = theory.calibration_sequence_floor(
            optimum(bandit, horizon)[0], bandit, horizon, size, streaks=streaks
        )
        for order in list(permutations(range(ARMS)))[seed % 2 :: 3]:
            state = ls.states.state_after(bandit.start(), order)
            block = ls.plan_block(bandit, size, start=state).block
            assert average(bandit, [*order, *block], horizon) >= floor - 1e-9


@pytest.mark.parametrize(("family", "streaks"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_calibrated_block(family, streaks, size):
    """Equation 11: repeating the best block for r̃ stays above its floor."""
    horizon = horizon_for(size)
    for seed in SEEDS:
        bandit = drawn(family, ARMS, 5, seed)
        plan = ls.plan_block(bandit, size, start="unknown", distinct_start=streaks)
        earned = average(bandit, plan.block, horizon)
        floor = theory.calibrated_block_floor(
            optimum(bandit, horizon)[0], bandit, horizon, size, streaks=streaks
        )
        assert earned >= plan.value / size - 1e-9  # first pulls pay something, never less
        assert earned >= floor - 1e-9


def test_how_tight_the_three_floors_are():
    """Measured slack of each floor: with six rounds and three arms the truth is far above."""
    size, horizon = 6, horizon_for(6)
    slack: dict[str, list[float]] = {"double": [], "sequence": [], "calibrated": []}
    for family in CONSTANT_STREAKS:
        for seed in SEEDS:
            bandit = drawn(family, ARMS, 5, seed)
            best = optimum(bandit, horizon)[0]
            order = [0, 1, 2]
            after = ls.plan_block(
                bandit, size, start=ls.states.state_after(bandit.start(), order)
            ).block
            played = {
                "double": (ls.plan_cycle(bandit, size).block, theory.double_play_floor),
                "sequence": ([*order, *after], theory.calibration_sequence_floor),
                "calibrated": (
                    ls.plan_block(bandit, size, start="unknown").block,
                    theory.calibrated_block_floor,
                ),
            }
            for name, (block, floor) in played.items():
                slack[name].append(
                    average(bandit, block, horizon) - floor(best, bandit, horizon, size)
                )
    assert all(min(values) > 0.2 for values in slack.values())
    means = {name: sum(values) / len(values) for name, values in slack.items()}
    assert means["double"] > means["calibrated"]  # the best cycle earns more than its floor says


def test_the_general_double_play_needs_the_endless_cycle():
    """Read literally, with τ_B reached after one play, Proposition 5's first claim is false.

    An arm that wears out only after 2d plays in a row makes the block of that arm alone look
    perfect after one play, and worthless when it is repeated.
    """
    size, horizon = 8, 800
    lasting = ls.Curve([0.9], [1.0] * (2 * size) + [0.0])
    bandit = ls.Bandit([lasting, lasting])

    def after_one_play(block):
        return ls.block_reward(bandit, block, ls.states.state_after([1, 1], block))

    literal = max(every_block(2, size), key=after_one_play)
    assert len(set(literal)) == 1
    best = optimum(bandit, horizon)[0]
    floor = theory.double_play_floor(best, bandit, horizon, size, streaks=True)
    assert average(bandit, literal, horizon) < 0.03 < floor
    endless = ls.plan_cycle(bandit, size).block
    assert len(set(endless)) == 2
    assert average(bandit, endless, horizon) >= floor
