"""True optima, the environment and simulations keep a bandit's rules."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import BanditError, ExperimentError, InfeasibleError, RuleError
from lastswitch.model.environment import LSDEnv
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.rules.automata.keeping import Keeper
from planning.ruled.ruled_cases import random_rule


def random_bandit(seed: int) -> ls.Bandit:
    """Draw a small bandit whose rules speak of rounds as they come."""
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 4))
    curves = [
        ls.Curve(rng.integers(0, 5, rng.integers(1, 3)) / 4, [float(rng.integers(0, 2)) / 4])
        for _ in range(n_arms)
    ]
    rules: list[r.Rule] = []
    while len(rules) < rng.integers(1, 4):
        rule = random_rule(rng, n_arms, 3)
        steady = isinstance(rule, r.Succession) or rule.within or rule.every in (1, 2)
        if steady:
            rules.append(rule)
    highest = int(rng.integers(1, min(n_arms, 2) + 1))
    return ls.Bandit(curves, rules=rules, plays=(int(rng.integers(0, highest + 1)), highest))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_best_average_is_that_of_some_cycle_and_of_no_better_one(seed):
    """No cycle of up to six rounds beats it, and a cycle earns it."""
    bandit = random_bandit(seed)
    try:
        best = ls.optimal_average(bandit)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            ls.best_cycle(bandit, 4)
        return
    assert best.optimal
    length = len(best.rounds)
    problem = RuledProblem.from_bandit(bandit, length, repeats=True) if length % 2 == 0 else None
    if problem is not None:
        assert problem.value(best.rounds) / length == pytest.approx(best.value)
    for other in (2, 4):
        _, value = brute_force.solve(RuledProblem.from_bandit(bandit, other, repeats=True))
        assert value / other <= best.value + 1e-9


def test_averages_under_rules_that_are_known():
    """At most once in three rounds; twice a pair of rounds; silence that pays."""
    two = [ls.curves.constant(0.5), ls.curves.constant(0.25)]
    best = ls.optimal_average(ls.Bandit(two, rules=[r.at_most(0, 1, within=3)]))
    assert (best.fraction, best.optimal) == (Fraction(1, 3), True)
    both = ls.optimal_average(ls.Bandit(two, plays=2))
    assert (both.fraction, both.block, both.rounds) == (Fraction(3, 4), (), ((0, 1),))
    quiet = ls.optimal_average(ls.Bandit(two, plays=(0, 1), silence=0.75))
    assert (quiet.fraction, quiet.rounds) == (Fraction(3, 4), ((),))
    every = ls.optimal_average(ls.Bandit(two, rules=[r.at_least(1, 1, every=4, cost=0.5)]))
    assert every.fraction == Fraction(7, 16)


@pytest.mark.parametrize("offset", range(3))
def test_an_average_begins_its_turn_where_periods_are_counted_from(offset):
    """Whatever rounds the periods begin at, the turn handed back keeps them."""
    rules = [r.at_most("everyone", 1, every=3, offset=offset, each=True, cost=1.0)]
    arms = [ls.Curve([0.0, 0.5], [0.25]), ls.Curve([0.25, 1.0], [0.25])]
    best = ls.optimal_average(ls.Bandit(arms, rules=rules, plays=(0, 1)))
    assert best.optimal
    problem = RuledProblem.from_bandit(
        ls.Bandit(arms, rules=rules, plays=(0, 1)), len(best.rounds), repeats=True
    )
    assert problem.value(best.rounds) / len(best.rounds) == pytest.approx(best.value)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([-0.5, 0.0, 0.3]))
def test_the_frequency_bound_holds_for_several_plays_and_silence(seed, silence):
    """No average exceeds it, with rules or without."""
    drawn = random_bandit(seed)
    for rules in ((), drawn.rules):
        bandit = ls.Bandit(drawn.curves, plays=drawn.plays, silence=silence, rules=rules)
        try:
            best = ls.optimal_average(bandit)
        except InfeasibleError:
            continue
        assert ls.average_bound(bandit) >= best.value - 1e-9


def test_beyond_the_states_to_list_an_average_is_bounded():
    """The best short cycle under the frequency bound, and it says so."""
    bandit = ls.Bandit([ls.Curve([0.1, 0.5, 0.9], [0.0])] * 3, rules=[r.rest(0, 2)], plays=(0, 2))
    some = ls.optimal_average(bandit, max_states=3)
    exact = ls.optimal_average(bandit)
    assert some.states == 0
    assert some.value <= exact.value + 1e-9 <= some.bound + 2e-9


@pytest.mark.parametrize("periods", [(3, 5), (3, 4), (2, 7), (16, 16)])
def test_beyond_the_states_to_list_periods_that_rarely_meet_are_kept(periods):
    """Only cycles that the periods of all rules fit are looked at, however long the shortest is."""
    rules = [r.at_most(arm, 1, every=period) for arm, period in enumerate(periods)]
    bandit = ls.Bandit([ls.curves.constant(pay) for pay in (0.9, 0.7, 0.2)], rules=rules)
    some = ls.optimal_average(bandit, max_states=3)
    exact = ls.optimal_average(bandit)
    assert some.states == 0
    assert len(some.rounds) % math.lcm(*periods) == 0
    assert some.fraction == exact.fraction
    assert some.bound >= exact.value - 1e-9


def test_totals_are_planned_blocks():
    """The total of a horizon is the best block's."""
    bandit = ls.Bandit([ls.Curve([1.0], [0.0])] * 2, rules=[r.at_most(0, 2)], plays=(0, 1))
    total = ls.optimal_total(bandit, 6)
    assert total.optimal
    assert total.value == ls.plan_block(bandit, 6).value


