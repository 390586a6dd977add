"""What the paper's statements assume of their numbers and curves, checked in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.checks import check_flag, check_whole, is_number
from lastswitch.errors import BlockError, CurveError, ExperimentError
from lastswitch.model.bandit import Bandit

if TYPE_CHECKING:
    from lastswitch.model.curves import SideKind


def approximation_constant(n_arms: int | Bandit, streaks: bool) -> int:
    """Return K or K + 2, the numerator of every approximation term."""
    return checked_arms(n_arms, streaks) + (2 if streaks else 0)


def arm_count(n_arms: int | Bandit) -> int:
    """Return the number of arms, from a number or from a bandit."""
    return n_arms.n_arms if isinstance(n_arms, Bandit) else check_whole("n_arms", n_arms, 1)


def checked_arms(n_arms: int | Bandit, streaks: bool) -> int:
    """Return the number of arms once the curves, if known, satisfy the statement."""
    check_flag("streaks", streaks)
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


def checked_horizon(horizon: int) -> int:
    """Return the horizon once it is a positive number of rounds."""
    return check_whole("horizon", horizon, 1, ExperimentError)


def checked_length(length: int) -> int:
    """Return the length once it is a positive number of rounds."""
    return check_whole("length", length, 1, BlockError)


def dividing_length(horizon: int, length: int) -> tuple[int, int]:
    """Return (T, d) once d divides T, which the proofs use to cut the horizon into blocks."""
    rounds, size = checked_horizon(horizon), checked_length(length)
    if rounds % size:
        raise BlockError(
            f"length {size} must divide the horizon, got horizon {rounds}; use horizon "
            f"{rounds - rounds % size or size}, or best_block_size(..., dividing=True)."
        )
    return rounds, size


def checked_average(average: float) -> float:
    """Return the optimum's average once it is one: rewards lie in [0, 1]."""
    if not (is_number(average) and 0.0 <= average <= 1.0):
        raise ExperimentError(f"average must lie in [0, 1] like the rewards, got {average!r}.")
    return float(average)
