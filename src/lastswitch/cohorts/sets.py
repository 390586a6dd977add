"""Exact plans of millions of standings at once, from tables over the places of rounds.

For every state of an arm (and of the rules that count it alone) a table says what playing in just
these rounds is worth. The tables of two parts of the tree (:mod:`lastswitch.cohorts.tree`) make
that of their node, once for each pair of rows that some subject has. At the root every standing
takes one look at each way to share the rounds between the two halves: 2 ** length steps, where
every schedule would be (arms + 1) ** length. Prices change the arms' tables and nothing else.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import announce
from lastswitch.cohorts import set_kernels as kernels
from lastswitch.cohorts.memories import Memory
from lastswitch.cohorts.problem import CohortProblem, distinct_rows
from lastswitch.cohorts.response import Played, Respond, Response
from lastswitch.cohorts.set_kernels import Below, Ids
from lastswitch.cohorts.tree import Node, arm_tree
from lastswitch.planning.diagrams.arm_states import ArmStates
from lastswitch.rules.automata.counters import Counter


def arm_table(
    machine: ArmStates, states: IntArray, places: int, length: int, silence: float
) -> FloatArray:
    """Return by state and taken places what the plays of an arm pay beyond silence.

    An arm takes one place of a round at most; more are worth minus infinity.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> from lastswitch.planning.diagrams.arm_states import arm_states
    >>> machine = arm_states(Curve([0.5, 0.9], [0.1]))
    >>> arm_table(machine, np.array([machine.at(1)]), 1, 2, 0.0).tolist()
    [[0.0, 0.5, 0.9, 0.6]]
    """
    pay, pull, idle = (np.array(x) for x in (machine.pay, machine.on_pull, machine.on_idle))
    now, total = states[:, None], np.zeros((len(states), 1))
    for _ in range(length):
        never = [np.full(total.shape, -np.inf)] * (places - 1)
        total = np.hstack([total, total + (pay[now] - silence), *never])
        now = np.hstack([idle[now], pull[now], *[now] * (places - 1)])
    return total


def counter_costs(counter: Counter, per_play: int, places: int, length: int) -> FloatArray:
    """Return what a rule costs by taken places; infinity: it is broken.

    Examples
    --------
    >>> from lastswitch.rules.automata.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [counter] = counters_of(apart(0, 2, cost=0.5), 2, 1, ())
    >>> counter_costs(counter, 1, 1, 2).tolist()
    [0.0, 0.0, 0.0, 0.5]
    """
    price = math.inf if counter.cost is None else counter.cost
    now: list[Hashable] = [counter.start]
    total, events = np.zeros(1), [per_play * plays for plays in range(places + 1)]
    for t in range(length):
        moves = {state: [counter.step(t, state, event) for event in events] for state in set(now)}
        steps = [[moves[state][k] for state in now] for k in range(places + 1)]
        costs = [np.array([price * wrong if wrong else 0.0 for _, wrong in step]) for step in steps]
        total = np.concatenate([total + cost for cost in costs])
        now = [state for step in steps for state, _ in step]
    return total


def place_sums(price: FloatArray, places: int) -> FloatArray:
    """Return by taken places the sum of their prices.

    Examples
    --------
    >>> place_sums(np.array([1.0, 4.0]), 1).tolist()
    [0.0, 1.0, 4.0, 5.0]
    """
    total = np.zeros(1)
    for each in price:
        total = np.concatenate([total + plays * each for plays in range(places + 1)])
    return total


def too_few(least: int, places: int, length: int) -> FloatArray:
    """Return by taken places what it costs that some round has fewer than ``least``: infinity.

    Examples
    --------
    >>> too_few(1, 1, 2).tolist()
    [inf, inf, inf, 0.0]
    """
    total = np.zeros(1)
    for _ in range(length):
        parts = [total + (0.0 if plays >= least else np.inf) for plays in range(places + 1)]
        total = np.concatenate(parts)
    return total


#: Ways to share places out that are listed: those of 12 rounds of one place, 7 of two, 6 of three.
MOST_PAIRS = 1_000_000
#: Numbers in a table: 256 MiB.
MOST_NUMBERS = 1 << 25
#: Rows that are not worth a second thread.
FEW = 2000


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
        places = problem.plays[1]
        pairs = ((places + 1) * (places + 2) // 2) ** problem.length
        return pairs <= MOST_PAIRS and arm_tree(problem) is not None

    def at(self, rows: IntArray, weight: FloatArray) -> Respond:
        """Return the function from prices to the responses of these standings."""
        announce("cohort", kernels.joined)
        below = kernels.all_below(self._problem.plays[1], self._problem.length)
        groups: list[tuple[IntArray, _Group]] = []
        waiting = [np.flatnonzero(weight == level) for level in np.unique(weight).tolist()]
        while waiting:
            where = waiting.pop()
            group = _Group(self._problem, self._tree, below, rows[where], weight[where[0]])
            if group.size > MOST_NUMBERS and len(where) > 1:
                waiting += np.array_split(where, 2)
            else:
                groups.append((where, group))

        def respond(price: FloatArray) -> Response:
            n = len(rows)
            arms = np.full((n, self._problem.length, self._problem.plays[1]), -1, np.int16)
            value, bound = np.empty(n), np.empty(n)
            for where, group in groups:
                arms[where], value[where], bound[where] = group.respond(price)
            return Response(arms, value, bound)

        return respond


@dataclass(frozen=True)
class _Part:
    """A node for the standings of one weight.

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


