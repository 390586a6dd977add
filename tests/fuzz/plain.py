"""What schedules are worth, from the definitions, by enumeration: slow, and nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from lastswitch import rules as r
from lastswitch.planning import BlockProblem
from lastswitch.planning.ruled_problem import RuledProblem

Rounds = tuple[tuple[int, ...], ...]


def all_blocks(problem: BlockProblem) -> Iterator[tuple[int, ...]]:
    """Return every block the mask and the start's constraint allow."""
    arms = range(problem.n_arms)
    slots = [[i for i in arms if problem.allowed[t, i]] for t in range(problem.length)]
    for block in itertools.product(*slots):
        if not (problem.distinct_start and len(block) > 1 and block[0] == block[1]):
            yield block


def all_schedules(problem: RuledProblem) -> Iterator[Rounds]:
    """Return every schedule with as many plays as rounds may have, rules aside."""
    least, most = problem.plays
    rounds = [
        [
            arms
            for size in range(least, most + 1)
            for arms in itertools.combinations(range(problem.n_arms), size)
            if all(problem.allowed[t, arm] for arm in arms)
        ]
        for t in range(problem.length)
    ]
    for schedule in itertools.product(*rounds):
        clash = len(schedule) > 1 and set(schedule[0]) & set(schedule[1])
        if not (problem.distinct_start and clash):
            yield schedule


def block_worth(problem: BlockProblem, rounds: Rounds) -> float:
    """Return what the plays of a schedule pay, and the memories they leave."""
    last: dict[int, int] = {}
    run = {arm: int(problem.run[arm]) for arm in range(problem.n_arms)}
    total = []
    for t, arms in enumerate(rounds):
        for arm in arms:
            if arm not in last:
                total.append(float(problem.first[arm, t]))
                run[arm] = run[arm] + 1 if t == 0 else 1
            elif last[arm] == t - 1:
                row = problem.streak[arm]
                total.append(float(row[min(run[arm], len(row)) - 1]))
                run[arm] += 1
            else:
                row = problem.rest[arm]
                total.append(float(row[min(t - last[arm] - 1, len(row)) - 1]))
                run[arm] = 1
            last[arm] = t
    end = problem.terminal
    for arm in range(problem.n_arms) if end is not None else ():
        assert end is not None
        if arm not in last:
            total.append(float(end.unplayed[arm]))
        elif last[arm] == len(rounds) - 1:
            total.append(float(end.streak[arm][min(run[arm], end.streak.shape[1]) - 1]))
        else:
            rested = len(rounds) - 1 - last[arm]
            total.append(float(end.rest[arm][min(rested, end.rest.shape[1]) - 1]))
    return math.fsum(total)


def turn_worth(curves: Sequence, rounds: Rounds) -> float:
    """Return what a turn pays once it has been repeated for longer than any streak."""
    turns = 2 + max(len(curve.streak) for curve in curves)
    total = []
    for arm, curve in enumerate(curves):
        rested, run = 0, 0
        for turn in range(turns):
            for arms in rounds:
                if arm in arms:
                    if turn == turns - 1:
                        total.append(float(curve(rested or -run)) if rested or run else 0.0)
                    rested, run = 0, (run if not rested else 0) + 1
                else:
                    rested += 1
    return math.fsum(total)


def broken(rule: r.Rule, rounds: Rounds, history: Rounds, repeats: bool) -> int:
    """Return how much a rule whose arms are numbers is broken."""
    length = len(rounds)
    if repeats:
        reach = getattr(rule, "within", None) or 1
        history = rounds * (1 + reach // length)
    played, now = (*history, *rounds), len(history)
    if isinstance(rule, r.Succession):
        return sum(
            sum(arm in rule.who for arm in played[t])
            for t in range(max(now, 1), len(played))
            if any(arm in rule.whom for arm in played[t - 1])
        )
    amount = 0
    for who in [(arm,) for arm in rule.who] if rule.each else [rule.who]:
        plays = {t - now: sum(arm in who for arm in arms) for t, arms in enumerate(played)}
        for start, stop in spans_of(rule, length):
            turns_apart = repeats and rule.spans is not None
            known = 0 if turns_apart else -now
            least, most = rule.least, rule.most
            if isinstance(least, float):
                least = math.ceil(least * (stop - start) - 1e-9)
            if isinstance(most, float):
                most = math.floor(most * (stop - start) + 1e-9)
            inside = range(max(start, known), min(stop, length))
            judged = [stop - 1] if rule.within is not None else [t for t in inside if t >= 0]
            for t in judged if most is not None else ():
                before = sum(plays[s] for s in inside if s < t)
                amount += max(0, plays[t] - max(0, most - before))
            if least and start >= known and stop <= length:
                if start < 0 and not repeats:
                    least = min(least, sum(plays[s] for s in range(start, 0)) + stop)
                amount += max(0, least - sum(plays[s] for s in inside))
    return amount


def spans_of(rule: r.Counting, length: int) -> list[tuple[int, int]]:
    """Return the windows of a rule that meet the rounds."""
    if rule.within is not None:
        return [(t + 1 - rule.within, t + 1) for t in range(length)]
    if rule.every is not None:
        begins = [t for t in range(1 - rule.every, length) if (t - rule.offset) % rule.every == 0]
        return [(t, t + rule.every) for t in begins]
    if rule.spans is None:
        return [(0, length)]
    if rule.outside:
        free = [t for t in range(length) if not any(a <= t < b for a, b in rule.spans)]
        return [(t, t + 1) for t in free]
    return [(a, b) for a, b in rule.spans if a < length and b > 0]


def schedule_worth(problem: RuledProblem, rounds: Rounds) -> float:
    """Return what a schedule is worth; minus infinity if it breaks a hard rule."""
    terms = []
    for rule in problem.bound_rules:
        amount = broken(rule, rounds, problem.history, problem.repeats)
        if amount and rule.cost is None:
            return -math.inf
        terms.append(-amount * (rule.cost or 0.0))
    if problem.curves is None:
        terms.append(block_worth(problem.block, rounds))
    else:
        terms.append(turn_worth(problem.curves, rounds))
    empty = sum(problem.plays[1] - len(arms) for arms in rounds)
    return math.fsum([*terms, empty * problem.silence])


def best_block(problem: BlockProblem) -> float:
    """Return the best worth of any block."""
    return max(
        block_worth(problem, tuple((arm,) for arm in block)) for block in all_blocks(problem)
    )


def best_schedule(problem: RuledProblem) -> float:
    """Return the best worth of any schedule, minus infinity if none keeps the rules."""
    worths = (schedule_worth(problem, rounds) for rounds in all_schedules(problem))
    return max(worths, default=-math.inf)
