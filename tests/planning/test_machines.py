"""Minimal model, prices, deletions and beams keep every block that matters."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.model.families import random_bandit
from lastswitch.planning import BlockProblem, brute_force
from lastswitch.planning.certified import solve
from lastswitch.planning.diagrams.build import block_model
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.diagrams.minimise import compact, minimal
from lastswitch.planning.search.beam import Beam
from lastswitch.planning.search.bundle import Bundle
from lastswitch.planning.search.neighbourhood import Neighbourhoods, bar
from lastswitch.planning.search.opportunity import reduced
from lastswitch.planning.search.params import SearchParams
from lastswitch.planning.search.perturbation import Perturbation
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.selection import COMPARED, kth_largest
from planning.planning_cases import problems


def futures(model: Model) -> int:
    """Count the distinct futures of the states some arm can reach: the reference, by recursion."""
    known: dict[int, object] = {}
    arms = model.arms
    begin_last = int(arms.lo[-1])

    def future(state: int) -> object:
        if state < 0:
            return None
        if state not in known:
            if state >= begin_last:
                known[state] = ("end", float(arms.final[state - begin_last]))
            else:
                idle, pull = future(int(arms.idle[state])), future(int(arms.nxt[state]))
                dead = idle is None and pull is None
                pay = float(arms.gain[state]) if pull is not None else 0.0
                known[state] = None if dead else (idle, pull, pay)
        return known[state]

    for root in arms.root:
        future(int(root))
    return len({(_depth(each), each) for each in known.values() if each is not None})


def _depth(future: object) -> int:
    """Return how many slots a future spans, so that equal futures of two slots stay two."""
    if isinstance(future, tuple) and future[0] != "end":
        return 1 + _depth(future[0] if future[0] is not None else future[1])
    return 0


@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_minimal_machines_have_one_state_per_future(problem: BlockProblem) -> None:
    """The kernel merges exactly what the recursive definition calls equal."""
    model = block_model(problem)
    machines = compact(model)
    assert machines is not None
    assert len(machines.idle) == futures(model)


@settings(max_examples=40, deadline=None)
@given(problem=problems, seed=st.integers(0, 9))
def test_minimal_machines_are_worth_what_the_plain_ones_are(
    problem: BlockProblem, seed: int
) -> None:
    """At any prices both forms give the same bound, where nothing is forbidden."""
    free = BlockProblem(problem.rest, problem.streak, problem.first, terminal=problem.terminal)
    model = block_model(free)
    machines = compact(model)
    assert machines is not None
    price = np.random.default_rng(seed).random(problem.length)
    plain, minimal = Prices(model.arms, price), Prices(machines, price)
    assert plain.bound == pytest.approx(minimal.bound, rel=1e-12, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(problem=problems, steps=st.integers(0, 40))
def test_any_prices_bound_every_block(problem: BlockProblem, steps: int) -> None:
    """Weak duality: the bound of any prices is at least the best value."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    best = brute_force.solve(problem).bound
    before = prices.bound
    prices.descend(best, steps)
    assert best - 1e-7 <= prices.bound <= before


@given(problem=problems)
def test_the_facts_noted_on_the_way_are_those_of_a_survey(problem: BlockProblem) -> None:
    """Spelling out tables notes down what looking through the states finds."""
    model = block_model(problem)
    assert np.array_equal(model.facts, model.arms.survey())
    for part in (model.arms.gain, model.arms.final):
        assert not np.signbit(part[part == 0.0]).any()


def without_hopeless_arcs(prices: Prices, floor: float) -> Diagram:
    """Return the machines with hopeless arcs set to -1: the reference, state by state."""
    m, price, worth = prices.diagram, prices.price.tolist(), prices.worth.tolist()
    left, slack = m._replace(idle=m.idle.copy(), nxt=m.nxt.copy()), floor - prices.bound
    reached = {root: -worth[root] for root in m.root.tolist()}
    for t in range(m.length):
        for s in range(m.lo[t], m.hi[t]):
            ways = [(left.idle, s, 0.0)]
            ways += [(left.nxt, a, float(m.gain[a]) - price[t]) for a in range(*m.arc[s : s + 2])]
            for moves, move, earned in ways:
                after = int(moves[move])
                way = reached.get(s, -np.inf) + earned
                if after < 0 or way + worth[after] <= slack:
                    moves[move] = -1
                else:
                    reached[after] = max(way, reached.get(after, -np.inf))
    return left


