"""The certified solver gives the best block, and its bound is a promise."""

from __future__ import annotations

import _thread
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import ProblemError
from lastswitch.model.families import random_bandit
from lastswitch.planning import BlockProblem, brute_force, clock
from lastswitch.planning.certified import solve, solve_model
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.build import block_model
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.search import merge, search
from lastswitch.planning.search.merge import merged
from lastswitch.planning.search.params import SearchParams
from lastswitch.planning.search.search import Search
from planning.planning_cases import close, problems, random_problem


def hard_problem(n_arms: int = 12, length: int = 40) -> BlockProblem:
    """Return a problem that is not proven at once."""
    bandit = random_bandit("monotone", n_arms, length, 0)
    return BlockProblem.from_bandit(bandit, length, "unknown")


#: A search so narrow that small problems take several passes, with pairs and nothing else.
PAIRS = SearchParams(
    seed_width=1,
    narrow=1,
    widen=2,
    steps=(2, 2),
    pair_from=2,
    pair_size=1e3,
    pair_growth=1e3,
    hard_from=1 << 60,
)
#: One that goes on at once with everything there is, in as small doses as possible.
NARROW = replace(
    PAIRS,
    pair_from=1 << 60,
    hard_from=0,
    grow_from=(0, 0),
    merge_size=1e6,
    merge_most=100_000,
    merge_beam=5,
    bundle_steps=3,
    merge_steps=3,
    target_gap=0.0,
    perturbation_share=(0.0, 0.0),
)
NEVER = (1 << 60, 1 << 60)
#: Each part on its own, switched off, or so short of room that it fails half-way.
SEARCHES = {
    "pairs only": PAIRS,
    "everything": NARROW,
    "pairs first": replace(NARROW, pair_from=2, hard_from=200),
    "no neighbourhoods": replace(NARROW, free_tries=0),
    "no products": replace(NARROW, grow_from=NEVER),
    "neighbourhoods only": replace(
        NARROW, grow_from=NEVER, free_tries=5, free_rounds=3, free_width=2
    ),
    "a walk at once": replace(
        NARROW,
        free_tries=0,
        perturbation_from=(0, 0),
        perturbation_share=(0.5, 0.5),
        perturbed_tries=1,
        perturbations=2,
    ),
    "a walk and no products": replace(
        NARROW,
        merge_most=1,
        perturbation_from=(0, 0),
        perturbation_share=(0.9, 0.9),
        perturbed_tries=2,
    ),
    "wide beams after products": replace(NARROW, wide_rounds=1e3),
    "products too large": replace(NARROW, merge_most=12, grow_over=1e9, free_tries=0),
    "some products too large": replace(
        NARROW, merge_size=4.0, least_overlap=0.0, grow_over=1e2, target_share=(0.5, 0.5)
    ),
    "aims that give way": replace(
        NARROW,
        large=0,
        merge_size=4.0,
        least_overlap=0.0,
        target_least=0.01,
        close_from=(20, 20),
        close_gap=0.01,
    ),
    "aims after a product": replace(
        NARROW,
        close_size=0,
        close_after=30,
        least_overlap=0.0,
        target_least=0.01,
        close_from=(20, 20),
        close_gap=0.1,
    ),
    "low aims of any size": replace(
        NARROW,
        close_size=0,
        close_after=1,
        target_share=(0.2, 0.2),
        close_gap=0.0,
        close_perturbation=(0.5, 0.5),
        perturbation_patience=0,
        perturbation_again=0,
        perturbation_stalled=0.3,
    ),
    "no charges": replace(NARROW, opportunity=False),
    "few cuts": replace(NARROW, cuts=(2, 3), bundle_steps=30, merge_steps=20),
}


def test_it_agrees_with_enumeration_on_a_thousand_problems() -> None:
    """Value and bound are the best value, whatever features the problem has."""
    for seed in range(1000):
        problem = random_problem(np.random.default_rng([seed, 1]), most_blocks=300)
        best = brute_force.solve(problem).bound
        found = solve(problem)
        assert problem.value(found.block) == pytest.approx(best, abs=close(problem)), seed
        assert found.bound == pytest.approx(best, abs=close(problem)), seed


@pytest.mark.parametrize("time_limit", [None, 1e3])
@pytest.mark.parametrize("name", SEARCHES)
def test_no_part_of_the_search_loses_a_better_block(name: str, time_limit: float | None) -> None:
    """Pairs, products, neighbourhoods and aims (with a limit), on and off: the optimum stays."""
    for seed in range(120):
        problem = random_problem(np.random.default_rng([seed, 2]), most_blocks=600)
        best = brute_force.solve(problem).bound
        automata = block_model(problem)
        found = solve_model(automata, params=SEARCHES[name], clock=Clock(time_limit))
        assert problem.value(found.block) == pytest.approx(best, abs=close(problem)), seed
        assert found.bound == pytest.approx(best, abs=close(problem)), seed


