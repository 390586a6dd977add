"""Kernels on the graph of joint states: list it, and find its best cycle.

A joint state is one canonical state per arm (:mod:`lastswitch.planning.arm_states`). Arms are
ordered by *group*, a group holding the arms that behave alike, and inside a group the states are
sorted: swapping two such arms changes nothing, so only the multiset counts. An edge plays one arm;
its label says which group and in which state, which fixes what it pays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# An improvement smaller than this is rounding. The certificate does not rest on it: bounds are
# computed from the final values by `bias_violation`, whatever the iterations did.
EPSILON = 1e-12


@jit
def _find(table: Ints, states: NDArray[np.int16], vector: NDArray[np.int16]) -> int:
    """Return the slot of ``vector`` in the hash table (taken by it, or free)."""
    mixed = np.uint64(14695981039346656037)
    for k in range(len(vector)):
        mixed = (mixed ^ np.uint64(vector[k])) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    mask = len(table) - 1
    slot = np.int64(mixed & np.uint64(mask))
    while table[slot] >= 0:
        row = states[table[slot]]
        same = True
        for k in range(len(vector)):
            if row[k] != vector[k]:
                same = False
                break
        if same:
            return int(slot)
        slot = (slot + 1) & mask
    return int(slot)


@jit
def _sort(vector: NDArray[np.int16], low: int, high: int) -> None:
    """Sort ``vector[low:high]`` in place (insertion: groups are short and nearly sorted)."""
    for k in range(low + 1, high):
        value = vector[k]
        j = k - 1
        while j >= low and vector[j] > value:
            vector[j + 1] = vector[j]
            j -= 1
        vector[j + 1] = value


@jit
def explore(
    start: NDArray[np.int16],
    groups: Ints,
    offset: Ints,
    on_pull: NDArray[np.int16],
    on_idle: NDArray[np.int16],
    max_states: int,
    max_depth: int,
) -> tuple[int, NDArray[np.int16], Ints, NDArray[np.int32], NDArray[np.int32]]:
    """List the joint states reachable from ``start`` in at most ``max_depth`` rounds.

    Group g is the arms ``groups[g]:groups[g + 1]``; its states are ``offset[g]:offset[g + 1]`` of
    the move tables. Returns ``(n, states, first, target, label)`` with the edges of state u at
    ``first[u]:first[u + 1]``; n = -1 says there are more than ``max_states``. States reached in
    the last round have no edges.
    """
    n_arms, n_groups = len(start), len(groups) - 1
    room = 1024
    states = np.empty((room, n_arms), dtype=np.int16)
    first = np.zeros(room + 1, dtype=np.int64)
    target = np.empty(room * n_arms, dtype=np.int32)
    label = np.empty(room * n_arms, dtype=np.int32)
    table = np.full(4 * room, -1, dtype=np.int64)
    idle = np.empty(n_arms, dtype=np.int16)
    moved = np.empty(n_arms, dtype=np.int16)
    states[0] = start
    table[_find(table, states, start)] = 0
    count, edges, node, depth, layer_end = 1, 0, 0, 0, 1
    while node < count:
        if node == layer_end:
            depth += 1
            layer_end = count
        if depth >= max_depth:
            break
        if count + n_arms > room:  # make room for everything this node can add
            room *= 2
            grown = np.empty((room, n_arms), dtype=np.int16)
            grown[:count] = states[:count]
            states = grown
            grown_first = np.zeros(room + 1, dtype=np.int64)
            grown_first[: node + 1] = first[: node + 1]
            first = grown_first
            table = np.full(4 * room, -1, dtype=np.int64)
            for u in range(count):
                table[_find(table, states, states[u])] = u
        if edges + n_arms > len(target):
            grown_target = np.empty(2 * len(target), dtype=np.int32)
            grown_target[:edges] = target[:edges]
            target = grown_target
            grown_label = np.empty(2 * len(label), dtype=np.int32)
            grown_label[:edges] = label[:edges]
            label = grown_label
        for g in range(n_groups):
            for k in range(groups[g], groups[g + 1]):
                idle[k] = on_idle[offset[g] + states[node, k]]
        for g in range(n_groups):
            for k in range(groups[g], groups[g + 1]):
                own = states[node, k]
                if k > groups[g] and states[node, k - 1] == own:
                    continue  # the same move as its twin's
                moved[:] = idle
                moved[k] = on_pull[offset[g] + own]
                for h in range(n_groups):
                    _sort(moved, groups[h], groups[h + 1])
                slot = _find(table, states, moved)
                if table[slot] < 0:
                    if count >= max_states:
                        return -1, states[:0], first[:0], target[:0], label[:0]
                    table[slot] = count
                    states[count] = moved
                    count += 1
                target[edges] = table[slot]
                label[edges] = offset[g] + own
                edges += 1
        node += 1
        first[node] = edges
    for u in range(node, count):
        first[u + 1] = edges
    return count, states[:count], first[: count + 1], target[:edges], label[:edges]


@jit
def _evaluate(
    choice: Ints,
    target: NDArray[np.int32],
    weight: Floats,
    label: NDArray[np.int32],
    gain: Floats,
    bias: Floats,
) -> None:
    """Set each state's gain (mean of the cycle its choices lead to) and bias, in place."""
    n = len(choice)
    mark = np.full(n, -1, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    for origin in range(n):
        if mark[origin] >= 0:
            continue
        length, u = 0, origin
        while mark[u] < 0:
            mark[u] = origin
            path[length] = u
            length += 1
            u = target[choice[u]]
        if mark[u] == origin:  # a new cycle, through u: its bias is anchored where it was
            close = length
            while path[close - 1] != u:
                close -= 1
            total = 0.0
            for k in range(close - 1, length):
                total += weight[label[choice[path[k]]]]
            gain[u] = total / (length - close + 1)
            for k in range(length - 1, close - 1, -1):
                v = path[k]
                e = choice[v]
                gain[v] = gain[u]
                bias[v] = weight[label[e]] - gain[u] + bias[target[e]]
            length = close - 1
        for k in range(length - 1, -1, -1):
            v = path[k]
            e = choice[v]
            gain[v] = gain[target[e]]
            bias[v] = weight[label[e]] - gain[v] + bias[target[e]]


@jit
def howard(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    max_iterations: int,
) -> tuple[int, Ints, Floats, Floats]:
    """Howard's policy iteration for the maximum mean cycle (multichain form).

    Every state must have an edge. Returns a state on the best cycle, the chosen edge of each
    state, and the gain and bias of each state under those choices.
    """
    n = len(first) - 1
    choice = np.empty(n, dtype=np.int64)
    for u in range(n):
        choice[u] = first[u]
        for e in range(first[u] + 1, first[u + 1]):
            if weight[label[e]] > weight[label[choice[u]]]:
                choice[u] = e
    gain, bias = np.zeros(n), np.zeros(n)
    _evaluate(choice, target, weight, label, gain, bias)
    for _ in range(max_iterations):
        changed = False
        for u in range(n):
            best = choice[u]
            best_gain = gain[target[best]]
            for e in range(first[u], first[u + 1]):
                if gain[target[e]] > best_gain + EPSILON:
                    best, best_gain = e, gain[target[e]]
            if best == choice[u]:
                best_bias = bias[u]
                for e in range(first[u], first[u + 1]):
                    v = target[e]
                    if gain[v] >= best_gain - EPSILON:
                        reached = weight[label[e]] - best_gain + bias[v]
                        if reached > best_bias + EPSILON * max(1.0, abs(best_bias)):
                            best, best_bias = e, reached
            if best != choice[u]:
                choice[u] = best
                changed = True
        if not changed:
            break
        _evaluate(choice, target, weight, label, gain, bias)
    best_state = int(np.argmax(gain))
    for _ in range(n):  # from the transient part onto the cycle
        best_state = target[choice[best_state]]
    return best_state, choice, gain, bias


@jit
def bias_violation(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    gain: float,
    bias: Floats,
) -> float:
    """Return how much any edge beats ``gain`` under ``bias``: no cycle's mean exceeds gain + it."""
    worst = -np.inf
    for u in range(len(first) - 1):
        for e in range(first[u], first[u + 1]):
            excess = weight[label[e]] + bias[target[e]] - bias[u] - gain
            worst = max(worst, excess)
    return worst
