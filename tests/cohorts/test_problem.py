"""Where subjects stand, and the plain reference: what every cohort plan is tested against."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from cohorts.cohort_cases import random_case, random_problem, single_problems
from cohorts.plain import Plain
from lastswitch import rules as r
from lastswitch.cohorts.budgets import Budget
from lastswitch.cohorts.problem import CohortProblem, distinct_rows
from lastswitch.errors import BudgetError, InfeasibleError, InputTypeError, StateError
from lastswitch.rules.automata.counters import counters_of

seeds = st.integers(0, 2**32 - 1)


def best(problem):
    """Return what `plan_block` finds; minus infinity where nothing fits."""
    try:
        return ls.plan_block(problem).value
    except InfeasibleError:
        return -np.inf


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_the_plain_response_is_what_plan_block_finds(seed):
    """Value by value, from any state and history, under any rules and plays."""
    case = random_case(np.random.default_rng(seed), 3)
    problem = case.problem
    rows = problem.standing(case.states, case.recent)
    price = np.zeros((problem.n_arms, problem.length))
    found = Plain(problem).at(rows, np.ones(3))(price)
    for single, arms, value, bound in zip(single_problems(case), *found, strict=True):
        assert value == pytest.approx(best(single), abs=1e-9) == bound
        if value > -np.inf:
            rounds = [tuple(arm for arm in places if arm >= 0) for places in arms.tolist()]
            assert single.value(rounds) == pytest.approx(value, abs=1e-9)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_what_rules_remember_gives_their_counters_again(seed):
    """A standing's numbers stand for a history that the rule cannot tell from the real one."""
    case = random_case(np.random.default_rng(seed), 2)
    problem = case.problem
    rows = problem.standing(case.states, case.recent)
    for memory, where in zip(problem.memories, problem.memory_columns(), strict=True):
        for row, history in zip(rows, case.histories, strict=True):
            again = memory.counters(row[where].tolist())
            rule = memory.rule
            real = counters_of(rule, problem.length, problem.plays[1], history)
            assert [counter.key for counter in again] == [counter.key for counter in real]


def test_long_windows_are_remembered_in_several_numbers():
    """More rounds than one number has room for, read again as they were."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 3, plays=(0, 3))
    problem = CohortProblem(bandit, 2, rules=[r.at_least("everyone", 90, within=60)])
    [memory] = problem.memories
    rng = np.random.default_rng(0)
    recent = np.full((1, 50, 3), -1)
    for age in range(50):
        arms = rng.choice(3, int(rng.integers(0, 4)), replace=False)
        recent[0, age, : len(arms)] = arms
    row = problem.standing([[1, 1, 1]], recent)[0]
    assert memory.columns > 1
    assert len(row) == 3 + memory.columns
    past = memory.history(row[3:].tolist())
    assert [len(arms) for arms in past] == (recent[0] >= 0).sum(axis=1).tolist()


def test_states_that_the_rounds_to_go_cannot_tell_apart_are_one():
    """A curve that rises at rest 9 is flat for who rested once and plans three rounds."""
    bandit = ls.Bandit([ls.curves.step(9, 1.0), ls.curves.constant(0.5)])
    taus = np.array([[tau, 1] for tau in (1, 2, 5, 6, 7, 8, 9, 20, -1, -5)])
    short, long = CohortProblem(bandit, 3), CohortProblem(bandit, 9)
    assert short.standing(taus)[:, 0].tolist() == [1, 1, 1, 1, 7, 8, 9, 9, 1, 1]
    assert len(set(long.standing(taus)[:, 0].tolist())) == 8


def test_a_problem_can_be_sent_elsewhere():
    """A pickled problem gives equal standings."""
    rng = np.random.default_rng(5)
    case = random_case(rng, 4, budgets=Budget("everyone", 3))
    again = pickle.loads(pickle.dumps(case.problem))
    assert again.budgets == case.problem.budgets
    assert again.rules == case.problem.rules
    rows = case.problem.standing(case.states, case.recent)
    assert (again.standing(case.states, case.recent) == rows).all()


@given(st.lists(st.lists(st.integers(-(2**61), 2**61), min_size=3, max_size=3), max_size=6))
@settings(max_examples=30, deadline=None)
def test_different_rows_are_found_whatever_their_size(lists):
    """As `numpy.unique` finds them, for numbers too large to be digits of one."""
    rows = np.array(lists + lists[:2], np.int64).reshape(-1, 3)
    unique, counts, inverse = distinct_rows(rows)
    assert (unique[inverse] == rows).all()
    assert counts.sum() == len(rows)
    assert len(unique) == len({tuple(row) for row in rows.tolist()})


def test_wrong_states_and_plays_are_refused():
    """Shapes, numbers and types."""
    problem = CohortProblem(
        ls.Bandit([ls.curves.constant(0.5)] * 2), 2, rules=[r.at_most("everyone", 1, within=3)]
    )
    with pytest.raises(StateError, match="one column per arm"):
        problem.standing([[1, 1, 1]])
    with pytest.raises(StateError, match="arms 0 to 1"):
        problem.standing([[1, 1]], [[2]])
    with pytest.raises(StateError, match="shape"):
        problem.standing([[1, 1]], [[0], [1]])
    with pytest.raises(InputTypeError, match="by number"):
        problem.standing([[1, 1]], [[0.5]])


def test_wrong_budgets_are_refused():
    """Unknown arms, rounds that are not planned, numbers that are none."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 2, names=["jazz", "talk"])
    for budget, words in [
        (lambda: Budget("jaz", 3), "did you mean"),
        (lambda: Budget("jazz", 3, rounds=[4]), "rounds 0 to 3"),
        (lambda: Budget("jazz", -1), "at least 0"),
        (lambda: Budget("jazz", 3, per="week"), "must be one of"),
    ]:
        with pytest.raises(BudgetError, match=words):
            CohortProblem(bandit, 4, budgets=budget())
    with pytest.raises(InputTypeError, match="Budget"):
        CohortProblem(bandit, 4, budgets=[3])


def test_rows_of_budgets_say_what_they_count():
    """By round, in all, for groups, and in some rounds only."""
    bandit = ls.Bandit(
        [ls.curves.constant(0.5)] * 3, names=["a", "b", "c"], groups={"two": ["a", "b"]}
    )
    rows = CohortProblem(
        bandit, 3, budgets=[Budget("two", 5, rounds=[0, 2]), Budget("everyone", 9, per="all")]
    ).rows
    assert rows.most.tolist() == [5, 5, 9]
    assert rows.round.tolist() == [0, 2, -1]
    assert rows.counts[0].tolist() == [[True, False, False]] * 2 + [[False] * 3]
    assert rows.counts[2].all()


def test_random_problems_have_all_kinds():
    """The cases above are of several plays, of silence, of rules soft and hard."""
    problems = [random_problem(np.random.default_rng(seed)) for seed in range(60)]
    assert {problem.plays[1] for problem in problems} >= {1, 2, 3}
    assert any(rule.cost for problem in problems for rule in problem.rules)
    assert any(memory.reach for problem in problems for memory in problem.memories)
