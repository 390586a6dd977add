"""What a search knows: the best schedule so far, a bound on all, and what rounding may hide."""

from __future__ import annotations

import math

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.search.neighbourhood import Schedule
from lastswitch.planning.search.tiny import VISIBLE

#: Relative to the size of the pays: sums that differ by less are equal but for rounding.
ROUNDING = 1e-13
#: What to take of it where that much would show: as much as an addition or two may differ by.
SHARP = 1 / 64


class Incumbent:
    """The best schedule so far and a bound on all.

    Parameters
    ----------
    model
        What is planned.
    gap
        Good enough: (bound - value) <= gap * |value|.
    beat
        Only schedules worth more than this are looked for.
    """

    def __init__(self, model: Model, gap: float, beat: float) -> None:
        self.model, self.gap = model, gap
        self.schedule: Schedule | None = None
        self.value, self.bound = beat, math.inf
        self.price: FloatArray | None = None
        self.rounding = 0.0
        self._pays: list[FloatArray] = []

    def offer(self, schedule: Schedule, value: float | None = None) -> None:
        """Make this schedule the incumbent if it is better; its value may be known."""
        value = self.model.value(schedule) if value is None else value
        if value > self.value:
            self.schedule, self.value = schedule, value

    @property
    def answered(self) -> bool:
        """Whether there is something to answer: a schedule, or that none beats what was to beat."""
        return self.value > -math.inf

    @property
    def floor(self) -> float:
        """What a schedule has to beat to be worth finding."""
        if not self.answered:
            return -math.inf
        # Pays too bad for any good schedule blur the sums until their arcs are deleted.
        rounding = SHARP * self.rounding if self.blurred else self.rounding
        return self.value + max(rounding, self.gap * abs(self.value))

    def lower(self, bound: float) -> None:
        """Take note of a bound on every schedule."""
        self.bound = min(self.bound, max(bound, self.value))

    def reported_bound(self) -> float:
        """Return the bound: the value itself where they differ by rounding that nobody sees.

        Schedules better by less than the rounding were not looked for, so a bound that says they do
        not exist would be wrong where such a difference counts.
        """
        if not self.answered or self.bound > self.value + self.rounding:
            return self.bound
        return self.value + self.rounding if self.blurred else self.value

    def measure(self, diagram: Diagram, largest: float | None = None) -> None:
        """Say how much sums of the pays that are left may differ by rounding alone.

        The largest size of a pay or an end may be given.
        """
        shared = self.model.shared
        self._pays = [part for part in (diagram.gain, diagram.final) if len(part)]
        if largest is None:
            largest = max(float(np.abs(part).max()) for part in self._pays)
        terms = diagram.length
        if shared is not None:
            largest, terms = max(largest, abs(shared.silence)), terms * shared.plays[1]
        self.rounding = ROUNDING * terms * largest

    @property
    def blurred(self) -> bool:
        """Whether pays so large are left that rounding may show: in the value, or in a pay."""
        if self.rounding <= VISIBLE * abs(self.value):
            return False
        sizes = np.abs(np.concatenate(self._pays))
        return self.rounding > VISIBLE * float(sizes.min(where=sizes > 0.0, initial=math.inf))


def plain_bound(model: Model) -> float:
    """Return the best pay of each round and the best end of each arm, summed up, of arms alone."""
    facts = model.arms.survey()
    return float(facts[:-3].sum() + model.n_arms * facts[-3])
