"""Budgets: plans keep them, prices bound them, and small cohorts are what enumeration finds."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from cohorts.cohort_cases import random_case, single_problems
from lastswitch import rules as r
from lastswitch.cohorts import budgeted, pricing
from lastswitch.cohorts.budgets import Budget
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import used
from lastswitch.cohorts.solving import solve
from lastswitch.errors import (
    BlockError,
    BudgetError,
    InfeasibleError,
    InputTypeError,
    PlanError,
    UndecidedError,
)
from lastswitch.planning.ruled_brute_force import round_choices

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


def recovering(n_arms=4, **options):
    """Return arms that recover at different speeds."""
    rng = np.random.default_rng(1)
    curves = [ls.Curve(np.sort(rng.random(6)).round(3), [0.1, 0.0]) for _ in range(n_arms)]
    return ls.Bandit(curves, plays=(0, 1), **options)


def crowd(problem, n, seed=0):
    """Return the standings and keys of many subjects, a third of whom stand alike."""
    rng = np.random.default_rng(seed)
    states = rng.integers(1, 8, (n, problem.n_arms))
    states[: n // 3] = 1
    return problem.standing(states), rng.permutation(n).astype(np.uint64)


def planned(problem, standings, keys, weights=None, **options):
    """Solve, settle and plan; check that the budgets and the value are as promised."""
    rows, counts, _inverse = problem.distinct(standings)
    if weights is not None:
        rows, counts = standings, np.ones(len(standings))
    solution = solve(problem, rows, counts, weights, **options)
    solution = solution.settled(standings, keys, weights)
    batch = solution.plans(standings, keys, weights)
    use = used(batch.arms, problem.rows.counts).sum(axis=0)
    assert (use <= problem.rows.most).all()
    assert (use == solution.use).all()
    factors = np.ones(len(keys)) if weights is None else weights
    assert float(factors @ batch.value) == pytest.approx(solution.value)
    assert solution.value <= solution.bound
    assert (batch.value <= batch.bound + 1e-9).all()
    return solution, batch


@pytest.mark.parametrize(("choices", "gap"), [(0, 5e-3), (20_000, 1e-3)])
def test_whole_subjects_cost_next_to_nothing(monkeypatch, choices, gap):
    """Without an integer program and with one; prices are of budgets that bind."""
    monkeypatch.setattr(budgeted, "MOST_CHOICES", choices)
    budgets = [Budget("everyone", 900), Budget([0, 1], 1500, per="all", rounds=[0, 1, 2])]
    problem = CohortProblem(recovering(), 5, budgets=budgets)
    solution, _ = planned(problem, *crowd(problem, 3000))
    assert solution.gap <= gap
    assert solution.prices.max() > 0.1
    assert (solution.prices[solution.use < problem.rows.most - 2] < 1e-2).all()


def test_the_price_is_what_one_more_play_would_be_worth():
    """Raising a budget by a few plays raises the value by as many prices."""
    bandit = ls.Bandit([ls.curves.constant(0.75), ls.curves.constant(0.5)], plays=(0, 1))
    rows = np.array([[1, 1]])
    values = []
    for plays in (100, 110):
        problem = CohortProblem(bandit, 1, budgets=[Budget(0, plays), Budget("everyone", 500)])
        solution = solve(problem, rows, [1000], gap=0.0)
        values.append(solution.value)
        assert solution.optimal
        assert solution.prices.tolist() == pytest.approx([0.25, 0.5])
    assert values[1] - values[0] == pytest.approx(10 * 0.25)


def test_plans_do_not_depend_on_who_is_asked_for_together():
    """Any part of the cohort, in any order, has the plans it has in the whole."""
    problem = CohortProblem(recovering(), 4, budgets=Budget("everyone", 200))
    standings, keys = crowd(problem, 700)
    solution, whole = planned(problem, standings, keys)
    assert len(solution.table.rows) > 0
    order = np.random.default_rng(1).permutation(700)
    for part in np.array_split(order, 5):
        some = solution.plans(standings[part], keys[part])
        for one, other in zip(some, whole, strict=True):
            assert (one == other[part]).all()
    again, _ = planned(problem, standings[order], keys[order])
    assert (again.plans(standings, keys).arms == whole.arms).all()


def test_subjects_who_stand_alike_need_keys_of_their_own():
    """Unsettled, unknown and double keys are refused, and so is another cohort."""
    problem = CohortProblem(recovering(), 3, budgets=Budget("everyone", 20))
    standings = problem.standing(np.ones((100, 4), int))
    keys = np.arange(100).astype(np.uint64)
    solution = solve(problem, standings[:1], [100])
    assert solution.pending[:, :4].tolist() == standings[:1].tolist()
    with pytest.raises(PlanError, match="call settled"):
        solution.plans(standings, keys)
    with pytest.raises(PlanError, match="a key of its own"):
        solution.settled(standings, keys // np.uint64(2))
    with pytest.raises(PlanError, match="solved for 100 subjects and has 99"):
        solution.settled(standings[1:], keys[1:])
    settled = solution.settled(standings, keys)
    assert not len(settled.pending)
    with pytest.raises(PlanError, match="give their keys"):
        settled.plans(standings)


def test_many_weights_are_bounded_by_chords(monkeypatch):
    """Few levels give nearly the plans, and never too low a bound, of all weights."""
    problem = CohortProblem(recovering(3), 3, budgets=Budget("everyone", 60))
    standings, keys = crowd(problem, 200)
    weights = np.random.default_rng(2).uniform(0.5, 4.0, 200)
    few, _ = planned(problem, standings, keys, weights, gap=1e-5)
    monkeypatch.setattr("lastswitch.cohorts.solving.MOST_LEVELS", 1000)
    all_of_them, batch = planned(problem, standings, keys, weights, gap=1e-5)
    assert few.value <= all_of_them.bound + 1e-9
    assert all_of_them.value <= few.bound + 1e-9
    assert few.gap <= 0.02
    assert all_of_them.gap <= 1e-3
    heavy, light = weights > 3, weights < 1.5
    assert batch.value[heavy].mean() > batch.value[light].mean()


def test_a_number_is_no_budget():
    """It says neither who nor how often; the error shows how to say so."""
    bandit = ls.Bandit([ls.Curve([0.9], [0.1])])
    people = pa.table({"subject": ["ann"], bandit.names[0]: [1]})
    with pytest.raises(InputTypeError, match=r"budget must be a list, .*everyone: 500.*; got 12"):
        ls.plan_cohort(bandit, people, 2, budget=12)


def test_budgets_that_are_not_needed_cost_nothing():
    """No prices, no table, and the plans of no budget at all."""
    problem = CohortProblem(recovering(), 4, budgets=Budget("everyone", 10_000))
    standings, keys = crowd(problem, 100)
    solution, batch = planned(problem, standings, keys)
    free = CohortProblem(recovering(), 4)
    rows, counts, _ = free.distinct(standings)
    assert (solve(free, rows, counts).plans(standings).arms == batch.arms).all()
    assert not solution.prices.any()
    assert solution.optimal


@pytest.mark.parametrize(
    ("rules", "plays", "budget", "words"),
    [
        ([r.pinned(0, 1)], (0, 1), Budget(0, 9), "at least 10 plays in round 1"),
        ([], 1, Budget("everyone", 5), "at least 10 plays in round"),
        ([r.at_least(0, 2)], (0, 1), Budget(0, 19, per="all"), "at least 20 plays"),
    ],
)
def test_budgets_below_what_rules_force_are_refused(rules, plays, budget, words):
    """Pins, plays and least numbers; and the same budgets with one play more are kept."""
    bandit = recovering(2)
    problem = CohortProblem(bandit, 3, rules=rules, plays=plays, budgets=budget)
    rows = problem.standing([[1, 1]])
    with pytest.raises(BudgetError, match=words):
        solve(problem, rows, [10])
    enough = Budget(list(budget.who), {9: 10, 5: 10, 19: 20}[budget.plays], budget.per)
    kept = CohortProblem(bandit, 3, rules=rules, plays=plays, budgets=enough)
    assert (solve(kept, rows, [10]).use <= kept.rows.most).all()


def test_rules_that_no_plan_keeps_are_named_with_the_standing():
    """Before any price is looked for."""
    rules = [r.pinned(0, 0), r.rest(0, 3)]
    problem = CohortProblem(recovering(2), 3, rules=rules, budgets=Budget(0, 5))
    rows = problem.standing([[1, 1], [-1, 1]], [[1, 1], [1, 0]])
    with pytest.raises(InfeasibleError, match="1 standings in all"):
        solve(problem, rows, [3, 3])


def test_whole_subjects_may_not_fit_where_shares_do(monkeypatch):
    """Two plays each and a budget of three for two: shares of 3/4 would do, subjects not."""
    problem = CohortProblem(
        recovering(2), 2, rules=[r.at_least(0, 1)], plays=1, budgets=Budget(0, 1, rounds=[0])
    )
    rows = problem.standing([[1, 1]])
    assert solve(problem, rows, [2]).use.tolist() == [1]
    odd = CohortProblem(
        ls.Bandit([ls.curves.constant(0.5)] * 2, plays=(0, 1)),
        2,
        rules=[r.at_least("everyone", 2), r.never_after(0, 1), r.never_after(1, 0)],
        budgets=[Budget(0, 1, per="all"), Budget(1, 1, per="all")],
    )
    with pytest.raises(BudgetError, match="whole ones"):
        solve(odd, odd.standing([[1, 1]]), [1])


def test_a_time_limit_still_gives_plans_that_keep_budgets():
    """The bound is looser, and true."""
    problem = CohortProblem(recovering(), 5, budgets=Budget("everyone", 300))
    standings, keys = crowd(problem, 1000)
    hurried, _ = planned(problem, standings, keys, time_limit=1e-3)
    patient, _ = planned(problem, standings, keys)
    assert hurried.bound >= patient.value


def test_progress_says_value_and_bound():
    """The callback sees a bound that falls."""
    problem = CohortProblem(recovering(), 5, budgets=Budget("everyone", 300))
    standings, keys = crowd(problem, 1000)
    seen = []
    planned(problem, standings, keys, progress=seen.append)
    assert all(now.bound >= now.value for now in seen[-1:])


def test_samples_change_neither_budgets_nor_bounds(monkeypatch):
    """Prices begun from a sample end within the same gap."""
    monkeypatch.setattr(budgeted, "SAMPLE", 400)
    monkeypatch.setattr(pricing, "FEW", 10)
    problem = CohortProblem(recovering(5), 4, budgets=Budget("everyone", 400))
    solution, _ = planned(problem, *crowd(problem, 1500))
    assert solution.gap <= 2e-3
