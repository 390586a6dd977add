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

from lastswitch.planning.clock import Clock, OutOfTime
from lastswitch.planning.optima.frequency import power_of_two
from lastswitch.planning.optima.joint_states import JointGraph, lift_cycle, lift_walk

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
#: Edges between two looks at the clock: some hundredths of a second.
SLICE = 5_000_000

Edges = tuple[
    NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]
]  # first edge of each state, targets, labels, pay of each label


class Walk(NamedTuple):
    """The labels of a walk, and a bound on the total of any; -inf says that this is a best one."""

    labels: list[int]
    bound: float

    def arms(self, graph: JointGraph) -> tuple[int, ...]:
        """Return the schedule, if the walk is one of ``graph``."""
        return tuple(lift_walk(graph, self.labels))


class _Iterated(NamedTuple):
    """What policy iteration leaves: a state on a best cycle, choices, and what they promise."""

    state: int
    choice: NDArray[np.int64]
    mean: float
    bias: NDArray[np.float64]


def best_walk(graph: JointGraph, horizon: int, clock: Clock, small: float | None = None) -> Walk:
    """Return a best walk of ``horizon`` rounds from the graph's origin, or nearly, with a bound.

    Work of at most ``small`` edges (by default :data:`SMALL_WORK`) is done round by round.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
    """
    work = float(horizon) * len(graph.target)
    cut_off = not np.diff(graph.first).all()  # the horizon ended the listing: nothing repeats
    if work <= (SMALL_WORK if small is None else small) or cut_off:
        return _walk_back(graph, horizon, clock)
    return _walk_settled(graph, horizon, clock)


def best_cycle_of(graph: JointGraph, clock: Clock) -> tuple[tuple[int, ...], float]:
    """Return a best cycle of arms, and a bound on the mean of every cycle.

    Out of time, or on Ctrl-C, the best cycle so far.
    """
    found = _iterate(graph, clock)
    labels = [int(graph.label[e]) for e in _cycle(graph, found.state, found.choice)]
    return tuple(lift_cycle(graph, found.state, labels)), _gain_bound(graph, found)


