"""Time to a proven block, and the gap after one second: ``python -m benchmarks.planning``.

Every solver gets the same problems, one core, in the same run: ``certified``; ``ilp`` (HiGHS on the
formulation it solves fastest); CP-SAT (in a process of its own, if OR-Tools is installed); and the
paper's Algorithm 2 (``relaxation``), which proves nothing. Options: ``--quick`` for small sizes and
short limits, ``--alone`` for ``certified`` only, ``--seeds N``.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._problems import FAMILIES, problem
from benchmarks._table import keep, print_table
from lastswitch.planning import BlockProblem, plan_block
from lastswitch.planning import certified as certified_solver
from lastswitch.planning.milp import ilp, relaxation

SIZES = [(5, 4), (5, 20), (10, 20), (10, 40), (20, 40), (50, 100)]
#: Sizes at which the rivals end within their limit often enough to be compared: on the first seed,
#: and HiGHS on every seed.
RIVAL_SIZES, RATIO_SIZES = SIZES[:4], SIZES[:3]
LIMIT = 1.0
#: Seconds for CP-SAT and Algorithm 2, which are shown but not what the ratio is against.
OTHERS_LIMIT = 10.0


@dataclass
class Outcome:
    """One solver on one problem."""

    seconds: float
    proven: bool
    gap: float


def certified(case: BlockProblem, limit: float) -> Outcome:
    """Time the certified solver; small problems several times, for the best."""
    plan = plan_block(case, time_limit=limit)
    seconds = best_time(lambda: certified_solver.solve(case, time_limit=limit), plan.seconds)
    return Outcome(seconds, plan.optimal and seconds <= limit, plan.gap)


def highs(case: BlockProblem, limit: float) -> Outcome:
    """Time HiGHS on the arc-flow form; small problems several times, for the best."""
    began = time.perf_counter()
    solution = ilp.solve(case, form="arc-flow", time_limit=limit)
    seconds, value = time.perf_counter() - began, case.value(np.asarray(solution.block))
    gap = max(solution.bound - value, 0.0) / abs(value) if value else 0.0
    seconds = best_time(lambda: ilp.solve(case, form="arc-flow", time_limit=limit), seconds)
    return Outcome(seconds, gap < 1e-6, gap)


def best_time(solve: Callable[[], object], seconds: float) -> float:
    """Return the least time of as many more runs as fit in a quarter of a second, at most 20."""
    times = [seconds]
    while sum(times) + seconds < 0.25 and len(times) < 20:
        began = time.perf_counter()
        solve()
        times.append(time.perf_counter() - began)
    return min(times)


def algorithm_2(case: BlockProblem, limit: float) -> Outcome:
    """Time the paper's Algorithm 2; its gap is to its own linear program's bound."""
    began = time.perf_counter()
    solution = relaxation.solve(case, time_limit=limit)
    seconds, value = time.perf_counter() - began, case.value(np.asarray(solution.block))
    gap = max(solution.bound - value, 0.0) / abs(value) if value else 0.0
    return Outcome(seconds, gap < 1e-6, gap)


def cp_sat(case: BlockProblem, limit: float) -> Outcome | None:
    """Time CP-SAT in its own process; None without OR-Tools, or for streaks that wear out."""
    if not (case.streak == case.streak[:, :1]).all():
        return None
    command = [sys.executable, "-m", "benchmarks._cp_sat", str(limit)]
    root = Path(__file__).parent.parent
    ended = subprocess.run(
        command, input=json.dumps(case.to_dict()), capture_output=True, text=True, cwd=root
    )
    if ended.returncode != 0:
        return None
    told = json.loads(ended.stdout)
    gap = math.inf
    if told["found"]:
        gap = max(told["bound"] - told["value"], 0.0) / max(abs(told["value"]), 1e-9)
    return Outcome(told["seconds"], told["proven"], gap)


def tiny_rate(plans: int) -> float:
    """Return the microseconds per plan as a learner plans, at the paper's own size, (5, 4)."""
    tables = np.random.default_rng(0).random((64, 5, 4))
    first = np.zeros((5, 4))
    usual = BlockProblem(tables[0, :, 1:], tables[0, :, :1], first)
    certified_solver.solve(usual)
    began = time.perf_counter()
    for k in range(plans):
        table = tables[k % 64]
        certified_solver.solve(usual.with_pays(table[:, 1:], table[:, :1], first))
    return 1e6 * (time.perf_counter() - began) / plans


