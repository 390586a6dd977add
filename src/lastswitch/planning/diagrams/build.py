"""The arms of a block problem as decision diagrams: what each must remember to know its pays."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.planning.diagrams.diagram import Model, StateArray, as_it_comes
from lastswitch.planning.problem import BlockProblem


def block_model(problem: BlockProblem) -> Model:
    """Return the arms of a block problem, their flat tails and the symmetric ones found.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.0] * 3])
    >>> block_model(problem).arms.value([0, 0, 0])
    0.2
    """
    tables = _tables(problem)
    rest, streak, end_rest, end_streak, _ = tables
    alike = _all_different(len(rest))
    if len(set(rest[:, 0].tolist())) < len(rest) > len(set(_alike(rest))):  # look closer
        rows = np.hstack([rest, streak, end_rest, end_streak, problem.allowed.T])
        alike = np.array(_alike(rows))
    facts = np.empty(problem.length + 3)
    return _spelt(problem, _flattened(tables), alike, facts)._replace(facts=facts)


def plain_model(problem: BlockProblem) -> Model:
    """Return the arms of a block problem as they come, for searches of a few microseconds.

    Examples
    --------
    >>> plain_model(BlockProblem([[0.9]], [[0.1]], [[0.0] * 2])).arms.hi.tolist()
    [1, 4, 7]

    Not pulled yet; that, rested, in a run; and the same at the end.
    """
    n_arms, length = problem.first.shape
    return _spelt(problem, _tables(problem), _all_different(n_arms), _unread(length))


def count_states(problem: BlockProblem) -> int:
    """Return how many states the diagrams of a problem have, without building them.

    Examples
    --------
    >>> count_states(BlockProblem([[0.9]], [[0.1]], [[0.0] * 2]))
    7
    """
    return _sizes(problem, _flattened(_tables(problem)))[0]


#: The tables of rests and streaks, those of their worth at the end, and that of no pull at all.
_Tables = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


def _tables(problem: BlockProblem) -> _Tables:
    """Return the tables a kernel takes: a missing one is a column of zeros.

    All are read-only, so that one compiled version serves all.
    """
    none, no_end = _zeros(problem.n_arms)
    end = problem.terminal
    return (
        problem.rest if problem.rest.shape[1] else none,
        problem.streak if problem.streak.shape[1] else none,
        none if end is None else end.rest,
        none if end is None else end.streak,
        no_end if end is None else end.unplayed,
    )


@lru_cache(maxsize=16)
def _zeros(n_arms: int) -> tuple[FloatArray, FloatArray]:
    """Return a table of one column, and a vector, of zeros."""
    return _read_only(np.zeros((n_arms, 1))), _read_only(np.zeros(n_arms))


def _read_only(table: FloatArray) -> FloatArray:
    """Return ``table``, read-only as those of a problem are: kernels are compiled for that."""
    table.flags.writeable = False
    return table


@lru_cache(maxsize=16)
def _all_different(n_arms: int) -> IntArray:
    """Return a label of its own for each arm."""
    return np.arange(n_arms)


@lru_cache(maxsize=16)
def _unread(length: int) -> FloatArray:
    """Return where facts go that nobody reads."""
    return np.empty(length + 3)


def _alike(rows: FloatArray) -> list[int]:
    """Return for each row the first one equal to it."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(row.tobytes(), arm) for arm, row in enumerate(rows)]


def _flattened(tables: _Tables) -> _Tables:
    """Return the tables without the columns at their ends that repeat the one before."""
    rest, streak, end_rest, end_streak, unplayed = tables
    return _flat(rest), _flat(streak), _flat(end_rest), _flat(end_streak), unplayed


def _flat(table: FloatArray) -> FloatArray:
    """Return ``table`` without the columns at its end that repeat the one before."""
    if table.shape[1] == 1 or any(one != other for one, other in table[:, -2:].tolist()):
        return table
    changes = np.flatnonzero((table[:, 1:] != table[:, :-1]).any(axis=0))
    columns = int(changes[-1]) + 2 if len(changes) else 1
    return _read_only(np.ascontiguousarray(table[:, :columns]))


def _sizes(problem: BlockProblem, tables: _Tables) -> tuple[int, int]:
    """Return how many states there are, and how many of them at the end."""
    rest, streak, end_rest, end_streak, _ = tables
    return _count(
        *problem.first.shape,
        max(rest.shape[1], end_rest.shape[1]),
        max(streak.shape[1], end_streak.shape[1]),
        max(problem.run.tolist()),
    )


