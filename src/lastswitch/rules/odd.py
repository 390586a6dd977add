"""What is odd about rules before anything is planned: they may well be meant, and rarely are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._when import day_number, day_of, parse_when
from lastswitch.rules.checking import check_rounds
from lastswitch.rules.eligible import eligible
from lastswitch.rules.records import Counting, Rule, Succession

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.calendar import Calendar


def oddities(bandit: Bandit, length: int, calendar: Calendar | None = None) -> list[str]:
    """Return what is odd about a bandit's rules in the coming ``length`` rounds, in sentences.

    Rules that cannot bind, that say the same as another, arms that no rule lets be played, groups
    that no rule speaks of, and dates that are not in these rounds. What cannot be planned at all
    is an error.

    Parameters
    ----------
    bandit
        Arms, groups and rules.
    length
        How many rounds are to be planned.
    calendar
        Turns words of time into rounds.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> from lastswitch.rules import at_most
    >>> weekly = at_most("jazz", 7, within=7)
    >>> oddities(Bandit([Curve([1.0], [0.0])], names=["jazz"], rules=[weekly]), 14)
    ["at_most('jazz', 7, within=7) can never bind: there are no more plays than that."]
    """
    given = bandit.rules
    rules = given if calendar is None else calendar.resolve(given, length, bandit)
    bound = [rule.bound(bandit.names, bandit.groups) for rule in rules]
    for rule in bound:
        check_rounds(rule, length, repeats=False)
    found = [
        f"{given[place]!r} {why}"
        for place, rule in enumerate(bound)
        if (why := _idle(rule, given[place], bandit, length))
    ]
    if calendar is not None:
        found += _past(given, calendar)
    found += _same(given)
    found += _barred(bandit, bound, length)
    spoken = {name for rule in given for name in _named(rule)}
    found += [
        f"group {group!r} is in no rule; drop it, or say what holds for it."
        for group in bandit.groups
        if group not in spoken and given
    ]
    return found


def _idle(rule: Rule, given: Rule, bandit: Bandit, length: int) -> str:
    """Return why a rule cannot bind in these rounds, if it is sure not to."""
    most_plays = bandit.plays[1]
    if isinstance(rule, Succession):
        arms = {arm for arm in (*rule.who, *rule.whom) if isinstance(arm, int)}
        return "can never bind: two rounds are needed." if length < 2 and arms else ""
    windows = rule.windows(length)
    if not windows:
        if isinstance(given, Counting) and given.when is not None:
            return f"says nothing about these rounds: none of them is {given.when!r}."
        return "says nothing about these rounds: it is about none of them."
    places = 1 if rule.each else min(len(rule.who), most_plays)
    binds = any(
        (most is not None and most < places * (stop - start)) or least > 0
        for start, stop, least, most in windows
    )
    if not binds:
        return "can never bind: there are no more plays than that."
    if rule.least and all(stop > length or start < 0 for start, stop, _, _ in windows):
        return "asks for nothing in these rounds: none of its periods lies within them."
    return ""


def _past(rules: Sequence[Rule], calendar: Calendar) -> list[str]:
    """Return which dates are over, and which words may be meant otherwise."""
    words = [(repr(rule), rule.when) for rule in rules if isinstance(rule, Counting)]
    if calendar.skip is not None:
        words.append(("the calendar's skip", str(calendar.skip)))
    today, found = day_number(calendar.day(0)), []
    for who, when in words:
        if when is None:
            continue
        parts = parse_when(when).parts
        over = [part.last for part in parts if part.last is not None and part.last < today]
        found += [f"{who} speaks of {day_of(last)}, before the first round." for last in over]
        for bare, timed in pairwise(parts):
            if bare.begin is None and bare.first is timed.first is None and timed.begin is not None:
                found.append(
                    f"{who}: in {str(when)!r} the time of day belongs to the last part alone; "
                    "repeat it if it is meant for all."
                )
                break
    return found


def _same(rules: Sequence[Rule]) -> list[str]:
    """Return which rules are said twice."""
    return [
        f"{rule!r} is said twice; drop one."
        for place, rule in enumerate(rules)
        if rule in rules[:place]
    ]


def _barred(bandit: Bandit, rules: Sequence[Rule], length: int) -> list[str]:
    """Return which arms no round may play."""
    allowed = np.ones((length, bandit.n_arms), dtype=bool)
    for rule in rules:
        allowed &= eligible(rule, bandit.n_arms, length)
    return [
        f"no rule lets {name!r} be played in any of these {length} rounds."
        for name, column in zip(bandit.names, allowed.T, strict=True)
        if not column.any()
    ]


def _named(rule: Rule) -> tuple[str | int, ...]:
    return (*rule.who, *rule.whom) if isinstance(rule, Succession) else rule.who
