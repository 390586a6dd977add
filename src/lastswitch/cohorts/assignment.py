"""From shares of plans to whole subjects: who plays what, so that every budget holds.

A mix says which share of the subjects at a standing has which plan. Where there are few choices an
integer program makes whole numbers of them; where there are many, standings are gone through in
order and each takes the whole numbers that keep what was used so far nearest to what the shares
say, so that the difference stays a few plays however many subjects there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit

#: Shares of subjects that are whole but for rounding.
SLACK = 1e-7


class Choices(NamedTuple):
    """The plans standings may choose from; those of standing ``s`` are ``first[s]:first[s+1]``.

    Parameters
    ----------
    first
        (d + 1,)
    subjects
        (d,): how many there are at each standing.
    use
        (P, rows): plays of each plan that each budget row counts.
    worth
        (P,): what a subject with this plan adds to the value, its weight included.
    """

    first: IntArray
    subjects: IntArray
    use: IntArray
    worth: FloatArray

    @property
    def owner(self) -> IntArray:
        """The standing of each plan."""
        return np.repeat(np.arange(len(self.subjects)), np.diff(self.first))


@jit(makes_arrays=True)
def balanced(
    first: IntArray,
    count: IntArray,
    use: FloatArray,
    worth: FloatArray,
    share: FloatArray,
    number: IntArray,
) -> None:
    """Write whole numbers of subjects near the shares, keeping the sums of use and worth near too.

    ``use`` and ``worth`` are scaled so that a difference of one matters alike in each.
    """
    rows = use.shape[1]
    off, off_worth = np.zeros(rows), 0.0  # what is taken less what the shares say, so far
    for s in range(len(count)):
        low, high = first[s], first[s + 1]
        left = count[s]
        for k in range(low, high):
            exact = count[s] * share[k]
            number[k] = int(np.floor(exact + SLACK))
            left -= number[k]
            for r in range(rows):
                off[r] += (number[k] - exact) * use[k, r]
            off_worth += (number[k] - exact) * worth[k]
        for _ in range(left):
            best, chosen = np.inf, low
            for k in range(low, high):
                if number[k] >= count[s] * share[k] - SLACK:
                    continue  # it has its share
                away = (off_worth + worth[k]) ** 2
                for r in range(rows):
                    away += (off[r] + use[k, r]) ** 2
                if away < best:
                    best, chosen = away, k
            number[chosen] += 1
            for r in range(rows):
                off[r] += use[chosen, r]
            off_worth += worth[chosen]


def whole_numbers(
    choices: Choices, left: IntArray, gap: float, time_limit: float | None
) -> tuple[IntArray | None, float]:
    """Return how many subjects have each plan, by an integer program; and a bound on its value.

    None if no numbers keep what is ``left`` of the budgets, or none were found in time; the bound
    is minus infinity only in the first case.

    Examples
    --------
    >>> choices = Choices(np.array([0, 2]), np.array([5]), np.array([[1], [0]]),
    ...                   np.array([1.0, 0.25]))
    >>> whole_numbers(choices, np.array([3]), 0.0, None)[0].tolist()
    [3, 2]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    plans, owner = len(choices.worth), choices.owner
    if not plans:
        return np.zeros(0, np.int64), 0.0
    each = csr_array(
        (np.ones(plans), (owner, np.arange(plans))), shape=(len(choices.subjects), plans)
    )
    options: Any = {"mip_rel_gap": gap}
    if time_limit is not None:
        options["time_limit"] = max(time_limit, 0.01)
    scale = float(np.abs(choices.worth).max(initial=0.0)) or 1.0
    answer = milp(
        -choices.worth / scale,
        constraints=[
            LinearConstraint(each, choices.subjects, choices.subjects),
            LinearConstraint(csr_array(choices.use.T.astype(np.float64)), -np.inf, left),
        ],
        integrality=np.ones(plans, np.int64),
        bounds=Bounds(np.zeros(plans), choices.subjects[owner]),
        options=options,
    )
    if answer.status == 2:
        return None, -np.inf
    bound = np.inf if answer.mip_dual_bound is None else -float(answer.mip_dual_bound) * scale
    if answer.x is None:
        return None, bound
    return np.round(answer.x).astype(np.int64), bound
