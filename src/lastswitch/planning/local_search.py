"""Better blocks, one try after the other, for as long as someone asks.

A few arms at a time are planned anew. Where that has failed again and again no choice of a few arms
is left that makes the block better; a better one may still be a few steps away. So the search
then steps to a block a little worse and goes on from there, and after a while returns to the best.
"""

from __future__ import annotations

import math

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.automata import Automata
from lastswitch.planning.neighbourhood import Neighbourhoods
from lastswitch.planning.params import DEFAULT, SearchParams

#: What a try costs in states swept, besides the work it counts.
TRY_WORK = 60_000


class LocalSearch:
    """A walk from block to block, never far from the best one.

    Parameters
    ----------
    automata
        All arms.
    params
        The constants of the search.
    """

    def __init__(self, automata: Automata, params: SearchParams = DEFAULT) -> None:
        self.automata, self.params = automata, params
        self.work = 0  # as a search counts it
        self._around = Neighbourhoods(automata, params)
        self._best = self._value = -math.inf
        self._block: IntArray | None = None
        self._failures = self._shakes = 0

    @property
    def stuck(self) -> bool:
        """Whether no choice of a few arms makes the best block better, as far as was tried."""
        return self._shakes > 0

    def better(
        self, best: IntArray, value: float, price: FloatArray, claims: FloatArray, rounding: float
    ) -> IntArray | None:
        """Try once; return a block that is worth more than ``best``, which is worth ``value``.

        ``price`` and ``claims`` are those of the slots, and of each arm on each of them.
        """
        if self._block is None or value > self._best:
            self._block, self._failures, self._shakes = best, 0, 0
            self._best = self._value = value
        patience = self.params.free_tries * self.automata.n_arms
        if self._failures >= (self.params.shake_tries if self._shakes else patience):
            self._shake(best, price, claims)
        found, work = self._around.improved(self._block, price, claims, rounding)
        self.work += TRY_WORK + work
        self._failures += 1
        if found is None:
            return None
        worth = self.automata.value(found)
        if worth > self._value:
            self._block, self._value, self._failures = found, worth, 0
        return found if worth > value else None

    def _shake(self, best: IntArray, price: FloatArray, claims: FloatArray) -> None:
        """Step aside: from the best block every now and then, or if this one is much worse."""
        assert self._block is not None
        again = self._shakes % self.params.shakes == 0
        if again and self._shakes:
            self._around.widen()
        if again or self._value < self._best - self.params.shake_loss * abs(self._best):
            self._block, self._value = best, self._best
        self._shakes += 1
        self._failures = 0
        found, work = self._around.shaken(self._block, price, claims)
        self.work += TRY_WORK + work
        if found is not None:
            self._block, self._value = found, self.automata.value(found)
