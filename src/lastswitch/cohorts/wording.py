"""Budgets in words, as the command line has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lastswitch.cohorts.budgets import Budget
from lastswitch.errors import BudgetError

if TYPE_CHECKING:
    from lastswitch.calendar import Calendar

_FORM = re.compile(
    r"(?P<who>.+?)\s*:\s*(?P<plays>\d[\d,_]*)(?:\s+plays?)?\s*(?P<per>per round|in all)?"
    r"(?:\s+on\s+(?P<when>.+))?"
)


def read_budget(text: str, length: int, calendar: Calendar | None = None) -> Budget:
    """Return the budget that words name.

    They name arms or groups (joined by ``+``) or everyone, how many plays there may be, ``per
    round`` (the default) or ``in all``, and with a calendar on which days.

    Examples
    --------
    >>> print(read_budget("everyone: 20,000 per round", 7))
    everyone: at most 20,000 plays a round
    >>> read_budget("jazz+talk: 500 in all", 7).who
    ('jazz', 'talk')
    >>> from lastswitch import Calendar
    >>> read_budget("jazz: 5 on sat-sun", 7, Calendar("2024-06-03")).rounds
    (5, 6)
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise BudgetError(
            "a budget is said like 'everyone: 1000 per round', 'jazz: 500 in all' or "
            f"'jazz+talk: 200 per round on sat-sun', got {text!r}."
        )
    who = [name.strip() for name in match["who"].split("+")]
    rounds = None
    if match["when"] is not None:
        if calendar is None:
            raise BudgetError(
                f"the budget {text!r} speaks of dates: give a calendar (from when on), or name "
                "rounds with Budget(..., rounds=[...])."
            )
        rounds = calendar.rounds(match["when"], length)
    plays = int(re.sub("[,_]", "", match["plays"]))
    per = "all" if match["per"] == "in all" else "round"
    return Budget(who, plays, per=per, rounds=rounds)  # type: ignore[arg-type]
