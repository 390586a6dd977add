"""An earlier plan serves as far as it fits, and proves nothing by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import InputTypeError
from lastswitch.planning import BlockProblem, Plan
from lastswitch.planning.warm import block_start, schedule_start, usable


def bandit(names: str, **options) -> ls.Bandit:
    """Return an arm for every letter, whose pays depend on the letter alone."""
    curves = [ls.Curve([0.1, 0.1 + 0.05 * (ord(name) - 96)], [0.05]) for name in names]
    return ls.Bandit(curves, names=list(names), **options)


@pytest.mark.parametrize("rules", [[], [r.at_most("c", 2)]])
@pytest.mark.parametrize("solver", ["certified", "ilp", "brute-force"])
def test_a_plan_of_another_line_up_serves_as_far_as_it_fits(rules, solver):
    """Yesterday there were arms that today has not, in another order."""
    before = ls.plan_block(bandit("hgfedcba"), 6)
    today = ls.plan_block(bandit("abc"), 6, rules=rules, solver=solver, warm=before)
    assert today.value == pytest.approx(
        ls.plan_block(bandit("abc"), 6, rules=rules, solver="brute-force").value
    )
    assert today.optimal


def test_arms_are_known_by_name_and_gaps_are_planned():
    """The arm called c is number 2 yesterday and 0 today; nobody called a is left."""
    plan = Plan((0, 2, 1), 1.0, 1.0, names=("a", "b", "c"))
    now = bandit("cb")
    start = block_start(plan, BlockProblem.from_bandit(now, 3), now.names)
    first, *others = start.block
    assert others == [0, 1]
    assert first in (0, 1)
    problem = BlockProblem.from_bandit(now, 3, distinct_start=True)
    again = block_start(Plan((1, 1, 1), 1.0, 1.0, names=("c", "b")), problem, now.names)
    assert problem.value(again.block) > 0.0


def test_rounds_under_rules_keep_the_arms_that_may_play_there():
    """And are filled up to as many as must."""
    from lastswitch.planning.ruled_problem import RuledProblem

    problem = RuledProblem.from_bandit(
        bandit("cb"), 3, plays=(1, 2), allowed=[[True, False], [True, True], [True, True]]
    )
    rounds = ((0, 1, 2), (), (1, 1))
    plan = Plan((), 1.0, 1.0, rounds=rounds, names=("a", "b", "c"))
    assert schedule_start(plan, problem)[0] == ((0,), (0,), (1,))


@pytest.mark.parametrize("spoilt", [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e30])
@pytest.mark.parametrize("rules", [[], [r.at_most("c", 2)]])
def test_prices_that_drown_the_pays_are_no_proof(spoilt, rules):
    """The truth is several; zero was called proven."""
    plan = ls.plan_block(bandit("abc"), 8, rules=rules)
    prices = np.full(8, spoilt)
    again = ls.plan_block(bandit("abc"), 8, rules=rules, warm=replace(plan, prices=prices))
    assert again.value == pytest.approx(plan.value)
    assert again.value > 0.5
    assert again.optimal
    assert usable(prices, 1.0, 8) is None
    assert usable(np.full(8, 0.3), 1.0, 8) is not None


def test_prices_that_are_no_numbers_are_refused():
    """By the plan that has them."""
    with pytest.raises(InputTypeError, match="prices must be numbers"):
        Plan((0,), 1.0, 1.0, prices="many")
    with pytest.raises(InputTypeError, match="prices must be numbers"):
        Plan((0,), 1.0, 1.0, prices=np.array([[1.0]]))
    with pytest.raises(InputTypeError, match="an earlier Plan"):
        ls.plan_block(bandit("ab"), 1, warm=(0,))
