"""Every bound of the paper as a function: the printed formula, its assumptions checked.

Statements are numbered as in Laforgue et al. (2022). Throughout, K is the number of arms, T the
horizon, d the block size. Where a function takes ``n_arms`` it also takes a
:class:`~lastswitch.Bandit`; the curves are then checked against what the statement assumes.

``streaks`` has one meaning everywhere: ``False`` for the paper's main text (every reward constant
on the negatives, so only rest matters), ``True`` for its general case (rewards may fall along a
streak).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lastswitch._utils.checks import check_choice, check_flag
from lastswitch.errors import BanditError, BlockError, CurveError, ExperimentError
from lastswitch.learning.paper.block_size import RegretBound, least_regret_size, regret_terms
from lastswitch.model.bandit import Bandit
from lastswitch.model.states import as_block
from lastswitch.paper.assumptions import (
    approximation_constant,
    arm_count,
    checked_arms,
    checked_average,
    checked_horizon,
    checked_length,
    dividing_length,
    weakest_shapes,
)
from lastswitch.paper.pinwheel import PinwheelFacts, pinwheel_density, pinwheel_facts

if TYPE_CHECKING:
    from lastswitch.model.curves import SideKind

__all__ = [
    "PinwheelFacts",
    "RegretBound",
    "best_block_size",
    "best_cycle_floor",
    "block_error",
    "calibrated_block_floor",
    "calibration_sequence_floor",
    "double_play_floor",
    "heuristic_time_order",
    "pinwheel_density",
    "pinwheel_facts",
    "regret_bound",
    "regret_lower_order",
    "regret_order",
    "state_change_loss",
]


def regret_bound(
    n_arms: int | Bandit, horizon: int, length: int, *, streaks: bool = False
) -> RegretBound:
    """Bound the regret of ISI-CombUCB1 run with α = 1.5 (Theorems 1 and 2).

    Theorem 1 (``streaks=False``)::

        R_T ≤ K T/d + 47 d √(K T log(T/d)) + (π²/3 + 1) K d³

    Theorem 2 (``streaks=True``)::

        R_T ≤ (K + 2) T/d + 47 d √(2 K T log(T/d)) + (π²/3 + 1) 2 K d³

    Both need d to divide T. At horizons met in practice the bound exceeds T: it gives the growth
    order, not a forecast.

    Examples
    --------
    >>> bound = regret_bound(5, horizon=5112, length=4)
    >>> round(bound.approximation), round(bound.estimation), round(bound.start)
    (6390, 80387, 1373)
    >>> bound.total > 5112
    True
    """
    arms = checked_arms(n_arms, streaks)
    rounds, size = dividing_length(horizon, length)
    return regret_terms(arms, rounds, size, streaks)


def best_block_size(
    n_arms: int | Bandit, horizon: int, streaks: bool = False, *, dividing: bool = False
) -> int:
    """Return the block size d ≥ 2 that makes Theorem 1 (or 2) smallest, exactly.

    The paper chooses d ∝ T^(1/4); this is the minimiser with its constants. Blocks of one round
    are left out: their only pull is a calibration pull, so nothing would ever be learned. With
    ``dividing=True`` only divisors of T are considered, as the theorems require.

    Examples
    --------
    >>> best_block_size(2, horizon=10**6), best_block_size(2, horizon=10**12)
    (3, 80)
    >>> best_block_size(2, horizon=10**12, dividing=True)
    80
    """
    check_flag("dividing", dividing)
    arms, rounds = checked_arms(n_arms, streaks), checked_horizon(horizon)
    if rounds < 2:
        raise ExperimentError(
            f"horizon must be at least 2 to choose a block size, got {rounds}: a block of one "
            "round teaches nothing."
        )
    return least_regret_size(arms, rounds, streaks, dividing=dividing)


def regret_order(n_arms: int | Bandit, horizon: int) -> float:
    """Return K T^(3/4), the order of Theorems 1 and 2 when d ∝ T^(1/4) (logarithms left out).

    Examples
    --------
    >>> regret_order(5, horizon=10_000)
    5000.0
    """
    return float(checked_arms(n_arms, True) * checked_horizon(horizon) ** 0.75)


def regret_lower_order(n_arms: int | Bandit, horizon: int, length: int) -> float:
    """Return K T/d + d √(K T), the order of the lower bound stated after Theorem 1.

    The paper states Ω(K T/d + d √(K T)) for learning with blocks of size d, so Theorem 1 is tight
    up to √log(T/d). It is an order: its constant is not given.

    Examples
    --------
    >>> regret_lower_order(4, horizon=10_000, length=10)
    6000.0
    """
    arms = checked_arms(n_arms, True)
    rounds, size = dividing_length(horizon, length)
    return arms * rounds / size + size * math.sqrt(arms * rounds)


def state_change_loss(
    n_arms: int | Bandit, *, streaks: bool = False, block: Sequence[int] | None = None
) -> int:
    """Return Lemma 2's constant: what a block can lose when it starts from another state.

    ::

        r(B | τ') ≥ r(B | τ) − K              (Eq. 4, rewards constant on the negatives)
        r(B' | τ') ≥ r(B | τ) − (K + 2)       (Eq. 5, in general; needs two arms)

    where B' is B with its second pull replaced, see
    :func:`~lastswitch.model.blocks.repaired_block`. Given the ``block``, the finer constants of the
    proof are returned: K becomes the number m of different arms in it, and in general m, m + 1 or
    m + 2 as its first arm is pulled once, twice or more in a row at the start.

    Examples
    --------
    >>> state_change_loss(5), state_change_loss(5, streaks=True)
    (5, 7)
    >>> state_change_loss(5, streaks=True, block=[0, 0, 1])
    3
    """
    arms = checked_arms(n_arms, streaks)
    if streaks and arms < 2:
        raise BanditError(
            "Lemma 2's general form needs at least 2 arms, got 1: with one arm there is no other "
            "pull to break its streak with."
        )
    if block is None:
        return arms + 2 if streaks else arms
    pulls = as_block(block, arms).tolist()
    different = len(set(pulls))
    if not streaks:
        return different
    lead = next((t for t, arm in enumerate(pulls) if arm != pulls[0]), len(pulls))
    return different + min(lead, 3) - 1


def block_error(
    n_arms: int | Bandit,
    length: int,
    *,
    rest: SideKind = "arbitrary",
    streak: SideKind = "nondecreasing",
) -> int:
    """Return the cell of Table 1: what approximation by blocks of size d costs per block.

    ::

                                   streak
        rest                       constant   nondecreasing   arbitrary
        constant, nondecreasing    K − 1      K + 1           d
        arbitrary                  K          K + 2           d

    An error of d is vacuous: a block can lose everything. Given a bandit, the shapes are read
    from its curves, the worst arm deciding. The first row then also asks that one round of rest
    never pays less than a repeat, μ(1) ≥ μ(−1), as the works it refers to assume.

    Examples
    --------
    >>> block_error(4, 20), block_error(4, 20, rest="nondecreasing", streak="constant")
    (6, 3)
    >>> block_error(4, 20, streak="arbitrary")
    20
    """
    size = checked_length(length)
    if isinstance(n_arms, Bandit):
        rest, streak = weakest_shapes(n_arms)
    arms = arm_count(n_arms)
    shapes = ("constant", "nondecreasing", "arbitrary")
    check_choice("rest", rest, shapes, CurveError)
    check_choice("streak", streak, shapes, CurveError)
    if streak == "arbitrary":
        return size
    return arms + (2 if streak == "nondecreasing" else 0) - (0 if rest == "arbitrary" else 1)


def best_cycle_floor(
    average: float, n_arms: int | Bandit, horizon: int, length: int, *, streaks: bool = False
) -> float:
    """Return what some cycle of length d earns at least, on average (Proposition 2, Eq. 3).

    ::

        (1/T) Σ r_π(t) ≥ (1/T) Σ r*(t) − K/d        (K + 2 with ``streaks=True``)

    ``average`` is the optimum's average over the T rounds. Says something only for d ≥ K.

    Examples
    --------
    >>> round(best_cycle_floor(0.9, 3, horizon=100, length=10), 12)
    0.6
    """
    mean, constant = checked_average(average), approximation_constant(n_arms, streaks)
    _, size = dividing_length(horizon, length)
    return mean - constant / size


def double_play_floor(
    average: float, n_arms: int | Bandit, horizon: int, length: int, *, streaks: bool = False
) -> float:
    """Return what repeating B*_double earns at least, on average (Propositions 4 and 5, Eq. 9).

    ::

        (1/T) Σ r_double(t) ≥ (1 − d/T) [ (1/T) Σ r*(t) − K/d ]

    with K + 2 for K when ``streaks=True`` (Proposition 5).

    Examples
    --------
    >>> round(double_play_floor(0.9, 3, horizon=100, length=10), 12)
    0.54
    """
    rounds, size = dividing_length(horizon, length)
    return (1 - size / rounds) * best_cycle_floor(average, n_arms, rounds, size, streaks=streaks)


def calibration_sequence_floor(
    average: float, n_arms: int | Bandit, horizon: int, length: int, *, streaks: bool = False
) -> float:
    """Return what repeating [B_σ, B*_σ] earns at least (Propositions 4 and 5, Eq. 10).

    ::

        (1/T) Σ r_σ(t) ≥ d/(d + K) · (1/T) Σ r*(t) − K/(d + K)

    with K + 2 for the last numerator when ``streaks=True``. Needs d and d + K to divide T.

    Examples
    --------
    >>> round(calibration_sequence_floor(0.9, 2, horizon=40, length=8), 12)
    0.52
    """
    mean, constant = checked_average(average), approximation_constant(n_arms, streaks)
    arms = arm_count(n_arms)
    rounds, size = dividing_length(horizon, length)
    if rounds % (size + arms):
        raise BlockError(
            f"length + n_arms = {size + arms} must divide the horizon, got horizon {rounds}; "
            f"use a multiple of {math.lcm(size, size + arms)}."
        )
    return (size * mean - constant) / (size + arms)


def calibrated_block_floor(
    average: float, n_arms: int | Bandit, horizon: int, length: int, *, streaks: bool = False
) -> float:
    """Return what repeating the best block for r̃ earns at least (Propositions 4 and 5, Eq. 11).

    ::

        (1/T) Σ r̃*(t) ≥ (1/T) Σ r*(t) − K/d        (K + 2 with ``streaks=True``)

    The same number as :func:`best_cycle_floor`, for a block that can be learned.

    Examples
    --------
    >>> round(calibrated_block_floor(0.9, 3, horizon=100, length=10), 12)
    0.6
    """
    return best_cycle_floor(average, n_arms, horizon, length, streaks=streaks)


def heuristic_time_order(n_arms: int | Bandit, horizon: int, length: int | None = None) -> float:
    """Return the order of the total running time of Algorithm 2 over T rounds.

    ::

        T (K d²)^(5/2),   that is  K^(5/2) T^(9/4)  when d = T^(1/4)

    The paper counts d linear programs of at most K d² variables per block, each of order
    (K d²)^(5/2), in T/d blocks. Algorithm 2 as printed tries every arm in every slot, K d
    programs, which multiplies this by K.

    Examples
    --------
    >>> heuristic_time_order(4, horizon=10_000) == 4**2.5 * 10_000**2.25
    True
    """
    arms, rounds = checked_arms(n_arms, True), checked_horizon(horizon)
    size = rounds**0.25 if length is None else float(checked_length(length))
    return float(rounds * (arms * size**2) ** 2.5)
