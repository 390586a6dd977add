"""A whole cohort seen at some prices: what its plans are worth and use, standing by standing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from lastswitch._arrays import BoolArray, FloatArray, IntArray
from lastswitch.cohorts.assignment import Choices
from lastswitch.cohorts.descent import Look
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played, Responder, Response, used

#: Standings up to which each is mixed by itself; parts that more are sorted into.
FEW, PARTS = 1000, 8

T = TypeVar("T")


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
        self._responder = responder
        self.few = len(rows) <= FEW
        self._blocks = np.array_split(np.arange(len(rows)), 1 if self.few else PARTS)
        self._at = [responder.at(rows[block], ends[block, 0]) for block in self._blocks]
        apart = ends[:, 0] != ends[:, 1]
        self._between = [np.flatnonzero(apart[block]) for block in self._blocks]
        self._other = [
            responder.at(rows[block][some], ends[block, 1][some])
            for block, some in zip(self._blocks, self._between, strict=True)
        ]
        self._chord = np.where(apart, weight - ends[:, 0], 0.0)
        self._chord[apart] /= (ends[:, 1] - ends[:, 0])[apart]
        self.part = np.arange(len(rows))  # few standings are mixed one by one, others by block
        if not self.few:
            for number, block in enumerate(self._blocks):
                self.part[block] = number

    def without_worth(self) -> Cohort:
        """Return the cohort to which plans are worth nothing: all it does is spare budgets."""
        none = np.zeros(len(self.rows))
        return Cohort(
            self.problem, self._responder, self.rows, self.count, none, np.zeros((len(none), 2))
        )

    def look(self, prices: FloatArray) -> Look:
        """Return what all subjects do at some prices."""
        parts, price = int(self.part[-1]) + 1, priced_plays(self.problem, prices)
        value, use, bound = np.zeros(parts), np.zeros((parts, len(prices))), 0.0
        seen = _threads(lambda b: self._seen(b, price), range(len(self._blocks)))
        for block, (found, at_most) in zip(self._blocks, seen, strict=True):
            part, count = self.part[block], self.count[block]
            value += np.bincount(part, count * self.weight[block] * found.value, parts)
            bound += float(count @ at_most)
            if self.few:
                use += used(found.arms, self.problem.rows.counts) * count[:, None]
            else:
                use[part[0]] = total_use(found.arms, count, self.problem.rows.counts)
        return Look(value, use, bound)

    def _seen(self, b: int, price: FloatArray) -> tuple[Response, FloatArray]:
        """Return the response of a block, and what its rows cannot exceed at their own weights."""
        found, some = self._at[b](price), self._between[b]
        if not len(some):
            return found, found.bound
        share, bound = self._chord[self._blocks[b]][some], found.bound.copy()
        bound[some] = (1 - share) * bound[some] + share * self._other[b](price).bound
        return found, bound

    def candidates(self, usual: FloatArray, looks: FloatArray, shares: FloatArray) -> Candidates:
        """Return the plans of some looks where they are not all the plan at the prices ``usual``.

        Few standings have the plans of every look to choose from, others those with a share.
        """
        parts = _threads(
            lambda b: self._candidates(b, usual, looks, shares), range(len(self._blocks))
        )
        sizes = np.concatenate([np.diff(part.choices.first) for part in parts])
        choices = Choices(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([part.choices.subjects for part in parts]),
            np.concatenate([part.choices.use for part in parts]),
            np.concatenate([part.choices.worth for part in parts]),
        )
        return Candidates(
            np.concatenate([part.place for part in parts]),
            choices,
            np.concatenate([part.arms for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.share for part in parts]),
            np.sum([part.fixed_use for part in parts], axis=0),
            sum(part.fixed_value for part in parts),
        )

    def _candidates(
        self, b: int, usual: FloatArray, looks: FloatArray, shares: FloatArray
    ) -> Candidates:
        """Return the candidates of one block."""
        block, rows = self._blocks[b], self.problem.rows
        share = shares[:, self.part[block]]
        some = np.flatnonzero(share.any(axis=1) | self.few)
        default = self._at[b](priced_plays(self.problem, usual))
        seen = [self._at[b](priced_plays(self.problem, looks[j])) for j in some]
        arms = np.stack([found.arms for found in seen])
        value = np.stack([found.value for found in seen])
        offered = (share[some] > 0) | self.few
        other = ((arms != default.arms).any(axis=(2, 3)) & offered).any(axis=0)
        alike, weight = ~other, self.weight[block]
        fixed = total_use(default.arms[alike], self.count[block][alike], rows.counts)
        made = float((self.count[block] * weight * default.value)[alike].sum())
        arms, value = arms[:, other], value[:, other]
        kept, share = _merged(arms, share[some][:, other], offered[:, other])
        owner, look = np.nonzero(kept.T)
        arms, value, share = arms[look, owner], value[look, owner], share[look, owner]
        choices = Choices(
            np.searchsorted(owner, np.arange(int(other.sum()) + 1)),
            self.count[block][other],
            used(arms, rows.counts),
            weight[other][owner] * value,
        )
        return Candidates(block[other], choices, arms, value, share, fixed, made)


def priced_plays(problem: CohortProblem, prices: FloatArray) -> FloatArray:
    """Return what a play of each arm in each round costs at prices by budget row."""
    price: FloatArray = np.tensordot(prices, problem.rows.counts.astype(np.float64), axes=1)
    return price


def _merged(arms: Played, share: FloatArray, offered: BoolArray) -> tuple[BoolArray, FloatArray]:
    """Return which plans (looks, standings) are new to their standing, with the shares of all."""
    kept, total = offered.copy(), np.where(offered, share, 0.0)
    for j in range(len(arms)):
        for i in range(j):
            again = kept[i] & kept[j] & (arms[i] == arms[j]).all(axis=(1, 2))
            total[i] += np.where(again, total[j], 0.0)
            kept[j] &= ~again
    return kept, total


def total_use(arms: Played, count: IntArray, counts: BoolArray) -> IntArray:
    """Return how many plays of all subjects each budget row counts."""
    n_arms, length = counts.shape[1:]
    plays = np.zeros((n_arms, length))
    for t in range(length):
        for place in range(arms.shape[2]):
            plays[:, t] += np.bincount(arms[:, t, place] + 1, count, n_arms + 1)[1:]
    total: IntArray = np.round((counts * plays).sum(axis=(1, 2))).astype(np.int64)
    return total


def _threads(work: Callable[..., T], items: Iterable[object]) -> list[T]:
    """Return the work on each item, done side by side."""
    listed = list(items)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(listed))) as pool:
        return list(pool.map(work, listed))
