"""Best walks on the graph of joint states: the schedules of a horizon.

Backward induction costs rounds × edges. Long horizons need not pay for all their rounds: with
enough rounds to go, values repeat with the period of a best cycle, up to a constant. One step
back never widens the difference between two value vectors, so once a period has changed all
values by the same amount (give or take ε), every further period does so too: the choices of that
period serve for all earlier rounds, and the best total is known up to ε per period.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch.planning.joint_states import JointGraph, lift_cycle, lift_walk

#: Policy iterations; a handful suffices, and the certificate does not rest on finishing.
MAX_ITERATIONS = 1000
#: Bytes that backward induction may use for its tables.
MAX_TABLE_BYTES = 1 << 30
#: Edges that backward induction may visit in all (about a minute).
MAX_WORK = 1e10
#: Below this many edges there is nothing to gain from looking for a period.
SMALL_WORK = 1e7
#: What one period may spread the values by and count as repeating.
SETTLED = 1e-12


class Walk(NamedTuple):
    """A schedule, and a bound on the total of any; -inf says that the schedule is a best one."""

    arms: tuple[int, ...]
    bound: float


def best_walk(graph: JointGraph, horizon: int) -> Walk:
    """Return a best walk of ``horizon`` rounds from the graph's origin, or nearly, with a bound."""
    work = float(horizon) * len(graph.target)
    cut_off = not np.diff(graph.first).all()  # the horizon ended the listing: nothing repeats
    if work <= SMALL_WORK or cut_off:
        return _walk_back(graph, horizon)
    return _walk_settled(graph, horizon)


def best_cycle_of(graph: JointGraph) -> tuple[tuple[int, ...], float]:
    """Return a best cycle of arms, and a bound on the mean of every cycle."""
    from lastswitch.planning.mean_cycle import howard

    state, choice, gain, bias = howard(*graph.edges, MAX_ITERATIONS)
    labels = [int(graph.label[e]) for e in _cycle(graph, state, choice)]
    return tuple(lift_cycle(graph, state, labels)), _gain_bound(graph, float(gain[state]), bias)


def _cycle(graph: JointGraph, state: int, choice: NDArray[np.int64]) -> list[int]:
    """Return the edges of the cycle of choices through ``state``."""
    edges = [int(choice[state])]
    while graph.target[edges[-1]] != state:
        edges.append(int(choice[graph.target[edges[-1]]]))
    return edges


def _gain_bound(graph: JointGraph, gain: float, bias: NDArray[np.float64]) -> float:
    """Return what no cycle's mean exceeds: the gain, plus what any edge beats it by."""
    from lastswitch.planning.mean_cycle import bias_violation

    return gain + max(0.0, float(bias_violation(*graph.edges, gain, bias)))


def _walk_back(graph: JointGraph, horizon: int) -> Walk:
    """Return a best walk by backward induction over every round."""
    walked = np.empty(horizon, dtype=np.int64)
    _finish(graph, horizon, 0, walked)
    return Walk(tuple(lift_walk(graph, graph.label[walked].tolist())), -math.inf)


def _finish(graph: JointGraph, horizon: int, state: int, walked: NDArray[np.int64]) -> None:
    """Write a best walk of ``horizon`` rounds from ``state`` into ``walked``."""
    from lastswitch.planning.backward import backward_values, follow_best

    every = _spacing(horizon)
    kept = backward_values(*graph.edges, horizon, every)
    follow_best(*graph.edges, kept, every, horizon, state, walked)


def _spacing(horizon: int) -> int:
    """Return how many rounds apart to keep values, so that all tables together are smallest."""
    return max(1, math.isqrt(4 * horizon))


def _walk_settled(graph: JointGraph, horizon: int) -> Walk:
    """Return a best walk of a long horizon through the period in which values repeat."""
    from lastswitch.planning.backward import follow_period, settle
    from lastswitch.planning.mean_cycle import howard

    state, choice, gain, bias = howard(*graph.edges, MAX_ITERATIONS)
    mean, period = float(gain[state]), len(_cycle(graph, state, choice))
    first, target, label, pay = graph.edges
    level = (first, target, label, pay - mean)  # so that values stay small and rounding with them
    within = int(min(horizon, MAX_WORK / (3 * len(target))))
    if _table_bytes(graph, min(within, horizon), period) > MAX_TABLE_BYTES:
        return _steady_walk(graph, horizon, choice, _gain_bound(graph, mean, bias), bias)
    n, change, spread, from_start, values = settle(*level, period, within, SETTLED)
    if n == 0 and horizon <= within:
        return _walk_back(graph, horizon)
    if n == 0:
        return _steady_walk(graph, horizon, choice, _gain_bound(graph, mean, bias), bias)
    walked = np.empty(horizon, dtype=np.int64)
    reached = follow_period(*level, values, period, n, horizon, walked)
    if n < horizon:
        _finish(graph, n, reached, walked[horizon - n :])
    else:
        _finish(graph, horizon, 0, walked)
    periods = max(0, -((n - horizon) // period))  # how often to go back to a value at hand
    ahead = float(from_start[horizon - periods * period]) + periods * (change + spread)
    arms = tuple(lift_walk(graph, graph.label[walked].tolist()))
    return Walk(arms, mean * horizon + ahead)


def _table_bytes(graph: JointGraph, horizon: int, period: int) -> int:
    """Return what the tables of a walk would take."""
    every = _spacing(horizon)
    return len(graph) * (8 * (horizon // every + 6) + 2 * max(every, period))


def _steady_walk(
    graph: JointGraph,
    horizon: int,
    choice: NDArray[np.int64],
    mean: float,
    bias: NDArray[np.float64],
) -> Walk:
    """Return a walk that settles into a best cycle, and a bound on every walk's total.

    With gain g and bias h no edge u → v pays more than g + h(u) - h(v), so a walk of T rounds
    pays at most gT + h(start) - min h.
    """
    labels, here = [], 0
    for _ in range(horizon):
        labels.append(int(graph.label[choice[here]]))
        here = int(graph.target[choice[here]])
    bound = mean * horizon + float(bias[0] - bias.min())
    return Walk(tuple(lift_walk(graph, labels)), bound)
