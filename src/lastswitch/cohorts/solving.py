"""Plans for a whole cohort: prices that make subjects independent, and who plays what."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import check_limits
from lastswitch._utils.progress import Report, reporter
from lastswitch.cohorts.budgeted import Found, within_budgets
from lastswitch.cohorts.certified import Certified
from lastswitch.cohorts.pricing import Cohort, priced_plays, total_use
from lastswitch.cohorts.problem import CohortProblem, distinct_rows
from lastswitch.cohorts.response import Played, Responder, Response
from lastswitch.cohorts.sets import Sets
from lastswitch.cohorts.table import Keys, Table
from lastswitch.errors import InfeasibleError, PlanError, StateError
from lastswitch.planning.certificate import Certificate
from lastswitch.planning.clock import Clock, interrupts


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
    subjects
        How many subjects it was solved for.
    levels
        The weights that plans are made for.
    table
        The standings whose plans are not just the response to the prices.
    """

    problem: CohortProblem
    value: float
    bound: float
    prices: FloatArray
    use: IntArray
    subjects: int
    levels: Levels = field(repr=False)
    table: Table = field(repr=False)

    def __post_init__(self) -> None:
        self._certify()

    @property
    def scale(self) -> float:
        """The size of what is summed up for one subject: what rounding is relative to."""
        largest = max(abs(self.problem.silence), 1.0)
        return largest * self.problem.length * self.problem.plays[1]

    @property
    def pending(self) -> IntArray:
        """Standings whose subjects have different plans, so that all their keys must be known.

        (d, m + 1), the weight level last. Until :meth:`settled`, there is no saying who has which.
        """
        return self.table.rows[self.table.shared & (not self.table.settled)]

    def settled(self, standings: IntArray, key: Keys, weight: ArrayLike | None = None) -> Solution:
        """Return the solution that knows the keys of all subjects at :attr:`pending` standings.

        Others may be among those given.
        """
        if self.table.settled:
            return self
        place, keys = self.table.find(self._rows(standings, weight)), np.asarray(key, np.uint64)
        table = self.table.settle(place, keys)
        # Subjects between two levels of weight stand alike too; now it is known who has what.
        odd = np.append(table.shared & table.between, False)  # nowhere in the table: place -1
        here = np.flatnonzero(odd[place])
        weights = checked_weights(weight, len(standings))[here]
        made = weights @ table.value[table.chosen(place[here], keys[here])]
        thought = (table.number * table.worth)[np.repeat(odd[:-1], np.diff(table.first))].sum()
        value = self.value + float(made - thought)
        return replace(self, table=table, value=value)

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
            those who stand alike gets which plan. Without budgets it is not needed.
        weight
            (n,): how much each subject counts; 1 by default.
        """
        if not self.table.settled:
            raise PlanError(
                f"subjects at {len(self.pending):,} standings have different plans, and nothing is "
                "known of their keys; call settled(standings, key) first."
            )
        rows, _, inverse = distinct_rows(self._rows(standings, weight))
        at, near = rows[:, :-2], self.levels.weight[rows[:, -2]]
        way = responder(self.problem)
        found = way.at(at, near)(priced_plays(self.problem, self.prices))
        check_plans(self.problem, at, found)
        arms, value, bound = (
            found.arms[inverse],
            found.value[inverse],
            (found.bound / near)[inverse],
        )
        if self.prices.any():
            free = way.at(at, np.ones(len(at)))(
                np.zeros((self.problem.n_arms, self.problem.length))
            )
            bound = free.bound[inverse]
        odd = self.table.find(rows)[inverse]
        here = np.flatnonzero(odd >= 0)
        if len(here):
            if key is None and self.table.shared.any():
                raise PlanError("subjects who stand alike have different plans; give their keys.")
            keys = np.zeros(len(odd), np.uint64) if key is None else np.asarray(key, np.uint64)
            plan = self.table.chosen(odd[here], keys[here])
            arms[here], value[here] = self.table.arms[plan], self.table.value[plan]
        return Batch(arms, value, np.maximum(bound, value))

    def _rows(self, standings: IntArray, weight: ArrayLike | None) -> IntArray:
        """Return standings with the levels of their weights: what the table calls them."""
        weights = checked_weights(weight, len(standings))
        return np.hstack([standings, self.levels.columns(weights)])


def responder(problem: CohortProblem) -> Responder:
    """Return what finds best plans for this problem; it depends on nothing else."""
    return Sets(problem) if Sets.fits(problem) else Certified(problem)


def check_plans(problem: CohortProblem, rows: IntArray, found: Response) -> None:
    """Refuse standings from which no plan keeps the rules."""
    stuck = np.flatnonzero(found.value == -np.inf)
    if len(stuck):
        row = rows[stuck[0], : problem.n_arms].tolist()
        raise InfeasibleError(
            f"no plan keeps all rules for subjects whose arms stand at {row} ({len(stuck):,} "
            "standings in all); drop a rule, or give it a cost."
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
        ``True`` for a bar, or a function called now and then with a
        :class:`~lastswitch.Progress`.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.cohorts.budgets import Budget
    >>> bandit = ls.Bandit([ls.curves.constant(0.5)], plays=(0, 1))
    >>> problem = CohortProblem(bandit, 2, budgets=[Budget("everyone", 3)])
    >>> solution = solve(problem, problem.standing([[1]]), [10])
    >>> solution.value, solution.prices.tolist(), solution.use.tolist()
    (3.0, [0.5, 0.5], [3, 3])
    """
    check_limits(gap, time_limit)
    weight = checked_weights(weights, len(rows))
    levels = Levels.of(weight)
    grouped, _, inverse = distinct_rows(np.hstack([rows, levels.columns(weight)]))
    count = np.bincount(inverse, np.asarray(counts), len(grouped)).astype(np.int64)
    total = np.bincount(inverse, np.asarray(counts) * weight, len(grouped))
    mean = total / np.maximum(count, 1)
    with reporter(progress, "planning a cohort") as report, interrupts():
        clock = Clock(time_limit, report)
        way, at, ends = responder(problem), grouped[:, :-2], levels.weight[grouped[:, -2:]]
        response = way.at(at, ends[:, 0])(np.zeros((problem.n_arms, problem.length)))
        check_plans(problem, at, response)
        found = _unpriced(problem, response, grouped, count, mean, ends[:, 0])
        if (found.use > problem.rows.most).any():
            cohort = Cohort(problem, way, at, count, mean, ends)
            found = within_budgets(cohort, grouped, gap, clock)
    subjects = int(count.sum())
    return Solution(
        problem, found.value, found.bound, found.prices, found.use, subjects, levels, found.table
    )


