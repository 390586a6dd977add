"""Lemma 1: with two arms every deterministic policy ends in a cycle; with three it need not."""

from __future__ import annotations

import numpy as np
import pytest

import lastswitch as ls
from lastswitch._utils.random import stream
from lastswitch.model.instances import never_repeating, random_bandit


def follow(choose, n_arms: int, rounds: int) -> tuple[list[int], list[tuple[int, ...]]]:
    """Play the deterministic policy ``choose(state)``; return its arms and the states it saw."""
    state = np.ones(n_arms, dtype=int)
    arms, seen = [], []
    for _ in range(rounds):
        seen.append(tuple(state.tolist()))
        arms.append(choose(seen[-1]))
        state = ls.states.transition(state, arms[-1])
    return arms, seen


@pytest.mark.parametrize("seed", range(20))
def test_two_arms_end_in_a_cycle(seed):
    """Any map from states to arms: once a state comes back, so does everything after it."""
    table: dict[tuple[int, ...], int] = {}
    rng = stream(seed, "lemma-1")

    def choose(state):
        return table.setdefault(state, int(rng.integers(2)))

    arms, seen = follow(choose, n_arms=2, rounds=400)
    first = next(t for t, state in enumerate(seen) if state in seen[:t])
    period = first - seen.index(seen[first])
    assert seen.count((1, -1)) >= 2 or seen.count((-1, 1)) >= 2
    assert arms[first:] == arms[first - period : -period]


@pytest.mark.parametrize("seed", range(6))
def test_two_armed_optimum_is_reached_by_a_cycle(seed):
    """The optimal average of two arms is that of a cycle, repeated for ever."""
    bandit = random_bandit("satiating", 2, 5, seed)
    best = ls.optimal_average(bandit)
    assert best.optimal
    assert ls.cycle_reward(bandit, best.block) / len(best.block) == pytest.approx(best.value)


def test_three_arms_can_visit_no_state_twice():
    """Runs of growing length, arm after arm: optimal when all arms pay 1, and never periodic."""
    bandit, block = never_repeating(25)
    seen = ls.states.trajectory(bandit.start(), block)
    assert len({tuple(row) for row in seen.tolist()}) == len(block) + 1
    assert ls.block_reward(bandit, block) == len(block)


def test_states_of_the_growing_runs_are_as_printed():
    """In block m, after the t-th pull of each arm, the printed state vectors (arms start at 0)."""
    state = np.zeros(3, dtype=int)
    for m in range(1, 9):
        for arm in range(3):
            for t in range(1, m + 1):
                state = ls.states.transition(state, arm)
                printed = [(-t, m - 1 + t, t), (t, -t, m + t), (m + t, t, -t)][arm]
                if m > 1 or arm == 2:  # before an arm's first pull its state is only the clock
                    assert tuple(state.tolist()) == printed