@settings(max_examples=60, deadline=None)
@given(problem=problems, share=st.floats(0.5, 1.0), steps=st.integers(0, 30))
def test_deleting_arcs_is_what_it_is_state_by_state(
    problem: BlockProblem, share: float, steps: int
) -> None:
    """One pass of the kernel deletes and merges as two plain ones do, and changes nothing else."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    prices.descend(0.5 * prices.bound, steps)
    floor = share * prices.bound
    before = [part.copy() for part in machines]
    expected, left = minimal(without_hopeless_arcs(prices, floor)), reduced(prices, floor)
    assert all(map(np.array_equal, before, machines))
    assert (left is None) == (expected is None)
    if left is not None and expected is not None:
        assert all(map(np.array_equal, left, expected))


@settings(max_examples=40, deadline=None)
@given(problem=problems, width=st.integers(1, 9))
def test_the_best_of_a_beam_is_worth_what_its_block_is(problem: BlockProblem, width: int) -> None:
    """The kernel sums up, and finds the way back to, a block of that value."""
    model = block_model(problem)
    machines = compact(model)
    assert machines is not None
    prices = Prices(machines)
    beam = Beam(machines, np.arange(len(machines.root)), width, prices.worth, prices.price)
    assert beam.run(-np.inf, 1 << 40)
    value, node = beam.best()
    if node >= 0:
        arms, _ = beam.way_to(node)
        assert value == pytest.approx(model.value(arms), rel=1e-12, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_deleting_arcs_keeps_what_beats_the_floor(problem: BlockProblem) -> None:
    """After deleting what cannot beat a floor below the optimum, the bound still holds."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    best = brute_force.solve(problem).bound
    prices.descend(best, 20)
    left = reduced(prices, best - 1e-6 * max(1.0, abs(best)))
    assert left is not None
    assert Prices(left, prices.price).bound >= best - 1e-7 * max(1.0, abs(best))


