"""Following one machine through the rounds, along the moves that lose less than a limit.

What a move loses is what the best path of the machine is worth, less the best that makes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import Pause
from lastswitch.planning.search.prices import Prices

#: Rows of losses, charges and limits.
IDLE, PULL = 0, 1
#: States looked at between two pauses: some hundredths of a second.
SLICE = 500_000


class Trail(NamedTuple):
    """Where a walk through a machine has been: by state the last machine and its best way there.

    ``first`` and ``last`` are by round: the states it reaches there are among these.
    """

    seen: StateArray
    reached: FloatArray
    first: IntArray
    last: IntArray


class Kept(NamedTuple):
    """The moves that some machine may take, as in :class:`Diagram`; -1 for all others."""

    idle: StateArray
    nxt: StateArray


#: Where nothing is kept.
_NOTHING = Kept(np.empty(0, np.int32), np.empty(0, np.int32))


def new_trail(m: Diagram) -> Trail:
    """Return the trail of a walk that has not begun."""
    n, d = len(m.idle), m.length
    empty = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    return Trail(np.full(n, -1, np.int32), np.empty(n), *empty)


def walk(
    prices: Prices,
    machine: int,
    limit: FloatArray,
    trail: Trail,
    kept: Kept | None = None,
    pause: Pause | None = None,
) -> FloatArray:
    """Walk through a machine by the moves within its limits; return what each move loses."""
    m, cost, pulls = prices.diagram, prices.cost, prices.pulls
    loss = np.empty((2, m.length))
    kept = _NOTHING if kept is None else kept
    t = follow(m, cost, pulls, prices.worth, machine, 0, SLICE, limit, trail, loss, kept)
    while t < m.length:
        if pause is not None:
            pause()
        t = follow(m, cost, pulls, prices.worth, machine, t, SLICE, limit, trail, loss, kept)
    return loss


def regrets(prices: Prices, machine: int, slack: float, trail: Trail, bins: int) -> FloatArray:
    """Return how many states of a machine there are per round and regret, in steps up to ``slack``.

    That is by how much the best path through a state falls short of the machine's best. Slots are
    numbered as states are: from either end.
    """
    m, d = prices.diagram, prices.diagram.length
    walk(prices, machine, np.full((2, d), slack), trail)
    states = np.flatnonzero(trail.seen == machine)
    regret = -(trail.reached[states] + prices.worth[states])
    states, regret = states[regret < slack], regret[regret < slack]
    rounds = np.searchsorted(np.sort(m.hi), states, side="right")
    steps = np.clip(bins * (regret / slack), 0, bins - 1).astype(np.int64)
    counts = np.bincount(bins * rounds + steps, minlength=(d + 1) * bins)
    return counts.reshape(d + 1, bins).astype(np.float64)


@jit
def follow(
    m: Diagram,
    cost: FloatArray,
    pulls: IntArray,
    worth: FloatArray,
    machine: int,
    t: int,
    budget: int,
    limit: FloatArray,
    trail: Trail,
    loss: FloatArray,
    kept: Kept,
) -> int:
    """Walk on from round ``t`` along moves that lose less than ``limit``; return where it ended.

    Fill what each move loses at least, and keep those that were taken, if there is room for them.
    ``pulls`` says of each label whether an arm is pulled (1) or none (0), where labels matter.
    """
    d, first, last, alike = len(cost), trail.first, trail.last, cost.shape[1] == 1
    if t == 0:
        root = m.root[machine]
        first[0] = last[0] = root
        trail.seen[root], trail.reached[root] = machine, -worth[root]
    keep = len(kept.idle) > 0
    while t < d and budget > 0:
        loss[IDLE, t], loss[PULL, t] = np.inf, np.inf
        least_idle, move = -limit[IDLE, t], pulls[0]
        first[t + 1], last[t + 1], spent = len(worth), -1, cost[t, 0]
        budget -= last[t] - first[t]
        for s in range(first[t], last[t] + 1):
            if trail.seen[s] != machine:
                continue
            way, after = trail.reached[s], m.idle[s]
            if after >= 0:
                whole = way + worth[after]
                if -whole < loss[IDLE, t]:
                    loss[IDLE, t] = -whole
                if whole > least_idle:
                    arrive(trail, machine, t + 1, after, way)
                    if keep:
                        kept.idle[s] = after
            for a in range(m.arc[s], m.arc[s + 1]):
                if not alike:
                    spent, move = cost[t, m.label[a]], pulls[m.label[a]]
                after, then = m.nxt[a], way + (m.gain[a] - spent)
                whole = then + worth[after]
                if -whole < loss[move, t]:
                    loss[move, t] = -whole
                if whole > -limit[move, t]:
                    arrive(trail, machine, t + 1, after, then)
                    if keep:
                        kept.nxt[a] = after
        t += 1
    return t


@jit(inner=True)
def arrive(trail: Trail, machine: int, t: int, s: np.int32, way: float) -> None:
    """Note a way into a state of round ``t``."""
    if trail.seen[s] != machine:
        trail.seen[s], trail.reached[s] = machine, way
        # (`min` and `max` would take longer to compile than all of this.)
        trail.first[t] = s if s < trail.first[t] else trail.first[t]
        trail.last[t] = s if s > trail.last[t] else trail.last[t]
    elif way > trail.reached[s]:
        trail.reached[s] = way
