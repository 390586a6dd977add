"""Lagrangian prices: what a slot costs, so that arms can be planned one by one.

With a price on every slot each machine solves its own longest path, and
sum of prices + sum of best paths >= the value of every block. Subgradient steps on the prices
bring this bound down to that of the arc-flow linear program.
"""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import ONE, index, jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import Machines

#: Where `descend` keeps its step size, its count of steps without progress and its best bound.
THETA, STALLS, BEST = 0, 1, 2
#: Steps without progress before the step size shrinks, and how much it then does.
PATIENCE, SHRINK, SMALLEST = 12, 0.7, 0.002
#: How much of the claims of earlier steps each step keeps.
FADE = 0.95


class Prices:
    """Prices of the slots of some machines, their bound, and the potential of every state.

    ``worth[s]`` is the best a machine can still earn from state ``s`` after paying the prices;
    ``claims[i, t]`` is how often, of late, the best path of machine ``i`` pulled in slot ``t``.

    Parameters
    ----------
    machines
        What is priced.
    price
        Prices to start from; 0.8 times the best pay of each slot by default.
    claims
        Claims to start from, if the machines were priced before in another form.
    """

    def __init__(
        self,
        machines: Machines,
        price: FloatArray | None = None,
        claims: FloatArray | None = None,
    ) -> None:
        m, d = machines, machines.length
        self.machines = machines
        self.price = np.array(_first_prices(m) if price is None else price, dtype=np.float64)
        self.worth = np.zeros(len(m.idle))
        self.claims = np.zeros((len(m.root), d)) if claims is None else claims.copy()
        self._trial, self._direction, self._slope = np.empty(d), np.empty(d), np.empty(d)
        self._memo = np.empty(3)
        self.restart()

    def restart(self, theta: float = 1.0) -> None:
        """Forget the step size and the direction, and take stock at the current prices."""
        self._trial[:] = self.price
        self._direction[:] = 0.0
        self._memo[:] = theta, 0.0, np.inf
        self.descend(np.inf, 1)

    def slow_down(self, theta: float) -> None:
        """Take no larger steps than ``theta`` from here on."""
        self._memo[THETA] = min(self._memo[THETA], theta)

    @property
    def bound(self) -> float:
        """No block is worth more than this."""
        return float(self._memo[BEST])

    @property
    def exhausted(self) -> bool:
        """Whether the steps have become too small to matter."""
        return bool(self._memo[THETA] < SMALLEST)

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` subgradient steps towards a bound of ``target``."""
        m = self.machines
        descend(
            *(m.lo, m.hi, m.idle, m.arc, m.nxt, m.gain, m.final, m.root, target, steps),
            *(self.price, self._trial, self._direction, self._slope, self._memo),
            *(self.worth, self.claims),
        )


def _first_prices(machines: Machines) -> FloatArray:
    """Return for every slot a share of the best pay it offers."""
    m, d = machines, machines.length
    if len(m.gain) == 0:
        return np.zeros(d)
    # Slots may be numbered either way. One without arcs takes a neighbour's pay: any will do.
    begin = m.arc[m.lo[:d]]
    up = 1 if d == 1 or begin[0] < begin[-1] else -1
    best = np.maximum.reduceat(m.gain, np.minimum(begin[::up], len(m.gain) - 1))
    return 0.8 * best[::up]


@jit
def descend(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    final: FloatArray,
    root: StateArray,
    target: float,
    steps: int,
    price: FloatArray,
    trial: FloatArray,
    direction: FloatArray,
    slope: FloatArray,
    memo: FloatArray,
    worth: FloatArray,
    claims: FloatArray,
) -> None:
    """Lower the bound, sum of prices + sum of the roots' worth, over the prices.

    Deflected Polyak steps: theta (L - target) / |dir|^2 along dir = g + beta dir, the deflection
    undoing the part of the old direction that points against the new subgradient. After
    `PATIENCE` steps without progress theta shrinks and the search goes back to the best prices.
    ``price`` holds the best prices so far, ``trial`` the current ones; a last sweep, unless the
    best prices were the last, leaves their ``worth``. A negative count of stalls means: stop.
    """
    d = len(price)
    theta, stalls, lowest = memo[THETA], memo[STALLS], memo[BEST]
    for s in range(lo[d], hi[d]):
        worth[s] = final[s - lo[d]]
    swept = False  # whether `worth` is that of the best prices
    for step in range(steps + 1):
        last = step == steps or stalls < 0.0
        if last and swept:
            break
        at = price if last else trial
        for t in range(d - 1, -1, -1):
            cost, a = at[t], index(arc[lo[t]])
            for s in range(index(lo[t]), index(hi[t])):
                best = worth[index(idle[s])] if idle[s] >= 0 else -np.inf
                end = index(arc[s + ONE])
                while a < end:
                    v = gain[a] - cost + worth[index(nxt[a])]
                    if v > best:
                        best = v
                    a += ONE
                worth[s] = best
        if last:
            break
        bound = 0.0
        for t in range(d):
            bound += trial[t]
            slope[t] = 1.0
        for i in range(len(root)):
            s = root[i]
            bound += worth[s]
            for t in range(d):
                claims[i, t] *= FADE
                if idle[s] >= 0 and worth[idle[s]] == worth[s]:
                    s = idle[s]
                    continue
                slope[t] -= 1.0
                claims[i, t] += 1.0 - FADE
                for a in range(arc[s], arc[s + 1]):
                    if gain[a] - at[t] + worth[nxt[a]] == worth[s]:
                        s = nxt[a]
                        break
        stalls += 1.0
        swept = bound < lowest
        if swept:
            if bound < lowest - 1e-6 * abs(lowest - target):
                stalls = 0.0
            lowest = bound
            for t in range(d):
                price[t] = trial[t]
        square, dot, norm = 0.0, 0.0, 0.0
        for t in range(d):
            square += slope[t] * slope[t]
            dot += slope[t] * direction[t]
            norm += direction[t] * direction[t]
        stalled = stalls >= PATIENCE
        if stalled:
            stalls = 0.0
            theta *= SHRINK
        # With every slot claimed once, the bound is the value of a block: it cannot go lower.
        if square == 0.0 or lowest <= target or theta < SMALLEST:
            stalls = -1.0
            continue
        beta = -1.5 * dot / norm if dot < 0.0 else 0.0
        length = 0.0
        for t in range(d):
            direction[t] = slope[t] + beta * direction[t]
            length += direction[t] * direction[t]
        pace = theta * (bound - target) / length if length > 0.0 else 0.0
        for t in range(d):
            trial[t] -= pace * direction[t]
            if stalled:
                trial[t], direction[t] = price[t], 0.0
    memo[THETA], memo[STALLS], memo[BEST] = theta, 0.0, lowest
