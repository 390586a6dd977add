"""Means with an honest width: Student's t interval over independent runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Confidence of every interval and band in this package, unless another is asked for.
LEVEL = 0.95
#: The sentence that says what a band is, for captions and reports.
STATED = "pointwise 95% confidence interval of the mean over independent runs (Student's t)"


class Interval(NamedTuple):
    """A mean, the ends of its confidence interval, and its standard error where one is known.

    Numbers, or arrays of them. Formats as people read it.

    Examples
    --------
    >>> print(f"{Interval(2.0, 1.5, 2.5):.1f}")
    2.0 (1.5 to 2.5)
    """

    mean: Any
    low: Any
    high: Any
    error: Any = math.nan

    @property
    def half(self) -> Any:
        """How far the interval reaches to either side, on average.

        Examples
        --------
        >>> Interval(2.0, 1.5, 2.5).half
        0.5
        """
        return (self.high - self.low) / 2

    def __format__(self, spec: str) -> str:
        return f"{self.mean:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


def t_interval(samples: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the mean over runs (first axis) and its Student t confidence interval.

    With a single run nothing is known of the spread and the ends are NaN.

    Examples
    --------
    >>> interval = t_interval([1.0, 2.0, 3.0])
    >>> float(interval.mean), round(float(interval.half), 3)
    (2.0, 2.484)
    """
    values = np.asarray(samples, dtype=float)
    runs = values.shape[0]
    mean = values.mean(axis=0)
    error = standard_error(values)
    if runs < 2:
        return Interval(mean, error, error, error)
    from scipy.special import stdtrit  # far lighter to import than scipy.stats

    half = float(stdtrit(runs - 1, 0.5 + level / 2)) * error
    return Interval(mean, mean - half, mean + half, error)


def standard_error(samples: ArrayLike) -> NDArray[np.float64]:
    """Return the standard error of the mean over runs (first axis); NaN for a single run.

    Examples
    --------
    >>> round(float(standard_error([1.0, 2.0, 3.0])), 3)
    0.577
    """
    values = np.asarray(samples, dtype=float)
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))
