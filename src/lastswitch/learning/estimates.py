"""What rewards have taught so far: a count and a sum per (arm, state), as plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.model.states import column


class Estimates:
    """Counts and sums of the rewards seen in each state of each arm.

    An arm's cells are its rest states 1..``rest``, then its streak states -1..-``streak``, as
    :func:`~lastswitch.model.states.column` counts them. With ``streak=1`` they are the paper's
    delays 2, ..., ``rest`` + 1 and 1.

    Parameters
    ----------
    n_arms
        Number of arms.
    rest
        Rest states told apart; with 0 of them, rest falls into the first streak cell.
    streak
        Streak states told apart, at least one.

    Examples
    --------
    >>> seen = Estimates(n_arms=2, rest=3, streak=1)
    >>> seen.add(1, 2, 1.0)
    >>> seen.add(1, 7, 0.0)  # beyond the table: the last rest cell
    >>> seen.counts
    [0, 0, 0, 0, 0, 1, 1, 0]
    """

    __slots__ = ("counts", "n_arms", "rest", "streak", "sums", "width")

    def __init__(self, n_arms: int, rest: int, streak: int) -> None:
        self.n_arms, self.rest, self.streak = n_arms, rest, streak
        self.width = rest + streak
        self.counts = [0] * (n_arms * self.width)
        self.sums = [0.0] * (n_arms * self.width)

    def cell(self, arm: int, tau: int) -> int:
        """Return where the state ``tau`` of ``arm`` is kept.

        Examples
        --------
        >>> seen = Estimates(n_arms=2, rest=3, streak=2)
        >>> [seen.cell(1, tau) for tau in (-5, -2, -1, 1, 3, 4)]
        [9, 9, 8, 5, 7, 7]
        """
        return arm * self.width + column(tau, self.rest, self.streak)

    def add(self, arm: int, tau: int, reward: float) -> None:
        """Count one reward of ``arm`` in state ``tau``."""
        cell = self.cell(arm, tau)
        self.counts[cell] += 1
        self.sums[cell] += reward

    def optimistic(self, alpha: float, t: int) -> FloatArray:
        r"""Return the paper's upper confidence bounds, one row per arm, +∞ where nothing was seen.

        :math:`U = \bar X + \sqrt{\alpha \log t / n}`: Laforgue et al. (2022), Algorithm 1.

        Examples
        --------
        >>> seen = Estimates(n_arms=1, rest=1, streak=1)
        >>> seen.add(0, 1, 0.5)
        >>> seen.optimistic(alpha=1.5, t=1).tolist()
        [[0.5, inf]]
        """
        counts = np.array(self.counts, dtype=float)
        sums = np.array(self.sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds: FloatArray = sums / counts + np.sqrt(alpha * math.log(t) / counts)
        bounds[counts == 0.0] = np.inf
        return bounds.reshape(self.n_arms, self.width)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and sums, JSON-able (see :meth:`restore`)."""
        return {"counts": list(self.counts), "sums": list(self.sums)}

    def restore(self, data: dict[str, Any]) -> None:
        """Take back what :meth:`to_dict` returned."""
        self.counts, self.sums = list(data["counts"]), list(data["sums"])


def unvisited_first(bounds: FloatArray, length: int) -> FloatArray:
    """Return finite ``bounds`` whose best block is the best with infinities compared first.

    Blocks of ``length`` pulls are to be compared by how many infinite bounds they hold, and only
    then by the sum of the finite ones. Two sums of at most ``length`` finite bounds differ by at
    most ``length`` × (largest − smallest), 0 included, so any larger number in the place of
    infinity orders blocks in exactly this way.

    Examples
    --------
    >>> unvisited_first(np.array([[np.inf, 0.5], [1.5, 0.0]]), length=2).tolist()
    [[4.0, 0.5], [1.5, 0.0]]
    """
    infinite = np.isinf(bounds)
    if not infinite.any():
        return bounds
    finite = np.where(infinite, 0.0, bounds)
    spread = max(float(finite.max()), 0.0) - min(float(finite.min()), 0.0)
    finite[infinite] = 1.0 + length * spread
    return finite
