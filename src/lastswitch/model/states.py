"""The switch state: how it moves when an arm is played, and along a block.

A state is one integer per arm. ``tau > 0``: rested for ``tau`` rounds. ``tau < 0``: played the
last ``|tau|`` rounds in a row. ``tau = 0`` never arises from play; it reads as "just played".
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch.errors import BlockError, InputTypeError, LastSwitchError, StateError

#: One state, or an array of them.
Tau = TypeVar("Tau", int, IntArray)
#: IntArray before the first round: the bandit's own, not known, or a state vector.
Start: TypeAlias = Literal["initial", "unknown"] | ArrayLike
#: No state lies further from 0, so that adding any number of rounds stays within 64 bits.
FURTHEST = 1 << 62


def moved(tau: Tau, played: bool | BoolArray) -> Tau:
    """Return where state ``tau`` goes when its arm is played or not: the one move rule.

    Laforgue et al. (2022), Eq. (2), for one state or, entry by entry, for an array of them.

    Examples
    --------
    >>> [moved(tau, True) for tau in (3, 0, -2)], [moved(tau, False) for tau in (3, 0, -2)]
    ([-1, -1, -3], [4, 1, 1])
    """
    if isinstance(tau, int):
        return min(tau, 0) - 1 if played else max(tau, 0) + 1
    if played is False:
        return np.maximum(tau, 0) + 1
    return np.where(played, np.minimum(tau, 0) - 1, np.maximum(tau, 0) + 1)


@overload
def column(tau: int, rest: int, streak: int, repeats: bool = ...) -> int: ...
@overload
def column(
    tau: IntArray,
    rest: int | IntArray,
    streak: int | IntArray,
    repeats: bool | NDArray[np.bool_] = ...,
) -> IntArray: ...
def column(tau: Any, rest: Any, streak: Any, repeats: Any = False) -> Any:
    """Return where the pay of state ``tau`` stands: the one map from states to tables.

    Counted along the ``rest`` columns of τ = 1, 2, … followed by the ``streak`` columns of
    τ = -1, -2, …; a state beyond its table reads the last column (a season: wraps around), τ = 0
    reads as -1, and so does every rest where there are no ``rest`` columns. An array of
    states may come with arrays of sizes, one per arm.

    Examples
    --------
    >>> [column(tau, 3, 2) for tau in (1, 3, 9, -1, -2, -9, 0)]
    [0, 2, 2, 3, 4, 4, 3]
    >>> column(5, 3, 2, repeats=True)
    1
    """
    if isinstance(tau, int):
        if tau <= 0 or not rest:
            return rest + min(max(-tau, 1), streak) - 1
        return (tau - 1) % rest if repeats else min(tau, rest) - 1
    held = np.minimum(tau, rest)  # minimum and maximum: clip takes several times as long
    rested = held - 1
    if repeats is not False and np.any(repeats):
        rested = np.where(repeats, (tau - 1) % np.maximum(rest, 1), rested)
    return np.where(held > 0, rested, rest + np.minimum(np.maximum(-tau, 1), streak) - 1)


def transition(tau: ArrayLike, arm: ArrayLike) -> IntArray:
    """Return the state after playing ``arm`` in state ``tau``, Laforgue et al. (2022), Eq. (2).

    Parameters
    ----------
    tau
        One state vector of shape ``(n_arms,)``, or many of shape ``(n, n_arms)``.
    arm
        The arm played; for many states one arm, or one per state.

    Examples
    --------
    >>> transition([1, -1, 5], 2).tolist()
    [2, 1, -1]
    >>> transition([[1, -1], [1, -1]], [0, 1]).tolist()
    [[-1, 1], [2, -2]]
    """
    states = as_states(tau, dimensions=(1, 2))
    played = as_array(arm)
    _check_arms(np.atleast_1d(played), states.shape[-1])
    if played.ndim > states.ndim - 1 or (played.ndim and len(played) != len(states)):
        raise StateError(
            f"arm must be one arm, or one per state vector; got arms of shape {played.shape} "
            f"for states of shape {states.shape}."
        )
    hit = np.arange(states.shape[-1]) == played[..., None]
    return moved(states, hit)


def trajectory(start: ArrayLike, block: ArrayLike) -> IntArray:
    """Return the states before each play of ``block`` and after the last, ``(d + 1, n_arms)``.

    Examples
    --------
    >>> trajectory([1, 1], [0, 0, 1]).tolist()
    [[1, 1], [-1, 2], [-2, 3], [1, -1]]
    """
    first = as_states(start)
    arms = as_block(block, len(first))
    states = np.empty((len(arms) + 1, len(first)), dtype=np.int64)
    states[0] = first
    for step, arm in enumerate(arms):
        states[step + 1] = moved(states[step], False)
        states[step + 1, arm] = moved(int(states[step, arm]), True)
    return states


def state_after(start: ArrayLike, block: ArrayLike) -> IntArray:
    """Return the state that playing ``block`` from ``start`` leaves.

    Examples
    --------
    >>> state_after([1, 1, 1], [0, 1, 1]).tolist()
    [2, -2, 4]
    """
    first = as_states(start)
    arms = as_block(block, len(first))
    size = len(arms)
    after = np.maximum(first, 0) + size  # arms that are never played
    for arm in np.unique(arms).tolist():
        last = int(np.flatnonzero(arms == arm)[-1])
        after[arm] = size - 1 - last
    last_arm = int(arms[-1])
    others = np.flatnonzero(arms != last_arm)
    run = size - 1 - int(others[-1]) if len(others) else size - min(int(first[last_arm]), 0)
    after[last_arm] = -run
    return after


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return ``values`` as an array; what has no rectangular shape becomes one of objects.

    So does an array with masked entries, which have no value: they are None, and no number.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked, values = np.ma.getmaskarray(values), np.array(values.data, dtype=object)
        values[masked] = None
    try:
        return np.asarray(values)
    except ValueError:
        return np.array([None], dtype=object)


def as_states(tau: ArrayLike, dimensions: tuple[int, ...] = (1,)) -> IntArray:
    """Return ``tau`` as an int64 array, or say why it is not a state vector."""
    states = as_array(tau)
    if states.dtype.kind not in "iu":
        raise InputTypeError(f"a state is a vector of integers, one per arm; got {tau!r}.")
    if states.ndim not in dimensions or states.shape[-1] == 0:
        raise StateError(
            f"a state is a vector of integers, one per arm; got an array of shape {states.shape}."
        )
    check_reach(states)
    return states.astype(np.int64)


def check_reach(states: NDArray[Any]) -> None:
    """Refuse states so far from 0 that counting on would overflow.

    Examples
    --------
    >>> check_reach(np.array([1, 2**63 - 1]))
    Traceback (most recent call last):
    lastswitch.errors.StateError: a state lies between -2**62 and 2**62, got 9223372036854775807; \
