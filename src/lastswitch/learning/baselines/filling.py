"""Rounds in which no arm has its turn, though one must be played.

The papers let such a round go by. Where something must be played, an arm loses what its next turn
then pays less than its pattern counts on. One that pays the same in any state, or never has a turn,
loses nothing; with such an arm at hand no turn pays less than the papers count on. What the play
itself earns is not looked at: that would be another policy than theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from lastswitch._utils.arrays import FloatArray
from lastswitch.learning.policy import Mask
from lastswitch.model.states import moved

#: Rounds until an arm's next turn, none if it never has one, and what each play of it is to pay.
Turn = tuple[int, Sequence[float]]


class Tables(NamedTuple):
    """What arms pay by rest (column k is τ = k + 1) and by streak (column k is τ = -(k + 1))."""

    rest: FloatArray
    streak: FloatArray

    def pay(self, arm: int, tau: int) -> float:
        """Return what ``arm`` pays in state ``tau``."""
        if tau > 0:
            return float(self.rest[arm, min(tau, self.rest.shape[1]) - 1])
        return float(self.streak[arm, min(max(-tau, 1), self.streak.shape[1]) - 1])


def least_lost(
    tables: Tables, states: Sequence[int], turns: Sequence[Turn], allowed: Mask | None
) -> int:
    """Return the arm that loses least by a play out of turn, if possible one that has no turns.

    Examples
    --------
    A constant arm does not lose by it; a step that is due in 2 rounds does:

    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)])
    >>> least_lost(Tables(*bandit.tables(3, 1)), (1, -4), [(2, (0.9,)), (1, (0.3,))], None)
    1
    """
    losses = [
        (_loss(tables, arm, tau, *turn), turn[0] > 0) if allowed is None or allowed[arm] else (inf,)
        for arm, (tau, turn) in enumerate(zip(states, turns, strict=True))
    ]
    return min(range(len(losses)), key=losses.__getitem__)


def _loss(tables: Tables, arm: int, tau: int, wait: int, pays: Sequence[float]) -> float:
    """Return what a play in ``tau`` takes from the arm's next turn."""
    if not wait:
        return 0.0
    alone = _shortfall(tables, arm, max(tau, 0) + wait, pays)
    return max(0.0, _shortfall(tables, arm, wait - 1 or moved(tau, True), pays) - alone)


def _shortfall(tables: Tables, arm: int, tau: int, pays: Sequence[float]) -> float:
    """Return what a turn that begins in ``tau`` pays less than it is to."""
    short = 0.0
    for pay in pays:
        short += max(0.0, pay - tables.pay(arm, tau))
        tau = moved(tau, True)
    return short