def test_products_that_keep_too_much_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given up half-way, when their pairs are listed, they leave everything as it was."""
    given_up = []

    def counted(*given: Any) -> Diagram | None:
        given_up.append(True)
        both = merged(*given)
        given_up[-1] = False
        return both

    monkeypatch.setattr(merge, "merged", counted)
    monkeypatch.setattr(search, "STATE_BYTES", NARROW.most_memory // 2)  # two pairs may stay
    for seed in range(120):
        problem = random_problem(np.random.default_rng([seed, 3]), most_blocks=600)
        best = brute_force.solve(problem).bound
        found = solve_model(block_model(problem), params=SEARCHES["pairs first"])
        assert problem.value(found.block) == pytest.approx(best, abs=close(problem)), seed
        assert found.bound == pytest.approx(best, abs=close(problem)), seed
    assert given_up.count(True) > 5
    assert given_up.count(False) > 5


@settings(max_examples=60, deadline=None)
@given(problem=problems, name=st.sampled_from(sorted(SEARCHES)), limited=st.booleans())
def test_any_search_proves_the_optimum(problem: BlockProblem, name: str, limited: bool) -> None:
    """The same on whatever problems there are."""
    best = brute_force.solve(problem).bound
    limit = 1e3 if limited else None
    found = solve_model(block_model(problem), params=SEARCHES[name], clock=Clock(limit))
    assert problem.value(found.block) == pytest.approx(best, abs=close(problem))
    assert found.bound == pytest.approx(best, abs=close(problem))


@pytest.mark.parametrize("seed", range(3))
def test_a_growing_product_proves_what_a_beam_does_not(seed: int) -> None:
    """With the same narrow beam the product ends in a proof; without it a gap is left."""
    bandit = random_bandit("step", 6, 16, seed)
    problem = BlockProblem.from_bandit(bandit, 16, "unknown")
    small = replace(NARROW, most_memory=2_000_000, widen=1_000, free_tries=0)
    proven = solve_model(block_model(problem), params=small)
    left = solve_model(block_model(problem), params=replace(small, grow_from=NEVER))
    value = problem.value(proven.block)
    assert proven.bound == pytest.approx(value)
    assert left.bound >= value - close(problem)


@pytest.mark.parametrize("option", [{"time_limit": 1e-9}, {"gap": 0.2}])
def test_a_search_stopped_early_brackets_the_optimum(option: dict[str, float]) -> None:
    """Out of time or within the gap: bound >= optimum >= value still holds."""
    for seed in range(200):
        problem = random_problem(np.random.default_rng([seed, 3]), most_blocks=600)
        best = brute_force.solve(problem).bound
        found = solve_model(
            block_model(problem),
            params=NARROW,
            gap=option.get("gap", 0.0),
            clock=Clock(option.get("time_limit")),
        )
        value, slack = problem.value(found.block), close(problem)
        assert value - slack <= best <= found.bound + slack, seed
        if "gap" in option:
            assert found.bound - value <= 0.2 * abs(value) + slack, seed


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_no_block_beats_the_bound(problem: BlockProblem) -> None:
    """The reported value is the block's own, and enumeration finds nothing above the bound."""
    plan = ls.plan_block(problem)
    best = brute_force.solve(problem).bound
    # Pays that arms allow and no block can have may blur the sums; then the bound says so.
    assert plan.optimal or plan.bound <= best + close(problem)
    assert plan.value == problem.value(plan.block)
    assert plan.bound >= best - close(problem)


@settings(max_examples=40, deadline=None)
@given(problem=problems, other=problems)
def test_a_warm_start_from_anything_changes_no_answer(
    problem: BlockProblem, other: BlockProblem
) -> None:
    """The prices and block of an unrelated problem are a start, never a result."""
    automata = block_model(problem)
    rng = np.random.default_rng(other.length)
    cold = solve_model(automata)
    warm = solve_model(
        automata,
        start=rng.integers(0, problem.n_arms, problem.length),
        prices=rng.normal(size=problem.length),
    )
    assert warm.bound == pytest.approx(cold.bound, abs=close(problem))


@settings(max_examples=100, deadline=None)
@given(problem=problems, seed=st.integers(0, 99))
def test_automata_pay_what_the_problem_pays(problem: BlockProblem, seed: int) -> None:
    """Any block the problem admits is worth the same to its automata."""
    rng = np.random.default_rng(seed)
    block = [int(rng.choice(np.flatnonzero(row))) for row in problem.allowed]
    if problem.distinct_start and problem.length > 1 and block[0] == block[1]:
        assert block_model(problem).value(block) == -np.inf
    else:
        value = block_model(problem).value(block)
        assert value == pytest.approx(problem.value(block), abs=close(problem))


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_a_search_knows_what_its_block_is_worth(problem: BlockProblem) -> None:
    """The value added up in the beam is that of the block it leads to."""
    automata = block_model(problem)
    run = Search(automata, 0.0, Clock(None), params=NARROW)
    run.run()
    assert run.best.schedule is not None
    assert run.best.value == pytest.approx(automata.value(run.best.schedule), abs=close(problem))


