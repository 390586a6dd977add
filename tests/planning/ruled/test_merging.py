"""Merges of arms and shared automata keep what beats the floor, and end in the best schedule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.planning.search.merge import TooLarge
from lastswitch.planning.search.opportunity import losses, opportunity_costs, plays
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.relaxation import Relaxation
from planning.ruled.ruled_cases import ruled_cycles, ruled_problems

problems = st.one_of(ruled_problems, ruled_cycles)
ROOM, BLUR = (2_000_000, 2_000_000), 1e-12


def relaxation_of(problem: RuledProblem) -> Relaxation | None:
    """Return the priced machines of a problem; None if it has no schedule."""
    model = ruled_model(problem)
    diagram = compact(model)
    if diagram is None:
        return None
    prices = Prices(diagram, sharing=model.shared.sharing(model.length))
    return Relaxation(prices, model.shared.machines(), np.arange(model.n_arms))


@settings(max_examples=200, deadline=None)
@given(problem=problems, seed=st.integers(0, 2**32 - 1))
def test_merging_all_in_any_order_ends_in_the_best_schedule(problem, seed):
    """Arm with arm or automaton: bounds, deletions and beams hold on the way."""
    best, value = brute_force.solve(problem)
    relaxation, rng = relaxation_of(problem), np.random.default_rng(seed)
    assume(best is not None)
    model = ruled_model(problem)
    while True:
        relaxation.prices.descend(value - 0.01, int(rng.integers(20)))
        assert relaxation.prices.bound >= value - 1e-9
        floor = value - rng.choice([1e-6, 0.1, 10.0])
        if rng.random() < 0.5:
            relaxation.exchange(relaxation.reduced(floor, None, rng.choice([None, BLUR])))
            assert relaxation.prices.bound >= value - 1e-9
        beam = relaxation.beam(int(rng.choice([1, 3, 1000])), BLUR)
        assert beam.run(-np.inf, 1 << 60)
        worth, node = beam.best()
        assert max(worth, beam.dropped) >= value - 1e-9
        if node >= 0:
            assert model.value(relaxation.schedule(beam, node)) == pytest.approx(worth, abs=1e-9)
        if len(relaxation.machines) == 1:
            break
        one = int(rng.integers(relaxation.prices.sharing.n_arms))
        other = int(rng.choice(np.delete(np.arange(len(relaxation.machines)), one)))
        blur = rng.choice([None, BLUR])
        try:
            assert relaxation.merged(one, other, floor, ROOM, lambda: None, blur) is not None
        except TooLarge:  # of labels, where automata hear much at once
            return
    relaxation.exchange(relaxation.finished(lambda: None))
    assert relaxation.prices.bound == pytest.approx(value, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(problem=problems, steps=st.integers(0, 30))
def test_a_merge_lowers_the_bound_at_the_same_prices(problem, steps):
    """What machines cannot do together is gone; above the bound nothing is left."""
    relaxation = relaxation_of(problem)
    assume(relaxation is not None and len(relaxation.machines) > 1)
    relaxation.prices.descend(0.5 * relaxation.prices.bound, steps)
    before = relaxation.prices.bound
    assume(np.isfinite(before))
    above = before + 1e-6 * max(1.0, abs(before))
    assert relaxation.merged(0, 1, above, ROOM, lambda: None, None) is None
    if relaxation.merged(0, 1, -np.inf, ROOM, lambda: None, None) is not None:
        assert relaxation.prices.bound <= before + 1e-9 * max(1.0, abs(before))


@settings(max_examples=60, deadline=None)
@given(
    losing=st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=2, max_size=5),
    low=st.integers(0, 2),
    more=st.integers(0, 2),
    joint=st.integers(1, 2),
)
def test_opportunity_costs_are_the_least_over_who_else_is_pulled(losing, low, more, joint):
    """Over all sets of others that leave between so many and so many machines pulled."""
    loss, n, high = np.array(losing).T[:, :, None], len(losing), max(low + more, 1)
    found = opportunity_costs(loss, low, high, joint)[:, :, 0]

    def least(i: int, at_least: int, at_most: int) -> float:
        totals = [
            sum(losing[k][pulled >> k & 1] for k in range(n) if k != i)
            for pulled in range(1 << n)
            if not pulled >> i & 1 and at_least <= pulled.bit_count() <= at_most
        ]
        return min(totals, default=np.inf)

    for i in range(n):
        assert found[0, i] == pytest.approx(least(i, low, high))
        assert found[1, i] == pytest.approx(least(i, max(low - joint, 0), high - 1))


@settings(max_examples=60, deadline=None)
@given(problem=ruled_problems, steps=st.integers(0, 30))
def test_the_best_schedule_loses_what_its_moves_cost_at_least(problem, steps):
    """By every move of every arm: its own loss and its opportunity cost are within the slack."""
    best, value = brute_force.solve(problem)
    relaxation = relaxation_of(problem)
    assume(best is not None)
    prices = relaxation.prices
    prices.descend(value, steps)
    slack, arms = prices.bound - value + 1e-9, list(range(problem.n_arms))
    loss = losses(prices, arms, slack, 0.0)
    total = loss + opportunity_costs(loss, *plays(prices))
    for t, played in enumerate(best):
        for arm in arms:
            assert total[int(arm in played), arm, t] <= slack + 1e-9
