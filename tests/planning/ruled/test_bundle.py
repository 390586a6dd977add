"""Prices moved by a bundle bound every schedule, and end lower than a subgradient's."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch import rules as r
from lastswitch.planning import BlockProblem
from lastswitch.planning import ruled_brute_force as brute_force
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.planning.search.bundle import Bundle
from lastswitch.planning.search.prices import Prices
from planning.ruled.ruled_cases import ruled_problems


@settings(max_examples=60, deadline=None)
@given(problem=ruled_problems, steps=st.integers(1, 120))
def test_a_bundle_bounds_every_schedule_and_only_falls(problem: RuledProblem, steps: int) -> None:
    """And what states are worth, and plays cost, is what the prices say."""
    model = ruled_model(problem)
    diagram, sharing = compact(model), model.shared.sharing(problem.length)
    if diagram is None:
        return
    prices = Bundle(diagram, sharing=sharing)
    _, best = brute_force.solve(problem)
    before = prices.bound
    prices.descend((best if math.isfinite(best) else before) - 1.0, steps)
    close = 1e-7 * max(1.0, abs(before)) if math.isfinite(before) else 0.0
    assert best - close <= prices.bound <= before + close
    again = Prices(diagram, prices.price, sharing=sharing)
    assert again.bound == prices.bound
    for part in ("worth", "cost"):
        assert np.array_equal(getattr(again, part), getattr(prices, part))


def test_a_bundle_ends_lower_than_a_subgradient() -> None:
    """After as many steps from the same prices, on four weeks of messages, three in any seven."""
    rng = np.random.default_rng(3)
    rest = np.sort(rng.random((6, 8)), axis=1)
    block = BlockProblem(rest, 0.2 * rest[:, :1], np.repeat(rest[:, -1:], 28, axis=1))
    rules = [r.at_most("everyone", 3, within=7), r.rest("everyone", 3)]
    arms = ruled_model(RuledProblem(block, rules=rules, plays=(0, 1)))
    diagram, sharing = compact(arms), arms.shared.sharing(28)
    assert diagram is not None
    one, other = Bundle(diagram, sharing=sharing), Prices(diagram, sharing=sharing)
    assert one.bound == other.bound
    target = 0.9 * one.bound
    one.descend(target, 200)
    other.descend(target, 200)
    assert one.bound < other.bound
