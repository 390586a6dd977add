"""Weights of subjects, as few levels as prices need.

At given prices the best plan of a subject depends on its weight, and what it makes, as a function
of the weight, is convex: planned for at a few levels, a chord between two of them is never too low.
With few different weights each is a level, and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.errors import StateError

#: Different weights that are planned for.
MOST_LEVELS = 16


def checked_weights(weight: ArrayLike | None, n: int) -> FloatArray:
    """Return one weight per subject, 1 by default; refuse what is none.

    Examples
    --------
    >>> checked_weights(None, 2).tolist()
    [1.0, 1.0]
    """
    if weight is None:
        return np.ones(n)
    given = np.asarray(weight, np.float64)
    if given.shape != (n,):
        raise StateError(f"weights need one number per subject ({n}), got shape {given.shape}.")
    wrong = ~((given > 0) & np.isfinite(given))
    if wrong.any():
        raise StateError(
            f"weights are positive numbers, got {given[np.argmax(wrong)]} for subject "
            f"{int(np.argmax(wrong))}."
        )
    return given


@dataclass(frozen=True, eq=False)
class Levels:
    """The weights that are planned for, in order.

    Examples
    --------
    >>> levels = Levels.of(np.array([1.0, 3.0, 1.0]))
    >>> levels.weight.tolist(), levels.columns(np.array([1.2, 3.0])).tolist()
    ([1.0, 3.0], [[0, 1], [1, 1]])
    """

    weight: FloatArray

    @classmethod
    def of(cls, weight: FloatArray) -> Levels:
        """Return levels for these weights: themselves, or as many as are planned for."""
        different = np.unique(weight)
        if len(different) <= MOST_LEVELS:
            return cls(different)
        between = np.geomspace(different[0], different[-1], MOST_LEVELS)
        between[[0, -1]] = different[0], different[-1]
        return cls(between)

    def columns(self, weight: FloatArray) -> IntArray:
        """Return (n, 2): the nearest level, and the one on the other side of the weight."""
        last = len(self.weight) - 1
        above = np.minimum(np.searchsorted(self.weight, weight), last)
        below = np.maximum(above - 1, 0)
        below = np.where((self.weight[above] <= weight) | (above == 0), above, below)
        nearer = weight - self.weight[below] < self.weight[above] - weight
        near, far = np.where(nearer, [below, above], [above, below])
        return np.stack([near, far], axis=1)
