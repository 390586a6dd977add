"""One run of the certified solver: the incumbent, the bound, and the clock.

Prices first, then a beam that widens; where the beam alone does not close the gap, machines that
claim the same slots are taken together before the next, wider pass.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from typing import NoReturn

import numpy as np

from lastswitch._kernels import announce
from lastswitch.errors import ProblemError
from lastswitch.planning import products
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import Automata, block_automata
from lastswitch.planning.beam import Beam, advance
from lastswitch.planning.bundle import Bundle
from lastswitch.planning.fixing import fixed
from lastswitch.planning.lineup import Lineup
from lastswitch.planning.machines import Machines, as_machines, compact, minimal
from lastswitch.planning.neighbourhood import Neighbourhoods
from lastswitch.planning.params import SearchParams
from lastswitch.planning.plan import Tell
from lastswitch.planning.prices import Prices, best_pays
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.tiny import VISIBLE

#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: What to take of it where that much would show: as much as an addition or two may differ by.
SHARP = 1 / 64
#: What a state of a product, and a try of some arms, cost in states swept.
PAIR_WORK, TRY_WORK = 30, 60_000
_PROBLEM = BlockProblem([[0.5]] * 2, [[0.1]] * 2, [[0.2, 0.3]] * 2)


@functools.lru_cache(maxsize=1)
def ready() -> None:
    """Compile the kernels of every search, or load them, before any clock starts."""
    announce("planning", advance)
    prices = Prices(_example())
    fixed(prices, -math.inf)
    Beam(prices.machines, np.arange(2), 1, prices.worth, prices.price).run(-math.inf, 1)


@functools.lru_cache(maxsize=1)
def ready_to_grow() -> None:
    """Compile or load what only searches that are not over soon need."""
    prices = Bundle(_example())
    prices.descend(0.0, 1)
    products.rivals(prices, None, 0.0, 100)
    products.merged(prices, 0, 1, 1, -math.inf, 100)
    automata = block_automata(_PROBLEM)
    price, claims = np.zeros(automata.length), np.zeros((automata.n_arms, automata.length))
    Neighbourhoods(automata).improved(np.array([0, 1]), price, claims, 0.0)


def _example() -> Machines:
    """Return some machines, the smallest that all kernels can work on."""
    machines = compact(block_automata(_PROBLEM))
    assert machines is not None
    return machines


class Search:
    """The state of one search; after :meth:`run`, its result.

    Parameters
    ----------
    automata
        The arms.
    gap
        Good enough: (bound - value) <= gap * |value|.
    time_limit
        Seconds, or None.
    progress
        Called now and then with (seconds so far, best value, bound), or None.
    beat
        Only blocks worth more than this are looked for.
    params
        The constants of the search.
    """

    def __init__(
        self,
        automata: Automata,
        gap: float,
        time_limit: float | None,
        progress: Tell | None,
        beat: float,
        params: SearchParams,
    ) -> None:
        self.automata, self.gap, self.progress, self.params = automata, gap, progress, params
        self.began = self.told = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.block: IntArray | None = None
        self.value, self.bound = beat, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
        self._pays: list[FloatArray] = []
        self._plain = False  # whether the machines may have states that no block visits
        self.lineup: Lineup | None = None
        self.work = 0  # states swept and nodes expanded: a clock that ticks alike everywhere

    def offer(self, block: IntArray) -> None:
        """Make ``block`` the incumbent if it is better."""
        value = self.automata.value(block)
        if value > self.value:
            self.block, self.value = block, value

    def run(self, price: FloatArray | None = None) -> None:
        """Search until proven, good enough, or out of time or memory."""
        with contextlib.suppress(_Done):
            self._run(price)

    @property
    def answered(self) -> bool:
        """Whether there is something to answer: a block, or that none beats what was to beat."""
        return self.value > -math.inf

    def reported_bound(self) -> float:
        """Return the bound: the value itself where they differ by rounding that nobody sees.

        Blocks better by less than the rounding were not looked for, so a bound that says they do
        not exist would be wrong where such a difference counts.
        """
        if self.bound == math.inf:  # stopped before there were prices
            self._lower(None, self._plain_bound())
        if self.bound > self.value + self.rounding:
            return self.bound
        return self.value + self.rounding if self._blurred else self.value

    @property
    def floor(self) -> float:
        """What a block has to beat to be worth finding."""
        if not self.answered:
            return -math.inf
        # Pays too bad for any good block blur the sums until their arcs are deleted.
        rounding = SHARP * self.rounding if self._blurred else self.rounding
        return self.value + max(rounding, self.gap * abs(self.value))

    def _floor(self, lineup: Lineup) -> float:
        """Return what a block of this lineup has to beat to be worth finding."""
        return max(self.floor, lineup.aim)

    def _give_up(self, lineup: Lineup) -> float:
        """Return that, and remember that blocks up to it are no longer looked for."""
        floor = self._floor(lineup)
        lineup.settled = max(lineup.settled, floor)
        return floor

    def _run(self, price: FloatArray | None) -> None:
        params = self.params
        lineup = self._begin(price)
        width, work, depth = params.narrow, 0, lineup.machines.length
        single = None  # the lineup before arms were paired
        while width * depth**2 < params.widen * params.hard_from:
            lineup.prices.slow_down(params.more_theta)
            self._descend(lineup, params.more_steps)
            if width * depth >= params.pair_from:
                single = single or lineup.copy()
                self._pair(lineup, int(params.pair_size * width * depth))
            work = self._pass(lineup, width)
            width *= params.widen
        self._ready_for_more()
        lineup = self.lineup = (single or lineup).bundled()
        self._descend(lineup, params.bundle_steps)
        self._trim(lineup)
        hard = params.grow_from[lineup.machines.length * self.automata.n_arms > params.large]
        while True:
            self._plan_anew(lineup)
            if work >= hard:
                limit = min(params.merge_most, int(params.merge_size * work))
                self._grow(lineup, limit)
                self._aim(lineup, limit)
            work = self._pass(lineup, width)
            width *= params.widen

    def _pass(self, lineup: Lineup, width: int) -> int:
        """Run a beam as wide as memory allows; return how much work that was."""
        n, d = len(lineup.members), lineup.machines.length
        widest = max(1, self.params.most_memory // Beam.bytes_per_node(n, d, self.params))
        self._beam(lineup, min(width, widest))
        if width >= widest:
            if not self.answered:
                raise ProblemError("no block was found that gives every slot to one arm.")
            raise _Done
        self._trim(lineup)
        return width * d * n

    def _plain_bound(self) -> float:
        """Return the best pay of each slot and the best end of each arm, summed up."""
        a, end = self.automata, self.automata.offset[-2]
        pays = np.where(a.pull[:end] >= 0, a.pay[:end], -np.inf)
        best = np.maximum.reduceat(pays, a.offset[:-2])
        return float(best.sum()) + a.n_arms * float(a.final.max())

    def _machines(self) -> Machines:
        """Return the machines to begin with: minimal, unless it may be over sooner than that."""
        a, end = self.automata, self.automata.offset[-2]
        if len(a.idle) > self.params.states_per_second * (self.deadline - time.perf_counter()):
            self.deadline = -math.inf  # no time for this many: a greedy block is the answer
        self._pause()
        small = a.length * a.n_arms <= self.params.large
        if small and min(a.idle[:end].min(), a.pull[:end].min()) >= 0:
            self._plain = True
            return as_machines(a)  # nothing is forbidden, so there are no dead ends
        machines = compact(a, self._pause)
        if machines is None:
            raise ProblemError("some arm can neither idle nor be pulled to the end of the block.")
        return machines

    def _measure(self, machines: Machines) -> None:
        """Say how much sums of the pays that are left may differ by rounding alone."""
        self._pays = [part for part in (machines.gain, machines.final) if len(part)]
        largest = max(max(part.max(), -part.min()) for part in self._pays)
        self.rounding = ROUNDING * machines.length * float(largest)

    def _sharpen(self) -> None:
        """Measure again, where it matters, without the pays of states that no block visits."""
        if self._plain and self.answered and self._blurred:
            machines = compact(self.automata)
            if machines is not None:
                self._measure(machines)
        self._plain &= not self.answered

    @property
    def _blurred(self) -> bool:
        """Whether pays so large are left that rounding may show: in the value, or in a pay."""
        if self.rounding <= VISIBLE * abs(self.value):
            return False
        sizes = np.abs(np.concatenate(self._pays))
        return self.rounding > VISIBLE * float(sizes.min(where=sizes > 0.0, initial=math.inf))

    def _lower(self, lineup: Lineup | None, bound: float) -> None:
        """Take note of a bound on every block that the lineup has not given up."""
        given_up = -math.inf if lineup is None else lineup.settled
        self.bound = min(self.bound, max(bound, self.value, given_up))

    def _check(self, lineup: Lineup | None) -> None:
        """Stop if there is nothing left to find, or no time to find it; report progress."""
        now = time.perf_counter()
        if not self.answered:
            if now <= self.deadline:
                return
            block = self.automata.greedy()
            if block is None:
                return  # no answer yet: go on, whatever the clock says
            self.offer(block)
        if self.progress is not None and now > self.told + self.params.tell_every:
            self.told = now
            self.progress(now - self.began, self.value, self.bound)
        settled = -math.inf if self.lineup is None else self.lineup.settled
        if self.bound <= max(self.floor, settled) or now > self.deadline:
            raise _Done
        if lineup is not None and self.bound <= lineup.settled:
            raise _Reached

    def _nothing_left(self, lineup: Lineup) -> NoReturn:
        """Take note that no block beats what the lineup has given up, and stop."""
        self._lower(lineup, -math.inf)
        raise _Done if lineup.aim <= self.floor else _Reached

    def _pause(self) -> None:
        """Look at the clock in the middle of something."""
        self._check(None)

    def _begin(self, price: FloatArray | None) -> Lineup:
        """Return the arms with good prices, and find a first incumbent on the way."""
        # Twins next to each other, as the beam wants them.
        order = np.argsort(self.automata.twins, kind="stable")
        machines = self._machines()
        machines = machines._replace(root=machines.root[order])
        self._measure(machines)
        self._sharpen()
        fits = price is not None and len(price) == machines.length
        params, best = self.params, best_pays(machines)
        if not fits:
            # With more arms than slots, everyone claims too much at less than the best pay.
            share = params.first_share if len(machines.root) <= machines.length else 1.0
            price = share * best
        members = [[int(arm)] for arm in order]
        prices = Prices(machines, price, params=params)
        lineup = self.lineup = Lineup(prices, members, self.automata.twins[order])
        # No bound is worse than this one: the best pay of each slot, the best end of each machine.
        self._lower(lineup, float(best.sum()) + len(members) * float(machines.final.max()))
        self._adopt(lineup)
        if fits:
            prices.slow_down(params.warm_theta)
        self._beam(lineup, params.scout)
        for steps in params.steps:  # a better incumbent makes better steps
            self._descend(lineup, steps)
            self._beam(lineup, params.scout)
            self._trim(lineup)
        return lineup

    def _adopt(self, lineup: Lineup) -> None:
        """Make these the prices to report, and take note of their bound."""
        self.price = lineup.prices.price
        self._lower(lineup, lineup.prices.bound)
        self._check(lineup)

    def _descend(self, lineup: Lineup, steps: int) -> None:
        """Improve the prices, looking at the clock now and then."""
        prices = lineup.prices
        at_once = max(1, 4 * self.params.slice // len(prices.worth))
        target = max(self.value, lineup.aim)
        if not self.answered:  # nothing to aim at yet: something a little lower
            target = prices.bound - 0.1 * max(abs(prices.bound), float(np.abs(prices.price).sum()))
        self.work += steps * len(prices.worth)
        while steps > 0 and not prices.exhausted:
            prices.descend(target, min(steps, at_once))
            self._lower(lineup, prices.bound)
            self._check(lineup)
            steps -= at_once

    def _trim(self, lineup: Lineup, less: float | None = None) -> None:
        """Delete the arcs that cannot improve on the incumbent.

        Does nothing if the bound and the incumbent are about those of the last time, the distance
        between the two not having shrunk to ``less`` of what it was.
        """
        less = self.params.trim_again if less is None else less
        slack = lineup.prices.bound - self._floor(lineup)
        if slack > less * lineup.slack:
            return
        lineup.slack = slack
        machines = fixed(lineup.prices, self._give_up(lineup), self._pause)
        if machines is None:
            self._nothing_left(lineup)
        if self._blurred:
            self._measure(machines)
        elif machines.size > self.params.trim_again * lineup.machines.size:
            return
        lineup.exchange(machines)
        self._adopt(lineup)

    def _pair(self, lineup: Lineup, limit: int) -> None:
        """Take machines that claim the same slots together in pairs, of ``limit`` states in all.

        Less than growing one product does, but in no time.
        """
        params = self.params
        self._ready_for_more()
        limit = min(limit, int(params.pair_growth * len(lineup.machines.idle)))
        taken, failed = set(), 0
        for arm, rival in products.pairs(lineup.prices.claims, lineup.members, params):
            if arm in taken or rival in taken:
                continue
            heads = [arms[0] for arms in lineup.members]
            try:
                before = len(lineup.machines.idle)
                self._join(lineup, heads.index(arm), heads.index(rival), limit)
            except products.TooLarge:
                failed += 1
                if failed == params.pair_tries:
                    break
                continue
            taken |= {arm, rival}
            limit -= max(0, len(lineup.machines.idle) - before)
        if taken:
            lineup.prices.restart(params.pair_theta)
            self._descend(lineup, params.pair_steps)
            self._trim(lineup, math.inf)

    def _join(self, lineup: Lineup, one: int, other: int, limit: int) -> None:
        """Put the product of two machines in their place."""
        size, floor = len(lineup.members[one]), self._give_up(lineup)
        machines = products.merged(lineup.prices, one, other, size, floor, limit, self._pause)
        if machines is None:
            self._nothing_left(lineup)
        self.work += PAIR_WORK * len(machines.idle)
        lineup.join(one, other, machines)
        if len(lineup.members) == 1:
            self._finish(lineup)
        self._adopt(lineup)

    def _grow(self, lineup: Lineup, limit: int) -> None:
        """Take one machine after the other into a product, as long as it stays below ``limit``."""
        params = self.params
        while len(lineup.members) > 1:
            floor = self._floor(lineup)
            both = products.rivals(lineup.prices, lineup.cluster, floor, limit, params)
            if both is None:
                return
            try:
                self._join(lineup, *both)
            except products.TooLarge:
                self._pause()
                return
            self._shrink(lineup)

    def _shrink(self, lineup: Lineup) -> None:
        """Improve the prices after a product, deleting arcs as soon as that is worth it."""
        params = self.params
        for _ in range(params.merge_rounds[len(lineup.prices.worth) > params.merge_large]):
            self._descend(lineup, params.merge_steps)
            self._trim(lineup, params.merge_trim)
            if lineup.prices.exhausted:
                break
        states = len(lineup.prices.worth)
        if states > params.merge_beam:
            self._beam(lineup, params.narrow + states // 100)
            self._trim(lineup, params.merge_trim)

    def _finish(self, lineup: Lineup) -> None:
        """With all arms in one machine, it may not idle, and its best path is the answer."""
        m = lineup.machines
        last = np.arange(m.lo[-1], m.hi[-1])
        idle = np.full_like(m.idle, -1)
        idle[last] = m.idle[last]
        machines = minimal(m._replace(idle=idle), self._pause)
        if machines is None:
            self._nothing_left(lineup)
        lineup.exchange(machines)
        self._lower(lineup, lineup.prices.bound)
        self._beam(lineup, 1)

    def _aim(self, lineup: Lineup, limit: int) -> None:
        """Prove that nothing is much better than the incumbent, which takes smaller products.

        Only where time is short, and the bound all that can be hoped for. What is deleted on the
        way holds above the aim alone, so it is done on a copy.
        """
        if math.isinf(self.deadline) or self._blurred or not self.answered:
            return
        share = self.params.aim_share
        while self.bound - self.value > self.params.aim_gap * abs(self.value):
            aim = self.value + share * (self.bound - self.value)
            share *= self.params.aim_bolder
            copy = lineup.bundled(aim)
            try:
                self._trim(copy, math.inf)
                self._grow(copy, limit)
            except _Reached:
                continue
            return

    def _plan_anew(self, lineup: Lineup) -> None:
        """Plan a few arms at a time anew, until that fails as often as there are arms.

        At most as much work as everything before: where the incumbent is the best block, all of
        this is in vain.
        """
        if self._blurred or not self.answered or self.block is None:
            return
        failures, most, claims = 0, 2 * self.work, lineup.arm_claims()
        while failures < self.params.free_tries * self.automata.n_arms and self.work < most:
            better, work = self._around.improved(
                self.block, lineup.prices.price, claims, self.rounding
            )
            self.work += TRY_WORK + work
            failures += 1
            if better is not None:
                before = self.value
                self.offer(better)
                failures = 0 if self.value > before else failures
            self._check(lineup)
        self._trim(lineup)

    @functools.cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods(self.automata, self.params)

    def _ready_for_more(self) -> None:
        """Compile or load what easy problems do not need; that costs no time of the caller's."""
        began = time.perf_counter()
        ready_to_grow()
        self.deadline += time.perf_counter() - began

    def _beam(self, lineup: Lineup, width: int) -> None:
        """Run one pass of the beam and take its block and its bound."""
        prices = lineup.prices
        beam = Beam(
            *(prices.machines, lineup.twins, width, prices.worth, prices.price, self.params)
        )
        floor = self._give_up(lineup)
        while not beam.run(floor, self.params.slice):
            self._lower(lineup, beam.open_bound())
            self._check(lineup)
        self.work += width * prices.machines.length * len(lineup.members)
        value, node = beam.best()
        if value > self.value:
            way = zip(*beam.way_to(node), strict=True)
            self.block, self.value = np.array([lineup.members[i][j] for i, j in way]), value
        elif not self.answered and beam.dropped == -math.inf:
            raise ProblemError("no block gives every slot to exactly one arm.")
        self._sharpen()
        self._lower(lineup, beam.dropped)
        self._check(lineup)


class _Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""


class _Reached(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """Nothing is better than what was aimed at."""
