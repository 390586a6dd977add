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
from dataclasses import dataclass

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


def block_automata(problem: BlockProblem) -> Automata:
    """Return the arms of a block problem with every memory spelt out.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.0] * 3])
    >>> block_automata(problem).value([0, 0, 0])
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
