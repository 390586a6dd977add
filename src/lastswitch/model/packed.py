"""Many curves in one array: what any arm pays in any state, read for all arms at once."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.model.curves import Curve
from lastswitch.model.states import column


class PackedCurves(NamedTuple):
    """Curves laid end to end, so that a kernel can read any of them in any state."""

    values: FloatArray  # rest table, then streak table, arm after arm
    rest_from: IntArray  # where each arm's rest table begins
    rest_size: IntArray
    streak_from: IntArray
    streak_size: IntArray
    repeats: BoolArray  # whether the rest table is a season

    def pays(self, states: IntArray) -> FloatArray:
        """Return what each arm pays in its row of ``states``; a single row is every arm's.

        Examples
        --------
        >>> pack((Curve([0.2, 0.9], [0.1]), Curve([0.4], [0.3]))).pays(np.array([[1, 5, -1]]))
        array([[0.2, 0.9, 0.1],
               [0.4, 0.4, 0.3]])
        """
        sizes = self.rest_size[:, None], self.streak_size[:, None]
        at = self.rest_from[:, None] + column(states, *sizes, self.repeats[:, None])
        pays: FloatArray = self.values[at]
        return pays


@lru_cache(maxsize=64)  # planning reads the same arms again and again
def pack(curves: tuple[Curve, ...]) -> PackedCurves:
    """Lay ``curves`` end to end."""
    rest_size = np.array([len(curve.rest) for curve in curves])
    streak_size = np.array([len(curve.streak) for curve in curves])
    sizes = rest_size + streak_size
    rest_from = np.cumsum(sizes) - sizes
    entries = chain.from_iterable(table for curve in curves for table in (curve.rest, curve.streak))
    return PackedCurves(
        np.fromiter(entries, dtype=np.float64, count=int(sizes.sum())),
        rest_from,
        rest_size,
        rest_from + rest_size,
        streak_size,
        np.array([curve.tail == "repeat" for curve in curves]),
    )
