"""What every answer promises: ``bound`` >= the best possible >= ``value``.

One base for plans and optima, so that value, bound, gap and optimal mean the same of both.
"""

from __future__ import annotations

import math

from lastswitch._utils.checks import is_number
from lastswitch.errors import PlanError

#: Relative size below which a difference between two sums of pays is rounding.
TOLERANCE = 1e-9


def rounding(*sizes: float) -> float:
    """Return how much two sums of numbers of the given sizes may differ by rounding alone.

    Examples
    --------
    >>> rounding(0.5, -2.0), rounding(1e-11)
    (2e-09, 1e-20)
    """
    return TOLERANCE * max(abs(size) for size in sizes)


class Certificate:
    """A value, a bound on the best possible, and what follows from the two.

    A subclass has the fields ``value`` and ``bound``, calls :meth:`_certify` when it is built, and
    may say in :attr:`scale` how large the numbers were whose sums they are.
    """

    value: float
    bound: float

    @property
    def scale(self) -> float:
        """The size of the numbers summed up: what rounding is relative to."""
        return 0.0

    @property
    def gap(self) -> float:
        """How far below the best possible the value can be, relative to the value."""
        return max(self.bound - self.value, 0.0) / max(abs(self.value), 1e-300)

    @property
    def optimal(self) -> bool:
        """Whether the value is proven to be the best possible, up to rounding."""
        if not math.isfinite(self.bound):
            return False  # nothing is proven, and rounding is no less than infinite
        return self.bound <= self.value or self.bound <= self.value + self._rounding()

    def _rounding(self) -> float:
        return rounding(self.value, self.bound, self.scale)

    def _certify(self) -> None:
        """Turn value and bound into floats; refuse a value above its bound, or without end."""
        for name in ("value", "bound"):
            number = getattr(self, name)
            if not is_number(number):
                raise PlanError(f"{name} must be a number, got {number!r}.")
            object.__setattr__(self, name, float(number))
        if math.isinf(self.value):
            raise PlanError(f"value must be finite, got {self.value}; are pays or costs too large?")
        # Written so that a NaN on either side is refused too.
        if not (self.value <= self.bound or self.value <= self.bound + self._rounding()):
            raise PlanError(
                f"value {self.value} is not within bound {self.bound}: the certificate is "
                "broken; please report the problem that gave it."
            )
