"""What it means to keep a rule: the plain evaluator, the definition every planner is tested by.

Pure Python over the sequence of rounds; nothing here knows how planners compile rules.

- A play is *too many* if, with the plays of ``who`` before it in its window (those of ``within``
  being the rounds up to the play's own), there are more than ``most``.
- A window *lacks* as many plays as it falls short of ``least``. It asks for nothing if it begins
  before the known past or ends after the block; and if it reaches back before round 0, for no more
  than one play in each of its rounds from 0 on besides those it has: the past cannot be mended.
- A play of ``who`` *follows* if some arm of ``whom`` was played the round before.

Only plays, window ends and followers from round 0 on count. Of a schedule that repeats, every turn
is alike and has the turns before it as its past.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from lastswitch.errors import RuleError
from lastswitch.rules.records import Counting, Rule, Succession, Who, Window

#: The arms of each round.
PlayedRounds = Sequence[Sequence[int]]


class Violation(NamedTuple):
    """How much a rule is broken in a round: plays too many, missing, or following."""

    round: int
    amount: int


def violations(
    rule: Rule, rounds: PlayedRounds, history: PlayedRounds = (), *, repeats: bool = False
) -> list[Violation]:
    """Return where ``rounds`` break ``rule``, in order.

    Parameters
    ----------
    rule
        A rule whose arms are numbers (see ``rule.bound``).
    rounds
        The arms of every round, such as ``[(0,), (), (1, 2)]``.
    history
        The rounds before them, the latest last.
    repeats
        Whether the rounds are one turn of a cycle; there is no history then.

    Examples
    --------
    >>> from lastswitch.rules import apart
    >>> violations(apart(0, 3), [(0,), (1,), (0,)])
    [Violation(round=2, amount=1)]
    >>> violations(apart(0, 3), [(1,), (1,), (0,)], history=[(0,)])
    []
    """
    check_rounds(rule, len(rounds), repeats)
    found: dict[int, int] = {}
    if isinstance(rule, Succession):
        past = [rounds[-1]] if repeats else list(history)
        _followers(rule, [*past, *rounds], len(past), found)
    else:
        windows = rule.windows(len(rounds))
        for who in [(arm,) for arm in rule.who] if rule.each else [rule.who]:
            counts, before = _counts(who, rounds), _counts(who, history)
            plays = _Turns(counts) if repeats else _Plays(before + counts, len(before))
            _counted(rule, windows, plays, len(rounds), found)
    return [Violation(t, amount) for t, amount in sorted(found.items())]


def check_rounds(rule: Rule, length: int, repeats: bool) -> None:
    """Refuse a rule that says nothing definite about a schedule of ``length`` rounds."""
    if not rule.resolved:
        words = rule.when if isinstance(rule, Counting) and rule.when else getattr(rule, "per", "")
        raise RuleError(
            f"{rule!r} speaks of {words!r}, which only a calendar can turn into rounds; plan with "
            "rules=calendar.resolve(rules, length), or give rounds, within or every."
        )
    if repeats and isinstance(rule, Counting) and rule.every is not None and length % rule.every:
        raise RuleError(
            f"{rule!r} has periods of {rule.every} rounds, which do not divide a cycle of "
            f"{length}; plan a cycle whose length is a multiple of {rule.every}."
        )


def _followers(rule: Succession, played: PlayedRounds, now: int, found: dict[int, int]) -> None:
    """Count the plays of ``who`` in rounds after one of ``whom``."""
    for t in range(max(now, 1), len(played)):
        if any(arm in rule.whom for arm in played[t - 1]):
            _add(found, t - now, sum(arm in rule.who for arm in played[t]))


def _counts(who: Who, rounds: PlayedRounds) -> list[int]:
    """Return how many plays of ``who`` each round has."""
    return [sum(arm in who for arm in arms) for arms in rounds]


class _Plays:
    """Plays of every round of a block and of its known past; round 0 is entry ``now``."""

    repeats = False

    def __init__(self, counts: list[int], now: int) -> None:
        self.known = -now
        self._sums = [0, *accumulate(counts)]

    def between(self, start: int, stop: int) -> int:
        """Return the plays of rounds ``start <= t < stop``, which are known."""
        return self._sums[stop - self.known] - self._sums[start - self.known]


class _Turns:
    """Plays of every round of a turn that has always been repeated."""

    repeats = True
    known = -math.inf

    def __init__(self, counts: list[int]) -> None:
        self._sums = [0, *accumulate(counts)]

    def between(self, start: int, stop: int) -> int:
        """Return the plays of rounds ``start <= t < stop``, in whatever turn they are."""
        return self._until(stop) - self._until(start)

    def _until(self, t: int) -> int:
        turns, rest = divmod(t, len(self._sums) - 1)
        return turns * self._sums[-1] + self._sums[rest]


def _counted(
    rule: Counting,
    windows: list[Window],
    plays: _Plays | _Turns,
    length: int,
    found: dict[int, int],
) -> None:
    """Count plays too many and too few; only the rounds of the schedule are walked."""
    # Spans are rounds of one turn; sliding windows and periods go on from turn to turn.
    known = 0 if plays.repeats and rule.spans is not None else plays.known
    for start, stop, least, most in windows:
        first = start if start >= known else int(known)
        if most is not None:
            # Of sliding windows, each judges the plays of its last round only.
            begin = max(start, 0) if rule.within is None else stop - 1
            for t in range(begin, min(stop, length)):
                here = plays.between(t, t + 1)
                if here:
                    _add(found, t, max(0, here - max(0, most - plays.between(first, t))))
        if least and start >= known and stop <= length:
            if start < 0 and not plays.repeats:
                least = min(least, plays.between(start, 0) + stop)
            _add(found, stop - 1, max(0, least - plays.between(start, stop)))


def _add(found: dict[int, int], t: int, amount: int) -> None:
    if amount:
        found[t] = found.get(t, 0) + amount


def cost_of(
    rules: Iterable[Rule],
    rounds: PlayedRounds,
    history: PlayedRounds = (),
    *,
    repeats: bool = False,
) -> float:
    """Return what broken soft rules cost in all; infinity if a hard one is broken.

    Examples
    --------
    >>> from lastswitch.rules import apart
    >>> cost_of([apart(0, 3, cost=0.25)], [(0,), (0,), (0,)])
    0.5
    """
    cost = 0.0
    for rule in rules:
        amount = sum(v.amount for v in violations(rule, rounds, history, repeats=repeats))
        if amount:
            cost += math.inf if rule.cost is None else rule.cost * amount
    return cost
