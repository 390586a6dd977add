"""The certified solver under rules: prices, a widening beam, and proofs that nothing fits.

The answer is a schedule and a bound; or no schedule and a bound of minus infinity, the proof that
none exists; or, out of time, no schedule and some bound: unknown.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import announce
from lastswitch._progress import Progress, Report
from lastswitch.planning.machines import Machines
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.ruled.beam import Beam, advance
from lastswitch.planning.ruled.bundle import Bundle
from lastswitch.planning.ruled.compiled import Compiled, compiled
from lastswitch.planning.ruled.fixing import fixed
from lastswitch.planning.ruled.neighbourhood import MOVE_WORK, Neighbourhoods, played
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.prices import Heard, Prices
from lastswitch.planning.ruled.problem import RuledProblem
from lastswitch.rules import apart

#: Beyond this much memory the beam stops widening and the answer keeps a gap.
MOST_MEMORY = 1 << 30
#: Widths: for a first schedule, to begin with, and how much wider each pass is.
SCOUT, NARROW, WIDEN = 8, 32, 4
#: Subgradient steps between scouts, and then those of a bundle: to begin with, before the first
#: pass, and before wider ones, which cost so much that better prices are worth it.
STEPS, BUNDLE_STEPS, MORE_STEPS, WIDE_STEPS = (20, 60), 40, 40, 200
#: How large subgradient steps may be by then, or after a warm start.
WARM_THETA = 0.1
#: Beyond this many states and arcs a bundle's steps are too few, and subgradient steps go on.
LARGE, LARGE_STEPS = 200_000, 240
#: With nothing to aim at, aim this share below the bound, and again after so many steps; a bundle,
#: whose steps find their own size, farther below.
AIM, AIM_STEPS, BUNDLE_AIM = 0.03, 20, 0.5
#: Work (states, or moves of the beam) between two looks at the clock.
SLICE = 2_000_000
#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: Arcs are deleted again once the slack has shrunk to this share.
TRIM_AGAIN = 0.9
#: Parts of a schedule are planned anew after passes of more moves than this.
PLAN_ANEW_FROM = 1_000_000
#: Seconds between two calls of the caller's progress function.
TELL_EVERY = 0.1


class Answer(NamedTuple):
    """A schedule (or None) and a bound; prices to start another search from."""

    rounds: RoundsPlayed | None
    bound: float
    prices: FloatArray | None = None
    interrupted: bool = False

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no schedule."""
        return self.rounds is None and self.bound == -math.inf


@functools.lru_cache(maxsize=1)
def ready() -> None:
    """Compile the kernels, or load them, before any clock starts."""
    announce("rules", advance)
    block = BlockProblem([[0.5]] * 2, [[0.1]] * 2, [[0.2, 0.3]] * 2)
    arms = compiled(RuledProblem(block, rules=[apart([0, 1], 2)], plays=(0, 1)))
    search = Search(arms, 0.0, None, None)
    search.run(None)
    assert search.rounds is not None
    Neighbourhoods(arms).freed(played(search.rounds, arms.n_arms), np.ones((2, 2), np.bool_))


def solve(
    problem: Compiled,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Report | None = None,
    start: RoundsPlayed | None = None,
    prices: FloatArray | None = None,
) -> Answer:
    """Find the best schedule and a bound on the best value, or that there is none.

    Ctrl-C stops it like a time limit, once it has found any schedule.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> from lastswitch.planning.ruled.compiled import compiled
    >>> from lastswitch.planning.ruled.problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> solve(compiled(RuledProblem(block, rules=[r.never(1, [1])], plays=(0, 1)))).rounds
    ((0,), (), (0,))
    """
    ready()  # no time limit pays for compiling
    search = Search(problem, gap, time_limit, progress)
    if start is not None and len(start) == problem.length:
        search.offer(start)
    interrupted = False
    try:
        search.run(prices)
    except KeyboardInterrupt:
        if search.rounds is None:
            raise
        interrupted = True
    return Answer(search.rounds, search.reported_bound(), search.price, interrupted)


def feasible(problem: Compiled, time_limit: float | None = None) -> Answer:
    """Find any schedule, or that there is none; all pays are taken for nothing.

    Without pays machines shrink to what the rules remember, and a negative bound is a proof.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> from lastswitch.planning.ruled.compiled import compiled
    >>> from lastswitch.planning.ruled.problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> feasible(compiled(RuledProblem(block, rules=[r.never([0, 1], [1])]))).infeasible
    True
    """
    ready()
    search = Search(problem.without_pays(), 0.0, time_limit, None, any_will_do=True)
    search.run(None)
    return Answer(search.rounds, search.reported_bound())


