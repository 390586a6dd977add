"""One arm as the smallest machine that pays what its curve pays.

A curve has infinitely many states, but only finitely many that differ in what they can pay from
now on: a rest curve that has flattened, a season that has wrapped and a streak that has stopped
falling all come back to a state already seen. :func:`arm_states` lists the states of the tables
and merges those with equal futures (Moore's partition refinement), so a constant arm has one
state, a curve flat from D on has at most D rest states and a season of period p has p. States are
numbered in a canonical order: two arms behave alike exactly when their machines are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastswitch.states import column

if TYPE_CHECKING:
    from lastswitch.curves import Curve

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class ArmStates:
    """The canonical states of one arm.

    Parameters
    ----------
    pay
        What a pull pays in each state.
    on_pull, on_idle
        The state after a pull, and after a round in which another arm is played.
    rest, streak, fresh
        Where the states τ = 1, 2, … and τ = −1, −2, … of the tables lie, and τ = 0.
    repeats
        Whether the rest states wrap around (a season) instead of holding the last.
    """

    pay: tuple[float, ...]
    on_pull: tuple[int, ...]
    on_idle: tuple[int, ...]
    rest: tuple[int, ...]
    streak: tuple[int, ...]
    fresh: int
    repeats: bool

    def __len__(self) -> int:
        return len(self.pay)

    @property
    def behaviour(self) -> tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]:
        """What makes two arms interchangeable: pays and moves of the canonical states."""
        return self.pay, self.on_pull, self.on_idle

    def at(self, tau: int) -> int:
        """Return the canonical state of switch state ``tau``."""
        if tau == 0:
            return self.fresh
        place = column(tau, len(self.rest), len(self.streak), self.repeats)
        return (self.rest + self.streak)[place]


def arm_states(curve: Curve) -> ArmStates:
    """Return the canonical states of ``curve``.

    Examples
    --------
    >>> from lastswitch.curves import Curve
    >>> len(arm_states(Curve([0.4], [0.4])))
    1
    >>> arm_states(Curve([0.0, 1.0], [0.0])).pay  # just played, rested once, rested longer
    (0.0, 0.0, 1.0)
    """
    return _arm_states(tuple(curve.rest), tuple(curve.streak), curve.tail == "repeat")


@lru_cache(maxsize=1 << 16)
def _arm_states(rest: tuple[float, ...], streak: tuple[float, ...], repeats: bool) -> ArmStates:
    R, S = len(rest), len(streak)
    # Listed states: τ = 1..R, then τ = −1..−S, then τ = 0, which pays as −1 and moves to −1.
    pay = np.array([*rest, *streak, streak[0]], dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    on_pull = np.full(R + S + 1, R, dtype=np.int64)
    on_pull[R : R + S] = np.minimum(np.arange(1, S + 1), S - 1) + R
    on_idle = np.zeros(R + S + 1, dtype=np.int64)
    on_idle[:R] = np.arange(1, R + 1)
    on_idle[R - 1] = 0 if repeats else R - 1
    label = _coarsest_partition(pay, on_pull, on_idle)
    order = _canonical_order(label, on_pull, on_idle, first=R)
    new = np.empty(len(order), dtype=np.int64)
    new[label[order]] = np.arange(len(order))
    state = new[label]
    return ArmStates(
        pay=tuple(pay[order].tolist()),
        on_pull=tuple(state[on_pull[order]].tolist()),
        on_idle=tuple(state[on_idle[order]].tolist()),
        rest=tuple(state[:R].tolist()),
        streak=tuple(state[R : R + S].tolist()),
        fresh=int(state[R + S]),
        repeats=repeats,
    )


def _coarsest_partition(pay: NDArray[np.float64], on_pull: IntArray, on_idle: IntArray) -> IntArray:
    """Label states so that two share a label exactly when all their futures pay the same."""
    values, label = np.unique(pay, return_inverse=True)
    classes = len(values)
    while True:
        signature = (label * classes + label[on_pull]) * classes + label[on_idle]
        values, label = np.unique(signature, return_inverse=True)
        if len(values) == classes:
            return np.asarray(label, dtype=np.int64)
        classes = len(values)


def _canonical_order(
    label: IntArray, on_pull: IntArray, on_idle: IntArray, first: int
) -> list[int]:
    """Return one listed state per class, in an order that depends on behaviour only."""
    order, seen = [first], {int(label[first])}
    for state in order:  # grows while we walk: pulls before idles, breadth first
        for following in (int(on_pull[state]), int(on_idle[state])):
            if int(label[following]) not in seen:
                seen.add(int(label[following]))
                order.append(following)
    for state in range(len(label)):  # τ = 0 is reached from nowhere, only started in
        if int(label[state]) not in seen:
            seen.add(int(label[state]))
            order.append(state)
    return order
