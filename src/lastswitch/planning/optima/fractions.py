"""Pays as the fractions they were meant to be, and what follows for proofs."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch.model.blocks import block_pays
from lastswitch.model.states import state_after

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

#: Of the fractions that round to a pay, the simplest is taken if its denominator is no larger.
LARGEST_DENOMINATOR = 1_000_000


@lru_cache(maxsize=10_000)  # pays come again and again, and this is slower than planning
def as_fraction(pay: float) -> Fraction:
    """Return ``pay`` as the fraction meant: 0.95 is 19/20, 1/3 is 1/3.

    Examples
    --------
    >>> as_fraction(0.95), as_fraction(1 / 3)
    (Fraction(19, 20), Fraction(1, 3))
    """
    exact = Fraction(pay)
    simple = exact.limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == pay else exact


def cycle_fraction(bandit: Bandit, cycle: tuple[int, ...]) -> Fraction:
    """Return r(B | τ_B), what one turn of ``cycle`` repeated for ever pays, as a fraction.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> cycle_fraction(Bandit([Curve([0, 0.9], [0]), Curve([0.3], [0.3])]), (0, 1, 1))
    Fraction(3, 2)
    """
    if len(set(cycle)) == 1:  # an endless streak
        return len(cycle) * as_fraction(bandit.curves[cycle[0]].streak[-1])
    return total_fraction(bandit, cycle, state_after(np.ones(bandit.n_arms, dtype=int), cycle))


def total_fraction(bandit: Bandit, sequence: tuple[int, ...], start: IntArray) -> Fraction:
    """Return r(B | start) as a fraction.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> bandit = Bandit([Curve([0, 0.9], [0]), Curve([0.3], [0.3])])
    >>> total_fraction(bandit, (1, 0), bandit.start())
    Fraction(6, 5)
    """
    counts = Counter(block_pays(bandit, sequence, start).tolist())
    return sum((as_fraction(pay) * count for pay, count in counts.items()), Fraction(0))


def closed(value: Fraction, bound: float, bandit: Bandit, length: int, states: int) -> float:
    """Return ``bound``, or ``value`` itself if no mean of another cycle can lie in between.

    Means of two cycles of at most ``states`` rounds over a common denominator D differ by
    at least 1 / (length · states · D) unless they are equal.
    """
    pays = {pay for curve in bandit.curves for pay in (*curve.rest, *curve.streak)}
    common = math.lcm(*(as_fraction(pay).denominator for pay in pays))
    # As fractions: the common denominator of many pays need not fit in a float.
    if Fraction(bound - float(value) + 1e-14) * (length * states * common) < 1:
        return float(value)
    return max(bound, float(value))
