"""True optima under rules: the graph of joint states and of what the rules remember.

For an average the rules must speak of rounds as they come: sliding windows, periods, successions.
Rules about certain rounds, or about a whole block, say nothing about rounds without end.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Hashable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.errors import InfeasibleError, RuleError, UndecidedError
from lastswitch.planning.clock import OutOfTime
from lastswitch.planning.diagrams.arm_states import arm_states
from lastswitch.planning.optima.frequency import places_bound
from lastswitch.planning.playing import RoundsPlayed, turn_pulls
from lastswitch.planning.ruled_solve import best_ruled_cycle, common_period
from lastswitch.rules import Counting, Rule, violations
from lastswitch.rules.automata.counters import Counter, counters_of

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.planning.clock import Clock

#: Joint states to list at most; longest cycle to look for where there are more, unless the rules'
#: periods take longer to come round together.
MOST_STATES, LONGEST = 200_000, 14
#: What share of the time left may go into listing them.
LISTING_SHARE = 0.5
#: Policy iterations; the certificate does not rest on finishing.
MAX_ITERATIONS = 1000


class Average(NamedTuple):
    """A cycle, its mean as a fraction, what none can exceed, and the states that were listed."""

    rounds: RoundsPlayed
    mean: Fraction
    bound: float
    states: int


def ruled_average(bandit: Bandit, limit: int, clock: Clock) -> Average:
    """Return the best long-run average of a bandit under its rules.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch import rules as r
    >>> bandit = ls.Bandit([ls.curves.constant(0.5), ls.curves.constant(0.25)],
    ...                    rules=[r.at_most(0, 1, within=3)])
    >>> ls.optimal_average(bandit).fraction
    Fraction(1, 3)
    """
    rules = [rule.bound(bandit.names, bandit.groups) for rule in bandit.rules]
    for rule in bandit.rules:
        if isinstance(rule, Counting) and rule.within is None and rule.every is None:
            raise RuleError(
                f"{rule!r} speaks of certain rounds or of a whole block, and an average has no "
                "end; give within= or every=, or plan a block or a cycle."
            )
    graph = None
    with contextlib.suppress(OutOfTime):
        graph = _listed(bandit, rules, min(limit, MOST_STATES), clock.part(LISTING_SHARE))
    if graph is None:
        options = (bandit.rules, bandit.plays, bandit.silence)
        arms = list(range(bandit.n_arms))
        longest = max(LONGEST, common_period(rules))
        try:
            plan = best_ruled_cycle(bandit, longest, arms, options, gap=0.0, clock=clock)
        except InfeasibleError as error:  # a longer cycle may keep the rules
            raise UndecidedError(
                f"no cycle of at most {longest} rounds keeps these rules, and longer ones were not "
                "looked at; plan a longer one with plan_cycle, or give more max_states."
            ) from error
        mean = _mean(bandit, rules, plan.rounds)
        ceiling = places_bound(bandit.curves, bandit.plays, bandit.silence, clock)
        return Average(plan.rounds, mean, max(ceiling, float(mean)), 0)
    rounds, bound = _best(graph)
    mean = _mean(bandit, rules, rounds)
    bound = float(mean) if bound <= float(mean) + 1e-9 else bound
    return Average(rounds, mean, bound, len(graph.first) - 1)


class Graph(NamedTuple):
    """States and what may be played in each: edges with targets, pays and arms.

    ``phase`` is the round of the rules' common period that each state is before.
    """

    phase: IntArray
    first: IntArray
    target: IntArray
    pay: FloatArray
    played: list[tuple[int, ...]]


def _listed(bandit: Bandit, rules: list[Rule], limit: int, clock: Clock) -> Graph | None:
    """List what can be reached, without dead ends; None if it is too much.

    Nothing is known before the first round, so on the way to the states that come again windows
    may lack plays; such moves are no part of the graph.
    """
    machines = [arm_states(curve) for curve in bandit.curves]
    least, most = bandit.plays
    period = common_period(rules)
    counters = [
        counter for rule in rules for counter in counters_of(rule, period, most, (), repeats=True)
    ]
    choices = [
        arms
        for size in range(least, most + 1)
        for arms in itertools.combinations(range(bandit.n_arms), size)
    ]
    events = [[sum(c.letters.get(arm, 0) for arm in arms) for c in counters] for arms in choices]
    origin = (
        0,
        tuple(machine.at(1) for machine in machines),
        tuple(counter.begins[0] for counter in counters),
    )
    known: dict[Hashable, int] = {origin: 0}
    edges: list[tuple[int, int, float, int]] = []
    for number, (phase, states, memories) in enumerate(known_states := [origin]):
        if number % 16 == 0:
            clock.check()
        rested = [machine.on_idle[s] for machine, s in zip(machines, states, strict=True)]
        for choice, arms in enumerate(choices):
            stepped = _step(counters, phase, memories, events[choice])
            if stepped is None:
                continue
            after, pay = list(rested), stepped[1] + bandit.silence * (most - len(arms))
            for arm in arms:
                after[arm] = machines[arm].on_pull[states[arm]]
                pay += machines[arm].pay[states[arm]]
            node = ((phase + 1) % period, tuple(after), stepped[0])
            if node not in known:
                if len(known) == limit:
                    return None
                known[node] = len(known)
                known_states.append(node)
            if not stepped[2]:
                edges.append((number, known[node], pay, choice))
    return _alive(edges, [phase for phase, _, _ in known_states], choices)


def _step(
    counters: list[Counter], phase: int, memories: tuple[Hashable, ...], heard: list[int]
) -> tuple[tuple[Hashable, ...], float, bool] | None:
    """Return what the counters remember next, what that costs, and whether a window lacks plays.

    None if it is forbidden whatever was before.
    """
    after, pay, lacking = [], 0.0, False
    for counter, memory, event in zip(counters, memories, heard, strict=True):
        state, wrong = counter.step(phase, memory, event)
        if wrong and counter.cost is None:
            if not (isinstance(counter.rule, Counting) and counter.rule.most is None):
                return None
            lacking = True
        pay -= wrong * (counter.cost or 0.0)
        after.append(state)
    return tuple(after), pay, lacking


def _alive(
    edges: list[tuple[int, int, float, int]], phases: list[int], choices: list[tuple[int, ...]]
) -> Graph:
    """Return the graph of the states that some endless schedule visits again and again."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(phases)
    tail = np.array([edge[0] for edge in edges], np.int64)
    head = np.array([edge[1] for edge in edges], np.int64)
    links = csr_array((np.ones(len(tail)), (tail, head)), shape=(n, n))
    _, part = connected_components(links, connection="strong")
    inside = np.flatnonzero(part[tail] == part[head])  # every cycle stays in one part
    if len(inside) == 0:
        raise InfeasibleError("no schedule keeps these rules for ever.")
    used = np.unique(tail[inside])
    rank = np.full(n, -1)
    rank[used] = np.arange(len(used))
    order = inside[np.argsort(rank[tail[inside]], kind="stable")]
    first = np.searchsorted(rank[tail[order]], np.arange(len(used) + 1))
    return Graph(
        np.array(phases)[used],
        first,
        rank[head[order]],
        np.array([edges[e][2] for e in order]),
        [choices[edges[e][3]] for e in order],
    )


