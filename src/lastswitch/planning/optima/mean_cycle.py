"""Kernels on the graph of joint states: list it, and find its best cycle.

A joint state is one canonical state per arm (:mod:`lastswitch.planning.diagrams.arm_states`). Arms
are ordered by *group*, a group holding the arms that behave alike, and inside a group the states
are sorted: swapping two such arms changes nothing, so only the multiset counts. An edge plays one
arm; its label says which group and in which state, which fixes what it pays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit

# An improvement smaller than this is rounding. The certificate does not rest on it: bounds are
# computed from the final values by `bias_violation`, whatever the iterations did.
EPSILON = 1e-12


@jit(inline=True)
def find_state(
    table: NDArray[np.int32], states: NDArray[np.int16], vector: NDArray[np.int16]
) -> int:
    """Return the slot of ``vector`` in the hash table (taken by it, or free)."""
    mixed = np.uint64(14695981039346656037)
    for k in range(len(vector)):
        mixed = (mixed ^ np.uint64(vector[k])) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    mask = len(table) - 1
    slot = np.int64(mixed & np.uint64(mask))
    while table[slot] >= 0:
        same = True
        for k in range(len(vector)):
            if states[table[slot], k] != vector[k]:
                same = False
                break
        if same:
            return int(slot)
        slot = (slot + 1) & mask
    return int(slot)


@jit(inline=True)
def sort_part(vector: NDArray[np.int16], low: int, high: int) -> None:
    """Sort ``vector[low:high]`` in place (insertion: groups are short and nearly sorted)."""
    for k in range(low + 1, high):
        value = vector[k]
        j = k - 1
        while j >= low and vector[j] > value:
            vector[j + 1] = vector[j]
            j -= 1
        vector[j + 1] = value


@jit(makes_arrays=True)
def index_states(table: NDArray[np.int32], states: NDArray[np.int16], count: int) -> None:
    """Enter the first ``count`` states into an empty hash table."""
    for u in range(count):
        table[find_state(table, states, states[u])] = u


@jit(makes_arrays=True)
def expand(
    groups: IntArray,
    offset: IntArray,
    on_pull: NDArray[np.int16],
    on_idle: NDArray[np.int16],
    max_depth: int,
    states: NDArray[np.int16],
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    table: NDArray[np.int32],
    progress: IntArray,
    most: int,
) -> bool:
    """List joint states breadth first until none is left (True), or return False.

    It stops when the arrays are full, or ``most`` states have been expanded in this call.

    Group g is the arms ``groups[g]:groups[g + 1]``; its states are ``offset[g]:offset[g + 1]`` of
    the move tables. The edges of state u are ``first[u]:first[u + 1]``. ``progress`` holds, and
    keeps between calls: states found, edges found, next state to expand, its depth, and where the
    states of that depth end.
    """
    n_arms, n_groups = states.shape[1], len(groups) - 1
    idle, moved = np.empty(n_arms, dtype=np.int16), np.empty(n_arms, dtype=np.int16)
    count, edges, node, depth, layer_end = progress
    stopped, last = False, node + most
    while node < count:
        if node == layer_end:
            depth, layer_end = depth + 1, count
        if depth >= max_depth:
            break
        stopped = count + n_arms > len(states) or edges + n_arms > len(target) or node >= last
        if stopped:
            break
        for g in range(n_groups):
            for k in range(groups[g], groups[g + 1]):
                idle[k] = on_idle[offset[g] + states[node, k]]
        for g in range(n_groups):
            for k in range(groups[g], groups[g + 1]):
                own = states[node, k]
                if k > groups[g] and states[node, k - 1] == own:
                    continue  # the same move as its twin's
                for i in range(n_arms):
                    moved[i] = idle[i]
                moved[k] = on_pull[offset[g] + own]
                for h in range(n_groups):
                    sort_part(moved, groups[h], groups[h + 1])
                slot = find_state(table, states, moved)
                if table[slot] < 0:
                    table[slot] = count
                    for i in range(n_arms):
                        states[count, i] = moved[i]
                    count += 1
                target[edges] = table[slot]
                label[edges] = offset[g] + own
                edges += 1
        node += 1
        first[node] = edges
    progress[0], progress[1], progress[2], progress[3] = count, edges, node, depth
    progress[4] = layer_end
    return not stopped


@jit(makes_arrays=True)
def evaluate(
    choice: IntArray,
    target: NDArray[np.int32],
    weight: FloatArray,
    label: NDArray[np.int32],
    gain: FloatArray,
    bias: FloatArray,
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


@jit(makes_arrays=True)
def greedy_choice(
    first: IntArray, target: NDArray[np.int32], label: NDArray[np.int32], weight: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the best paying edge of each state, and the gain and bias of these choices."""
    n = len(first) - 1
    choice = np.empty(n, dtype=np.int64)
    for u in range(n):
        choice[u] = first[u]
        for e in range(first[u] + 1, first[u + 1]):
            if weight[label[e]] > weight[label[choice[u]]]:
                choice[u] = e
    gain, bias = np.zeros(n), np.zeros(n)
    evaluate(choice, target, weight, label, gain, bias)
    return choice, gain, bias


