"""Planning again and again, as a learner does: new pays, the same shape, the last answer."""

from __future__ import annotations

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import ProblemError
from lastswitch.planning import BlockProblem, Solution
from lastswitch.planning.certified import solve


@pytest.mark.parametrize(("n_arms", "length"), [(5, 4), (4, 12)])
def test_successive_plans_match_plan_block(n_arms: int, length: int) -> None:
    """On slowly moving tables every plan is optimal and worth what plan_block finds."""
    rng = np.random.default_rng(5)
    rest, streak = rng.random((n_arms, length)), rng.random((n_arms, 1))
    usual = BlockProblem(rest, streak, np.zeros((n_arms, length)), distinct_start=True)
    last: Solution | None = None
    for _ in range(15):
        rest += 0.01 * rng.normal(size=rest.shape)
        first = rng.random((n_arms, length))
        problem = BlockProblem(rest, streak, first, distinct_start=True)
        last = solve(usual.with_pays(rest, streak, first), warm=last)
        assert problem.value(last.block) == pytest.approx(ls.plan_block(problem).value, abs=1e-9)
        assert last.bound == pytest.approx(problem.value(last.block), abs=1e-9)


def test_new_pays_keep_everything_else() -> None:
    """The mask, the runs and the ends are those of the first problem."""
    allowed = np.array([[True, False], [True, True], [False, True]])
    usual = BlockProblem([[0.1]] * 2, [[0.2]] * 2, [[0.3] * 3] * 2, run=[2, 0], allowed=allowed)
    other = usual.with_pays(np.array([[0.5]] * 2), usual.streak, usual.first)
    assert (other.allowed == allowed).all()
    assert other.run.tolist() == [2, 0]
    assert usual.rest[0, 0] == 0.1


def test_tables_of_another_shape_are_refused() -> None:
    """The error says which shape the problem has."""
    usual = BlockProblem(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 4)))
    with pytest.raises(ProblemError, match="2 arms and 4 slots; got tables of shapes rest"):
        usual.with_pays(np.zeros((3, 4)), np.zeros((3, 1)), np.zeros((3, 4)))
    with pytest.raises(ProblemError, match=r"rest \(2, 0\)"):
        usual.with_pays(np.zeros((2, 0)), np.zeros((2, 1)), np.zeros((2, 4)))
