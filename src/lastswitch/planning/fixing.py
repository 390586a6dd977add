"""Deleting what no better block can use, by the Lagrangian bound."""

from __future__ import annotations

from lastswitch.planning.machines import Machines, Pause, hopeful
from lastswitch.planning.prices import Prices


def fixed(prices: Prices, floor: float, pause: Pause | None = None) -> Machines | None:
    """Return the machines without the arcs that only blocks worth at most ``floor`` can use.

    None if no arc is left to some machine: no block is worth more than ``floor``.
    """
    return hopeful(prices.machines, prices.price, prices.worth, floor - prices.bound, pause)