@lru_cache(maxsize=64)
def _count(n_arms: int, length: int, rests: int, runs: int, before: int) -> tuple[int, int]:
    """Return what :func:`_sizes` does, for tables of these depths and runs before the block."""
    states = [n_arms * (1 + min(t, rests) + min(t + before, runs)) for t in range(length + 1)]
    return sum(states), states[-1]


def _spelt(problem: BlockProblem, tables: _Tables, alike: IntArray, facts: FloatArray) -> Model:
    """Return the arms of a block problem with every memory spelt out; note down the facts."""
    (n, n_end), (n_arms, length) = _sizes(problem, tables), problem.first.shape
    offset, root = np.empty(length + 2, np.int64), np.empty(n_arms, np.int32)
    idle, pull, pay = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    final = np.empty(n_end)
    spell_out(
        *(problem.first, *tables, problem.run, problem.allowed, problem.distinct_start),
        *(offset, idle, pull, pay, final, root, facts),
    )
    return Model(as_it_comes(offset, idle, pull, pay, final, root), alike)


@jit
def spell_out(
    first: FloatArray,
    rest: FloatArray,
    streak: FloatArray,
    end_rest: FloatArray,
    end_streak: FloatArray,
    end_unplayed: FloatArray,
    run: IntArray,
    allowed: BoolArray,
    distinct: bool,
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
    facts: FloatArray,
) -> None:
    """Spell out, per round and arm: not pulled yet (0); rested 1..M; in a run of 1..S.

    ``M`` and ``S`` are where the tables end (beyond, they hold their last column), or the rounds
    so far. (A named tuple takes a microsecond longer to hand over than its arrays, which counts
    for the smallest blocks; and `min` takes longer to compile than the loop it is in.)

    ``facts`` become those of :meth:`Diagram.survey`.
    """
    K, d = first.shape
    R, S, end_R, end_S = rest.shape[1], streak.shape[1], end_rest.shape[1], end_streak.shape[1]
    most_rest = R if end_R < R else end_R
    most_run = S if end_S < S else end_S
    before = 0  # the longest run before the block
    for i in range(K):
        already = run[i]
        before = already if already > before else before
    n, next_n = 0, 1 + (before if before < most_run else most_run)
    M, next_M = 0, 0
    offset[0], offset[1] = 0, K * next_n
    forbidden, least, most = 0.0, 0.0, 0.0
    for t in range(d):
        M, n = next_M, next_n  # rests to remember in this round, and memories in all
        next_M = t + 1 if t + 1 < most_rest else most_rest
        runs = t + 1 + before
        next_n = 1 + next_M + (runs if runs < most_run else most_run)
        offset[t + 2] = offset[t + 1] + K * next_n
        choices, top = 0, -np.inf
        for i in range(K):
            choices += allowed[t, i]
        for i in range(K):
            here, there = offset[t] + i * n, offset[t + 1] + i * next_n
            may_pull = allowed[t, i]
            for x in range(n):
                s = here + x
                # The memory after a round of rest, the run after a pull, what the pull pays.
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
                if choices > 1 or not may_pull:  # the only arm of a round may not idle
                    idle[s] = there + rested
                if may_pull and not (distinct and t == 1 and x > M):
                    pull[s] = there + next_M + (row if row < most_run else most_run)
                    pay[s] = gain + 0.0  # -0.0 becomes 0.0: equal pays, equal bits
                    top = gain if gain > top else top
                    least = gain if gain < least else least
        if choices == 1 or choices < K or (distinct and t == 1):
            forbidden = 1.0
        facts[t] = top
        most = top if top > most else most
    M, n, end, top = next_M, next_n, offset[d], -np.inf
    for i in range(K):
        root[i] = i * (offset[1] // K)
        for x in range(n):
            s = i * n + x
            idle[end + s], pull[end + s], pay[end + s] = -1, -1, 0.0
            if x == 0:
                worth = end_unplayed[i]
            elif x <= M:
                worth = end_rest[i, (x if x < end_R else end_R) - 1]
            else:
                worth = end_streak[i, (x - M if x - M < end_S else end_S) - 1]
            final[s] = worth + 0.0
            top = worth if worth > top else top
            least = worth if worth < least else least
    most = top if top > most else most
    facts[d], facts[d + 1], facts[d + 2] = top, most if most > -least else -least, forbidden