class _Group:
    """Some standings of one weight, and what does not change with prices."""

    def __init__(
        self, problem: CohortProblem, tree: Node, below: Below, rows: IntArray, weight: float
    ) -> None:
        self._problem, self._rows, self._weight = problem, rows, weight
        self._columns = problem.memory_columns()
        self._wholes: int = (problem.plays[1] + 1) ** problem.length
        self._below = below
        self._root = self._part(tree, root=True)

    def _part(self, node: Node, root: bool = False) -> _Part:
        memories = sorted({event.memory for event in node.events})
        arms = [] if node.parts else list(node.arms)
        columns = [*(self._rows[:, self._columns[m]] for m in memories), self._rows[:, arms]]
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
            return np.where(np.arange(self._wholes) == 0, 0.0, -np.inf)[None]
        machine = problem.machines[node.arms[0]]
        states = np.array([machine.at(tau) for tau in rows[:, -1].tolist()])
        return arm_table(machine, states, problem.plays[1], problem.length, problem.silence)

    def _costs(self, node: Node, memories: list[int], different: IntArray) -> FloatArray:
        """Return what the rules of a node cost, by what they remember and the rounds played."""
        problem, begin = self._problem, 0
        total = np.zeros((len(different), self._wholes))
        for m in memories:
            memory = problem.memories[m]
            packed, begin = different[:, begin : begin + memory.columns], begin + memory.columns
            kinds, _, which = distinct_rows(packed)
            added = tuple((e.counter, e.per_play) for e in node.events if e.memory == m)
            rows = [_rule_costs(memory, tuple(kind), added) for kind in kinds.tolist()]
            total += np.array(rows)[which]
        return total

    @property
    def size(self) -> int:
        """How many numbers the largest table has."""
        return self._wholes * max(_sizes(self._root), default=0)

    def respond(self, price: FloatArray) -> tuple[Played, FloatArray, FloatArray]:
        """Return arms, values and priced bounds of the standings."""
        n, length, places = len(self._rows), self._problem.length, self._problem.plays[1]
        arms = np.full((n, length, places), -1, np.int16)
        value, bound = np.zeros(n), np.empty(n)
        tables: dict[int, FloatArray] = {}
        assert self._root.parts is not None
        for part in self._root.parts:
            self._tabulate(part, price, tables)
        if self._free:  # the right half takes the best of what the left one leaves
            right = tables[id(self._root.parts[1])]
            tables[id(self._root)] = right.copy()
            kernels.best_within(tables[id(self._root)], places, length)

        def one(part: slice) -> None:
            at = self._root.at[part]
            self._shared(at, tables, arms[part], value[part], bound[part])

        in_slices(one, n)
        silent = self._problem.silence * length * places
        value = np.where(bound > -np.inf, value + silent, -np.inf)
        return arms, value, bound + self._weight * silent

    @property
    def _free(self) -> bool:
        """Whether the rounds may be shared out in any way, some played by nobody.

        A question of the rules alone: among equal plans each way has its own favourite.
        """
        return self._problem.plays[0] == 0 and not self._root.node.events

    def _tabulate(self, part: _Part, price: FloatArray, tables: dict[int, FloatArray]) -> None:
        """Make the tables of a node and all below it, at these prices."""
        if part.parts is None:
            paid = self._weighted(part.own)
            for arm in part.node.arms:
                paid = paid - place_sums(price[arm], self._problem.plays[1])
            tables[id(part)] = paid
            return
        for below in part.parts:
            self._tabulate(below, price, tables)
        left, right = (tables[id(below)] for below in part.parts)
        out = np.empty((len(part.at), left.shape[1]))
        cost = self._weighted(part.cost)
        in_slices(
            lambda k: kernels.joined(left, right, part.at[k], cost, self._below, out[k]), len(out)
        )
        tables[id(part)] = out

    def _weighted(self, table: FloatArray) -> FloatArray:
        """Return worths or costs times the weight; what is forbidden stays so at weight 0."""
        return table * self._weight if self._weight else np.where(np.isinf(table), table, 0.0)

    def _shared(
        self,
        at: Ids,
        tables: dict[int, FloatArray],
        arms: Played,
        value: FloatArray,
        best: FloatArray,
    ) -> None:
        """Write plans, values and best priced values of the standings with these rows."""
        root, n = self._root, len(at)
        assert root.parts is not None
        left, right = (tables[id(part)] for part in root.parts)
        least, most = self._problem.plays
        full, below = left.shape[1] - 1, self._below
        whole, share = np.full(n, full), np.empty(n, np.int64)
        if self._free:
            kernels.best_shares(left, tables[id(root)], at, best, share)
            kernels.best_subset(right, at, below, full - share, whole)
            whole += share
        elif least == most and not root.node.events:
            kernels.best_shares(left, right, at, best, share)
        else:
            cost = self._weighted(root.cost) + too_few(least, most, self._problem.length)
            kernels.best_wholes(left, right, at, cost, below, best, whole)
            kernels.split(left, right, at, below, whole, share)
        value -= root.cost[at[:, 2], whole]
        for part, ids, own in zip(root.parts, at.T, (share, whole - share), strict=False):
            self._descend(part, ids, own, tables, arms, value)

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
        kernels.split(left, right, at, self._below, rounds, share)
        value -= part.cost[at[:, 2], rounds]
        for below, own, took in zip(part.parts, at.T, (share, rounds - share), strict=False):
            self._descend(below, own, took, tables, arms, value)


