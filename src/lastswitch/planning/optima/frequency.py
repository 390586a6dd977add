"""What no policy can beat, arm by arm: the frequency bound.

Suppose playing costs λ. Every round exactly one arm is played, so the pay of any policy over T
rounds is λT plus, for each arm, what its own pulls pay minus λ each. An arm left to itself can
average at most g(λ), the best mean cycle of its own little machine where a pull earns its pay
minus λ and a round of rest earns nothing. Hence for *every* λ

    average of any policy  ≤  λ + Σ_i g_i(λ),

and the least of these is the bound. By linear programming duality it is the value of the linear
program over the frequencies with which each arm goes through its (rest, run) patterns: patterns
of an arm fill its time exactly, and pulls of all arms fill the rounds exactly. Nothing is assumed
of the rest curves, and seasons and endless streaks are cycles of the machine like any other.

The function of λ is convex and piecewise linear in one variable, so its minimum is found by
intersecting tangents; any λ at all gives a valid bound, so rounding cannot spoil it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import check_bandit
from lastswitch.planning.clock import Clock, OutOfTime
from lastswitch.planning.diagrams.arm_states import ArmStates, arm_states

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.model.curves import Curve

Number = TypeVar("Number", np.float64, np.int64)

#: Steps of one machine between two looks at the clock: some hundredths of a second.
SLICE = 5_000_000
_MAX_TANGENTS = 200
_MAX_ITERATIONS = 1000
_FLAT = 1e-13


def average_bound(bandit: Bandit) -> float:
    """Return an upper bound on the average reward of any policy on ``bandit``.

    Several plays a round and silence are counted in; rules, which only lower it, are not.

    Examples
    --------
    One arm can pay 1 every other round, another every third; a third arm fills the rounds left.

    >>> import lastswitch as ls
    >>> round(average_bound(ls.instances.pinwheel([2, 3])), 6)
    0.833333
    """
    check_bandit("average_bound", bandit)
    return places_bound(bandit.curves, bandit.plays, bandit.silence, Clock(None))


def places_bound(
    curves: tuple[Curve, ...], plays: tuple[int, int], silence: float, clock: Clock
) -> float:
    """Return the bound of arms with these curves; out of time, the least so far.

    Examples
    --------
    >>> import lastswitch as ls
    >>> places_bound((ls.Curve([0.5], [0.5]),), (0, 1), 0.75, Clock(None))
    0.75
    """
    if plays == (1, 1):
        return frequencies(curves).least(clock)
    arms, least = frequencies(curves), [math.inf]
    try:
        return _places_bound(arms, plays[1], silence, clock, least)
    except OutOfTime:
        return min(least[0], plays[1] * max(arms.most, silence))


def _places_bound(
    arms: Frequencies, places: int, silence: float, clock: Clock, lowest: list[float]
) -> float:
    """Return the bound of several places a round, each of which pays ``silence`` if left empty.

    Every price of a place that is at least what silence pays gives one: then no place is worth
    more than its price.
    """

    def at(price: float) -> tuple[float, float]:
        clock.check()
        value, slope = arms.at(price)
        value += (places - 1) * price
        lowest[0] = min(lowest[0], value)
        return value, slope + places - 1

    value, slope = at(silence)
    if slope >= 0.0:
        return value
    return min(value, _least(at, silence, max(arms.most, silence) + 1e-9 * arms.unit))


@lru_cache(maxsize=64)  # planning cycles asks for the same arms at every length
def frequencies(curves: tuple[Curve, ...]) -> Frequencies:
    """Return the bound of arms with these curves, whatever of it is known already."""
    return Frequencies(curves)


class Frequencies:
    """The bound λ + Σ_i g_i(λ) of some arms, at every price λ tried so far.

    ``kinds`` holds the machines that differ and ``kind_of`` the kind of each arm. All kinds are
    one graph of separate parts, so that a price costs one call whatever the number of arms.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> Frequencies([Curve([0.0, 0.9], [0.0]), Curve([0.3], [0.3])]).least()
    0.5
    """

    def __init__(self, curves: Iterable[Curve]) -> None:
        machines = [arm_states(curve) for curve in curves]
        place: dict[object, int] = {}
        self.kind_of = np.array([place.setdefault(m.behaviour, len(place)) for m in machines])
        self.kinds: list[ArmStates] = [machines[k] for k in np.unique(self.kind_of, True)[1]]
        self.counts = np.bincount(self.kind_of)
        self.sizes = np.array([len(machine) for machine in self.kinds])
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)])
        self.pay = self._flat("pay", np.float64)
        self.on_pull, self.on_idle = (
            self._flat("on_pull", np.int64),
            self._flat("on_idle", np.int64),
        )
        # Pays of any size are brought near 1 by a power of 2, which changes no digit.
        self.unit = power_of_two(float(self.pay.max()))
        self.most = float(self.pay.max())
        self._prices: list[float] = []
        self._gains: list[FloatArray] = []
        self._least: float | None = None
        self._edges = self._graph()

    def _flat(self, name: str, dtype: type[Number]) -> NDArray[Number]:
        """Return one field of all kinds, one after the other."""
        entries = chain.from_iterable(getattr(machine, name) for machine in self.kinds)
        return np.fromiter(entries, dtype=dtype, count=int(self.sizes.sum()))

    def _graph(self) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int32]]:
        """Return first edges, targets and labels: each state idles, or is pulled (its label)."""
        n = len(self.pay)
        moves = np.stack([self.on_idle, self.on_pull], axis=1)
        target = moves + np.repeat(self.begins[:-1], self.sizes)[:, None]
        label = np.stack([np.full(n, n), np.arange(n)], axis=1)
        first = np.arange(0, 2 * n + 1, 2, dtype=np.int64)
        return first, target.astype(np.int32).ravel(), label.astype(np.int32).ravel()

    def at(self, price: float) -> tuple[float, float]:
        """Return the bound at ``price`` and its slope, and remember every kind's share of it."""
        gains, pulls, _ = self.alone(price)
        self._prices.append(price)
        self._gains.append(gains)
        value = price + math.fsum(self.counts * gains)
        return value, 1.0 - float(self.counts @ pulls)

    def alone(self, price: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return each kind's best mean at ``price``, its share of pulls, and every state's bias."""
        from lastswitch.planning.optima.mean_cycle import howard, part_gains

        weight = np.append((self.pay - price) / self.unit, 0.0)
        edges = (*self._edges, weight)
        _, choice, gain, bias = howard(*edges, _MAX_ITERATIONS)
        gains, pulls = part_gains(*edges, self.begins, choice, gain, bias)
        return gains * self.unit, pulls, bias * self.unit

    def total(self, start: IntArray, horizon: int) -> float:
        """Return a bound on the total of ``horizon`` rounds from the states ``start``.

        An arm alone that averages at most g with bias h earns at most g·T + h(start) - min h.
        """
        price, _, _ = self.best_price()
        gains, _, bias = self.alone(price)
        lead = bias - np.repeat(np.minimum.reduceat(bias, self.begins[:-1]), self.sizes)
        head_starts = lead[self.begins[self.kind_of] + self.states(start)]
        average = price + math.fsum(self.counts * gains)
        return min(horizon * average + math.fsum(head_starts), horizon * self.most)

    def states(self, start: IntArray) -> IntArray:
        """Return the canonical state of each arm."""
        kinds, taus = self.kind_of.tolist(), start.tolist()
        return np.array([self.kinds[k].at(tau) for k, tau in zip(kinds, taus, strict=True)])

    def used(self, price: float, rounds: int, totals: FloatArray, clock: Clock) -> None:
        """Write what each kind earns in ``rounds`` rounds that it leaves as it found them, at best.

        A pull costs ``price``. The rounds begin after the first pull of a run and end with it.
        """
        from lastswitch.planning.optima.backward import best_used_totals

        weight = self.pay - price
        for part in stretches(self.sizes * rounds):
            clock.check()
            moves = self.on_pull, self.on_idle, self.begins
            best_used_totals(weight, *moves, rounds, part.start, totals[part])

    def least(self, clock: Clock | None = None) -> float:
        """Return the least bound; out of time, the least so far."""
        if self._least is not None:
            return self._least
        # Below -(states + 1) pays every arm would always play, above the largest pay none would.
        deepest = max(len(machine) for machine in self.kinds)
        low, high = -(deepest + 1.0) * self.unit, self.most + 1e-9 * self.unit

        def at(price: float) -> tuple[float, float]:
            if clock is not None:
                clock.check()
            return self.at(price)

        try:
            self._least = min(_least(at, low, high), self.most)
        except OutOfTime:
            return self.known(self.counts)
        return self._least

    def known(self, counts: IntArray) -> float:
        """Return the bound for so many arms of each kind from the prices tried so far."""
        if not self._prices:
            return self.most
        values = np.array(self._prices) + np.array(self._gains) @ counts
        return min(float(values.min()), self.most)

    def best_price(self) -> tuple[float, float, FloatArray]:
        """Return the price of the least bound so far, that bound, and each kind's gain in it."""
        if not self._prices:
            self.at(0.0)
        values = np.array(self._prices) + np.array(self._gains) @ self.counts
        best = int(values.argmin())
        return self._prices[best], float(values[best]), self._gains[best]


def stretches(work: IntArray) -> list[slice]:
    """Cut a list of tasks where about :data:`SLICE` steps of ``work`` have come together.

    Examples
    --------
    >>> stretches(np.array([2, 3, SLICE, 1]))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    cuts = np.flatnonzero(np.diff(np.cumsum(work) // SLICE)) + 1
    return [slice(low, high) for low, high in pairwise([0, *cuts.tolist(), len(work)])]


def power_of_two(size: float) -> float:
    """Return a power of 2 about as large as ``size``, 1 for 0.

    Examples
    --------
    >>> power_of_two(0.9), power_of_two(3e-11) * 2**34, power_of_two(0.0)
    (1.0, 1.0, 1.0)
    """
    return math.ldexp(1.0, math.frexp(size)[1]) if size > 0 else 1.0


def total_bound(bandit: Bandit, horizon: int, start: IntArray, clock: Clock) -> float:
    """Return an upper bound on the total of any policy over ``horizon`` rounds from ``start``.

    The same argument as :func:`average_bound`, with each arm's best own schedule over the horizon
    in place of its best cycle. Out of time, or on Ctrl-C, the least bound so far; the first takes
    no longer than a few prices.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.instances.pinwheel([2, 4])
    >>> total_bound(bandit, 12, bandit.start(), Clock(None))
    9.0
    """
    from lastswitch.planning.optima.backward import best_alone_totals

    frequency = frequencies(bandit.curves)
    with clock.ending():
        frequency.least(clock)
    least = [frequency.total(start, horizon)]
    deepest = int(frequency.sizes.max())
    alike = frequency.kind_of * deepest + frequency.states(start)
    alone, counts = np.unique(alike, return_counts=True)
    kinds, states = np.divmod(alone, deepest)
    parts = stretches(frequency.sizes[kinds] * horizon)
    best, pulls = np.empty(len(kinds)), np.empty(len(kinds), dtype=np.int64)

    def at(price: float) -> tuple[float, float]:
        weight = frequency.pay - price
        moves = frequency.on_pull, frequency.on_idle, frequency.begins
        for part in parts:
            clock.check()
            best_alone_totals(
                *(weight, *moves, kinds[part], states[part], horizon), best[part], pulls[part]
            )
        value = price * horizon + math.fsum(counts * best)
        least[0] = min(least[0], value)
        return value, float(horizon - counts @ pulls)

    with clock.ending():
        at(frequency.best_price()[0])
        _least(at, -(horizon + 1.0) * frequency.unit, frequency.most + 1e-9 * frequency.unit)
    return float(least[0])


def _least(at: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Minimise a convex piecewise linear function falling at ``low`` and rising at ``high``.

    ``at`` returns the value and a slope. Where the tangents of both sides meet is the lowest the
    function can be: if it is that low, done; if not, the tangent there replaces one of the two.
    """
    below, slope_below = at(low)
    above, slope_above = at(high)
    least = min(below, above)
    for _ in range(_MAX_TANGENTS):
        if slope_below >= 0 or slope_above <= 0:
            break
        middle = (below - above + slope_above * high - slope_below * low) / (
            slope_above - slope_below
        )
        floor = below + slope_below * (middle - low)
        value, slope = at(middle)
        least = min(least, value)
        if value <= floor + _FLAT * abs(value) or slope == 0.0:
            break
        if slope < 0:
            low, below, slope_below = middle, value, slope
        else:
            high, above, slope_above = middle, value, slope
    return float(least)