@jit(makes_arrays=True)
def improve(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    gain: FloatArray,
    bias: FloatArray,
    low: int,
    high: int,
    choice: IntArray,
) -> bool:
    """Improve the choices of the states ``low:high`` in place; tell whether any changed."""
    changed = False
    for u in range(low, high):
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
    return changed


@jit(makes_arrays=True)
def onto_cycle(choice: IntArray, target: NDArray[np.int32], state: int, steps: int) -> int:
    """Return where ``steps`` choices lead from ``state``: past the transient part, if enough."""
    for _ in range(steps):
        state = target[choice[state]]
    return state


@jit(makes_arrays=True)
def howard(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    max_iterations: int,
) -> tuple[int, IntArray, FloatArray, FloatArray]:
    """Howard's policy iteration for the maximum mean cycle (multichain form).

    Every state must have an edge. Returns a state on the best cycle, the chosen edge of each
    state, and the gain and bias of each state under those choices.
    """
    n = len(first) - 1
    choice, gain, bias = greedy_choice(first, target, label, weight)
    for _ in range(max_iterations):
        if not improve(first, target, label, weight, gain, bias, 0, n, choice):
            break
        evaluate(choice, target, weight, label, gain, bias)
    return onto_cycle(choice, target, int(np.argmax(gain)), n), choice, gain, bias


@jit(makes_arrays=True)
def part_gains(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    begins: IntArray,
    choice: IntArray,
    gain: FloatArray,
    bias: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return, for each part ``begins[k]:begins[k + 1]`` of a graph in separate parts, two numbers.

    The first bounds the mean of any of its cycles; the second is the share of edges on its best
    one that are pulls, those with a label other than the last.
    """
    parts, idle = len(begins) - 1, len(weight) - 1
    bounds, pulls = np.empty(parts), np.empty(parts)
    for k in range(parts):
        low, high = begins[k], begins[k + 1]
        state = onto_cycle(choice, target, low + int(np.argmax(gain[low:high])), high - low)
        best, here, length, pulled = gain[state], state, 0, 0
        while length == 0 or here != state:
            length += 1
            if label[choice[here]] != idle:
                pulled += 1
            here = target[choice[here]]
        excess = 0.0
        for u in range(low, high):
            for e in range(first[u], first[u + 1]):
                excess = max(excess, weight[label[e]] + bias[target[e]] - bias[u] - best)
        bounds[k], pulls[k] = best + excess, pulled / length
    return bounds, pulls


@jit(makes_arrays=True)
def bias_violation(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    gain: float,
    bias: FloatArray,
) -> float:
    """Return how much any edge beats ``gain`` under ``bias``: no cycle's mean exceeds gain + it."""
    worst = -np.inf
    for u in range(len(first) - 1):
        for e in range(first[u], first[u + 1]):
            excess = weight[label[e]] + bias[target[e]] - bias[u] - gain
            worst = max(worst, excess)
    return worst
