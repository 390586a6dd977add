"""Perturbation: better schedules a few steps away, where planning a part anew is stuck.

Where no neighbourhood makes a schedule better, a few plays are made to change, at a small loss, and
it goes on from there. After a while, or where too much was lost, it returns to the best.
"""

from __future__ import annotations

import math

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.diagrams.diagram import Model
from lastswitch.planning.search.neighbourhood import Neighbourhoods, Schedule
from lastswitch.planning.search.params import DEFAULT, SearchParams


class Perturbation:
    """A walk from schedule to schedule, never far from the best one.

    Parameters
    ----------
    model
        All arms, and the automata they share.
    params
        The constants of the search.
    """

    def __init__(self, model: Model, params: SearchParams = DEFAULT) -> None:
        self.model, self.params = model, params
        self.work = 0  # states swept and nodes expanded
        self._around = Neighbourhoods(model, params)
        self._best = self._value = -math.inf
        self._schedule: Schedule | None = None
        self._failures = self._perturbations = 0
        self._last_improvement = 0  # the work until a better schedule was last found

    @property
    def stalled(self) -> bool:
        """Whether it has been in vain for much longer than what was found took."""
        params = self.params
        return (
            self.work
            > params.perturbation_patience + params.perturbation_again * self._last_improvement
        )

    def better(
        self, best: Schedule, value: float, price: FloatArray, usage: FloatArray, rounding: float
    ) -> Schedule | None:
        """Take a step; return a schedule worth more than ``best``, which is worth ``value``.

        ``price`` and ``usage`` are those of the rounds, and of each arm on each of them.
        """
        if self._schedule is None or value > self._best:
            self._schedule, self._perturbations = best, 0
            self._best = self._value = value
            self._failures = 0
        if self._failures >= self.params.perturbed_tries:
            self._perturb(best, price, usage, rounding)
        found, work = self._around.improved(self._schedule, price, usage, rounding)
        self.work += self._around.try_work + work
        self._failures += 1
        if found is None:
            return None
        worth = self.model.value(found)
        if worth > self._value:
            self._schedule, self._value, self._failures = found, worth, 0
        if worth <= value:
            return None
        self._last_improvement = self.work
        return found

    def _perturb(
        self, best: Schedule, price: FloatArray, usage: FloatArray, rounding: float
    ) -> None:
        """Step aside: from the best schedule every now and then, or if this one is much worse."""
        assert self._schedule is not None
        again = self._perturbations % self.params.perturbations == 0
        if again and self._perturbations:
            self._around.widen()
        if again or self._value < self._best - self.params.perturbed_loss * abs(self._best):
            self._schedule, self._value = best, self._best
        self._perturbations += 1
        self._failures = 0
        found, work = self._around.perturbed(self._schedule, price, usage, rounding)
        self.work += self._around.try_work + work
        if found is not None:
            self._schedule, self._value = found, self.model.value(found)
