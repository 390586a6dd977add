"""What the rules remember of every subject, as whole numbers.

A rule whose windows reach back knows how often its arms were played in the rounds before. Of
that only so much matters: the rounds its windows reach, and as many plays as it counts. What is
left is written as digits, the latest round first, and can be read again: two subjects with equal
numbers are alike to the rule, and the counters of the number are those of either's history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch.rules.automata.counters import Counter, counters_of, numbers
from lastswitch.rules.records import Counting, Rule, Succession

#: Digits and the mark of the known past together stay below this.
_ROOM = 1 << 62


@dataclass(frozen=True)
class Memory:
    """What one rule remembers of the plays of some arms.

    Parameters
    ----------
    rule
        The rule, its arms numbers, of these arms only.
    length
        How many rounds are planned.
    most_plays
        How many arms a round plays at most.
    """

    rule: Rule
    length: int
    most_plays: int

    @cached_property
    def arms(self) -> tuple[int, ...]:
        """The arms whose plays before the block matter."""
        return numbers(self.rule.whom if isinstance(self.rule, Succession) else self.rule.who)

    @cached_property
    def at_once(self) -> int:
        """How many of these plays a round can have, as far as they matter."""
        if isinstance(self.rule, Succession):
            return 1
        return max(min(self.most_plays, len(self.arms)), 1)

    @cached_property
    def reach(self) -> int:
        """How many rounds it looks back."""
        if isinstance(self.rule, Succession):
            return 1
        return max([0, *(-window.start for window in self.rule.windows(self.length))])

    @cached_property
    def enough(self) -> int:
        """How many plays it counts: more are as many."""
        if isinstance(self.rule, Succession):
            return 1
        windows = self.rule.windows(self.length)
        return max([0, *(max(w.least, w.most or 0) for w in windows)])

    @cached_property
    def asks(self) -> bool:
        """Whether it asks for plays, so that how much of the past is known matters."""
        if isinstance(self.rule, Succession):
            return False
        return any(window.least for window in self.rule.windows(self.length))

    @cached_property
    def _digits(self) -> int:
        """How many rounds one number holds."""
        digits = 1
        while (self.at_once + 1) ** (digits + 2) < _ROOM:
            digits += 1
        return digits

    @property
    def columns(self) -> int:
        """How many numbers it takes."""
        return -(-self.reach // self._digits)

    @property
    def nothing(self) -> tuple[int, ...]:
        """What is remembered where nothing is known."""
        return (int(self.asks),) * self.columns

    def packed(self, plays: IntArray, known: BoolArray) -> IntArray:
        """Return what is remembered of plays (n, rounds), the latest last; (n, columns).

        ``plays`` are those of these arms; ``known`` (n, rounds) tells of which rounds anything
        is known.
        """
        n, base = len(plays), self.at_once + 1
        numbers_ = np.zeros((n, self.columns), np.int64)
        left = np.full(n, self.enough)
        for age in range(self.reach):
            if age < plays.shape[1]:
                digit = np.minimum(np.minimum(plays[:, -1 - age], self.at_once), left)
                there = known[:, -1 - age]
            else:
                digit, there = np.zeros(n, np.int64), np.zeros(n, np.bool_)
            digit = np.where(there, digit, 0)
            left -= digit
            # A first digit of one marks how far the past is known, if that matters.
            place = age % self._digits
            column = numbers_[:, age // self._digits]
            if self.asks:
                marked = np.where(there, base**place, 0)
                column += marked * (base - 1) + (place == 0) + digit * marked
            else:
                column += digit * base**place
        return numbers_

    def history(self, packed: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return rounds that are remembered as ``packed``, the latest last."""
        base = self.at_once + 1
        rounds: list[tuple[int, ...]] = []
        for column, number in enumerate(packed):
            size = min(self._digits, self.reach - column * self._digits)
            for _ in range(size):
                if self.asks and number == 1:
                    return tuple(reversed(rounds))
                rounds.append(self.arms[: number % base])
                number //= base
        return tuple(reversed(rounds))

    def counters(self, packed: Sequence[int]) -> tuple[Counter, ...]:
        """Return the counters of the rule after that history."""
        return _counters(self, tuple(packed))


@lru_cache(maxsize=1 << 16)
def _counters(memory: Memory, packed: tuple[int, ...]) -> tuple[Counter, ...]:
    past = memory.history(packed)
    return tuple(counters_of(memory.rule, memory.length, memory.most_plays, past))


def memories_of(rules: Sequence[Rule], length: int, most_plays: int) -> tuple[Memory, ...]:
    """Return what rules (their arms numbers) remember; one for each arm that is counted alone.

    Examples
    --------
    >>> from lastswitch.rules import rest
    >>> [memory.arms for memory in memories_of([rest([0, 1], 3)], 6, 1)]
    [(0,), (1,)]
    """
    found: list[Rule] = []
    for rule in rules:
        parts: list[Rule] = [rule]
        if isinstance(rule, Counting) and rule.each:
            parts = [replace(rule, who=(arm,), each=False) for arm in rule.who]
        # To say a hard rule twice changes nothing; a soft one costs twice.
        found += [part for part in parts if part.cost is not None or part not in found]
    return tuple(Memory(rule, length, most_plays) for rule in found)
