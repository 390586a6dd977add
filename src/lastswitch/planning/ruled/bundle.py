"""Prices under rules by a proximal bundle: what :mod:`lastswitch.planning.bundle` does for blocks.

The cuts and what is made of them are the same; only where a cut comes from is another.
"""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import jit, whole
from lastswitch.planning.bundle import (
    BOUND,
    COUNT,
    OVER,
    Centre,
    Cuts,
    make_room,
    propose,
    room_for,
    settle,
)
from lastswitch.planning.machines import Machines
from lastswitch.planning.ruled.prices import (
    Descent,
    Heard,
    Prices,
    claim,
    sweep,
)

#: How many cuts are kept, and the share of the gap below which what they promise is nothing.
CUTS, TOLERANCE = 60, 3e-3


class Bundle(Prices):
    """Prices of some machines and monitors, moved by a proximal bundle method.

    Parameters
    ----------
    machines, heard, price
        As for :class:`~lastswitch.planning.ruled.prices.Prices`.
    """

    def restart(self, theta: float = 1.0) -> None:
        """Forget the cuts and the step size, and take stock at the current prices."""
        descent = self._descent
        self._cuts = room_for(len(descent.price), 0, CUTS)
        self._memo = np.array([0.0, 0.0, 0.0, np.inf, 0.0, 0.0])
        self._centre = Centre(descent.price, descent.trial, descent.worth, self._memo)
        descent.trial[:] = descent.price
        bundle_steps(self.machines, self.heard, descent, self._centre, self._cuts, 0.0, 0.0, 1)

    def slow_down(self, theta: float) -> None:
        """Do nothing: the step size finds itself."""

    @property
    def bound(self) -> float:
        """No schedule is worth more than this."""
        return float(self._memo[BOUND])

    @property
    def exhausted(self) -> bool:
        """Whether the cuts promise hardly anything more."""
        return bool(self._memo[OVER])

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` steps, until the bound is ``target`` or hardly lower anywhere."""
        while steps > 0 and not self.exhausted:
            make_room(self._centre, self._cuts, target)
            steps -= bundle_steps(
                *(self.machines, self.heard, self._descent, self._centre, self._cuts),
                *(target, TOLERANCE, steps),
            )


@jit
def bundle_steps(
    m: Machines,
    h: Heard,
    descent: Descent,
    centre: Centre,
    cuts: Cuts,
    target: float,
    tolerance: float,
    steps: int,
) -> int:
    """Move the centre to lower bounds; return how many steps were taken before the cuts were full.

    What states are worth at the centre, and what plays cost there, is left behind. As long as there
    is no cut, the trial becomes the centre.
    """
    n, taken, swept = whole(centre.memo[COUNT]), 0, True
    while taken < steps and n < len(cuts.error):
        taken += 1
        promise = propose(centre, cuts, n, target, tolerance)
        if promise < 0.0:
            break
        bound = cut(m, h, descent, cuts, n)
        swept = settle(centre, cuts, n, promise, bound)
        n += 1
    centre.memo[COUNT] = n
    if not swept:
        sweep(m, h, descent.price, descent)
    return taken


@jit(inner=True)
def cut(m: Machines, h: Heard, descent: Descent, cuts: Cuts, n: int) -> float:
    """Sweep at the trial prices; fill the slope of cut ``n`` and return the bound."""
    sweep(m, h, descent.trial, descent)
    bound = claim(m, h, descent)
    for c in range(len(descent.slope)):
        cuts.slope[n, c] = descent.slope[c]
    return bound
