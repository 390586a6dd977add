"""Seeded random bandits, by family, for tests, benchmarks and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.random import stream
from lastswitch.errors import BanditError
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import MOST_ROUNDS, Curve, periodic, step


def random_bandit(family: str, n_arms: int, depth: int, seed: int) -> Bandit:
    """Draw a bandit of one of the ``FAMILIES``; the same arguments give the same bandit anywhere.

    Parameters
    ----------
    family
        ``"uniform"`` any rest value at each depth; ``"spike"`` one good moment; ``"step"`` good
        from some rest on; ``"monotone"`` the longer the rest the better; ``"seasonal"`` a
        repeating rest curve; ``"satiating"`` streaks that wear out over several plays, rest that
        recovers; ``"mixed"`` each arm of a family of its own.
    n_arms
        The number of arms K ≥ 1.
    depth
        Longest rest (and, for ``"satiating"``, longest streak) at which curves still change;
        for ``"seasonal"`` the longest period.
    seed
        Any integer ≥ 0.

    Examples
    --------
    >>> random_bandit("monotone", n_arms=2, depth=3, seed=0).curves[0].rest
    (0.093, 0.6623, 0.7194)
    """
    check_choice("family", family, FAMILIES, BanditError)
    check_whole("n_arms", n_arms, least=1)
    check_whole("depth", depth, least=1, most=MOST_ROUNDS)
    check_whole("seed", seed, least=0)
    rng = stream(seed, "instance", family, n_arms, depth)
    return Bandit([_DRAW[family](_Dice(rng), depth) for _ in range(n_arms)])


class _Dice:
    """Draws made of ``Generator.random`` alone, rounded: the same on every platform."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def between(self, low: float, high: float) -> float:
        return round(low + (high - low) * float(self._rng.random()), 4)

    def values(self, size: int) -> list[float]:
        return [self.between(0.0, 1.0) for _ in range(size)]

    def integer(self, low: int, high: int) -> int:
        """One of ``low``, …, ``high``, both included."""
        return low + int(float(self._rng.random()) * (high - low + 1))


def _uniform(dice: _Dice, depth: int) -> Curve:
    return Curve(dice.values(depth), dice.values(1))


def _spike(dice: _Dice, depth: int) -> Curve:
    low, high = dice.between(0.0, 0.3), dice.between(0.5, 1.0)
    at = dice.integer(1, max(1, depth - 1))  # the rest entry after the spike is low again
    return Curve([high if tau == at else low for tau in range(1, depth + 1)], [low])


def _step(dice: _Dice, depth: int) -> Curve:
    low, high = dice.between(0.0, 0.3), dice.between(0.5, 1.0)
    return step(dice.integer(1, depth), high, low)


def _monotone(dice: _Dice, depth: int) -> Curve:
    repeat, *rest = sorted(dice.values(depth + 1))
    return Curve(rest, [repeat])


def _seasonal(dice: _Dice, depth: int) -> Curve:
    period = dice.integer(min(2, depth), depth)
    return periodic(dice.values(period), dice.between(0.0, 0.3))


def _satiating(dice: _Dice, depth: int) -> Curve:
    ascending = sorted(dice.values(2 * depth))  # from the longest streak to the longest rest
    return Curve(ascending[depth:], ascending[:depth][::-1])


def _mixed(dice: _Dice, depth: int) -> Curve:
    pure = [family for family in FAMILIES if family != "mixed"]
    return _DRAW[pure[dice.integer(0, len(pure) - 1)]](dice, depth)


_DRAW: Mapping[str, Callable[[_Dice, int], Curve]] = {
    "spike": _spike,
    "step": _step,
    "monotone": _monotone,
    "seasonal": _seasonal,
    "satiating": _satiating,
    "mixed": _mixed,
    "uniform": _uniform,
}

#: The families ``random_bandit`` draws from.
FAMILIES: tuple[str, ...] = tuple(_DRAW)
