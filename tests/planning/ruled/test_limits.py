"""Rules with much to remember, or endless windows: limits are kept, and memory is not asked for."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import RuleError, UndecidedError
from lastswitch.planning import ruled_solve as solving
from lastswitch.planning.diagrams import folding
from lastswitch.planning.search import stages
from lastswitch.rules import violations

#: A limit, and what a slow machine may take beyond it.
LIMIT, LATE = 0.5, 4.0
HARD = [r.at_most(0, 3, within=16)]


def two(**options) -> ls.Bandit:
    """Return two arms."""
    curves = [ls.Curve([0.2, 0.5, 0.9], [0.1]), ls.Curve([0.3], [0.3])]
    return ls.Bandit(curves, **options)


CALLS = {
    "cycle": lambda: ls.plan_cycle(two(), 24, rules=HARD, time_limit=LIMIT),
    "best": lambda: ls.best_cycle(two(), 24, rules=HARD, time_limit=LIMIT),
    "average": lambda: ls.optimal_average(two(rules=HARD), time_limit=LIMIT),
    "ilp": lambda: ls.plan_block(
        two(), 40, rules=[r.at_most(0, 9, within=30)], time_limit=LIMIT, solver="ilp"
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_compiling_rules_keeps_to_the_time_limit(call):
    """What took many times the limit ends soon after it, with an answer or without."""
    stages.ready_to_grow_shared()
    ls.plan_cycle(two(), 4, rules=[r.at_most(0, 1, within=3)], time_limit=60)  # kernels load
    began = time.perf_counter()
    try:
        found = CALLS[call]()
    except UndecidedError:
        found = None
    assert time.perf_counter() - began < LIMIT + LATE
    assert found is None or found.value <= found.bound < float("inf")


def test_out_of_time_a_warm_plan_is_the_answer():
    """It keeps the rules; its bound is what places could pay."""
    rules = [r.at_most(0, 9, within=30)]
    warm = ls.Plan((1,) * 40, 0.0, 0.0)
    plan = ls.plan_block(two(), 40, rules=rules, warm=warm, time_limit=1e-6)
    assert plan.block == (1,) * 40
    assert not plan.optimal
    assert plan.bound == pytest.approx(plan.problem.ceiling())


@pytest.mark.parametrize(
    "windows",
    [
        {"every": 10**9},
        {"every": 10**30},
        {"every": 10**30, "offset": 10**29},
        {"within": 10**12},
        {"spans": [(-(10**12), 10**12)]},
    ],
)
def test_endless_windows_are_the_whole_block(windows):
    """Only the rounds there are get walked."""
    for make in (r.at_most, r.at_least):
        plan = ls.plan_block(two(), 12, rules=[make(0, 3, cost=2.0, **windows)])
        assert plan.optimal
    plan = ls.plan_block(two(), 12, rules=[r.at_most(0, 3, **windows)])
    assert plan.value == ls.plan_block(two(), 12, rules=[r.at_most(0, 3)]).value
    outside = r.only(0, range(3, 6))
    assert violations(outside.bound(["a", "b"], {}), [(0,)] * 8)


def test_a_repeated_turn_has_any_past_without_writing_it_down():
    """Of a window of 2**53 rounds, as of one of a few."""
    turn = [(0,), (1,), (0,), ()]
    for within, most in [(2**53, 3), (2**53, 2**52), (9, 5), (3, 1), (4, 2)]:
        rule = r.at_most(0, most, within=within)
        turns = min(within, 40)
        past = turn * turns
        listed = violations(rule, turn, history=past) if within < 100 else None
        found = violations(rule, turn, repeats=True)
        assert listed is None or found == listed
    assert found == []
    assert violations(r.at_most(0, 2**52 - 1, within=2**53), turn, repeats=True)
    assert violations(r.at_least(0, 2**52 + 1, within=2**53), turn, repeats=True)
    assert not violations(r.at_least(0, 2**52, within=2**53), turn, repeats=True)


def test_arms_times_rules_that_fill_the_memory_are_refused(monkeypatch):
    """With a sentence, before the machine runs out of it."""
    monkeypatch.setattr(folding, "MOST_STATES", 50)
    monkeypatch.setattr(folding, "ROOM", 0.01)
    with pytest.raises(RuleError, match="too much to remember"):
        ls.plan_block(two(), 12, rules=[r.at_most(0, 3, within=6)])


def test_ctrl_c_ends_an_explanation(monkeypatch):
    """The rule looked at and all after it are told as far as they are known."""
    rules = [r.at_most(0, 2), r.at_most(1, 8), r.at_most(0, 3, within=6)]
    plan = ls.plan_block(two(), 10, rules=rules)
    whole = plan.explain().rules
    real, asked = solving.solved, []

    def once(problem, **options):
        asked.append(options["time_limit"])
        if len(asked) == 2:
            return real(problem, **options)._replace(interrupted=True)
        return real(problem, **options)

    def pressed(problem, **options):
        asked.append(options["time_limit"])
        if len(asked) == 1:
            raise KeyboardInterrupt
        return real(problem, **options)

    from lastswitch.planning import explain

    monkeypatch.setattr(explain, "solved", once)
    for report, other in zip(plan.explain().rules, whole, strict=True):
        assert report.least <= other.least <= other.most <= report.most
    assert asked[:2] == [None, None]
    assert asked[2] <= 1e-3
    asked.clear()
    monkeypatch.setattr(explain, "solved", pressed)
    reports = plan.explain().rules
    assert [limit is not None for limit in asked] == [False, True, True, True]
    assert all(report.least <= 0.0 or report.can_bind for report in reports)
    assert reports[0].most >= whole[0].most


def test_ctrl_c_ends_an_integer_program_under_rules():
    """HiGHS runs on a thread of its own; without a schedule so far the interrupt is passed on."""
    rules = [r.at_most(range(4), 5, within=12), r.apart(range(3, 12), 2), r.rest(range(12), 3)]
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(rng.random(5), [0.1], monotone=False) for _ in range(12)])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    try:
        plan = ls.plan_block(bandit, 60, rules=rules, plays=(1, 2), solver="ilp", time_limit=60)
    except KeyboardInterrupt:
        plan = None
    finally:
        timer.cancel()
    assert time.perf_counter() - began < 12
    assert plan is None or plan.value <= plan.bound
