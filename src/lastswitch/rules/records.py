"""The two records every rule is: how often in which windows, and what may not follow what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Protocol

from lastswitch._utils.suggest import suggestion
from lastswitch.errors import RuleError

#: All arms of the bandit, as ``who``.
everyone = "everyone"
#: Arms by name or number, or groups by name.
Who = tuple[str | int, ...]
#: Rounds ``start <= t < stop``.
Span = tuple[int, int]
#: Shares of rounds are rounded to whole plays; this much is not counted.
_ROUNDING = 1e-9


class TimeWords(Protocol):
    """What knows the rounds of words of time, such as a calendar."""

    def rounds(self, when: str, length: int, *, none_ok: bool) -> Sequence[int]:
        """Return the rounds (of ``length``) that ``when`` names, such as ``"sunday"``.

        With ``none_ok`` there may be none of them among these rounds.
        """

    def periods(self, per: str, length: int) -> Sequence[Span]:
        """Return every ``per`` (such as ``"week"``) that meets the rounds, first to last.

        Each is a pair (first round, round after the last); the first may begin before round 0 and
        the last end after the block.
        """


class Window(NamedTuple):
    """Rounds ``start <= t < stop`` in which plays are counted: at least, and at most, how many."""

    start: int
    stop: int
    least: int
    most: int | None


@dataclass(frozen=True)
class Counting:
    """Of these arms at least ``least`` and at most ``most`` plays in each window.

    Parameters
    ----------
    who
        Arms (names or numbers) and groups, counted together.
    least, most
        Plays; a float is a share of the window's rounds. ``most`` None: no limit.
    within
        Windows are any ``within`` consecutive rounds.
    every, offset
        Windows are the periods of ``every`` rounds that begin at rounds ``offset + n * every``.
    spans
        Windows are these ranges of rounds ``(start, stop)``. Without ``within``, ``every`` and
        ``spans`` the one window is the whole block or cycle.
    outside
        The windows are instead the rounds in none of ``spans``, each by itself.
    each
        Whether each arm is counted by itself instead of all together.
    form
        The function of :mod:`lastswitch.rules` that says it in these words; it changes nothing.
    cost
        What a violation costs; None: the rule is hard.
    name
        What people call the rule.
    when, per
        Words of time that stand for ``spans`` until a calendar resolves them.

    Examples
    --------
    >>> print(Counting(who=("fish",), least=1, every=7))
    fish: at least 1 play in every period of 7 rounds
    """

    who: Who
    least: int | float = 0
    most: int | float | None = None
    within: int | None = None
    every: int | None = None
    offset: int = 0
    spans: tuple[Span, ...] | None = None
    outside: bool = False
    each: bool = False
    form: str = field(default="", compare=False)
    cost: float | None = None
    name: str | None = None
    when: str | None = None
    per: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counting):
            return NotImplemented
        return self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        """Return what the rule says: one play is not the share of all rounds, though 1 == 1.0."""
        compared = [getattr(self, each.name) for each in fields(self) if each.compare]
        return (*compared, isinstance(self.least, float), isinstance(self.most, float))

    @property
    def hard(self) -> bool:
        """Whether the rule must not be broken."""
        return self.cost is None

    @property
    def resolved(self) -> bool:
        """Whether no words of time are left in it."""
        return self.when is None and self.per is None

    def bound(self, names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Counting:
        """Return the rule with its arms by number, in order.

        Examples
        --------
        >>> Counting(who=("hits",), most=1).bound(["a", "b"], {"hits": ["b"]}).who
        (1,)
        """
        return replace(self, who=_numbers(self, self.who, names, groups))

    def resolve(self, calendar: TimeWords, length: int) -> Counting:
        """Return the rule with its words of time turned into rounds by ``calendar``."""
        if self.per is not None:
            spans = tuple((int(a), int(b)) for a, b in calendar.periods(self.per, length))
            return replace(self, per=None, spans=spans)
        if self.when is not None:
            rounds = sorted({int(t) for t in calendar.rounds(self.when, length, none_ok=True)})
            return replace(self, when=None, spans=tuple((t, t + 1) for t in rounds))
        return self

    def windows(self, length: int) -> list[Window]:
        """Return the windows that meet rounds 0 to ``length - 1``, in order of their starts.

        Those of ``within`` may begin before round 0; those of ``every`` and ``spans`` may end
        after the block too. Shares have become plays.

        Examples
        --------
        >>> Counting(who=(0,), most=0.5, every=4).windows(6)
        [Window(start=0, stop=4, least=0, most=2), Window(start=4, stop=8, least=0, most=2)]
        """
        if self.within is not None:
            spans = [(t + 1 - self.within, t + 1) for t in range(length)]
        elif self.every is not None:
            first = (self.offset % self.every) - self.every
            spans = [(t, t + self.every) for t in range(first, length, self.every)]
        elif self.spans is None:
            spans = [(0, length)]
        elif self.outside:
            inside = {
                t for start, stop in self.spans for t in range(max(start, 0), min(stop, length))
            }
            spans = [(t, t + 1) for t in range(length) if t not in inside]
        else:
            spans = sorted(self.spans)
        plays = {size: self._plays(size) for size in {stop - start for start, stop in spans}}
        return [
            Window(start, stop, *plays[stop - start])
            for start, stop in spans
            if start < length and stop > 0
        ]

    def _plays(self, rounds: int) -> tuple[int, int | None]:
        """Return least and most for a window of so many rounds."""
        least, most = self.least, self.most
        if isinstance(least, float):
            least = math.ceil(least * rounds - _ROUNDING)
        if isinstance(most, float):
            most = math.floor(most * rounds + _ROUNDING)
        return least, most

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, as ``[[rules]]`` of a file holds it.

        Examples
        --------
        >>> Counting(who=("fish",), least=1, every=7).to_dict()
        {'rule': 'at_least', 'who': 'fish', 'plays': 1, 'every': 7}
        """
        from lastswitch.rules.wording import written

        return written(self)

    def __str__(self) -> str:
        from lastswitch.rules.wording import sentence

        return sentence(self)

    def __repr__(self) -> str:
        from lastswitch.rules.wording import call

        return call(self)


