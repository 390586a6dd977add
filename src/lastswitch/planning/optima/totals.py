"""The true optimum of a known bandit: the best average, and the best total over a horizon.

Moves are known and deterministic, so with known curves the best average is a maximum mean cycle,
and the best total a longest path, on the graph of joint states. It has at most as many states as
the product of the arms' distinct states: a constant arm counts one, a curve flat from D on about D
plus its streak, a season of period p about p, and arms with equal curves are taken together.

A small graph is listed and searched as a whole. Of a large one only the states are looked at that
fall little short of what no policy can beat (:mod:`lastswitch.planning.optima.shortfall`): that
proves most optima of ten arms in milliseconds to seconds (``benchmarks/optima.py``). Where neither
comes to an end in the time and memory given (``time_limit``, ``max_states``), the answer is the
best schedule found under a proven bound, and says so (``optimal`` is False).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import check_bandit, check_limits, check_whole
from lastswitch._utils.progress import Report
from lastswitch.errors import PlanError
from lastswitch.model.blocks import block_pays, cycle_reward
from lastswitch.model.states import Start, as_start
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock, running
from lastswitch.planning.optima.fractions import (
    as_fraction,
    closed,
    cycle_fraction,
    total_fraction,
)
from lastswitch.planning.optima.frequency import frequencies, total_bound
from lastswitch.planning.optima.joint_states import (
    Arms,
    JointGraph,
    group_arms,
    joint_graph,
    recurrent_state,
)
from lastswitch.planning.optima.optimum import Optimum
from lastswitch.planning.optima.shortfall import Shortfalls, shortfalls
from lastswitch.planning.optima.shortfall_cycles import Average, search_average
from lastswitch.planning.optima.shortfall_walks import Total, search_total
from lastswitch.planning.optima.walks import best_cycle_of, best_walk

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

#: Memory the graph may take before exactness is given up; a state takes about 160 + 16·K bytes.
MAX_GRAPH_BYTES = 1 << 30
#: Seconds, and lengths of the cycles to try, when the graph is too large to list.
SEARCH_SECONDS, TOTAL_SECONDS = 10.0, 30.0
SEARCH_LENGTHS = (12, 24, 36, 48)
#: What share of a time limit may go into listing joint states before a search is tried instead.
LISTING_SHARE = 0.5
#: What share of the time left may go into the bound of a total.
BOUND_SHARE = 0.3
#: Up to so many joint states, reached or not, listing them takes no longer than a search, for an
#: average and for a total.
QUICKLY_LISTED, QUICKLY_WALKED = 20_000, 100_000
#: Enough joint states for any bandit that is small.
MANY_STATES = 10_000
#: What share of the time left a search for the best average may take, as the answer or as the
#: first step to a total; and one for the total.
SEARCH_SHARE, FIRST_SHARE, TOTAL_SHARE = 0.8, 0.5, 0.8


def optimal_average(
    bandit: Bandit,
    *,
    max_states: int | None = None,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Optimum:
    """Return the best long-run average reward of ``bandit`` and a cycle that earns it.

    The best average does not depend on where the arms start: from any state, any cycle of plays
    pays from its second turn on what it pays for ever. The bandit's rules, plays and silence are
    kept; rules must then speak of rounds as they come (``within``, ``every``, successions).

    Parameters
    ----------
    bandit
        The bandit; its noise and start play no part.
    max_states
        Joint states to list or follow at most; by default what fits in a gigabyte, a few million.
        Beyond, the best cycle found is returned under a bound.
    time_limit
        Stop after about this many seconds with the best cycle so far and a bound. Without one,
        searches that need not come to an end stop after ten seconds each. Ctrl-C stops it as well.
    progress
        ``True`` for a bar, or a function called now and then with a
        :class:`~lastswitch.Progress`: seconds, value and bound so far.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> best = optimal_average(Bandit([Curve([1], [0]), Curve([0, 1], [0])]))
    >>> best.fraction, best.block, best.optimal
    (Fraction(2, 3), (0, 0, 1), True)
    """
    check_bandit("optimal_average", bandit)
    check_limits(0.0, time_limit)
    limit = _most_states(bandit, max_states)
    with running(time_limit, progress, "looking for the best average") as clock:
        if not bandit.plain:
            return _ruled_average(bandit, limit, clock)
        return _average(bandit, limit, clock)


def _average(bandit: Bandit, limit: int, clock: Clock) -> Optimum:
    """Return the best average found in time, from a graph of at most ``limit`` states."""
    ceiling, arms = frequencies(bandit.curves), group_arms(bandit)
    found = _searched(bandit, arms, limit, clock, SEARCH_SHARE)
    if found is None or not found[1].proven:
        return _listed_average(bandit, arms, limit, clock, found[1] if found else None)
    _, average = found
    value = cycle_fraction(bandit, average.block) / len(average.block)
    bound = min(average.bound, ceiling.known(ceiling.counts))
    return Optimum(
        value=float(value),
        bound=closed(value, bound, bandit, len(average.block), _spanned(arms)),
        fraction=value,
        block=average.block,
        states=average.states,
        seconds=clock.seconds,
    )


def _listed_average(
    bandit: Bandit, arms: Arms | None, limit: int, clock: Clock, before: Average | None
) -> Optimum:
    """Return the best average from the listed graph, or from a search if it cannot be listed."""
    graph, ceiling = None, frequencies(bandit.curves)
    with clock.ending():
        if clock.limit is not None:  # so that a bound is at hand whatever happens
            ceiling.least(clock.part(LISTING_SHARE))
        part = clock.part(LISTING_SHARE)
        if arms is not None:
            graph = joint_graph(arms, recurrent_state(arms), limit, clock=part)
    if graph is None:
        block = _long_cycle(bandit, clock)
        value = cycle_fraction(bandit, block) / len(block)
        bound = ceiling.least(clock)
    else:
        block, bound = best_cycle_of(graph, clock.part(LISTING_SHARE))
        value = cycle_fraction(bandit, block) / len(block)
        bound = closed(value, bound, bandit, len(block), len(graph))
        if bound > float(value) + rounding(bound):  # stopped early: a search may find a better one
            bound = min(bound, ceiling.least(clock))
            other = _long_cycle(bandit, clock)
            mean = cycle_fraction(bandit, other) / len(other)
            value, block = (mean, other) if mean > value else (value, block)
    if before is not None:
        mean = cycle_fraction(bandit, before.block) / len(before.block)
        value, block = (mean, before.block) if mean > value else (value, block)
        bound = min(bound, before.bound)
    return Optimum(
        value=float(value),
        bound=max(bound, float(value)),
        fraction=value,
        block=block,
        states=0 if graph is None else len(graph),
        seconds=clock.seconds,
    )


def _searched(
    bandit: Bandit, arms: Arms | None, limit: int, clock: Clock, share: float
) -> tuple[Shortfalls, Average] | None:
    """Return the best average found without listing the graph, and what it was found with.

    None where listing is as quick, or if an arm has too many states.
    """
    if arms is None or _spanned(arms) <= QUICKLY_LISTED:
        return None
    part = _bounded(clock).part(share)
    short = None
    with clock.ending():
        frequencies(bandit.curves).least(part)
        short = shortfalls(arms, frequencies(bandit.curves), part)
    if short is None:
        return None
    return short, search_average(bandit, short, max(1, limit // 2), part)


def ready_to_search(bandit: Bandit, rounds: int) -> None:
    """Search a small bandit as if it were large, so that every kernel of it is loaded."""
    arms, frequency, clock = group_arms(bandit), frequencies(bandit.curves), Clock(None)
    frequency.least()
    short = None if arms is None else shortfalls(arms, frequency, clock)
    if arms is None or short is None:
        return
    average = search_average(bandit, short, MANY_STATES, clock)
    search_total(bandit, rounds, bandit.start(), average, short, MANY_STATES, clock)
    graph = joint_graph(arms, recurrent_state(arms), MANY_STATES)
    if graph is not None:
        best_walk(graph, rounds, clock, small=0.0)


def _spanned(arms: Arms | None) -> int:
    """Return how many joint states the arms span, reached by play or not."""
    return 0 if arms is None else math.prod(len(machine) for machine in arms.machines)


def optimal_total(
    bandit: Bandit,
    horizon: int,
    start: Start = "initial",
    *,
    max_states: int | None = None,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Optimum:
    """Return the best total reward over ``horizon`` rounds: the comparator of the regret.

    Parameters
    ----------
    bandit
        The bandit; its noise plays no part.
    horizon
        The number of rounds T.
    start
        Where the arms stand: ``"initial"`` (as the bandit says) or a state vector. A total is
        earned from somewhere, so ``"unknown"`` is refused; ``plan_block`` takes it.
    max_states, time_limit, progress
        As for :func:`optimal_average`.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> best = optimal_total(Bandit([Curve([1], [0]), Curve([0, 1], [0])]), horizon=6)
    >>> best.value, best.optimal
    (5.0, True)
    """
    check_bandit("optimal_total", bandit)
    check_limits(0.0, time_limit)
    rounds = check_whole("horizon", horizon, 1, PlanError)
    taus = as_start(start, bandit.start())
    if taus is None:
        raise PlanError(
            "a total needs to know where the arms start; give start='initial' or a state vector, "
            "or plan a block from 'unknown' with plan_block."
        )
    limit = _most_states(bandit, max_states)
    with running(time_limit, progress, "looking for the best total") as clock:
        if not bandit.plain:
            return _ruled_total(bandit, rounds, taus, clock)
        return _total(bandit, rounds, taus, limit, clock)


def _total(bandit: Bandit, rounds: int, taus: IntArray, limit: int, clock: Clock) -> Optimum:
    """Return the best total found in time, from a graph of at most ``limit`` states."""
    found = _searched_total(bandit, rounds, taus, limit, clock)
    if found is not None and found.proven:
        return _optimum(bandit, rounds, taus, found, clock)
    graph, walk = None, None
    with clock.ending():
        part = clock.part(LISTING_SHARE)
        graph = _graph_from(bandit, taus, limit, rounds, part)
        if graph is not None:
            walk = best_walk(graph, rounds, part)
    if walk is None or graph is None:
        graph, clock = None, _bounded(clock)
        # First the bound: a search takes all the time it is given.
        bound = total_bound(bandit, rounds, taus, clock.part(BOUND_SHARE))
        block, planned = _long_plan(bandit, rounds, taus, clock)
        bound = min(bound, planned)
        if found is not None:
            bound = min(bound, found.bound)
            if found.value > float(block_pays(bandit, block, taus).sum()):
                block = found.block
    else:
        block, bound = walk.arms(graph), walk.bound
        if bound > -math.inf:  # of a walk cut short it may be worse than what holds for any
            bound = min(bound, total_bound(bandit, rounds, taus, clock))
    best = Total(block, 0.0, bound, 0 if graph is None else len(graph))
    return _optimum(bandit, rounds, taus, best, clock)


def _optimum(bandit: Bandit, rounds: int, taus: IntArray, best: Total, clock: Clock) -> Optimum:
    """Return a schedule with what it earns, as a fraction."""
    total = total_fraction(bandit, best.block, taus)
    return Optimum(
        value=float(total),
        bound=max(best.bound, float(total)),
        fraction=total,
        block=best.block,
        horizon=rounds,
        states=best.states,
        seconds=clock.seconds,
    )


def _searched_total(
    bandit: Bandit, rounds: int, taus: IntArray, limit: int, clock: Clock
) -> Total | None:
    """Return the best total found without listing the graph; None where that is no help."""
    arms = group_arms(bandit)
    if rounds <= SEARCH_LENGTHS[-1] or _spanned(arms) <= QUICKLY_WALKED:
        return None
    found = _searched(bandit, arms, limit, clock, FIRST_SHARE)
    if found is None:
        return None
    short, average = found
    if not (average.proven or average.states):
        return None  # it did not get anywhere
    part = clock.part(TOTAL_SHARE, most=TOTAL_SECONDS if clock.limit is None else math.inf)
    return search_total(bandit, rounds, taus, average, short, max(1, limit // 2), part)


def _ruled_average(bandit: Bandit, limit: int, clock: Clock) -> Optimum:
    """Return the best average of a bandit with rules, silence or several plays."""
    from lastswitch.planning.optima.under_rules import ruled_average

    found = ruled_average(bandit, limit, _bounded(clock))
    return Optimum(
        value=float(found.mean),
        bound=max(found.bound, float(found.mean)),
        fraction=found.mean,
        states=found.states,
        seconds=clock.seconds,
        rounds=found.rounds,
    )


def _ruled_total(bandit: Bandit, rounds: int, taus: IntArray, clock: Clock) -> Optimum:
    """Return the best total of a bandit with rules, silence or several plays: a planned block."""
    from lastswitch.planning.solve import plan_block

    plan = plan_block(bandit, rounds, start=taus, time_limit=clock.limit)
    return Optimum(
        value=plan.value,
        bound=plan.bound,
        fraction=as_fraction(plan.value),
        horizon=rounds,
        seconds=clock.seconds,
        rounds=plan.rounds,
    )


def _graph_from(
    bandit: Bandit, taus: IntArray, limit: int, rounds: int, clock: Clock
) -> JointGraph | None:
    """Return the graph of what can be reached from ``taus``; None if that is too much."""
    arms = group_arms(bandit)
    if arms is None:
        return None
    origin = [machine.at(int(tau)) for machine, tau in zip(arms.machines, taus, strict=True)]
    return joint_graph(arms, origin, limit, rounds, clock)


def _most_states(bandit: Bandit, max_states: int | None) -> int:
    """Return how many joint states may be listed."""
    if max_states is None:
        return MAX_GRAPH_BYTES // (160 + 16 * bandit.n_arms)
    return check_whole("max_states", max_states, 1, PlanError)


def _bounded(clock: Clock) -> Clock:
    """Return the clock, or one that ends a search without end."""
    return clock.part(1.0, most=SEARCH_SECONDS) if math.isinf(clock.left) else clock


def _long_cycle(bandit: Bandit, clock: Clock) -> tuple[int, ...]:
    """Return the best cycle found by planning cycles of growing length within the time."""
    from lastswitch.planning.optima.cycle_search import search_cycle

    clock = _bounded(clock)
    best: tuple[int, ...] = ()
    for k, length in enumerate(SEARCH_LENGTHS):
        part = clock.part(1 / (len(SEARCH_LENGTHS) - k))
        found = search_cycle(bandit, length, gap=0.0, clock=part)
        best = max(best or found.block, found.block, key=lambda b: cycle_reward(bandit, b) / len(b))
        if found.interrupted or clock.over:
            break
    return best


def _long_plan(
    bandit: Bandit, horizon: int, start: IntArray, clock: Clock
) -> tuple[tuple[int, ...], float]:
    """Return a good sequence for a bandit whose graph is too large, and a bound if it has one."""
    from lastswitch.planning.solve import plan_block

    if horizon <= SEARCH_LENGTHS[-1]:
        plan = plan_block(bandit, horizon, start=start, time_limit=_bounded(clock).limit)
        return plan.block, plan.bound
    cycle = _long_cycle(bandit, clock)
    best, best_total = np.resize(cycle, horizon), -math.inf
    with clock.ending():
        for k in range(len(cycle)):  # begin with the round that suits the start best
            sequence = np.resize(np.roll(cycle, -k), horizon)
            total = float(block_pays(bandit, sequence, start).sum())
            if total > best_total:
                best, best_total = sequence, total
            clock.check()
    return tuple(best.tolist()), math.inf