def shown(outcome: Outcome | None, limit: float) -> str | None:
    """Return milliseconds to proof, or the gap at the limit."""
    if outcome is None:
        return None
    if outcome.proven or outcome.gap == 0.0:  # proven, if only just after the limit
        return f"{1e3 * outcome.seconds:.3g} ms"
    if outcome.gap == math.inf:
        return f"no block at {limit:g} s"
    return f"{100 * outcome.gap:.2g} % at {limit:g} s"


def measure(sizes: list[tuple[int, int]], seeds: int, rivals: bool, limit: float) -> dict[str, Any]:
    """Run everything; return the tables."""
    others: dict[str, Callable[[BlockProblem, float], Outcome | None]] = {
        "cp-sat": cp_sat,
        "relaxation": algorithm_2,
    }
    plan_block(problem("step", 10, 20, 1), time_limit=5.0)  # compile before any clock starts
    detail, summary = [], []
    for n_arms, length in sizes:
        ours: list[Outcome] = []
        by_problem, by_family = [], []
        for family in FAMILIES:
            cases = [problem(family, n_arms, length, s) for s in range(seeds)]
            outcomes = [certified(case, LIMIT) for case in cases]
            ours += outcomes
            row: dict[str, Any] = {"size": f"({n_arms}, {length})", "family": family}
            row["certified"] = ", ".join(str(shown(each, LIMIT)) for each in outcomes)
            if rivals and (n_arms, length) in RIVAL_SIZES:
                many = (n_arms, length) in RATIO_SIZES
                exact = [highs(case, limit) for case in (cases if many else cases[:1])]
                row["ilp"] = ", ".join(str(shown(each, limit)) for each in exact)
                pairs = [(h.seconds, c.seconds) for h, c in zip(exact, outcomes, strict=False)]
                by_problem += [theirs / mine for theirs, mine in pairs]
                by_family.append(sum(h for h, _ in pairs) / sum(c for _, c in pairs))
                row["ilp / certified"] = by_family[-1]
                for name, solver in others.items():
                    patience = min(limit, OTHERS_LIMIT)
                    row[name] = shown(solver(cases[0], patience), patience)
            detail.append(row)
            print("  ".join(str(value) for value in row.values()), flush=True)
        gaps = [each.gap for each in ours if not each.proven]
        summary.append(
            {
                "size": f"({n_arms}, {length})",
                "proven in 1 s": f"{sum(each.proven for each in ours)} of {len(ours)}",
                "median ms": 1e3 * statistics.median(each.seconds for each in ours),
                "worst ms": 1e3 * max(each.seconds for each in ours),
                "median gap of the rest %": 100 * statistics.median(gaps) if gaps else None,
                "HiGHS / certified by family": statistics.median(by_family) if by_family else None,
                "by problem": statistics.median(by_problem) if by_problem else None,
            }
        )
    return {"by_size": summary, "by_family": detail}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, short limits")
    parser.add_argument("--alone", action="store_true", help="the certified solver only")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for HiGHS")
    options = parser.parse_args()
    sizes = SIZES[:3] if options.quick else SIZES
    limit = 3.0 if options.quick else options.limit
    tables = measure(sizes, 2 if options.quick else options.seeds, not options.alone, limit)
    rate = tiny_rate(20_000 if options.quick else 1_000_000)
    tables["learner"] = [{"size": "(5, 4)", "microseconds per plan": rate}]
    for name in ("by_size", "learner"):
        print_table(name.replace("_", " "), tables[name])
    if not options.quick and not options.alone:
        about = (
            "Time to proven optimality, or the gap left: one second for the certified solver, "
            f"{limit:g} s for HiGHS and at most {OTHERS_LIMIT:g} s for the others (first seed "
            "only, as HiGHS beyond the third size). HiGHS solves the arc-flow form (the paper's "
            "program with fewer rows); where it is cut off the ratio counts the limit. A family's "
            "ratio is that of the times of all its seeds together; sizes show the median over "
            "families, and the median over single problems. Each list is one seed after the other."
        )
        keep("planning", "Planning a block", about, tables)


if __name__ == "__main__":
    main()
