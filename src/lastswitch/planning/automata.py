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
    tables = BlockTables(
        *(first, _flat(rest), _flat(streak), run, allowed, distinct_start),
        *(_flat(end_rest), _flat(end_streak), end_unplayed),
    )
    offset, idle, pull, pay, final, root = spelt_out(tables)
    twins = _alike(rest)
    if twins != list(range(len(rest))):  # some rest curves are equal: look closer
        twins = _alike(np.hstack([rest, streak, end_rest, end_streak, allowed.T]))
    return Automata(offset, idle, pull, pay, final, root, np.array(twins))


def _alike(rows: FloatArray) -> list[int]:
    """Return for each row the first one equal to it."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(row.tobytes(), arm) for arm, row in enumerate(rows)]


def _flat(table: FloatArray) -> FloatArray:
    """Return ``table`` without the columns at its end that repeat the one before."""
    if table.shape[1] == 1 or (table[:, -1] != table[:, -2]).any():
        return table
    changes = np.flatnonzero((table[:, 1:] != table[:, :-1]).any(axis=0))
    columns = int(changes[-1]) + 2 if len(changes) else 1
    flat = np.ascontiguousarray(table[:, :columns])
    flat.flags.writeable = False
    return flat


def spelt_out(tables: BlockTables) -> Parts:
    """Return the fields of the Automata of a block problem, every memory spelt out.

    Examples
    --------
    >>> offset, *_ = spelt_out(block_tables(BlockProblem([[0.9]], [[0.1]], [[0.0] * 2])))
    >>> offset.tolist()  # not pulled yet; that, rested, in a run; and the same at the end
    [0, 1, 4, 7]
    """
    n_arms, d = tables.first.shape
    rests = max(tables.rest.shape[1], tables.end_rest.shape[1])
    runs = max(tables.streak.shape[1], tables.end_streak.shape[1])
    before = max(tables.run.tolist())
    states = [n_arms * (1 + min(t, rests) + min(t + before, runs)) for t in range(d + 1)]
    n = sum(states)
    offset, root = np.empty(d + 2, np.int64), np.empty(n_arms, np.int32)
    idle, pull = np.empty(n, np.int32), np.empty(n, np.int32)
    pay, final = np.empty(n), np.empty(states[-1])
    spell_out(*tables, before, offset, idle, pull, pay, final, root)
    return offset, idle, pull, pay, final, root


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
    before: int,
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
) -> None:
    """Spell out, per slot and arm: not pulled yet (0); rested 1..M; in a run of 1..S.

    ``M`` and ``S`` are where the tables end (beyond, they hold their last column), or the slots
    so far; ``before`` is the longest run before the block.
    """
    K, d = first.shape
    R, S, end_R, end_S = rest.shape[1], streak.shape[1], end_rest.shape[1], end_streak.shape[1]
    most_rest = R if end_R < R else end_R
    most_run = S if end_S < S else end_S
    n, next_n = 0, 1 + (before if before < most_run else most_run)
    M, next_M = 0, 0
    offset[0], offset[1] = 0, K * next_n
    for t in range(d):
        M, n = next_M, next_n  # rests to remember in this slot, and memories in all
        next_M = t + 1 if t + 1 < most_rest else most_rest
        runs = t + 1 + before
        next_n = 1 + next_M + (runs if runs < most_run else most_run)
        offset[t + 2] = offset[t + 1] + K * next_n
        choices = 0
        for i in range(K):
            choices += allowed[t, i]
        for i in range(K):
            there = offset[t + 1] + i * next_n
            for x in range(n):
                s = offset[t] + i * n + x
                # The memory after a slot of rest, the run after a pull, what the pull pays.
                if x == 0:
                    rested, row, gain = 0, 1, first[i, t]
                    if t == 0:
                        row += run[i]
                elif x <= M:
                    rested, row = (x + 1 if x < most_rest else x), 1
                    gain = rest[i, (x if x < R else R) - 1]
                else:
                    rested, row = 1, x - M + 1
                    gain = streak[i, (x - M if x - M < S else S) - 1]
                idle[s], pull[s], pay[s] = -1, -1, 0.0
                if choices > 1 or not allowed[t, i]:  # the only arm of a slot may not idle
                    idle[s] = there + rested
                if allowed[t, i] and not (distinct and t == 1 and x > M):
                    pull[s] = there + next_M + (row if row < most_run else most_run)
                    pay[s] = gain
    M, n, end = next_M, next_n, offset[d]
    for i in range(K):
        root[i] = i * (offset[1] // K)
        for x in range(n):
            s = i * n + x
            idle[end + s], pull[end + s], pay[end + s] = -1, -1, 0.0
            if x == 0:
                final[s] = end_unplayed[i]
            elif x <= M:
                final[s] = end_rest[i, (x if x < end_R else end_R) - 1]
            else:
                final[s] = end_streak[i, (x - M if x - M < end_S else end_S) - 1]
