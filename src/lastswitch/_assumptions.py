"""What the paper's statements assume of their numbers and curves, checked in one place."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from lastswitch.bandit import Bandit
from lastswitch.errors import BanditError, BlockError, CurveError, ExperimentError, InputTypeError

if TYPE_CHECKING:
    from lastswitch.curves import SideKind


def approximation_constant(n_arms: int | Bandit, streaks: bool) -> int:
    """Return K or K + 2, the numerator of every approximation term."""
    return checked_arms(n_arms, streaks) + (2 if streaks else 0)


def arm_count(n_arms: int | Bandit) -> int:
    """Return the number of arms, from a number or from a bandit."""
    try:
        arms = n_arms.n_arms if isinstance(n_arms, Bandit) else operator.index(n_arms)
    except TypeError:
        raise InputTypeError(
            f"n_arms must be a whole number or a Bandit, got {type(n_arms).__name__}."
        ) from None
    if arms < 1:
        raise BanditError(f"n_arms must be at least 1, got {arms}.")
    return arms


def checked_arms(n_arms: int | Bandit, streaks: bool) -> int:
    """Return the number of arms once the curves, if known, satisfy the statement."""
    arms = arm_count(n_arms)
    if not isinstance(n_arms, Bandit):
        return arms
    for name, curve in zip(n_arms.names, n_arms.curves, strict=True):
        if curve.kind.streak == "arbitrary":
            raise CurveError(
                f"arm {name!r} pays more along some streak; the paper's bounds need streaks that "
                "never rise (Definition 1)."
            )
        if not streaks and curve.kind.streak != "constant":
            raise CurveError(
                f"arm {name!r} wears out along a streak, which this statement rules out; "
                "pass streaks=True for the general one."
            )
    return arms


def weakest_shapes(bandit: Bandit) -> tuple[SideKind, SideKind]:
    """Return the weakest (rest, streak) shapes among the arms of ``bandit``."""
    order: tuple[SideKind, ...] = ("constant", "nondecreasing", "arbitrary")
    rests, streaks = [0], [0]
    for curve in bandit.curves:
        rising = curve.kind.rest != "arbitrary" and curve(1) >= curve(-1)
        rests.append(1 if rising else 2)
        streaks.append(order.index(curve.kind.streak))
    return order[max(rests)], order[max(streaks)]


def _whole(name: str, value: int) -> int:
    """Return ``value`` as an int, or say that it is not a whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputTypeError(
            f"{name} must be a whole number, got {type(value).__name__} {value!r}."
        ) from None


def checked_horizon(horizon: int) -> int:
    """Return the horizon once it is a positive number of rounds."""
    rounds = _whole("horizon", horizon)
    if rounds < 1:
        raise ExperimentError(f"horizon must be at least 1 round, got {rounds}.")
    return rounds


def checked_block(block: int) -> int:
    """Return the block size once it is a positive number of rounds."""
    size = _whole("block", block)
    if size < 1:
        raise BlockError(f"block must be at least 1 round, got {size}.")
    return size


def dividing_block(horizon: int, block: int) -> tuple[int, int]:
    """Return (T, d) once d divides T, which the proofs use to cut the horizon into blocks."""
    rounds, size = checked_horizon(horizon), checked_block(block)
    if rounds % size:
        raise BlockError(
            f"block {size} must divide the horizon, got horizon {rounds}; use horizon "
            f"{rounds - rounds % size or size}, or best_block_size(..., dividing=True)."
        )
    return rounds, size


def checked_average(average: float) -> float:
    """Return the optimum's average once it is one: rewards lie in [0, 1]."""
    value = float(average)
    if not 0.0 <= value <= 1.0:
        raise ExperimentError(f"average must lie in [0, 1] like the rewards, got {average}.")
    return value
