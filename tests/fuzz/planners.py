"""Certificates of planners: value <= optimum <= bound, of everything that can be enumerated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import lastswitch as ls
from fuzz.plain import best_block, best_schedule, block_worth, schedule_worth
from lastswitch import rules as r
from lastswitch.errors import InfeasibleError, ProblemError, RuleError
from lastswitch.planning import BlockProblem, Terminal
from lastswitch.planning.certificate import rounding
from lastswitch.planning.diagrams import tables
from lastswitch.planning.ruled_problem import RuledProblem

Rng = np.random.Generator
#: Schedules to enumerate at most.
MOST_SCHEDULES = 3000


def numbers(rng: Rng, *shape: int, size: str = "near") -> Any:
    """Draw pays: near 1 (often equal), of mixed sizes, or as large as tables may be."""
    if size == "near":
        drawn = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, -0.5], shape)
        return np.where(rng.random(shape) < 0.5, drawn, rng.normal(size=shape))
    if size == "mixed":
        return rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape)
    return rng.choice([1e100, -1e100, 1e99, 1.0, 0.0, 3e-300], shape)


def a_size(rng: Rng) -> str:
    """Draw a size of pays."""
    return str(rng.choice(["near", "near", "near", "mixed", "extreme"]))


def a_block(rng: Rng, most_arms: int = 4, most_length: int = 6, size: str = "near") -> BlockProblem:
    """Draw a block with any mask, terminal worth, runs and start."""
    n_arms, length = int(rng.integers(1, most_arms + 1)), int(rng.integers(1, most_length + 1))
    while n_arms**length > MOST_SCHEDULES:
        length -= 1
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options["allowed"] = rng.random((length, n_arms)) < 0.7
    if rng.random() < 0.4:
        options["run"] = rng.choice([0, 0, 1, 2, 5, 2**62], n_arms)
    if rng.random() < 0.3:
        rest, streak = numbers(rng, n_arms, 2, size=size), numbers(rng, n_arms, 2, size=size)
        options["terminal"] = Terminal(rest, streak, numbers(rng, n_arms, size=size))
    options["distinct_start"] = bool(rng.random() < 0.2)
    parts = [numbers(rng, n_arms, int(n), size=size) for n in (*rng.integers(1, 5, 2), length)]
    try:
        return BlockProblem(*parts, **options)
    except ProblemError:  # a mask that leaves a slot without arms
        return BlockProblem(*parts)


def a_rule(rng: Rng, n_arms: int, length: int, cycle: bool, size: str) -> r.Rule:
    """Draw a rule, hard or soft."""

    def who() -> list[int]:
        return rng.choice(n_arms, int(rng.integers(1, n_arms + 1)), replace=False).tolist()

    kind = rng.choice(["most", "least", "apart", "rest", "after", "only", "never"])
    cost = None
    if rng.random() < 0.4:
        cost = float(max(abs(numbers(rng, 1, size=size)[0]), 1e-3))
    common: dict[str, Any] = {"cost": cost}
    if kind in ("apart", "rest"):
        return getattr(r, kind)(who(), int(rng.integers(1, length + 2)), **common)
    if kind == "after":
        return r.never_after(who(), who(), **common)
    if kind in ("only", "never"):
        rounds = sorted({int(t) for t in rng.integers(0, length, 2)})
        return getattr(r, kind)(who(), rounds, **common)
    make, least = (r.at_most, 0) if kind == "most" else (r.at_least, 1)
    plays: int | float = int(rng.integers(least, 4))
    if rng.random() < 0.2:
        plays = float(rng.choice([0.0, 0.25, 0.5, 1.0]))
    common["each"] = bool(rng.random() < 0.3)
    window = rng.random()
    if window < 0.4:
        common["within"] = int(rng.choice([1, 2, 3, length, length + 2]))
    elif window < 0.7:
        fits = [n for n in (1, 2, 3, 5, length, 2 * length) if not cycle or length % n == 0]
        common["every"], common["offset"] = int(rng.choice(fits)), int(rng.integers(0, 4))
    elif window < 0.9:
        begins = rng.integers(-3, length, 2)
        common["spans"] = [(int(t), int(t + rng.integers(1, 6))) for t in begins]
    return make(who(), plays, **common)


def some_rules(rng: Rng, n_arms: int, length: int, cycle: bool, size: str = "near") -> list[r.Rule]:
    """Draw up to three rules."""
    return [a_rule(rng, n_arms, length, cycle, size) for _ in range(rng.integers(0, 4))]


def some_plays(rng: Rng, n_arms: int) -> tuple[int, int]:
    """Draw how many arms a round plays."""
    most = int(rng.integers(1, min(n_arms, 2) + 1))
    return int(rng.integers(0, most + 1)), most


def a_ruled_block(rng: Rng, size: str = "near") -> RuledProblem:
    """Draw a block under rules, with silence, several plays and a history."""
    block = a_block(rng, 3, 4, size)
    plays = some_plays(rng, block.n_arms)
    past = [
        tuple(np.flatnonzero(rng.random(block.n_arms) < 0.4).tolist())
        for _ in range(rng.integers(0, 4))
    ]
    options: dict[str, Any] = {
        "rules": some_rules(rng, block.n_arms, block.length, False, size),
        "silence": float(numbers(rng, 1, size=size)[0]) if rng.random() < 0.5 else 0.0,
        "history": past if rng.random() < 0.5 else (),
    }
    try:
        distinct = bool(rng.random() < 0.2)
        return RuledProblem(block, plays=plays, distinct_start=distinct, **options)
    except ProblemError:
        return RuledProblem(block, plays=(0, plays[1]), **options)


def a_bandit(rng: Rng, **options: Any) -> ls.Bandit:
    """Draw a bandit whose curves may go up and down."""
    curves = [
        ls.Curve(
            rng.random(rng.integers(1, 4)).round(2),
            rng.random(rng.integers(1, 3)).round(2),
            monotone=False,
        )
        for _ in range(rng.integers(1, 4))
    ]
    return ls.Bandit(curves, **options)


def holds(plan: Any, worth: float, best: float, *, exact: bool = True) -> None:
    """Assert value <= optimum <= bound, and that what is called optimal is."""
    slack = rounding(plan.value, best, plan.scale)
    assert abs(plan.value - worth) <= slack, (plan.value, worth)
    assert plan.value <= best + slack, (plan.value, best)
    assert plan.bound >= best - slack, (plan.bound, best)
    if plan.optimal:
        assert plan.value >= best - 2 * slack, (plan.value, best)
    if exact:  # up to rounding in the largest number there is
        assert plan.bound - plan.value <= max(slack, 1e-11 * plan.problem.scale)


def block(rng: Rng) -> None:
    """Plan plain blocks by every solver."""
    size = a_size(rng)
    problem = a_block(rng, size=size)
    best = best_block(problem)
    solver = str(rng.choice(["certified", "certified", "ilp", "relaxation", "brute-force"]))
    options = [{}, {"gap": 0.2}, {"time_limit": 1e-6}]
    option: dict[str, Any] = options[int(rng.choice(3, p=[0.7, 0.15, 0.15]))]
    plan = ls.plan_block(problem, solver=solver, **option)
    exact = not option and solver in ("certified", "brute-force")
    holds(plan, block_worth(problem, plan.rounds), best, exact=exact)


def ruled_block(rng: Rng) -> None:
    """Plan blocks under rules, with what explains them."""
    problem = a_ruled_block(rng, a_size(rng))
    solver = str(rng.choice(["certified", "certified", "ilp", "brute-force"]))
    check_ruled(problem, solver, explain=bool(rng.random() < 0.2))


def check_ruled(problem: RuledProblem, solver: str, explain: bool = False, **options: Any) -> None:
    """Plan under rules and check the certificate, or that there is no schedule."""
    best = best_schedule(problem)
    try:
        plan = ls.plan_block(problem, solver=solver, **options)
    except InfeasibleError as error:
        clash = problem.with_rules(error.conflict)
        assert best == best_schedule(clash) == -math.inf
        return
    holds(plan, schedule_worth(problem, plan.rounds), best, exact=solver != "ilp")
    for number, report in enumerate(plan.explain().rules if explain else ()):
        cost = best_schedule(problem.without(number)) - best
        slack = 4 * rounding(best, cost, plan.scale)
        assert report.least - slack <= cost <= report.most + slack, (report, cost)


def cycle(rng: Rng) -> None:
    """Plan cycles under rules and without, of one length."""
    bandit = a_bandit(rng)
    length = int(rng.integers(1, 6))
    plays = some_plays(rng, bandit.n_arms) if rng.random() < 0.5 else (1, 1)
    choices = sum(math.comb(bandit.n_arms, n) for n in range(plays[0], plays[1] + 1))
    while choices**length > MOST_SCHEDULES:
        length -= 1
    options: dict[str, Any] = {}
    if rng.random() < 0.7:
        options = {
            "rules": some_rules(rng, bandit.n_arms, length, True),
            "plays": plays,
            "silence": float(rng.choice([0.0, 0.3, -0.2])),
        }
    problem = RuledProblem.from_bandit(bandit, length, repeats=True, **options)
    best = best_schedule(problem)
    try:
        plan = ls.plan_cycle(bandit, length, **options)
    except InfeasibleError:
        assert best == -math.inf
        return
    holds(plan, schedule_worth(problem, plan.rounds), best)


def best_cycle(rng: Rng) -> None:
    """Look for the best of several lengths, some of which are refused."""
    bandit, limit = a_bandit(rng), int(rng.integers(1, 6))
    rules = [rule for rule in some_rules(rng, bandit.n_arms, limit, True) if not has_period(rule)]
    room = int(rng.choice([10**6, 40, 20]))
    best, refused = -math.inf, False
    with patch.object(tables, "MOST_STATES", room):
        for length in range(1, limit + 1):
            try:
                problem = RuledProblem.from_bandit(bandit, length, rules=rules, repeats=True)
            except RuleError:
                refused = True
                continue
            best = max(best, best_schedule(problem) / length)
        try:
            plan = ls.best_cycle(bandit, limit, rules=rules)
        except InfeasibleError:
            assert best == -math.inf
            return
        except RuleError:
            assert refused or room < 10**6
            return
    slack = rounding(best, plan.value)
    assert plan.per_round <= best + slack
    assert plan.bound / len(plan.rounds) >= best - slack, (plan.bound / len(plan.rounds), best)
    assert not plan.optimal or plan.per_round >= best - 2 * slack
    assert plan.optimal or room < 10**6


def has_period(rule: r.Rule) -> bool:
    """Tell whether a rule fits certain lengths only."""
    return isinstance(rule, r.Counting) and (rule.every is not None or rule.spans is not None)


def warm(rng: Rng) -> None:
    """Start from plans of other problems, their prices spoilt."""
    size = a_size(rng)
    ruled = bool(rng.random() < 0.5)
    problem = a_ruled_block(rng, size) if ruled else a_block(rng, size=size)
    arms = int(rng.integers(1, 7))
    rounds = tuple((int(arm),) for arm in rng.integers(0, arms, problem.length))
    if ruled and rng.random() < 0.5:
        rounds = tuple(arms if rng.random() < 0.7 else () for arms in rounds)
    junk = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, -1e200, 0.0, 1.0]
    prices = rng.choice(junk, problem.length + int(rng.integers(0, 3)))
    if rng.random() < 0.5:
        prices[rng.random(len(prices)) < 0.8] = 0.5
    start = ls.Plan((), 0.0, 0.0, rounds=rounds, prices=prices)
    solver = str(rng.choice(["certified", "certified", "ilp"]))
    if isinstance(problem, RuledProblem):
        check_ruled(problem, solver, warm=start)
        return
    plan = ls.plan_block(problem, warm=start, solver=solver)
    worth = block_worth(problem, plan.rounds)
    holds(plan, worth, best_block(problem), exact=solver == "certified")


def again(rng: Rng) -> None:
    """Start from the same problem's own prices, at another size."""
    problem = a_ruled_block(rng)
    try:
        plan = ls.plan_block(problem)
    except InfeasibleError:
        return
    spoilt = plan.prices
    if spoilt is not None:
        with np.errstate(over="ignore"):  # infinite prices are junk, too
            spoilt = spoilt * float(rng.choice([1e308, 1e30, -1e9]))
    check_ruled(problem, "certified", warm=replace(plan, prices=spoilt))


CHECKS: dict[str, Callable[[Rng], None]] = {
    "blocks": block,
    "ruled-blocks": ruled_block,
    "cycles": cycle,
    "best-cycles": best_cycle,
    "warm-starts": warm,
    "warm-again": again,
}
