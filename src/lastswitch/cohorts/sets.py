"""Exact plans of millions of standings at once, from tables over sets of rounds.

For every state of an arm (and of the rules that hear it alone) a table says what each set of rounds
is worth. The tables of two parts of the tree (:mod:`lastswitch.cohorts.tree`) make that of their
node, once for each pair of rows that some subject has. At the root every standing takes one look
at each way to share the rounds between the two halves: 2 ** length steps, where every schedule
would be (arms + 1) ** length. Prices change the arms' tables and nothing else.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import announce
from lastswitch.cohorts import set_kernels as kernels
from lastswitch.cohorts.problem import CohortProblem, distinct_rows
from lastswitch.cohorts.response import Played, Respond, Response
from lastswitch.cohorts.set_kernels import Ids
from lastswitch.cohorts.set_tables import arm_table, counter_costs, set_sums
from lastswitch.cohorts.tree import Node, arm_tree

#: Rounds that sets are listed of, and standings that are looked at together.
LONGEST, CHUNK = 10, 1 << 18


class Sets:
    """Responses from tables over sets of rounds.

    Parameters
    ----------
    problem
        One for which :meth:`fits` is true.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.curves.constant(0.4)])
    >>> problem = CohortProblem(bandit, 3)
    >>> rows = problem.standing([[1, 1]])
    >>> respond = Sets(problem).at(rows, np.ones(1))
    >>> respond(np.zeros((2, 3))).arms.ravel().tolist()
    [1, 0, 1]
    """

    def __init__(self, problem: CohortProblem) -> None:
        tree = arm_tree(problem)
        assert tree is not None
        self._problem, self._tree = problem, tree

    @staticmethod
    def fits(problem: CohortProblem) -> bool:
        """Tell whether this problem is one of sets of rounds."""
        return problem.length <= LONGEST and arm_tree(problem) is not None

    def at(self, rows: IntArray, weight: FloatArray) -> Respond:
        """Return the function from prices to the responses of these standings."""
        announce("cohort", kernels.joined)
        places: list[IntArray] = []
        for level in np.unique(weight).tolist():
            members = np.flatnonzero(weight == level)
            places += np.split(members, range(CHUNK, len(members), CHUNK))
        threads = min(os.cpu_count() or 1, max(len(places), 1))

        def chunk(where: IntArray) -> _Chunk:
            return _Chunk(self._problem, self._tree, rows[where], float(weight[where[0]]))

        with ThreadPoolExecutor(threads) as pool:
            chunks = list(pool.map(chunk, places))

        def respond(price: FloatArray) -> Response:
            n = len(rows)
            arms = np.full((n, self._problem.length, 1), -1, np.int16)
            value, bound = np.empty(n), np.empty(n)

            def one(where: IntArray, part: _Chunk) -> None:
                arms[where, :, 0], value[where], bound[where] = part.respond(price)

            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(one, places, chunks))
            return Response(arms, value, bound)

        return respond


@dataclass(frozen=True)
class _Part:
    """A node for the standings of one chunk.

    Parameters
    ----------
    node
        The node.
    ids
        Which row of its table each standing has.
    own
        Of a leaf: what each set of rounds is worth in each row, before prices.
    parts
        Of another node: its two parts.
    at
        Which rows of the tables of its parts, and of ``cost``, make up each row of its own.
    cost
        What its rules cost by what they remember and the set of rounds played; infinity: forbidden.
    """

    node: Node
    ids: Ids
    own: FloatArray
    parts: tuple[_Part, _Part] | None
    at: Ids
    cost: FloatArray


class _Chunk:
    """Some standings of one weight, and what does not change with prices."""

    def __init__(self, problem: CohortProblem, tree: Node, rows: IntArray, weight: float) -> None:
        self._problem, self._rows, self._weight = problem, rows, weight
        self._places = problem.memory_columns()
        self._root = self._part(tree, root=True)

    def _part(self, node: Node, root: bool = False) -> _Part:
        memories = sorted({heard.memory for heard in node.heard})
        arms = [] if node.parts else list(node.arms)
        columns = [*(self._rows[:, self._places[m]] for m in memories), self._rows[:, arms]]
        different, _, ids = distinct_rows(np.hstack(columns))
        cost = self._costs(node, memories, different)
        if node.parts is None:
            own = self._worth(node, different) - cost
            return _Part(node, _ids(ids), own, None, _ids(np.zeros((0, 3))), cost)
        parts = self._part(node.parts[0]), self._part(node.parts[1])
        at = np.stack([parts[0].ids, parts[1].ids, ids], axis=1).astype(np.int64)
        own_ids = np.arange(len(ids))
        if not root:
            at, _, own_ids = distinct_rows(at)
        return _Part(node, _ids(own_ids), np.zeros((0, 0)), parts, _ids(at), cost)

    def _worth(self, node: Node, rows: IntArray) -> FloatArray:
        """Return what every set of rounds pays an arm, its state last; nobody may play none."""
        problem = self._problem
        if not node.arms:
            return np.where(np.arange(1 << problem.length) == 0, 0.0, -np.inf)[None]
        machine = problem.machines[node.arms[0]]
        states = np.array([machine.at(tau) for tau in rows[:, -1].tolist()])
        return arm_table(machine, states, problem.length, problem.silence)

    def _costs(self, node: Node, memories: list[int], different: IntArray) -> FloatArray:
        """Return what the rules of a node cost, by what they remember and the rounds played."""
        problem, begin = self._problem, 0
        total = np.zeros((len(different), 1 << problem.length))
        for m in memories:
            memory = problem.memories[m]
            packed, begin = different[:, begin : begin + memory.columns], begin + memory.columns
            kinds, _, which = distinct_rows(packed)
            letters = [(h.counter, h.letter) for h in node.heard if h.memory == m]
            rows = [
                sum(counter_costs(counters[k], letter, problem.length) for k, letter in letters)
                for counters in map(memory.counters, kinds.tolist())
            ]
            total += np.array(rows)[which]
        return total

    def respond(self, price: FloatArray) -> tuple[Played, FloatArray, FloatArray]:
        """Return arms (n, length), values and priced bounds of the standings."""
        problem, root = self._problem, self._root
        assert root.parts is not None
        tables: dict[int, FloatArray] = {}
        for part in root.parts:
            self._tabulate(part, price, tables)
        best, whole, share = self._shared(tables)
        arms, value = np.full((len(best), problem.length), -1, np.int16), np.zeros(len(best))
        for part, ids, own in zip(root.parts, root.at.T, (share, whole ^ share), strict=False):
            self._descend(part, ids, own, tables, arms, value)
        silent = problem.silence * problem.length
        value = np.where(best > -np.inf, value - root.cost[root.at[:, 2], whole] + silent, -np.inf)
        return arms, value, best + self._weight * silent

    def _tabulate(self, part: _Part, price: FloatArray, tables: dict[int, FloatArray]) -> None:
        """Make the tables of a node and all below it, at these prices."""
        if part.parts is None:
            paid = self._weighted(part.own)
            for arm in part.node.arms:
                paid = paid - set_sums(price[arm])
            tables[id(part)] = paid
            return
        for below in part.parts:
            self._tabulate(below, price, tables)
        left, right = (tables[id(below)] for below in part.parts)
        out = np.empty((len(part.at), left.shape[1]))
        kernels.joined(left, right, part.at, self._weighted(part.cost), out)
        tables[id(part)] = out

    def _weighted(self, table: FloatArray) -> FloatArray:
        """Return worths or costs times the weight; what is forbidden stays so at weight 0."""
        return table * self._weight if self._weight else np.where(np.isinf(table), table, 0.0)

    def _shared(self, tables: dict[int, FloatArray]) -> tuple[FloatArray, IntArray, IntArray]:
        """Return for each standing the best priced value, the rounds played, and the left share."""
        root, length, n = self._root, self._problem.length, len(self._rows)
        assert root.parts is not None
        left, right = (tables[id(part)] for part in root.parts)
        every = self._problem.plays[0] == 1
        best, whole, share = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        if root.cost.any():
            cost = self._weighted(root.cost)
            kernels.best_wholes(left, right, root.at, cost, every, best, whole)
            kernels.split(left, right, root.at, whole, share)
            return best, whole, share
        if every:
            kernels.best_shares(left, right, root.at, best, share)
            return best, np.full(n, (1 << length) - 1), share
        within = right.copy()
        kernels.best_within(within, length)
        kernels.best_shares(left, within, root.at, best, share)
        ids = np.ascontiguousarray(root.at[:, 1])
        kernels.best_subset(right, ids, (1 << length) - 1 - share, whole)
        return best, whole | share, share

    def _descend(
        self,
        part: _Part,
        ids: Ids,
        rounds: IntArray,
        tables: dict[int, FloatArray],
        arms: Played,
        value: FloatArray,
    ) -> None:
        """Share the rounds of a node out to its arms; write who plays, and add what that pays."""
        if part.parts is None:
            for arm in part.node.arms:
                kernels.taken(part.own, ids, rounds, arm, arms, value)
            return
        at = part.at[ids]
        left, right = (tables[id(below)] for below in part.parts)
        share = np.empty(len(ids), np.int64)
        kernels.split(left, right, at, rounds, share)
        value -= part.cost[at[:, 2], rounds]
        for below, own, took in zip(part.parts, at.T, (share, rounds ^ share), strict=False):
            self._descend(below, own, took, tables, arms, value)


def _ids(numbers: NDArray[Any]) -> Ids:
    """Return numbers as kernels take them."""
    return np.ascontiguousarray(numbers, dtype=np.int32)