def _unpriced(
    problem: CohortProblem,
    response: Response,
    rows: IntArray,
    count: IntArray,
    weight: FloatArray,
    near: FloatArray,
) -> Found:
    """Return what subjects do at no prices, which may be within all budgets."""
    value = float(count @ (weight * response.value))
    bound = float(count @ (weight / near * response.bound))  # bounds are for the weight near by
    use = total_use(response.arms, count, problem.rows.counts)
    table = Table.empty(rows.shape[1], response.arms)
    return Found(np.zeros(len(use)), max(bound, value), value, use, table)


#: Different weights that are planned for.
MOST_LEVELS = 16


def checked_weights(weight: ArrayLike | None, n: int) -> FloatArray:
    """Return one weight per subject, 1 by default; refuse what is none.

    Examples
    --------
    >>> checked_weights(None, 2).tolist()
    [1.0, 1.0]
    """
    if weight is None:
        return np.ones(n)
    given = np.asarray(weight, np.float64)
    if given.shape != (n,):
        raise StateError(f"weights need one number per subject ({n}), got shape {given.shape}.")
    wrong = ~((given > 0) & np.isfinite(given))
    if wrong.any():
        raise StateError(
            f"weights are positive numbers, got {given[np.argmax(wrong)]} for subject "
            f"{int(np.argmax(wrong))}."
        )
    return given


@dataclass(frozen=True, eq=False)
class Levels:
    """The weights that are planned for, in order.

    Examples
    --------
    >>> levels = Levels.of(np.array([1.0, 3.0, 1.0]))
    >>> levels.weight.tolist(), levels.columns(np.array([1.2, 3.0])).tolist()
    ([1.0, 3.0], [[0, 1], [1, 1]])
    """

    weight: FloatArray

    @classmethod
    def of(cls, weight: FloatArray) -> Levels:
        """Return levels for these weights: themselves, or as many as are planned for."""
        different = np.unique(weight)
        if len(different) <= MOST_LEVELS:
            return cls(different)
        between = np.geomspace(different[0], different[-1], MOST_LEVELS)
        between[[0, -1]] = different[0], different[-1]
        return cls(between)

    def columns(self, weight: FloatArray) -> IntArray:
        """Return (n, 2): the nearest level, and the one on the other side of the weight."""
        last = len(self.weight) - 1
        above = np.minimum(np.searchsorted(self.weight, weight), last)
        below = np.maximum(above - 1, 0)
        below = np.where((self.weight[above] <= weight) | (above == 0), above, below)
        nearer = weight - self.weight[below] < self.weight[above] - weight
        near, far = np.where(nearer, [below, above], [above, below])
        return np.stack([near, far], axis=1)
