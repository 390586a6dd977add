"""What is odd about rules before anything is planned: they may well be meant, and rarely are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lastswitch.calendars.when import day_number, day_of, parse_when
from lastswitch.planning.explain import can_bind
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.rules.eligible import eligible
from lastswitch.rules.records import Counting, Rule, Succession

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.bandit import Bandit


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
    ["at_most('jazz', 7, within=7) can never bind: no schedule breaks it."]
    """
    given = bandit.rules
    rules = given if calendar is None else calendar.resolve(given, length, bandit)
    problem = RuledProblem.from_bandit(bandit, length, rules=rules)
    found = [
        f"{rule!r} {why}"
        for rule, bound in zip(given, problem.bound_rules, strict=True)
        if (why := _idle(problem, bound, rule))
    ]
    if calendar is not None:
        found += _past(given, calendar)
    found += _same(given)
    found += _barred(bandit, problem.bound_rules, length)
    spoken = {name for rule in given for name in _named(rule)}
    found += [
        f"group {group!r} is in no rule; drop it, or say what holds for it."
        for group in bandit.groups
        if group not in spoken and given
    ]
    return found


def _idle(problem: RuledProblem, rule: Rule, given: Rule) -> str:
    """Return why a rule cannot bind in these rounds, if it cannot."""
    if isinstance(rule, Counting):
        windows = rule.windows(problem.length)
        if not windows:
            about = "it is about none of them"
            if isinstance(given, Counting) and given.when is not None:
                about = f"none of them is {given.when!r}"
            return f"says nothing about these rounds: {about}."
        inside = [start >= 0 and stop <= problem.length for start, stop, _, _ in windows]
        if rule.least and not any(inside):
            return "asks for nothing in these rounds: none of its periods lies within them."
    return "" if can_bind(problem, rule) else "can never bind: no schedule breaks it."


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
