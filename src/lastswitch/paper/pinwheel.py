"""What is known of a pinwheel instance from its density."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from lastswitch.model.instances import checked_periods


class PinwheelFacts(NamedTuple):
    """What is known of a pinwheel instance from its periods alone.

    Attributes
    ----------
    density
        Σ 1/d_i, exact.
    packing
        Whether every task can be served at least once in any d_i rounds; ``None`` if the
        density does not tell.
    covering
        Whether every round can be filled with a task served at most once in any d_i rounds;
        ``None`` if the density does not tell.
    """

    density: Fraction
    packing: bool | None
    covering: bool | None


def pinwheel_density(periods: Sequence[int]) -> Fraction:
    """Return the density Σ 1/d_i of a pinwheel instance; it is dense when this is 1.

    Examples
    --------
    >>> pinwheel_density([2, 4, 8, 8])
    Fraction(1, 1)
    """
    return sum((Fraction(1, period) for period in checked_periods(periods)), Fraction(0))


def pinwheel_facts(periods: Sequence[int]) -> PinwheelFacts:
    """Say what the density of a pinwheel instance decides, and what it leaves open.

    Packing (the classical problem, at least once in any d_i rounds): impossible above density 1,
    always possible up to 5/6 (Kawamura 2024), and up to 1 with at most two distinct periods.
    Covering (what the reward 1{delay ≥ d_i} of Proposition 1 asks, at most once in any d_i
    rounds): impossible below 1, always possible from Σ_{i≥0} 1/(2^i + 1) ≈ 1.264 on (Kawamura
    and Kobayashi 2025). At density 1 the two are the same question, and it is NP-complete.

    Examples
    --------
    >>> pinwheel_facts([2, 4, 4])
    PinwheelFacts(density=Fraction(1, 1), packing=True, covering=True)
    >>> pinwheel_facts([2, 3, 4]).packing, pinwheel_facts([2, 3, 4]).covering
    (False, None)
    """
    density = pinwheel_density(periods)
    packing: bool | None = None
    if density > 1:
        packing = False
    elif density <= Fraction(5, 6) or len(set(periods)) <= 2:
        packing = True
    covering: bool | None = None
    if density < 1:
        covering = False
    elif density >= _covering_threshold():
        covering = True
    if density == 1 and packing is not None:
        covering = packing
    return PinwheelFacts(density, packing, covering)


def _covering_threshold() -> Fraction:
    """Return Σ_{i≥0} 1/(2^i + 1) rounded up by less than 2⁻⁵⁹; the sum itself is irrational."""
    return sum((Fraction(1, 2**i + 1) for i in range(60)), Fraction(1, 2**59))
