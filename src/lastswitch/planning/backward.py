"""Kernels of backward induction: best values and choices with 1, 2, 3, … rounds to go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit
from lastswitch.planning.mean_cycle import Floats, Ints


@jit
def backward_step(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    following: Floats,
    values: Floats,
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


@jit
def backward_values(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    horizon: int,
    every: int,
) -> Floats:
    """Return the values with 0, every, 2·every, … ≤ horizon rounds to go, one row each."""
    n = len(first) - 1
    kept = np.zeros((horizon // every + 1, n))
    current, following = np.zeros(n), np.zeros(n)
    choices = np.empty(n, dtype=np.uint16)
    for to_go in range(1, horizon + 1):
        current, following = following, current
        backward_step(first, target, label, weight, following, current, choices)
        if to_go % every == 0:
            kept[to_go // every] = current
    return kept


@jit
def follow_best(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    kept: Floats,
    every: int,
    horizon: int,
    start: int,
    walked: Ints,
) -> None:
    """Write the edges of a best walk of ``horizon`` rounds from ``start`` into ``walked``.

    Only every ``every``-th value vector is at hand (``kept``); the choices between two of them
    are worked out again, one stretch at a time, so memory grows with the square root of the
    horizon.
    """
    n = len(first) - 1
    choices = np.empty((every, n), dtype=np.uint16)
    u, t = start, 0
    for stretch in range((horizon - 1) // every, -1, -1):
        low = stretch * every
        steps = min(every, horizon - low)
        following = kept[stretch].copy()
        current = np.empty(n)
        for k in range(steps):
            backward_step(first, target, label, weight, following, current, choices[k])
            current, following = following, current
        for k in range(steps - 1, -1, -1):
            e = first[u] + choices[k, u]
            walked[t] = e
            t += 1
            u = target[e]


@jit
def settle(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    period: int,
    horizon: int,
    tolerance: float,
) -> tuple[int, float, float, Floats, Floats]:
    """Step backwards until one period more changes all values by the same amount.

    Returns ``(n, change, spread, from_start, values)``: with n rounds to go the values differ
    from those with n - period rounds to go by ``change``, give or take ``spread``;
    ``from_start[m]`` is the value of state 0 with m rounds to go, and ``values`` are those with
    n - period to go. n = 0 says that ``horizon`` steps were not enough.
    """
    n = len(first) - 1
    current, following, earlier = np.zeros(n), np.zeros(n), np.zeros(n)
    choices = np.empty(n, dtype=np.uint16)
    from_start = np.zeros(horizon + 1)
    for to_go in range(1, horizon + 1):
        current, following = following, current
        backward_step(first, target, label, weight, following, current, choices)
        from_start[to_go] = current[0]
        if to_go % period == 0:
            least, most = np.inf, -np.inf
            for u in range(n):
                change = current[u] - earlier[u]
                least, most = min(least, change), max(most, change)
            if most - least <= tolerance:
                return to_go, 0.5 * (least + most), most - least, from_start, earlier
            earlier[:] = current
    return 0, 0.0, np.inf, from_start, earlier


@jit
def follow_period(
    first: Ints,
    target: NDArray[np.int32],
    label: NDArray[np.int32],
    weight: Floats,
    values: Floats,
    period: int,
    settled: int,
    horizon: int,
    walked: Ints,
) -> int:
    """Walk from state 0 while more than ``settled`` of ``horizon`` rounds are left; return where.

    With m > settled rounds to go the choices are those with m - period to go; ``values`` are
    those with settled - period to go.
    """
    n = len(first) - 1
    choices = np.empty((period, n), dtype=np.uint16)
    following, current = values.copy(), np.empty(n)
    for k in range(period):
        backward_step(first, target, label, weight, following, current, choices[k])
        current, following = following, current
    u = 0
    for t in range(horizon - settled):
        to_go = horizon - t
        e = first[u] + choices[(to_go - (settled - period) - 1) % period, u]
        walked[t] = e
        u = target[e]
    return u


@jit
def best_alone_total(
    weight: Floats, on_pull: Ints, on_idle: Ints, start: int, horizon: int
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
