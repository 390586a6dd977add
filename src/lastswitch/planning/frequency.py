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

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._checks import check_bandit
from lastswitch.planning.arm_states import ArmStates, arm_states

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.curves import Curve
    from lastswitch.states import States

_MAX_TANGENTS = 200
_MAX_ITERATIONS = 1000
_FLAT = 1e-13


def average_bound(bandit: Bandit) -> float:
    """Return an upper bound on the average reward of any policy on ``bandit``.

    Examples
    --------
    One arm can pay 1 every other round, another every third; a third arm fills the rounds left.

    >>> import lastswitch as ls
    >>> round(average_bound(ls.pinwheel([2, 3])), 6)
    0.833333
    """
    check_bandit("average_bound", bandit)
    return curves_bound(bandit.curves)


@lru_cache(maxsize=1024)  # planning cycles asks for the same arms at every length
def curves_bound(curves: tuple[Curve, ...]) -> float:
    """Return the :func:`average_bound` of arms with these curves."""
    machines = [arm_states(curve) for curve in curves]
    kinds = {machine.behaviour: machine for machine in machines}
    counts = Counter(machine.behaviour for machine in machines)
    alone = [(_Alone(kinds[kind]), count) for kind, count in counts.items()]

    def at(price: float) -> tuple[float, float]:
        value, slope = price, 1.0
        for arm, count in alone:
            gain, pulls = arm.best(price)
            value += count * gain
            slope -= count * pulls
        return value, slope

    # Pays lie in [0, 1]: below -(states + 1) every arm would always play, above 1 none would.
    deepest = max(len(machine) for machine in machines)
    return _least(at, -(deepest + 1.0), 1.0 + 1e-9)


def total_bound(bandit: Bandit, horizon: int, start: States) -> float:
    """Return an upper bound on the total of any policy over ``horizon`` rounds from ``start``.

    The same argument as :func:`average_bound`, with each arm's best own schedule over the horizon
    in place of its best cycle.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.pinwheel([2, 4])
    >>> total_bound(bandit, 12, bandit.start())
    9.0
    """
    from lastswitch.planning.backward import best_alone_total

    machines = [arm_states(curve) for curve in bandit.curves]
    starts = [machine.at(int(tau)) for machine, tau in zip(machines, start, strict=True)]
    tables = [
        (np.array(m.pay), np.array(m.on_pull), np.array(m.on_idle), state)
        for m, state in zip(machines, starts, strict=True)
    ]

    def at(price: float) -> tuple[float, float]:
        value, slope = price * horizon, float(horizon)
        for pay, on_pull, on_idle, state in tables:
            best, pulls = best_alone_total(pay - price, on_pull, on_idle, state, horizon)
            value += best
            slope -= pulls
        return value, slope

    return _least(at, -(horizon + 1.0), 1.0 + 1e-9)


class _Alone:
    """One arm left to itself: the graph of its states, where it is pulled or rests."""

    def __init__(self, machine: ArmStates) -> None:
        n = len(machine)
        self.pay = np.array([*machine.pay, 0.0])
        self.pulled = np.array([*[1.0] * n, 0.0])
        self.first = np.arange(0, 2 * n + 1, 2)
        self.target = np.array([machine.on_idle, machine.on_pull], dtype=np.int32).T.ravel()
        self.label = np.array([[n] * n, range(n)], dtype=np.int32).T.ravel()

    def best(self, price: float) -> tuple[float, float]:
        """Return the best mean at ``price`` a pull (from above), and how often it pulls."""
        from lastswitch.planning.mean_cycle import bias_violation, howard

        edges = (self.first, self.target, self.label, self.pay - price * self.pulled)
        state, choice, gain, bias = howard(*edges, _MAX_ITERATIONS)
        here, length, pulls = state, 0, 0.0
        while length == 0 or here != state:
            length += 1
            pulls += self.pulled[self.label[choice[here]]]
            here = int(self.target[choice[here]])
        best = float(gain[state])
        return best + max(0.0, float(bias_violation(*edges, best, bias))), pulls / length


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
        if value <= floor + _FLAT * max(1.0, abs(value)) or slope == 0.0:
            break
        if slope < 0:
            low, below, slope_below = middle, value, slope
        else:
            high, above, slope_above = middle, value, slope
    return float(least)
