"""One run of the certified solver: the incumbent, the bound, and the clock.

Prices first, then a beam that widens; where the beam alone does not close the gap, machines that
claim the same slots are taken together before the next, wider pass.
"""

from __future__ import annotations

import contextlib
import math
import time

import numpy as np

from lastswitch.errors import ProblemError
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import Automata
from lastswitch.planning.beam import Beam
from lastswitch.planning.fixing import fixed
from lastswitch.planning.machines import Machines, as_machines, compact
from lastswitch.planning.plan import Tell
from lastswitch.planning.prices import Prices
from lastswitch.planning.products import merged

#: Beyond this much memory the beam stops widening and the answer keeps a gap.
MOST_MEMORY = 1 << 30
#: Widths: for a first incumbent, to begin with, and how much wider each pass is.
SCOUT, NARROW, WIDEN = 8, 32, 5
#: Subgradient steps between scouts, and before each later pass; how large those later ones may be,
#: and all of them after a warm start.
STEPS, MORE_STEPS, MORE_THETA, WARM_THETA = (20, 60), 20, 0.1, 0.1
#: Beyond this many slots times arms the beam alone proves little: as many steps more, and machines
#: are minimal from the start.
LARGE, LONG = 1_000, 240
#: Products: from passes of how many nodes on; states per node, so that products cost about as much
#: as the pass; states per state there was to begin with, so that a product that fails costs little;
#: how many states at most; how many pairs may turn out larger before giving up.
MERGE_FROM, MERGE_SIZE, MERGE_GROWTH, MERGE_MOST, MERGE_TRIES = 2_500, 0.5, 4, 100_000, 2
#: Subgradient steps after a product, their first size, and the least claims two machines share.
MERGE_STEPS, MERGE_THETA, LEAST_OVERLAP = 30, 0.5, 0.6
#: Work (states or children) between two looks at the clock: some hundredths of a second.
SLICE = 2_000_000
#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: Seconds between two calls of the caller's progress function.
TELL_EVERY = 0.1


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
    """

    def __init__(
        self, automata: Automata, gap: float, time_limit: float | None, progress: Tell | None
    ) -> None:
        self.automata, self.gap, self.progress = automata, gap, progress
        self.began = self.told = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.block: IntArray | None = None
        self.value, self.bound = -math.inf, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
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

    def reported_bound(self) -> float:
        """Return the bound; the value itself if they differ by rounding alone."""
        return self.value if self.bound <= self.value + self.rounding else self.bound

    @property
    def floor(self) -> float:
        """What a block has to beat to be worth finding."""
        if self.block is None:
            return -math.inf
        return self.value + max(self.rounding, self.gap * abs(self.value))

    def _give_up_to_floor(self) -> float:
        """Return the floor, and remember that blocks up to it are no longer looked for."""
        self.settled = max(self.settled, self.floor)
        return self.floor

    def _run(self, price: FloatArray | None) -> None:
        machines = self._machines()
        machines = machines._replace(root=machines.root[[arms[0] for arms in self.members]])
        pays = [part for part in (machines.gain, machines.final) if len(part)]
        largest = max(max(part.max(), -part.min()) for part in pays)
        self.rounding = ROUNDING * machines.length * float(largest)
        prices = self._priced(machines, price)
        width = NARROW
        while True:
            prices.slow_down(MORE_THETA)
            self._descend(prices, MORE_STEPS)
            nodes = width * machines.length
            if nodes >= MERGE_FROM:
                states = min(MERGE_SIZE * nodes, MERGE_GROWTH * len(machines.idle), MERGE_MOST)
                prices = self._joined(prices, int(states))
            widest = MOST_MEMORY // Beam.bytes_per_node(len(self.members), machines.length)
            self._beam(prices, min(width, widest))
            if width >= widest:
                if self.block is None:
                    raise ProblemError("no block was found that gives every slot to one arm.")
                return
            prices = self._trimmed(prices)
            width *= WIDEN

    def _machines(self) -> Machines:
        """Return the machines to begin with: minimal, unless it may be over sooner than that."""
        a, end = self.automata, self.automata.offset[-2]
        if a.length * a.n_arms <= LARGE and min(a.idle[:end].min(), a.pull[:end].min()) >= 0:
            return as_machines(a)  # nothing is forbidden, so there are no dead ends
        machines = compact(a)
        if machines is None:
            raise ProblemError("some arm can neither idle nor be pulled to the end of the block.")
        return machines

    def _lower(self, bound: float) -> None:
        """Take note of a bound on every block that has not been given up."""
        self.bound = min(self.bound, max(bound, self.value, self.settled))

    def _check(self) -> None:
        """Stop if there is nothing left to find, or no time to find it; report progress."""
        if self.block is None:
            return  # no answer yet: go on, whatever the clock says
        now = time.perf_counter()
        if self.progress is not None and now > self.told + TELL_EVERY:
            self.told = now
            self.progress(now - self.began, self.value, self.bound)
        if self.bound <= self.floor or now > self.deadline:
            raise _Done

    def _priced(self, machines: Machines, price: FloatArray | None) -> Prices:
        """Return good prices, and find a first incumbent on the way."""
        fits = price is not None and len(price) == machines.length
        prices = self._adopt(Prices(machines, price if fits else None))
        if fits:
            prices.slow_down(WARM_THETA)
        self._beam(prices, SCOUT)
        phases = STEPS if machines.length * len(self.members) <= LARGE else (*STEPS, LONG)
        for steps in phases:  # a better incumbent makes better steps
            self._descend(prices, steps)
            self._beam(prices, SCOUT)
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
        at_once = max(1, 4 * SLICE // len(prices.worth))
        target = self.value
        if self.block is None:  # nothing to aim at yet: something a little lower
            target = prices.bound - max(1.0, 0.1 * abs(prices.bound))
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
        if slack > 0.95 * self.slack and not afresh:
            return prices  # hardly anything has changed since the last time
        self.slack = slack
        machines = fixed(prices, self._give_up_to_floor())
        if machines is None:
            self._lower(-math.inf)
            raise _Done
        if machines.size > 0.95 * prices.machines.size:
            return prices
        return self._adopt(Prices(machines, prices.price, prices.claims))

    def _joined(self, prices: Prices, limit: int) -> Prices:
        """Return the prices after taking together the machines that most claim the same slots.

        Each machine takes part at most once, and all products together have at most ``limit``
        states.
        """
        room, taken, failed = limit, set(), 0
        for one, other in self._rivals(prices.claims):
            if one in taken or other in taken:
                continue
            heads = [arms[0] for arms in self.members]
            i, j = heads.index(one), heads.index(other)
            floor = self._give_up_to_floor()
            machines = merged(prices, i, j, len(self.members[i]), floor, room)
            if machines is None:
                failed += 1
                if failed == MERGE_TRIES:
                    break
                continue
            taken |= {one, other}
            room -= max(0, len(machines.idle) - len(prices.machines.idle))
            claims = prices.claims.copy()
            claims[i] += claims[j]
            self.members[i] += self.members.pop(j)
            self.twins[i] = -1 - self.members[i][0]  # a product is like no other machine
            self.twins = np.delete(self.twins, j)
            prices = self._adopt(Prices(machines, prices.price, np.delete(claims, j, axis=0)))
        if not taken:
            return prices
        prices.restart(MERGE_THETA)
        self._descend(prices, MERGE_STEPS)
        return self._trimmed(prices, afresh=True)

    def _rivals(self, claims: FloatArray) -> list[tuple[int, int]]:
        """Return pairs of machines (by their first arm), those that share most claims first."""
        overlap = np.triu(claims @ claims.T, 1)
        one, other = (overlap > LEAST_OVERLAP).nonzero()
        order = np.argsort(-overlap[one, other], kind="stable")[: len(claims)].tolist()
        heads = [arms[0] for arms in self.members]
        return [(heads[one[k]], heads[other[k]]) for k in order]

    def _beam(self, prices: Prices, width: int) -> None:
        """Run one pass of the beam and take its block and its bound."""
        beam = Beam(prices.machines, self.twins, width)
        ahead = np.zeros(len(prices.price) + 1)
        ahead[-2::-1] = prices.price[::-1].cumsum()
        floor = self._give_up_to_floor()
        while not beam.run(prices.worth, ahead, floor, SLICE):
            self._lower(beam.open_bound())
            self._check()
        value, node = beam.best(prices.worth)
        if value > self.value:
            way = zip(*beam.way_to(node), strict=True)
            self.block, self.value = np.array([self.members[i][j] for i, j in way]), value
        elif self.block is None and beam.dropped == -math.inf:
            raise ProblemError("no block gives every slot to exactly one arm.")
        self._lower(beam.dropped)
        self._check()


class _Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""
