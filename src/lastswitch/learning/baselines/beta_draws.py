r"""Which of several Beta posteriors draws the largest number, in a fraction of a microsecond.

Beta(a, b) is X / (X + Y) for independent X ~ Gamma(a) and Y ~ Gamma(b), and a Gamma is drawn as
Marsaglia & Tsang (2000) do, from pairs of a normal and a uniform number that the caller has drawn
ahead. Every draw takes new pairs, so draws are independent whatever has been learned between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lastswitch._utils.arrays import BoolArray, FloatArray
from lastswitch._utils.jit import jit


@jit(makes_arrays=True)
def gamma_draw(shape: float, numbers: FloatArray, at: int) -> tuple[float, int]:
    """Draw from Gamma(``shape``), ``shape`` ≥ 1, with the pairs from ``at`` on.

    Returns the draw and where the unused pairs begin; a negative draw if there were too few.
    """
    size = shape - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * size)
    while at < numbers.shape[1]:
        normal, uniform = numbers[0, at], numbers[1, at]
        at += 1
        root = 1.0 + scale * normal
        if root > 0.0:
            square, cube = normal * normal, root * root * root
            if uniform < 1.0 - 0.0331 * square * square:  # the test below, less often a logarithm
                return size * cube, at
            if math.log(uniform) < 0.5 * square + size * (1.0 - cube + math.log(cube)):
                return size * cube, at
    return -1.0, at


@jit(makes_arrays=True)
def largest_draw(
    posteriors: FloatArray,
    numbers: FloatArray,
    at: int,
    allowed: BoolArray | None,
) -> tuple[int, int]:
    """Draw from every posterior; return whose draw is largest and where unused pairs begin.

    Parameters
    ----------
    posteriors
        Two rows: a and b of each arm's Beta posterior.
    numbers
        Two rows: standard normal numbers and uniform ones in [0, 1).
    at
        The first pair not used yet.
    allowed
        The arms to choose among; ``None`` for all.

    Returns
    -------
    tuple
        The arm is -1 if there were too few pairs. How many pairs a draw takes says nothing of its
        value (it is rejection sampling), so starting over with new pairs biases nothing.
    """
    best, value = -1, -1.0
    for arm in range(posteriors.shape[1]):
        if allowed is None or allowed[arm]:
            x, at = gamma_draw(posteriors[0, arm], numbers, at)
            y, at = gamma_draw(posteriors[1, arm], numbers, at)
            if x < 0.0 or y < 0.0:
                return -1, at
            if x > value * (x + y):
                best, value = arm, x / (x + y)
    return best, at


def largest_draw_reference(
    posteriors: FloatArray,
    numbers: FloatArray,
    at: int,
    allowed: Sequence[bool] | None,
) -> tuple[int, int]:
    """Say what :func:`largest_draw` does, with Marsaglia & Tsang's test as they state it."""
    pairs = iter(numbers[:, at:].T.tolist())
    used = 0

    def gamma(shape: float) -> float:
        nonlocal used
        d = shape - 1 / 3
        for x, u in pairs:
            used += 1
            v: float = (1 + x / math.sqrt(9 * d)) ** 3
            log_u = math.log(u) if u > 0 else -math.inf
            if v > 0 and log_u < 0.5 * x**2 + d - d * v + d * math.log(v):
                return d * v
        raise IndexError

    draws = {}
    try:
        for arm, (a, b) in enumerate(posteriors.T.tolist()):
            if allowed is None or allowed[arm]:
                x, y = gamma(a), gamma(b)
                draws[arm] = x / (x + y)
    except IndexError:
        return -1, at + used
    return max(draws, key=draws.__getitem__), at + used
