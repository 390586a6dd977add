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
        # Twins next to each other, as the beam wants them.
        self.order = np.argsort(automata.twins, kind="stable")
        assert automata.twins is not None
        self.twins = automata.twins[self.order]

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
        machines = machines._replace(root=machines.root[self.order])
        largest = [np.abs(part).max() for part in (machines.gain, machines.final) if len(part)]
        self.rounding = ROUNDING * machines.length * max(largest)
        try:
            prices = self.priced(machines, price)
            width = NARROW
            while True:
                prices = self.trimmed(prices)
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
        self.price = trimmed.price
        self.lower(trimmed.bound)
        self.check()
        return trimmed

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
            self.offer(self.order[found[0]])
        self.lower(max(beam.dropped, self.floor if beam.dropped <= self.floor else -math.inf))
        self.check()