for an arm that has rested for ever give any rest beyond its curve's last entry.
    """
    for extreme in (int(states.max()), int(states.min())):
        if abs(extreme) > FURTHEST:
            raise StateError(
                f"a state lies between -2**62 and 2**62, got {extreme}; for an arm that has "
                "rested for ever give any rest beyond its curve's last entry."
            )


def as_start(start: Start, initial: IntArray) -> IntArray | None:
    """Return the state vector that ``start`` means, None for ``"unknown"``.

    Examples
    --------
    >>> as_start("initial", np.array([1, -1])).tolist(), as_start("unknown", np.array([1, -1]))
    ([1, -1], None)
    """
    if isinstance(start, str):
        if start == "unknown":
            return None
        if start == "initial":
            return initial.copy()
    words = f"'initial', 'unknown' or {len(initial)} integer states, one per arm"
    given = as_array(start)
    if given.shape != initial.shape or not np.issubdtype(given.dtype, np.integer):
        raise StateError(f"start must be {words}; got {start!r}.")
    states = as_states(given)
    if not states.all():
        raise StateError(
            f"start must be {words}; got {start!r}, and no arm is at 0: rest counts 1, 2, ... and "
            "a streak -1, -2, ...; for an arm played last round use -1."
        )
    return states


def as_allowed(
    allowed: ArrayLike, n_arms: int, error: type[LastSwitchError] = StateError
) -> BoolArray:
    """Return which arms ``allowed`` lets play: one True or False per arm, or arms by number.

    Integers are always arms, never yes and no: ``[1, 0, 0]`` names arm 0 twice and is refused.

    Examples
    --------
    >>> as_allowed([False, True, True], 3).tolist() == as_allowed([1, 2], 3).tolist()
    True
    >>> as_allowed([1, 0, 0], 3)
    Traceback (most recent call last):
    lastswitch.errors.StateError: allowed names arm 0 twice, got [1, 0, 0]; integers are arms, \
for a yes or no per arm write True and False.
    """
    given = as_array(allowed)
    if given.dtype == np.bool_ and given.shape == (n_arms,):
        mask = given.copy()
    elif given.ndim == 1 and given.size and given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= n_arms:
            raise error(
                f"allowed names arms from {given.min()} to {given.max()}; "
                f"they run from 0 to {n_arms - 1}."
            )
        times = np.bincount(given.astype(np.int64), minlength=n_arms)
        if times.max() > 1:
            raise error(
                f"allowed names arm {int(times.argmax())} twice, got {allowed!r}; integers are "
                "arms, for a yes or no per arm write True and False."
            )
        mask = times > 0
    else:
        raise error(
            f"allowed must be {n_arms} times True or False, or a list of arms by number; "
            f"got {allowed!r}."
        )
    if not mask.any():
        raise error("allowed forbids every arm; allow at least one.")
    return mask


def as_block(block: ArrayLike, n_arms: int) -> IntArray:
    """Return ``block`` as an int64 array of arms, or say why it cannot be played."""
    arms = as_array(block)
    if arms.ndim != 1 or arms.size == 0:
        raise BlockError(f"a block is a list of arms, at least one; got {block!r}.")
    if arms.dtype.kind not in "iu":
        raise InputTypeError(f"a block is a list of integers, the arms; got {block!r}.")
    _check_arms(arms, n_arms)
    return arms.astype(np.int64)


def _check_arms(arms: NDArray[Any], n_arms: int) -> None:
    if arms.dtype.kind not in "iu":
        raise InputTypeError(f"an arm is an integer from 0 to {n_arms - 1}, got {arms!r}.")
    outside = arms[(arms < 0) | (arms >= n_arms)]
    if outside.size:
        raise BlockError(
            f"arm {int(outside[0])} does not exist: arms are numbered 0 to {n_arms - 1}."
        )
