"""The paper's integer programs agree with enumeration, in every printed form."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.errors import PlanError
from lastswitch.planning import BlockProblem, Terminal, plan_block
from lastswitch.planning.certificate import rounding
from lastswitch.planning.milp import ilp
from lastswitch.planning.milp.highs import Model
from lastswitch.planning.milp.programs import build_program
from lastswitch.planning.plan import Plan
from planning.interrupting import CtrlC
from planning.program_cases import random_problem

FORMS = [None, "general", "arc-flow"]


def check_optimal(problem, solution):
    """Assert that the block is worth as much as any, and the bound exactly that."""
    best = plan_block(problem, solver="brute-force").value
    slack = rounding(best)
    assert problem.value(solution.block) == pytest.approx(best, abs=slack)
    assert best - slack <= solution.bound <= best + 10 * slack


@pytest.mark.parametrize("seed", range(60))
def test_every_form_agrees_with_enumeration(seed):
    """Each form finds a best block and proves it, whatever the problem's features."""
    problem = random_problem(seed)
    for form in FORMS:
        check_optimal(problem, ilp.solve(problem, form=form))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_any_problem_agrees_with_enumeration(seed):
    """The default form finds a best block of any small problem and proves it."""
    problem = random_problem(seed)
    check_optimal(problem, ilp.solve(problem))


@pytest.mark.parametrize("seed", range(30))
def test_a_program_says_what_a_block_is_worth(seed):
    """The variables that name a block satisfy every constraint and cost what it pays."""
    problem = random_problem(seed, max_length=7)
    block = ilp.greedy_block(problem)
    for form in FORMS:
        program = build_program(problem, form)
        variables = ilp.variables_of(program, block)
        rows = np.repeat(np.arange(len(program.low)), np.diff(program.starts))
        activity = np.bincount(
            rows, program.values * variables[program.indices], minlength=len(program.low)
        )
        assert (program.low <= activity).all()
        assert (activity <= program.high).all()
        assert (variables <= program.upper).all()
        worth = program.cost @ variables + program.constant
        assert worth == pytest.approx(problem.value(block), rel=1e-9, abs=1e-9)
        assert ilp.block_of(program, variables) == block


@pytest.mark.parametrize("seed", range(20))
def test_dropping_implied_constraints_keeps_the_relaxation(seed):
    """The printed forms and the arc-flow form have the same linear relaxation."""
    problem = random_problem(seed, max_length=6)
    none = np.zeros(0, dtype=np.int64)
    values = [
        Model(build_program(problem, form), integer=False).relax(none, np.zeros(0))
        for form in FORMS
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-7, abs=1e-7)


def small_problem(streak, **features):
    """Return two arms over four slots."""
    return BlockProblem([[0.2, 0.9], [0.3, 0.4]], streak, np.zeros((2, 4)), **features)


def test_constant_streaks_get_the_core_form():
    """The core form has the paper's constraints and one variable per delay."""
    program = build_program(small_problem([[0.1], [0.3]]))
    assert dict(program.families) == {"UFP": 2, "FPF": 6, "TC": 12, "AC": 4}
    assert len(program.cost) == 2 * (4 + 6)


def test_falling_streaks_get_the_general_form():
    """The general form has the paper's constraints, CA among them when asked for."""
    program = build_program(small_problem([[0.1, 0.0], [0.3, 0.2]], distinct_start=True))
    assert dict(program.families) == {
        "UFP": 2,
        "FPF": 6,
        "TC+": 6,
        "TC-1": 6,
        "TC-2": 6,
        "AC": 4,
        "CA": 1,
    }
    assert len(program.cost) == 2 * (4 + 3 + 6)


def test_the_core_form_refuses_falling_streaks():
    """Delays cannot tell how long a streak is."""
    with pytest.raises(PlanError, match="form='general'"):
        build_program(small_problem([[0.1, 0.0], [0.3, 0.2]]), "core")


def test_an_unknown_form_is_refused():
    """The message repeats the form."""
    with pytest.raises(PlanError, match="got 'dense'"):
        build_program(small_problem([[0.1], [0.3]]), "dense")


