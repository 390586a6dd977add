"""Prices by a proximal bundle: each step costs as much as a subgradient's and is worth several.

Every sweep at some prices gives a *cut*: a plane below the bound as a function of the prices,
known by its slope and by how far below the bound it lies at the best prices so far. A step goes
where the cuts together, and a penalty on the way there, are lowest. That is a quadratic program
over the weights of the cuts; the weighted mix of the cuts' paths is then close to a solution of
the linear program, which tells best which machines want the same rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.jit import jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.sharing import Sharing, stock_shared
from lastswitch.planning.search.prices import Prices, ShareArray, stock

#: Entries of the memo: how many cuts there are, the step size now and at first, the bound at the
#: centre, whether the last step was serious, and whether nothing more is to be expected.
COUNT, STEP, FIRST, BOUND, AGAIN, OVER = 0, 1, 2, 3, 4, 5
#: Cuts with less weight than this are dropped when there is no room for another.
WEIGHTLESS = 1e-10
#: Bytes the paths of all cuts may take.
MOST_BYTES = 1 << 25


class Cuts(NamedTuple):
    """The cuts (first axis): slope by round, error, weight, the slopes' products and the paths.

    ``along`` is the product of each slope with the weighted mix of all. Slopes and paths have a
    last row that is no cut's.
    """

    slope: FloatArray
    error: FloatArray
    weight: FloatArray
    gram: FloatArray
    along: FloatArray
    paths: ShareArray


class Centre(NamedTuple):
    """The best prices, those on trial, what states are worth; and the memo."""

    price: FloatArray
    trial: FloatArray
    worth: FloatArray
    memo: FloatArray


class Bundle(Prices):
    """Prices of some machines, moved by a proximal bundle method; used as :class:`Prices` is.

    Parameters
    ----------
    diagram, price, usage, params, sharing
        As for :class:`Prices`; the usage is told until the first step.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.build import block_model
    >>> from lastswitch.planning.diagrams.minimise import compact
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = BlockProblem([[4.0, 6.0], [3.0, 3.0]], [[1.0], [3.0]], [[6.0] * 4, [3.0] * 4])
    >>> prices = Bundle(compact(block_model(problem)))
    >>> prices.descend(target=17.0, steps=20)
    >>> round(prices.bound, 6)
    18.0
    """

    def restart(self, theta: float = 1.0) -> None:
        """Forget the cuts and the step size, and take stock at the current prices."""
        m, d = self.diagram, self.diagram.length
        params, descent = self.params, self.descent
        n = int(np.clip(len(m.idle) // params.states_per_cut, *params.cuts))
        if self.sharing is not None:  # letters have prices, too
            n = params.cuts[1]
        self._cuts = room_for(len(descent.price), len(m.root) * d, n)
        self._memo = np.array([0.0, 0.0, 0.0, np.inf, 0.0, 0.0])
        self._centre = Centre(descent.price, descent.trial, descent.worth, self._memo)
        self._told = super().usage
        descent.trial[:] = descent.price
        self._move(0.0, 0.0, 1)

    def _move(self, target: float, tolerance: float, steps: int) -> int:
        """Take up to so many steps; return how many were taken before the cuts were full."""
        centre, cuts, rest = self._centre, self._cuts, (target, tolerance, steps)
        if self.sharing is None:
            return bundle_steps(self.diagram, self.descent.source, centre, cuts, *rest)
        return bundle_steps_shared(
            *(self.diagram, self.descent.source, self.sharing, centre, cuts), *rest
        )

    def slow_down(self, theta: float) -> None:
        """Do nothing: the step size finds itself."""

    @property
    def usage(self) -> FloatArray:
        """How much of each round each machine takes in the mix of paths at these prices."""
        n = int(self._memo[COUNT])
        if self._memo[STEP] == 0.0:
            return self._told
        mix = self._cuts.weight[:n].astype(np.float32) @ self._cuts.paths[:n]
        return mix.reshape(len(self.diagram.root), -1).astype(np.float64)

    @property
    def bound(self) -> float:
        """No block is worth more than this."""
        return float(self._memo[BOUND])

    @property
    def exhausted(self) -> bool:
        """Whether the cuts promise hardly anything more."""
        return bool(self._memo[OVER])

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` steps, until the bound is ``target`` or hardly lower anywhere."""
        tolerance = self.params.bundle_tolerance
        while steps > 0 and not self.exhausted:
            make_room(self._centre, self._cuts, target)
            steps -= self._move(target, tolerance, steps)