@settings(max_examples=40, deadline=None)
@given(problem=problems, steps=st.integers(1, 40), most=st.integers(2, 9))
def test_a_bundle_bounds_every_block_and_only_falls(
    problem: BlockProblem, steps: int, most: int
) -> None:
    """However many cuts there is room for; and what states are worth is what the prices say."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Bundle(machines, params=SearchParams(cuts=(most, most)))
    best, before = brute_force.solve(problem).bound, prices.bound
    prices.descend(best - 1.0, steps)
    close = 1e-7 * max(1.0, abs(before))
    assert best - close <= prices.bound <= before
    again = Prices(machines, prices.price)
    assert again.bound == prices.bound
    assert np.array_equal(again.worth, prices.worth)


@pytest.mark.parametrize("family", ["monotone", "spike", "step"])
def test_a_bundle_ends_closer_to_the_linear_program_than_a_subgradient(family: str) -> None:
    """A hundred steps of each from the same prices: the bundle is much closer to the lowest."""
    problem = BlockProblem.from_bandit(random_bandit(family, 8, 30, 0), 30, "unknown")
    machines = compact(block_model(problem))
    assert machines is not None
    value = problem.value(solve(problem, gap=0.05).block)
    lowest = Bundle(machines, params=SearchParams(bundle_tolerance=1e-6))
    lowest.descend(value, 1_000)
    bundle, subgradient = Bundle(machines), Prices(machines)
    assert bundle.bound == subgradient.bound
    bundle.descend(value, 100)
    subgradient.descend(value, 100)
    assert lowest.bound <= bundle.bound
    assert bundle.bound - lowest.bound < 0.5 * (subgradient.bound - lowest.bound)


@settings(max_examples=60, deadline=None)
@given(problem=problems, seed=st.integers(0, 99))
def test_a_neighbourhood_never_makes_a_block_worse(problem: BlockProblem, seed: int) -> None:
    """What it returns is feasible and better, and with all slots free it is the best."""
    model, rng = block_model(problem), np.random.default_rng(seed)
    block = brute_force.solve(problem).block if seed % 3 == 0 else None
    if block is None:
        block = [int(rng.choice(np.flatnonzero(row))) for row in problem.allowed]
    value = model.value(block)
    if value == -np.inf:
        return
    around = Neighbourhoods(model, SearchParams(free_rounds=3))
    price, usage = rng.random(problem.length), rng.random((problem.n_arms, problem.length))
    for _ in range(4):
        better, work = around.improved(np.asarray(block), price, usage, 1e-9)
        assert work > 0
        if better is not None:
            assert seed % 3, "nothing is better than the best"
            assert model.value(better) > value
            assert problem.value(better) > problem.value(block)


@settings(max_examples=60, deadline=None)
@given(problem=problems, seed=st.integers(0, 99))
def test_stepping_aside_changes_a_block_and_loses_no_more_than_it_may(
    problem: BlockProblem, seed: int
) -> None:
    """Another feasible block; a better one, where nothing may be lost."""
    model, rng = block_model(problem), np.random.default_rng(seed)
    block = np.array([int(rng.choice(np.flatnonzero(row))) for row in problem.allowed])
    value, loss = model.value(block), float(seed % 2)
    if value == -np.inf:
        return
    around = Neighbourhoods(model, SearchParams(perturbed_loss=loss))
    price, usage = rng.random(problem.length), rng.random((problem.n_arms, problem.length))
    for _ in range(4):
        other, work = around.perturbed(block, price, usage, 1e-9)
        assert work > 0
        if other is not None:
            assert (other != block).any()
            assert model.value(other) > (-np.inf if loss else value - 1e-6)


@settings(max_examples=60, deadline=None)
@given(problem=problems, arm=st.integers(0, 9), slot=st.integers(0, 9))
def test_a_barred_arm_is_not_pulled_there_and_anywhere_else(
    problem: BlockProblem, arm: int, slot: int
) -> None:
    """Blocks that do not pull it there keep their worth; the others are no longer feasible."""
    arm, slot = arm % problem.n_arms, slot % problem.length
    model, barred = block_model(problem), block_model(problem)
    bar(barred.arms, arm, slot)
    for block in islice(product(range(problem.n_arms), repeat=problem.length), 300):
        worth = -np.inf if block[slot] == arm else model.value(block)
        assert barred.value(block) == worth


def test_a_walk_finds_what_no_small_step_does() -> None:
    """Planning two slots anew cannot rotate three arms; stepping aside first can."""
    first = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]) + np.eye(3)
    problem = BlockProblem([[0.0] * 2] * 3, [[-9.0] * 3] * 3, first)
    model, block = block_model(problem), np.array([0, 1, 2])
    params = SearchParams(free_rounds=2, free_shares=(0.7,), free_more=1.0, perturbed_loss=9.0)
    walk = Perturbation(model, params)
    found = None
    for _ in range(300):
        found = walk.better(block, 3.0, np.zeros(3), np.zeros((3, 3)), 1e-9)
        if found is not None:
            break
    assert found is not None
    assert found.tolist() == [2, 0, 1]
    assert walk.work > 0


def test_a_walk_in_vain_tires_and_luck_wakes_it() -> None:
    """It is stalled after so much work, or so many times what its last find took."""
    first = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]) + np.eye(3)
    model = block_model(BlockProblem([[0.0] * 2] * 3, [[-9.0] * 3] * 3, first))
    best, worse = np.array([2, 0, 1]), np.array([2, 1, 0])  # worth 6 and 3
    usage, many = np.zeros((3, 3)), 1 << 40
    params = SearchParams(perturbation_patience=1, perturbation_again=many)

    walk = Perturbation(model, params)
    assert not walk.stalled
    for _ in range(5):
        assert walk.better(best, 6.0, np.zeros(3), usage, 1e-9) is None
    assert walk.stalled

    walk = Perturbation(model, params)
    found = [walk.better(worse, 3.0, np.zeros(3), usage, 1e-9) for _ in range(20)]
    assert any(block is not None for block in found)
    assert not walk.stalled


def test_neighbourhoods_that_are_in_vain_grow() -> None:
    """Two arms that could swap all their slots are planned anew once enough of these are free."""
    first = np.array([[1.0, 0.0] * 4, [0.0, 1.0] * 4])
    problem = BlockProblem([[0.0] * 7] * 2, [[0.0] * 8] * 2, first)
    model = block_model(problem)
    block, usage = np.array([1, 0] * 4), np.zeros((2, 8))
    params = SearchParams(free_rounds=2, free_shares=(1.0,), free_more=2.0)
    around = Neighbourhoods(model, params)
    patience = around.patience
    for _ in range(2):
        assert around.improved(block, np.zeros(8), usage, 1e-9)[0] is None
        around.widen()
    assert around.patience == 4 * patience
    better, _ = around.improved(block, np.zeros(8), usage, 1e-9)
    assert better is not None
    assert model.value(better) > model.value(block)


@pytest.mark.parametrize("budget", [1, 200, 1 << 40])
def test_a_slice_of_the_beam_ends_after_its_work_and_changes_nothing(budget: int) -> None:
    """Short slices are many: comparing nodes counts too; the answer is that of one slice."""
    problem = BlockProblem.from_bandit(random_bandit("step", 30, 6, 0), 6, "unknown")
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    slices, beam = 1, Beam(machines, np.arange(30), 20, prices.worth, prices.price)
    compared = 0.0
    while not beam.run(-np.inf, budget):
        slices += 1
        compared = max(compared, float(beam.ledger[COMPARED]))
    whole = Beam(machines, np.arange(30), 20, prices.worth, prices.price)
    whole.run(-np.inf, 1 << 40)
    assert beam.best() == whole.best()
    assert beam.dropped == whole.dropped
    if budget == 1:
        assert slices > 5 * 20  # a node a slice
        assert compared >= 30
    else:
        assert slices == 1 or budget == 200


@settings(max_examples=40, deadline=None)
@given(problem=problems, width=st.integers(1, 9), seed=st.integers(0, 9))
def test_a_beam_used_again_does_what_a_new_one_does(
    problem: BlockProblem, width: int, seed: int
) -> None:
    """At other prices the same block, the same bound dropped: nothing is left of the first pass."""
    machines = compact(block_model(problem))
    assert machines is not None
    prices = Prices(machines)
    beam = Beam(machines, np.arange(len(machines.root)), width, prices.worth, prices.price)
    beam.run(-np.inf, 1 << 40)
    prices.price[:] = np.random.default_rng(seed).random(problem.length)
    prices.restart()
    beam.start()
    other = Beam(machines, np.arange(len(machines.root)), width, prices.worth, prices.price)
    for each in (beam, other):
        each.run(-np.inf, 1 << 40)
    assert beam.best() == other.best()
    assert beam.dropped == other.dropped


def test_a_flat_curve_needs_few_states() -> None:
    """A step at 2 has a handful of memories, whatever the length of the block."""
    step = np.array([[0.0] + [0.9] * 60])
    problem = BlockProblem(step, [[0.0]], np.zeros((1, 60)))
    machines = compact(block_model(problem))
    assert machines is not None
    assert (machines.hi - machines.lo).max() <= 4


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    data=st.data(),
)
def test_quickselect_finds_the_kth_largest(values: list[float], data: st.DataObject) -> None:
    """The same as sorting."""
    k = data.draw(st.integers(1, len(values)))
    found = kth_largest.py_func(np.array(values), len(values), k)  # only kernels call it compiled
    assert found == pytest.approx(sorted(values, reverse=True)[k - 1])