def test_an_average_refuses_rules_about_certain_rounds():
    """Rounds without end have no round 3 of their own."""
    with pytest.raises(RuleError, match="within= or every="):
        ls.optimal_average(ls.Bandit([ls.curves.constant(0.5)] * 2, rules=[r.pinned(0, 3)]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_legal_breaks_no_rule_and_what_is_not_does(seed):
    """Play by play, the keeper says what the evaluator says of the rounds so far."""
    bandit, rng = random_bandit(seed), np.random.default_rng(seed)
    keeper, rounds, horizon = Keeper(bandit, 6), [], 6
    rules = [rule.bound(bandit.names, bandit.groups) for rule in bandit.rules if rule.hard]
    for t in range(horizon):
        size = int(rng.integers(bandit.plays[0], bandit.plays[1] + 1))
        arms = sorted(rng.choice(bandit.n_arms, size, replace=False).tolist())
        # What comes after is not looked at: only violations of this round count.
        broken = [
            v
            for rule in rules
            for v in r.violations(rule, [*rounds, arms, *([()] * (horizon - t - 1))])
            if v.round == t
        ]
        assert keeper.legal(arms) == (not broken)
        keeper.play(arms)
        rounds.append(arms)


def test_the_environment_masks_what_rules_forbid():
    """Illegal actions are masked and refused; silence is one more action."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 2, rules=[r.rest("everyone", 2)], plays=(0, 1))
    env = LSDEnv(bandit, horizon=4)
    assert env.action_space.n == 3
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1]
    *_, info = env.step(0)
    assert info["action_mask"].tolist() == [0, 1, 1]
    with pytest.raises(BanditError, match="breaks a rule"):
        env.step(0)
    observation, reward, *_ = env.step(2)
    assert (observation.tolist(), reward) == ([1, 3], 0.0)


def test_an_episode_without_a_legal_action_ends():
    """One arm that must rest, and no silence."""
    env = LSDEnv(ls.Bandit([ls.curves.constant(0.5)], rules=[r.rest(0, 2)]), horizon=4)
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (True, False)
    assert info["action_mask"].tolist() == [0]
    with pytest.raises(BanditError, match="one arm a round"):
        LSDEnv(ls.Bandit([ls.curves.constant(0.5)] * 2, plays=2), horizon=4)


def test_a_policy_that_breaks_a_hard_rule_is_an_error():
    """A cycle that keeps the rule runs; one that does not is refused, with the round."""
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 2, rules=[r.rest(0, 2, name="rested")])
    assert ls.simulate(bandit, ls.FixedCycle([0, 1]), 10).horizon == 10
    with pytest.raises(ExperimentError, match=r"rested.*round 1"):
        ls.simulate(bandit, ls.FixedCycle([0, 0, 1]), 10)
    with pytest.raises(ExperimentError, match=r"plays 1 to 1 arms a round, and this bandit 2"):
        ls.simulate(ls.Bandit([ls.curves.constant(0.5)] * 2, plays=2), ls.FixedCycle([0, 1]), 10)
