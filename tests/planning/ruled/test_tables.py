"""Counters as tables, and arms with counters folded in: kernels do what plain Python does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch import Bandit, curves
from lastswitch import rules as r
from lastswitch.planning.diagrams import folding
from lastswitch.planning.diagrams.shared import plain_arms, round_events, rule_counters
from lastswitch.planning.diagrams.tables import explored, tabulated, tabulated_reference
from lastswitch.planning.diagrams.turn import cycle_arms
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import ruled_cycles, ruled_problems

problems = st.one_of(ruled_problems, ruled_cycles)


def heard_events(counters, problem):
    """Return the events of a round, as each of some counters hears it."""
    letters = [[c.letters.get(arm, 0) for arm in range(problem.n_arms)] for c in counters]
    heard = [sorted(round_events(np.array(row), problem.plays)) for row in letters]
    most = max(map(len, heard))
    return list(zip(*(row + row[-1:] * (most - len(row)) for row in heard), strict=True))


@settings(max_examples=300, deadline=None)
@given(problems)
def test_tables_are_those_of_every_state_of_every_round(problem):
    """Stepping each state once per kind of round gives the same table, alone and jointly."""
    counters = rule_counters(problem)
    for some in [*([counter] for counter in counters), counters[:2], counters[1:3]]:
        if not some:
            continue
        events = heard_events(some, problem)
        fast = tabulated(some, events, problem.length)
        plain = tabulated_reference(some, events, problem.length)
        for mine, yours in zip(fast, plain, strict=True):
            assert mine.tolist() == yours.tolist()


@settings(max_examples=300, deadline=None)
@given(problems)
def test_a_counter_steps_alike_in_rounds_of_one_phase(problem):
    """What a step does hangs on the round through its phase only."""
    for counter in rule_counters(problem):
        events = [event for (event,) in heard_events([counter], problem)]
        states = {counter.start}
        seen = {}
        for t, phase in enumerate(counter.phases):
            steps = {(s, e): counter.step(t, s, e) for s in states for e in events}
            known = seen.setdefault(phase, {})
            assert all(known.get(key, step) == step for key, step in steps.items())
            known.update(steps)
            states |= {state for state, _ in steps.values()}
            if len(states) > 200:
                break


@settings(max_examples=300, deadline=None)
@given(problems)
def test_folding_lists_the_states_that_can_be_reached(problem):
    """The kernel finds the same states and moves in the same order as plain Python."""
    arms = cycle_arms(problem) if problem.repeats else plain_arms(problem)
    own = [[] for _ in range(problem.n_arms)]
    for counter in rule_counters(problem):
        if len(counter.letters) == 1 and counter.cost is None:
            own[next(iter(counter.letters))].append(counter)
    kinds = np.zeros(problem.n_arms, np.int64)
    automata, _, owner = folding.folded(arms, own, problem.allowed, kinds)
    factors = folding._factors(arms.arms, own)
    offset, states, moves, gain = folding.fold_reference(factors, problem.allowed)
    assert np.append(automata.lo, automata.hi[-1]).tolist() == offset
    assert owner.tolist() == [arm for arm, _, _ in states]
    assert list(zip(automata.idle.tolist(), automata.nxt.tolist(), strict=True)) == moves
    assert automata.gain.tolist() == gain


def test_folding_makes_room_as_it_needs(monkeypatch):
    """However little room it begins with, the automata are the same."""
    bandit = Bandit([curves.constant(0.5)] * 2, rules=[r.at_most(0, 2, within=6)])
    problem = RuledProblem.from_bandit(bandit, 12)
    own = [rule_counters(problem), []]
    arms, kinds = plain_arms(problem), np.zeros(2, np.int64)
    ample, *_ = folding.folded(arms, own, problem.allowed, kinds)
    monkeypatch.setattr(folding, "ROOM", 0.02)
    tight, *_ = folding.folded(arms, own, problem.allowed, kinds)
    for mine, yours in zip(ample, tight, strict=True):
        assert mine.tolist() == yours.tolist()


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        (r.at_most([0, 1], 3, within=7), 1),
        (r.at_most([0, 1], 3, every=7), 2),
        (r.at_least([0, 1], 2, within=7), 2),
        (r.never_after(0, 1), 1),
    ],
)
def test_steps_are_taken_once_for_each_kind_of_round(rule, kinds):
    """A rule has one kind of round or two, however many rounds there are."""
    problem = RuledProblem.from_bandit(Bandit([curves.constant(0.5)] * 3, rules=[rule]), 28)
    counters = rule_counters(problem)
    assert len(explored(counters, [(0,), (1,)], 28).after) == kinds
