"""What a move costs the other machines: whoever takes a slot, everyone else idles there.

At the prices, a machine that must idle in a slot, or must be pulled there, loses something: its
best path, less the best that does so. A block loses at least the sum of what its machines lose. So
a machine that is pulled in a slot costs what all others lose by idling, and one that idles costs
what the others lose at least if one of them is pulled. These *charges* come on top of what the move
loses by itself.
"""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch.planning.following import IDLE, PULL, Kept, new_trail, walk
from lastswitch.planning.machines import Machines, Pause, minimal
from lastswitch.planning.prices import Prices


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
    trail = new_trail(m)
    for machine in range(len(m.root)):
        walk(prices, machine, limit[machine], trail, kept, pause)
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
    loss, limit, trail = np.empty((2, len(machines), d)), np.full((2, d), slack), new_trail(m)
    for row, machine in enumerate(machines):
        loss[:, row] = walk(prices, machine, limit, trail, pause=pause)
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
