"""Definition 1, Equations 1 and 2, Figure 1: the model itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import lastswitch as ls
from strategies import bandits, blocks, states


@pytest.mark.parametrize(
    ("tau", "played", "after"),
    [(3, True, -1), (0, True, -1), (-4, True, -5), (3, False, 4), (0, False, 1), (-4, False, 1)],
)
def test_equation_2_case_by_case(tau, played, after):
    """The four cases of the transition function, and τ = 0, where two of them meet."""
    other_then_one = ls.states.transition([tau, 5], 0 if played else 1)
    assert other_then_one[0] == after


def test_equation_1_starts_every_arm_at_one():
    """τ(0) = 1 unless the bandit says otherwise."""
    assert ls.Bandit([ls.curves.constant(0.5)] * 3).start().tolist() == [1, 1, 1]


@given(bandits(min_arms=2, max_arms=3).flatmap(lambda b: blocks(b.n_arms).map(lambda x: (b, x))))
@settings(max_examples=30)
def test_state_is_the_time_since_the_last_switch(case):
    """τ > 0 counts the rounds an arm has not been played, τ < 0 those it has been, in a row."""
    bandit, block = case
    final = ls.states.state_after(np.ones(bandit.n_arms, dtype=int), block)
    for arm in set(block):
        since = block[::-1].index(arm)
        run = next((k for k, each in enumerate(block[::-1]) if each != arm), len(block))
        assert final[arm] == (since if since else -run)


@given(bandits(min_arms=2, max_arms=3, constant_streaks=True), states(3), blocks(2))
@settings(max_examples=30)
def test_delay_models_are_the_bandits_with_constant_streaks(bandit, state, block):
    """With rewards constant on the negatives, only the delay since the last play matters."""
    start = state[: bandit.n_arms]
    delays = np.where(start > 0, start + 1, 1)  # the bridge: delay 1 is any negative τ
    for arm, pay in zip(block, ls.blocks.block_pays(bandit, block, start), strict=True):
        curve = bandit.curves[arm]
        delay = int(delays[arm])
        assert pay == (curve.streak[0] if delay == 1 else curve(delay - 1))
        delays += 1
        delays[arm] = 1


def test_figure_1_curves_are_bandits_of_each_model():
    """A falling streak needs the last switch; a delay model has one value for every streak."""
    switch = ls.Curve([0.4, 0.9, 0.5], [0.6, 0.3, 0.1])
    delay = ls.Curve.from_delays([0.3, 0.4, 0.9, 0.5])
    assert [switch(-1), switch(-2), switch(-3)] == [0.6, 0.3, 0.1]
    assert len({delay(-1), delay(-2), delay(-3)}) == 1
    assert [delay(1), delay(2), delay(3)] == [0.4, 0.9, 0.5]
