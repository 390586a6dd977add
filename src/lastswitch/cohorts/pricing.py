"""A whole cohort seen at some prices: what its plans are worth and use, standing by standing."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.cohorts.assignment import Choices
from lastswitch.cohorts.descent import Look
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played, Responder, used

#: Standings up to which each is mixed by itself; parts that more are sorted into.
FEW, PARTS = 300, 64
#: Plans, equal ones of a standing included, up to which those of every look are on offer.
EVERY = 50_000


class Candidates(NamedTuple):
    """Standings that have several plans to choose from, or another than at the usual prices.

    Parameters
    ----------
    place
        (d,): which standings these are.
    choices
        What may be chosen.
    arms, value
        The plans, in the order of the choices.
    share
        (P,): how much of the standing's subjects should have each.
    fixed_use, fixed_value
        What all other standings use and make.
    """

    place: IntArray
    choices: Choices
    arms: Played
    value: FloatArray
    share: FloatArray
    fixed_use: IntArray
    fixed_value: float


class Cohort:
    """Standings, how many subjects have each, and how much they count.

    Parameters
    ----------
    problem
        Curves, rules and budgets.
    responder
        What finds best plans.
    rows, count
        (u, m) and (u,).
    weight
        (u,): what subjects of each row count on average.
    ends
        (u, 2): the weight their plan is made for, and one on the other side of ``weight``.
    """

    def __init__(
        self,
        problem: CohortProblem,
        responder: Responder,
        rows: IntArray,
        count: IntArray,
        weight: FloatArray,
        ends: FloatArray,
    ) -> None:
        self.problem, self.rows, self.count, self.weight = problem, rows, count, weight
        self._responder, self._ends = responder, ends
        self.few = len(rows) <= FEW
        self.parts = len(rows) if self.few else PARTS
        self._begins = np.linspace(0, len(rows), self.parts + 1).astype(np.int64)
        self._at = responder.at(rows, ends[:, 0])
        self._between = np.flatnonzero(ends[:, 0] != ends[:, 1])
        near, far = ends[self._between].T
        self._chord = (weight[self._between] - near) / (far - near)
        self._other = responder.at(rows[self._between], far)

    def without_worth(self) -> Cohort:
        """Return the cohort to which plans are worth nothing: all it does is spare budgets."""
        none = np.zeros(len(self.rows))
        return Cohort(
            self.problem, self._responder, self.rows, self.count, none, np.zeros((len(none), 2))
        )

    def sample(self, size: int) -> Cohort:
        """Return about so many of its standings, evenly spread."""
        some = slice(None, None, max(len(self.rows) // size, 1))
        return Cohort(
            self.problem,
            self._responder,
            self.rows[some],
            self.count[some],
            self.weight[some],
            self._ends[some],
        )

    def look(self, prices: FloatArray) -> Look:
        """Return what all subjects do at some prices."""
        price = priced_plays(self.problem, prices)
        found, begins = self._at(price), self._begins[:-1]
        bound = found.bound
        if len(self._between):
            ends = bound[self._between], self._other(price).bound
            bound = bound.copy()
            bound[self._between] = (1 - self._chord) * ends[0] + self._chord * ends[1]
        value = np.add.reduceat(self.count * self.weight * found.value, begins)
        use = used_by_part(found.arms, self.count, self._begins, self.problem.rows.counts)
        return Look(value, use, float(self.count @ bound))

    def candidates(self, usual: FloatArray, looks: FloatArray, shares: FloatArray) -> Candidates:
        """Return the plans of some looks where they are not all the plan at the prices ``usual``.

        Where that is not too much, the plans of every look are on offer; else those with a share.
        """
        default = self._at(priced_plays(self.problem, usual))
        owner, arms, value, share = self._offered(looks, shares)
        other = np.zeros(len(self.rows), np.bool_)
        other[owner[(arms != default.arms[owner]).any(axis=(1, 2))]] = True
        kept = other[owner]
        owner, arms, value, share = owner[kept], arms[kept], value[kept], share[kept]
        order = np.argsort(owner, kind="stable")
        new, share = _merged(owner[order], arms[order], share[order])
        order = order[new]
        owner, arms, value, share = owner[order], arms[order], value[order], share[new]
        place, counts = np.flatnonzero(other), self.problem.rows.counts
        choices = Choices(
            np.append(np.searchsorted(owner, place), len(owner)),
            self.count[place],
            used(arms, counts),
            self.weight[owner] * value,
        )
        alike = ~other
        fixed = total_use(default.arms[alike], self.count[alike], counts)
        made = float((self.count * self.weight * default.value)[alike].sum())
        return Candidates(place, choices, arms, value, share, fixed, made)

    def _offered(
        self, looks: FloatArray, shares: FloatArray
    ) -> tuple[IntArray, Played, FloatArray, FloatArray]:
        """Return standing, plan, value and share of all plans that are on offer."""
        every = len(self.rows) * len(looks) <= EVERY
        part = np.repeat(np.arange(self.parts), np.diff(self._begins))
        some = []
        for prices, share in zip(looks, shares, strict=True):
            offered = (share > 0) | every
            if offered.any():
                found, here = self._at(priced_plays(self.problem, prices)), offered[part]
                some.append(
                    (np.flatnonzero(here), found.arms[here], found.value[here], share[part[here]])
                )
        owner, arms, value, share = (np.concatenate(x) for x in zip(*some, strict=True))
        return owner, arms, value, share


def priced_plays(problem: CohortProblem, prices: FloatArray) -> FloatArray:
    """Return what a play of each arm in each round costs at prices by budget row."""
    price: FloatArray = np.tensordot(prices, problem.rows.counts.astype(np.float64), axes=1)
    return price


def _merged(owner: IntArray, arms: Played, share: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return which plans, listed by standing, are new to it, and the shares of all their like."""
    new, total = np.ones(len(owner), np.bool_), share.copy()
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)  # within the standing's plans
    for p in range(1, int(place.max(initial=0)) + 1):
        here = np.flatnonzero(place == p)
        for back in range(p, 0, -1):
            there = here - back
            again = new[here] & new[there] & (arms[here] == arms[there]).all(axis=(1, 2))
            total[there[again]] += total[here[again]]
            new[here[again]] = False
    return new, total


def used_by_part(arms: Played, count: IntArray, begins: IntArray, counts: BoolArray) -> FloatArray:
    """Return how many plays of the subjects of each part every budget row counts."""
    use = np.zeros((len(begins) - 1, len(counts)))
    for part, (low, high) in enumerate(itertools.pairwise(begins.tolist())):
        use[part] = total_use(arms[low:high], count[low:high], counts)
    return use


def total_use(arms: Played, count: IntArray, counts: BoolArray) -> IntArray:
    """Return how many plays of all subjects each budget row counts."""
    n_arms, length = counts.shape[1:]
    plays = np.zeros((n_arms, length))
    for t in range(length):
        for place in range(arms.shape[2]):
            plays[:, t] += np.bincount(arms[:, t, place] + 1, count, n_arms + 1)[1:]
    total: IntArray = np.round((counts * plays).sum(axis=(1, 2))).astype(np.int64)
    return total
