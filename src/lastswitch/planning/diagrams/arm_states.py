"""One arm as the smallest machine that pays what its curve pays.

A curve has infinitely many states, but only finitely many that differ in what they can pay from
now on: a rest curve that has flattened, a season that has wrapped and a streak that has stopped
falling all come back to a state already seen. :func:`arm_states` lists one state for each future,
so a constant arm has one state, a curve flat from D on has at most D rest states and a season of
period p has p. States are numbered in a canonical order: two arms behave alike exactly when their
machines are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lastswitch.model.states import column

if TYPE_CHECKING:
    from lastswitch.model.curves import Curve


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
    >>> from lastswitch.model.curves import Curve
    >>> len(arm_states(Curve([0.4], [0.4])))
    1
    >>> arm_states(Curve([0.0, 1.0], [0.0])).pay  # just played, rested once, rested longer
    (0.0, 0.0, 1.0)
    """
    return _arm_states(curve)


@lru_cache(maxsize=1 << 16)
def _arm_states(curve: Curve) -> ArmStates:
    """List the states that differ: those of a streak, those of rest, and τ = 0 if it is another.

    After a pull all rest states are alike, and after a rest all streak states: so two rest states
    are equal when their pays are from there on, and two streak states too. That leaves the states
    1..D and -1..-S of the curve's support. A state of one side equals one of the other only if
    both moves lead to equal states: if the streak is flat, and the rest state wraps to τ = 1.
    """
    D, S = curve.support()
    repeats = curve.tail == "repeat"
    meets = (repeats or D == 1) and curve.rest[D - 1] == curve.streak[0]  # τ = 0 pays as D does
    own = D - 1 if meets and S == 1 else D  # rest states that are not -1 as well
    rest, streak = (*range(S, S + own), *[0] * (D - own)), tuple(range(S))
    fresh = rest[-1] if meets else 0 if S == 1 else S + own
    another = fresh == S + own
    return ArmStates(
        pay=curve.streak[:S] + curve.rest[:own] + curve.streak[:another],
        on_pull=streak[1:] + streak[-1:] + (0,) * (own + another),
        on_idle=rest[:1] * S
        + (rest + rest[:1] if repeats else rest + rest[-1:])[1 : own + 1]
        + rest[:another],
        rest=rest * (len(curve.rest) // D) if repeats else _held(rest, len(curve.rest)),
        streak=_held(streak, len(curve.streak)),
        fresh=fresh,
        repeats=repeats,
    )


def _held(states: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return ``states``, the last one repeated up to ``size``."""
    return states + states[-1:] * (size - len(states))
