"""Keeping rules play by play: which plays are legal now, for those who choose as they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lastswitch.rules.automata.counters import counters_of

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit


class Keeper:
    """What the rules of a bandit remember, round by round.

    A play is legal if no hard rule is broken by it in its round; whether all rules can still be
    kept to the end is not looked at.

    Parameters
    ----------
    bandit
        Whose rules.
    horizon
        Rounds to be played.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch import rules as r
    >>> keeper = Keeper(ls.Bandit([ls.curves.constant(0.5)] * 2, rules=[r.rest(0, 2)]), 5)
    >>> keeper.play([0])
    0.0
    >>> keeper.legal([0]), keeper.legal([1])
    (False, True)
    """

    def __init__(self, bandit: Bandit, horizon: int) -> None:
        self._plays = bandit.plays
        self._round = 0
        self._counters = [
            counter
            for rule in bandit.rules
            for counter in counters_of(
                rule.bound(bandit.names, bandit.groups), horizon, bandit.plays[1], ()
            )
        ]
        self._memories = [counter.start for counter in self._counters]

    def legal(self, arms: Sequence[int]) -> bool:
        """Tell whether the next round may play ``arms``."""
        least, most = self._plays
        if not least <= len(arms) <= most:
            return False
        steps = zip(self._counters, self._steps(arms), strict=True)
        return not any(wrong and counter.cost is None for counter, (_, wrong) in steps)

    def play(self, arms: Sequence[int]) -> float:
        """Move on by a round that played ``arms``; return what it broke of soft rules costs."""
        steps = self._steps(arms)
        self._memories = [memory for memory, _ in steps]
        self._round += 1
        return sum(
            wrong * (counter.cost or 0.0)
            for counter, (_, wrong) in zip(self._counters, steps, strict=True)
        )

    def _steps(self, arms: Sequence[int]) -> list[tuple[object, int]]:
        return [
            counter.step(self._round, memory, sum(counter.letters.get(arm, 0) for arm in arms))
            for counter, memory in zip(self._counters, self._memories, strict=True)
        ]
