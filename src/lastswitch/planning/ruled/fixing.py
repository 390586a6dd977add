"""Deleting what no better schedule can use, by the bound of the prices."""

from __future__ import annotations

import numpy as np

from lastswitch.planning.machines import Machines, minimal
from lastswitch.planning.ruled.prices import Heard, Prices, delete


def fixed(prices: Prices, floor: float) -> tuple[Machines, Heard] | None:
    """Return arms and monitors without the moves that only schedules worth ``floor`` at most use.

    None if no way is left to some arm: no schedule is worth more than ``floor``.
    """
    m, h = prices.machines, prices.heard
    left = m._replace(idle=m.idle.copy(), nxt=m.nxt.copy())
    still = h._replace(after=h.after.copy())
    reached = np.full(len(m.idle), -np.inf)
    reached[m.root] = -prices.worth[m.root]
    remembered = np.full(len(h.after), -np.inf)
    remembered[h.root] = -prices.memory[h.root]
    delete(
        *(left, still, prices.cost, prices.price, prices.worth, prices.memory),
        *(floor - prices.bound, reached, remembered),
    )
    machines = minimal(left)
    return None if machines is None else (machines, still)
