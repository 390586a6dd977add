"""What rules compile to says of every schedule what the plain evaluator says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings

from lastswitch import Bandit, curves
from lastswitch import rules as r
from lastswitch.errors import BlockError, RuleError
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.milp import flows as ilp
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import random_ruled, ruled_problems


def worth(problem: RuledProblem, rounds) -> float:
    """Return the value by definition, minus infinity for a broken hard rule."""
    try:
        return problem.value(rounds)
    except BlockError:
        return -math.inf


@settings(max_examples=150, deadline=None)
@given(ruled_problems)
def test_the_automata_value_every_schedule_as_the_definition_does(problem):
    """Counters, folded or apart, agree with the evaluator on all schedules."""
    arms = ruled_model(problem)
    choices = [brute_force.round_choices(problem, t) for t in range(problem.length)]
    for rounds in itertools.product(*choices):
        assert arms.value(rounds) == pytest.approx(worth(problem, rounds), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(ruled_problems)
def test_the_integer_program_finds_the_best_schedule(problem):
    """HiGHS on flows finds what enumeration finds, or that there is nothing."""
    best, value = brute_force.solve(problem)
    rounds, bound = ilp.solve(ruled_model(problem))
    if best is None:
        assert rounds is None
        assert bound == -math.inf
    else:
        assert problem.value(rounds) == pytest.approx(value, abs=1e-6)
        assert bound >= value - 1e-9


def test_the_cases_cover_what_they_should():
    """Several plays, silence, masks, history, feasible and infeasible sets all occur."""
    problems = [random_ruled(np.random.default_rng(seed)) for seed in range(150)]
    feasible = [brute_force.solve(problem)[0] is not None for problem in problems]
    assert 20 < sum(feasible) < 140
    assert any(problem.plays[1] == 3 for problem in problems)
    assert any(problem.plays[0] == 0 for problem in problems)
    assert any(problem.history for problem in problems)
    assert any(not problem.allowed.all() for problem in problems)


def test_a_rule_with_too_much_to_remember_suggests_periods():
    """Four in any 48 rounds is too much; four in each 48 rounds, or one in any 12, is not."""
    bandit = Bandit([curves.constant(0.5)] * 3, plays=(0, 1))

    def arms(rule, repeats=False):
        return ruled_model(RuledProblem.from_bandit(bandit, 96, rules=[rule], repeats=repeats))

    for repeats in (False, True):
        with pytest.raises(RuleError, match=r"too much to remember.*every="):
            arms(r.at_most("everyone", 4, within=48), repeats)
        assert arms(r.at_most("everyone", 4, every=48), repeats).length == 96
        assert arms(r.apart("everyone", 12), repeats).length == 96
