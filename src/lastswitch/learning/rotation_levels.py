r"""Which levels an arm's states may pay, and how likely each is of what a state paid.

What is believed of a curve lives on a few levels in (0, 1), each standing for the stretch around
it. Stretches are even at first, and halved wherever a state was seen so often that its mean is
known better than they are wide: a state seen a thousand times has its mean to within its own
error, and one hardly seen costs nothing.
"""

from __future__ import annotations

import math

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import jit

#: Even stretches to begin with, and the most there may be.
_EVEN, _MOST = 20, 160
#: Stretches within so many deviations of a state's mean are at most one deviation wide.
_REACH = 2.5
#: Likelihoods below this share of a state's largest count as this: no pay is impossible.
_LEAST = -60.0


@jit(inner=True)
def _too_wide(low: float, high: float, mean: FloatArray, deviation: FloatArray) -> bool:
    """Tell whether some state's mean is known better than this stretch says."""
    middle, width = 0.5 * (low + high), high - low
    for k in range(mean.size):
        near = _REACH * deviation[k] + 0.5 * width
        if width > deviation[k] and abs(middle - mean[k]) < near:
            return True
    return False


@jit(makes_arrays=True)
def levels_of(n: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the levels, rising, and how wide a stretch each stands for.

    Parameters
    ----------
    n, s
        Rewards and their sum by state.
    """
    mean, deviation, known = np.empty(n.size), np.empty(n.size), 0
    for state in range(n.size):
        here = (1.0 + s[state]) / (2.0 + n[state])
        spread = math.sqrt(here * (1.0 - here) / (3.0 + n[state]))
        if spread < 1.0 / _EVEN:
            mean[known], deviation[known] = here, spread
            known += 1
    levels, widths, found = np.empty(_MOST), np.empty(_MOST), 0
    lows, highs = np.empty(_MOST), np.empty(_MOST)  # stretches still to be looked at, topmost last
    for stretch in range(_EVEN):
        lows[stretch], highs[stretch] = 1.0 - (stretch + 1) / _EVEN, 1.0 - stretch / _EVEN
    left = _EVEN
    while left > 0:
        left -= 1
        low, high = lows[left], highs[left]
        room = found + left + 2 <= _MOST
        if room and _too_wide(low, high, mean[:known], deviation[:known]):
            middle = 0.5 * (low + high)
            lows[left], highs[left] = middle, high
            lows[left + 1], highs[left + 1] = low, middle
            left += 2
        else:
            levels[found], widths[found] = 0.5 * (low + high), high - low
            found += 1
    return levels[:found].copy(), widths[:found].copy()


@jit(makes_arrays=True)
def likelihoods(n: FloatArray, s: FloatArray, levels: FloatArray, widths: FloatArray) -> FloatArray:
    """Return by state and level how likely it paid what it did, 1 on average over all levels."""
    likely = np.ones((n.size, levels.size))
    hit, miss = np.log(levels), np.log1p(-levels)
    for state in range(n.size):
        if n[state] <= 0.0:
            continue
        here, most, total = likely[state], -np.inf, 0.0
        for k in range(levels.size):
            here[k] = s[state] * hit[k] + (n[state] - s[state]) * miss[k]
            most = max(most, here[k])
        for k in range(levels.size):
            here[k] = math.exp(max(here[k] - most, _LEAST))
            total += widths[k] * here[k]
        for k in range(levels.size):
            here[k] /= total
    return likely


def likelihoods_reference(
    n: FloatArray, s: FloatArray, levels: FloatArray, widths: FloatArray
) -> FloatArray:
    """Say what :func:`likelihoods` means, a state at a time."""
    rows = []
    for seen, paid in zip(n.tolist(), s.tolist(), strict=True):
        log = paid * np.log(levels) + (seen - paid) * np.log1p(-levels)
        likely = np.exp(np.maximum(log - log.max(), _LEAST))
        rows.append(likely / (widths @ likely))
    return np.array(rows)
