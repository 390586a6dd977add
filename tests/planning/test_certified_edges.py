"""The certified solver at the edges: huge and tiny pays, no time, many arms, a value to beat."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.errors import ProblemError
from lastswitch.planning import BlockProblem, brute_force
from lastswitch.planning.certified import solve, solve_model, solve_small
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.build import block_model, plain_model
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.greedy import plain_bound
from lastswitch.planning.search.params import SearchParams
from planning.planning_cases import close, problems

#: Sizes of pays: one for a whole problem, or a mixture within it.
SIZES = (1.0, 1e-11, 1e-300, 1e6, 1e10, 1e15, 1e90)


def sized_problem(seed: int) -> BlockProblem:
    """Draw a small problem whose pays are huge, tiny, or some of each, of either sign."""
    rng = np.random.default_rng(seed)
    n_arms, length = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    used = rng.choice(SIZES, size=rng.integers(1, 4))
    signed = rng.random() < 0.6

    def table(columns: int) -> np.ndarray:
        values = rng.random((n_arms, columns)) * rng.choice(used, (n_arms, columns))
        if rng.random() < 0.5:
            values = values.round(1)
        return np.where(rng.random(values.shape) < 0.3, -values, values) if signed else values

    return BlockProblem(table(3), table(2), table(length))


def exact_value(problem: BlockProblem, block: tuple[int, ...]) -> Fraction:
    """Return what a block is worth, added up without rounding."""
    return sum((Fraction(pull.pay) for pull in problem.pulls(list(block))), Fraction(0))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), tiny=st.booleans())
def test_no_size_of_pays_breaks_the_certificate(seed: int, tiny: bool) -> None:
    """The bound holds, and what is called optimal is, against enumeration in exact arithmetic."""
    problem = sized_problem(seed)
    params = None if tiny else SearchParams(tiny_rounds=0, tiny_blocks=0)
    found = solve(problem, params=params)
    every = itertools.product(range(problem.n_arms), repeat=problem.length)
    best = max(exact_value(problem, block) for block in every)
    value = exact_value(problem, tuple(int(arm) for arm in found.block))
    used = max(abs(pull.pay) for pull in problem.pulls(found.block))
    slack = 1e-14 * max(used, abs(float(best)))
    assert float(best - Fraction(found.bound)) <= slack
    if found.bound - float(value) <= 1e-9 * abs(float(value)):
        assert float(best - value) <= 1e-9 * abs(float(value)) + slack


def test_forbidding_by_a_huge_loss_hides_no_better_block() -> None:
    """Losses of 1e10 do not make pays of 1 look alike."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        rest, streak = rng.random((3, 4)), rng.random((3, 2))
        rest[rng.random(rest.shape) < 0.3] = -1e10
        streak[:, 1] = -1e10
        problem = BlockProblem(rest, streak, rng.random((3, 6)))
        found = solve(problem)
        assert problem.value(found.block) == pytest.approx(
            brute_force.solve(problem).bound, rel=1e-9
        )


@pytest.mark.parametrize("pay", [1e101, -1e200, np.inf, np.nan])
def test_pays_no_sum_can_carry_are_refused(pay: float) -> None:
    """The error says how large a pay may be; the largest is fine."""
    with pytest.raises(ProblemError, match=r"at most 1e\+100 in size"):
        BlockProblem([[pay]], [[0.0]], [[0.0] * 3])
    problem = BlockProblem([[1e100]], [[-1e100]], [[0.0] * 3])
    assert solve(problem).bound == problem.value([0, 0, 0])


