"""Deleting what no better block can use, by the Lagrangian bound."""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import Machines, minimal
from lastswitch.planning.prices import Prices


def fixed(prices: Prices, floor: float) -> Machines | None:
    """Return the machines without the arcs that only blocks worth at most ``floor`` can use.

    None if no arc is left to some machine: no block is worth more than ``floor``.
    """
    m = prices.machines
    idle, nxt = m.idle.copy(), m.nxt.copy()
    reached = np.full(len(idle), -np.inf)
    reached[m.root] = -prices.worth[m.root]
    delete(
        *(m.lo, m.hi, idle, m.arc, nxt, m.gain, prices.price, prices.worth, reached),
        floor - prices.bound,
    )
    return minimal(m._replace(idle=idle, nxt=nxt))


@jit
def delete(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    price: FloatArray,
    worth: FloatArray,
    reached: FloatArray,
    slack: float,
) -> None:
    """Set to -1 every arc whose best path falls short of its machine's best by ``-slack`` or more.

    ``reached[s]`` is the best way into a state, relative to the best path of the machine it
    belongs to (the largest over the machines that share it).
    """
    for t in range(len(lo) - 1):
        for s in range(lo[t], hi[t]):
            if idle[s] >= 0:
                after = idle[s]
                if reached[s] + worth[after] <= slack:
                    idle[s] = -1
                elif reached[s] > reached[after]:
                    reached[after] = reached[s]
            for a in range(arc[s], arc[s + 1]):
                if nxt[a] < 0:
                    continue
                after = nxt[a]
                way = reached[s] + gain[a] - price[t]
                if way + worth[after] <= slack:
                    nxt[a] = -1
                elif way > reached[after]:
                    reached[after] = way
