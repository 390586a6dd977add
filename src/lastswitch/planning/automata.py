"""Arms as small automata that share one thing only: each slot is taken exactly once.

Whatever an arm must remember to know its pays is a *state*. In each slot an arm either idles or
is pulled, which moves it to a state of the next slot. The certified solver knows nothing else, so
blocks, cycles and terminal values all go through it once written in this form.

States are numbered slot by slot, those of slot ``t`` being ``offset[t] .. offset[t+1] - 1``; slot
``d`` is the end of the block. Two arms may share states; after :func:`minimise` they do wherever
their futures are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import announce, jit
from lastswitch.errors import ProblemError
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
    twins: IntArray | None = None

    def __post_init__(self) -> None:
        def keep(name: str, dtype: type, values: object) -> None:
            object.__setattr__(self, name, np.ascontiguousarray(values, dtype=dtype))

        keep("offset", np.int64, self.offset)
        for name in ("idle", "pull", "root"):
            keep(name, np.int32, getattr(self, name))
        for name in ("pay", "final"):
            keep(name, np.float64, getattr(self, name))
        keep("twins", np.int64, np.arange(self.n_arms) if self.twins is None else self.twins)

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


def minimise(automata: Automata) -> Automata:
    """Return equal automata in which states with the same future are one state.

    A rest curve that has flattened, a season that has wrapped and arms with equal curves all
    collapse here; states no block can reach, or no block can leave, are dropped.

    Examples
    --------
    >>> twice = Automata(offset=[0, 2, 4], idle=[2, 3, -1, -1], pull=[3, 2, -1, -1],
    ...                  pay=[0.5, 0.5, 0.0, 0.0], final=[0.0, 0.0], root=[0, 1])
    >>> minimise(twice).root
    array([0, 0], dtype=int32)
    """
    announce("planning", _minimise)
    a = automata
    offset, idle, pull, pay, final, root = _minimise(
        a.offset, a.idle, a.pull, a.pay, a.final, a.root
    )
    if (root < 0).any():
        arm = int(np.argmin(root))
        raise ProblemError(
            f"arm {arm} can neither idle nor be pulled to the end; no block is feasible."
        )
    return Automata(offset, idle, pull, pay, final, root, a.twins)


def block_automata(problem: BlockProblem) -> Automata:
    """Return the arms of a block problem as minimised automata.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 4] * 2)
    >>> block_automata(problem).value([0, 1, 0, 1]) == problem.value([0, 1, 0, 1])
    True
    """
    return minimise(raw_block_automata(problem))


def raw_block_automata(problem: BlockProblem) -> Automata:
    """Return the arms of a block problem with every memory spelt out.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.0] * 3])
    >>> raw_block_automata(problem).value([0, 0, 0])
    0.2
    """
    rest, streak, end = problem.rest, problem.streak, problem.terminal
    none = np.zeros((problem.n_arms, 1))
    none.flags.writeable = False  # like the problem's own tables: one compiled version serves all
    if end is None:
        end_rest, end_streak, end_unplayed = none, none, none[:, 0]
    else:
        end_rest, end_streak, end_unplayed = end.rest, end.streak, end.unplayed
    arrays = _raw_block(
        problem.first,
        rest if rest.shape[1] else none,
        streak if streak.shape[1] else none,
        problem.run,
        problem.allowed,
        problem.distinct_start,
        end_rest,
        end_streak,
        end_unplayed,
    )
    rows = np.hstack([rest, streak, end_rest, end_streak, problem.allowed.T.astype(np.float64)])
    twins = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    offset, idle, pull, pay, final, root = arrays
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
def _raw_block(
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
    S = _support(streak, end_streak, max(1, min(d + run.max(), longest)))
    n = 1 + M + S
    offset = np.arange(0, (d + 2) * K * n, K * n)
    N = (d + 1) * K * n
    idle = np.full(N, -1, np.int32)
    pull = np.full(N, -1, np.int32)
    pay = np.zeros(N)
    final = np.zeros(K * n)
    for t in range(d):
        only = allowed[t].sum() == 1
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
            begun = 1 + run[i] if t == 0 else 1
            pull[here] = there + M + min(begun, S)
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
    root = (np.arange(K) * n).astype(np.int32)
    return offset, idle, pull, pay, final, root


@jit
def _reached(offset: IntArray, idle: StateArray, pull: StateArray, root: StateArray) -> BoolArray:
    """Mark the states some path from a root visits."""
    seen = np.zeros(offset[-1], np.bool_)
    for s in root:
        seen[s] = True
    for s in range(offset[-2]):
        if seen[s]:
            if idle[s] >= 0:
                seen[idle[s]] = True
            if pull[s] >= 0:
                seen[pull[s]] = True
    return seen


@jit
def _minimise(
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
) -> Parts:
    """Give equal futures one class, from the last slot backwards.

    A class is known by (class after idling, class after a pull, pay), found in a hash table whose
    hits are compared in full. Classes are numbered backwards and turned round at the end.
    """
    d = len(offset) - 2
    N = offset[-1]
    seen = _reached(offset, idle, pull, root)
    label = np.full(N, -1, np.int32)
    new_idle = np.empty(N, np.int32)
    new_pull = np.empty(N, np.int32)
    new_pay = np.empty(N)
    widest = 1
    for t in range(d + 1):
        widest = max(widest, offset[t + 1] - offset[t])
    size = 1
    while size < 2 * widest:
        size *= 2
    table = np.full(size, -1, np.int32)
    bits = np.zeros(1)
    as_int = bits.view(np.uint64)
    begin = np.zeros(d + 2, np.int64)  # begin[d - t]: first class of slot t
    count = 0
    for t in range(d, -1, -1):
        begin[d - t] = count
        for s in range(offset[t], offset[t + 1]):
            if not seen[s]:
                continue
            after_idle, after_pull = -1, -1
            if t == d:
                worth = final[s - offset[d]] + 0.0
            else:
                if idle[s] >= 0:
                    after_idle = label[idle[s]]
                if pull[s] >= 0:
                    after_pull = label[pull[s]]
                if after_idle < 0 and after_pull < 0:
                    continue  # a dead end
                worth = pay[s] + 0.0 if after_pull >= 0 else 0.0
            bits[0] = worth
            key = as_int[0] * np.uint64(0x9E3779B97F4A7C15)
            key ^= np.uint64(after_idle + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
            key ^= np.uint64(after_pull + 1) * np.uint64(0x165667B19E3779F9)
            key ^= key >> np.uint64(29)
            key *= np.uint64(0x9E3779B97F4A7C15)
            place = np.int64(key >> np.uint64(20)) & (size - 1)
            while True:
                c = table[place]
                if c < begin[d - t]:  # empty, or left from a later slot
                    table[place] = count
                    new_idle[count], new_pull[count] = after_idle, after_pull
                    new_pay[count] = worth
                    label[s] = count
                    count += 1
                    break
                if new_idle[c] == after_idle and new_pull[c] == after_pull and new_pay[c] == worth:
                    label[s] = c
                    break
                place = (place + 1) & (size - 1)
    begin[d + 1] = count
    return _turned_round(begin, count, d, new_idle, new_pull, new_pay, label, root)


@jit
def _turned_round(
    begin: IntArray,
    count: int,
    d: int,
    new_idle: StateArray,
    new_pull: StateArray,
    new_pay: FloatArray,
    label: StateArray,
    root: StateArray,
) -> Parts:
    """Renumber classes so that slots come in order and the last slot's pays become ``final``."""
    offset = np.zeros(d + 2, np.int64)
    for t in range(d + 1):
        offset[t + 1] = count - begin[d - t]
    idle = np.full(count, -1, np.int32)
    pull = np.full(count, -1, np.int32)
    pay = np.zeros(count)
    for c in range(count):
        s = count - 1 - c
        if new_idle[c] >= 0:
            idle[s] = count - 1 - new_idle[c]
        if new_pull[c] >= 0:
            pull[s] = count - 1 - new_pull[c]
        pay[s] = new_pay[c]
    final = pay[offset[d] :].copy()
    pay[offset[d] :] = 0.0
    turned = np.full(len(root), -1, np.int32)
    for i in range(len(root)):
        if label[root[i]] >= 0:
            turned[i] = count - 1 - label[root[i]]
    return offset, idle, pull, pay, final, turned
