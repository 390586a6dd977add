"""The index of RAW-UCB, compiled: a minimum over windows for every arm in every round."""

from __future__ import annotations

import math

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray
from lastswitch._utils.jit import jit


@jit(makes_arrays=True)
def largest_index(windows: FloatArray, root: float, allowed: BoolArray | None) -> int:
    """Return the first arm whose least window mean + ``root`` / √window is largest.

    Column j of ``windows`` holds means of 2^j rewards, infinite where there are fewer rewards.
    """
    best, value = -1, -math.inf
    for arm in range(windows.shape[0]):
        if allowed is None or allowed[arm]:
            least, doubt = math.inf, root
            for level in range(windows.shape[1]):
                if windows[arm, level] == math.inf:
                    break
                least = min(least, windows[arm, level] + doubt)
                doubt *= math.sqrt(0.5)
            if least > value:
                best, value = arm, least
    return best


def largest_index_reference(windows: FloatArray, root: float, allowed: BoolArray | None) -> int:
    """Say what :func:`largest_index` does, in one expression."""
    sizes = 2.0 ** np.arange(windows.shape[1])
    least = (windows + root / np.sqrt(sizes)).min(axis=1)
    return int(np.argmax(least if allowed is None else np.where(allowed, least, -np.inf)))
