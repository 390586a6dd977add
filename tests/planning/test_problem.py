"""What a planning problem accepts, refuses and pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError, InputTypeError, ProblemError, StateError
from lastswitch.model.families import FAMILIES, random_bandit
from lastswitch.planning import BlockProblem, Terminal
from lastswitch.planning.greedy import plain_bound
from planning.planning_cases import problems

ZEROS = np.zeros((2, 3))


@settings(max_examples=150, deadline=None)
@given(
    family=st.sampled_from(FAMILIES),
    seed=st.integers(0, 99),
    block=st.lists(st.integers(0, 2), min_size=1, max_size=12),
    start=st.lists(st.integers(-6, 6).filter(bool), min_size=3, max_size=3),
)
def test_a_problem_pays_what_the_bandit_pays(
    family: str, seed: int, block: list[int], start: list[int]
) -> None:
    """From a state: r(B | start). Without one: the calibrated reward."""
    bandit = random_bandit(family, 3, 5, seed)
    running = BlockProblem.from_bandit(bandit, len(block), start=start)
    calibrated = BlockProblem.from_bandit(bandit, len(block), "unknown")
    assert running.value(block) == pytest.approx(ls.block_reward(bandit, block, start))
    assert calibrated.value(block) == pytest.approx(ls.blocks.calibrated_reward(bandit, block))


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_a_problem_survives_being_written_down(problem: BlockProblem) -> None:
    """to_dict and from_dict keep every table."""
    again = BlockProblem.from_dict(problem.to_dict())
    assert again.to_dict() == problem.to_dict()


def test_a_streak_from_before_the_block_goes_on() -> None:
    """An arm on its second play in a row continues with the third entry, if pulled at once."""
    problem = BlockProblem([[0.0]], [[0.9, 0.5, 0.2]], [[0.5, 0.1, 0.1]], run=[2])
    assert problem.value([0, 0, 0]) == pytest.approx(0.5 + 0.2 + 0.2)


def test_terminal_values_are_those_of_the_memories_left() -> None:
    """Rested, in a streak and never played each have their own table."""
    end = Terminal(rest=[[1.0, 2.0]] * 3, streak=[[10.0, 20.0]] * 3, unplayed=[100.0] * 3)
    problem = BlockProblem(*(np.zeros((3, 4)),) * 3, terminal=end)
    assert problem.value([0, 1, 1, 1]) == pytest.approx(2.0 + 20.0 + 100.0)


def test_offers_are_what_a_pull_would_pay() -> None:
    """The offer of the arm that is pulled is its pay."""
    problem = BlockProblem([[0.9, 0.4], [0.2, 0.3]], [[0.1], [0.2]], [[0.5] * 5] * 2)
    block = [0, 1, 1, 0, 1]
    offers = problem.offers(block)
    assert [offers[t, arm] for t, arm in enumerate(block)] == [
        pull.pay for pull in problem.pulls(block)
    ]


@settings(max_examples=100, deadline=None)
@given(problem=problems, seed=st.integers(0, 99))
def test_pulls_are_what_the_memories_of_all_arms_offer(problem: BlockProblem, seed: int) -> None:
    """Following the pulled arm alone gives the pays of moving every arm's memory on."""
    rng = np.random.default_rng(seed)
    block = [int(rng.choice(np.flatnonzero(row))) for row in problem.allowed]
    if problem.distinct_start and problem.length > 1 and block[0] == block[1]:
        return
    offers = problem.offers(block)
    offered = [offers[slot, arm] for slot, arm in enumerate(block)]
    assert [pull.pay for pull in problem.pulls(block)] == offered


def test_a_slot_without_an_arm_is_named() -> None:
    """An infeasible mask is an error that says which slot."""
    allowed = np.ones((3, 2), dtype=bool)
    allowed[1] = False
    with pytest.raises(ProblemError, match="no arm is allowed in slot 1"):
        BlockProblem(ZEROS, ZEROS, ZEROS, allowed=allowed)


