"""The best cycle of a given length: argmax r(B | τ_B), the paper's B*_double, certified."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import check_bandit, check_limits
from lastswitch._utils.progress import Report
from lastswitch.errors import PlanError
from lastswitch.model.bandit import options_of
from lastswitch.model.blocks import cycle_reward
from lastswitch.model.states import as_allowed, as_array, state_after
from lastswitch.planning._tables import checked_length
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock, running
from lastswitch.planning.optima.cycle_search import Cycle, search_cycle
from lastswitch.planning.optima.frequency import frequencies
from lastswitch.planning.optima.joint_states import shortest_period
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.solve import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastswitch.model.bandit import Bandit
    from lastswitch.planning.ruled_solve import Options
    from lastswitch.rules import Rule


def plan_cycle(
    bandit: Bandit,
    length: int,
    *,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    allowed: ArrayLike | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Plan:
    """Plan the cycle of ``length`` rounds that pays most when repeated for ever.

    Parameters
    ----------
    bandit
        The bandit; its start plays no part.
    length
        Rounds of one turn.
    rules, plays, silence
        What every turn must respect, how many arms a round plays, and what an empty place pays;
        the bandit's own by default. Windows of rules go across the seam.
    allowed
        Which arms may play: one True or False per arm, a list of arms by number, or a table
        (length, K) of True and False that says it for every round of a turn. A table fixes where
        a turn begins, which takes a longer search.
    gap
        Stop once the cycle is within this share of the best of its length.
    time_limit
        Stop after about this many seconds with the best cycle so far and its bound; Ctrl-C stops
        it as well.
    progress
        ``True`` for a bar, or a function called now and then with a
        :class:`~lastswitch.Progress`: seconds, value and bound so far.

    Examples
    --------
    >>> from lastswitch.model.instances import five_arms
    >>> plan = plan_cycle(five_arms(), 9)
    >>> round(plan.value, 6), round(plan.per_round, 6), plan.optimal
    (4.56, 0.506667, True)
    """
    rounds = checked_length(length)
    check_bandit("plan_cycle", bandit)
    check_limits(gap, time_limit)
    by_round = allowed is not None and as_array(allowed).ndim > 1
    options = options_of(bandit, rules, plays, silence)
    with running(time_limit, progress, "planning a cycle") as clock:
        if by_round or not _plain(options):
            from lastswitch.planning.ruled_solve import plan_ruled_cycle

            where = allowed if by_round else _allowed(bandit, allowed)
            return plan_ruled_cycle(bandit, rounds, where, options, gap=gap, clock=clock)
        arms = _allowed(bandit, allowed)
        found = search_cycle(bandit, rounds, gap=gap, clock=clock, arms=arms)
        return _plan(bandit, found, clock)


def best_cycle(
    bandit: Bandit,
    max_length: int,
    *,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    allowed: ArrayLike | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Plan:
    """Plan the cycle of at most ``max_length`` rounds with the best average.

    The plan is one turn of that cycle, in the same unit as :func:`plan_cycle`'s: ``value`` and
    ``bound`` count a turn of its own length, ``per_round`` is the average. A cycle of n rounds is
    also one of 2n, so only lengths above half the limit are planned; under rules, which may count
    a turn's plays, all lengths that the rules' periods divide.

    Examples
    --------
    >>> from lastswitch.model.instances import five_arms
    >>> best = best_cycle(five_arms(), 8)  # the best of all takes nine rounds
    >>> len(best.block), round(best.per_round, 6), best.optimal
    (6, 0.418333, True)
    """
    limit = checked_length(max_length)
    check_bandit("best_cycle", bandit)
    check_limits(gap, time_limit)
    arms = _allowed(bandit, allowed)
    options = options_of(bandit, rules, plays, silence)
    with running(time_limit, progress, "planning cycles") as clock:
        if not _plain(options):
            from lastswitch.planning.ruled_solve import best_ruled_cycle

            return best_ruled_cycle(bandit, limit, arms, options, gap=gap, clock=clock)
        return _plan(bandit, _best_cycle(bandit, limit, gap, clock, arms), clock)


def _best_cycle(bandit: Bandit, limit: int, gap: float, clock: Clock, arms: list[int]) -> Cycle:
    """Return the cycle of at most ``limit`` rounds with the best average found in time."""
    best, bound = Cycle((arms[0],), -math.inf, math.inf), -math.inf
    ceiling = frequencies(tuple(bandit.curves[arm] for arm in arms)).least(clock)
    for length in range(limit, limit // 2, -1):
        part = clock.part(1 / (length - limit // 2))
        found = search_cycle(bandit, length, gap=gap, clock=part, arms=arms)
        bound = max(bound, found.bound / length)
        if found.value * len(best.block) > best.value * length:
            best = found
        mean = best.value / len(best.block)
        if ceiling <= mean + rounding(mean):
            break
        if found.interrupted or clock.over:
            bound = max(bound, ceiling)  # of the lengths not looked at
            break
    block = tuple(shortest_period(list(best.block)))
    value = cycle_reward(bandit, block)
    most = max(min(bound, ceiling) * len(block), value)
    return Cycle(block, value, most)


def _plan(bandit: Bandit, found: Cycle, clock: Clock) -> Plan:
    """Return the plan of a cycle: the problem of one turn that starts where the cycle settles."""
    start = settled_state(bandit, list(found.block))
    return plan_of(
        BlockProblem.from_bandit(bandit, len(found.block), start),
        Solution(found.block, found.bound),
        solver="certified",
        seconds=clock.seconds,
        names=tuple(bandit.names),
        repeats=True,
    )


def _plain(options: Options) -> bool:
    """Tell whether there are no rules and every round plays one arm, whatever silence would pay."""
    rules, plays, _ = options
    return not rules and plays == (1, 1)


def _allowed(bandit: Bandit, allowed: ArrayLike | None) -> list[int]:
    """Return the arms a cycle may use."""
    if allowed is None:
        return list(range(bandit.n_arms))
    if as_array(allowed).ndim > 1:
        raise PlanError(
            "a table of allowed by round is for one length, and best_cycle tries many; give one "
            "True or False per arm, or plan_cycle the length of the table."
        )
    arms: list[int] = np.flatnonzero(as_allowed(allowed, bandit.n_arms, PlanError)).tolist()
    return arms


def settled_state(bandit: Bandit, cycle: list[int]) -> IntArray:
    """Return τ_B, the state in which every turn of the endlessly repeated cycle starts.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> settled_state(Bandit([Curve([1], [0.5, 0])] * 2), [0, 1, 1]).tolist()
    [2, -2]
    """
    state = state_after(np.ones(bandit.n_arms, dtype=np.int64), cycle)
    if len(set(cycle)) == 1:  # the streak never ends, so it pays what the longest pays
        state[cycle[0]] = -len(bandit.curves[cycle[0]].streak)
    return state
