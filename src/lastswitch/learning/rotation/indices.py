r"""Optimistic indices: what an entry could still pay, given what it has paid.

Each index maps arrays of counts :math:`n`, reward sums and sums of squared rewards to one value per
entry. How much doubt is left is one number per entry, the *level*

.. math:: \alpha \log\Bigl(1 + \frac{t + 1}{n C}\Bigr),

with :math:`t` the plays so far and :math:`C` the entries seen so far. It forgets the horizon and
shrinks as an entry takes more than its share of the plays, as MOSS (Audibert & Bubeck 2009) and
KL-UCB++ (Ménard & Garivier 2017) do. Rewards are meant to lie in [0, 1]; means are clipped to it.
An entry never seen is worth 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.jit import jit

#: counts, sums, squares, level → values.
Index: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]

_NEWTON_STEPS = 40
_TINY = 1e-12
#: Means this close to 0 or 1 are taken for 0 or 1, where the bound has a closed form.
_NEAR = 1e-15


def exploration_level(counts: ArrayLike, plays: float, seen: int, alpha: float = 0.4) -> FloatArray:
    """Return α log(1 + (plays + 1)/(n · seen)) for each entry, infinite where n = 0.

    Examples
    --------
    >>> exploration_level([0, 1, 4], plays=5, seen=2).round(3).tolist()
    [inf, 0.555, 0.224]
    """
    with np.errstate(divide="ignore"):
        ratio = (plays + 1.0) / (np.asarray(counts, dtype=float) * max(1, seen))
    level: FloatArray = alpha * np.log1p(ratio)
    return level


def ucb1(counts: ArrayLike, sums: ArrayLike, squares: ArrayLike, level: ArrayLike) -> FloatArray:
    """Return mean + √(level / 2n), the index of Auer, Cesa-Bianchi & Fischer (2002).

    Their √(2 log t / n) is this one at level 4 log t; by Pinsker's inequality it is never below
    :func:`kl_ucb` at the same level, apart from the clipping at 1.

    Examples
    --------
    >>> ucb1([2, 0], [1, 0], [1, 0], [0.25, 0.25]).tolist()
    [0.75, 1.0]
    """
    n, mean, depth = _means(counts, sums, level)
    return np.where(n > 0, np.minimum(1.0, mean + np.sqrt(depth / (2.0 * _safe(n)))), 1.0)


def empirical_bernstein(
    counts: ArrayLike, sums: ArrayLike, squares: ArrayLike, level: ArrayLike
) -> FloatArray:
    """Return mean + √(2 V level / n) + 3 level / n, as Audibert, Munos & Szepesvári (2009).

    V is the empirical variance: an entry that always pays the same is trusted sooner.

    Examples
    --------
    >>> empirical_bernstein([10, 10], [5, 5], [2.5, 5], [0.1, 0.1]).round(3).tolist()
    [0.53, 0.601]
    """
    n, mean, depth = _means(counts, sums, level)
    size = _safe(n)
    spread = np.asarray(squares, dtype=float) / size - (np.asarray(sums, dtype=float) / size) ** 2
    doubt = np.sqrt(2.0 * np.maximum(spread, 0.0) * depth / size) + 3.0 * depth / size
    return np.where(n > 0, np.minimum(1.0, mean + doubt), 1.0)


def kl_ucb(counts: ArrayLike, sums: ArrayLike, squares: ArrayLike, level: ArrayLike) -> FloatArray:
    """Return the largest q ≤ 1 with n · kl(mean, q) ≤ level (Garivier & Cappé 2011).

    Examples
    --------
    >>> kl_ucb([2, 2, 0], [0, 1, 0], [0, 1, 0], [0.5, 0.5, 0.5]).round(3).tolist()
    [0.221, 0.814, 1.0]
    """
    n, mean, depth = _means(counts, sums, level)
    return np.asarray(kl_upper_kernel(mean.ravel(), n.ravel(), depth.ravel())).reshape(n.shape)


def thompson(
    counts: ArrayLike, sums: ArrayLike, squares: ArrayLike, rng: np.random.Generator
) -> FloatArray:
    """Draw each entry from Beta(1 + sum, 1 + n − sum), its posterior under a uniform prior.

    Rewards that are not 0 or 1 count as a fraction of a success.

    Examples
    --------
    >>> from lastswitch._utils.random import stream
    >>> draws = thompson([500, 0], [250, 0], [250, 0], stream(0, "doc"))
    >>> bool(abs(draws[0] - 0.5) < 0.1)
    True
    """
    n = np.asarray(counts, dtype=float)
    successes = np.clip(np.asarray(sums, dtype=float), 0.0, n)
    return np.asarray(rng.beta(1.0 + successes, 1.0 + n - successes))


#: The deterministic indices by name; "thompson" draws and is called apart.
INDICES: dict[str, Index] = {
    "kl-ucb": kl_ucb,
    "ucb1": ucb1,
    "empirical-bernstein": empirical_bernstein,
}


@jit(makes_arrays=True)
def kl_upper(mean: float, budget: float) -> float:
    """Return the largest q ≤ 1 with kl(mean, q) ≤ budget, by Newton's method from above.

    kl(mean, ·) is convex and increasing right of the mean, so Newton steps from any point beyond
    the answer come down to it without overshooting. Two points are known to lie beyond it: Pinsker
    gives mean + √(budget/2), and dropping mean · log(1/q) ≥ 0 from kl gives the other.
    """
    if mean >= 1.0 - _NEAR or budget == math.inf:
        return 1.0
    if budget <= 0.0:
        return mean
    if mean <= _NEAR:
        return 1.0 - math.exp(-budget)
    entropy = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean)
    q = min(
        mean + math.sqrt(0.5 * budget),
        1.0 - math.exp(-(budget + entropy) / (1.0 - mean)),
    )
    for _ in range(_NEWTON_STEPS):
        if q >= 1.0:
            return 1.0
        excess = (
            mean * math.log(mean / q) + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - q)) - budget
        )
        if excess <= _TINY:
            break
        q -= excess * q * (1.0 - q) / (q - mean)
    return max(q, mean)


def kl_upper_reference(mean: float, budget: float) -> float:
    """Say what :func:`kl_upper` means, by bisection.

    Examples
    --------
    >>> round(kl_upper_reference(0.0, 0.5), 6)
    0.393469
    """

    def divergence(q: float) -> float:
        total = mean * math.log(mean / q) if mean > 0 else 0.0
        if mean < 1:
            total += math.inf if q >= 1 else (1 - mean) * math.log((1 - mean) / (1 - q))
        return total

    low, high = mean, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if divergence(middle) <= budget:
            low = middle
        else:
            high = middle
    return low if divergence(1.0) > budget else 1.0


@jit(makes_arrays=True)
def kl_upper_kernel(means: FloatArray, counts: FloatArray, levels: FloatArray) -> FloatArray:
    """Apply :func:`kl_upper` to flat arrays; an entry never seen is worth 1."""
    values = np.ones(means.size)
    for k in range(means.size):
        if counts[k] > 0.0:
            values[k] = kl_upper(means[k], levels[k] / counts[k])
    return values


def _means(
    counts: ArrayLike, sums: ArrayLike, level: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, means clipped to [0, 1], and levels, as arrays of one shape."""
    n = np.asarray(counts, dtype=float)
    mean = np.clip(np.asarray(sums, dtype=float) / _safe(n), 0.0, 1.0)
    return n, mean, np.where(n > 0, level, 0.0)


def _safe(counts: FloatArray) -> FloatArray:
    """Return counts fit to divide by."""
    return np.where(counts > 0, counts, 1.0)
