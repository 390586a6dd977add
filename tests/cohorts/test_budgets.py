"""Budgets: plans keep them, prices bound them, and small cohorts are what enumeration finds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohorts.cohort_cases import random_case, single_problems
from lastswitch.cohorts.budgets import Budget
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import used
from lastswitch.cohorts.solving import solve
from lastswitch.errors import BlockError, BudgetError, InfeasibleError, UndecidedError
from lastswitch.planning.ruled.brute_force import round_choices

seeds = st.integers(0, 2**32 - 1)


def random_budgets(rng, n_arms, length, subjects):
    """Draw one to three budgets, tight and loose."""
    budgets = []
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, n_arms + 1))
        who = "everyone" if rng.random() < 0.4 else rng.choice(n_arms, size, False).tolist()
        rounds = np.flatnonzero(rng.random(length) < 0.7).tolist() if rng.random() < 0.3 else None
        per = str(rng.choice(["round", "all"]))
        most = subjects if per == "round" else subjects * length
        budgets.append(Budget(who, int(rng.integers(0, most + 1)), per, rounds))
    return budgets


def options(problem, single):
    """Return every use a subject can make of the budgets, and the most it is worth."""
    found = {}
    choices = [round_choices(single, t) for t in range(problem.length)]
    for rounds in itertools.product(*choices):
        try:
            value = single.value(rounds)
        except BlockError:
            continue
        arms = np.full((1, problem.length, problem.plays[1]), -1, np.int16)
        for t, played in enumerate(rounds):
            arms[0, t, : len(played)] = played
        use = tuple(used(arms, problem.rows.counts)[0].tolist())
        found[use] = max(found.get(use, -np.inf), value)
    return found


def best_together(problem, singles, weights):
    """Return the best total within the budgets, by enumeration; None if there is none."""
    total = {(0,) * len(problem.rows): 0.0}
    for single, weight in zip(singles, weights, strict=True):
        following = {}
        for (use, value), (more, worth) in itertools.product(
            total.items(), options(problem, single).items()
        ):
            after = tuple(a + b for a, b in zip(use, more, strict=True))
            if all(a <= most for a, most in zip(after, problem.rows.most, strict=True)):
                better = value + weight * worth
                following[after] = max(following.get(after, -np.inf), better)
        total = following
    return max(total.values(), default=None)


def check_cohort(seed, most=400):
    """Compare a small cohort with enumeration; return what came of it."""
    rng = np.random.default_rng(seed)
    subjects = int(rng.integers(2, 5))
    case = random_case(rng, subjects)
    problem = case.problem
    budgets = random_budgets(rng, problem.n_arms, problem.length, subjects)
    problem = CohortProblem(
        problem.bandit,
        problem.length,
        rules=problem.rules,
        plays=problem.plays,
        silence=problem.silence,
        budgets=budgets,
    )
    if len(round_choices(single_problems(case)[0], 0)) ** problem.length > most:
        return "large"
    if rng.random() < 0.5:  # some stand alike
        for part in (case.states, case.recent):
            part[1:] = part[0]
        case.histories[1:] = [case.histories[0]] * (subjects - 1)
    weights = rng.choice([1.0, 1.0, 2.5, 0.25], subjects)
    singles = single_problems(case)
    optimum = best_together(problem, singles, weights)
    standings = problem.standing(case.states, case.recent)
    try:
        solution = solve(problem, standings, np.ones(subjects), weights, gap=0.0)
    except InfeasibleError:
        assert any(not options(problem, single) for single in singles)
        return "no plan"
    except BudgetError:
        assert optimum is None
        return "over budget"
    except UndecidedError:
        assert optimum is None
        return "undecided"
    keys = rng.permutation(subjects).astype(np.uint64)
    solution = solution.settled(standings, keys, weights)
    batch = solution.plans(standings, keys, weights)
    use = used(batch.arms, problem.rows.counts).sum(axis=0)
    assert (use <= problem.rows.most).all()
    assert (use == solution.use).all()
    assert solution.value == pytest.approx(float(weights @ batch.value), abs=1e-9)
    for single, arms, value in zip(singles, batch.arms, batch.value, strict=True):
        rounds = [tuple(arm for arm in places if arm >= 0) for places in arms.tolist()]
        assert single.value(rounds) == pytest.approx(value, abs=1e-9)
    assert solution.value <= optimum + 1e-7
    assert optimum <= solution.bound + 1e-7
    return "best" if solution.value >= optimum - 1e-7 else "below"


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_small_cohorts_are_as_good_as_enumeration_says(seed):
    """Bound >= optimum >= value, every budget kept, every plan worth what is said."""
    check_cohort(seed)
