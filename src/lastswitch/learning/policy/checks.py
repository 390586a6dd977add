"""What a policy can be built from, and what a snapshot of one can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_list, is_number
from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning.policy.tracks import LATEST
from lastswitch.model.states import as_array

#: More arms, or more numbers learned, than any machine's memory is asked for.
MOST_ARMS, MOST_CELLS = 1_000_000, 20_000_000
#: The most rewards of one arm: beyond, the likelihood of what was seen is lost in rounding.
MOST_COUNTED = 1e12
#: The largest finite reward.
FINITE = float(np.finfo(float).max)


def check_like(name: str, given: Any, model: Any) -> None:
    """Refuse what differs from ``model`` in type or shape, or is not finite where that is.

    Examples
    --------
    >>> check_like("counts", [1, 2], [0, 0])
    >>> check_like("counts", [1, "2"], [0, 0])
    Traceback (most recent call last):
    lastswitch.errors.PolicyError: counts[1] must be like 0, got '2'.
    """
    if isinstance(model, np.ndarray):
        alike = isinstance(given, np.ndarray) and given.dtype == model.dtype
        if not (alike and given.shape == model.shape):
            raise PolicyError(f"{name} must be an array of {model.dtype} of shape {model.shape}.")
        if np.isnan(given).any() or (np.isinf(given).any() and np.isfinite(model).all()):
            raise PolicyError(f"{name} must hold finite numbers.")
    elif isinstance(model, list) and isinstance(given, list) and len(model) == len(given):
        for k, (one, other) in enumerate(zip(given, model, strict=True)):
            check_like(f"{name}[{k}]", one, other)
    elif type(given) is not type(model) or isinstance(model, list):
        raise PolicyError(f"{name} must be like {model!r:.60}, got {given!r:.60}.")
    elif isinstance(given, float) and not math.isfinite(given):
        raise PolicyError(f"{name} must be finite, got {given}.")


def check_counted(counts: ArrayLike, sums: ArrayLike) -> None:
    """Refuse sums that so many rewards between 0 and 1 cannot have."""
    n, total = np.asarray(counts, dtype=float), np.asarray(sums, dtype=float)
    if not ((n >= 0).all() and (total >= 0).all() and (total <= n * (1 + 1e-9) + 1e-9).all()):
        raise PolicyError("what was counted and what was paid do not go together.")
    if n.max(initial=0.0) > 2 * MOST_COUNTED:  # those of a prior, and as many again
        raise PolicyError(f"at most {2 * MOST_COUNTED:g} rewards of a state are counted.")


def check_cells(what: str, cells: int) -> None:
    """Refuse a table that would not fit in memory."""
    if cells > MOST_CELLS:
        raise PolicyError(f"{what} would be {cells} numbers; at most {MOST_CELLS} are kept.")


def generator_state(rng: np.random.Generator | None) -> dict[str, Any] | None:
    """Return where ``rng`` stands, as JSON-able values."""
    return None if rng is None else dict(rng.bit_generator.state)


def set_generator(rng: np.random.Generator | None, state: dict[str, Any] | None) -> None:
    """Let ``rng`` stand where :func:`generator_state` said.

    Examples
    --------
    >>> rng, twin = np.random.default_rng(3), np.random.default_rng(4)
    >>> set_generator(twin, generator_state(rng))
    >>> bool(twin.random() == rng.random())
    True
    """
    if state is None or rng is None:
        if not (state is None and rng is None):
            raise PolicyError("random numbers are drawn with a seed, and only then.")
        return
    try:
        rng.bit_generator.state = state
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise PolicyError(f"the generator cannot stand at {state!r:.60}.") from error


def check_range(rewards: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest reward."""
    ends = check_list("rewards", rewards, "the smallest and the largest")
    if len(ends) == 2 and all(map(is_number, ends)):
        low, high = float(ends[0]), float(ends[1])
        if low < high and math.isfinite(high - low):
            return low, high
    raise PolicyError(
        f"rewards must be the smallest and the largest there can be, both finite, got {rewards!r}."
    )


def as_reward(reward: float | None, low: float, high: float, name: Any) -> float:
    """Return the reward of pull ``name`` as a float, NaN when missing; refuse one out of range."""
    if reward is None:
        return math.nan
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"a reward is a number, or None when missing, got {reward!r} for pull {name!r}."
        ) from None
    if value != value or low <= value <= high:
        return value
    if not math.isfinite(value):
        raise TellError(f"the reward of pull {name!r} must be finite, got {value}.")
    raise TellError(
        f"the reward {value} of pull {name!r} lies outside {[low, high]}, the range this policy "
        "was told; build it with rewards=(smallest, largest) of what you tell it."
    )


def share(value: float, low: float, high: float) -> float:
    """Return where between ``low`` and ``high`` a reward lies, from 0 to 1.

    Examples
    --------
    >>> share(25.0, 0.0, 100.0)
    0.25
    """
    return min(1.0, max(0.0, (value - low) / (high - low)))


def start_states(initial: int | Sequence[int], n_arms: int) -> tuple[int, ...]:
    """Return one start state per arm."""
    states = as_array(initial)
    if states.dtype.kind not in "iu" or states.shape not in ((), (n_arms,)):
        raise PolicyError(f"start states must be one integer or {n_arms} of them, got {initial!r}.")
    if states.max() > LATEST or states.min() < -LATEST:
        raise PolicyError(f"start states must lie within ±{LATEST}, got {initial!r}.")
    return tuple(np.broadcast_to(states, n_arms).tolist())
