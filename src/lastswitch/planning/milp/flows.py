"""A ruled problem as an integer program: flows of arms and monitors over the rounds, by HiGHS.

Each arm, and each monitor, is one unit of flow through its own states, round by round. Arms with
equal states share them, so their flows add up. Rows: flow is kept; the plays of a round are as many
as they may be; what a monitor hears is what the arms say. Rules that concern one arm are part of
its states, which makes this by far the fastest form for HiGHS.
"""

from __future__ import annotations

import math
import time

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.progress import Progress, Report
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.diagrams.minimise import minimal
from lastswitch.planning.milp.highs import Model as Highs
from lastswitch.planning.milp.programs import LinearProgram
from lastswitch.planning.playing import RoundsPlayed


class Flow:
    """The program: a variable per move, and which rows it is in.

    Examples
    --------
    >>> from lastswitch.planning.problem import BlockProblem
    >>> from lastswitch.planning.diagrams.shared import ruled_model
    >>> from lastswitch.planning.ruled_problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> Flow(ruled_model(RuledProblem(block, plays=(0, 1)))).cost.shape
    (23,)
    """

    def __init__(self, problem: Model) -> None:
        machines, shared = minimal(problem.arms), problem.shared
        assert machines is not None
        assert shared is not None
        self.problem, self.machines, self.shared = problem, machines, shared
        self.rows: list[IntArray] = []
        self.columns: list[IntArray] = []
        self.values: list[FloatArray] = []
        self.right: list[FloatArray] = []
        self.n_rows = 0
        slot = _slots(machines)
        idle = np.flatnonzero(machines.idle >= 0)
        source = np.repeat(np.arange(len(machines.idle)), np.diff(machines.arc))
        self.tail = np.concatenate([idle, source])
        self.head = np.concatenate([machines.idle[idle], machines.nxt]).astype(np.int64)
        self.n_idle = len(idle)
        self.pulls = np.arange(len(idle), len(self.tail))
        self.kind = machines.label.astype(np.int64)
        self.slot = slot[source]
        gain = np.concatenate([np.zeros(len(idle)), machines.gain])
        last = machines.lo[-1]
        ends = slot[self.head] == problem.length
        gain[ends] += machines.final[self.head[ends] - last]
        m = shared
        state, event = np.nonzero(m.after >= 0)
        self.n_arms_moves, silent = len(self.tail), problem.length
        self.cost = np.concatenate([gain, m.pay[state, event], np.full(silent, shared.silence)])
        self._arm_rows()
        self._monitor_rows(state, event)
        least, most = shared.plays
        units = _visitors(machines)[self.tail]
        self.upper = np.concatenate(
            [units, np.ones(len(state)), np.full(silent, float(most - least))]
        )
        # With the pulls whole, so is the rest; but a monitor may mix events of two plays and none.
        self.integer = np.zeros(len(self.cost), np.int64)
        self.integer[self.pulls] = 1
        if most > 1:
            self.integer[len(gain) : len(gain) + len(state)] = 1

    def _add(self, row: IntArray, column: IntArray, value: FloatArray, right: FloatArray) -> None:
        self.rows.append(row + self.n_rows)
        self.columns.append(column)
        self.values.append(value)
        self.right.append(right)
        self.n_rows += len(right)

    def _arm_rows(self) -> None:
        """Add rows: flow out of a state less flow into it is what begins there; plays a round."""
        machines, problem, shared = self.machines, self.problem, self.shared
        begins = np.bincount(machines.root, minlength=len(machines.idle)).astype(float)
        before_end = np.flatnonzero(_slots(machines) < problem.length)
        rank = np.full(len(machines.idle), -1)
        rank[before_end] = np.arange(len(before_end))
        moves = np.arange(len(self.tail))
        inner = rank[self.head] >= 0
        self._add(
            np.concatenate([rank[self.tail], rank[self.head[inner]]]),
            np.concatenate([moves, moves[inner]]),
            np.concatenate([np.ones(len(moves)), -np.ones(int(inner.sum()))]),
            begins[before_end],
        )
        silent = len(self.cost) - problem.length + np.arange(problem.length)
        self._add(
            np.concatenate([self.slot, np.arange(problem.length)]),
            np.concatenate([self.pulls, silent]),
            np.ones(len(self.pulls) + problem.length),
            np.full(problem.length, float(shared.plays[1])),
        )

    def _monitor_rows(self, state: IntArray, event: IntArray) -> None:
        """Add rows: monitors' flow is kept, and they hear what the arms say."""
        m, problem = self.shared, self.problem
        moves = self.n_arms_moves + np.arange(len(state))
        length = problem.length
        slot_of, whose = np.zeros(len(m.after), np.int64), np.zeros(len(m.after), np.int64)
        for k, offset in enumerate(m.offset):
            for t in range(length + 1):
                slot_of[offset[t] : offset[t + 1]] = t
            whose[offset[0] : offset[-1]] = k
        rank = np.full(len(m.after), -1)
        inside = np.flatnonzero(slot_of < length)
        rank[inside] = np.arange(len(inside))
        head = m.after[state, event].astype(np.int64)
        inner = rank[head] >= 0
        begins = np.zeros(len(inside))
        begins[rank[m.root]] = 1.0
        self._add(
            np.concatenate([rank[state], rank[head[inner]]]),
            np.concatenate([moves, moves[inner]]),
            np.concatenate([np.ones(len(moves)), -np.ones(int(inner.sum()))]),
            begins,
        )
        for letter, plays in ((0, event % m.base), (1, event // m.base)):
            said = m.watch // m.base if letter else m.watch % m.base
            for k in range(len(m)):
                if not said[:, k].any():
                    continue
                heard = np.flatnonzero((whose[state] == k) & (plays > 0))
                spoken = np.flatnonzero(said[self.kind, k] > 0)
                self._add(
                    np.concatenate([self.slot[spoken], slot_of[state[heard]]]),
                    np.concatenate([self.pulls[spoken], moves[heard]]),
                    np.concatenate(
                        [said[self.kind[spoken], k].astype(float), -plays[heard].astype(float)]
                    ),
                    np.zeros(length),
                )

    def program(self) -> LinearProgram:
        """Return the program as HiGHS takes it."""
        from scipy.sparse import csr_array

        index = np.concatenate(self.rows), np.concatenate(self.columns)
        shape = (self.n_rows, len(self.cost))
        matrix = csr_array((np.concatenate(self.values), index), shape=shape)
        right = np.concatenate(self.right)
        return LinearProgram(
            cost=self.cost,
            constant=0.0,
            upper=self.upper,
            low=right,
            high=right,
            starts=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int64),
            values=matrix.data,
            integer=self.integer.astype(np.bool_),
        )

    def rounds(self, flow: FloatArray) -> RoundsPlayed:
        """Return the schedule of a flow, arm by arm."""
        left = np.round(flow[: self.n_arms_moves]).astype(int)
        leaving: dict[int, list[int]] = {}
        for move in np.flatnonzero(left).tolist():
            leaving.setdefault(int(self.tail[move]), []).append(move)
        played: list[list[int]] = [[] for _ in range(self.problem.length)]
        for arm, state in enumerate(self.machines.root.tolist()):
            for t in range(self.problem.length):
                move = next(move for move in leaving[state] if left[move] > 0)
                left[move] -= 1
                if move >= self.n_idle:
                    played[t].append(arm)
                state = int(self.head[move])
        return tuple(map(tuple, played))


def solve(
    problem: Model,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Report | None = None,
) -> tuple[RoundsPlayed | None, float]:
    """Solve the program; return the best schedule found, if any, and a bound.

    A bound of minus infinity proves that there is no schedule. Ctrl-C stops it like a time limit,
    once it has found any.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> from lastswitch.planning.diagrams.shared import ruled_model
    >>> from lastswitch.planning.ruled_problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> solve(ruled_model(RuledProblem(block, rules=[r.never(1, [1])], plays=(0, 1))))[0]
    ((0,), (), (0,))
    """
    if minimal(problem.arms) is None:
        return None, -np.inf
    began = time.perf_counter()

    def tell(seconds: float, value: float, bound: float) -> None:
        if progress is not None and math.isfinite(value) and math.isfinite(bound):
            progress(Progress(seconds, value=value, bound=bound))

    flow = Flow(problem)
    model = Highs(flow.program(), integer=True)
    left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 0.01)
    known = -math.inf, math.inf
    ended = model.optimise(None, gap=gap, time_limit=left, known=known, progress=tell)
    if ended.variables is not None:
        return flow.rounds(ended.variables), ended.bound
    if ended.interrupted:
        raise KeyboardInterrupt
    return None, ended.bound


def _visitors(machines: Diagram) -> FloatArray:
    """Return how many arms can be in each state."""
    reached = np.zeros((len(machines.idle), len(machines.root)), np.bool_)
    reached[machines.root, np.arange(len(machines.root))] = True
    tail = np.repeat(np.arange(len(machines.idle)), np.diff(machines.arc))
    for low, high in zip(machines.lo[:-1], machines.hi[:-1], strict=True):
        here = np.arange(low, high)
        rests = here[machines.idle[low:high] >= 0]
        np.logical_or.at(reached, machines.idle[rests], reached[rests])
        arcs = slice(machines.arc[low], machines.arc[high])
        np.logical_or.at(reached, machines.nxt[arcs], reached[tail[arcs]])
    visitors: FloatArray = reached.sum(axis=1).astype(np.float64)
    return visitors


def _slots(machines: Diagram) -> IntArray:
    """Return the round of each state."""
    slot = np.empty(len(machines.idle), np.int64)
    for t, (low, high) in enumerate(zip(machines.lo, machines.hi, strict=True)):
        slot[low:high] = t
    return slot
