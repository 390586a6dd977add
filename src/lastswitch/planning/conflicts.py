"""Why there is no schedule: a smallest set of rules that cannot hold together."""

from __future__ import annotations

import contextlib
import math
import time
from typing import NamedTuple

from lastswitch.planning.certificate import rounding
from lastswitch.planning.certified import feasible, solve_model
from lastswitch.planning.clock import Clock, OutOfTime
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.plan import Solution
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.rules import Rule

#: Seconds for looking at what dropping a rule would allow, where there is no other limit.
SECONDS = 2.0


class Conflict(NamedTuple):
    """Rules that cannot hold together though any one fewer could, and what dropping each allows.

    ``worth[i]`` is what a schedule without ``rules[i]`` (all others kept) is worth, and can be
    worth at most; (-inf, -inf) if the others still conflict. ``smallest`` is False if time ran
    out before every rule was tried.
    """

    rules: tuple[Rule, ...]
    worth: tuple[tuple[float, float], ...]
    smallest: bool

    def __str__(self) -> str:
        if not self.rules:
            return "no schedule has enough plays in every round, even without rules; allow more."
        listed = [repr(rule if rule.name is None else rule.name) for rule in self.rules]
        if len(listed) == 1:
            text = f"no schedule keeps {listed[0]}."
        else:
            text = f"{', '.join(listed[:-1])} and {listed[-1]} cannot hold together."
        for name, (value, most) in zip(listed, self.worth, strict=True):
            if value == -math.inf == most:
                text += f"\n  without {name} others still conflict"
            elif value == -math.inf:
                text += f"\n  what dropping {name} would allow is not known"
            else:
                which = "the best" if most <= value + rounding(value, most) else "some"
                text += f"\n  without {name} {which} plan is worth {value:.5g}"
        return text


def conflict(problem: RuledProblem, time_limit: float | None = None) -> Conflict:
    """Return a smallest conflicting set of the rules of a problem without schedules.

    Rules are left out one by one for good as long as the rest still conflicts: what is left then
    conflicts, and does not without any one of its rules.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> rules = [r.at_most(1, 2), r.pinned(0, 1), r.never(1, [0]), r.never(0, [1])]
    >>> conflict(RuledProblem(block, rules=rules)).rules
    (pinned(0, 1), never(0, 1))
    """
    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    kept = [number for number, rule in enumerate(problem.rules) if rule.hard]
    smallest = True
    for number in list(kept):
        fewer = [other for other in kept if other != number]
        answer = _any(problem, fewer, deadline)
        if answer.infeasible:
            kept = fewer
        elif answer.rounds is None:
            smallest = False
    worth = [_worth_without(problem, number, deadline) for number in kept]
    return Conflict(tuple(problem.rules[number] for number in kept), tuple(worth), smallest)


def _any(problem: RuledProblem, numbers: list[int], deadline: float) -> Solution:
    """Look for a schedule that keeps these rules."""
    fewer = problem.with_rules(problem.rules[number] for number in numbers)
    left = deadline - time.perf_counter()
    clock = Clock(None if math.isinf(left) else max(left, 1e-3))
    with contextlib.suppress(OutOfTime):
        return feasible(ruled_model(fewer, clock), clock)
    return Solution((), math.inf)


def _worth_without(problem: RuledProblem, number: int, deadline: float) -> tuple[float, float]:
    """Return what the best schedule without a rule is worth, and at most can be."""
    without = problem.without(number)
    left = min(deadline - time.perf_counter(), SECONDS)
    answer, clock = Solution((), math.inf), Clock(max(left, 1e-3))
    with contextlib.suppress(OutOfTime):
        answer = solve_model(ruled_model(without, clock), clock=clock)
    if answer.rounds is None:
        return -math.inf, answer.bound
    return without.value(answer.rounds), answer.bound
