"""Diagram taken together: merges keep what beats the floor, and their size is foreseen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch._utils.arrays import FloatArray
from lastswitch.model.families import random_bandit
from lastswitch.planning import BlockProblem, brute_force
from lastswitch.planning.diagrams.build import block_model
from lastswitch.planning.diagrams.diagram import Diagram
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.search import merge
from lastswitch.planning.search.merge import BINS, TooLarge, estimated, merged
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.trails import new_trail, regrets
from planning.planning_cases import problems

#: What a way through a machine is worth, and its moves: idling in a state, or pulling along an arc.
Way = tuple[float, tuple[tuple[str, int], ...]]


@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_a_product_tightens_the_bound_and_keeps_it_true(problem: BlockProblem) -> None:
    """Two machines taken together: the bound at the same prices falls, never below the optimum."""
    machines = compact(block_model(problem))
    assert machines is not None
    if len(machines.root) < 2:
        return
    prices = Prices(machines)
    both = merged(prices, 0, 1, 1, floor=-np.inf, room=(20_000, 20_000))
    best, scale = brute_force.solve(problem).bound, 1e-9 * max(1.0, abs(prices.bound))
    assert both is not None
    assert len(both.root) == len(machines.root) - 1
    assert best - scale <= Prices(both, prices.price).bound <= prices.bound + scale


def ways(machines: Diagram, s: int, price: FloatArray, t: int = 0) -> list[Way]:
    """List every way from a state to the end: what it is worth, and the moves it takes."""
    if t == len(price):
        return [(float(machines.final[s - machines.lo[t]]), ())]
    moves = [(0.0, ("idle", s), int(machines.idle[s]))] if machines.idle[s] >= 0 else []
    for a in range(machines.arc[s], machines.arc[s + 1]):
        moves.append((machines.gain[a] - price[t], ("pull", a), int(machines.nxt[a])))
    return [
        (pay + worth, (move, *taken))
        for pay, move, after in moves
        for worth, taken in ways(machines, after, price, t + 1)
    ]


@settings(max_examples=40, deadline=None)
@given(problem=problems, share=st.floats(0.0, 1.0))
def test_a_product_has_the_ways_that_beat_the_floor_and_no_other_moves(
    problem: BlockProblem, share: float
) -> None:
    """Every pair of ways without a slot in common that is worth enough, listed one by one."""
    machines = compact(block_model(problem))
    assert machines is not None
    if len(machines.root) < 2 or problem.length > 6:
        return
    prices = Prices(machines)
    alone = [ways(machines, int(root), prices.price) for root in machines.root[:2]]
    together = [
        one + other
        for (one, these), (other, those) in product(*alone)
        if all("idle" in (a[0], b[0]) for a, b in zip(these, those, strict=True))
    ]
    others = prices.bound - prices.worth[machines.root[:2]].sum()
    if not together:
        return
    least = min(together) + share * (max(together) - min(together))
    least += 1e-7 * max(1.0, abs(least))  # no way is worth just that
    both = merged(prices, 0, 1, 1, floor=least + others, room=(20_000, 20_000))
    kept = [] if both is None else ways(both, int(both.root[0]), prices.price)
    found = sorted(worth for worth, _ in kept if worth > least)
    assert found == pytest.approx(sorted(worth for worth in together if worth > least))
    needed = {move for worth, moves in kept if worth > least for move in moves}
    assert {move for _, moves in kept for move in moves} == needed


def test_a_product_beyond_its_limit_is_refused() -> None:
    """Too large, instead of more states than allowed."""
    problem = BlockProblem.from_bandit(random_bandit("uniform", 3, 12, 0), 12, "unknown")
    machines = compact(block_model(problem))
    assert machines is not None
    for few_or_beyond_memory in (50, 1 << 50):
        with pytest.raises(TooLarge):
            merged(Prices(machines), 0, 1, 1, floor=-np.inf, room=(few_or_beyond_memory, 50))
    assert merged(Prices(machines), 0, 1, 1, floor=-np.inf, room=(5_000, 5_000)) is not None


@pytest.mark.parametrize("slots", [1, 2, 12])
def test_a_product_takes_the_room_it_needs_and_no_more(slots: int) -> None:
    """As many pairs as are reachable have to be listed; only those that are worth it stay."""
    problem = BlockProblem.from_bandit(random_bandit("step", 2, slots, 1), slots, "unknown")
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    prices.descend(0.0, 50)
    floor = brute_force.solve(problem).bound - 1e-3

    def least(enough: Callable[[int], tuple[int, int]]) -> int:
        for room in range(1, 5_000):
            with contextlib.suppress(TooLarge):
                merged(prices, 0, 1, 1, floor, enough(room))
                return room
        raise AssertionError("no room was enough")

    listed, kept = least(lambda room: (room, 5_000)), least(lambda room: (5_000, room))
    assert kept < (listed if slots < 12 else listed / 2)
    same(
        merged(prices, 0, 1, 1, floor, (listed, kept)),
        merged(prices, 0, 1, 1, floor, (50_000, 50_000)),
    )


def test_a_product_is_the_same_however_often_it_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pair at a time, or all at once."""
    problem = BlockProblem.from_bandit(random_bandit("spike", 3, 9, 2), 9, "unknown")
    machines = compact(block_model(problem))
    assert machines is not None
    prices, pauses = Prices(machines), list[int]()
    at_once = merged(prices, 0, 1, 1, -np.inf, (20_000, 20_000))
    monkeypatch.setattr(merge, "SLICE", 1)
    same(at_once, merged(prices, 0, 1, 1, -np.inf, (20_000, 20_000), lambda: pauses.append(1)))
    assert len(pauses) > 100


