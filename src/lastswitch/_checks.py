"""The two checks most arguments need, worded once."""

from __future__ import annotations

import numpy as np

from lastswitch.errors import BanditError, CurveError


def check_unit(what: str, value: float) -> None:
    """Refuse a pay outside [0, 1].

    Examples
    --------
    >>> check_unit("means[1]", 1.5)
    Traceback (most recent call last):
    lastswitch.errors.CurveError: means[1] must lie in [0, 1], got 1.5.
    """
    if not 0.0 <= value <= 1.0:  # also refuses NaN
        raise CurveError(f"{what} must lie in [0, 1], got {value}.")


def check_whole(what: str, value: int, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``.

    Examples
    --------
    >>> check_whole("depth", 0, least=1)
    Traceback (most recent call last):
    lastswitch.errors.BanditError: depth must be a whole number of at least 1, got 0.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and value >= least):
        raise BanditError(f"{what} must be a whole number of at least {least}, got {value!r}.")
