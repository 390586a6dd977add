"""Cycles under rules: the best one is found and proven, whatever goes across the seam."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import BlockError, InfeasibleError, RuleError
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.certified import solve_model
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.milp import flows as ilp
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import ruled_cycles


def worth(problem: RuledProblem, rounds) -> float:
    """Return the value by definition, minus infinity for a broken hard rule."""
    try:
        return problem.value(rounds)
    except BlockError:
        return -math.inf


@settings(max_examples=200, deadline=None)
@given(ruled_cycles)
def test_all_solvers_agree_on_cycles(problem):
    """Automata value every turn as the definition does; certified and ILP find the best."""
    arms = ruled_model(problem)
    choices = [brute_force.round_choices(problem, t) for t in range(problem.length)]
    best = -math.inf
    for rounds in itertools.product(*choices):
        value = worth(problem, rounds)
        assert arms.value(rounds) == pytest.approx(value, abs=1e-9)
        best = max(best, value)
    answer = solve_model(arms)
    planned, bound = ilp.solve(arms)
    if best == -math.inf:
        assert answer.infeasible
        assert planned is None
    else:
        assert problem.value(answer.rounds) == pytest.approx(best, abs=1e-9)
        assert answer.bound == pytest.approx(best, abs=1e-9)
        assert problem.value(planned) == pytest.approx(best, abs=1e-6)
        assert bound >= best - 1e-9


def settled(rounds, streaks) -> list[int]:
    """Return the states in which every turn of an endlessly repeated schedule starts."""
    turns, states = rounds * 2, []
    for arm, streak in enumerate(streaks):
        rested, run = 0, 0
        for arms in turns:
            rested, run = (0, run + 1) if arm in arms else (rested + 1, 0)
        # An arm that never rests is in its longest streak.
        states.append(rested or -(streak if run == len(turns) else run))
    return states


@settings(max_examples=50, deadline=None)
@given(ruled_cycles)
def test_a_turn_pays_what_playing_it_for_long_pays(problem):
    """The value of a turn without rules is what a block pays that starts where turns start."""
    free = problem.with_rules([])
    rounds = solve_model(ruled_model(free)).rounds
    start = settled(rounds, [len(curve.streak) for curve in free.curves])
    bandit = ls.Bandit(free.curves)
    block = RuledProblem.from_bandit(
        bandit, free.length, start=start, plays=free.plays, silence=free.silence
    )
    assert block.value(rounds) == pytest.approx(free.value(rounds))


def radio(**options) -> ls.Bandit:
    """Return three songs, two by one artist."""
    curves = [ls.Curve([0.3, 0.8, 0.9], [0.1]), ls.Curve([0.5, 0.6], [0.2]), ls.Curve([0.4], [0.4])]
    names = ["hello", "skyfall", "talk"]
    return ls.Bandit(curves, names=names, groups={"Adele": ["hello", "skyfall"]}, **options)


def test_plan_cycle_and_best_cycle_keep_rules_across_the_seam():
    """The artist is three rounds apart also from the end of a turn to its beginning."""
    rules = [r.apart("Adele", 3)]
    plan = ls.plan_cycle(radio(), 4, rules=rules)
    assert plan.optimal
    assert plan.repeats
    assert sum(arm in (0, 1) for arm in plan.block) == 1
    best = ls.best_cycle(radio(rules=rules), 7)
    assert best.optimal
    assert best.per_round >= plan.per_round
    bound_rules = [rule.bound(radio().names, radio().groups) for rule in rules]
    assert not r.violations(bound_rules[0], best.rounds * 3, repeats=False)


def test_best_cycle_passes_over_lengths_that_do_not_fit():
    """Periods of three rounds leave lengths 3 and 6; rules nothing fits leave none."""
    best = ls.best_cycle(radio(), 7, rules=[r.at_least("talk", 1, every=3)])
    assert len(best.rounds) in (3, 6)
    with pytest.raises(RuleError, match="multiple of 9"):
        ls.best_cycle(radio(), 7, rules=[r.at_least("talk", 1, every=9)])
    with pytest.raises(InfeasibleError):
        ls.best_cycle(radio(), 3, rules=[r.never("everyone")])


def test_a_cycle_explains_itself_and_names_clashes():
    """What each rule costs a turn; and which rules no turn keeps."""
    rules = [r.apart("Adele", 3), r.at_most("talk", 5)]
    reports = ls.plan_cycle(radio(), 5, rules=rules).explain().rules
    without = ls.plan_cycle(radio(), 5, rules=rules[1:]).value
    assert reports[0].most == pytest.approx(without - ls.plan_cycle(radio(), 5, rules=rules).value)
    assert not reports[1].can_bind
    with pytest.raises(InfeasibleError) as error:
        ls.plan_cycle(radio(), 4, rules=[*rules, r.never("talk", [1, 2])])
    assert set(error.value.conflict) == {rules[0], r.never("talk", [1, 2])}


def test_a_window_longer_than_the_turn_is_kept_too():
    """A song once in nine rounds cannot be in a cycle of four."""
    plan = ls.plan_cycle(radio(), 4, rules=[r.rest("hello", 9)])
    assert 0 not in plan.block
    assert 0 in ls.plan_cycle(radio(), 9, rules=[r.rest("hello", 9)]).block