def room_for(rounds: int, size: int, cuts: int) -> Cuts:
    """Return no cuts, with room for some: prices of ``rounds``, paths of this size."""
    n = min(cuts, max(2, MOST_BYTES // (4 * size + 1)))
    return Cuts(
        slope=np.empty((n + 1, rounds)),
        error=np.empty(n),
        weight=np.empty(n),
        gram=np.empty((n, n)),
        along=np.empty(n),
        paths=np.empty((n + 1, size), np.float32),
    )


def make_room(centre: Centre, cuts: Cuts, target: float) -> None:
    """Have a first step size, and room for another cut.

    The first cut is the one at the centre. Its slope suggests how long the first step may be.
    """
    memo = centre.memo
    if memo[STEP] == 0.0:
        gap, square = memo.item(BOUND) - target, cuts.gram.item(0, 0)
        cuts.weight[0], cuts.along[0] = 1.0, square
        memo[STEP] = memo[FIRST] = 0.5 * gap / max(square, 1e-300)
        memo[AGAIN], memo[OVER] = 0.0, not gap > 0.0
    elif memo[COUNT] == len(cuts.error):
        memo[COUNT] = thinned(cuts)


def thinned(cuts: Cuts) -> int:
    """Drop the cuts without weight; if there is none, fold all into their mix. Return how many."""
    n = len(cuts.error)
    keep = np.flatnonzero(cuts.weight > WEIGHTLESS)
    if len(keep) == n:
        cuts.paths[0] = cuts.weight @ cuts.paths[:n]
        cuts.slope[0] = cuts.weight @ cuts.slope[:n]
        cuts.error[0] = cuts.weight @ cuts.error
        cuts.gram[0, 0] = cuts.along[0] = cuts.slope[0] @ cuts.slope[0]
        cuts.weight[0], keep = 1.0, keep[:1]
    n = len(keep)
    for part in (cuts.slope, cuts.error, cuts.weight, cuts.along, cuts.paths):
        part[:n] = part[keep]
    cuts.gram[:n, :n] = cuts.gram[np.ix_(keep, keep)]
    return n


@jit
def bundle_steps(
    m: Diagram,
    source: StateArray,
    centre: Centre,
    cuts: Cuts,
    target: float,
    tolerance: float,
    steps: int,
) -> int:
    """Move the centre to lower bounds; return how many steps were taken before the cuts were full.

    A trial that keeps a tenth of what the cuts promise becomes the centre (a serious step); any
    other only adds its cut (a null step). What states are worth at the centre is left behind. As
    long as there is no cut, the trial becomes the centre.
    """
    n, taken, swept = whole(centre.memo[COUNT]), 0, True  # whether `worth` is of the centre
    while taken < steps and n < len(cuts.error):
        taken += 1
        promise = propose(centre, cuts, n, target, tolerance)
        if promise < 0.0:
            break
        bound = stock(m, source, centre.trial, centre.worth, cuts.slope[n], cuts.paths[n])
        swept = settle(centre, cuts, n, promise, bound)
        n += 1
    centre.memo[COUNT] = n
    if not swept:
        stock(m, source, centre.price, centre.worth, cuts.slope[n], cuts.paths[n])
    return taken


@jit
def bundle_steps_shared(
    m: Diagram,
    source: StateArray,
    sharing: Sharing,
    centre: Centre,
    cuts: Cuts,
    target: float,
    tolerance: float,
    steps: int,
) -> int:
    """Do what :func:`bundle_steps` does where machines share automata."""
    n, taken, swept = whole(centre.memo[COUNT]), 0, True
    while taken < steps and n < len(cuts.error):
        taken += 1
        promise = propose(centre, cuts, n, target, tolerance)
        if promise < 0.0:
            break
        bound = stock_shared(
            m, source, sharing, centre.trial, centre.worth, cuts.slope[n], cuts.paths[n]
        )
        swept = settle(centre, cuts, n, promise, bound)
        n += 1
    centre.memo[COUNT] = n
    if not swept:
        stock_shared(m, source, sharing, centre.price, centre.worth, cuts.slope[n], cuts.paths[n])
    return taken


@jit(inline=True)
def propose(centre: Centre, cuts: Cuts, n: int, target: float, tolerance: float) -> float:
    """Fill the prices to try next; return how much lower the cuts promise the bound to be there.

    That is negative, and the memo says so, if hardly anything is to be expected.
    """
    memo = centre.memo
    if n == 0:
        return 0.0
    length, first = memo[STEP], memo[FIRST]
    weigh(cuts, n, length)
    square, lost = 0.0, 0.0
    for t in range(len(centre.price)):
        total = 0.0
        for k in range(n):
            total += cuts.weight[k] * cuts.slope[k, t]
        square += total * total
        centre.trial[t] = centre.price[t] - length * total
    for k in range(n):
        lost += cuts.weight[k] * cuts.error[k]
    gap = memo[BOUND] - target
    if gap <= 0.0 or lost + square * (length if length > first else first) <= tolerance * gap:
        memo[OVER] = 1.0
        return -1.0
    promise: float = length * square + lost
    return promise


@jit(inline=True)
def settle(centre: Centre, cuts: Cuts, n: int, promise: float, bound: float) -> bool:
    """Take up the cut ``n`` of the trial, whose slope is filled in; return whether it was serious.

    It is if it keeps a tenth of what the cuts promised: then the trial is the centre.
    """
    memo, error, along = centre.memo, cuts.error, cuts.along
    length, fall = memo[STEP], memo[BOUND] - bound
    serious, lost = fall >= 0.1 * promise, 0.0
    cuts.weight[n] = 0.0
    products(cuts, n)
    if serious:
        for k in range(n):  # the slope times the way is -length * along
            beyond = error[k] - fall + length * along[k]
            error[k] = beyond if beyond > 0.0 else 0.0
        for t in range(len(centre.price)):
            centre.price[t] = centre.trial[t]
        memo[BOUND] = bound
        again = 1.3 if memo[AGAIN] > 0.0 else 1.0
        memo[STEP] = length * (1.6 if fall >= 0.5 * promise else again)
    else:
        lost = fall - length * along[n]
        lost = lost if lost > 0.0 else 0.0
        if lost > 2.0 * promise:
            memo[STEP] = 0.8 * length
    error[n] = lost
    memo[AGAIN] = 1.0 if serious else 0.0
    return bool(serious)


@jit(inline=True)
def products(cuts: Cuts, n: int) -> None:
    """Fill the products of the slope of cut ``n`` with all, and with the mix of those before."""
    along = 0.0
    for k in range(n + 1):
        total = 0.0
        for t in range(cuts.slope.shape[1]):
            total += cuts.slope[k, t] * cuts.slope[n, t]
        cuts.gram[k, n] = cuts.gram[n, k] = total
        along += total * cuts.weight[k]
    cuts.along[n] = along


@jit(inline=True)
def weigh(cuts: Cuts, n: int, length: float) -> None:
    """Move the weights towards the lowest of length / 2 |mixed slope|^2 + mixed error.

    Pairwise steps from the cut of steepest gradient (among those with weight) to the flattest;
    2 n of them, starting from the last weights, come close enough.
    """
    gram, weight, along = cuts.gram, cuts.weight, cuts.along
    for _ in range(2 * n):
        steep, flat, most, least = 0, 0, -np.inf, np.inf
        for k in range(n):
            gradient = length * along[k] + cuts.error[k]
            if gradient > most and weight[k] > 0.0:
                steep, most = k, gradient
            if gradient < least:
                flat, least = k, gradient
        spread, there = most - least, weight[steep]
        if spread <= 1e-12 * (abs(most) + abs(least)):
            break
        bend = gram[steep, steep] + gram[flat, flat] - 2.0 * gram[steep, flat]
        shift = there if length * bend * there <= spread else spread / (length * bend)
        weight[steep] = there - shift
        weight[flat] += shift
        for k in range(n):
            along[k] += shift * (gram[flat, k] - gram[steep, k])
