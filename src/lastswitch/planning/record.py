"""What a search knows and may still do: the incumbent, the bound, rounding, and the clock."""

from __future__ import annotations

import math
import time
from typing import NoReturn

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.automata import Automata
from lastswitch.planning.lineup import Lineup
from lastswitch.planning.machines import Machines
from lastswitch.planning.params import SearchParams
from lastswitch.planning.plan import Tell
from lastswitch.planning.tiny import VISIBLE

#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: What to take of it where that much would show: as much as an addition or two may differ by.
SHARP = 1 / 64


class Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""


class Reached(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """Nothing is better than what was aimed at."""


class Record:
    """The best block so far, a bound on all, and how long there is.

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
        self.loading = 0.0  # seconds spent on compiling or loading kernels, which nobody pays for
        self.block: IntArray | None = None
        self.value, self.bound = beat, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
        self._pays: list[FloatArray] = []
        self._free = False  # whether nothing is forbidden
        self._plain = False  # whether the machines may have states that no block visits
        self.lineup: Lineup | None = None
        self.work = 0  # states swept and nodes expanded: a clock that ticks alike everywhere

    def offer(self, block: IntArray) -> None:
        """Make ``block`` the incumbent if it is better."""
        value = self.automata.value(block)
        if value > self.value:
            self.block, self.value = block, value

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
            self.lower(None, self._plain_bound())
        if self.bound > self.value + self.rounding:
            return self.bound
        return self.value + self.rounding if self.blurred else self.value

    @property
    def floor(self) -> float:
        """What a block has to beat to be worth finding."""
        if not self.answered:
            return -math.inf
        # Pays too bad for any good block blur the sums until their arcs are deleted.
        rounding = SHARP * self.rounding if self.blurred else self.rounding
        return self.value + max(rounding, self.gap * abs(self.value))

    def floor_of(self, lineup: Lineup) -> float:
        """Return what a block of this lineup has to beat to be worth finding."""
        return max(self.floor, lineup.aim)

    def give_up(self, lineup: Lineup) -> float:
        """Return that, and remember that blocks up to it are no longer looked for."""
        floor = self.floor_of(lineup)
        lineup.settled = max(lineup.settled, floor)
        return floor

    def charging(self, lineup: Lineup) -> bool:
        """Whether moves are deleted for what they cost others: where that kernel is loaded."""
        return self.params.charged and self.answered and lineup.is_bundled

    def _plain_bound(self) -> float:
        """Return the best pay of each slot and the best end of each arm, summed up."""
        a, end = self.automata, self.automata.offset[-2]
        pays = np.where(a.pull[:end] >= 0, a.pay[:end], -np.inf)
        best = np.maximum.reduceat(pays, a.offset[:-2])
        return float(best.sum()) + a.n_arms * float(a.final.max())

    def measure(self, machines: Machines, largest: float | None = None) -> None:
        """Say how much sums of the pays that are left may differ by rounding alone.

        The largest size of a pay or an end may be given.
        """
        self._pays = [part for part in (machines.gain, machines.final) if len(part)]
        if largest is None:
            largest = max(float(np.abs(part).max()) for part in self._pays)
        self.rounding = ROUNDING * machines.length * largest

    @property
    def blurred(self) -> bool:
        """Whether pays so large are left that rounding may show: in the value, or in a pay."""
        if self.rounding <= VISIBLE * abs(self.value):
            return False
        sizes = np.abs(np.concatenate(self._pays))
        return self.rounding > VISIBLE * float(sizes.min(where=sizes > 0.0, initial=math.inf))

    def lower(self, lineup: Lineup | None, bound: float) -> None:
        """Take note of a bound on every block that the lineup has not given up."""
        given_up = -math.inf if lineup is None else lineup.settled
        self.bound = min(self.bound, max(bound, self.value, given_up))

    def check(self, lineup: Lineup | None) -> None:
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
            raise Done
        if lineup is not None and self.bound <= lineup.settled:
            raise Reached

    @property
    def hurried(self) -> bool:
        """Whether there is a time limit."""
        return not math.isinf(self.deadline)

    def left(self) -> float:
        """Return how much work there is still time for, at the pace so far."""
        now = time.perf_counter()
        spent = now - self.began - self.loading
        return (self.deadline - now) * self.work / spent if self.hurried else math.inf

    def nothing_left(self, lineup: Lineup) -> NoReturn:
        """Take note that no block beats what the lineup has given up, and stop."""
        self.lower(lineup, -math.inf)
        raise Done if lineup.aim <= self.floor else Reached

    def pause(self) -> None:
        """Look at the clock in the middle of something."""
        self.check(None)
