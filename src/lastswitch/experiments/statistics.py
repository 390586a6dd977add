"""Means with an honest width: Student's t interval over independent runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Confidence of every interval and band in this package, unless another is asked for.
LEVEL = 0.95
#: The sentence that says what a band is, for captions and reports.
STATED = "pointwise 95% confidence interval of the mean over independent runs (Student's t)"


class Interval(NamedTuple):
    """A mean and how far its confidence interval reaches to either side.

    Examples
    --------
    >>> Interval(np.float64(2.0), np.float64(0.5)).low == 1.5
    np.True_
    """

    mean: NDArray[np.float64]
    half: NDArray[np.float64]

    @property
    def low(self) -> NDArray[np.float64]:
        """The lower end."""
        return self.mean - self.half

    @property
    def high(self) -> NDArray[np.float64]:
        """The upper end."""
        return self.mean + self.half


def t_interval(samples: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the mean over runs (first axis) and its Student t confidence interval.

    With a single run nothing is known of the spread and the half width is NaN.

    Examples
    --------
    >>> interval = t_interval([1.0, 2.0, 3.0])
    >>> float(interval.mean), round(float(interval.half), 3)
    (2.0, 2.484)
    """
    values = np.asarray(samples, dtype=float)
    runs = values.shape[0]
    mean = values.mean(axis=0)
    if runs < 2:
        return Interval(mean, np.full_like(mean, np.nan))
    from scipy.special import stdtrit  # far lighter to import than scipy.stats

    quantile = float(stdtrit(runs - 1, 0.5 + level / 2))
    return Interval(mean, quantile * standard_error(values))


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
