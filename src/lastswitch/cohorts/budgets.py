"""Budgets: how many plays all subjects of a cohort may have together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch._utils.checks import check_choice, check_list, check_whole
from lastswitch.errors import BudgetError, InputTypeError, RuleError
from lastswitch.rules.automata.counters import numbers
from lastswitch.rules.making import at_most

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar


Per = Literal["round", "all"]


@dataclass(frozen=True, init=False)
class Budget:
    """At most so many plays over the whole cohort.

    Parameters
    ----------
    who
        An arm (name or number), a group, ``"everyone"``, or a list of these; counted together.
    plays
        How many plays there may be.
    per
        ``"round"``: in each round; ``"all"``: in all rounds together.
    rounds
        Which rounds it counts; all by default.
    name
        What to call it.

    Examples
    --------
    >>> print(Budget("everyone", 20_000))
    everyone: at most 20,000 plays a round
    >>> print(Budget(["jazz", "talk"], 500, per="all", rounds=[5, 6], name="weekend"))
    weekend: at most 500 plays in all
    """

    who: tuple[str | int, ...]
    plays: int
    per: Per
    rounds: tuple[int, ...] | None
    name: str | None

    def __init__(
        self,
        who: str | int | Sequence[str | int],
        plays: int,
        per: Per = "round",
        rounds: Iterable[int] | None = None,
        name: str | None = None,
    ) -> None:
        check_choice("per", per, get_args(Per), BudgetError)
        try:
            named = at_most(who, 0).who
        except RuleError as error:
            raise BudgetError(f"a budget counts arms or groups: {error}") from error
        if rounds is not None:
            listed = check_list("rounds", rounds, "the rounds a budget counts")
            rounds = tuple(
                sorted({check_whole("a round of a budget", t, 0, BudgetError) for t in listed})
            )
        object.__setattr__(self, "who", named)
        object.__setattr__(self, "plays", check_whole("plays", plays, 0, BudgetError))
        object.__setattr__(self, "per", per)
        object.__setattr__(self, "rounds", rounds)
        object.__setattr__(self, "name", None if name is None else str(name))

    @property
    def title(self) -> str:
        """What people call it: its name, or whom it counts."""
        return self.name or " and ".join(str(who) for who in self.who)

    def __str__(self) -> str:
        often = "a round" if self.per == "round" else "in all"
        return f"{self.title}: at most {self.plays:,} plays {often}"


class Rows(NamedTuple):
    """Budgets spelt out: one row for each number of plays that is limited.

    ``counts[r, arm, t]`` tells whether row ``r`` counts a play of ``arm`` in round ``t``;
    ``most[r]`` is how many there may be; ``budget[r]`` and ``round[r]`` (-1: all of its rounds)
    say which row it is.
    """

    counts: BoolArray
    most: IntArray
    budget: IntArray
    round: IntArray

    def __len__(self) -> int:
        return len(self.most)


def checked_budgets(budgets: Budget | Iterable[Budget]) -> tuple[Budget, ...]:
    """Return budgets as a tuple; one alone will do.

    Examples
    --------
    >>> len(checked_budgets(Budget(0, 5)))
    1
    """
    if isinstance(budgets, Budget):
        return (budgets,)
    given = check_list("budgets", budgets, "each a Budget")
    for budget in given:
        if not isinstance(budget, Budget):
            raise InputTypeError(f"a budget is made with Budget(who, plays), got {budget!r}.")
    return tuple(given)


def spelt_out(
    budgets: Sequence[Budget],
    length: int,
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]],
) -> Rows:
    """Return the rows of ``budgets`` over ``length`` rounds.

    Examples
    --------
    >>> spelt_out([Budget("a", 5, rounds=[1, 2])], 3, ["a", "b"], {}).round.tolist()
    [1, 2]
    """
    counts, which = [], []
    for number, budget in enumerate(budgets):
        try:
            arms = numbers(at_most(list(budget.who), 0).bound(names, groups).who)
        except RuleError as error:
            raise BudgetError(f"{budget}: {error}") from error
        rounds = range(length) if budget.rounds is None else budget.rounds
        if any(t >= length for t in rounds):
            raise BudgetError(
                f"{budget} counts round {max(rounds)}, and only rounds 0 to {length - 1} are "
                "planned; plan more rounds, or count fewer."
            )
        table = np.zeros((len(names), length), np.bool_)
        table[np.ix_(arms, list(rounds))] = True
        for t in rounds if budget.per == "round" else [-1]:
            counts.append(table & (np.arange(length) == t) if t >= 0 else table)
            which.append((budget.plays, number, t))
    numbered = np.array(which, np.int64).reshape(-1, 3)
    return Rows(
        np.array(counts, np.bool_).reshape(-1, len(names), length),
        *(np.ascontiguousarray(numbered[:, k]) for k in range(3)),
    )


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
