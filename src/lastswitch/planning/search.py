"""One run of the certified solver: the incumbent, the bound, and the clock.

Prices first, then a beam that widens; where the beam alone does not close the gap, machines that
claim the same slots are taken together before the next, wider pass.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time

import numpy as np

from lastswitch._kernels import announce
from lastswitch.errors import ProblemError
from lastswitch.planning import products
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import Automata, block_automata
from lastswitch.planning.beam import Beam, advance
from lastswitch.planning.fixing import fixed
from lastswitch.planning.machines import Machines, as_machines, compact
from lastswitch.planning.params import SearchParams
from lastswitch.planning.plan import Tell
from lastswitch.planning.prices import Prices, best_pays
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.tiny import VISIBLE

#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: What to take of it where that much would show: as much as an addition or two may differ by.
SHARP = 1 / 64
#: Machines with most claims among which rivals are looked for.
MOST_RIVALS = 500


@functools.lru_cache(maxsize=1)
def ready() -> None:
    """Compile the kernels of every search, or load them, before any clock starts."""
    announce("planning", advance)
    prices = Prices(_example())
    fixed(prices, -math.inf)
    Beam(prices.machines, np.arange(2), 1, prices.worth, prices.price).run(-math.inf, 1)


@functools.lru_cache(maxsize=1)
def ready_to_merge() -> None:
    """Compile or load what only searches that take machines together need."""
    products.merged(Prices(_example()), 0, 1, 1, -math.inf, 100)


def _example() -> Machines:
    """Return some machines, the smallest that all kernels can work on."""
    machines = compact(block_automata(BlockProblem([[0.5]] * 2, [[0.1]] * 2, [[0.2, 0.3]] * 2)))
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
        self.slack = math.inf  # from the bound down to the floor when arcs were last deleted
        self.settled = -math.inf  # blocks worth no more than this may have been given up
        # Twins next to each other, as the beam wants them.
        order = np.argsort(automata.twins, kind="stable")
        self.twins = automata.twins[order]
        self.members = [[int(arm)] for arm in order]  # of each machine

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
            self._lower(self._plain_bound())
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

    def _give_up_to_floor(self) -> float:
        """Return the floor, and remember that blocks up to it are no longer looked for."""
        self.settled = max(self.settled, self.floor)
        return self.floor

    def _run(self, price: FloatArray | None) -> None:
        params = self.params
        machines = self._machines()
        machines = machines._replace(root=machines.root[[arms[0] for arms in self.members]])
        self._measure(machines)
        self._sharpen()
        prices = self._priced(machines, price)
        width = params.narrow
        while True:
            prices.slow_down(params.more_theta)
            self._descend(prices, params.more_steps)
            nodes = width * machines.length
            if nodes >= params.merge_from:
                states = min(
                    params.merge_size * nodes,
                    params.merge_growth * len(machines.idle),
                    params.merge_most,
                )
                prices = self._joined(prices, int(states))
            per_node = Beam.bytes_per_node(len(self.members), machines.length, params)
            widest = params.most_memory // per_node
            self._beam(prices, max(1, min(width, widest)))
            if width >= widest:
                if not self.answered:
                    raise ProblemError("no block was found that gives every slot to one arm.")
                return
            prices = self._trimmed(prices)
            width *= params.widen

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
        self._check()
        small = a.length * a.n_arms <= self.params.large
        if small and min(a.idle[:end].min(), a.pull[:end].min()) >= 0:
            self._plain = True
            return as_machines(a)  # nothing is forbidden, so there are no dead ends
        machines = compact(a, self._check)
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

    def _lower(self, bound: float) -> None:
        """Take note of a bound on every block that has not been given up."""
        self.bound = min(self.bound, max(bound, self.value, self.settled))

    def _check(self) -> None:
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
        if self.bound <= max(self.floor, self.settled) or now > self.deadline:
            raise _Done

    def _priced(self, machines: Machines, price: FloatArray | None) -> Prices:
        """Return good prices, and find a first incumbent on the way."""
        fits = price is not None and len(price) == machines.length
        params, best = self.params, best_pays(machines)
        # No bound is worse than this one: the best pay of each slot, the best end of each machine.
        self._lower(float(best.sum()) + len(machines.root) * float(machines.final.max()))
        if not fits:
            # With more arms than slots, everyone claims too much at less than the best pay.
            share = params.first_share if len(machines.root) <= machines.length else 1.0
            price = share * best
        prices = self._adopt(Prices(machines, price, params=params))
        if fits:
            prices.slow_down(params.warm_theta)
        self._beam(prices, params.scout)
        large = machines.length * len(self.members) > params.large
        # A better incumbent makes better steps.
        for steps in (*params.steps, params.long_steps) if large else params.steps:
            self._descend(prices, steps)
            self._beam(prices, params.scout)
            prices = self._trimmed(prices)
        return prices

    def _adopt(self, prices: Prices) -> Prices:
        """Make these the prices to report, and take note of their bound."""
        self.price = prices.price
        self._lower(prices.bound)
        self._check()
        return prices

    def _descend(self, prices: Prices, steps: int) -> None:
        """Improve the prices, looking at the clock now and then."""
        at_once = max(1, 4 * self.params.slice // len(prices.worth))
        target = self.value
        if not self.answered:  # nothing to aim at yet: something a little lower
            target = prices.bound - 0.1 * max(abs(prices.bound), float(np.abs(prices.price).sum()))
        while steps > 0 and not prices.exhausted:
            prices.descend(target, min(steps, at_once))
            self._lower(prices.bound)
            self._check()
            steps -= at_once

    def _trimmed(self, prices: Prices, afresh: bool = False) -> Prices:
        """Return the prices of the machines less the arcs that cannot improve on the incumbent.

        Does nothing if the bound and the incumbent are about those of the last time, unless the
        machines are new (``afresh``).
        """
        slack = prices.bound - self.floor
        if slack > self.params.trim_again * self.slack and not afresh:
            return prices  # hardly anything has changed since the last time
        self.slack = slack
        machines = fixed(prices, self._give_up_to_floor(), self._check)
        if machines is None:
            self._lower(-math.inf)
            raise _Done
        if self._blurred:
            self._measure(machines)
        elif machines.size > self.params.trim_again * prices.machines.size:
            return prices
        return self._adopt(Prices(machines, prices.price, prices.claims, self.params))

    def _joined(self, prices: Prices, limit: int) -> Prices:
        """Return the prices after taking together the machines that most claim the same slots.

        Each machine takes part at most once, and all products together have at most ``limit``
        states.
        """
        began = time.perf_counter()
        ready_to_merge()
        self.deadline += time.perf_counter() - began
        room, taken, failed = limit, set(), 0
        for one, other in self._rivals(prices.claims):
            if one in taken or other in taken:
                continue
            heads = [arms[0] for arms in self.members]
            i, j = heads.index(one), heads.index(other)
            floor = self._give_up_to_floor()
            size = len(self.members[i])
            machines = products.merged(prices, i, j, size, floor, room, self._check)
            self._check()
            if machines is None:
                failed += 1
                if failed == self.params.merge_tries:
                    break
                continue
            taken |= {one, other}
            room -= max(0, len(machines.idle) - len(prices.machines.idle))
            claims = prices.claims.copy()
            claims[i] += claims[j]
            self.members[i] += self.members.pop(j)
            self.twins[i] = -1 - self.members[i][0]  # a product is like no other machine
            self.twins = np.delete(self.twins, j)
            claims = np.delete(claims, j, axis=0)
            prices = self._adopt(Prices(machines, prices.price, claims, self.params))
        if not taken:
            return prices
        prices.restart(self.params.merge_theta)
        self._descend(prices, self.params.merge_steps)
        return self._trimmed(prices, afresh=True)

    def _rivals(self, claims: FloatArray) -> list[tuple[int, int]]:
        """Return pairs of machines (by their first arm), those that share most claims first."""
        few = np.arange(len(claims))
        if len(claims) > MOST_RIVALS:
            few = np.sort(np.argsort(-claims.sum(axis=1), kind="stable")[:MOST_RIVALS])
        overlap = np.triu(claims[few] @ claims[few].T, 1)
        one, other = (overlap > self.params.least_overlap).nonzero()
        order = np.argsort(-overlap[one, other], kind="stable")[: len(claims)].tolist()
        heads = [self.members[machine][0] for machine in few]
        return [(heads[one[k]], heads[other[k]]) for k in order]

    def _beam(self, prices: Prices, width: int) -> None:
        """Run one pass of the beam and take its block and its bound."""
        beam = Beam(prices.machines, self.twins, width, prices.worth, prices.price, self.params)
        floor = self._give_up_to_floor()
        while not beam.run(floor, self.params.slice):
            self._lower(beam.open_bound())
            self._check()
        value, node = beam.best()
        if value > self.value:
            way = zip(*beam.way_to(node), strict=True)
            self.block, self.value = np.array([self.members[i][j] for i, j in way]), value
        elif not self.answered and beam.dropped == -math.inf:
            raise ProblemError("no block gives every slot to exactly one arm.")
        self._sharpen()
        self._lower(beam.dropped)
        self._check()


class _Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""