def hard_problem(arms=10, length=24):
    """Return a problem that HiGHS cannot close in a moment."""
    rng = np.random.default_rng(0)
    rest = np.sort(rng.random((arms, length)), axis=1)
    return BlockProblem(rest, 0.2 * rng.random((arms, 1)), np.zeros((arms, length)))


def test_out_of_time_gives_a_block_and_a_bound():
    """A limit that ends the search early still leaves a block under a true bound."""
    problem = hard_problem()
    plan = plan_block(problem, solver="ilp", time_limit=0.2)
    best = plan_block(problem, solver="certified", time_limit=2.0)
    assert plan.value <= best.bound + 1e-9
    assert best.value <= plan.bound + 1e-9
    assert not plan.optimal


def test_a_gap_stops_early_within_it():
    """The block is at most the asked share below the bound."""
    problem = hard_problem(4, 10)
    plan = plan_block(problem, solver="ilp", gap=0.2)
    assert plan.gap <= 0.2 + 1e-9


def test_the_gap_is_relative_to_the_whole_value():
    """A large worth of unplayed arms does not loosen, or tighten, what the gap allows."""
    rng = np.random.default_rng(2)
    end = Terminal(np.full((4, 1), -2.0), np.full((4, 1), -2.0), np.full(4, -2.2))
    problem = BlockProblem(rng.random((4, 9)), rng.random((4, 1)), np.zeros((4, 9)), terminal=end)
    assert plan_block(problem, solver="ilp", gap=0.05).gap <= 0.05 + 1e-9


def test_a_warm_block_is_not_lost():
    """With no time at all, the plan is at least as good as the block it started from."""
    problem = hard_problem()
    known = plan_block(problem, solver="certified", time_limit=1.0)
    plan = plan_block(problem, solver="ilp", time_limit=0.05, warm=known)
    assert plan.value >= known.value - 1e-9


def test_a_warm_block_that_does_not_fit_is_ignored():
    """A block the mask forbids is no start."""
    allowed = [[True, False], [True, True], [True, True], [True, True]]
    problem = small_problem([[0.1], [0.3]], allowed=allowed)
    plan = plan_block(problem, solver="ilp", warm=Plan((1, 0, 1, 0), 1.0, 2.0))
    assert plan.value == plan_block(problem, solver="brute-force").value


def test_a_failing_callback_is_passed_on():
    """An error raised by the callback stops the search and reaches the caller."""

    def fail(now):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        plan_block(hard_problem(), solver="ilp", time_limit=20.0, progress=fail)


def test_ctrl_c_returns_the_best_so_far():
    """An interrupt ends the search, not the program, and leaves a block under a true bound."""
    ctrl_c = CtrlC(2)
    plan = plan_block(hard_problem(), solver="ilp", progress=ctrl_c)
    assert len(plan.block) == 24
    assert plan.value <= plan.bound
    assert all(now.value <= now.bound + 1e-6 for now in ctrl_c.heard)


def test_threads_do_not_wait_for_each_other():
    """Two threads plan at once, and both are right: each call has a solver of its own."""
    problem = small_problem([[0.1], [0.3]])
    best = plan_block(problem, solver="brute-force").value
    with ThreadPoolExecutor(4) as pool:
        slow = pool.submit(plan_block, hard_problem(), solver="ilp", time_limit=2.0)
        quick = [pool.submit(plan_block, problem, solver="ilp") for _ in range(12)]
        assert [plan.result().value for plan in quick] == pytest.approx([best] * 12)
        assert slow.result().value <= slow.result().bound


def test_another_plan_follows_an_interrupt():
    """After Ctrl-C the next call neither hangs nor finds a solver already running."""
    plan_block(hard_problem(), solver="ilp", progress=CtrlC(1))
    problem = small_problem([[0.1], [0.3]])
    best = plan_block(problem, solver="brute-force").value
    assert plan_block(problem, solver="ilp").value == pytest.approx(best)
