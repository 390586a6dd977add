"""Turning what a caller gives into the tables of a planning problem, or saying what is wrong."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.checks import LARGEST
from lastswitch.errors import InputTypeError, ProblemError
from lastswitch.model.states import as_allowed, as_array

#: Streaks that a state may have, which are counted up from there.
LONGEST_RUN = 2**62
Scalar = TypeVar("Scalar", bound=np.generic)


def checked_table(name: str, values: ArrayLike, ndim: int) -> FloatArray:
    """Return ``values`` as a read-only table of finite floats."""
    if np.ma.isMaskedArray(values):
        raise InputTypeError(
            f"{name} has a mask, which would be ignored; fill it in, such as with .filled(0.0)."
        )
    try:
        table = np.asarray(values)
        if table.dtype.kind not in "biufO":
            raise InputTypeError(f"{name} must be a table of real numbers, got {table.dtype}.")
        table = np.array(table, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"{name} must be a {ndim}-dimensional table of numbers: {error}."
        ) from error
    if table.ndim != ndim:
        raise ProblemError(f"{name} must have {ndim} dimension(s), got shape {table.shape}.")
    if not (np.abs(table) <= LARGEST).all():  # nor is a NaN
        where = np.argwhere(~(np.abs(table) <= LARGEST))[0].tolist()
        raise ProblemError(
            f"{name} must be finite, got {table[tuple(where)]} at {where} (numbers of at most "
            f"{LARGEST:g} in size can be summed up); what must be played, or must not, is said "
            "with `allowed`: one True in a slot's row pins it, a False forbids."
        )
    table += 0.0  # -0.0 becomes 0.0: equal pays must have equal bits
    return _frozen(table)


def checked_run(run: ArrayLike | None, n_arms: int) -> IntArray:
    """Return the streak lengths before the block, checked."""
    if run is None:
        return _frozen(np.zeros(n_arms, dtype=np.int64))
    lengths = np.asarray(run)
    if lengths.shape != (n_arms,) or not np.issubdtype(lengths.dtype, np.integer):
        raise ProblemError(
            f"run must be {n_arms} integers, one per arm; got shape "
            f"{lengths.shape} of {lengths.dtype}."
        )
    if (lengths > LONGEST_RUN).any():
        raise ProblemError(
            f"run must be at most 2**62, got {int(lengths.max())}: plays in a row are counted."
        )
    if (lengths < 0).any():
        raise ProblemError(
            f"run must be at least 0, got {int(lengths.min())}; it counts the plays "
            "in a row before the block."
        )
    return _frozen(lengths.astype(np.int64))


def checked_mask(allowed: ArrayLike | None, length: int, n_arms: int) -> BoolArray:
    """Return the (d, K) mask that ``allowed`` means: a mask itself, or the same arms everywhere."""
    if allowed is None:
        return _frozen(np.ones((length, n_arms), dtype=np.bool_))
    given = as_array(allowed)
    if given.ndim == 2:
        if given.shape != (length, n_arms) or given.dtype != np.bool_:
            raise ProblemError(
                f"allowed must have one row per slot and one column per arm, shape "
                f"({length}, {n_arms}), of True and False; got shape {given.shape} of "
                f"{given.dtype}."
            )
        return _frozen(np.array(given, order="C"))
    return _frozen(np.tile(as_allowed(allowed, n_arms, ProblemError), (length, 1)))


def checked_length(length: int) -> int:
    """Return the block length, checked."""
    if isinstance(length, bool) or not isinstance(length, int | np.integer):
        raise InputTypeError(f"length must be an integer, got {length!r}.")
    if length < 1:
        raise ProblemError(f"length must be at least 1, got {length}.")
    return int(length)


def held(table: FloatArray, arm: int, index: int) -> float:
    """Return ``table[arm, index]``, or the row's last entry beyond the end."""
    return table.item(arm, min(index, table.shape[1] - 1))


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return ``array``, read-only."""
    array.flags.writeable = False
    return array
