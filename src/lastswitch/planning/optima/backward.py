"""Kernels of backward induction: best values and choices with 1, 2, 3, … rounds to go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit


@jit(makes_arrays=True)
def backward_step(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    following: FloatArray,
    values: FloatArray,
    choices: NDArray[np.uint16],
) -> None:
    """One step of backward induction: best value and edge (from the state's first) per state."""
    for u in range(len(first) - 1):
        best, chosen = -np.inf, 0
        for e in range(first[u], first[u + 1]):
            reached = weight[label[e]] + following[target[e]]
            if reached > best:
                best, chosen = reached, e - first[u]
        values[u] = best
        choices[u] = chosen


@jit(makes_arrays=True)
def backward_span(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    values: FloatArray,
    from_start: FloatArray,
) -> FloatArray:
    """Return the values ``len(from_start)`` rounds earlier; note those of state 0 on the way."""
    current, following = np.empty(len(values)), values.copy()
    choices = np.empty(len(values), dtype=np.uint16)
    for k in range(len(from_start)):
        backward_step(first, target, label, weight, following, current, choices)
        current, following = following, current
        from_start[k] = following[0]
    return following


@jit(makes_arrays=True)
def backward_choices(
    first: IntArray,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: FloatArray,
    values: FloatArray,
    choices: NDArray[np.uint16],
) -> FloatArray:
    """Return the values ``len(choices)`` rounds earlier; note all choices on the way."""
    current, following = np.empty(len(values)), values.copy()
    for k in range(len(choices)):
        backward_step(first, target, label, weight, following, current, choices[k])
        current, following = following, current
    return following


@jit(makes_arrays=True)
def walk_choices(
    first: IntArray,
    target: NDArray[np.int32],
    choices: NDArray[np.uint16],
    last: int,
    state: int,
    walked: IntArray,
) -> int:
    """Write the edges walked from ``state`` into ``walked``; return where they lead.

    ``choices[k]`` are those with k + 1 rounds to go, and come again after the last; the walk
    begins with row ``last``.
    """
    row = last
    for t in range(len(walked)):
        e = first[state] + choices[row, state]
        walked[t] = e
        state = target[e]
        row = row - 1 if row > 0 else len(choices) - 1
    return state


@jit(makes_arrays=True)
def best_alone_total(
    weight: FloatArray, on_pull: IntArray, on_idle: IntArray, start: int, horizon: int
) -> tuple[float, int]:
    """Return the best total of one arm left to itself over ``horizon`` rounds, and its pulls."""
    n = len(weight)
    value, pulls = np.zeros(n), np.zeros(n, dtype=np.int64)
    next_value, next_pulls = np.zeros(n), np.zeros(n, dtype=np.int64)
    for _ in range(horizon):
        value, next_value = next_value, value
        pulls, next_pulls = next_pulls, pulls
        for s in range(n):
            played = weight[s] + next_value[on_pull[s]]
            rested = next_value[on_idle[s]]
            if played > rested:
                value[s], pulls[s] = played, next_pulls[on_pull[s]] + 1
            else:
                value[s], pulls[s] = rested, next_pulls[on_idle[s]]
    return value[start], pulls[start]


@jit(makes_arrays=True)
def best_alone_totals(
    weight: FloatArray,
    on_pull: IntArray,
    on_idle: IntArray,
    begins: IntArray,
    parts: IntArray,
    starts: IntArray,
    horizon: int,
    totals: FloatArray,
    pulls: IntArray,
) -> None:
    """Write :func:`best_alone_total` of machine ``parts[j]`` from ``starts[j]``, for every j.

    Machine k has the states ``begins[k]:begins[k + 1]`` and counts them from its first.
    """
    for j in range(len(parts)):
        part = slice(begins[parts[j]], begins[parts[j] + 1])
        totals[j], pulls[j] = best_alone_total(
            weight[part], on_pull[part], on_idle[part], starts[j], horizon
        )


@jit(makes_arrays=True)
def best_used_totals(
    weight: FloatArray,
    on_pull: IntArray,
    on_idle: IntArray,
    begins: IntArray,
    rounds: int,
    low: int,
    totals: FloatArray,
) -> None:
    """Write the best total of machine ``low + j`` over ``rounds`` that end with a pull, for all j.

    Machines as in :func:`best_alone_totals`, each starting in its state 0, which is τ = -1.
    """
    for j in range(len(totals)):
        begin, end = begins[low + j], begins[low + j + 1]
        value, following = np.empty(end - begin), weight[begin:end].copy()  # the last is a pull
        for _ in range(rounds - 1):
            for s in range(end - begin):
                played = weight[begin + s] + following[on_pull[begin + s]]
                value[s] = max(played, following[on_idle[begin + s]])
            value, following = following, value
        totals[j] = following[0]
