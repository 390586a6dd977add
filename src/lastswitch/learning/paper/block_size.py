"""The block size that Theorem 1 or 2 of Laforgue et al. (2022) likes best."""

from __future__ import annotations

import math
from typing import NamedTuple

#: The constant of the third term of Theorems 1 and 2, π²/3 + 1.
_START = math.pi**2 / 3 + 1


class RegretBound(NamedTuple):
    """The three terms of Theorem 1 or 2.

    Attributes
    ----------
    approximation
        What blocks of this size cost even with known curves.
    estimation
        What learning the best block costs.
    start
        What the first rounds cost; does not grow with the horizon.
    """

    approximation: float
    estimation: float
    start: float

    @property
    def total(self) -> float:
        """The bound itself: the sum of the three terms.

        Examples
        --------
        >>> RegretBound(approximation=3.0, estimation=2.0, start=1.0).total
        6.0
        """
        return self.approximation + self.estimation + self.start


def regret_terms(n_arms: int, horizon: int, size: int, streaks: bool) -> RegretBound:
    """Evaluate the three printed terms, without the divisibility the theorems ask for.

    Examples
    --------
    >>> regret_terms(5, 100, 10, streaks=False).approximation
    50.0
    """
    base = 2 * n_arms if streaks else n_arms
    return RegretBound(
        approximation=(n_arms + 2 if streaks else n_arms) * horizon / size,
        estimation=47 * size * math.sqrt(base * horizon * math.log(horizon / size)),
        start=_START * base * size**3,
    )


def least_regret_size(n_arms: int, horizon: int, streaks: bool, *, dividing: bool = False) -> int:
    """Return the size of at least 2 whose terms have the smallest sum; T itself if T is 2.

    Examples
    --------
    >>> least_regret_size(2, 10**6, streaks=False)
    3
    """
    best, least = horizon, regret_terms(n_arms, horizon, horizon, streaks).total
    for size in range(2, horizon):
        terms = regret_terms(n_arms, horizon, size, streaks)
        if 2 * size <= horizon and terms.start + terms.estimation > least:
            break  # both still grow up to T/2; beyond, the third alone exceeds the bound at 2
        if dividing and size * size > horizon and best == horizon:
            break  # T is prime
        if terms.total < least and not (dividing and horizon % size):
            best, least = size, terms.total
    return best