def test_huge_values_do_not_blur_small_ones() -> None:
    """Two blocks that visit the huge entry equally often are told apart by the small pays."""
    rest, streak = [[1e6, 0.0], [0.5, 0.5]], [[0.0], [0.25]]
    problem = BlockProblem(rest, streak, np.zeros((2, 12)))
    best = brute_force.solve(problem)
    found = solve(problem)
    assert problem.value(found.block) == pytest.approx(best.bound, abs=1e-6)


def test_a_second_plan_starts_from_the_first() -> None:
    """Warm prices give the same proof on slightly changed tables."""
    problem = BlockProblem.from_bandit(random_bandit("monotone", 5, 12, 1), 12, "unknown")
    first = ls.plan_block(problem)
    changed = BlockProblem(problem.rest * 1.001, problem.streak, problem.first)
    assert ls.plan_block(changed, warm=first).value == pytest.approx(
        ls.plan_block(changed).value, abs=1e-9
    )


def test_ctrl_c_returns_the_best_so_far_with_its_bound() -> None:
    """An interrupted plan is still a plan: a block and a true bound."""
    told: list[ls.Progress] = []

    def stop(now: ls.Progress) -> None:
        told.append(now)
        _thread.interrupt_main()

    # A shell may have started the tests in the background, where interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        plan = ls.plan_block(hard_problem(20, 60), time_limit=20, progress=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(told) == 1
    assert not plan.optimal
    assert plan.value <= plan.bound


def test_progress_is_told_while_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The callback hears of growing time and of a bound that only falls."""
    heard: list[ls.Progress] = []
    monkeypatch.setattr(clock, "TELL_EVERY", 0.0)
    ls.plan_block(hard_problem(), time_limit=0.5, progress=heard.append)
    assert len(heard) > 1
    news = [(now.seconds, now.value, now.bound) for now in heard]
    seconds, values, bounds = zip(*news, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(values) == sorted(values)
    assert list(bounds) == sorted(bounds, reverse=True)


def test_memory_stays_within_its_cap() -> None:
    """With hardly any memory to widen into, the answer keeps a gap instead of failing."""
    problem = hard_problem()
    found = solve(problem, params=SearchParams(most_memory=60_000))
    value = problem.value(found.block)
    assert value < found.bound < 1.1 * value


def test_an_infeasible_set_of_automata_is_refused() -> None:
    """An arm that can neither idle nor be pulled is an error, not a crash."""
    stuck = Diagram.of(
        offset=[0, 1, 2], idle=[-1, -1], pull=[-1, -1], pay=[0, 0], final=[0], root=[0]
    )
    with pytest.raises(ProblemError, match="neither idle nor be pulled"):
        solve_model(Model(stuck, np.arange(1)))


def test_arms_that_all_insist_on_a_slot_are_refused() -> None:
    """Two arms that may not idle in the same slot leave no block, and the error says so."""
    eager = Diagram.of(
        offset=[0, 2, 4],
        idle=[-1, -1, -1, -1],
        pull=[2, 3, -1, -1],
        pay=[1.0, 2.0, 0.0, 0.0],
        final=[0.0, 1.0],
        root=[0, 1],
    )
    with pytest.raises(ProblemError, match="no block gives every round"):
        solve_model(Model(eager, np.arange(2)))


def test_a_block_is_found_where_most_ways_lead_nowhere() -> None:
    """An arm that must play every third slot leaves one block, which is found and proven."""
    length, period = 9, 3
    # Per slot: arm 0 has a state for the 0, 1 or 2 slots since its last play; arm 1 has one.
    per_slot = period + 1
    n = (length + 1) * per_slot
    idle, pull, pay = np.full(n, -1), np.full(n, -1), np.zeros(n)
    for here in range(0, length * per_slot, per_slot):
        there = here + per_slot
        for since in range(period - 1):
            idle[here + since] = there + since + 1
        pull[here + period - 1] = there
        idle[here + period] = pull[here + period] = there + period
        pay[here + period] = 1.0
    automata = Diagram.of(
        offset=np.arange(length + 2) * per_slot,
        idle=idle,
        pull=pull,
        pay=pay,
        final=np.zeros(per_slot),
        root=[0, period],
    )
    found = solve_model(Model(automata, np.arange(2)), params=NARROW)
    assert list(found.block) == [1, 1, 0] * 3
    assert found.bound == pytest.approx(6.0)


def test_twins_are_kept_apart_in_the_answer() -> None:
    """Equal arms are merged while searching and told apart in the block."""
    problem = BlockProblem(np.tile([[0.0, 0.0, 0.9]], (4, 1)), np.zeros((4, 1)), np.zeros((4, 14)))
    found = solve(problem)
    assert problem.value(found.block) == pytest.approx(found.bound)
    assert found.bound == pytest.approx(9.0)
