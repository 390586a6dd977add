"""What a move costs the other machines: whoever takes a slot, everyone else idles there.

At the prices, a machine that must idle in a slot, or must be pulled there, loses something: its
best path, less the best that does so. A block loses at least the sum of what its machines lose. So
a machine that is pulled in a slot costs what all others lose by idling, and one that idles costs
what the others lose at least if one of them is pulled. These *charges* come on top of what the move
loses by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import ONE, bare, bare_inner, index
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import Machines, Pause, minimal
from lastswitch.planning.prices import Prices

#: Rows of losses, charges and limits.
IDLE, PULL = 0, 1
#: States looked at between two pauses: some hundredths of a second.
SLICE = 500_000


class Trail(NamedTuple):
    """Where a walk through a machine has been: by state the last machine and its best way there.

    ``first`` and ``last`` are by slot: the states it reaches there are among these.
    """

    seen: StateArray
    reached: FloatArray
    first: IntArray
    last: IntArray


class Kept(NamedTuple):
    """The moves that some machine may take, as in :class:`Machines`; -1 for all others."""

    idle: StateArray
    nxt: StateArray


def spared(
    prices: Prices, floor: float, rounding: float, pause: Pause | None = None
) -> Machines | None:
    """Return the machines without the moves that no block worth more than ``floor`` makes.

    Sums that differ by up to ``rounding`` may be equal. None if some machine has no way left: no
    block is worth more than ``floor``.
    """
    m, slack = prices.machines, prices.bound - floor
    loss = losses(prices, list(range(len(m.root))), slack, rounding, pause)
    # By machine first, so that each has its limits in one piece: others are compiled for anew.
    limit = np.ascontiguousarray((slack - charges(loss)).swapaxes(0, 1))
    kept = Kept(np.full_like(m.idle, -1), np.full_like(m.nxt, -1))
    trail = _trail(m)
    for machine in range(len(m.root)):
        _walk(prices, machine, limit[machine], trail, kept, pause)
    return minimal(m._replace(idle=kept.idle, nxt=kept.nxt), pause)


def charge_of_others(
    prices: Prices, one: int, other: int, floor: float, rounding: float | None
) -> FloatArray | None:
    """Return what all machines but two lose, if both idle in a slot and if one is pulled there.

    By move and slot; at least, in blocks worth more than ``floor``. None without a rounding.
    """
    if rounding is None:
        return None
    others = [i for i in range(len(prices.machines.root)) if i not in (one, other)]
    return outside(losses(prices, others, prices.bound - floor, rounding))


def losses(
    prices: Prices,
    machines: list[int],
    slack: float,
    rounding: float,
    pause: Pause | None = None,
) -> FloatArray:
    """Return what machines lose at least by idling in each slot, and by being pulled there.

    By move, machine and slot. What is much more than the slack counts as just that.
    """
    m, d = prices.machines, prices.machines.length
    loss, limit, trail = np.empty((2, len(machines), d)), np.full((2, d), slack), _trail(m)
    nothing = Kept(np.empty(0, np.int32), np.empty(0, np.int32))
    for row, machine in enumerate(machines):
        loss[:, row] = _walk(prices, machine, limit, trail, nothing, pause)
    most: FloatArray = np.clip(loss - rounding, 0.0, 4.0 * max(slack, rounding))
    return most


def charges(loss: FloatArray) -> FloatArray:
    """Return what the other machines lose, by move of a machine, machine and slot.

    Examples
    --------
    Three machines and a slot. The first must have it, which leaves nothing to the others.

    >>> charges(np.array([[[9.0], [0.0], [0.0]], [[0.0], [1.0], [3.0]]]))[:, :, 0]
    array([[1., 0., 0.],
           [0., 9., 9.]])
    """
    idle = loss[IDLE].sum(axis=0) - loss[IDLE]  # all others idle
    return np.stack([_least(loss, idle), idle])


def _least(loss: FloatArray, idle: FloatArray) -> FloatArray:
    """Return what others lose at least if one of them is pulled: by machine that is not, and slot.

    ``idle`` is what they lose if none of them is.
    """
    more = loss[PULL] - loss[IDLE]  # by one that is pulled instead of idling
    if len(more) == 1:
        return np.full_like(idle, np.inf)
    first = more.argmin(axis=0)
    two = np.partition(more, 1, axis=0)[:2]
    others = np.where(np.arange(len(more))[:, None] == first, two[1], two[0])
    least: FloatArray = np.maximum(idle + others, 0.0)
    return least


def outside(loss: FloatArray) -> FloatArray:
    """Return what these machines lose if all others idle in a slot, and if one is pulled there.

    By move and slot.

    Examples
    --------
    >>> outside(np.array([[[9.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 3.0]]]))
    array([[0., 2.],
           [9., 0.]])
    """
    idle = loss[IDLE].sum(axis=0)
    more = np.min(loss[PULL] - loss[IDLE], axis=0, initial=np.inf)
    return np.stack([np.maximum(idle + more, 0.0), idle])


def _trail(m: Machines) -> Trail:
    """Return the trail of a walk that has not begun."""
    n, d = len(m.idle), m.length
    empty = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    return Trail(np.full(n, -1, np.int32), np.empty(n), *empty)


def _walk(
    prices: Prices,
    machine: int,
    limit: FloatArray,
    trail: Trail,
    kept: Kept,
    pause: Pause | None,
) -> FloatArray:
    """Walk through a machine by the moves within its limits; return what each move loses."""
    m, loss = prices.machines, np.empty((2, len(prices.price)))
    t = follow(m, prices.price, prices.worth, machine, 0, SLICE, limit, trail, loss, kept)
    while t < m.length:
        if pause is not None:
            pause()
        t = follow(m, prices.price, prices.worth, machine, t, SLICE, limit, trail, loss, kept)
    return loss


@bare
def follow(
    m: Machines,
    price: FloatArray,
    worth: FloatArray,
    machine: int,
    t: int,
    budget: int,
    limit: FloatArray,
    trail: Trail,
    loss: FloatArray,
    kept: Kept,
) -> int:
    """Walk on from slot ``t`` along moves that lose less than ``limit``; return where it ended.

    Fill what each move loses at least, and keep those that were taken, if there is room for them.
    """
    d, first, last = len(price), trail.first, trail.last
    if t == 0:
        root = m.root[machine]
        first[0] = last[0] = root
        trail.seen[root], trail.reached[root] = machine, -worth[root]
    keep = len(kept.idle) > 0
    while t < d and budget > 0:
        idle, pull = -np.inf, -np.inf
        least_idle, least_pull = -limit[IDLE, t], -limit[PULL, t]
        first[t + 1], last[t + 1] = len(worth), -1
        budget -= last[t] - first[t]
        for s in range(index(first[t]), index(last[t] + 1)):
            if trail.seen[s] != machine:
                continue
            way, after = trail.reached[s], m.idle[s]
            if after >= 0:
                whole = way + worth[index(after)]
                idle = max(idle, whole)
                if whole > least_idle:
                    arrive(trail, machine, t + 1, after, way)
                    if keep:
                        kept.idle[s] = after
            for a in range(index(m.arc[s]), index(m.arc[s + ONE])):
                after, then = m.nxt[a], way + (m.gain[a] - price[t])
                whole = then + worth[index(after)]
                pull = max(pull, whole)
                if whole > least_pull:
                    arrive(trail, machine, t + 1, after, then)
                    if keep:
                        kept.nxt[a] = after
        loss[IDLE, t], loss[PULL, t] = -idle, -pull
        t += 1
    return t


@bare_inner
def arrive(trail: Trail, machine: int, t: int, s: np.int32, way: float) -> None:
    """Note a way into a state of slot ``t``."""
    if trail.seen[s] != machine:
        trail.seen[s], trail.reached[s] = machine, way
        trail.first[t] = min(trail.first[t], s)
        trail.last[t] = max(trail.last[t], s)
    elif way > trail.reached[s]:
        trail.reached[s] = way
