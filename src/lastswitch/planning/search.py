"""One run of the certified solver: what is tried, and in which order.

Most problems are soon over: subgradient prices, a beam that widens a few times, arms that claim
the same slots taken together in pairs. For what is then still open the prices are moved by a
bundle method, better blocks come from planning a few arms anew, and the bound from one product
that takes in arm after arm, while arcs that no better block can use are deleted. With a time limit
the same is tried for a lower aim, too: that nothing is much better than the incumbent. With very
many arms that comes first.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch.errors import ProblemError
from lastswitch.planning import products, stages
from lastswitch.planning.beam import Beam
from lastswitch.planning.charges import charge_of_others
from lastswitch.planning.fixing import fixed
from lastswitch.planning.improving import Improving
from lastswitch.planning.lineup import Lineup
from lastswitch.planning.machines import Machines, as_machines, compact, minimal
from lastswitch.planning.prices import Prices, best_pays
from lastswitch.planning.record import Done, Reached

#: What a state of a product costs in states swept.
PAIR_WORK = 30
#: Bytes that a pair of states takes while a product is made of them, and that a state of it takes.
PAIR_BYTES, STATE_BYTES = 36, 200


class Search(Improving):
    """A search; after :meth:`run`, the record of what it found. Parameters are those of a record.

    Examples
    --------
    >>> from lastswitch.planning.params import DEFAULT
    >>> from lastswitch.planning.automata import block_automata
    >>> search = Search(block_automata(stages.EXAMPLE), 0.0, None, None, -math.inf, DEFAULT)
    >>> search.run()
    >>> search.value, search.bound
    (0.5, 0.5)
    """

    def run(self, price: FloatArray | None = None) -> None:
        """Search until proven, good enough, or out of time or memory."""
        with contextlib.suppress(Done):
            self._run(price)

    def _run(self, price: FloatArray | None) -> None:
        """Begin with what proves most problems, and go on with what proves the others."""
        params = self.params
        lineup, width = self._begin(price)
        single, d = None, lineup.machines.length
        while width * d**3 < params.hard_from:
            lineup.prices.slow_down(params.more_theta)
            self._descend(lineup, params.more_steps)
            if width * d * len(lineup.members) >= params.pair_from:
                single = single or lineup.copy()
                self._pair(lineup, int(params.pair_size * width * d))
            self._pass(lineup, width)
            width *= params.widen
        self._go_on(single or lineup, width)

    def _go_on(self, lineup: Lineup, width: int) -> None:
        """Better prices, better blocks and a growing product, then a wider beam, for ever."""
        params, d = self.params, lineup.machines.length
        self._load(stages.ready_to_grow)
        lineup = self.lineup = lineup.bundled()
        self._descend(lineup, params.bundle_steps)
        self._trim(lineup)
        self.guide = lineup.prices.price.copy(), lineup.arm_claims()
        self.plan_anew(lineup)
        most = min(params.merge_most, params.most_memory // PAIR_BYTES)
        if self.large and self.hurried:
            self._pass(lineup, width)
            self._close_in(lineup, most, params.close_gap)
        elif self.hurried and self.automata.n_arms * d > params.close_size:
            self._trim(lineup)
            self._grow(lineup, params.close_after)
            self._close_in(lineup, most, params.close_gap)
        least, tried = params.grow_from[self.large], None
        while True:
            self._trim(lineup)
            work = width // params.widen * d * len(lineup.members)
            limit = min(most, int(params.merge_size * work))
            if work >= least and tried != (limit, self.value):
                tried = limit, self.value
                self._grow(lineup, limit)
                if self.left() < params.merge_left * limit:  # no time for such a product again
                    self._close_in(lineup, limit, params.aim_gap)
            widest = self._widest(lineup)
            if width >= widest and self.hurried:  # all that is left to try
                self._close_in(lineup, most, params.aim_gap)
            if self.left() < min(width, widest) * d * len(lineup.members):
                self.walk(lineup, 1.0)
            self._pass(lineup, width)
            width *= params.widen
            self.plan_anew(lineup)

    def _close_in(self, lineup: Lineup, most: int, until: float) -> None:
        """Better the block and lower the bound in turn, where a proof is mostly out of reach.

        Products prove that nothing is much better than the incumbent: each time a share of the gap
        is left, as long as there is time for that, and until the gap is small.
        """
        params, large = self.params, self.large
        limit, spent = params.close_from[large], 0
        while self.bound - self.value > until * abs(self.value):
            known = self.value, self.bound
            self.walk(lineup, params.close_walk[large])
            share = (spent / max(self.left(), 1.0)) ** params.aim_pace  # what there is time for
            if share > params.aim_most:
                self.walk(lineup, 1.0)
            self._trim(lineup)
            share = max(params.aim_share[large], share)
            before = self.work
            self._aim(lineup, self.value + share * (self.bound - self.value), min(limit, most))
            spent, limit = self.work - before, 2 * limit
            if known == (self.value, self.bound):
                return

    def _pass(self, lineup: Lineup, width: int) -> None:
        """Run a beam as wide as memory allows, and delete what it showed to be hopeless."""
        widest = self._widest(lineup)
        self._beam(lineup, min(width, widest))
        if width >= widest:
            if not self.answered:
                raise ProblemError("no block was found that gives every slot to one arm.")
            raise Done
        self._trim(lineup)

    def _widest(self, lineup: Lineup) -> int:
        """Return how wide a beam memory allows."""
        n, d = len(lineup.members), lineup.machines.length
        return max(1, self.params.most_memory // Beam.bytes_per_node(n, d, self.params))

    def _machines(self) -> tuple[Machines, FloatArray, float]:
        """Return the machines to begin with, the best pay of each slot, and the best end.

        They are minimal, unless it may be over sooner than that.
        """
        a = self.automata
        if len(a.idle) > self.params.states_per_second * (self.deadline - time.perf_counter()):
            self.deadline = -math.inf  # no time for this many: a greedy block is the answer
        self.pause()
        if a.length * a.n_arms <= self.params.large:
            facts = a.facts if len(a.facts) else a.survey()
            if facts[-1] == 0.0:
                self._plain = self._free = True
                self._load(stages.ready_to_hurry)
                plain = as_machines(a)  # nothing is forbidden, so there are no dead ends
                self.measure(plain, facts.item(-2))
                return plain, facts[:-3], facts.item(-3)
        self._load(stages.ready_to_widen)
        machines = compact(a, self.pause)
        if machines is None:
            raise ProblemError("some arm can neither idle nor be pulled to the end of the block.")
        self.measure(machines)
        return machines, best_pays(machines), float(machines.final.max())

    def _sharpen(self) -> None:
        """Measure again, where it matters, without the pays of states that no block visits."""
        if self._plain and self.answered and self.blurred:
            machines = compact(self.automata)
            if machines is not None:
                self.measure(machines)
        self._plain &= not self.answered

    def _begin(self, price: FloatArray | None) -> tuple[Lineup, int]:
        """Return the arms with good prices, a first incumbent found on the way, and a width."""
        machines, best, end = self._machines()
        params, twins = self.params, self.automata.twins.copy()
        members, labels = [[arm] for arm in range(len(twins))], twins.tolist()
        if sorted(labels) != labels:  # twins next to each other, as the beam wants them
            order = np.argsort(twins, kind="stable")
            machines, twins = machines._replace(root=machines.root[order]), twins[order]
            members = [[arm] for arm in order.tolist()]
        self._sharpen()
        fits = price is not None and len(price) == len(best)
        if not fits:
            # With more arms than slots, everyone claims too much at less than the best pay.
            price = best * (params.first_share if len(members) <= len(best) else 1.0)
        prices = Prices(machines, price, params=params)
        lineup = self.lineup = Lineup(prices, members, twins)
        # No bound is worse than this one: the best pay of each slot, the best end of each machine.
        self.lower(lineup, float(np.add.reduce(best)) + len(members) * end)
        self._adopt(lineup)
        if fits:
            prices.slow_down(params.warm_theta)
        if self._free:
            return lineup, self._hurry(lineup)
        self._beam(lineup, params.scout)
        for steps in params.steps:  # a better incumbent makes better steps
            self._descend(lineup, steps)
            self._beam(lineup, params.scout)
            self._trim(lineup)
        return lineup, params.narrow

    def _hurry(self, lineup: Lineup) -> int:
        """Do the same, and the first passes, with few deletions or none: it may be over.

        Return the next width.
        """
        params = self.params
        large = lineup.machines.size >= params.trim_from
        beam = self._beam(lineup, params.scout)
        for more, steps in enumerate(params.steps, 1 - len(params.steps)):
            self._descend(lineup, steps)
            if more or large:  # else the first pass is next, and finds as much
                self._beam(lineup, params.scout, beam=beam)
        if large:
            self._load(stages.ready_to_widen)
            self._trim(lineup)
        width, nodes = params.narrow, lineup.machines.length * len(lineup.members)
        for _ in range(2):
            lineup.prices.slow_down(params.more_theta)
            self._descend(lineup, params.more_steps)
            self._beam(lineup, width)
            width *= params.widen
            if width * nodes >= params.pair_from:
                break
        self._load(stages.ready_to_widen)
        self._trim(lineup)
        return width

    def _adopt(self, lineup: Lineup) -> None:
        """Make these the prices to report, and take note of their bound."""
        self.price = lineup.prices.price
        self.lower(lineup, lineup.prices.bound)
        self.check(lineup)

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
            self.lower(lineup, prices.bound)
            self.check(lineup)
            steps -= at_once

    def _trim(self, lineup: Lineup, less: float | None = None) -> None:
        """Delete the arcs that cannot improve on the incumbent.

        Does nothing if the bound and the incumbent are about those of the last time, the distance
        between the two not having shrunk to ``less`` of what it was.
        """
        less = self.params.trim_again if less is None else less
        slack = lineup.prices.bound - self.floor_of(lineup)
        if slack > less * lineup.slack:
            return
        lineup.slack = slack
        rounding = self.rounding if self.charging(lineup) else None
        machines = fixed(lineup.prices, self.give_up(lineup), self.pause, rounding)
        if machines is None:
            self.nothing_left(lineup)
        if self.blurred:
            self.measure(machines)
        elif machines.size > self.params.trim_again * lineup.machines.size:
            return
        lineup.exchange(machines)
        self._adopt(lineup)

    def _pair(self, lineup: Lineup, limit: int) -> None:
        """Take machines that claim the same slots together in pairs, of ``limit`` states in all.

        Less than growing one product does, but in no time.
        """
        params = self.params
        self._load(stages.ready_to_pair)
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
        size, floor, prices = len(lineup.members[one]), self.give_up(lineup), lineup.prices
        rounding = self.rounding if self.charging(lineup) else None
        charge = charge_of_others(prices, one, other, floor, rounding)
        room = limit, self.params.most_memory // STATE_BYTES
        machines = products.merged(prices, one, other, size, floor, room, self.pause, charge)
        if machines is None:
            self.nothing_left(lineup)
        self.work += PAIR_WORK * len(machines.idle)
        lineup.join(one, other, machines)
        if len(lineup.members) == 1:
            self._finish(lineup)
        self._adopt(lineup)

    def _grow(self, lineup: Lineup, limit: int) -> None:
        """Take one machine after the other into a product, as long as ``limit`` pairs will do."""
        params = self.params
        while len(lineup.members) > 1:
            value = self.value
            # Most aims take so long that the next one should know of a better block.
            aiming = lineup.aim > -math.inf and not self.large
            self.walk(lineup, params.close_walk[self.large] if aiming else None)
            if self.value > value:
                self._trim(lineup)
            floor = self.floor_of(lineup)
            limit = int(min(limit, self.left() / params.merge_left))
            both = products.rivals(lineup.prices, lineup.cluster, floor, limit, params)
            if both is None:
                return
            try:
                self._join(lineup, *both)
            except products.TooLarge:
                self.pause()
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
        if lineup.aim > self.floor:  # what is left above the aim may well lead to blocks below it
            self._beam(lineup, params.free_width, self.floor)
        if states > params.merge_beam and not self.large:
            share = (params.merge_slots / lineup.machines.length) ** 4 / len(lineup.members)
            share = min(max(share, params.merge_width), 1.0)
            self._beam(lineup, params.narrow + int(share * states))
            self._trim(lineup, params.merge_trim)

    def _finish(self, lineup: Lineup) -> None:
        """With all arms in one machine, it may not idle, and its best path is the answer."""
        m = lineup.machines
        last = np.arange(m.lo[-1], m.hi[-1])
        idle = np.full_like(m.idle, -1)
        idle[last] = m.idle[last]
        machines = minimal(m._replace(idle=idle), self.pause)
        if machines is None:
            self.nothing_left(lineup)
        lineup.exchange(machines)
        self.lower(lineup, lineup.prices.bound)
        self._beam(lineup, 1)

    def _aim(self, lineup: Lineup, aim: float, limit: int) -> None:
        """Prove that nothing is better than the aim, which takes smaller products than a proof.

        What is deleted on the way holds above the aim alone, so it is done on a copy. That serves
        for a higher aim, too, where this one is too low for products within the limit.
        """
        if self.blurred or not self.answered:
            return
        gap = self.bound - aim
        copy = lineup.bundled(aim)
        with contextlib.suppress(Reached):
            while self.bound - copy.aim > self.params.aim_least * gap:
                self._trim(copy, math.inf)
                self._grow(copy, limit)
                copy.aim += 0.5 * (self.bound - copy.aim)

    def _load(self, ready: Callable[[], None]) -> None:
        """Compile or load what easy problems do not need; that costs no time of the caller's."""
        seconds = stages.seconds_of(ready)
        self.deadline += seconds
        self.loading += seconds

    def _beam(
        self, lineup: Lineup, width: int, floor: float | None = None, beam: Beam | None = None
    ) -> Beam:
        """Run one pass of the beam, above the lineup's floor or another; take block and bound.

        The beam may be given from a pass over the same machines that was as wide.
        """
        prices = lineup.prices
        if beam is None:
            beam = Beam(
                *(prices.machines, lineup.twins, width, prices.worth, prices.price, self.params)
            )
        else:
            beam.start()
        floor = self.give_up(lineup) if floor is None else floor
        while not beam.run(floor, self.params.slice):
            self.lower(lineup, beam.open_bound())
            self.check(lineup)
        self.work += width * prices.machines.length * len(lineup.members)
        value, node = beam.best()
        if value > self.value:
            self.block, self.value = lineup.arms(*beam.way_to(node)), value
        elif not self.answered and beam.dropped == -math.inf:
            raise ProblemError("no block gives every slot to exactly one arm.")
        self._sharpen()
        self.lower(lineup, beam.dropped)
        self.check(lineup)
        return beam
