"""Better blocks a few steps away: a walk that steps aside where planning a few arms anew is stuck.

Where no choice of a few arms makes a block better, a few slots are made to change hands, at a small
loss, and it goes on from there. After a while, or where too much was lost, it returns to the best.
"""

from __future__ import annotations

import math

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.automata import Automata
from lastswitch.planning.neighbourhood import TRY_WORK, Neighbourhoods
from lastswitch.planning.params import DEFAULT, SearchParams


class Walk:
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
        self.work = 0  # states swept and nodes expanded
        self._around = Neighbourhoods(automata, params)
        self._best = self._value = -math.inf
        self._block: IntArray | None = None
        self._failures = self._shakes = 0
        self._lucky = 0  # the work until a better block was last found

    @property
    def tired(self) -> bool:
        """Whether it has been in vain for much longer than what was found took."""
        params = self.params
        return self.work > params.walk_patience + params.walk_again * self._lucky

    def better(
        self, best: IntArray, value: float, price: FloatArray, claims: FloatArray, rounding: float
    ) -> IntArray | None:
        """Take a step; return a block that is worth more than ``best``, which is worth ``value``.

        ``price`` and ``claims`` are those of the slots, and of each arm on each of them.
        """
        if self._block is None or value > self._best:
            self._block, self._shakes = best, 0
            self._best = self._value = value
            self._failures = 0
        if self._failures >= self.params.shake_tries:
            self._shake(best, price, claims)
        found, work = self._around.improved(self._block, price, claims, rounding)
        self.work += TRY_WORK + work
        self._failures += 1
        if found is None:
            return None
        worth = self.automata.value(found)
        if worth > self._value:
            self._block, self._value, self._failures = found, worth, 0
        if worth <= value:
            return None
        self._lucky = self.work
        return found

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
