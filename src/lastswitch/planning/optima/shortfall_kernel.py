"""Kernels that follow joint states for as long as they owe little: see ``shortfall_cycles``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.planning.optima.mean_cycle import find_state, sort_part

#: What :func:`spread` returns if it found no cycle: nothing is left, no room, or a slice is over.
DONE, FULL, PAUSED = -1, -2, -3
#: Entries of its cursor: states, place and size of the queue, and states looked at so far.
STATES, HEAD, WAITING, SEEN = 0, 1, 2, 3
#: A debt lower by less than this is the same debt; pays are about 1.
EPSILON = 1e-13


class Moves(NamedTuple):
    """Where every arm's nodes lead, and what each move falls short by.

    Arm k is one of the group ``groups[g]:groups[g + 1]``, whose nodes begin at ``at[k]``. A node
    idles to ``idle[x]``, short by ``idle_short[x]``; pulled, it takes one of the ways
    ``ways[x]:ways[x + 1]``, to ``goal`` and short by ``goal_short``.
    """

    groups: IntArray
    at: IntArray
    idle: NDArray[np.int16]
    idle_short: FloatArray
    ways: IntArray
    goal: NDArray[np.int16]
    goal_short: FloatArray


class Limits(NamedTuple):
    """Which debts are worth following.

    A state is followed if its debt is below ``most``; or if for some m it is below ``late_debt[m]``
    and with ``late[m]`` of all its nodes below ``late_most[m]``. No debt of ``never`` or more is.
    """

    allowance: float
    most: float
    late: FloatArray
    late_debt: FloatArray
    late_most: FloatArray
    never: float


class Labels(NamedTuple):
    """Joint states, the least debt each was reached with, and from where by playing which node.

    ``table`` finds a state; ``queue`` (a ring) holds the states whose debt fell since they were
    last looked at, which are ``queued``. ``moved`` is for the state a move leads to.
    """

    states: NDArray[np.int16]
    debt: FloatArray
    parent: NDArray[np.int32]
    node: NDArray[np.int32]
    table: NDArray[np.int32]
    queue: NDArray[np.int32]
    queued: BoolArray
    moved: NDArray[np.int16]


@jit(inline=True)
def worth_following(moves: Moves, limits: Limits, debt: float, vector: NDArray[np.int16]) -> bool:
    """Tell whether a state with this debt can be part of what is looked for."""
    if debt < limits.most:
        return True
    for m in range(len(limits.late_most)):
        if debt >= limits.late_debt[m]:
            continue
        total = debt
        for k in range(len(vector)):
            total += limits.late[m, moves.at[k] + vector[k]]
        if total < limits.late_most[m]:
            return True
    return False


@jit(inline=True)
def is_ancestor(parent: NDArray[np.int32], older: int, state: int) -> bool:
    """Tell whether the way to ``state`` goes through ``older``."""
    while state >= 0 and state != older:
        state = parent[state]
    return state == older


@jit(inline=True)
def move_all(
    moves: Moves,
    states: NDArray[np.int16],
    u: int,
    played: int,
    goal: int,
    moved: NDArray[np.int16],
) -> None:
    """Write the state after ``u`` if arm ``played`` goes to ``goal`` and all others idle."""
    for j in range(len(moved)):
        moved[j] = moves.idle[moves.at[j] + states[u, j]]
    moved[played] = goal
    for g in range(len(moves.groups) - 1):
        sort_part(moved, moves.groups[g], moves.groups[g + 1])


@jit
def spread(moves: Moves, limits: Limits, labels: Labels, cursor: IntArray, most: int) -> int:
    """Lower the debts of all states that can be reached while they are worth following.

    Returns a state on a cycle that lowers its own debt, :data:`DONE`, or what stopped it:
    :data:`FULL` arrays, or :data:`PAUSED` after ``most`` states. ``cursor`` lets it go on.
    """
    states, debt, queue = labels.states, labels.debt, labels.queue
    n_arms, ring = states.shape[1], len(queue)
    moved = labels.moved
    last = cursor[SEEN] + most
    while cursor[WAITING] > 0:
        if cursor[SEEN] >= last:
            return PAUSED
        u = queue[cursor[HEAD]]
        owed = debt[u] - limits.allowance
        ways = 0
        for k in range(n_arms):
            x = moves.at[k] + states[u, k]
            owed += moves.idle_short[x]
            ways += moves.ways[x + 1] - moves.ways[x]
        if cursor[STATES] + ways > len(states):
            return FULL
        cursor[HEAD] = (cursor[HEAD] + 1) % ring
        cursor[WAITING] -= 1
        cursor[SEEN] += 1
        labels.queued[u] = False
        for k in range(n_arms):
            if k > 0 and moves.at[k] == moves.at[k - 1] and states[u, k] == states[u, k - 1]:
                continue  # the same moves as its twin's
            x = moves.at[k] + states[u, k]
            for way in range(moves.ways[x], moves.ways[x + 1]):
                after = owed - moves.idle_short[x] + moves.goal_short[way]
                if after >= limits.never:
                    continue
                move_all(moves, states, u, k, moves.goal[way], moved)
                slot = find_state(labels.table, states, moved)
                v = labels.table[slot]
                if v >= 0 and after >= debt[v] - EPSILON:
                    continue
                if not worth_following(moves, limits, after, moved):
                    continue
                around = False
                if v < 0:
                    v = cursor[STATES]
                    cursor[STATES] += 1
                    labels.table[slot] = v
                    for j in range(n_arms):
                        states[v, j] = moved[j]
                    labels.queued[v] = False
                else:
                    around = is_ancestor(labels.parent, v, u)
                debt[v], labels.parent[v], labels.node[v] = after, u, x
                if around:
                    return int(v)
                if not labels.queued[v]:
                    queue[(cursor[HEAD] + cursor[WAITING]) % ring] = v
                    cursor[WAITING] += 1
                    labels.queued[v] = True
    return DONE


@jit
def plays_between(
    moves: Moves,
    allowance: float,
    labels: Labels,
    low: int,
    high: int,
    target: NDArray[np.int32],
    node: NDArray[np.int32],
    owed: FloatArray,
    first: IntArray,
) -> int:
    """Write the plays of the states ``low:high`` that lead to labelled states; return how many.

    ``node`` is what is played and ``owed`` what that adds to a debt. The plays of state u end at
    ``first[u + 1]``, counted from the first one written.
    """
    n_arms, moved, states, plays = labels.states.shape[1], labels.moved, labels.states, 0
    for u in range(low, high):
        resting = -allowance
        for k in range(n_arms):
            resting += moves.idle_short[moves.at[k] + states[u, k]]
        for k in range(n_arms):
            if k > 0 and moves.at[k] == moves.at[k - 1] and states[u, k] == states[u, k - 1]:
                continue
            x = moves.at[k] + states[u, k]
            way = moves.ways[x]
            move_all(moves, states, u, k, moves.goal[way], moved)
            v = labels.table[find_state(labels.table, states, moved)]
            if v >= 0:
                target[plays], node[plays] = v, x
                owed[plays] = resting - moves.idle_short[x] + moves.goal_short[way]
                plays += 1
        first[u + 1] = plays
    return plays


@jit
def one_more_round(
    first: IntArray,
    target: NDArray[np.int32],
    owed: FloatArray,
    to_come: FloatArray,
    earlier: FloatArray,
) -> bool:
    """Lower ``earlier`` to the least that a play and what is then ``to_come`` add to a debt.

    Returns whether anything changed. Both may be the same array.
    """
    changed = False
    for u in range(len(first) - 2, -1, -1):  # what a state leads to was mostly found after it
        least = earlier[u] - EPSILON
        lower = False
        for e in range(first[u], first[u + 1]):
            after = owed[e] + to_come[target[e]]
            if after < least:
                least, lower = after, True
        if lower:
            earlier[u] = least
            changed = True
    return changed
