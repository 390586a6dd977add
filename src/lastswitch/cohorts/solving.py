"""Plans for a whole cohort: prices that make subjects independent, and who plays what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._progress import Report
from lastswitch.cohorts.plain import Plain
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played, Responder, Response
from lastswitch.cohorts.sets import Sets
from lastswitch.errors import InfeasibleError
from lastswitch.planning.certificate import Certificate

Keys = NDArray[np.uint64]


class Batch(NamedTuple):
    """The plans of some subjects.

    Parameters
    ----------
    arms
        (n, length, places): what each plays in each round; -1 is an empty place.
    value
        (n,): what the plan is worth to the subject, before any weight.
    bound
        (n,): what no plan of this subject alone, budgets aside, can exceed.
    """

    arms: Played
    value: FloatArray
    bound: FloatArray


@dataclass(frozen=True, eq=False)
class Solution(Certificate):
    """Prices of all budgets, and with them a plan for every subject.

    Parameters
    ----------
    problem
        What was solved.
    value, bound
        What the plans of all subjects are worth together, each times its weight, and what no
        plans within the budgets can exceed.
    prices
        By row of ``problem.rows``: what one more play would be worth.
    use
        By row of ``problem.rows``: how many plays the plans have.
    """

    problem: CohortProblem
    value: float
    bound: float
    prices: FloatArray
    use: IntArray
    method: str = field(default="plain")

    def plans(
        self, standings: IntArray, key: Keys | None = None, weight: ArrayLike | None = None
    ) -> Batch:
        """Return the plan of each subject, whatever other subjects are asked for with it.

        Parameters
        ----------
        standings
            (n, m): from :meth:`CohortProblem.standing`.
        key
            (n,): a number of each subject's own, such as a hash of its name, which decides who of
            those who stand alike gets which plan.
        weight
            (n,): how much each subject counts; 1 by default.
        """
        rows, _, inverse = self.problem.distinct(standings)
        found = responder(self.problem).at(rows, np.ones(len(rows)))(
            np.zeros((self.problem.n_arms, self.problem.length))
        )
        check_plans(self.problem, rows, found)
        return Batch(found.arms[inverse], found.value[inverse], found.bound[inverse])

    @property
    def pending(self) -> IntArray:
        """Standings whose subjects have several plans, so that their keys must be known."""
        return np.zeros((0, self.problem.n_arms), np.int64)

    def settled(self, standings: IntArray, key: Keys, weight: ArrayLike | None = None) -> Solution:
        """Return the solution that knows the keys of all subjects at :attr:`pending` standings."""
        return self


def responder(problem: CohortProblem) -> Responder:
    """Return what finds best plans for this problem."""
    return Sets(problem) if Sets.fits(problem) else Plain(problem)


def check_plans(problem: CohortProblem, rows: IntArray, found: Response) -> None:
    """Refuse standings from which no plan keeps the rules."""
    stuck = np.flatnonzero(found.value == -np.inf)
    if len(stuck):
        row = rows[stuck[0]]
        raise InfeasibleError(
            f"no plan keeps all rules for subjects whose arms stand at {row[: problem.n_arms]} "
            f"({len(stuck):,} standings in all); drop a rule, or give it a cost."
        )


def solve(
    problem: CohortProblem,
    rows: IntArray,
    counts: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    gap: float = 1e-3,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Solution:
    """Find prices for all budgets and plans that keep them.

    Parameters
    ----------
    problem
        Curves, rules and budgets.
    rows
        (u, m): standings; the same may come several times, with different weights.
    counts
        (u,): how many subjects stand there.
    weights
        (u,): how much each of them counts; 1 by default. It multiplies what plans are worth, not
        what they use of a budget.
    gap
        Plans within this share of the best possible are good enough.
    time_limit
        Seconds, about.
    progress
        As for :func:`lastswitch.plan_block`.
    """
    number = np.asarray(counts, np.int64)
    weight = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    free = np.zeros((problem.n_arms, problem.length))
    found = responder(problem).at(rows, weight)(free)
    check_plans(problem, rows, found)
    value = float(number @ (weight * found.value))
    bound = max(float(number @ found.bound), value)
    none = np.zeros(len(problem.rows))
    return Solution(problem, value, bound, none, none.astype(np.int64))
