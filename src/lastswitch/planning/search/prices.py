"""Dual prices: what a round costs, so that arms can be planned one by one.

With a price on every round each machine solves its own longest path, and
sum of prices + sum of best paths >= the value of every schedule. Subgradient steps on the prices
bring this bound down to that of the arc-flow linear program. Automata that arms share are machines
of their own; what they and the arms must agree on has prices, too
(:mod:`~lastswitch.planning.diagrams.sharing`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import ONE, index, jit
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.sharing import Sharing, stock_shared
from lastswitch.planning.search.params import DEFAULT, SearchParams

#: Which rounds each machine's best path takes, as 0 and 1, or how much of them a mix of paths does.
ShareArray = NDArray[np.float32]

#: Where `descend` keeps its step size, its count of steps without progress and its best bound.
THETA, STALLS, BEST = 0, 1, 2


class Pace(NamedTuple):
    """How steps shrink and usage fade: the entries of :class:`SearchParams` of these names."""

    patience: float
    shrink: float
    smallest: float
    fade: float


class Descent(NamedTuple):
    """The arrays of a descent: the best prices and the current ones, direction and slope by round.

    ``source`` is the state each arc leaves, ``worth`` is by state (and behind all, that of nowhere:
    minus infinity), ``usage`` and ``paths`` (those of the last step) by machine and round, one
    machine after the other; ``memo`` is described above.
    """

    source: StateArray
    price: FloatArray
    trial: FloatArray
    direction: FloatArray
    slope: FloatArray
    worth: FloatArray
    usage: FloatArray
    paths: ShareArray
    memo: FloatArray


class Prices:
    """Dual prices of some machines, their bound, and the cost-to-go of every state.

    ``worth[s]`` is the best a machine can still earn from state ``s`` after paying the prices;
    ``usage[i, t]`` is how often, of late, the best path of machine ``i`` took an arc in round
    ``t``.

    Parameters
    ----------
    diagram
        The machines that are priced.
    price
        Prices to start from: of the rounds, then of letters; shares of the best pays by default.
    usage
        Usage to start from, if the machines were priced before in another form.
    params
        The constants of the descent.
    sharing
        What couples the machines, if that is more than one arm a round.
    """

    def __init__(
        self,
        diagram: Diagram,
        price: FloatArray | None = None,
        usage: FloatArray | None = None,
        params: SearchParams = DEFAULT,
        sharing: Sharing | None = None,
    ) -> None:
        m, d = diagram, diagram.length
        self.diagram, self.params = diagram, params
        self.sharing = None if sharing is None else sharing.fresh()
        columns = d if sharing is None else sharing.n_prices
        price = first_prices(m, sharing) if price is None else price
        worth, size = np.empty(len(m.idle) + 1), len(m.root) * d
        worth[-1], worth[m.lo[d] : m.hi[d]] = -np.inf, m.final
        self.descent = Descent(
            source=m.sources(),
            price=np.array(price, dtype=np.float64),
            trial=np.empty(columns),
            direction=np.empty(columns),
            slope=np.empty(columns),
            worth=worth,
            usage=np.zeros(size) if usage is None else usage.flatten(),
            paths=np.empty(size, np.float32),
            memo=np.empty(3),
        )
        self.pace = Pace(params.patience, params.shrink, params.smallest, params.fade)
        self.restart()

    @property
    def cost(self) -> FloatArray:
        """What arcs cost at these prices: by round, and by label where labels matter."""
        return self.price[:, None] if self.sharing is None else self.sharing.cost

    @property
    def pulls(self) -> IntArray:
        """Whether arms are pulled (1) or none (0), by label."""
        return _ONE if self.sharing is None else np.minimum(self.sharing.plays, 1)

    def again(
        self,
        diagram: Diagram,
        *,
        usage: FloatArray | None = None,
        sharing: Sharing | None = None,
        kind: type[Prices] | None = None,
    ) -> Prices:
        """Return the same prices of other machines, moved as these are or by another ``kind``."""
        usage = self.usage if usage is None else usage
        sharing = self.sharing if sharing is None else sharing
        return (kind or type(self))(diagram, self.price, usage, self.params, sharing)

    def restart(self, theta: float = 1.0) -> None:
        """Forget the step size and the direction, and take stock at the current prices."""
        descent = self.descent
        descent.trial[:], descent.direction[:] = descent.price, 0.0
        descent.memo[:] = theta, 0.0, np.inf
        self.descend(np.inf, 1)

    def slow_down(self, theta: float) -> None:
        """Take no larger steps than ``theta`` from here on."""
        memo = self.descent.memo
        memo[THETA] = min(memo.item(THETA), theta)

    @property
    def price(self) -> FloatArray:
        """The best prices so far, by round."""
        return self.descent.price

    @property
    def worth(self) -> FloatArray:
        """What each state is worth at these prices; the last entry is that of -1, no state."""
        return self.descent.worth

    @property
    def usage(self) -> FloatArray:
        """How often, of late, each machine claimed each round."""
        return self.descent.usage.reshape(len(self.diagram.root), -1)

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
        if self.sharing is None:
            descend(target, steps, *self.diagram, *self.descent, *self.pace)
        else:
            descend_shared(target, steps, self.diagram, self.sharing, self.descent, self.pace)


#: What pulls are by label where labels do not matter.
_ONE = np.ones(1, np.int64)
#: Letters begin without a price, rounds at this share of their best pay.
FIRST_SHARE = 0.8


def first_prices(diagram: Diagram, sharing: Sharing | None) -> FloatArray:
    """Return prices to start from: the best pays of the rounds; a share of them where shared."""
    if sharing is None:
        return best_pays(diagram)
    price = np.zeros(sharing.n_prices)
    best = np.maximum(best_pays(diagram), sharing.silence)
    price[: diagram.length] = FIRST_SHARE * best
    return price


def best_pays(diagram: Diagram) -> FloatArray:
    """Return for every round the best pay some machine could get there.

    Examples
    --------
    >>> arm = Diagram.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                  final=[0.0], root=[0])
    >>> best_pays(arm)
    array([0.5])
    """
    m, d = diagram, diagram.length
    if len(m.gain) == 0:
        return np.zeros(d)
    # Slots may be numbered either way. One without arcs takes a neighbour's pay: it fits no block.
    begin = m.arc[m.lo[:d]]
    up = 1 if d == 1 or begin[0] < begin[-1] else -1
    gains = m.gain[: m.arc[m.hi[d - 1]]] if up == 1 else m.gain
    best: FloatArray = np.maximum.reduceat(gains, np.minimum(begin[::up], len(gains) - 1))
    return best[::up]


@jit
def descend(target: float, steps: int, *parts: Any) -> None:
    """Lower the bound over the prices, by up to ``steps`` steps.

    A last look, unless the best prices were the last, leaves their ``worth``. The ``parts`` are
    those of a diagram, a descent and a pace, in turn.
    """
    m, descent, pace = Diagram(*parts[:9]), Descent(*parts[9:18]), Pace(*parts[18:])
    swept = False  # whether `worth` is that of the best prices
    while steps > 0 and descent.memo[STALLS] >= 0.0:
        steps -= 1
        bound = stock(m, descent.source, descent.trial, descent.worth, descent.slope, descent.paths)
        swept = step(descent, pace, target, bound)
    if not swept:
        stock(m, descent.source, descent.price, descent.worth, descent.slope, descent.paths)
    descent.memo[STALLS] = 0.0


@jit
def descend_shared(
    target: float, steps: int, m: Diagram, sharing: Sharing, descent: Descent, pace: Pace
) -> None:
    """Do what :func:`descend` does where machines share automata."""
    swept = False
    while steps > 0 and descent.memo[STALLS] >= 0.0:
        steps -= 1
        bound = stock_shared(
            m, descent.source, sharing, descent.trial, descent.worth, descent.slope, descent.paths
        )
        swept = step(descent, pace, target, bound)
    if not swept:
        stock_shared(
            m, descent.source, sharing, descent.price, descent.worth, descent.slope, descent.paths
        )
    descent.memo[STALLS] = 0.0


@jit(inner=True)
def step(descent: Descent, pace: Pace, target: float, bound: float) -> bool:
    """Move the trial prices, at which the bound is this; return whether it is the lowest so far.

    Deflected Polyak steps: theta (L - target) / |dir|^2 along dir = g + beta dir, the deflection
    undoing the part of the old direction that points against the new subgradient. After
    ``patience`` steps without progress theta shrinks and the search goes back to the best prices.
    A negative count of stalls means: stop.
    """
    price, trial, usage, paths = descent.price, descent.trial, descent.usage, descent.paths
    theta, stalls, lowest = descent.memo[THETA], descent.memo[STALLS], descent.memo[BEST]
    for k in range(len(usage)):
        usage[k] = pace.fade * usage[k] + (1.0 - pace.fade) * paths[k]
    stalls += 1.0
    better = bound < lowest
    if better:
        if bound < lowest - 1e-6 * abs(lowest - target):
            stalls = 0.0
        lowest = bound
        for t in range(len(price)):
            price[t] = trial[t]
    back = stalls >= pace.patience
    if back:
        theta *= pace.shrink
    if bound == -np.inf or lowest <= target or theta < pace.smallest:
        stalls = -1.0
    elif back:
        stalls = 0.0
        for t in range(len(price)):
            trial[t] = price[t]
            descent.direction[t] = 0.0
    # With every round used once, the bound is the value of a schedule: it cannot go lower.
    elif not move(descent.slope, descent.direction, trial, theta * (bound - target)):
        stalls = -1.0
    descent.memo[THETA], descent.memo[STALLS], descent.memo[BEST] = theta, stalls, lowest
    return bool(better)


@jit(inner=True)
def stock(
    m: Diagram,
    source: StateArray,
    price: FloatArray,
    worth: FloatArray,
    slope: FloatArray,
    paths: ShareArray,
) -> float:
    """Fill the worth of every state, and slope and paths of the best paths; return the bound.

    From the last round back, the worth first is that of idling; then it grows arc by arc: a loop
    over the arcs of each state, of which there are one here and three there, would take the
    processor by surprise, and several times as long.
    """
    d, nowhere, bound, k = len(price), len(m.idle), 0.0, index(0)
    for t in range(d - 1, -1, -1):
        cost, begin, end = price[t], m.lo[t], m.hi[t]
        for s in range(index(begin), index(end)):
            after = m.idle[s]
            worth[s] = worth[index(after if after >= 0 else nowhere)]
        for a in range(index(m.arc[begin]), index(m.arc[end])):
            s, v = index(source[a]), m.gain[a] - cost + worth[index(m.nxt[a])]
            best = worth[s]
            worth[s] = v if v > best else best
    for t in range(d):
        bound += price[t]
        slope[t] = 1.0
    for i in range(len(m.root)):
        s = index(m.root[i])
        bound += worth[s]
        for t in range(d):
            best, after, pulled = worth[s], m.idle[s], np.float32(0.0)
            if after < 0 or worth[index(after)] != best:
                pulled = np.float32(1.0)
                slope[t] -= 1.0
                for a in range(index(m.arc[s]), index(m.arc[s + ONE])):
                    after = m.nxt[a]
                    if m.gain[a] - price[t] + worth[index(after)] == best:
                        break
            paths[k] = pulled
            s = index(after)
            k += ONE
    return bound


@jit(inline=True)
def move(slope: FloatArray, direction: FloatArray, trial: FloatArray, reach: float) -> bool:
    """Move the trial prices by ``reach`` / |dir|^2 along the direction; tell if it slopes."""
    square, dot, norm, length = 0.0, 0.0, 0.0, 0.0
    for t in range(len(slope)):
        down, way = slope[t], direction[t]
        square += down * down
        dot += down * way
        norm += way * way
    beta = -1.5 * dot / norm if dot < 0.0 else 0.0
    for t in range(len(slope)):
        way = slope[t] + beta * direction[t]
        direction[t] = way
        length += way * way
    pace = reach / length if length > 0.0 else 0.0
    for t in range(len(slope)):
        trial[t] -= pace * direction[t]
    return square > 0.0
