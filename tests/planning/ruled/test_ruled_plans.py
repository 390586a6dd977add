"""plan_block under rules: what people schedule, in their words."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import (
    BlockError,
    InfeasibleError,
    PlanError,
    ProblemError,
    RuleError,
    UndecidedError,
)
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.conflicts import conflict
from lastswitch.planning.plan import Plan
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import ruled_problems


def radio(**options) -> ls.Bandit:
    """Return three songs, two by one artist."""
    curves = [ls.Curve([0.3, 0.8, 0.9], [0.1]), ls.Curve([0.5, 0.6], [0.2]), ls.Curve([0.4], [0.4])]
    names = ["hello", "skyfall", "talk"]
    return ls.Bandit(curves, names=names, groups={"Adele": ["hello", "skyfall"]}, **options)


@pytest.mark.parametrize("solver", ["certified", "ilp", "brute-force"])
def test_every_exact_solver_plans_under_rules(solver):
    """The artist is three rounds apart, talk is pinned, and the plan says it is optimal."""
    rules = [r.apart("Adele", 3), r.pinned("talk", 1)]
    plan = ls.plan_block(radio(), 6, rules=rules, solver=solver)
    assert plan.optimal
    assert plan.value == pytest.approx(ls.plan_block(radio(rules=rules), 6).value)
    assert plan.block[1] == 2
    places = [t for t, arm in enumerate(plan.block) if arm < 2]
    assert min(np.diff(places)) >= 3


def test_enumeration_out_of_time_has_a_finite_bound():
    """The best so far and a bound that holds."""
    plan = ls.plan_block(radio(plays=(0, 2)), 6, solver="brute-force", time_limit=0.05)
    assert ls.plan_block(radio(plays=(0, 2)), 6).value <= plan.bound < math.inf
    with pytest.raises(PlanError, match="would try"):
        ls.plan_block(radio(plays=(0, 2)), 20, solver="brute-force")


def test_the_relaxation_refuses_rules():
    """Algorithm 2 has one arm in every round and nothing else."""
    with pytest.raises(PlanError, match="Algorithm 2"):
        ls.plan_block(radio(), 4, rules=[r.apart("Adele", 3)], solver="relaxation")


def test_several_plays_and_silence():
    """Two arms a round, or none where silence pays more; block is empty, rounds says all."""
    plan = ls.plan_block(radio(), 4, plays=2)
    assert all(len(arms) == 2 for arms in plan.rounds)
    assert plan.block == ()
    assert plan.per_round == plan.value / 4
    quiet = ls.plan_block(radio(), 4, plays=(0, 2), silence=1.0)
    assert quiet.rounds == ((), (), (), ())
    assert quiet.value == 8.0
    assert "·" in str(quiet)


def test_a_plan_of_several_plays_draws_and_reads():
    """A lane per arm with a bar per play; pays by arm add up to the value."""
    plan = ls.plan_block(radio(), 5, plays=(0, 2), rules=[r.rest("everyone", 2)])
    axes = plan.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hello", "skyfall", "talk"]
    assert len(axes.patches) >= 2 * sum(map(len, plan.rounds))
    assert "hello + " in str(plan)
    cycle = ls.plan_cycle(radio(), 4, plays=2)
    assert cycle.problem.offers(cycle.rounds).shape == (4, 3)


def test_a_history_gives_the_state_and_the_memory_of_rules():
    """Played just before, an artist must wait; a bare state says nothing about that."""
    rules = [r.apart("Adele", 3)]
    plan = ls.plan_block(radio(), 4, rules=rules, history=["hello", "talk"])
    assert plan.block[0] == 2
    free = ls.plan_block(radio(), 4, rules=rules, start=[1, 3, -1])
    assert free.block[0] in (0, 1)
    assert free.value > plan.value
    plain = ls.plan_block(radio(), 3, history=["hello", "talk"])
    assert plain.value == ls.plan_block(radio(), 3, start=[1, 3, -1]).value


def test_a_plan_under_rules_survives_its_file(tmp_path):
    """Saved and loaded, it still explains itself; changed, it is refused."""
    plan = ls.plan_block(radio(), 5, rules=[r.at_most("Adele", 2, cost=0.1)], plays=(0, 2))
    plan.save(tmp_path / "plan.json")
    again = ls.load_plan(tmp_path / "plan.json")
    assert again.rounds == plan.rounds
    assert again.problem.rules == plan.problem.rules
    assert str(again.explain()) == str(plan.explain())
    cycle = ls.plan_cycle(radio(), 5, rules=[r.apart("Adele", 2)])
    data = json.loads(json.dumps(cycle.to_dict()))
    assert Plan.from_dict(data).value == cycle.value


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"rules": [r.apart("Adelle", 3)]}, RuleError, "did you mean 'Adele'"),
        ({"rules": [r.never("talk", when="sunday")]}, RuleError, "calendar"),
        ({"plays": 4}, ls.LastSwitchError, "at most 3, got 4"),
        ({"rules": [r.apart("talk", 2)], "history": ["tlk"]}, BlockError, "did you mean 'talk'"),
        (
            {"plays": 2, "allowed": np.array([[True, False, False]] * 4)},
            ProblemError,
            "must play at least 2",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, what):
    """The message says what was given and what to do."""
    with pytest.raises(error, match=what):
        ls.plan_block(radio(), 4, **options)


def test_a_schedule_that_breaks_a_rule_has_no_value():
    """The definition refuses it and names the rule and the round."""
    problem = RuledProblem.from_bandit(radio(), 3, rules=[r.apart("Adele", 3)])
    assert problem.value([(0,), (2,), (2,)]) > 0
    with pytest.raises(BlockError, match="round 1 breaks the rule Adele"):
        problem.value([(0,), (1,), (2,)])
    with pytest.raises(BlockError, match="must play 1 to 1"):
        problem.value([(0,), (), (2,)])


def test_rules_that_clash_are_named_with_what_dropping_each_allows():
    """A smallest set; innocent rules are not in it."""
    pinned, never = r.pinned("talk", 3), r.never("talk", [2, 3])
    rules = [r.rest("Adele", 2), pinned, r.at_most("hello", 3), never]
    with pytest.raises(InfeasibleError) as error:
        ls.plan_block(radio(), 6, rules=rules)
    assert error.value.conflict == (pinned, never)
    text = str(error.value)
    assert text.startswith("pinned('talk', 3) and never('talk', [2, 3]) cannot hold together.")
    without = ls.plan_block(radio(), 6, rules=[rules[0], rules[2], never])
    assert f"without pinned('talk', 3) the best plan is worth {without.value:.5g}" in text


@settings(max_examples=80, deadline=None)
@given(ruled_problems)
def test_conflicts_are_irreducible(problem):
    """By enumeration: the set has no schedule, every set with one rule fewer has some."""
    if brute_force.solve(problem)[0] is not None:
        return
    found = conflict(problem)
    assert found.smallest
    assert brute_force.solve(problem.with_rules(found.rules))[0] is None
    for number in range(len(found.rules)):
        fewer = [rule for k, rule in enumerate(found.rules) if k != number]
        assert brute_force.solve(problem.with_rules(fewer))[0] is not None
    for rule, (value, most) in zip(found.rules, found.worth, strict=True):
        without = problem.with_rules([other for other in problem.rules if other is not rule])
        best, worth = brute_force.solve(without)
        assert value == pytest.approx(worth) if best else value == most == -math.inf


def test_out_of_time_is_not_a_proof():
    """Nothing found and nothing shown is said as such; with more time there is a plan."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([(rng.uniform(0.8, 1.0, 9), [0.9])] * 2 + [(0.1 * rng.random(9), [0.0])] * 4)
    # The two that pay most must be kept for the end, which no first look sees; and that is so far
    # away that the millisecond there is at least does not get there.
    rules = [r.at_most([0, 1], 3), r.at_least([0, 1], 3, spans=[(236, 240)])]
    with pytest.raises(UndecidedError, match="more time"):
        ls.plan_block(bandit, 240, rules=rules, time_limit=1e-9)
    assert ls.plan_block(bandit, 240, rules=rules).optimal


