"""Lagrangian prices: what a slot costs, so that arms can be planned one by one.

With a price on every slot each machine solves its own longest path, and
sum of prices + sum of best paths >= the value of every block. Subgradient steps on the prices
bring this bound down to that of the arc-flow linear program.
"""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import jit
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

    ``worth[s]`` is the best a machine can still earn from state ``s`` after paying the prices.

    Parameters
    ----------
    machines
        What is priced.
    price
        Prices to start from; 0.8 times the best pay of each slot by default.
    """

    def __init__(self, machines: Machines, price: FloatArray | None = None) -> None:
        self.machines = machines
        m, d = machines, machines.length
        if price is None:
            price = np.array([0.8 * _best_gain(m, t) for t in range(d)])
        self.price = np.array(price, dtype=np.float64)
        self.worth = np.zeros(len(m.idle))
        self._choice = np.zeros(len(m.idle), np.int32)
        self._trial, self._direction, self._memo = self.price.copy(), np.zeros(d), np.zeros(3)
        self._use = np.zeros(d)
        #: How often, of late, each machine's own best path pulled in each slot.
        self.claims = np.zeros((len(m.root), d))
        self.restart()

    def restart(self, theta: float = 1.0) -> None:
        """Forget the step size and the direction, and take stock at the current prices."""
        self._trial[:] = self.price
        self._direction[:] = 0.0
        self._memo[:] = theta, 0.0, np.inf
        self.descend(np.inf, 1)

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
        tokens, weight = m.root.copy(), np.ones(len(m.root))
        descend(
            *(m.lo, m.hi, m.idle, m.arc, m.nxt, m.gain, m.final, 0, tokens, weight),
            *(target, steps, self.price, self._trial, self._direction, self._use),
            *(self._memo, self.worth, self._choice, self.claims),
        )
        sweep(
            *(m.lo, m.hi, m.idle, m.arc, m.nxt, m.gain, m.final, 0, self.price),
            *(self.worth, self._choice),
        )


def _best_gain(machines: Machines, slot: int) -> float:
    """Return the best pay any arc of ``slot`` offers."""
    lo, hi = machines.arc[machines.lo[slot]], machines.arc[machines.hi[slot]]
    return float(machines.gain[lo:hi].max()) if hi > lo else 0.0


@jit
def sweep(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    final: FloatArray,
    since: int,
    price: FloatArray,
    worth: FloatArray,
    choice: StateArray,
) -> None:
    """Fill ``worth`` and the best ``choice`` (arc, or -1 to idle) of the slots from ``since`` on."""
    d = len(lo) - 1
    for s in range(lo[d], hi[d]):
        worth[s] = final[s]
    for t in range(d - 1, since - 1, -1):
        for s in range(lo[t], hi[t]):
            best, chosen = -np.inf, -1
            if idle[s] >= 0:
                best = worth[idle[s]]
            for a in range(arc[s], arc[s + 1]):
                v = gain[a] - price[t] + worth[nxt[a]]
                if v > best:
                    best, chosen = v, a
            worth[s] = best
            choice[s] = chosen


@jit
def descend(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    final: FloatArray,
    since: int,
    tokens: StateArray,
    weight: FloatArray,
    target: float,
    steps: int,
    price: FloatArray,
    trial: FloatArray,
    direction: FloatArray,
    use: FloatArray,
    memo: FloatArray,
    worth: FloatArray,
    choice: StateArray,
    claims: FloatArray,
) -> None:
    """Minimise sum of prices + sum of ``weight`` x worth of ``tokens`` over the prices from ``since``.

    Deflected Polyak steps: theta (L - target) / |dir|^2 along dir = g + beta dir, the deflection
    undoing the part of the old direction that points against the new subgradient. After
    `PATIENCE` steps without progress theta shrinks and the search goes back to the best prices.
    ``price`` holds the best prices so far, ``trial`` the current ones.
    """
    d = len(lo) - 1
    n = len(tokens)
    state = np.empty(n, np.int32)
    for _ in range(steps):
        sweep(lo, hi, idle, arc, nxt, gain, final, since, trial, worth, choice)
        bound = 0.0
        for k in range(n):
            bound += weight[k] * worth[tokens[k]]
            state[k] = tokens[k]
        square, dot, norm = 0.0, 0.0, 0.0
        for t in range(since, d):
            bound += trial[t]
            used = 0.0
            for k in range(n):
                a = choice[state[k]]
                claims[k, t] *= FADE
                if a < 0:
                    state[k] = idle[state[k]]
                else:
                    used += weight[k]
                    state[k] = nxt[a]
                    claims[k, t] += 1.0 - FADE
            use[t] = 1.0 - used
            square += use[t] * use[t]
            dot += use[t] * direction[t]
            norm += direction[t] * direction[t]
        if bound < memo[BEST] - 1e-6 * abs(memo[BEST] - target):
            memo[STALLS] = 0.0
        else:
            memo[STALLS] += 1.0
        if bound < memo[BEST]:
            memo[BEST] = bound
            for t in range(since, d):
                price[t] = trial[t]
        if square == 0.0 or memo[BEST] <= target or target == np.inf:
            break  # every slot is taken once: the bound is a block's value
        if memo[STALLS] >= PATIENCE:
            memo[STALLS] = 0.0
            memo[THETA] *= SHRINK
            if memo[THETA] < SMALLEST:
                break
            for t in range(since, d):
                trial[t] = price[t]
                direction[t] = 0.0
            continue
        beta = max(0.0, -1.5 * dot / norm) if norm > 0.0 else 0.0
        length = 0.0
        for t in range(since, d):
            direction[t] = use[t] + beta * direction[t]
            length += direction[t] * direction[t]
        if length == 0.0:
            continue
        step = memo[THETA] * (bound - target) / length
        for t in range(since, d):
            trial[t] -= step * direction[t]
