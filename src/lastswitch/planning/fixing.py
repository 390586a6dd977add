"""Deleting what no better block can use, by the Lagrangian bound."""

from __future__ import annotations

from lastswitch.planning.charges import spared
from lastswitch.planning.machines import Machines, Pause, hopeful
from lastswitch.planning.prices import Prices


def fixed(
    prices: Prices, floor: float, pause: Pause | None = None, rounding: float | None = None
) -> Machines | None:
    """Return the machines without the arcs that only blocks worth at most ``floor`` can use.

    With a ``rounding``, up to which sums may be equal, what an arc costs other machines counts,
    too. None if no arc is left to some machine: no block is worth more than ``floor``.
    """
    if rounding is not None:
        return spared(prices, floor, rounding, pause)
    return hopeful(prices.machines, prices.price, prices.worth, floor - prices.bound, pause)