def _best(graph: Graph) -> tuple[RoundsPlayed, float]:
    """Return a best cycle, and a bound on the mean of every cycle."""
    from lastswitch.planning.optima.mean_cycle import bias_violation, howard

    label = np.arange(len(graph.target), dtype=np.int32)
    arrays = (graph.first.astype(np.int64), graph.target.astype(np.int32), label, graph.pay)
    state, choice, gain, bias = howard(*arrays, MAX_ITERATIONS)
    best = float(gain[state])
    rounds: list[tuple[int, ...]] = []
    while graph.phase[state]:  # a turn begins where periods are counted from
        state = int(graph.target[int(choice[state])])
    here = state
    while not rounds or here != state:
        rounds.append(graph.played[int(choice[here])])
        here = int(graph.target[int(choice[here])])
    # Parts of lower gain are shifted to be measured by their own; no edge leaves its part.
    shift = np.repeat(best - gain, np.diff(graph.first))
    lifted = (*arrays[:3], graph.pay + shift)
    return tuple(rounds), best + max(0.0, float(bias_violation(*lifted, best, bias)))


def _mean(bandit: Bandit, rules: list[Rule], rounds: RoundsPlayed) -> Fraction:
    """Return the mean of an endlessly repeated turn as an exact fraction."""
    from lastswitch.planning.optima.fractions import as_fraction

    total = Fraction(0)
    for arm, curve in enumerate(bandit.curves):
        slots = [t for t, arms in enumerate(rounds) if arm in arms]
        total += sum(
            (as_fraction(pull.pay) for pull in turn_pulls(curve, arm, slots, len(rounds))),
            Fraction(0),
        )
    empty = bandit.plays[1] * len(rounds) - sum(map(len, rounds))
    total += empty * as_fraction(bandit.silence)
    for rule in rules:
        wrong = sum(v.amount for v in violations(rule, rounds, repeats=True))
        total -= wrong * as_fraction(rule.cost or 0.0)
    return total / len(rounds)
