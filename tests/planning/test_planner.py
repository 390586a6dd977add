"""The learner's planner gives the same answers as plan_block, block after block."""

from __future__ import annotations

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import ProblemError
from lastswitch.planning import BlockProblem, Planner


@pytest.mark.parametrize(("n_arms", "length"), [(5, 4), (4, 12)])
def test_successive_plans_match_plan_block(n_arms: int, length: int) -> None:
    """On slowly moving tables every plan is optimal and worth what plan_block finds."""
    rng = np.random.default_rng(5)
    planner = Planner(n_arms, length, distinct_start=True)
    rest, streak = rng.random((n_arms, length)), rng.random((n_arms, 1))
    for _ in range(15):
        rest += 0.01 * rng.normal(size=rest.shape)
        first = rng.random((n_arms, length))
        planned = planner.plan(rest, streak, first)
        problem = BlockProblem(rest, streak, first, distinct_start=True)
        assert planned.value == pytest.approx(ls.plan_block(problem).value, abs=1e-9)
        assert problem.value(planned.block) == pytest.approx(planned.value, abs=1e-9)
        assert planned.bound == pytest.approx(planned.value, abs=1e-9)


def test_tables_of_another_shape_are_refused() -> None:
    """The error says which shape the planner is for."""
    with pytest.raises(ProblemError, match="2 arms and 4 slots; got tables of shapes rest"):
        Planner(2, 4).plan(np.zeros((3, 4)), np.zeros((3, 1)))