class Search:
    """The state of one search; after :meth:`run`, its result.

    Parameters
    ----------
    problem
        Arms and monitors.
    gap
        Good enough: (bound - value) <= gap * |value|.
    time_limit
        Seconds, or None.
    progress
        Called now and then with (seconds so far, best value, bound), or None.
    any_will_do
        Stop at the first schedule.
    """

    def __init__(
        self,
        problem: Compiled,
        gap: float,
        time_limit: float | None,
        progress: Report | None,
        any_will_do: bool = False,
    ) -> None:
        self.problem, self.gap, self.progress = problem, gap, progress
        self.any_will_do = any_will_do
        self.began = self.told = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.rounds: RoundsPlayed | None = None
        self.value, self.bound = -math.inf, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
        self.scouted = False  # whether the beam has passed once, which no clock prevents
        self.slack = math.inf  # from the bound down to the floor when arcs were last deleted
        self.work = 0  # states swept, and moves looked at in their place
        self.settled = -math.inf  # schedules worth no more than this may have been given up
        order = np.argsort(problem.automata.twins, kind="stable")
        self.twins = problem.automata.twins[order]
        self.arm = order.tolist()  # of each machine

    def offer(self, rounds: RoundsPlayed) -> None:
        """Make a schedule the incumbent if it is better."""
        value = self.problem.value(rounds)
        if value > self.value:
            self.rounds, self.value = rounds, value

    def run(self, price: FloatArray | None) -> None:
        """Search until proven, good enough, or out of time or memory."""
        with contextlib.suppress(_Done):
            self._run(price)

    def reported_bound(self) -> float:
        """Return the bound; the value itself if they differ by rounding alone."""
        if self.rounds is None:
            return self.bound
        return self.value if self.bound <= self.value + self.rounding else self.bound

    @property
    def floor(self) -> float:
        """What a schedule has to beat to be worth finding."""
        if self.rounds is None:
            return -math.inf
        return self.value + max(self.rounding, self.gap * abs(self.value))

    def _give_up_to_floor(self) -> float:
        """Return the floor, and remember that schedules up to it are no longer looked for."""
        self.settled = max(self.settled, self.floor)
        return self.floor

    def _run(self, price: FloatArray | None) -> None:
        machines = self.problem.machines
        if machines is None:
            self._prove()
        assert machines is not None
        machines = machines._replace(root=machines.root[self.arm])
        heard = self.problem.heard
        largest = max(
            float(np.abs(part).max(initial=0.0))
            for part in (machines.gain, machines.final, heard.pay, np.array([heard.silence]))
        )
        self.rounding = ROUNDING * machines.length * heard.most * max(largest, 1e-300)
        prices = self._priced(machines, heard, price)
        width = NARROW
        states = len(machines.root) + len(heard.root)
        widest = max(1, MOST_MEMORY // Beam.bytes_per_node(states, machines.length, heard.most))
        while True:
            prices.slow_down(WARM_THETA)
            self._descend(prices, MORE_STEPS if width == NARROW else WIDE_STEPS)
            spent = self._beam(prices, min(width, widest))
            if width >= widest:
                return
            if spent > PLAN_ANEW_FROM:
                self._plan_anew(prices)
            prices = self._trimmed(prices)
            width *= WIDEN

    def _prove(self) -> None:
        """Nothing better than the incumbent exists."""
        self.bound = max(self.value, self.settled)
        raise _Done

    def _lower(self, bound: float) -> None:
        """Take note of a bound on every schedule that has not been given up."""
        self.bound = min(self.bound, max(bound, self.value, self.settled))
        if self.any_will_do and self.bound < -self.rounding - 1e-9:
            self._prove()  # a schedule would be worth 0

    def _check(self) -> None:
        """Stop if there is nothing left to find, or no time to find it; report progress."""
        now = time.perf_counter()
        if self.rounds is not None and self.progress is not None and now > self.told + TELL_EVERY:
            self.told = now
            self.progress(Progress(now - self.began, value=self.value, bound=self.bound))
        if (self.scouted and now > self.deadline) or (
            self.rounds is not None and (self.any_will_do or self.bound <= self.floor)
        ):
            raise _Done

    def _priced(self, machines: Machines, heard: Heard, price: FloatArray | None) -> Prices:
        """Return good prices, and find a first incumbent on the way."""
        prices = Prices(machines, heard)
        if price is not None and len(price) == len(prices.price):
            prices = Prices(machines, heard, price)
            prices.slow_down(WARM_THETA)
        prices = self._adopt(prices)
        self._beam(prices, SCOUT)
        for steps in STEPS:  # a better incumbent makes better steps
            self._descend(prices, steps)
            self._beam(prices, SCOUT)
            prices = self._trimmed(prices)
        large = prices.machines.size > LARGE
        if large:
            self._look_for_any()
        else:
            prices = self._adopt(Bundle(prices.machines, prices.heard, prices.price))
        self._descend(prices, LARGE_STEPS if large else BUNDLE_STEPS)
        self._beam(prices, SCOUT)
        self._look_for_any()
        return self._trimmed(prices)

    def _look_for_any(self) -> None:
        """Find a first schedule without looking at pays, or prove that there is none.

        Good prices lead a beam to one more often; so this is for where they do not.
        """
        if self.rounds is not None or self.any_will_do:
            return
        left = self.deadline - time.perf_counter()
        answer = feasible(self.problem, None if math.isinf(left) else max(left, 1e-3))
        if answer.infeasible:
            self._prove()
        if answer.rounds is not None:
            self.offer(answer.rounds)
        self._check()

    def _adopt(self, prices: Prices) -> Prices:
        """Make these the prices to report, and take note of their bound."""
        self.price = prices.price
        self._lower(prices.bound)
        self._check()
        return prices

    def _descend(self, prices: Prices, steps: int) -> None:
        """Improve the prices, looking at the clock now and then."""
        size = prices.machines.size + prices.heard.after.size
        at_once = max(1, 4 * SLICE // size)
        self.work += steps * size
        if self.rounds is None:
            at_once = min(at_once, AIM_STEPS)
        while steps > 0 and not prices.exhausted:
            target = self.value
            if self.any_will_do:
                target = prices.bound - 1.0
            elif self.rounds is None:  # nothing to aim at yet: something a little lower
                aim = BUNDLE_AIM if isinstance(prices, Bundle) else AIM
                target = prices.bound - aim * max(abs(prices.bound), self._scale(prices))
            prices.descend(target, min(steps, at_once))
            self._lower(prices.bound)
            self._check()
            steps -= at_once

    def _scale(self, prices: Prices) -> float:
        return float(np.abs(prices.price[: prices.machines.length]).sum())

    def _trimmed(self, prices: Prices) -> Prices:
        """Return the prices of what is left without moves that cannot improve on the incumbent."""
        if self.rounds is None:
            return prices
        slack = prices.bound - self.floor
        if slack > TRIM_AGAIN * self.slack:
            return prices  # hardly anything has changed since the last time
        self.slack = slack
        left = fixed(prices, self._give_up_to_floor())
        if left is None:
            self._prove()
        assert left is not None
        return self._adopt(type(prices)(*left, prices.price))

    def _plan_anew(self, prices: Prices) -> None:
        """Plan parts of the schedule anew, until that has failed again and again.

        At most as much work as everything before: where the incumbent is the best schedule, all of
        this is in vain. If it was, it goes on with larger parts when it is called again.
        """
        if self.rounds is None or self.any_will_do:
            return
        around, before, failures, most = self._around, self.value, 0, 2 * self.work
        while failures < around.patience and self.work + around.work < most:
            floor = self.value + self.rounding
            better = around.improved(self.rounds, prices.heard, prices.price, floor, self.rounding)
            failures += 1
            if better is not None:
                value = self.value
                self.offer(better)
                failures = 0 if self.value > value else failures
            self._check()
        self.work, around.work = self.work + around.work, 0
        if self.value == before:
            around.widen()

    @functools.cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods(self.problem)

    def _beam(self, prices: Prices, width: int) -> int:
        """Run one pass of the beam, take its schedule and its bound; return its moves."""
        beam = Beam(prices, self.twins, width, self.rounding)
        floor = self._give_up_to_floor()
        while not beam.run(floor, SLICE):
            self._lower(beam.open_bound())
            self._check()
        self.scouted = True
        value, node = beam.best()
        if value > self.value:
            rounds = beam.rounds(node)
            self.rounds = tuple(tuple(sorted(self.arm[i] for i in arms)) for arms in rounds)
            self.value = value
        self._lower(beam.dropped)
        self.work += MOVE_WORK * beam.spent
        if self.rounds is None and beam.dropped == -math.inf:
            self._prove()
        self._check()
        return beam.spent


class _Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""
