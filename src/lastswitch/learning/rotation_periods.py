"""Curves that repeat: what was seen of an arm if rests a period apart pay the same.

Streaks are one group, which has one pay, and so is every place in the period.
"""

from __future__ import annotations

import math

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import jit


@jit(inner=True)
def log_beta_of(n: float, s: float) -> float:
    """Return the log of B(1 + s, 1 + n - s): how likely n rewards of sum s are of one pay."""
    return math.lgamma(1.0 + s) + math.lgamma(1.0 + n - s) - math.lgamma(2.0 + n)


@jit(inner=True)
def log_periodic(
    n: FloatArray, s: FloatArray, alone: FloatArray, streaks: int, period: int
) -> float:
    """Return the log-likelihood of what was seen if rests a period apart pay the same.

    It is compared with ``alone``, what each state says by itself, and so is a sum over groups in
    which several were seen.
    """
    total = 0.0
    for group in range(-1, period):
        first, last, apart = 0, streaks, 1
        if group >= 0:
            first, last, apart = streaks + group, n.size, period
        states, count, paid, apiece = 0, 0.0, 0.0, 0.0
        for place in range(first, last, apart):
            if n[place] > 0.0:
                states += 1
                count += n[place]
                paid += s[place]
                apiece += alone[place]
        if states > 1:
            total += log_beta_of(count, paid) - apiece
    return total


@jit(inner=True, makes_arrays=True)
def pay_periodic(
    weight: float,
    n: FloatArray,
    streaks: int,
    period: int,
    widths: FloatArray,
    likely: FloatArray,
    pays: FloatArray,
) -> None:
    """Add to ``pays`` what states pay if rests a period apart pay the same, weighed."""
    size, share = widths.size, np.empty(widths.size)
    for group in range(-1, period):
        first, last, apart = 0, streaks, 1
        if group >= 0:
            first, last, apart = streaks + group, pays.shape[0], period
        share[:] = widths
        for place in range(first, last, apart):
            if n[place] > 0.0:
                total = 0.0
                for k in range(size):
                    share[k] *= likely[place, k]
                    total += share[k]
                for k in range(size):
                    share[k] /= total
        for place in range(first, last, apart):
            for k in range(size):
                pays[place, k] += weight * share[k]
