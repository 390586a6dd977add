"""Planning parts of a schedule anew: never worse, never forbidden, and the search stays exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.certified import feasible, solve_model
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.search.neighbourhood import Neighbourhoods, played
from lastswitch.planning.search.params import SearchParams
from lastswitch.planning.search.perturbation import Perturbation
from planning.ruled.ruled_cases import ruled_cycles, ruled_problems

problems = st.one_of(ruled_problems, ruled_cycles)


@settings(max_examples=150, deadline=None)
@given(problems, st.integers(0, 2**32 - 1))
def test_arms_set_free_in_part_keep_the_schedule_and_what_it_is_worth(problem, seed):
    """What stays is played as before: with nothing free there is one schedule left."""
    model = ruled_model(problem)
    rounds = feasible(model).rounds
    assume(rounds is not None)
    plays = played(rounds, problem.n_arms)
    around, part = Neighbourhoods(model), np.random.default_rng(seed).random(plays.shape) < 0.5
    for free in (np.zeros_like(plays), part, np.ones_like(plays)):
        left = model._replace(arms=around.loosened(np.stack([free | ~plays, free | plays])))
        found = solve_model(left)
        assert found.bound >= problem.value(rounds) - 1e-9
        assert (played(found.rounds, problem.n_arms) == plays)[~free].all()


@settings(max_examples=150, deadline=None)
@given(problems)
def test_what_is_planned_anew_is_better_and_keeps_the_rules(problem):
    """From any schedule, up to the best one and no farther."""
    model = ruled_model(problem)
    rounds = feasible(model).rounds
    assume(rounds is not None)
    _, best = brute_force.solve(problem)
    around, price = Neighbourhoods(model), solve_model(model).prices
    usage = np.zeros((problem.n_arms, problem.length))
    for _ in range(12):
        value = problem.value(rounds)
        better, _ = around.improved(rounds, price, usage, 1e-9)
        if better is not None:
            assert value < problem.value(better) <= best + 1e-9
            rounds = better


@settings(max_examples=100, deadline=None)
@given(problems)
def test_a_perturbed_schedule_is_another_and_keeps_the_rules(problem):
    """It loses no more than it may; and better ones that are found on the way are true."""
    model = ruled_model(problem)
    rounds = feasible(model).rounds
    assume(rounds is not None)
    price, usage = solve_model(model).prices, np.zeros((problem.n_arms, problem.length))
    value, around = problem.value(rounds), Neighbourhoods(model)
    walk = Perturbation(model, SearchParams(perturbed_tries=1))
    for _ in range(8):
        other, _ = around.perturbed(rounds, price, usage, 1e-9)
        if other is not None:
            assert other != rounds
            assert problem.value(other) >= value - 0.05 * abs(value) - 1e-9
        better = walk.better(rounds, value, price, usage, 1e-9)
        assert better is None or problem.value(better) > value


@settings(max_examples=150, deadline=None)
@given(problems)
def test_a_search_in_small_doses_is_exact(problem):
    """Value and bound are those of enumeration, however early parts are planned anew or merged."""
    best, value = brute_force.solve(problem)
    small = SearchParams(
        **{"seed_width": 1, "narrow": 1, "widen": 2, "steps": (1, 1), "bundle_steps": 2},
        **{"grow_from": (0, 0), "merge_size": 1e6, "merge_most": 100_000, "merge_steps": 2},
    )
    answer = solve_model(ruled_model(problem), params=small)
    if best is None:
        assert answer.infeasible
    else:
        assert problem.value(answer.rounds) == pytest.approx(value, abs=1e-9)
        assert value - 1e-9 <= answer.bound <= value + 1e-9
