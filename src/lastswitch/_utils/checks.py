"""The checks most arguments need, worded once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from reprlib import Repr
from typing import Any, TypeGuard

import numpy as np

from lastswitch._utils.spelling import spelled
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import (
    BanditError,
    CurveError,
    InputTypeError,
    LastSwitchError,
    PlanError,
    PolicyError,
)

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 3

#: Pays and costs beyond this size are refused: sums of them, and of what is derived from them, must
#: not overflow.
LARGEST = 1e100


def shown(value: object) -> str:
    """Return ``value`` as an error shows it: one short line, however large or deep it is.

    Examples
    --------
    >>> shown(list(range(100)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    return _SHORT.repr(value)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether ``value`` is a real number, Python's or NumPy's.

    Examples
    --------
    >>> is_number(np.float32(0.5)), is_number("0.5")
    (True, False)
    """
    return isinstance(value, (float, Real))  # the abstract class alone is slow


def check_unit(what: str, value: float) -> None:
    """Refuse a pay outside [0, 1].

    Examples
    --------
    >>> check_unit("means[1]", 1.5)
    Traceback (most recent call last):
    lastswitch.errors.CurveError: means[1] must lie in [0, 1], got 1.5.
    """
    if not (is_number(value) and 0.0 <= value <= 1.0):  # also refuses NaN
        raise CurveError(f"{spelled(what)} must lie in [0, 1], got {value!r}.", parameter=what)


def check_whole(
    what: str,
    value: int,
    least: int,
    error: type[LastSwitchError] = BanditError,
    most: int | None = None,
) -> int:
    """Return ``value`` as an int; refuse what is no whole number from ``least`` to ``most``.

    Examples
    --------
    >>> check_whole("depth", 0, least=1)
    Traceback (most recent call last):
    lastswitch.errors.BanditError: depth must be a whole number of at least 1, got 0.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and value >= least):
        raise error(
            f"{spelled(what)} must be a whole number of at least {least}, got {value!r}.",
            parameter=what,
        )
    if most is not None and value > most:
        raise error(f"{spelled(what)} must be at most {most}, got {value!r}.", parameter=what)
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
        raise error(f"{spelled(what)} must be positive, got {value!r}.", parameter=what)
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
        raise PlanError(
            f"{spelled('gap')} must be at least 0, got {gap!r}; 0.01 accepts a plan within 1 %.",
            parameter="gap",
        )
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise PlanError(
            f"{spelled('time_limit')} must be positive seconds, got {time_limit!r}; None means "
            "none.",
            parameter="time_limit",
        )


def check_bandit(who: str, value: object) -> None:
    """Refuse what is not a bandit; ``who`` is the function that needs one.

    Examples
    --------
    >>> check_bandit("simulate", "five-arms")
    Traceback (most recent call last):
    lastswitch.errors.InputTypeError: simulate needs a Bandit, got str.
    """
    from lastswitch.model.bandit import Bandit  # which itself needs the checks above

    if not isinstance(value, Bandit):
        raise InputTypeError(f"{who} needs a Bandit, got {type(value).__name__}.")


def check_list(what: str, value: Iterable[Any], each: str = "one entry per arm") -> list[Any]:
    """Return ``value`` as a list; refuse what has no entries in an order of their own.

    Examples
    --------
    >>> check_list("periods", 3)
    Traceback (most recent call last):
    lastswitch.errors.InputTypeError: periods must be a list, one entry per arm; got 3.
    """
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        try:
            return list(value)
        except TypeError:  # an array of no dimension says it can be iterated over
            pass
    raise InputTypeError(f"{spelled(what)} must be a list, {each}; got {value!r}.", parameter=what)


def check_choice(
    what: str, value: str, known: Collection[str], error: type[LastSwitchError]
) -> None:
    """Refuse what is none of the names that ``known`` holds.

    Examples
    --------
    >>> check_choice("tail", "repaet", ["hold", "repeat"], CurveError)
    Traceback (most recent call last):
    lastswitch.errors.CurveError: tail must be one of hold, repeat, got 'repaet' (did you mean ...
    """
    if not (isinstance(value, str) and value in known):
        hint = suggestion(value, known)
        raise error(
            f"{spelled(what)} must be one of {', '.join(known)}, got {value!r}{hint}.",
            parameter=what,
        )


def check_flag(what: str, value: bool) -> None:
    """Refuse what is neither true nor false; a number is not, for it may be meant as a size.

    Examples
    --------
    >>> check_flag("streaks", 3)
    Traceback (most recent call last):
    lastswitch.errors.InputTypeError: streaks must be True or False, got 3.
    """
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(
            f"{spelled(what)} must be True or False, got {value!r}.", parameter=what
        )


def check_path(value: str | PathLike[str]) -> Path:
    """Return ``value`` as a path.

    Examples
    --------
    >>> check_path(None)
    Traceback (most recent call last):
    lastswitch.errors.InputTypeError: a path must be a string or a pathlib.Path, got None.
    """
    if not (isinstance(value, str | PathLike) and isinstance(fspath(value), str)):
        raise InputTypeError(f"a path must be a string or a pathlib.Path, got {value!r}.")
    return Path(value)
