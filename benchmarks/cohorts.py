"""A calendar for every subject: ``python -m benchmarks.cohorts``.

A million subjects, six arms that recover over twenty rounds, seven rounds of one play or none; most
subjects stand where nobody else does. Measured on all cores, compiling left out, from arrays of
states to arrays of plans: planning without budgets, against a loop over ``plan_block`` on a sample
in the same run; with one budget per round, to proven plans of whole subjects; and how both grow
with the number of subjects. Options: ``--quick`` for fewer subjects, which keeps no results;
``--most`` for the largest cohort (10,000,000 by default).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch._utils.random import stream
from lastswitch.cohorts.budgets import Budget
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import used
from lastswitch.cohorts.solving import solve
from lastswitch.rules import at_most

ARMS, ROUNDS, DEPTH = 6, 7, 20
#: Subjects planned at once, and those the loop over ``plan_block`` is timed on.
PART, SAMPLE = 250_000, 1_000


def bandit(least: int = 0) -> ls.Bandit:
    """Return arms that recover at different speeds, one a round or (``least`` 0) none."""
    rng = stream(0, "benchmarks/cohorts/curves")
    rests = np.arange(1, DEPTH + 1)
    curves = []
    for _ in range(ARMS):
        top, speed = rng.uniform(0.3, 0.9), rng.uniform(2.0, 8.0)
        rest = np.round(top * (1 - np.exp(-rests / speed)), 6)
        curves.append(ls.Curve(rest, np.round(top * np.array([0.2, 0.1, 0.05]), 6)))
    return ls.Bandit(curves, plays=(least, 1))


def states(n: int) -> np.ndarray:
    """Return where subjects stand: rested for a while, half of them in a streak of one arm."""
    rng = stream(0, "benchmarks/cohorts/states", n)
    tau = np.minimum(rng.geometric(0.12, (n, ARMS)), 60)
    arm = rng.integers(0, 2 * ARMS, n)
    streak = arm < ARMS
    tau[streak, arm[streak]] = -rng.integers(1, 4, int(streak.sum()))
    return tau


class Outcome(NamedTuple):
    """One cohort: seconds to solve and to write plans, what came of it, and memory."""

    distinct: int
    solving: float
    planning: float
    value: float
    gap: float
    memory: float

    @property
    def seconds(self) -> float:
        """Seconds in all."""
        return self.solving + self.planning


def planned(n: int, budget: float | None, capped: bool = False, least: int = 0) -> Outcome:
    """Plan a cohort of ``n``; ``budget`` is the share of subjects that may play in a round."""
    budgets = [] if budget is None else [Budget("everyone", int(budget * n))]
    rules = [at_most("everyone", 3)] if capped else []
    problem = CohortProblem(bandit(least), ROUNDS, rules=rules, budgets=budgets)
    tau, key = states(n), np.arange(n).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    began = time.perf_counter()
    rows, counts, _ = problem.distinct(problem.standing(tau))
    # Without budgets there is nothing to agree on: the plans themselves are the solution.
    some = len(rows) if budgets else min(len(rows), 1)
    solution = solve(problem, rows[:some], counts[:some])
    if len(solution.pending):
        solution = solution.settled(problem.standing(tau), key)
    solving = time.perf_counter() - began
    began, value, plays = time.perf_counter(), 0.0, np.zeros(len(problem.rows), np.int64)
    for begin in range(0, n, PART):
        part = slice(begin, begin + PART)
        batch = solution.plans(problem.standing(tau[part]), key[part])
        value += float(batch.value.sum())
        plays += used(batch.arms, problem.rows.counts).sum(axis=0)
    planning = time.perf_counter() - began
    assert (plays <= problem.rows.most).all()
    if budgets:
        assert abs(value - solution.value) <= 1e-9 * n
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Outcome(len(rows), solving, planning, value, solution.gap, memory)


def alone(work: Callable[..., Any], *given: Any) -> Any:
    """Return what a process of its own makes of some work, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(planned, (30_000, 0.3))  # compiled or loaded before any clock starts
        return pool.apply(work, given)


def loop(n: int, least: int) -> tuple[float, float]:
    """Return seconds and value of planning ``SAMPLE`` of ``n`` subjects one by one."""
    arms, tau = bandit(least), states(n)[:SAMPLE]
    ls.plan_block(arms, ROUNDS, start=tau[0])
    began = time.perf_counter()
    value = sum(ls.plan_block(arms, ROUNDS, start=start).value for start in tau)
    return time.perf_counter() - began, value


def against_the_loop(n: int) -> list[dict[str, Any]]:
    """Return a row for each kind of round: everyone at once, and the rate of the loop."""
    rows = []
    for name, least in (("one play or none", 0), ("one play", 1)):
        found: Outcome = alone(planned, n, None, False, least)
        seconds, value = loop(n, least)
        problem = CohortProblem(bandit(least), ROUNDS)
        solution = solve(problem, problem.standing(states(n)[:1]), [1])
        same = float(solution.plans(problem.standing(states(n)[:SAMPLE])).value.sum())
        assert abs(same - value) <= 1e-9 * SAMPLE
        rate, theirs = n / found.planning, SAMPLE / seconds
        rows.append(
            {
                "a round": name,
                "subjects": n,
                "standings": found.distinct,
                "seconds": round(found.planning, 2),
                "subjects per second": round(rate),
                "plan_block, subjects per second": round(theirs),
                "times the loop": round(rate / theirs),
                "memory, GiB": round(found.memory, 2),
            }
        )
    return rows


def budgeted(n: int) -> list[dict[str, Any]]:
    """Return a row for each budget: seconds to prices and plans, and the proven gap."""
    rows = []
    for name, capped in (("one per round", False), ("and at most 3 plays each", True)):
        found: Outcome = alone(planned, n, 0.3, capped)
        rows.append(
            {
                "budget": name,
                "subjects": n,
                "solving, s": round(found.solving, 1),
                "plans, s": round(found.planning, 1),
                "value": round(found.value),
                "gap, %": round(100 * found.gap, 4),
                "memory, GiB": round(found.memory, 2),
            }
        )
    return rows


def growth(sizes: list[int]) -> list[dict[str, Any]]:
    """Return a row for each number of subjects."""
    rows = []
    for n in sizes:
        free: Outcome = alone(planned, n, None)
        tied: Outcome = alone(planned, n, 0.3)
        rows.append(
            {
                "subjects": n,
                "standings": free.distinct,
                "no budget, s": round(free.planning, 2),
                "budget, s": round(tied.seconds, 1),
                "gap, %": round(100 * tied.gap, 4),
                "memory, GiB": round(tied.memory, 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print, and keep the results unless the run was a quick one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--most", type=int, default=10_000_000)
    options = parser.parse_args()
    n = 50_000 if options.quick else 1_000_000
    sizes = [
        10**k for k in range(4, 9) if 10**k <= min(options.most, n if options.quick else 10**8)
    ]
    tables = {
        "at once": against_the_loop(n),
        "budgets": budgeted(n),
        "growth": growth(sizes),
    }
    for title, rows in tables.items():
        print_table(title, rows)
    if not options.quick:
        keep(
            "cohorts",
            "A calendar for every subject",
            f"{ARMS} arms, {ROUNDS} rounds of one play or none, from arrays of states to arrays of "
            "plans. The loop over plan_block is timed on "
            f"{SAMPLE:,} of the subjects and its rate compared. Budgets let 30 % of the subjects "
            "play in each round; the time is that to prices, proven bound and plans of whole "
            "subjects. Each cohort has a process of its own.",
            tables,
            cores="two cores",
        )


if __name__ == "__main__":
    main()