def same(one: Diagram | None, other: Diagram | None) -> None:
    """Hold that both are machines, equal to the last bit."""
    assert one is not None
    assert other is not None
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


def test_a_product_that_no_better_block_visits_is_nothing() -> None:
    """None where the floor is above the best block: that is a proof, and not a failure."""
    problem = BlockProblem([[0.9], [0.8]], [[0.1], [0.2]], [[0.5] * 6] * 2)
    machines = compact(block_model(problem))
    assert machines is not None
    prices, best = Prices(machines), brute_force.solve(problem).bound
    prices.descend(best, 50)
    assert merged(prices, 0, 1, 1, floor=best - 1e-6, room=(5_000, 5_000)) is not None
    assert merged(prices, 0, 1, 1, floor=prices.bound + 1e-6, room=(5_000, 5_000)) is None


def product_size(prices: Prices, one: int, other: int, slack: float) -> int:
    """Count the pairs of states whose regrets sum to less than ``slack``: the reference."""
    m = prices.diagram
    regrets = []
    for machine in (one, other):
        best: dict[int, float] = {int(m.root[machine]): 0.0}
        by_slot = []
        for t in range(m.length + 1):
            total = prices.worth[m.root[machine]]
            by_slot.append([total - way - prices.worth[s] for s, way in best.items()])
            after: dict[int, float] = {}
            for s, way in best.items():
                arcs = range(m.arc[s], m.arc[s + 1])
                moves = [(int(m.nxt[a]), m.gain[a] - prices.price[t]) for a in arcs]
                if m.idle[s] >= 0:
                    moves.append((int(m.idle[s]), 0.0))
                for goal, gain in moves:
                    after[goal] = max(after.get(goal, -np.inf), way + gain)
            best = after
        regrets.append(by_slot)
    return sum(
        u + v < slack for left, right in zip(*regrets, strict=True) for u in left for v in right
    )


@settings(max_examples=40, deadline=None)
@given(problem=problems, share=st.floats(0.05, 1.5))
def test_the_size_of_a_product_is_estimated_well(problem: BlockProblem, share: float) -> None:
    """Within what counting in steps of the slack can blur."""
    machines = compact(block_model(problem))
    assert machines is not None
    if len(machines.root) < 2:
        return
    prices = Prices(machines)
    slack = share * max(1.0, abs(prices.bound))
    trail = new_trail(machines)
    one, other = (regrets(prices, machine, slack, trail, BINS) for machine in (0, 1))
    size = estimated(one, other)
    low, high = (product_size(prices, 0, 1, slack * (1 + blur / BINS)) for blur in (-2.5, 2.5))
    assert low <= size <= high


@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_regrets_are_counted_by_slot_whichever_way_states_are_numbered(
    problem: BlockProblem,
) -> None:
    """From the first slot on as the states of automata are, from the last as minimal ones are."""
    model = block_model(problem)
    for machines in (model.arms, compact(model)):
        assert machines is not None
        prices = Prices(machines)
        counts = regrets(prices, 0, np.inf, new_trail(machines), BINS).sum(axis=1)
        sizes = np.sort(machines.hi) - np.sort(machines.lo)
        assert (counts <= sizes).all()
        # The best path has a state in every slot.
        assert (counts >= 1).all()
