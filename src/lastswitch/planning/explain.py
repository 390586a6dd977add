"""What each rule of a plan costs, and where it binds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lastswitch.errors import PlanError
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock, OutOfTime, interrupts
from lastswitch.planning.diagrams.shared import all_counters, round_events
from lastswitch.planning.diagrams.tables import tabulated
from lastswitch.planning.plan import Plan
from lastswitch.planning.reading import headline
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.planning.ruled_solve import plan_of, solved
from lastswitch.rules import Rule, Violation, violations


@dataclass(frozen=True)
class RuleReport:
    """What one rule does to a plan.

    Parameters
    ----------
    rule
        The rule.
    least, most
        What it costs: the value without it less the value with it lies in between. The two are
        equal where both plans are proven.
    would_break
        The rounds in which the best schedule found without the rule breaks it.
    broken
        Where the plan itself breaks it, if it is soft.
    can_bind
        Whether any schedule at all could break it.
    """

    rule: Rule
    least: float
    most: float
    would_break: tuple[int, ...]
    broken: tuple[Violation, ...]
    can_bind: bool

    @property
    def binds(self) -> bool | None:
        """Whether the rule costs anything; None if that is not known."""
        if self.least > 0.0:
            return True
        if not math.isfinite(self.most):
            return None
        return False if self.most <= 0.0 else None

    def __str__(self) -> str:
        return self.text()

    def text(self, say: Callable[[Sequence[int]], str] | None = None) -> str:
        """Return the report in words; ``say`` puts rounds in words, as a calendar does."""
        rounds = say or _rounds
        lines = [str(self.rule) if say is None or self.rule.name is None else self.rule.name]
        if not self.can_bind:
            lines.append("can never bind: no schedule of these rounds breaks it")
        elif self.binds is False:
            lines.append("costs nothing")
        elif not math.isfinite(self.most):
            lines.append(f"costs {self.least:.4g} or more{self._where(rounds)}")
        elif self.least == self.most:
            lines.append(f"costs {self.most:.4g}{self._where(rounds)}")
        else:
            lines.append(f"costs {self.least:.4g} to {self.most:.4g}{self._where(rounds)}")
        if self.broken:
            where = rounds([v.round for v in self.broken])
            total = sum(v.amount for v in self.broken) * (self.rule.cost or 0.0)
            lines.append(f"broken in {where}, for {total:.4g}")
        return "\n  ".join(lines)

    def _where(self, rounds: Callable[[Sequence[int]], str]) -> str:
        return f"; without it {rounds(self.would_break)} would break it" if self.would_break else ""


@dataclass(frozen=True)
class Explanation:
    """What every rule of a plan costs; prints as sentences, rounds counted from 0."""

    plan: Plan
    rules: tuple[RuleReport, ...]

    def __str__(self) -> str:
        return self.text()

    def text(self, say: Callable[[Sequence[int]], str] | None = None) -> str:
        """Return the explanation in words; ``say`` puts rounds in words, as a calendar does."""
        return "\n".join([headline(self.plan), *(report.text(say) for report in self.rules)])


def explain(plan: Plan, time_limit: float | None = None) -> Explanation:
    """Return what every rule of ``plan`` costs, each by planning without it.

    ``time_limit`` is for each rule. Ctrl-C ends it: of the rules not looked at, the report says
    what is known without looking. Examples are those of :meth:`Plan.explain`.
    """
    problem = plan.problem
    if not isinstance(problem, RuledProblem):
        raise PlanError(
            "this plan has no rules to explain; give some to plan_block(..., rules=[...])."
        )
    reports: list[RuleReport] = []
    for number in range(len(problem.rules)):
        try:
            with interrupts():
                report, interrupted = _report(plan, problem, number, time_limit)
        except KeyboardInterrupt:
            report, interrupted = _report(plan, problem, number, 0.0)[0], True
        reports.append(report)
        time_limit = 0.0 if interrupted else time_limit
    return Explanation(plan, tuple(reports))


def _report(
    plan: Plan, problem: RuledProblem, number: int, time_limit: float | None
) -> tuple[RuleReport, bool]:
    """Return the report on one rule, and whether Ctrl-C cut it short."""
    rule, bound = problem.rules[number], problem.bound_rules[number]
    broken = violations(bound, plan.rounds, problem.history, repeats=problem.repeats)
    clock = Clock(time_limit)
    if not can_bind(problem, bound, clock):
        return RuleReport(rule, 0.0, 0.0, (), (), can_bind=False), False
    without = problem.without(number)
    answer = solved(without, time_limit=clock.limit, start=plan.rounds)
    assert answer.rounds is not None  # the plan itself is one
    other = plan_of(without, answer, "certified", 0.0)
    value = other.value
    sizes = value, plan.value, plan.scale, other.scale, other.bound, plan.bound
    slack = rounding(*filter(math.isfinite, sizes))
    least, most = value - plan.bound, other.bound - plan.value
    if most - least <= 4 * slack:
        least = most = value - plan.value
    least = least if least > slack else 0.0
    most = most if most > slack else 0.0
    found = violations(bound, answer.rounds, problem.history, repeats=problem.repeats)
    where = tuple(v.round for v in found)
    report = RuleReport(rule, least, most, where, tuple(broken), can_bind=True)
    return report, answer.interrupted


def can_bind(problem: RuledProblem, rule: Rule, clock: Clock | None = None) -> bool:
    """Tell whether some schedule of the problem's rounds, other rules aside, breaks ``rule``.

    Out of time, it is taken that one does.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = RuledProblem(BlockProblem([[0.9]], [[0.1]], [[0.5] * 3]), plays=(0, 1))
    >>> can_bind(problem, r.at_most(0, 2)), can_bind(problem, r.at_most(0, 3))
    (True, False)
    """
    for counter in all_counters(replace(rule, cost=1.0), problem):
        letters = np.array([counter.letters.get(arm, 0) for arm in range(problem.n_arms)])
        events = [(event,) for event in sorted(round_events(letters, problem.plays))]
        try:
            table = tabulated([counter], events, problem.length, clock)
        except OutOfTime:
            return True
        if (table.pay < 0.0).any():
            return True
    return False


def _rounds(rounds: Sequence[int]) -> str:
    """Return rounds in words, the first dozen."""
    some = ", ".join(map(str, rounds[:12])) + (", ..." if len(rounds) > 12 else "")
    return f"round{'s' if len(rounds) > 1 else ''} {some}"