@settings(max_examples=60, deadline=None)
@given(ruled_problems)
def test_a_rule_costs_what_enumeration_says(problem):
    """Value without the rule less value with it; rules that cannot bind cost nothing."""
    best, value = brute_force.solve(problem)
    if best is None:
        return
    plan = ls.plan_block(problem)
    for number, report in enumerate(plan.explain().rules):
        _, without = brute_force.solve(problem.without(number))
        assert report.least == pytest.approx(without - value, abs=1e-6)
        assert report.most == pytest.approx(without - value, abs=1e-6)
        if not report.can_bind:
            assert without == pytest.approx(value)
        if report.binds:
            assert report.would_break
        broken = r.violations(problem.bound_rules[number], plan.rounds, problem.history)
        assert list(report.broken) == broken


def test_an_explanation_speaks_of_every_rule():
    """Costs, soft violations by round, and rules that can never bind."""
    rules = [
        r.at_most("talk", 9),
        r.apart("Adele", 3),
        r.at_least("talk", 6, cost=0.01, name="talk a lot"),
    ]
    text = str(ls.plan_block(radio(), 6, rules=rules).explain())
    assert "talk: at most 9 plays\n  can never bind" in text
    assert "Adele: any two plays at least 3 rounds apart\n  costs" in text
    assert "broken in round 5" in text
    with pytest.raises(PlanError, match="no rules"):
        ls.plan_block(radio(), 6).explain()


def test_an_explanation_out_of_time_gives_intervals():
    """Costs that are not proven lie between two numbers."""
    rng = np.random.default_rng(1)
    bandit = ls.Bandit([(np.sort(rng.random(12)), [0.0]) for _ in range(16)])
    rules = [r.at_most([i, i + 1, i + 2, i + 3], 2, within=9) for i in range(0, 12, 2)]
    plan = ls.plan_block(bandit, 40, rules=rules, time_limit=0.5)
    report = plan.explain(time_limit=0.05).rules[0]
    assert report.least <= report.most
    assert report.most >= 0
