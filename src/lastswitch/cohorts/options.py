"""All that the subjects of a small cohort can do with its budgets, for an answer without a gap."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played
from lastswitch.cohorts.step import Joint, Step

#: By joint state and use so far, the best value and the plan that has it.
_Found = dict[tuple[Joint, tuple[int, ...]], tuple[float, tuple[tuple[int, ...], ...]]]
_END: Joint = ((), ())


class Options(NamedTuple):
    """For every use of the budgets that a standing can make, a best plan and what it is worth."""

    arms: Played
    value: FloatArray
    use: IntArray


def all_options(problem: CohortProblem, row: IntArray, most: int) -> Options | None:
    """Return what a standing can do; None if that is more than ``most`` at some round.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.cohorts.budgets import Budget
    >>> bandit = ls.Bandit([ls.curves.constant(0.5)], plays=(0, 1))
    >>> problem = CohortProblem(bandit, 2, budgets=[Budget(0, 3, per="all")])
    >>> found = all_options(problem, problem.standing([[1]])[0], 100)
    >>> found.use.ravel().tolist(), found.value.tolist()
    ([2, 1, 0], [1.0, 0.5, 0.0])
    """
    step = Step(problem, row)
    least, places = problem.plays
    counted = problem.rows.counts
    choices = [
        choice
        for size in range(places, least - 1, -1)
        for choice in itertools.combinations(range(problem.n_arms), size)
    ]
    now: _Found = {(step.start, (0,) * len(problem.rows)): (0.0, ())}
    for t in range(problem.length):
        uses = [counted[:, list(choice), t].sum(axis=1).tolist() for choice in choices]
        later: _Found = {}
        for (joint, use), (value, plan) in now.items():
            for choice, more in zip(choices, uses, strict=True):
                moved = step(t, *joint, choice)
                if moved is None:
                    continue
                after = moved[1] if t + 1 < problem.length else _END
                key = after, tuple(a + b for a, b in zip(use, more, strict=True))
                if key not in later or value + moved[0] > later[key][0]:
                    later[key] = value + moved[0], (*plan, choice)
            if len(later) > most:
                return None
        now = later
    arms = np.full((len(now), problem.length, places), -1, np.int16)
    for n, (_, plan) in enumerate(now.values()):
        for t, choice in enumerate(plan):
            arms[n, t, : len(choice)] = choice
    uses_made = np.array([use for _, use in now], np.int64).reshape(len(now), len(problem.rows))
    return Options(arms, np.array([value for value, _ in now.values()]), uses_made)
