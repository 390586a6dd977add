"""The true optimum of a known bandit: the best average, and the best total over a horizon.

Moves are known and deterministic, so with known curves the best average is a maximum mean cycle,
and the best total a longest path, on the graph of joint states. Both are exact while that graph
fits in memory (``max_states``); beyond, the answer is the best schedule found under a proven
bound, and says so (``exact`` is False).

The graph has at most as many states as the product of the arms' distinct states: a constant arm
counts one, a curve flat from D on about D plus its streak, a season of period p about p, and arms
with equal curves are taken together. Play reaches only part of the product (no two arms can have
rested equally long before their curves flatten), and time grows in proportion: about a second per
hundred thousand joint states reached, milliseconds for the paper's instances
(``benchmarks/optima.py``).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._checks import check_bandit, check_limits, check_whole
from lastswitch.blocks import block_pays
from lastswitch.errors import PlanError
from lastswitch.planning.frequency import average_bound, total_bound
from lastswitch.planning.joint_states import group_arms, joint_graph, recurrent_state
from lastswitch.planning.walks import best_cycle_of, best_walk
from lastswitch.states import as_states, state_after

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.states import States

FORMAT = "lastswitch-optimum-1"
#: A bound this close to the value is rounding, not doubt.
TOLERANCE = 1e-9
#: Memory the graph may take before exactness is given up; a state takes about 160 + 16·K bytes.
MAX_GRAPH_BYTES = 1 << 30
#: Seconds, and lengths of the cycles to try, when the graph is too large to list.
SEARCH_SECONDS = 10.0
SEARCH_LENGTHS = (12, 24, 36, 48)
_LARGEST_DENOMINATOR = 1_000_000


@dataclass(frozen=True)
class Optimum:
    """The best a bandit can pay, with the schedule that pays it.

    Parameters
    ----------
    value
        What the schedule pays: per round for an average, in all for a total.
    bound
        No policy (for ``best_cycle``, no cycle that short) can do better;
        ``bound >= best possible >= value``.
    exact
        Whether ``value`` is the best possible (up to rounding).
    fraction
        ``value`` as an exact fraction. Pays are read as the simplest fraction with a denominator
        up to a million that rounds to the given number (0.95 is 19/20), and as the binary number
        itself if there is none.
    cycle
        For an average: the arms to repeat for ever.
    sequence
        For a total: the arm of every round.
    horizon
        For a total: the number of rounds.
    states
        Joint states of the graph that was searched; 0 if it was too large to list.
    seconds
        Time taken.

    Examples
    --------
    >>> best = Optimum(value=0.5, bound=0.6, exact=False, fraction=Fraction(1, 2), cycle=(0, 1))
    >>> print(best)
    best average found: 0.5 = 1/2 (nothing can exceed 0.6)
    """

    value: float
    bound: float
    exact: bool
    fraction: Fraction
    cycle: tuple[int, ...] = ()
    sequence: tuple[int, ...] = ()
    horizon: int | None = None
    states: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.value <= self.bound + TOLERANCE * max(1.0, abs(self.bound)):
            raise PlanError(
                f"value {self.value} exceeds its own bound {self.bound}: the certificate is "
                "broken; please report the bandit that gave it."
            )

    @property
    def gap(self) -> float:
        """How much better, relative to ``value``, anything could possibly be."""
        return max(0.0, self.bound - self.value) / max(abs(self.value), 1e-12)

    def to_dict(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; arms by name if ``names`` are given.

        Examples
        --------
        >>> best = Optimum(0.5, 0.5, True, Fraction(1, 2), cycle=(0, 1))
        >>> best.to_dict(["jazz", "talk"])["cycle"]
        ['jazz', 'talk']
        """

        def arms(played: tuple[int, ...]) -> list[Any]:
            return [arm if names is None else names[arm] for arm in played]

        schedule: dict[str, Any] = {"cycle": arms(self.cycle)}
        if self.horizon is not None:
            schedule = {"horizon": self.horizon, "sequence": arms(self.sequence)}
        return {
            "format": FORMAT,
            "value": self.value,
            "fraction": str(self.fraction),
            "bound": self.bound,
            "gap": self.gap,
            "exact": self.exact,
            **schedule,
            "states": self.states,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        what = "average" if self.horizon is None else f"total over {self.horizon} rounds"
        shown = f"{self.value:.6g}"
        if self.fraction.denominator <= _LARGEST_DENOMINATOR and self.fraction.denominator > 1:
            shown += f" = {self.fraction}"
        if self.exact:
            return f"best {what}: {shown} (exact)"
        return f"best {what} found: {shown} (nothing can exceed {self.bound:.6g})"


def optimal_average(
    bandit: Bandit, *, max_states: int | None = None, time_limit: float | None = None
) -> Optimum:
    """Return the best long-run average reward of ``bandit`` and a cycle that earns it.

    The best average does not depend on where the arms start: from any state, any cycle of plays
    pays from its second turn on what it pays for ever.

    Parameters
    ----------
    bandit
        The bandit; its noise and start play no part.
    max_states
        Joint states to list at most; by default what fits in a gigabyte, a few million. Beyond,
        the answer is the best cycle found, with ``exact=False`` and a proven ``bound``.
    time_limit
        Seconds to spend looking for a good cycle when the graph is too large (default 10).

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> best = optimal_average(Bandit([Curve([1], [0]), Curve([0, 1], [0])]))
    >>> best.fraction, best.cycle, best.exact
    (Fraction(2, 3), (0, 0, 1), True)
    """
    began = time.perf_counter()
    check_bandit("optimal_average", bandit)
    check_limits(0.0, time_limit)
    limit = _most_states(bandit, max_states)
    arms = group_arms(bandit)
    graph = joint_graph(arms, recurrent_state(arms), limit) if arms else None
    if graph is None:
        cycle = _long_cycle(bandit, time_limit)
        value = cycle_fraction(bandit, cycle) / len(cycle)
        bound = max(average_bound(bandit), float(value))
    else:
        cycle, bound = best_cycle_of(graph)
        value = cycle_fraction(bandit, cycle) / len(cycle)
        bound = _closed(value, bound, bandit, len(cycle), len(graph))
    return Optimum(
        value=float(value),
        bound=bound,
        exact=bound - float(value) <= TOLERANCE,
        fraction=value,
        cycle=cycle,
        states=0 if graph is None else len(graph),
        seconds=time.perf_counter() - began,
    )


def optimal_total(
    bandit: Bandit,
    horizon: int,
    start: ArrayLike | None = None,
    *,
    max_states: int | None = None,
    time_limit: float | None = None,
) -> Optimum:
    """Return the best total reward over ``horizon`` rounds: the comparator of the regret.

    Parameters
    ----------
    bandit
        The bandit; its noise plays no part.
    horizon
        The number of rounds T.
    start
        The state to start from; the bandit's own if not given.
    max_states, time_limit
        As for :func:`optimal_average`.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> best = optimal_total(Bandit([Curve([1], [0]), Curve([0, 1], [0])]), horizon=6)
    >>> best.value, best.exact
    (5.0, True)
    """
    began = time.perf_counter()
    check_bandit("optimal_total", bandit)
    check_limits(0.0, time_limit)
    rounds = check_whole("horizon", horizon, 1, PlanError)
    taus = bandit.start() if start is None else as_states(start)
    bandit.means(taus)  # refuses a state that does not fit the bandit
    arms = group_arms(bandit)
    graph = None
    if arms is not None:
        origin = [machine.at(int(tau)) for machine, tau in zip(arms.machines, taus, strict=True)]
        graph = joint_graph(arms, origin, _most_states(bandit, max_states), rounds)
    if graph is None:
        sequence, bound = _long_plan(bandit, rounds, taus, time_limit)
        bound = min(bound, total_bound(bandit, rounds, taus))
    else:
        sequence, bound = best_walk(graph, rounds)
    total = total_fraction(bandit, sequence, taus)
    bound = max(bound, float(total))
    return Optimum(
        value=float(total),
        bound=bound,
        exact=bound - float(total) <= TOLERANCE * max(1.0, float(total)),
        fraction=total,
        sequence=sequence,
        horizon=rounds,
        states=0 if graph is None else len(graph),
        seconds=time.perf_counter() - began,
    )


def as_fraction(pay: float) -> Fraction:
    """Return ``pay`` as the fraction meant: 0.95 is 19/20, 1/3 is 1/3.

    Examples
    --------
    >>> as_fraction(0.95), as_fraction(1 / 3)
    (Fraction(19, 20), Fraction(1, 3))
    """
    exact = Fraction(pay)
    simple = exact.limit_denominator(_LARGEST_DENOMINATOR)
    return simple if float(simple) == pay else exact


def cycle_fraction(bandit: Bandit, cycle: tuple[int, ...]) -> Fraction:
    """Return r(B | τ_B), what one turn of ``cycle`` repeated for ever pays, as a fraction.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> cycle_fraction(Bandit([Curve([0, 0.9], [0]), Curve([0.3], [0.3])]), (0, 1, 1))
    Fraction(3, 2)
    """
    if len(set(cycle)) == 1:  # an endless streak
        return len(cycle) * as_fraction(bandit.curves[cycle[0]].streak[-1])
    return total_fraction(bandit, cycle, state_after(np.ones(bandit.n_arms, dtype=int), cycle))


def total_fraction(bandit: Bandit, sequence: tuple[int, ...], start: States) -> Fraction:
    """Return r(B | start) as a fraction.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> bandit = Bandit([Curve([0, 0.9], [0]), Curve([0.3], [0.3])])
    >>> total_fraction(bandit, (1, 0), bandit.start())
    Fraction(6, 5)
    """
    counts = Counter(block_pays(bandit, sequence, start).tolist())
    return sum((as_fraction(pay) * count for pay, count in counts.items()), Fraction(0))


def _most_states(bandit: Bandit, max_states: int | None) -> int:
    """Return how many joint states may be listed."""
    if max_states is None:
        return MAX_GRAPH_BYTES // (160 + 16 * bandit.n_arms)
    return check_whole("max_states", max_states, 1, PlanError)


def _closed(value: Fraction, bound: float, bandit: Bandit, length: int, states: int) -> float:
    """Return ``bound``, or ``value`` itself if no mean of another cycle can lie in between.

    Means of two cycles of at most ``states`` rounds over a common denominator D differ by
    at least 1 / (length · states · D) unless they are equal.
    """
    pays = {pay for curve in bandit.curves for pay in (*curve.rest, *curve.streak)}
    common = math.lcm(*(as_fraction(pay).denominator for pay in pays))
    # As fractions: the common denominator of many pays need not fit in a float.
    if Fraction(bound - float(value) + 1e-14) * (length * states * common) < 1:
        return float(value)
    return max(bound, float(value))


def _long_cycle(bandit: Bandit, time_limit: float | None) -> tuple[int, ...]:
    """Return the best cycle found by planning cycles of growing length within the time."""
    from lastswitch.planning.cycles import plan_cycle

    seconds = SEARCH_SECONDS if time_limit is None else time_limit
    plans = [
        plan_cycle(bandit, length, time_limit=seconds / len(SEARCH_LENGTHS))
        for length in SEARCH_LENGTHS
    ]
    return max(plans, key=lambda plan: plan.value / len(plan.block)).block


def _long_plan(
    bandit: Bandit, horizon: int, start: States, time_limit: float | None
) -> tuple[tuple[int, ...], float]:
    """Return a good sequence for a bandit whose graph is too large, and a bound if it has one."""
    from lastswitch.planning.solve import plan_block

    if horizon <= SEARCH_LENGTHS[-1]:
        seconds = SEARCH_SECONDS if time_limit is None else time_limit
        plan = plan_block(bandit, horizon, start=start, time_limit=seconds)
        return plan.block, plan.bound
    cycle = _long_cycle(bandit, time_limit)
    turned = [(cycle[k:] + cycle[:k]) * (horizon // len(cycle) + 1) for k in range(len(cycle))]
    sequences = [sequence[:horizon] for sequence in turned]
    return max(sequences, key=lambda each: float(block_pays(bandit, each, start).sum())), math.inf
