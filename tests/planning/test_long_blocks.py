"""Blocks of thousands of rounds: exact where joint states are few, and never given up at once."""

from __future__ import annotations

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.planning import BlockProblem
from lastswitch.planning.diagrams.build import block_model, count_states
from lastswitch.planning.greedy import greedy_block, plain_bound
from lastswitch.planning.optima.long_blocks import LONG, walked


def some_arms(n_arms: int = 5, seed: int = 3) -> ls.Bandit:
    """Return arms that rise with rest and fall with plays, two of them alike."""
    rng = np.random.default_rng(seed)
    curves = [ls.Curve(np.sort(rng.random(5)), [0.3, 0.1]) for _ in range(n_arms - 1)]
    return ls.Bandit([*curves, curves[0]])


def test_a_block_of_5000_rounds_is_proven():
    """A greedy one is several per cent worse, under a bound nobody can reach."""
    bandit = some_arms()
    plan = ls.plan_block(bandit, 5000, time_limit=60)
    assert plan.optimal
    assert plan.value == pytest.approx(ls.optimal_total(bandit, 5000).value, rel=1e-9)
    problem = BlockProblem.from_bandit(bandit, 5000)
    assert plan.value > 1.01 * problem.value(greedy_block(problem))


@pytest.mark.parametrize("seed", range(4))
def test_masks_and_starts_are_kept(seed):
    """The certified solver finds the same, of as few arms and rounds as it can prove."""
    rng = np.random.default_rng(seed)
    bandit, start = some_arms(4, seed), rng.integers(1, 6, 4) * rng.choice([-1, 1], 4)
    allowed = [0, 2, 3] if seed % 2 else None
    problem = BlockProblem.from_bandit(bandit, LONG, start, allowed)
    found = walked(bandit, problem, start, None)
    assert found is not None
    reference = ls.plan_block(problem)  # a ready problem is not walked
    assert problem.value(found.block) == pytest.approx(reference.bound, rel=1e-9)
    assert reference.optimal
    plan = ls.plan_block(bandit, LONG, start=start, allowed=allowed)
    assert plan.value == pytest.approx(reference.value, rel=1e-9)


def test_other_blocks_are_left_to_the_certified_solver():
    """Of short ones, unknown starts, masks by round and changes of arm there is no walk."""
    bandit = some_arms(3)

    def walk(length=LONG, start="initial", **options):
        problem = BlockProblem.from_bandit(bandit, length, start, **options)
        return walked(bandit, problem, start, None)

    mask = np.ones((LONG, 3), np.bool_)
    mask[7, 0] = False
    assert walk() is not None
    assert walk(length=LONG - 1) is None
    assert walk(start="unknown") is None
    assert walk(allowed=mask) is None
    assert walk(distinct_start=True) is None


def test_states_are_counted_as_they_are_built():
    """A table that holds its last value has no more states for being written out."""
    problem = BlockProblem.from_bandit(some_arms(), 3000)
    assert count_states(problem) == len(block_model(problem).arms.idle)


def test_a_long_block_that_cannot_be_walked_uses_its_time():
    """An unknown start: a search, not a greedy block at once."""
    problem = BlockProblem.from_bandit(some_arms(), 5000, "unknown")
    plan = ls.plan_block(problem, time_limit=4)
    assert plan.value > 1.01 * problem.value(greedy_block(problem))
    assert plan.bound < 0.99 * plain_bound(problem)
