"""What a move costs the other machines: less than any block that makes it loses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning import BlockProblem, brute_force
from lastswitch.planning.diagrams.build import block_model
from lastswitch.planning.diagrams.diagram import Diagram
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.search.merge import merged
from lastswitch.planning.search.opportunity import (
    cost_to_others,
    losses,
    opportunity_costs,
    reduced,
)
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.trails import IDLE, PULL
from planning.planning_cases import problems


def paths(m: Diagram, s: int, price: FloatArray, t: int = 0) -> dict[tuple[bool, ...], float]:
    """List what every choice of slots is worth to a machine at the prices: the reference."""
    if t == len(price):
        return {(): float(m.final[s - m.lo[t]])}
    found: dict[tuple[bool, ...], float] = {}
    moves = [(False, 0.0, int(m.idle[s]))] if m.idle[s] >= 0 else []
    moves += [(True, m.gain[a] - price[t], int(m.nxt[a])) for a in range(*m.arc[s : s + 2])]
    for pulled, pay, after in moves:
        for slots, worth in paths(m, after, price, t + 1).items():
            key = (pulled, *slots)
            found[key] = max(found.get(key, -np.inf), pay + worth)
    return found


def priced(problem: BlockProblem, steps: int) -> Prices | None:
    """Return the problem at some prices; None if it has too many ways to list."""
    machines = compact(block_model(problem))
    if machines is None or problem.length > 6:
        return None
    prices = Prices(machines)
    prices.descend(0.5 * prices.bound, steps)
    return prices


@settings(max_examples=60, deadline=None)
@given(problem=problems, steps=st.integers(0, 30))
def test_losses_are_those_of_the_best_paths_one_by_one(problem: BlockProblem, steps: int) -> None:
    """The kernel loses what the best of all listed paths with that move does."""
    prices = priced(problem, steps)
    if prices is None:
        return
    m, slack = prices.diagram, 1.0 + abs(prices.bound)
    found = losses(prices, list(range(len(m.root))), slack, 0.0)
    for machine, root in enumerate(m.root.tolist()):
        listed = paths(m, root, prices.price)
        for t, (move, pulled) in product(range(m.length), ((IDLE, False), (PULL, True))):
            best = max((w for slots, w in listed.items() if slots[t] == pulled), default=-np.inf)
            loss = min(prices.worth[root] - best, 4.0 * slack)
            if loss < slack:
                assert found[move, machine, t] == pytest.approx(loss, abs=1e-9 * slack)
            else:
                assert found[move, machine, t] >= slack * (1.0 - 1e-9)


@settings(max_examples=60, deadline=None)
@given(losing=st.lists(st.tuples(st.floats(0.0, 9.0), st.floats(0.0, 9.0)), min_size=2, max_size=5))
def test_charges_are_the_least_over_who_is_pulled(losing: list[tuple[float, float]]) -> None:
    """Exactly one machine is pulled: the others' loss, over all choices of which."""
    loss = np.array(losing).T[:, :, None]
    found, n = opportunity_costs(loss)[:, :, 0], len(losing)
    for i in range(n):
        total = [
            sum(losing[k][PULL if k == who else IDLE] for k in range(n) if k != i)
            for who in range(n)
        ]
        assert found[PULL, i] == pytest.approx(total[i])
        assert found[IDLE, i] == pytest.approx(min(total[:i] + total[i + 1 :]))


@settings(max_examples=60, deadline=None)
@given(problem=problems, steps=st.integers(0, 30), below=st.floats(1e-6, 0.3))
def test_charged_moves_leave_every_block_that_beats_the_floor(
    problem: BlockProblem, steps: int, below: float
) -> None:
    """The best block stays, alone and in a product; above it nothing but a proof is left."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices, best = Prices(machines), brute_force.solve(problem).bound
    prices.descend(best, steps)
    scale = max(1.0, abs(prices.bound), abs(best))
    floor, close = best - below * scale, 1e-9 * scale
    left = reduced(prices, floor, None, 0.0)
    assert left is not None
    assert len(left.idle) <= len(machines.idle)
    assert Prices(left, prices.price).bound >= best - close
    if len(machines.root) > 1:
        charge = cost_to_others(prices, 0, 1, floor, 0.0)
        both = merged(prices, 0, 1, 1, floor, (20_000, 20_000), charge=charge)
        assert both is not None
        assert Prices(both, prices.price).bound >= best - close
    assert reduced(prices, prices.bound + close, None, 0.0) is None
