"""What a cohort plans: one bandit, one length, the same rules for all, and budgets they share.

The way through this package::

    problem = CohortProblem(bandit, length, rules=..., plays=..., budgets=[Budget(...)])
    standings = problem.standing(states, recent)          # (n, m): equal rows plan alike
    rows, counts, inverse = problem.distinct(standings)   # solving looks at different ones only
    solution = solve(problem, rows, counts)               # prices of the budgets, value and bound
    ... solution = solution.settled(standings, key)       # where subjects of one row differ
    batch = solution.plans(standings, key)                # the plan of every subject, part by part

A problem is small and can be pickled; so can a solution. :meth:`Solution.plans` may be called for
any part of the cohort, anywhere, and gives every subject the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch._utils.checks import check_bandit
from lastswitch.cohorts.budgets import Budget, Rows, checked_budgets, spelt_out
from lastswitch.cohorts.memories import Memory, memories_of
from lastswitch.errors import CohortError, InputTypeError, StateError
from lastswitch.model.states import as_states, column
from lastswitch.planning.diagrams.arm_states import ArmStates, arm_states
from lastswitch.planning.ruled_problem import RuledProblem

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.rules import Rule

#: Entries of recent plays: an empty place, and a round of which nothing is known.
EMPTY, UNKNOWN = -1, -2
#: Silence and costs beyond this size are refused: pays of at most 1 would be lost in their sums.
LARGEST_COST = 1e6
#: Possible rows, for each row there is, up to which they are counted instead of sorted.
_FEW = 8


class CohortProblem:
    """The next rounds of many subjects who share curves, rules and budgets.

    Parameters
    ----------
    bandit
        Whose curves everyone has.
    length
        How many rounds to plan.
    rules, plays, silence
        As for :func:`lastswitch.plan_block`; the bandit's own by default.
    budgets
        What all subjects together may play.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.curves.constant(0.4)])
    >>> problem = CohortProblem(bandit, 3, budgets=[Budget(0, 10)])
    >>> problem.standing([[5, 1], [2, -1]]).tolist()  # rested for 2 rounds or more: all the same
    [[2, 1], [2, 1]]
    """

    def __init__(
        self,
        bandit: Bandit,
        length: int,
        *,
        rules: Iterable[Rule] | None = None,
        plays: int | tuple[int, int] | None = None,
        silence: float | None = None,
        budgets: Budget | Iterable[Budget] = (),
    ) -> None:
        check_bandit("CohortProblem", bandit)
        ruled = RuledProblem.from_bandit(bandit, length, rules=rules, plays=plays, silence=silence)
        _check_sizes(ruled)
        self.bandit = bandit
        self.length = ruled.length
        self.rules, self.bound_rules = ruled.rules, ruled.bound_rules
        self.plays, self.silence = ruled.plays, ruled.silence
        self.budgets = checked_budgets(budgets)
        self.rows: Rows = spelt_out(self.budgets, self.length, bandit.names, bandit.groups)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.bandit, self.length, self.rules, self.plays, self.silence, self.budgets)
        return _made, parts

    def __repr__(self) -> str:
        least, most = self.plays
        plays = f"{most}" if least == most else f"{least} to {most}"
        return (
            f"CohortProblem({self.n_arms} arms, {self.length} rounds of {plays} plays, "
            f"{len(self.rules)} rules, {len(self.budgets)} budgets)"
        )

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.bandit.n_arms

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """What the rules remember, in the order of a standing's columns."""
        return memories_of(self.bound_rules, self.length, self.plays[1])

    @cached_property
    def machines(self) -> tuple[ArmStates, ...]:
        """The canonical states of every arm."""
        return tuple(arm_states(curve) for curve in self.bandit.curves)

    @cached_property
    def _alike(self) -> tuple[IntArray, ...]:
        """By arm and column of its curve (and, last, τ = 0): the τ that stands for all its like."""
        return tuple(_representatives(machine, self.length) for machine in self.machines)

    def standing(self, states: ArrayLike, recent: ArrayLike | None = None) -> IntArray:
        """Return where every subject stands: states and what rules remember, as far as it matters.

        Subjects with equal rows have equal plans to choose from.

        Parameters
        ----------
        states
            (n, arms): the state τ of every arm.
        recent
            (n, rounds) or (n, rounds, places): the arms played in the rounds before, the latest
            last; -1 is an empty place and -2 a round before the known past. Rules that look back
            see nothing else; without it they know nothing.
        """
        tau = as_states(states, dimensions=(2,))
        if tau.shape[1] != self.n_arms:
            raise StateError(
                f"states need one column per arm ({self.n_arms}), got {tau.shape[1]} columns."
            )
        columns = [self._represented(arm, tau[:, arm]) for arm in range(self.n_arms)]
        parts = [np.stack(columns, axis=1)]
        if any(memory.columns for memory in self.memories):
            played, known = self._recent(recent, len(tau))
            for memory in self.memories:
                if memory.columns:
                    before = played[:, :, list(memory.arms)].sum(axis=2)
                    parts.append(memory.packed(before, known))
        return np.hstack(parts)

    def _represented(self, arm: int, tau: IntArray) -> IntArray:
        machine, table = self.machines[arm], self._alike[arm]
        place = column(tau, len(machine.rest), len(machine.streak), machine.repeats)
        found: IntArray = np.where(tau == 0, table[-1], table[place])
        return found

    def _recent(self, recent: ArrayLike | None, n: int) -> tuple[BoolArray, BoolArray]:
        """Return which arms each round before played (n, rounds, arms), and which are known."""
        if recent is None:
            return np.zeros((n, 0, self.n_arms), np.bool_), np.zeros((n, 0), np.bool_)
        plays: NDArray[Any] = np.asarray(recent)
        if not np.issubdtype(plays.dtype, np.integer):
            raise InputTypeError(f"recent plays are arms by number, got {plays.dtype} entries.")
        if plays.ndim not in (2, 3) or len(plays) != n:
            raise StateError(
                f"recent plays need the shape (subjects, rounds) or (subjects, rounds, places), "
                f"with {n} subjects; got {plays.shape}."
            )
        plays = plays[..., None] if plays.ndim == 2 else plays
        if plays.size and (plays.min() < UNKNOWN or plays.max() >= self.n_arms):
            raise StateError(
                f"recent plays are arms 0 to {self.n_arms - 1}, {EMPTY} for an empty place and "
                f"{UNKNOWN} for an unknown round; got {plays.min()} to {plays.max()}."
            )
        unknown = (plays == UNKNOWN).any(axis=2)
        # What lies before an unknown round is not known either: windows have no holes.
        known = ~np.maximum.accumulate(unknown[:, ::-1], axis=1)[:, ::-1]
        played = (plays[..., None] == np.arange(self.n_arms)).any(axis=2)
        return played & known[..., None], known

    def distinct(self, standings: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return different rows in order, how often each comes, and which each subject has."""
        return distinct_rows(standings)

    def memory_columns(self) -> list[slice]:
        """Return where in a standing each memory is."""
        ends = self.n_arms + np.cumsum([0, *(memory.columns for memory in self.memories)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def _check_sizes(problem: RuledProblem) -> None:
    """Refuse what pays of at most 1 would be lost in when it is added up."""
    for number in [problem.silence, *(rule.cost or 0.0 for rule in problem.rules)]:
        if abs(number) > LARGEST_COST:
            raise CohortError(
                f"silence and the costs of rules are at most {LARGEST_COST:g} in size in a cohort, "
                f"where pays lie between 0 and 1; got {number!r}. Forbid silence with plays=, and "
                "leave the cost of a rule out to forbid breaking it."
            )


def _made(
    bandit: Bandit,
    length: int,
    rules: tuple[Rule, ...],
    plays: tuple[int, int],
    silence: float,
    budgets: tuple[Budget, ...],
) -> CohortProblem:
    return CohortProblem(bandit, length, rules=rules, plays=plays, silence=silence, budgets=budgets)


def _representatives(machine: ArmStates, length: int) -> IntArray:
    """Return by column (and for τ = 0) a τ whose next ``length`` rounds pay alike, however played.

    States are told apart round by round: with one more round to go two are alike if they pay
    alike and lead to states that are.
    """
    alike = [0] * len(machine)
    for _ in range(length):
        found: dict[tuple[float, int, int], int] = {}
        alike = [
            found.setdefault((pay, alike[pull], alike[idle]), len(found))
            for pay, pull, idle in zip(machine.pay, machine.on_pull, machine.on_idle, strict=True)
        ]
        if len(found) == len(machine):
            break
    taus = [*range(1, len(machine.rest) + 1), *range(-1, -len(machine.streak) - 1, -1), 0]
    states = [*machine.rest, *machine.streak, machine.fresh]
    first: dict[int, int] = {}
    return np.array([first.setdefault(alike[s], tau) for s, tau in zip(states, taus, strict=True)])


def distinct_rows(rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return different rows in order, how often each comes, and which one each row is.

    Examples
    --------
    >>> [part.tolist() for part in distinct_rows(np.array([[2, 1], [1, 3], [2, 1]]))]
    [[[1, 3], [2, 1]], [1, 2], [1, 0, 1]]
    """
    if not len(rows):
        none = np.zeros(0, np.int64)
        return rows, none, none
    if not rows.shape[1]:
        return rows[:1], np.array([len(rows)]), np.zeros(len(rows), np.int64)
    low, high = rows.min(axis=0), rows.max(axis=0)
    sizes = [int(b) - int(a) + 1 for a, b in zip(low, high, strict=True)]
    code, room = np.zeros(len(rows), np.int64), 1
    for k, size in enumerate(sizes):  # columns as digits of one number, made dense when it is full
        if room * size >= 1 << 62:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            room = len(rows)
        if room * size >= 1 << 62:
            digit = np.unique(rows[:, k], return_inverse=True)[1]
            size = len(rows)
        else:
            digit = rows[:, k] - low[k]
        code, room = code * size + digit, room * size
    if room > _FEW * max(len(rows), 1 << 16):
        _, first, inverse, counts = np.unique(
            code, return_index=True, return_inverse=True, return_counts=True
        )
        return rows[first], counts, inverse
    often = np.bincount(code, minlength=room)  # few enough to count them all: no sorting
    there = np.flatnonzero(often)
    number, first = np.empty(room, np.int64), np.empty(room, np.int64)
    number[there] = np.arange(len(there))
    first[code] = np.arange(len(rows))
    return rows[first[there]], often[there], number[code]