@lru_cache(maxsize=1 << 13)
def _rule_costs(
    memory: Memory, packed: tuple[int, ...], added: tuple[tuple[int, int], ...]
) -> FloatArray:
    """Return what counters of a rule, each with what a play adds to it, cost by taken places."""
    counters = memory.counters(packed)
    costs = [
        counter_costs(counters[k], per_play, memory.most_plays, memory.length)
        for k, per_play in added
    ]
    total: FloatArray = np.sum(costs, axis=0)
    return total


def in_slices(work: Callable[[slice], None], n: int) -> None:
    """Do the work on all of ``n`` rows, side by side."""
    size = -(-n // (os.cpu_count() or 1)) if n > FEW else max(n, 1)
    slices = [slice(begin, begin + size) for begin in range(0, n, size)]
    if len(slices) == 1:
        work(slices[0])
        return
    with ThreadPoolExecutor(len(slices)) as pool:
        list(pool.map(work, slices))


def _sizes(part: _Part) -> list[int]:
    """Return how many rows the tables below a node have."""
    if part.parts is None:
        return []
    return [len(below.at) for below in part.parts] + _sizes(part.parts[0]) + _sizes(part.parts[1])


def _ids(numbers: NDArray[Any]) -> Ids:
    """Return numbers as kernels take them."""
    return np.ascontiguousarray(numbers, dtype=np.int32)
