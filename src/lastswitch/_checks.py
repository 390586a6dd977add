"""The checks most arguments need, worded once."""

from __future__ import annotations

from numbers import Real

import numpy as np

from lastswitch.bandit import Bandit
from lastswitch.errors import (
    BanditError,
    CurveError,
    InputTypeError,
    LastSwitchError,
    PlanError,
    PolicyError,
)


def is_number(value: object) -> bool:
    """Tell whether ``value`` is a real number, Python's or NumPy's.

    Examples
    --------
    >>> is_number(np.float32(0.5)), is_number("0.5")
    (True, False)
    """
    return isinstance(value, Real)


def check_unit(what: str, value: float) -> None:
    """Refuse a pay outside [0, 1].

    Examples
    --------
    >>> check_unit("means[1]", 1.5)
    Traceback (most recent call last):
    lastswitch.errors.CurveError: means[1] must lie in [0, 1], got 1.5.
    """
    if not (is_number(value) and 0.0 <= value <= 1.0):  # also refuses NaN
        raise CurveError(f"{what} must lie in [0, 1], got {value!r}.")


def check_whole(
    what: str, value: int, least: int, error: type[LastSwitchError] = BanditError
) -> int:
    """Return ``value`` as an int; refuse what is not a whole number of at least ``least``.

    Examples
    --------
    >>> check_whole("depth", 0, least=1)
    Traceback (most recent call last):
    lastswitch.errors.BanditError: depth must be a whole number of at least 1, got 0.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and value >= least):
        raise error(f"{what} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def check_positive(what: str, value: float, error: type[LastSwitchError] = PolicyError) -> float:
    """Return ``value`` as a float; refuse what is not a positive, finite number.

    Examples
    --------
    >>> check_positive("alpha", -1)
    Traceback (most recent call last):
    lastswitch.errors.PolicyError: alpha must be positive, got -1.
    """
    if not (is_number(value) and 0 < value < np.inf):
        raise error(f"{what} must be positive, got {value!r}.")
    return float(value)


def check_limits(gap: float, time_limit: float | None) -> None:
    """Refuse limits no planner can keep to.

    Examples
    --------
    >>> check_limits(gap=0.01, time_limit=0.0)
    Traceback (most recent call last):
    lastswitch.errors.PlanError: time_limit must be positive seconds, got 0.0; None means none.
    """
    if not (is_number(gap) and gap >= 0):
        raise PlanError(f"gap must be at least 0, got {gap!r}; 0.01 accepts a plan within 1 %.")
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise PlanError(
            f"time_limit must be positive seconds, got {time_limit!r}; None means none."
        )


def check_bandit(who: str, value: Bandit) -> None:
    """Refuse what is not a bandit; ``who`` is the function that needs one.

    Examples
    --------
    >>> check_bandit("simulate", "five-arms")
    Traceback (most recent call last):
    lastswitch.errors.InputTypeError: simulate needs a Bandit, got str.
    """
    if not isinstance(value, Bandit):
        raise InputTypeError(f"{who} needs a Bandit, got {type(value).__name__}.")
