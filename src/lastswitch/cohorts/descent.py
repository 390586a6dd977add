"""Prices of budgets: the lowest bound they give, and the mix of plans that comes nearest to it.

At given prices every subject plans by itself, and the budgets times their prices plus what all
subjects then make is a bound on what any plans within the budgets are worth. Each look at prices
also gives plans, whose worth and use add up: a linear program mixes those seen so far within the
budgets, and its own prices say where to look next. Where the mix is worth as much as the bound,
nothing is left to find. Subjects are sorted into a few parts that are mixed separately, which
needs fewer looks; and a look is taken half way between the best prices and the program's, which
are wild at first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.clock import Clock

#: Looks at prices at most, and how far below the program's mix the bound counts as reached.
MOST_LOOKS = 400
#: Every so many looks are at the program's own prices, which in the end are the best.
EXACT = 3
#: Shares below this are none.
NOTHING = 1e-9


class Look(NamedTuple):
    """What all subjects do at some prices: by part what plans are worth and use; and the bound.

    ``bound`` is what weight * value - prices of all subjects together cannot exceed.
    """

    value: FloatArray
    use: FloatArray
    bound: float


class Descent(NamedTuple):
    """Where the prices ended.

    Parameters
    ----------
    prices
        The best ones, by budget row.
    bound
        What no plans within the budgets exceed.
    looks
        (J, rows): prices looked at.
    shares
        (J, parts): how much of each part plays the plans of each look.
    value
        What that mix is worth.
    lacking
        By row, how many plays of the mix are beyond its budget.
    """

    prices: FloatArray
    bound: float
    looks: FloatArray
    shares: FloatArray
    value: float
    lacking: FloatArray


class Mixing:
    """The linear program over what has been seen.

    Parameters
    ----------
    most
        What each budget row allows.
    highest
        No price is higher: so much a play beyond a budget costs.
    scale
        How many subjects there are.
    """

    def __init__(self, most: FloatArray, highest: float, scale: float) -> None:
        self.most, self.highest, self.scale = most, highest, scale
        self.prices: list[FloatArray] = []
        self.looks: list[Look] = []

    def add(self, prices: FloatArray, look: Look) -> None:
        """Remember what was seen at some prices."""
        self.prices.append(prices)
        self.looks.append(look)

    def solve(self, most: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the shares (J, parts) of the best mix, its lacks, and the program's prices."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, identity, kron

        allowed = self.most if most is None else most
        J, parts, R = len(self.looks), len(self.looks[0].value), len(allowed)
        value = np.concatenate([look.value for look in self.looks]) / self.scale
        use = np.concatenate([look.use for look in self.looks]).T / self.scale
        rows = hstack([csr_array(use), -identity(R)], format="csr")
        each = hstack([kron(np.ones((1, J)), identity(parts)), csr_array((parts, R))], format="csr")
        answer: Any = linprog(
            np.concatenate([-value, np.full(R, self.highest)]),
            A_ub=rows,
            b_ub=allowed / self.scale,
            A_eq=each,
            b_eq=np.ones(parts),
            method="highs-ds",
        )
        shares = np.clip(answer.x[: J * parts].reshape(J, parts), 0.0, 1.0)
        shares[shares < NOTHING] = 0.0
        shares /= shares.sum(axis=0)
        lacking = answer.x[J * parts :] * self.scale
        return shares, lacking, np.maximum(-answer.ineqlin.marginals, 0.0)

    def worth(self, shares: FloatArray) -> float:
        """Return what a mix is worth."""
        return float(
            sum(share @ look.value for share, look in zip(shares, self.looks, strict=True))
        )


def lowered(
    mixing: Mixing,
    look: Callable[[FloatArray], Look],
    gap: float,
    clock: Clock,
    begin: Sequence[FloatArray] = (),
) -> Descent:
    """Lower the bound until the best mix is within ``gap`` of it (relative), or time is over.

    ``begin`` are prices to look at first, the best guess first.
    """
    most, waiting = mixing.most, list(begin) or [np.zeros(len(mixing.most))]
    best, bound, value = waiting[0], np.inf, -np.inf
    shares = lacking = np.zeros(0)
    for number in range(MOST_LOOKS):
        trial = waiting.pop(0)
        seen = look(trial)
        mixing.add(trial, seen)
        reached = float(trial @ most) + seen.bound
        better = reached < bound
        if better:
            best, bound = trial, reached
        if waiting and not clock.over:
            continue
        shares, lacking, prices = mixing.solve()
        value = mixing.worth(shares)
        charged = value - mixing.highest * float(lacking.sum())
        clock.tell(value, bound)
        near = bound - charged <= gap * max(abs(value), abs(bound))
        # Time is over only once there is a mix within the budgets.
        if near or (clock.over and lacking.max(initial=0.0) <= NOTHING * mixing.scale):
            break
        if np.allclose(prices, trial, rtol=1e-9, atol=1e-12):
            break  # the program has nothing new to ask
        waiting = [(best + prices) / 2 if better and number % EXACT else prices]
    return Descent(best, bound, np.array(mixing.prices), shares, value, np.maximum(lacking, 0.0))
