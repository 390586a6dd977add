"""What a Beta variable exceeds a threshold by, on average: compiled, for millions of calls."""

from __future__ import annotations

import math

from lastswitch._kernels import inner, jit

#: A Beta distribution of this many rewards, that many of each kind, is taken for a normal one.
_MANY, _BOTH = 40.0, 4.0
_TINY = 1e-300


@inner
def _continued(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    total = d
    for k in range(1, 300):
        for term in (
            k * (b - k) * x / ((a - 1.0 + 2 * k) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 1.0 + 2 * k)),
        ):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            total *= c * d
        if abs(c * d - 1.0) < 1e-7:
            break
    return total


@inner
def excess_at(
    a: float, b: float, log_beta: float, u: float, log_u: float, log_rest: float
) -> tuple[float, float]:
    """Return what :func:`excess` does, for those who know the logs of u and 1 - u."""
    n = a + b
    if a == 1.0:
        above = math.exp(b * log_rest)
        return above * (1.0 - u) / n, above
    if b == 1.0:
        below = math.exp(a * log_u)
        return max((a + u * below) / n - u, 0.0), 1.0 - below
    if n > _MANY and a > _BOTH and b > _BOTH:
        mean = a / n
        deviation = math.sqrt(mean * (1.0 - mean) / (n + 1.0))
        z = (u - mean) / deviation
        above = 0.5 * math.erfc(z * math.sqrt(0.5))
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        return max(deviation * (density - z * above), 0.0), above
    front = math.exp(a * log_u + b * log_rest - log_beta)
    if u < (a + 1.0) / (n + 2.0):
        above = 1.0 - front * _continued(a, b, u) / a
    else:
        above = front * _continued(b, a, 1.0 - u) / b
    # P(μ' > u) of Beta(a + 1, b) is P(μ > u) + front / a.
    return max(a / n * (above + front / a) - u * above, 0.0), above


@jit
def excess(a: float, b: float, log_beta: float, u: float) -> tuple[float, float]:
    """Return E[(μ - u)₊] and P(μ > u) of a Beta(a, b) variable, 0 < u < 1."""
    return excess_at(a, b, log_beta, u, math.log(u), math.log1p(-u))


@inner
def log_beta_of(n: float, s: float) -> float:
    """Return the log of B(1 + s, 1 + n - s): how likely n rewards of sum s are of one pay."""
    if n <= 0.0:
        return 0.0
    return math.lgamma(1.0 + s) + math.lgamma(1.0 + n - s) - math.lgamma(2.0 + n)
