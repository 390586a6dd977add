"""Deleting what no better block can use, by the Lagrangian bound."""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import bare
from lastswitch.planning.machines import Machines, Pause, minimal
from lastswitch.planning.prices import Prices


def fixed(prices: Prices, floor: float, pause: Pause | None = None) -> Machines | None:
    """Return the machines without the arcs that only blocks worth at most ``floor`` can use.

    None if no arc is left to some machine: no block is worth more than ``floor``.
    """
    m = prices.machines
    left = m._replace(idle=m.idle.copy(), nxt=m.nxt.copy())
    reached = np.empty(len(m.idle))
    reached.fill(-np.inf)
    reached[m.root] = -prices.worth[m.root]
    delete(left, prices.price, prices.worth, reached, floor - prices.bound)
    return minimal(left, pause)


@bare
def delete(
    m: Machines, price: FloatArray, worth: FloatArray, reached: FloatArray, slack: float
) -> None:
    """Set to -1 every arc whose best path falls short of its machine's best by ``-slack`` or more.

    ``reached[s]`` is the best way into a state, relative to the best path of the machine it
    belongs to (the largest over the machines that share it).
    """
    idle, nxt = m.idle, m.nxt
    for t in range(len(m.lo) - 1):
        for s in range(m.lo[t], m.hi[t]):
            if idle[s] >= 0:
                after = idle[s]
                if reached[s] + worth[after] <= slack:
                    idle[s] = -1
                elif reached[s] > reached[after]:
                    reached[after] = reached[s]
            for a in range(m.arc[s], m.arc[s + 1]):
                if nxt[a] < 0:
                    continue
                after = nxt[a]
                way = reached[s] + m.gain[a] - price[t]
                if way + worth[after] <= slack:
                    nxt[a] = -1
                elif way > reached[after]:
                    reached[after] = way
