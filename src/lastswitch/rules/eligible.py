"""Which arms each round may play: what rules about eligibility say before anything is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.checks import check_bandit, check_list
from lastswitch.errors import CalendarError, InputTypeError, RuleError
from lastswitch.rules.records import Counting, Rule

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.bandit import Bandit


def resolved_rules(
    rules: Iterable[Rule], calendar: Calendar, length: int, bandit: Bandit | None
) -> tuple[Rule, ...]:
    """Return rules with rounds for words of time; see :meth:`lastswitch.Calendar.resolve`."""
    given, found = check_list("rules", rules, "made with lastswitch.rules"), []
    if bandit is not None:
        check_bandit("resolve", bandit)
    for rule in given:
        if not isinstance(rule, Rule):
            raise InputTypeError(f"a rule is made with lastswitch.rules, got {rule!r}.")
        try:
            clear = rule.resolve(calendar, length)
        except CalendarError as error:
            raise CalendarError(f"{rule!r}: {error}") from error
        if clear is not rule and rule.name is None:
            clear = replace(clear, name=str(rule))
        found.append(clear)
    if bandit is not None:
        check_eligible(found, bandit, length, given, calendar.say)
    return tuple(found)


def eligible(rule: Rule, n_arms: int, length: int) -> NDArray[np.bool_]:
    """Return for each round and arm whether ``rule`` lets it be played at all.

    Only hard rules of no plays at all say no: ``never``, ``only`` and their like. The rule's arms
    must be numbers and its words of time rounds.

    Examples
    --------
    >>> from lastswitch.rules import only
    >>> eligible(only(0, [1]), n_arms=2, length=3).tolist()
    [[False, True], [True, True], [False, True]]
    """
    table = np.ones((length, n_arms), dtype=bool)
    if isinstance(rule, Counting) and rule.hard and rule.most is not None:
        arms = _numbers(rule)
        for start, stop, _, most in rule.windows(length):
            if most == 0:
                table[max(start, 0) : stop, arms] = False
    return table


def check_eligible(
    rules: Sequence[Rule],
    bandit: Bandit,
    length: int,
    given: Sequence[Rule],
    say: Callable[[int], str],
) -> None:
    """Refuse rules that leave a round too few arms, or a pinned one none.

    ``given`` are the rules as their author wrote them, and ``say`` puts a round in words.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> from lastswitch.rules import never
    >>> rules = [never("everyone", [6])]
    >>> radio = Bandit([Curve([1.0], [0.0])], names=["jazz"])
    >>> check_eligible(rules, radio, 7, rules, lambda number: "Sunday")
    Traceback (most recent call last):
    lastswitch.errors.RuleError: never('everyone', 6) leaves no arm for Sunday (round 6); ...
    """
    bound = [rule.bound(bandit.names, bandit.groups) for rule in rules]
    tables = [eligible(rule, bandit.n_arms, length) for rule in bound]
    everyone, least = list(range(bandit.n_arms)), bandit.plays[0]
    demands: list[tuple[int, list[int], int, int | None]] = []
    if least:
        demands += [(t, everyone, least, None) for t in range(length)]
    for place, rule in enumerate(bound):
        if isinstance(rule, Counting) and rule.hard and rule.form == "pinned":
            demands += [
                (t, _numbers(rule), 1, place)
                for start, stop in rule.spans or ()
                for t in range(max(start, 0), min(stop, length))
            ]
    for t, who, needed, pin in sorted(demands, key=lambda demand: demand[0]):
        blame = _smallest([table[t, who] for table in tables], needed)
        if blame is not None:
            _refuse(given, blame, pin, needed, f"{say(t)} (round {t})")


def _numbers(rule: Counting) -> list[int]:
    """Return the arms of a rule that was bound to a bandit."""
    return [arm for arm in rule.who if isinstance(arm, int)]


def _smallest(rows: list[NDArray[np.bool_]], needed: int) -> list[int] | None:
    """Return a smallest set of rows that together leave fewer than ``needed`` arms, if any does."""

    def left(places: list[int]) -> int:
        return int(np.logical_and.reduce([rows[place] for place in places]).sum()) if places else 0

    blame = [place for place, row in enumerate(rows) if not row.all()]
    if not blame or left(blame) >= needed:
        return None
    for place in list(blame):
        rest = [other for other in blame if other != place]
        if rest and left(rest) < needed:
            blame = rest
    return blame


def _refuse(
    given: Sequence[Rule], blame: list[int], pin: int | None, needed: int, where: str
) -> None:
    words = [repr(given[place]) for place in blame]
    if pin is not None:
        words = [repr(given[pin]), *words]
        raise RuleError(f"{_and(words)} cannot hold together on {where}; drop or move one of them.")
    arms = "no arm" if needed == 1 else f"fewer than {needed} arms"
    raise RuleError(
        f"{_and(words)} {'leaves' if len(words) == 1 else 'leave'} {arms} for {where}; allow "
        "silence (plays = [0, 1]), let the calendar skip such rounds, or drop one of the rules."
    )


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
