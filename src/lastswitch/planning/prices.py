"""Lagrangian prices: what a slot costs, so that arms can be planned one by one.

With a price on every slot each machine solves its own longest path, and
sum of prices + sum of best paths >= the value of every block. Subgradient steps on the prices
bring this bound down to that of the arc-flow linear program.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray
from lastswitch._kernels import bare, bare_inner, hot, index
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import Machines
from lastswitch.planning.params import DEFAULT, SearchParams

#: Which slots each machine's best path takes, as 0 and 1, or how much of them a mix of paths does.
ShareArray = NDArray[np.float32]

#: Where `descend` keeps its step size, its count of steps without progress and its best bound.
#: A negative step size stands for a new beginning, with one of that size.
THETA, STALLS, BEST = 0, 1, 2


class Pace(NamedTuple):
    """How steps shrink and claims fade: the entries of :class:`SearchParams` of these names."""

    patience: float
    shrink: float
    smallest: float
    fade: float


class Descent(NamedTuple):
    """The arrays of a descent: the best prices and the current ones, direction and slope by slot.

    ``source`` is the state each arc leaves, ``worth`` is by state, ``claims`` and ``paths`` (those
    of the last step) by machine and slot; ``memo`` is described above.
    """

    source: StateArray
    price: FloatArray
    trial: FloatArray
    direction: FloatArray
    slope: FloatArray
    worth: FloatArray
    claims: FloatArray
    paths: ShareArray
    memo: FloatArray


class Prices:
    """Prices of the slots of some machines, their bound, and the potential of every state.

    ``worth[s]`` is the best a machine can still earn from state ``s`` after paying the prices;
    ``claims[i, t]`` is how often, of late, the best path of machine ``i`` pulled in slot ``t``.

    Parameters
    ----------
    machines
        What is priced.
    price
        Prices to start from, by slot; the best pays by default.
    claims
        Claims to start from, if the machines were priced before in another form.
    params
        The constants of the descent.
    """

    def __init__(
        self,
        machines: Machines,
        price: FloatArray | None = None,
        claims: FloatArray | None = None,
        params: SearchParams = DEFAULT,
    ) -> None:
        m, d = machines, machines.length
        self.machines, self.params = machines, params
        price = best_pays(m) if price is None else price
        self.descent = Descent(
            source=m.sources(),
            price=np.array(price, dtype=np.float64),
            trial=np.empty(d),
            direction=np.empty(d),
            slope=np.empty(d),
            worth=np.empty(len(m.idle)),
            claims=np.zeros((len(m.root), d)) if claims is None else claims.copy(),
            paths=np.empty((len(m.root), d), np.float32),
            memo=np.empty(3),
        )
        self.pace = Pace(params.patience, params.shrink, params.smallest, params.fade)
        self.restart()

    def restart(self, theta: float = 1.0) -> None:
        """Forget the step size and the direction, and take stock at the current prices."""
        self.descent.memo[THETA] = -theta
        self.descend(np.inf, 1)

    def slow_down(self, theta: float) -> None:
        """Take no larger steps than ``theta`` from here on."""
        memo = self.descent.memo
        memo[THETA] = min(memo.item(THETA), theta)

    @property
    def price(self) -> FloatArray:
        """The best prices so far, by slot."""
        return self.descent.price

    @property
    def worth(self) -> FloatArray:
        """What each state is worth at these prices."""
        return self.descent.worth

    @property
    def claims(self) -> FloatArray:
        """How often, of late, each machine claimed each slot."""
        return self.descent.claims

    @property
    def bound(self) -> float:
        """No block is worth more than this."""
        return self.descent.memo.item(BEST)

    @property
    def exhausted(self) -> bool:
        """Whether the steps have become too small to matter."""
        return self.descent.memo.item(THETA) < self.pace.smallest

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` subgradient steps towards a bound of ``target``."""
        descend(target, steps, *self.machines, *self.descent, *self.pace)


def best_pays(machines: Machines) -> FloatArray:
    """Return for every slot the best pay some machine could get there.

    Examples
    --------
    >>> from lastswitch.planning.automata import Automata
    >>> from lastswitch.planning.machines import as_machines
    >>> arm = Automata.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                   final=[0.0], root=[0])
    >>> best_pays(as_machines(arm))
    array([0.5])
    """
    m, d = machines, machines.length
    if len(m.gain) == 0:
        return np.zeros(d)
    # Slots may be numbered either way. One without arcs takes a neighbour's pay: it fits no block.
    begin = m.arc[m.lo[:d]]
    up = 1 if d == 1 or begin[0] < begin[-1] else -1
    gains = m.gain[: m.arc[m.hi[d - 1]]] if up == 1 else m.gain
    best: FloatArray = np.maximum.reduceat(gains, np.minimum(begin[::up], len(gains) - 1))
    return best[::up]


