"""Arms as small automata that share one thing only: each slot is taken exactly once.

Whatever an arm must remember to know its pays is a *state*. In each slot an arm either idles or
is pulled, which moves it to a state of the next slot. The certified solver knows nothing else, so
blocks, cycles and terminal values all go through it once written in this form.

States are numbered slot by slot, those of slot ``t`` being ``offset[t] .. offset[t+1] - 1``; slot
``d`` is the end of the block. Two arms may share states. Builders may be wasteful: the solver drops
what cannot be reached and merges states whose futures are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit
from lastswitch.planning._tables import BoolArray, FloatArray, IntArray
from lastswitch.planning.problem import BlockProblem

StateArray = NDArray[np.int32]
#: The arrays of an Automata, in order, without the twins.
Parts = tuple[IntArray, StateArray, StateArray, FloatArray, FloatArray, StateArray]


@dataclass(frozen=True, eq=False)
class Automata:
    """The arms of a planning problem, as automata over the slots.

    Parameters
    ----------
    offset
        Vector (d + 2,): where the states of each slot begin, and how many there are in all.
    idle
        Vector (N,): the state after idling, or -1 if the arm may not idle there.
    pull
        Vector (N,): the state after a pull, or -1 if the arm may not be pulled there.
    pay
        Vector (N,): what that pull pays; ignored where ``pull`` is -1.
    final
        What each state of the last slot ``d`` is worth, in order.
    root
        Vector (K,): the state of each arm in slot 0.
    twins
        Vector (K,): arms with the same label are alike, so that the search treats blocks that
        only swap them as one. A hint: any labels are correct, all different by default.

    Examples
    --------
    One arm, one slot, that pays 0.5 if pulled:

    >>> arm = Automata(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                final=[0.0], root=[0])
    >>> arm.n_arms, arm.length, arm.value([0])
    (1, 1, 0.5)
    """

    offset: IntArray
    idle: StateArray
    pull: StateArray
    pay: FloatArray
    final: FloatArray
    root: StateArray
    twins: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        def keep(name: str, dtype: type, values: object) -> None:
            object.__setattr__(self, name, np.ascontiguousarray(values, dtype=dtype))

        keep("offset", np.int64, self.offset)
        for name in ("idle", "pull", "root"):
            keep(name, np.int32, getattr(self, name))
        for name in ("pay", "final"):
            keep(name, np.float64, getattr(self, name))
        keep("twins", np.int64, self.twins if len(self.twins) else np.arange(self.n_arms))

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.root)

    @property
    def length(self) -> int:
        """How many slots there are."""
        return len(self.offset) - 2

    def value(self, block: Sequence[int] | IntArray) -> float:
        """Return what ``block`` is worth, or minus infinity if some arm forbids it."""
        state = self.root.copy()
        total = 0.0
        for arm in block:
            after = self.idle[state]
            after[arm] = self.pull[state[arm]]
            if after.min() < 0:
                return -np.inf
            total += float(self.pay[state[arm]])
            state = after
        return total + float(self.final[state - self.offset[-2]].sum())


def block_automata(problem: BlockProblem) -> Automata:
    """Return the arms of a block problem with every memory spelt out.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.0] * 3])
    >>> block_automata(problem).value([0, 0, 0])
    0.2
    """
    return table_automata(*block_tables(problem))


class BlockTables(NamedTuple):
    """A block problem as the arrays kernels take; a missing table is one column of zeros."""

    first: FloatArray
    rest: FloatArray
    streak: FloatArray
    run: IntArray
    allowed: BoolArray
    distinct_start: bool
    end_rest: FloatArray
    end_streak: FloatArray
    end_unplayed: FloatArray


def block_tables(problem: BlockProblem) -> BlockTables:
    """Return the arrays of ``problem``, all read-only, so that one compiled version serves all.

    Examples
    --------
    >>> block_tables(BlockProblem([[0.9]], [[0.1]], [[0.0] * 3])).end_rest
    array([[0.]])
    """
    none = np.zeros((problem.n_arms, 1))
    none.flags.writeable = False
    end = problem.terminal
    return BlockTables(
        problem.first,
        problem.rest if problem.rest.shape[1] else none,
        problem.streak if problem.streak.shape[1] else none,
        problem.run,
        problem.allowed,
        problem.distinct_start,
        none if end is None else end.rest,
        none if end is None else end.streak,
        none.reshape(-1) if end is None else end.unplayed,
    )


def table_automata(
    first: FloatArray,
    rest: FloatArray,
    streak: FloatArray,
    run: IntArray,
    allowed: BoolArray,
    distinct_start: bool,
    end_rest: FloatArray,
    end_streak: FloatArray,
    end_unplayed: FloatArray,
) -> Automata:
    """Return the automata of a block problem given as the fields of :class:`BlockTables`."""
    offset, idle, pull, pay, final, root = spell_out(
        *(first, rest, streak, run, allowed, distinct_start, end_rest, end_streak, end_unplayed)
    )
    twins = np.arange(len(root))
    label_twins(rest, streak, end_rest, end_streak, allowed, twins)
    return Automata(offset, idle, pull, pay, final, root, twins)


@jit
def _support(one: FloatArray, other: FloatArray, longest: int) -> int:
    """Return from which column on no row of either table changes any more."""
    for column in range(longest - 1, 0, -1):
        for i in range(one.shape[0]):
            here, before = min(column, one.shape[1] - 1), min(column - 1, one.shape[1] - 1)
            if one[i, here] != one[i, before]:
                return column + 1
            here, before = min(column, other.shape[1] - 1), min(column - 1, other.shape[1] - 1)
            if other[i, here] != other[i, before]:
                return column + 1
    return 1


@jit
def spell_out(
    first: FloatArray,
    rest: FloatArray,
    streak: FloatArray,
    run: IntArray,
    allowed: BoolArray,
    distinct: bool,
    end_rest: FloatArray,
    end_streak: FloatArray,
    end_unplayed: FloatArray,
) -> Parts:
    """Spell out, per slot and arm: not pulled yet; rested 1..M; run of 1..S.

    ``M`` and ``S`` are where the tables stop changing, so nothing is lost by stopping there.
    """
    K, d = first.shape
    M = _support(rest, end_rest, max(1, min(d - 1, max(rest.shape[1], end_rest.shape[1]))))
    longest = max(streak.shape[1], end_streak.shape[1])
    begun = 0
    for i in range(K):
        begun = max(begun, run[i])
    S = _support(streak, end_streak, max(1, min(d + begun, longest)))
    n = 1 + M + S
    offset = np.empty(d + 2, np.int64)
    for t in range(d + 2):
        offset[t] = t * K * n
    N = (d + 1) * K * n
    idle = np.empty(N, np.int32)
    pull = np.empty(N, np.int32)
    pay = np.zeros(N)
    for s in range(N):
        idle[s], pull[s] = -1, -1
    final = np.zeros(K * n)
    for t in range(d):
        choices = 0
        for i in range(K):
            choices += allowed[t, i]
        only = choices == 1
        for i in range(K):
            here, there = (t * K + i) * n, ((t + 1) * K + i) * n
            if not (only and allowed[t, i]):  # the only arm of a pinned slot may not idle
                idle[here] = there
                for m in range(1, M + 1):
                    idle[here + m] = there + min(m + 1, M)
                for r in range(1, S + 1):
                    idle[here + M + r] = there + 1
            if not allowed[t, i]:
                continue
            row = 1 + run[i] if t == 0 else 1
            pull[here] = there + M + min(row, S)
            pay[here] = first[i, t]
            for m in range(1, M + 1):
                pull[here + m] = there + M + 1
                pay[here + m] = rest[i, min(m, rest.shape[1]) - 1]
            if distinct and t == 1:
                continue
            for r in range(1, S + 1):
                pull[here + M + r] = there + M + min(r + 1, S)
                pay[here + M + r] = streak[i, min(r, streak.shape[1]) - 1]
    for i in range(K):
        final[i * n] = end_unplayed[i]
        for m in range(1, M + 1):
            final[i * n + m] = end_rest[i, min(m, end_rest.shape[1]) - 1]
        for r in range(1, S + 1):
            final[i * n + M + r] = end_streak[i, min(r, end_streak.shape[1]) - 1]
    root = np.empty(K, np.int32)
    for i in range(K):
        root[i] = i * n
    return offset, idle, pull, pay, final, root


@jit
def label_twins(
    rest: FloatArray,
    streak: FloatArray,
    end_rest: FloatArray,
    end_streak: FloatArray,
    allowed: BoolArray,
    twins: IntArray,
) -> None:
    """Give every arm the number of the first arm whose tables and mask are the same."""
    for i in range(len(twins)):
        for j in range(i):
            same = twins[j] == j
            for c in range(rest.shape[1]):
                same = same and rest[i, c] == rest[j, c]
            for c in range(streak.shape[1]):
                same = same and streak[i, c] == streak[j, c]
            for c in range(end_rest.shape[1]):
                same = same and end_rest[i, c] == end_rest[j, c]
            for c in range(end_streak.shape[1]):
                same = same and end_streak[i, c] == end_streak[j, c]
            for t in range(allowed.shape[0]):
                same = same and allowed[t, i] == allowed[t, j]
            if same:
                twins[i] = j
                break
