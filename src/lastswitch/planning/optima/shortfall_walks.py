"""The best total of many arms over a long horizon, without listing their joint states.

With debts as for cycles (:mod:`lastswitch.planning.optima.shortfall_cycles`), a proven average b =
L - δ and H the sum of the arms' biases, a schedule of T rounds from x to y earns

    b·T + H(x) - Q,   where Q = its debt, all shortfalls less δ a round, + H(y).

So a best one has the least Q. Let D(u) be the least debt with which any schedule from x reaches
the joint state u, whenever. What is still to come from u on is worth at least

- with N rounds to go or more: the deepest debt there is, and then what N rounds from anywhere can
  leave at best, which a block planned for that purpose says;
- with m < N rounds to go: such a block of m rounds, and what the arms leave if each goes on alone
  from its own state.

A state for which D and the less of these exceed some Q cannot be visited by a schedule better
than Q: the others are few, they are listed with the moves between them, and the best walk among
them (:mod:`lastswitch.planning.optima.walks`) is the best of all if its own Q is no larger.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.model.blocks import block_pays
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock
from lastswitch.planning.optima.joint_states import JointGraph
from lastswitch.planning.optima.shortfall import MOST_STATES, Shortfalls
from lastswitch.planning.optima.shortfall_cycles import SLICE, Average, Followed
from lastswitch.planning.problem import BlockProblem

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.planning.optima.shortfall_kernel import Limits

#: Rounds of the block that ends a schedule, and what share of the time, and seconds, its
#: bound may take.
END_ROUNDS, END_SHARE, END_SECONDS = 16, 0.2, 1.0
#: What share of the way from the least Q there can be to that of a first schedule is tried first.
FIRST_SHARE = 0.1
#: How much farther to go each time.
FARTHER = 1.5
#: When to give up: what is left to try is less than this share of what was done.
CLOSE = 0.05
#: From so many states on their number tells how it grows.
MANY = 1000
#: Up to so many states are searched for a better schedule only.
LOOSE_STATES = 200_000


class Total(NamedTuple):
    """A schedule, what it earns, what none exceeds, and how many joint states were listed."""

    block: tuple[int, ...]
    value: float
    bound: float
    states: int

    @property
    def proven(self) -> bool:
        """Whether no schedule earns more, up to rounding."""
        return self.bound <= self.value + rounding(self.value)


def search_total(
    bandit: Bandit,
    horizon: int,
    start: IntArray,
    average: Average,
    short: Shortfalls,
    limit: int,
    clock: Clock,
) -> Total:
    """Return the best schedule found with at most ``limit`` joint states, and a bound on all.

    The horizon has more than :data:`END_ROUNDS` rounds. Out of time, or on Ctrl-C, what is known
    by then.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.planning.optima.frequency import frequencies
    >>> from lastswitch.planning.optima.joint_states import group_arms
    >>> from lastswitch.planning.optima.shortfall import shortfalls
    >>> from lastswitch.planning.optima.shortfall_cycles import search_average
    >>> bandit, clock = ls.instances.pinwheel([2, 3, 5]), Clock(None)
    >>> short = shortfalls(group_arms(bandit), frequencies(bandit.curves), clock)
    >>> average = search_average(bandit, short, 1000, clock)
    >>> total = search_total(bandit, 100, bandit.start(), average, short, 1000, clock)
    >>> total.value, total.bound
    (87.0, 87.0)
    """
    search = _Search(bandit, horizon, start, average, short, limit)
    with clock.ending():
        search.run(clock)
    return search.found


class _Search:
    """The best schedule so far, and what is proven of all; numbers are in the unit of ``short``."""

    def __init__(
        self,
        bandit: Bandit,
        horizon: int,
        start: IntArray,
        average: Average,
        short: Shortfalls,
        limit: int,
    ) -> None:
        self.bandit, self.horizon, self.start, self.limit = bandit, horizon, start, limit
        self.short, self.average = short, average
        machines = short.arms.machines
        self.origin = [machines[arm].at(int(tau)) for arm, tau in enumerate(start)]
        self.allowance = (short.most - average.bound) / short.unit
        leads = [short.bias[g][self.origin[arm]] for arm, g in self._kinds()]
        #: What a schedule earns is this less its Q.
        self.height = horizon * average.bound / short.unit + math.fsum(leads)
        block = self.repeated(average.block)
        bound = horizon * max(machine_most(bandit), average.mean)
        self.found = Total(block, self.earned(block), bound, 0)

    def _kinds(self) -> list[tuple[int, int]]:
        """Return every arm with its group."""
        arms = self.short.arms
        of = np.repeat(np.arange(len(self.short.sizes)), np.diff(arms.groups)).tolist()
        return list(zip(arms.order, of, strict=True))

    def repeated(self, cycle: tuple[int, ...]) -> tuple[int, ...]:
        """Return the cycle over the horizon, begun with the round that suits the start best."""
        turns = [np.resize(np.roll(cycle, -k), self.horizon) for k in range(min(len(cycle), 64))]
        best: list[int] = max(turns, key=self.earned).tolist()
        return tuple(best)

    def earned(self, block: tuple[int, ...] | IntArray) -> float:
        """Return what a schedule pays from the start."""
        return float(block_pays(self.bandit, block, self.start).sum())

    def run(self, clock: Clock) -> None:
        """List the states of schedules up to a larger and larger Q, until there is no better."""
        unit = self.short.unit
        ends = self.ends(clock)
        least = float(ends[-1]) - self.average.deepest / unit
        self.lower(least)
        late = self.late(clock)
        reach, known = FIRST_SHARE * (self.height - self.found.value / unit - least), 0.0
        while not self.found.proven:
            clock.check()
            most = self.height - self.found.value / unit
            # A little more, so that a schedule as good as the best so far is among them.
            worst = min(least + reach, most + rounding(self.height))
            before = self.found.states
            bound = self.within(self.limits(worst, least, ends, late), worst, clock)
            if bound is None:
                reach = 0.5 * (known + min(reach, worst - least))
                if reach - known < CLOSE * known:
                    return
                continue
            self.lower(min(worst, self.height - max(bound, self.found.value) / unit))
            # Where more of them hardly means more states, all that is left can be had at once.
            all_ = MANY <= self.found.states < FARTHER * before
            reach, known = math.inf if all_ else FARTHER * reach, reach

    def lower(self, least: float) -> None:
        """Take note that no schedule has a smaller Q."""
        bound = (self.height - least) * self.short.unit
        self.found = self.found._replace(bound=max(min(self.found.bound, bound), self.found.value))

    def ends(self, clock: Clock) -> FloatArray:
        """Return what exactly m rounds, from anywhere, add to Q at least, for m to END_ROUNDS.

        Blocks from unknown states: the first pull of an arm pays what it can at best, less what
        the state is worth that it takes. Streaks begun before count as begun in the block, which
        no longer streak pays less than.
        """
        from lastswitch.planning.certified import solve

        unit, n_arms = self.short.unit, self.bandit.n_arms
        first, left = np.empty((n_arms, END_ROUNDS)), np.empty(n_arms)
        for arm, group in self._kinds():
            machine, bias = self.short.arms.machines[arm], self.short.bias[group] * unit
            clock.check()
            here = np.arange(len(machine))
            left[arm] = -bias.min()
            for k in range(END_ROUNDS):
                first[arm, k] = (np.array(machine.pay)[here] - bias).max() - left[arm]
                here = np.array(machine.on_idle)[here]
        plain = BlockProblem.from_bandit(self.bandit, END_ROUNDS, "unknown")
        size = float(np.abs(first).max()) * END_ROUNDS + float(np.abs(left).sum())
        part = clock.part(END_SHARE, most=END_SECONDS)
        most = [math.fsum(left)]
        for m in range(1, END_ROUNDS + 1):
            clock.check()
            problem = BlockProblem(plain.rest, plain.streak, first[:, :m])
            found = solve(problem, time_limit=part.part(1 / (END_ROUNDS + 1 - m)).limit)
            part.forgive(found.loading)
            most.append(found.bound + math.fsum(left) + rounding(size))
        paced = [m * self.average.bound for m in range(END_ROUNDS + 1)]
        ends: FloatArray = np.subtract(paced, most) / unit
        return ends

    def late(self, clock: Clock) -> FloatArray:
        """Return what every node adds to Q at least with m rounds to go, for all m < END_ROUNDS.

        Less the allowance of m rounds.
        """
        short = self.short
        late = np.full((END_ROUNDS, int(short.begins[-1])), math.inf)
        for group, bias in enumerate(short.bias):
            clock.check()
            machine = short.arms.machines[short.arms.order[short.arms.groups[group]]]
            earns = (np.array(machine.pay) - short.price) / short.unit
            pull, idle, alone = np.array(machine.on_pull), np.array(machine.on_idle), 0.0 * bias
            for m in range(END_ROUNDS):
                nodes = slice(short.begins[group], short.begins[group] + len(machine))
                late[m, nodes] = bias + m * short.gains[group] - alone
                alone = np.maximum(earns + alone[pull], alone[idle])
        return late

    def within(self, limits: Limits, worst: float, clock: Clock) -> float | None:
        """Find the best schedule whose Q is below ``worst``; return a bound on all of these.

        None if they visit too many states.
        """
        followed = Followed(self.short, self.short.arms.sorted(self.origin), limits)
        known = self.found.value, self.found.bound
        if not followed.run(self.limit, clock, known) or followed.cycle is not None:
            return None
        self.found = self.found._replace(states=len(followed))
        plays = _plays(followed, clock)
        through = plays.debt + plays.to_come(self.worths(followed), clock)
        bound, real = self.walk(plays.only(through < worst), worst, clock)
        most = self.height - self.found.value / self.short.unit
        few = int((through < most).sum()) <= LOOSE_STATES
        if not real and few:  # one that is better than the best so far may be there
            self.walk(plays.only(through < most), most, clock)
        return bound

    def walk(self, plays: _Plays | None, most: float, clock: Clock) -> tuple[float, bool]:
        """Find the best schedule among these plays; return a bound, and whether there is one."""
        from lastswitch.planning.optima.walks import best_walk

        if plays is None:
            return -math.inf, False
        graph = self.graph(plays, most)
        walk = best_walk(graph, self.horizon, clock)
        if len(graph.arms.pay) - 1 in walk.labels:
            return max(walk.bound, float(graph.arms.pay[walk.labels].sum())), False
        block = walk.arms(graph)
        value = self.earned(block)
        if value > self.found.value:
            self.found = self.found._replace(block=block, value=value)
        return max(walk.bound, value), True

    def worths(self, followed: Followed) -> FloatArray:
        """Return H of every state followed."""
        bias = np.zeros(int(self.short.begins[-1]))
        for part, (begin, size) in zip(self.short.bias, self._states(), strict=True):
            bias[begin : begin + size] = part
        worth = np.zeros(len(followed))
        for k, begin in enumerate(self.short.moves.at.tolist()):
            worth += bias[begin : begin + MOST_STATES][followed.labels.states[: len(followed), k]]
        return worth

    def limits(self, worst: float, least: float, ends: FloatArray, late: FloatArray) -> Limits:
        """Return which states a schedule with a Q below ``worst`` can visit."""
        from lastswitch.planning.optima.shortfall_kernel import Limits

        most, late_debt = worst - least, worst - ends[:-1]
        late_most: FloatArray = worst + self.allowance * np.arange(END_ROUNDS, dtype=np.float64)
        lows = [late[:, b : b + n].min(axis=1) for b, n in self._states()]
        counts = np.diff(self.short.arms.groups)
        lowest = np.sum([count * low for count, low in zip(counts, lows, strict=True)], axis=0)
        never = max(most, float(np.minimum(late_debt, late_most - lowest).max()))
        return Limits(self.allowance, most, late, late_debt, late_most, never)

    def _states(self) -> list[tuple[int, int]]:
        """Return where the states of each group begin among the nodes, and how many they are."""
        return list(zip(self.short.begins.tolist(), self.short.sizes.tolist(), strict=False))

    def graph(self, plays: _Plays, most: float) -> JointGraph:
        """Return the states and plays as a graph of joint states.

        Where schedules end there may be no play left: from there a move back to the start that
        costs more than any schedule worth looking for can make good.
        """
        short, arms = self.short, self.short.arms
        span = sum(float(np.ptp(short.bias[group])) for _, group in self._kinds())
        cost = abs(most) + span + 2 * (self.average.deepest / short.unit + abs(self.allowance))
        nodes = plays.node.astype(np.int64)
        group = short.group_of(nodes)
        label = nodes - short.begins[group] + arms.offset[group]
        none = np.diff(plays.first) == 0
        where = plays.first[:-1][none]
        first = plays.first.copy()
        first[1:] += np.cumsum(none)
        return JointGraph(
            arms=replace(arms, pay=np.append(arms.pay, -(cost + 2.0) * short.unit)),
            origin=self.origin,
            states=plays.states,
            first=first,
            target=np.insert(plays.target, where, 0).astype(np.int32),
            label=np.insert(label, where, len(arms.pay)).astype(np.int32),
        )


class _Plays(NamedTuple):
    """States, the least debt each is reached with, and the plays between them.

    State u's are ``first[u]:first[u + 1]``: where they lead, which node they play, and what they
    add to a debt.
    """

    states: NDArray[np.int16]
    debt: FloatArray
    first: IntArray
    target: NDArray[np.int32]
    node: NDArray[np.int32]
    owed: FloatArray

    def to_come(self, worth: FloatArray, clock: Clock) -> FloatArray:
        """Return what schedules from every state on add to Q at least; ``worth`` is its H.

        With m rounds to go a state adds at least what its plays do and what then comes with one
        round less; with END_ROUNDS or more, with any number less.
        """
        from lastswitch.planning.optima.shortfall_kernel import one_more_round

        edges = (self.first, self.target, self.owed)
        at_least, to_come = worth.copy(), worth
        for _ in range(END_ROUNDS):
            clock.check()
            earlier = np.full(len(worth), math.inf)
            one_more_round(*edges, to_come, earlier)
            to_come = earlier
            np.minimum(at_least, to_come, out=at_least)
        while one_more_round(*edges, to_come, to_come):
            clock.check()
        np.minimum(at_least, to_come, out=at_least)
        return at_least

    def only(self, kept: BoolArray) -> _Plays | None:
        """Return the ``kept`` states with the plays between them; None without the first."""
        if not kept[0]:
            return None
        number = np.cumsum(kept) - 1
        begins = np.repeat(np.arange(len(kept)), np.diff(self.first))
        plays = kept[begins] & kept[self.target]
        counts = np.bincount(number[begins[plays]], minlength=int(kept.sum()))
        return _Plays(
            states=self.states[kept],
            debt=self.debt[kept],
            first=np.concatenate([[0], np.cumsum(counts)]),
            target=number[self.target[plays]].astype(np.int32),
            node=self.node[plays],
            owed=self.owed[plays],
        )


def _plays(followed: Followed, clock: Clock) -> _Plays:
    """Return the states followed and the plays between them."""
    from lastswitch.planning.optima.shortfall_kernel import plays_between

    count, n_arms = len(followed), len(followed.short.moves.at)
    first, plays = np.zeros(count + 1, dtype=np.int64), 0
    parts: list[tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]] = []
    rows = max(1, SLICE // n_arms)
    tables = followed.short.moves, followed.limits.allowance, followed.labels
    for low in range(0, count, rows):
        clock.check()
        high = min(low + rows, count)
        target, node = (np.empty((high - low) * n_arms, dtype=np.int32) for _ in range(2))
        owed = np.empty((high - low) * n_arms)
        more = int(plays_between(*tables, low, high, target, node, owed, first))
        first[low + 1 : high + 1] += plays
        plays += more
        parts.append((target[:more].copy(), node[:more].copy(), owed[:more].copy()))
    target, node, owed = (np.concatenate(part) for part in zip(*parts, strict=True))
    labels = followed.labels
    return _Plays(labels.states[:count], labels.debt[:count], first, target, node, owed)


def machine_most(bandit: Bandit) -> float:
    """Return the largest pay of any arm."""
    return max(max(*curve.rest, *curve.streak) for curve in bandit.curves)