def test_a_distinct_start_needs_two_arms() -> None:
    """If only one arm may take the first two slots, nothing can start distinct."""
    allowed = np.ones((3, 2), dtype=bool)
    allowed[:2, 1] = False
    with pytest.raises(ProblemError, match="only arm 0 is allowed in slots 0 and 1"):
        BlockProblem(ZEROS, ZEROS, ZEROS, allowed=allowed, distinct_start=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rest": np.zeros((3, 2))}, "rest has 3 rows and first has 2"),
        ({"streak": np.zeros((2, 0))}, "streak has no column"),
        ({"first": np.zeros((2, 0))}, "at least 1"),
        ({"rest": [[0.0, np.nan]] * 2}, "rest must be finite, got nan at"),
        ({"first": [[np.inf] * 3] * 2}, "is said with `allowed`"),
        ({"run": [1, -1]}, "run must be at least 0, got -1"),
        ({"run": [1.5, 0.0]}, "run must be 2 integers"),
        ({"allowed": np.ones((2, 3), dtype=bool)}, r"got shape \(2, 3\)"),
        ({"allowed": np.full((3, 2), 0.5)}, "of True and False; got shape"),
        ({"terminal": Terminal([[0.0]], [[0.0]], [0.0])}, "terminal.rest has 1 rows"),
    ],
)
def test_malformed_problems_say_what_is_wrong(change: dict[str, object], message: str) -> None:
    """Each message repeats what was given."""
    fields = {"rest": ZEROS, "streak": ZEROS, "first": ZEROS, **change}
    tables = [fields.pop(name) for name in ("rest", "streak", "first")]
    with pytest.raises(ProblemError, match=message):
        BlockProblem(*tables, **fields)


def test_tables_must_be_tables() -> None:
    """Words are refused as a type error that is also a LastSwitchError."""
    with pytest.raises(InputTypeError, match="rest must be a 2-dimensional table of numbers"):
        BlockProblem([["much", "more"]], [[0.0]], [[0.0]])


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([0, 1], "this problem has 3 slots"),
        ([0.5, 1, 0], "integers"),
        ([0, 5, 0], "slot 1 names arm 5"),
        ([1, 0, 0], "forbids"),
        ([0, 0, 1], "distinct_start"),
    ],
)
def test_blocks_the_problem_does_not_admit_are_refused(block: list[int], message: str) -> None:
    """The message names the slot."""
    allowed = np.ones((3, 2), dtype=bool)
    allowed[0, 1] = False
    problem = BlockProblem(ZEROS, ZEROS, ZEROS, allowed=allowed, distinct_start=True)
    with pytest.raises(BlockError, match=message):
        problem.value(block)


@pytest.mark.parametrize("start", [[1], [1.0, 1.0], [[1, 1]]])
def test_a_start_has_one_state_per_arm(start: object) -> None:
    """Anything else is a StateError."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 2)
    with pytest.raises(StateError, match="start must be 'initial', 'unknown' or 2 integer states"):
        ls.plan_block(bandit, 3, start=start)


def test_tables_cannot_be_changed_behind_the_problem() -> None:
    """A problem keeps read-only copies."""
    rest = np.zeros((2, 1))
    problem = BlockProblem(rest, ZEROS, ZEROS)
    rest[:] = 1.0
    assert problem.rest.max() == 0.0
    with pytest.raises(ValueError, match="read-only"):
        problem.rest[0, 0] = 1.0


def test_a_bound_is_never_worse_than_the_slots_best_pays() -> None:
    """Ten thousand arms, fourteen rounds, no time: nothing pays more than 14."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(3)), [0.0]) for _ in range(10_000)])
    plan = ls.plan_block(bandit, 14, time_limit=0.1)
    assert plan.value <= plan.bound <= 14.0


@settings(max_examples=60, deadline=None)
@given(problem=problems)
def test_the_plain_bound_holds(problem: BlockProblem) -> None:
    """No block beats the sum of what the slots could pay at best."""
    best = ls.plan_block(problem, solver="brute-force").value
    assert best <= plain_bound(problem) + 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize(
    "table",
    [[[1 + 2j]], [["0.5"]], np.ma.masked_array([[0.5]], mask=[[True]]), [[b"1"]], [["2020-01-01"]]],
)
def test_tables_that_are_no_real_numbers_are_refused(table):
    """An imaginary part, a mask or text would be dropped or read without a word."""
    for tables in ((table, [[0.5]], [[0.5]]), ([[0.5]], table, [[0.5]]), ([[0.5]], [[0.5]], table)):
        with pytest.raises(InputTypeError, match=r"must be|has a mask"):
            BlockProblem(*tables)
    assert BlockProblem([[1]], [[True]], [[np.float32(0.5)] * 3]).value([0, 0, 0]) == 2.5


@pytest.mark.parametrize("run", [2**62 + 1, 2**63 - 1, np.uint64(2**63 + 5)])
def test_a_run_that_cannot_be_counted_up_is_refused(run):
    """Beyond 2**63 it would be negative, and kernels would leave their tables."""
    block = [[0.9]], [[0.5, 0.1]], [[0.5] * 3]
    with pytest.raises(ProblemError, match="2\\*\\*62"):
        BlockProblem(*block, run=np.array([run]))
    assert BlockProblem(*block, run=[2**62]).value([0, 0, 0]) == pytest.approx(0.7)