@settings(max_examples=80, deadline=None)
@given(problem=problems, above=st.sampled_from([-1.0, -1e-3, 1e-3, 1.0]), small=st.booleans())
def test_a_value_to_beat_is_beaten_or_was_the_best(
    problem: BlockProblem, above: float, small: bool
) -> None:
    """A block comes back exactly if one is worth more, and the bound holds for those that are."""
    best = brute_force.solve(problem).bound
    scale = max(1.0, abs(best))
    automata, beat = block_model(problem), best + above * scale
    found = solve_small(automata, beat) if small else None
    if found is None:
        found = solve_model(automata, beat=beat)
    if above < 0:
        assert problem.value(found.block) == pytest.approx(best, abs=1e-9 * scale)
        # Pays that arms allow and no block can have may blur the sums; then the bound says so.
        assert found.bound == pytest.approx(best, abs=max(1e-9 * scale, close(problem)))
    else:
        assert len(found.block) == 0
        assert found.bound == pytest.approx(best + above * scale, abs=1e-9 * scale)


@settings(max_examples=150, deadline=None)
@given(problem=problems)
def test_no_bound_is_worse_than_the_free_choice_of_every_slot(problem: BlockProblem) -> None:
    """The best value <= the bound without any time <= the sum of the slots' best pays."""
    best, plain = brute_force.solve(problem).bound, plain_bound(problem)
    slack = 1e-9 * max(1.0, abs(plain))
    assert best <= plain + slack
    hurried = solve(problem, time_limit=0.0, params=SearchParams(tiny_rounds=0, tiny_blocks=0))
    assert best - slack <= hurried.bound <= plain + slack


@settings(max_examples=150, deadline=None)
@given(problem=problems)
def test_a_greedy_block_is_one_the_problem_admits(problem: BlockProblem) -> None:
    """And, like the block of any search without time, worth no more than the best."""
    best = brute_force.solve(problem).bound
    for automata in (block_model(problem), plain_model(problem)):
        block = automata.arms.greedy()
        if problem.allowed.all():
            assert block is not None
        if block is not None:
            assert problem.value(block) <= best + 1e-9 * max(1.0, abs(best))
    hurried = solve_model(block_model(problem), clock=Clock(0.0))
    assert problem.value(hurried.block) <= best + 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize(
    "params", [None, SearchParams(most_states=1_000), SearchParams(states_per_second=1e15)]
)
def test_many_arms_and_no_time_still_make_an_answer(params: SearchParams | None) -> None:
    """Two thousand arms, a microsecond: a block, and a bound no worse than the obvious one."""
    rng = np.random.default_rng(0)
    problem = BlockProblem(rng.random((2_000, 12)), np.zeros((2_000, 1)), rng.random((2_000, 14)))
    found = solve(problem, time_limit=1e-6, params=params)
    assert problem.value(found.block) <= found.bound <= plain_bound(problem) + 1e-9 < 14.0


def test_with_more_arms_than_slots_the_bound_is_close_at_once() -> None:
    """Ten times as many arms as slots: the first prices already say about the truth."""
    rng = np.random.default_rng(1)
    problem = BlockProblem(rng.random((140, 12)), np.zeros((140, 1)), rng.random((140, 14)))
    found = solve(problem)
    assert found.bound == pytest.approx(problem.value(found.block), rel=1e-9)


def test_long_work_pauses() -> None:
    """Minimising many states looks at the clock, and ends there if that says so."""
    rng = np.random.default_rng(2)
    problem = BlockProblem(rng.random((4_000, 12)), np.zeros((4_000, 1)), rng.random((4_000, 14)))
    automata = block_model(problem)

    def pause() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        compact(automata, pause)
    assert compact(automata) is not None


def test_the_first_call_of_a_process_has_its_whole_time(tmp_path: Path) -> None:
    """Nothing is compiled yet, and a second is enough for a problem of a millisecond."""
    code = (
        "import lastswitch as ls\n"
        "from lastswitch.model.families import random_bandit\n"
        "problem = ls.BlockProblem.from_bandit(random_bandit('monotone', 5, 20, 100), 20)\n"
        "print(ls.plan_block(problem, time_limit=1.0).optimal)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.strip() == "True", ended.stderr
