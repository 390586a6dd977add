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
from typing import NamedTuple

from lastswitch.errors import RuleError
from lastswitch.rules.records import Counting, Rule, Succession, Window

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
            counts = [sum(arm in who for arm in arms) for arms in rounds]
            before = [sum(arm in who for arm in arms) for arms in history]
            asked = windows
            if repeats:
                before = counts  # of one turn, for longer windows are cut to less
                if rule.within is not None:
                    asked = [_within_a_turn(window, counts) for window in windows]
            _counted(rule, asked, before + counts, len(before), repeats, found)
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


def _within_a_turn(window: Window, counts: list[int]) -> Window:
    """Return a window of a cycle less its whole turns, and less the plays that they hold.

    A turn holds the same plays wherever it begins, so both ask the same of the rounds that are
    left; and these reach back one turn at most, however long the window was.
    """
    turns = max(window.stop - window.start - 1, 0) // len(counts)
    plays = turns * sum(counts)
    most = None if window.most is None else window.most - plays
    return Window(window.start + turns * len(counts), window.stop, window.least - plays, most)


def _followers(rule: Succession, played: PlayedRounds, now: int, found: dict[int, int]) -> None:
    """Count the plays of ``who`` in rounds after one of ``whom``."""
    for t in range(max(now, 1), len(played)):
        if any(arm in rule.whom for arm in played[t - 1]):
            _add(found, t - now, sum(arm in rule.who for arm in played[t]))


def _counted(
    rule: Counting,
    windows: list[Window],
    counts: list[int],
    now: int,
    repeats: bool,
    found: dict[int, int],
) -> None:
    """Count plays too many and too few; ``counts`` are the plays of every round, known past first.

    Round 0 of the schedule is entry ``now``.
    """
    length = len(counts) - now
    for start, stop, least, most in windows:
        # Spans are rounds of one turn; sliding windows and periods go on from turn to turn.
        known = 0 if repeats and rule.spans is not None else -now
        first = max(start, known)
        if most is not None:
            # Of sliding windows, each judges the plays of its last round only.
            begin = max(start, 0) if rule.within is None else stop - 1
            judged = range(begin, min(stop, length))
            for t in judged:
                if plays := counts[now + t]:
                    before = sum(counts[now + first : now + t])
                    _add(found, t, max(0, plays - max(0, most - before)))
        if least > 0 and start >= known and stop <= length:
            plays = sum(counts[now + start : now + stop])
            if start < 0 and not repeats:
                least = min(least, sum(counts[now + start : now]) + stop)
            _add(found, stop - 1, max(0, least - plays))


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
