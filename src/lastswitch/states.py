"""The switch state: how it moves when an arm is played, and along a block.

A state is one integer per arm. ``tau > 0``: rested for ``tau`` rounds. ``tau < 0``: played the
last ``|tau|`` rounds in a row. ``tau = 0`` never arises from play; it reads as "just played".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch.errors import BlockError, InputTypeError, StateError

States = NDArray[np.int64]


def transition(tau: ArrayLike, arm: ArrayLike) -> States:
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
    return np.where(hit, np.minimum(states, 0) - 1, np.maximum(states, 0) + 1)


def trajectory(start: ArrayLike, block: ArrayLike) -> States:
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
        states[step + 1] = np.maximum(states[step], 0) + 1
        states[step + 1, arm] = min(states[step, arm], 0) - 1
    return states


def state_after(start: ArrayLike, block: ArrayLike) -> States:
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
    """Return ``values`` as an array; what has no rectangular shape becomes one of objects."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array([None], dtype=object)


def as_states(tau: ArrayLike, dimensions: tuple[int, ...] = (1,)) -> States:
    """Return ``tau`` as an int64 array, or say why it is not a state vector."""
    states = as_array(tau)
    if not np.issubdtype(states.dtype, np.integer):
        raise InputTypeError(f"a state is a vector of integers, one per arm; got {tau!r}.")
    if states.ndim not in dimensions or states.shape[-1] == 0:
        raise StateError(
            f"a state is a vector of integers, one per arm; got an array of shape {states.shape}."
        )
    return states.astype(np.int64)


def as_block(block: ArrayLike, n_arms: int) -> NDArray[np.int64]:
    """Return ``block`` as an int64 array of arms, or say why it cannot be played."""
    arms = as_array(block)
    if arms.ndim != 1 or arms.size == 0:
        raise BlockError(f"a block is a list of arms, at least one; got {block!r}.")
    if not np.issubdtype(arms.dtype, np.integer):
        raise InputTypeError(f"a block is a list of integers, the arms; got {block!r}.")
    _check_arms(arms, n_arms)
    return arms.astype(np.int64)


def _check_arms(arms: NDArray[Any], n_arms: int) -> None:
    if not np.issubdtype(arms.dtype, np.integer):
        raise InputTypeError(f"an arm is an integer from 0 to {n_arms - 1}, got {arms!r}.")
    outside = arms[(arms < 0) | (arms >= n_arms)]
    if outside.size:
        raise BlockError(
            f"arm {int(outside[0])} does not exist: arms are numbered 0 to {n_arms - 1}."
        )