def _iterate(graph: JointGraph, clock: Clock) -> _Iterated:
    """Howard's policy iteration in slices, until done, out of time or interrupted."""
    from lastswitch.planning.optima.mean_cycle import evaluate, greedy_choice, improve, onto_cycle

    first, target, label, pay = graph.edges
    unit = power_of_two(float(pay.max()))
    edges = (first, target, label, pay / unit)
    n, rows = len(graph), max(1, SLICE * len(graph) // len(target))
    choice, gain, bias = greedy_choice(*edges)
    try:
        for _ in range(MAX_ITERATIONS):
            better, changed = choice.copy(), False
            for low in range(0, n, rows):
                clock.check()
                changed |= improve(*edges, gain, bias, low, min(low + rows, n), better)
            if not changed:
                break
            choice = better
            evaluate(choice, target, edges[3], label, gain, bias)
            clock.tell(unit * float(gain.max()), math.nan)
    except (OutOfTime, KeyboardInterrupt):
        pass  # choices and bias at hand are worth what they are, and a bound follows from any
    state = int(onto_cycle(choice, target, int(np.argmax(gain)), n))
    cycle = [label[e] for e in _cycle(graph, state, choice)]
    return _Iterated(state, choice, float(pay[cycle].mean()), bias * unit)


def _cycle(graph: JointGraph, state: int, choice: NDArray[np.int64]) -> list[int]:
    """Return the edges of the cycle of choices through ``state``."""
    edges = [int(choice[state])]
    while graph.target[edges[-1]] != state:
        edges.append(int(choice[graph.target[edges[-1]]]))
    return edges


def _gain_bound(graph: JointGraph, found: _Iterated) -> float:
    """Return what no cycle's mean exceeds: the gain, plus what any edge beats it by."""
    from lastswitch.planning.optima.mean_cycle import bias_violation

    return found.mean + max(0.0, float(bias_violation(*graph.edges, found.mean, found.bias)))


def _walk_back(graph: JointGraph, horizon: int, clock: Clock) -> Walk:
    """Return a best walk by backward induction over every round."""
    walked = np.empty(horizon, dtype=np.int64)
    _finish(graph, horizon, 0, walked, clock)
    return Walk(graph.label[walked].tolist(), -math.inf)


def _finish(
    graph: JointGraph, horizon: int, state: int, walked: NDArray[np.int64], clock: Clock
) -> None:
    """Write a best walk of ``horizon`` rounds from ``state`` into ``walked``.

    Only every so many rounds the values are kept; the choices between two of them are worked out
    again, one stretch at a time, so memory grows with the square root of the horizon.
    """
    from lastswitch.planning.optima.backward import walk_choices

    every = _spacing(horizon)
    kept = [np.zeros(len(graph))]
    for _ in range((horizon - 1) // every):
        kept.append(_earlier(graph.edges, kept[-1], np.empty(every), clock))
    for stretch in range(len(kept) - 1, -1, -1):
        rounds = min(every, horizon - stretch * every)
        choices = _choices(graph.edges, kept.pop(), rounds, clock)
        begin = horizon - stretch * every - rounds
        part = walked[begin : begin + rounds]
        state = walk_choices(graph.first, graph.target, choices, rounds - 1, state, part)


def _earlier(
    edges: Edges, values: NDArray[np.float64], trace: NDArray[np.float64], clock: Clock
) -> NDArray[np.float64]:
    """Return the values ``len(trace)`` rounds earlier; ``trace`` notes those of state 0."""
    from lastswitch.planning.optima.backward import backward_span

    at_once = max(1, SLICE // len(edges[1]))
    for begin in range(0, len(trace), at_once):
        clock.check()
        values = backward_span(*edges, values, trace[begin : begin + at_once])
    return values


def _choices(
    edges: Edges, values: NDArray[np.float64], rounds: int, clock: Clock
) -> NDArray[np.uint16]:
    """Return the choices of so many rounds before those with ``values``, the last round first."""
    from lastswitch.planning.optima.backward import backward_choices

    choices = np.empty((rounds, len(values)), dtype=np.uint16)
    at_once = max(1, SLICE // len(edges[1]))
    for begin in range(0, rounds, at_once):
        clock.check()
        values = backward_choices(*edges, values, choices[begin : begin + at_once])
    return choices


def _spacing(horizon: int) -> int:
    """Return how many rounds apart to keep values, so that all tables together are smallest."""
    return max(1, math.isqrt(4 * horizon))


class _Settled(NamedTuple):
    """Values that repeat: with ``n`` rounds to go they are ``change`` above those a period before.

    Give or take ``spread``; ``values`` are those with n - period rounds to go, ``from_start[m]``
    that of state 0 with m rounds to go.
    """

    n: int
    change: float
    spread: float
    from_start: NDArray[np.float64]
    values: NDArray[np.float64]


def _settle(edges: Edges, period: int, horizon: int, clock: Clock) -> _Settled | None:
    """Step backwards until one period more changes all values by the same amount."""
    from_start = np.zeros(horizon + 1)
    values = np.zeros(len(edges[0]) - 1)
    for n in range(period, horizon + 1, period):
        earlier = values
        values = _earlier(edges, earlier, from_start[n - period + 1 : n + 1], clock)
        change = values - earlier
        least, most = float(change.min()), float(change.max())
        if most - least <= SETTLED:
            return _Settled(n, 0.5 * (least + most), most - least, from_start, earlier)
    return None


def _walk_settled(graph: JointGraph, horizon: int, clock: Clock) -> Walk:
    """Return a best walk of a long horizon through the period in which values repeat."""
    from lastswitch.planning.optima.backward import walk_choices

    found = _iterate(graph, clock)
    period = len(_cycle(graph, found.state, found.choice))
    first, target, label, pay = graph.edges
    # So that values stay small and rounding with them.
    level = (first, target, label, pay - found.mean)
    within = int(min(horizon, MAX_WORK / (3 * len(target))))
    if _table_bytes(graph, min(within, horizon), period) > MAX_TABLE_BYTES:
        return _steady_walk(graph, horizon, found)
    settled = _settle(level, period, within, clock)
    if settled is None and horizon <= within:
        return _walk_back(graph, horizon, clock)
    if settled is None:
        return _steady_walk(graph, horizon, found)
    n, walked = settled.n, np.empty(horizon, dtype=np.int64)
    if n < horizon:
        choices = _choices(level, settled.values, period, clock)
        # Row k holds for n - period + k + 1 rounds to go, and a whole number of periods more.
        last = (horizon - n - 1) % period
        ahead = walked[: horizon - n]
        reached = int(walk_choices(first, target, choices, last, 0, ahead))
        _finish(graph, n, reached, walked[horizon - n :], clock)
    else:
        _finish(graph, horizon, 0, walked, clock)
    periods = max(0, -((n - horizon) // period))  # how often to go back to a value at hand
    known = float(settled.from_start[horizon - periods * period])
    total = known + periods * (settled.change + settled.spread)
    return Walk(graph.label[walked].tolist(), found.mean * horizon + total)


def _table_bytes(graph: JointGraph, horizon: int, period: int) -> int:
    """Return what the tables of a walk would take."""
    every = _spacing(horizon)
    return len(graph) * (8 * (horizon // every + 6) + 2 * max(every, period))


def _steady_walk(graph: JointGraph, horizon: int, found: _Iterated) -> Walk:
    """Return a walk that settles into a best cycle, and a bound on every walk's total.

    With gain g and bias h no edge u → v pays more than g + h(u) - h(v), so a walk of T rounds
    pays at most gT + h(start) - min h.
    """
    labels, here = [], 0
    for _ in range(horizon):
        labels.append(int(graph.label[found.choice[here]]))
        here = int(graph.target[found.choice[here]])
    bound = _gain_bound(graph, found) * horizon + float(found.bias[0] - found.bias.min())
    return Walk(labels, bound)
