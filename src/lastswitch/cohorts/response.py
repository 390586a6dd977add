"""What a cohort does at given prices: the best plan of every standing, and what it is worth.

A *responder* is any object with ``at(rows, weight)``, which returns a function from prices to a
:class:`Response`; it looks at each standing by itself, so its answer for a row does not depend on
the other rows of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray

#: Arms by round and place, -1 for an empty place.
Played = NDArray[np.int16]


class Response(NamedTuple):
    """Best plans of some standings at some prices.

    Parameters
    ----------
    arms
        (u, length, places): the plan of each; -1 is an empty place.
    value
        (u,): what the plan is worth to the subject: pays and silence, less what soft rules cost.
        Minus infinity if no plan keeps the rules.
    bound
        (u,): no plan has a larger weight * value - prices.
    """

    arms: Played
    value: FloatArray
    bound: FloatArray


#: From prices by arm and round to the best plans.
Respond = Callable[[FloatArray], Response]


class Responder(Protocol):
    """Finds best plans at prices."""

    def at(self, rows: IntArray, weight: FloatArray) -> Respond:
        """Return for these standings the function from prices to best plans.

        A plan is best if its weight * value - price of its plays is largest; ``price[arm, t]`` is
        that of a play of ``arm`` in round ``t``, and ``weight`` is by row.
        """


def used(arms: Played, counts: BoolArray) -> IntArray:
    """Return how many plays of each plan every budget row counts, (u, rows).

    Examples
    --------
    >>> arms = np.array([[[0], [1]], [[-1], [0]]], np.int16)
    >>> used(arms, np.array([[[True, True], [False, False]]])).tolist()  # plays of arm 0
    [[1], [1]]
    """
    uses = np.zeros((len(arms), len(counts)), np.int64)
    for t in range(arms.shape[1]):
        for place in range(arms.shape[2]):
            arm = arms[:, t, place]
            uses += np.where((arm >= 0)[:, None], counts[:, arm, t].T, False)
    return uses