@bare
def descend(target: float, steps: int, *parts: Any) -> None:
    """Lower the bound, sum of prices + sum of the roots' worth, over the prices.

    Deflected Polyak steps: theta (L - target) / |dir|^2 along dir = g + beta dir, the deflection
    undoing the part of the old direction that points against the new subgradient. After
    ``patience`` steps without progress theta shrinks and the search goes back to the best prices.
    A last sweep, unless the best prices were the last, leaves their ``worth``. A negative count of
    stalls means: stop. A negative theta means: begin anew at the best prices.

    The ``parts`` are those of machines, a descent and a pace, in turn.
    """
    m, descent, pace = Machines(*parts[:9]), Descent(*parts[9:18]), Pace(*parts[18:])
    price, trial, memo = descent.price, descent.trial, descent.memo
    d = len(price)
    theta, stalls, lowest = memo[THETA], memo[STALLS], memo[BEST]
    if theta < 0.0:
        theta, stalls, lowest = -theta, 0.0, np.inf
        for t in range(d):
            trial[t], descent.direction[t] = price[t], 0.0
    for s in range(m.lo[d], m.hi[d]):
        descent.worth[s] = m.final[s - m.lo[d]]
    swept = False  # whether `worth` is that of the best prices
    for step in range(steps + 1):
        last = step == steps or stalls < 0.0
        if last and swept:
            break
        sweep(m, descent.source, price if last else trial, descent.worth)
        if last:
            break
        bound = claim(m, trial, descent.worth, descent.slope, descent.paths)
        for i in range(len(m.root)):
            for t in range(d):
                descent.claims[i, t] *= pace.fade
                descent.claims[i, t] += (1.0 - pace.fade) * descent.paths[i, t]
        stalls += 1.0
        swept = bound < lowest
        if swept:
            if bound < lowest - 1e-6 * abs(lowest - target):
                stalls = 0.0
            lowest = bound
            for t in range(d):
                price[t] = trial[t]
        stalled = stalls >= pace.patience
        if stalled:
            stalls = 0.0
            theta *= pace.shrink
        over = lowest <= target or theta < pace.smallest
        # With every slot claimed once, the bound is the value of a block: it cannot go lower.
        if over or not move(descent, theta * (bound - target), stalled):
            stalls = -1.0
    memo[THETA], memo[STALLS], memo[BEST] = theta, 0.0, lowest


@bare_inner
def sweep(m: Machines, source: StateArray, at: FloatArray, worth: FloatArray) -> None:
    """Fill the worth of every state at the prices ``at``, from the last slot back.

    First that of idling, then arc by arc: a loop over the arcs of each state, of which there are
    one here and three there, would take the processor by surprise, and several times as long.
    """
    for t in range(len(at) - 1, -1, -1):
        cost, begin, end = at[t], index(m.lo[t]), index(m.hi[t])
        for s in range(begin, end):
            after = m.idle[s]
            rest = worth[index(after if after >= 0 else 0)]
            worth[s] = rest if after >= 0 else -np.inf
        for a in range(index(m.arc[begin]), index(m.arc[end])):
            s, v = index(source[a]), m.gain[a] - cost + worth[index(m.nxt[a])]
            best = worth[s]
            worth[s] = v if v > best else best


@bare_inner
def claim(
    m: Machines, at: FloatArray, worth: FloatArray, slope: FloatArray, paths: ShareArray
) -> float:
    """Follow every machine's best path; fill slope and paths, and return the bound."""
    d = len(at)
    bound = 0.0
    for t in range(d):
        bound += at[t]
        slope[t] = 1.0
    for i in range(len(m.root)):
        s = m.root[i]
        bound += worth[s]
        for t in range(d):
            paths[i, t] = 0.0
            if m.idle[s] >= 0 and worth[m.idle[s]] == worth[s]:
                s = m.idle[s]
                continue
            slope[t] -= 1.0
            paths[i, t] = 1.0
            for a in range(m.arc[s], m.arc[s + 1]):
                if m.gain[a] - at[t] + worth[m.nxt[a]] == worth[s]:
                    s = m.nxt[a]
                    break
    return bound


@hot
def move(descent: Descent, reach: float, back: bool) -> bool:
    """Move the trial prices by ``reach`` / |dir|^2 along the direction, or go back to the best.

    Return whether there is any slope.
    """
    price, trial, slope, direction = descent.price, descent.trial, descent.slope, descent.direction
    square, dot, norm, length = 0.0, 0.0, 0.0, 0.0
    for t in range(len(price)):
        square += slope[t] * slope[t]
        dot += slope[t] * direction[t]
        norm += direction[t] * direction[t]
    beta = -1.5 * dot / norm if dot < 0.0 else 0.0
    for t in range(len(price)):
        direction[t] = slope[t] + beta * direction[t]
        length += direction[t] * direction[t]
    pace = reach / length if length > 0.0 else 0.0
    for t in range(len(price)):
        trial[t] -= pace * direction[t]
        if back:
            trial[t], direction[t] = price[t], 0.0
    return square > 0.0