@dataclass(frozen=True)
class Succession:
    """No arm of ``who`` right after one of ``whom``: in the round after it.

    Examples
    --------
    >>> print(Succession(who=("pasta",), whom=("pasta",)))
    pasta: never right after pasta
    """

    who: Who
    whom: Who
    cost: float | None = None
    name: str | None = None

    @property
    def hard(self) -> bool:
        """Whether the rule must not be broken."""
        return self.cost is None

    @property
    def resolved(self) -> bool:
        """Whether no words of time are left in it: there never are any."""
        return True

    def bound(self, names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Succession:
        """Return the rule with its arms by number, in order."""
        return replace(
            self,
            who=_numbers(self, self.who, names, groups),
            whom=_numbers(self, self.whom, names, groups),
        )

    def resolve(self, calendar: TimeWords, length: int) -> Succession:
        """Return the rule itself: it has no words of time."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, as ``[[rules]]`` of a file holds it."""
        from lastswitch.rules.wording import written

        return written(self)

    def __str__(self) -> str:
        from lastswitch.rules.wording import sentence

        return sentence(self)

    def __repr__(self) -> str:
        from lastswitch.rules.wording import call

        return call(self)


#: A rule is one of the two.
Rule = Counting | Succession


def _numbers(
    rule: Rule, who: Who, names: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> tuple[int, ...]:
    """Return the arms ``who`` stands for, by number."""
    arms: set[int] = set()
    for each in who:
        if isinstance(each, int):
            if not 0 <= each < len(names):
                raise RuleError(
                    f"{rule!r} names arm {each}; the arms are numbered 0 to {len(names) - 1}."
                )
            arms.add(each)
        elif each in names:
            arms.add(list(names).index(each))
        elif each in groups:
            arms.update(list(names).index(name) for name in groups[each])
        elif each == everyone:
            arms.update(range(len(names)))
        else:
            known = [*names, *groups, everyone]
            raise RuleError(
                f"{rule!r} names {each!r}{suggestion(each, known)}, which is no arm and no group; "
                f"the arms are {', '.join(names)}"
                + (f"; the groups are {', '.join(groups)}." if groups else "; there are no groups.")
            )
    return tuple(sorted(arms))
