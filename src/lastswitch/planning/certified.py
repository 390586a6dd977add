"""The certified solver: Lagrangian bound and widening beam, always a block *and* a bound.

Prices on the slots decouple the arms (:mod:`~lastswitch.planning.prices`); arcs that cannot
improve on the incumbent are deleted (:mod:`~lastswitch.planning.fixing`); a beam over the slots
(:mod:`~lastswitch.planning.beam`), ranked by value plus bound, finds blocks and, once nothing with a
better bound is left, proves the best one optimal. It widens until then, or until it is within the
gap, out of time, or out of memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from lastswitch._kernels import announce
from lastswitch.errors import ProblemError
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import Automata, block_automata
from lastswitch.planning.beam import Beam, advance
from lastswitch.planning.fixing import fixed
from lastswitch.planning.machines import Machines, compact
from lastswitch.planning.plan import Plan, Progress, Solution
from lastswitch.planning.prices import Prices
from lastswitch.planning.products import merged
from lastswitch.planning.problem import BlockProblem

#: Beyond this the beam stops widening and the answer keeps a gap.
MOST_MEMORY = 1 << 30
#: Widths: for a first incumbent, to begin with, and how much wider each pass is.
SCOUT, NARROW, WIDEN = 16, 32, 4
#: Subgradient steps before the second scout, and in all.
FEW_STEPS, MOST_STEPS = 30, 300
#: Work (states or children) between two looks at the clock: some hundredths of a second.
SLICE = 2_000_000
#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
MERGE_FROM = 128
MERGE_SIZE = 100


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Progress | None = None,
    warm: Plan | None = None,
) -> Solution:
    """Solve a block problem, exactly unless ``gap`` or ``time_limit`` stop it earlier.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solve(problem).block
    array([0, 1, 0])
    """
    return solve_automata(
        block_automata(problem),
        gap=gap,
        time_limit=time_limit,
        progress=progress,
        start_block=None if warm is None else warm.block,
        prices=None if warm is None else warm.prices,
    )


def solve_automata(
    automata: Automata,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Progress | None = None,
    start_block: Sequence[int] | IntArray | None = None,
    prices: FloatArray | None = None,
) -> Solution:
    """Find the best way to give every slot to one arm, and a bound on the best value.

    Parameters
    ----------
    automata
        The arms.
    gap
        Stop once (bound - value) <= gap * |value|.
    time_limit
        Stop after about this many seconds; never before some block is found.
    progress
        Called now and then with (seconds so far, best value, bound).
    start_block
        A block to start from; ignored where it is not feasible.
    prices
        Prices of the slots to start from, such as those of a similar problem.

    Examples
    --------
    >>> arm = Automata(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                final=[0.0], root=[0])
    >>> solve_automata(arm).bound
    0.5
    """
    search = _Search(automata, gap, time_limit, progress)
    if start_block is not None and len(start_block) == automata.length:
        search.offer(np.asarray(start_block))
    try:
        search.run(prices)
    except KeyboardInterrupt:
        if search.block is None:
            raise
    assert search.block is not None
    return Solution(search.block, search.proven_bound(), search.price)


class _Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""


class _Search:
    """One call of the certified solver: the incumbent, the bound, and the clock."""

    def __init__(
        self, automata: Automata, gap: float, time_limit: float | None, progress: Progress | None
    ) -> None:
        self.automata, self.gap, self.progress = automata, gap, progress
        self.began = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.told = self.began
        self.block: IntArray | None = None
        self.value, self.bound = -math.inf, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
        self.fresh = set()
        # Twins next to each other, as the beam wants them.
        twins = np.arange(automata.n_arms) if automata.twins is None else automata.twins
        order = np.argsort(twins, kind="stable")
        self.members = [[int(arm)] for arm in order]
        self.twins = twins[order]

    def offer(self, block: IntArray) -> None:
        """Make ``block`` the incumbent if it is better."""
        value = self.automata.value(block)
        if value > self.value:
            self.block, self.value = block, value

    def lower(self, bound: float) -> None:
        """Take note of a bound on every block better than the incumbent."""
        self.bound = min(self.bound, max(bound, self.value))

    def proven_bound(self) -> float:
        """Return the bound to report; the value itself if they differ by rounding alone."""
        return self.value if self.bound <= self.value + self.rounding else self.bound

    @property
    def floor(self) -> float:
        """What a block has to beat to be worth finding."""
        if self.block is None:
            return -math.inf
        return self.value + max(self.rounding, self.gap * abs(self.value))

    def check(self) -> None:
        """Stop if there is nothing left to find, or no time to find it; report progress."""
        if self.block is None:
            return
        now = time.perf_counter()
        if self.progress is not None and now > self.told + 0.1:
            self.told = now
            self.progress(now - self.began, self.value, self.bound)
        if self.bound <= self.floor or now > self.deadline:
            raise _Done

    def run(self, price: FloatArray | None) -> None:
        """Search until done."""
        announce("planning", advance)
        machines = compact(self.automata)
        if machines is None:
            raise ProblemError("some arm can neither idle nor be pulled to the end of the block.")
        machines = machines._replace(root=machines.root[[arms[0] for arms in self.members]])
        largest = [np.abs(part).max() for part in (machines.gain, machines.final) if len(part)]
        self.rounding = ROUNDING * machines.length * max(largest)
        try:
            prices = self.priced(machines, price)
            width = NARROW
            while True:
                prices = self.trimmed(prices)
                if width >= MERGE_FROM:
                    prices = self.joined(prices, MERGE_SIZE * width)
                self.sweep_beam(prices, width)
                if width >= self.widest(machines):
                    return
                width = min(WIDEN * width, self.widest(machines))
        except _Done:
            return

    def widest(self, machines: Machines) -> int:
        """Return the largest width that memory allows."""
        return MOST_MEMORY // Beam.bytes_per_node(len(machines.root), machines.length)

    def priced(self, machines: Machines, price: FloatArray | None) -> Prices:
        """Return good prices, and find a first incumbent on the way."""
        fits = price is not None and len(price) == machines.length
        prices = Prices(machines, price if fits else None)
        self.price = prices.price
        self.sweep_beam(prices, SCOUT)
        self.descend(prices, FEW_STEPS)
        self.sweep_beam(prices, SCOUT)
        self.descend(prices, MOST_STEPS - FEW_STEPS)
        return prices

    def descend(self, prices: Prices, steps: int) -> None:
        """Improve the prices, looking at the clock now and then."""
        at_once = max(1, SLICE // max(1, len(prices.worth)))
        while steps > 0 and not prices.exhausted:
            prices.descend(self.value, min(steps, at_once))
            self.lower(prices.bound)
            self.check()
            steps -= at_once

    def trimmed(self, prices: Prices) -> Prices:
        """Return the prices of the machines without the arcs that cannot improve on the incumbent."""
        machines = fixed(prices, self.floor)
        if machines is None:
            self.lower(self.floor)
            raise _Done
        if len(machines.nxt) + len(machines.idle) > 0.95 * (
            len(prices.machines.nxt) + len(prices.machines.idle)
        ):
            return prices
        trimmed = Prices(machines, prices.price)
        trimmed.claims[:] = prices.claims
        self.price = trimmed.price
        self.lower(trimmed.bound)
        self.check()
        return trimmed

    def joined(self, prices: Prices, limit: int) -> Prices:
        """Return the prices after taking together the machines that claim the same slots most."""
        spent = 0
        tried = set()
        for _ in range(len(self.members) // 2):
            overlap = prices.claims @ prices.claims.T
            best, pair = 0.05, None
            for i in range(len(self.members)):
                for j in range(i + 1, len(self.members)):
                    key = (self.members[i][0], self.members[j][0])
                    if overlap[i, j] > best and key not in tried and not any(len(self.members[x])>1 and (self.members[x][0] in self.fresh) for x in (i,j)):
                        best, pair = overlap[i, j], (i, j)
            if pair is None:
                break
            i, j = pair
            tried.add((self.members[i][0], self.members[j][0]))
            machines = merged(prices, i, j, len(self.members[i]), self.floor, max(limit-spent,1))
            if machines is None:
                continue
            self.fresh.add(self.members[i][0])
            spent += len(machines.idle) - len(prices.machines.idle)
            self.members[i] += self.members.pop(j)
            self.twins = np.delete(self.twins, j)
            self.twins[i] = -1 - i
            self.twins = self._distinct(self.twins)
            claims = prices.claims
            claims[i] += claims[j]
            prices = Prices(machines, prices.price)
            prices.claims[:] = np.delete(claims, j, axis=0)
            self.price = prices.price
            self.lower(prices.bound)
            self.check()
        self.fresh = set()
        if spent:
            self.descend(prices, 100)
            prices = self.trimmed(prices)
        return prices

    def _distinct(self, twins):
        for k in range(len(twins)):
            if len(self.members[k]) > 1:
                twins[k] = -1 - k
        return twins

    def sweep_beam(self, prices: Prices, width: int) -> None:
        """Run one pass of the beam and take its block and its bound."""
        machines = prices.machines
        beam = Beam(machines, self.twins, width)
        ahead = np.append(np.cumsum(prices.price[::-1])[::-1], 0.0)
        while not beam.run(prices.worth, ahead, self.floor, SLICE):
            self.lower(beam.open_bound())
            self.check()
        found = beam.best()
        if found is not None:
            self.offer(np.array([self.members[i][j] for i, j in zip(*found, strict=True)]))
        self.lower(max(beam.dropped, self.floor if beam.dropped <= self.floor else -math.inf))
        self.check()
