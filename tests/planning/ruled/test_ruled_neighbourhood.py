"""Planning parts of a schedule anew: never worse, never forbidden, and the search stays exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastswitch.planning.ruled import brute_force, search
from lastswitch.planning.ruled.compiled import compiled
from lastswitch.planning.ruled.neighbourhood import Neighbourhoods, played
from lastswitch.planning.ruled.prices import Prices
from planning.ruled.ruled_cases import ruled_cycles, ruled_problems

problems = st.one_of(ruled_problems, ruled_cycles)


@settings(max_examples=150, deadline=None)
@given(problems, st.integers(0, 2**32 - 1))
def test_machines_set_free_in_part_keep_the_schedule_and_what_it_is_worth(problem, seed):
    """What stays is played as before: with nothing free, the bound is the schedule's own value."""
    rounds = search.feasible(compiled(problem)).rounds
    assume(rounds is not None)
    arms = compiled(problem)
    plays = played(rounds, problem.n_arms)
    around = Neighbourhoods(arms)
    stays = around.freed(plays, np.zeros_like(plays))
    assert len(stays.nxt) <= plays.sum()
    part = np.random.default_rng(seed).random(plays.shape) < 0.5
    for free in (np.zeros_like(plays), part, np.ones_like(plays)):
        bound = Prices(around.freed(plays, free), arms.heard).bound
        assert bound >= problem.value(rounds) - 1e-9


@settings(max_examples=150, deadline=None)
@given(problems)
def test_what_is_planned_anew_is_better_and_keeps_the_rules(problem):
    """From any schedule, up to the best one and no farther."""
    arms = compiled(problem)
    rounds = search.feasible(arms).rounds
    assume(rounds is not None)
    _, best = brute_force.solve(problem)
    around, price = Neighbourhoods(arms), search.solve(arms).prices
    for _ in range(12):
        value = problem.value(rounds)
        better = around.improved(rounds, arms.heard, price, value + 1e-9, 1e-9)
        if better is not None:
            assert value < problem.value(better) <= best + 1e-9
            rounds = better


@settings(max_examples=150, deadline=None)
@given(problems)
def test_a_search_that_plans_anew_after_every_pass_is_exact(problem):
    """Value and bound are those of enumeration, however early parts are planned anew."""
    best, value = brute_force.solve(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "PLAN_ANEW_FROM", -1)
        patch.setattr(search, "SCOUT", 1)
        patch.setattr(search, "NARROW", 1)
        answer = search.solve(compiled(problem))
    if best is None:
        assert answer.infeasible
    else:
        assert problem.value(answer.rounds) == pytest.approx(value, abs=1e-9)
        assert value - 1e-9 <= answer.bound <= value + 1e-9
