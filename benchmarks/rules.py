"""Planning under rules: time to a proven schedule, ``python -m benchmarks.rules``.

Every solver gets the same problems, one core, in the same run: ``certified``; HiGHS on the flows of
arms and monitors, rules of one arm folded into its flow; CP-SAT on the same flows, in a process of
its own, if OR-Tools is installed. All times include compiling the rules. The radio
week shows gaps instead. Options: ``--quick`` for one seed and short limits, ``--alone`` for
``certified`` only, ``--only ROW`` for one problem (or ``radio week``): its rows take their place in
the results kept, as long as those are of the same code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lastswitch
from benchmarks._ruled import PROBLEMS, radio_week
from benchmarks._table import RESULTS, keep, print_table
from benchmarks.planning import best_time
from lastswitch.errors import UndecidedError
from lastswitch.planning import plan_block
from lastswitch.planning.diagrams.shared import ruled_model
from lastswitch.planning.milp import flows as ilp
from lastswitch.planning.ruled_problem import RuledProblem

ROOT = Path(__file__).parent.parent
#: Seconds for every solver, and when the gaps of the radio week are read.
LIMIT, MOMENTS = 30.0, (1.0, 10.0, 60.0)
#: A problem counts as proven below this gap.
PROVEN = 1e-6


class Outcome(NamedTuple):
    """One solver on one problem."""

    seconds: float
    gap: float | None

    @property
    def text(self) -> str:
        """Seconds if proven, else the gap left."""
        if self.gap is None:
            return "no plan"
        return f"{self.seconds:.3g}" if self.gap < PROVEN else f"{100 * self.gap:.2g} %"


def certified(problem: RuledProblem, limit: float) -> Outcome:
    """Time the certified solver; small problems several times, for the best."""
    try:
        plan = plan_block(problem, time_limit=limit)
    except UndecidedError:
        return Outcome(limit, None)
    seconds = best_time(lambda: plan_block(problem, time_limit=limit), plan.seconds)
    return Outcome(seconds, plan.gap)


def highs(problem: RuledProblem, limit: float) -> Outcome:
    """Time HiGHS on the flows; small problems several times, for the best."""
    began = time.perf_counter()
    rounds, bound = ilp.solve(ruled_model(problem), time_limit=limit)
    seconds = time.perf_counter() - began
    seconds = best_time(lambda: ilp.solve(ruled_model(problem), time_limit=limit), seconds)
    return Outcome(seconds, _gap(problem.value(rounds), bound) if rounds else None)


def cp_sat(problem: RuledProblem, limit: float) -> Outcome | None:
    """Time CP-SAT on the same flows; None if it is not installed."""
    began = time.perf_counter()
    flow = ilp.Flow(ruled_model(problem))
    seconds = time.perf_counter() - began
    data: dict[str, Any] = {
        "cost": flow.cost.tolist(),
        "upper": flow.upper.astype(int).tolist(),
        "rows": np.concatenate(flow.rows).tolist(),
        "columns": np.concatenate(flow.columns).tolist(),
        "values": np.concatenate(flow.values).astype(int).tolist(),
        "right": np.concatenate(flow.right).astype(int).tolist(),
    }
    command = [sys.executable, "-m", "benchmarks._ruled_cp_sat", str(limit)]
    run = subprocess.run(
        command,
        input=json.dumps(data),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if run.returncode:
        if "No module named 'ortools'" in run.stderr:
            return None
        raise RuntimeError(run.stderr)
    answer = json.loads(run.stdout)
    gap = 0.0 if answer["proven"] else None
    if answer["found"] and not answer["proven"]:
        gap = _gap(answer["value"], answer["bound"])
    return Outcome(seconds + answer["seconds"], gap)


def _gap(value: float, bound: float) -> float:
    return max(bound - value, 0.0) / max(abs(value), 1e-12)


def compare(names: list[str], seeds: int, limit: float, alone: bool) -> list[dict[str, Any]]:
    """Return a row per problem: every solver's times, and the better rival's as a ratio."""
    certified(PROBLEMS["meals"](99), limit)  # compiled before any clock starts
    rows = []
    for name in names:
        make = PROBLEMS[name]
        ours, rivals, ratios = [], {"HiGHS": [], "CP-SAT": []}, []
        for seed in range(seeds):
            problem = make(seed)
            mine = certified(problem, limit)
            ours.append(mine.text)
            if alone:
                continue
            others = {"HiGHS": highs(problem, limit), "CP-SAT": cp_sat(problem, limit)}
            for rival, outcome in others.items():
                rivals[rival].append("" if outcome is None else outcome.text)
            times = [
                outcome.seconds if outcome.gap is not None and outcome.gap < PROVEN else limit
                for outcome in others.values()
                if outcome is not None
            ]
            ratios.append(min(times) / mine.seconds)
        row: dict[str, Any] = {"problem": name, "certified": ", ".join(ours)}
        if not alone:
            row |= {rival: ", ".join(texts) for rival, texts in rivals.items()}
            row["faster than the better of the two"] = round(statistics.median(ratios), 1)
        rows.append(row)
        print(row, flush=True)
    return rows


def week(moments: tuple[float, ...], alone: bool) -> list[dict[str, Any]]:
    """Return how close each solver is to its bound on the radio week, by the clock."""
    solvers = {"certified": certified} if alone else {"certified": certified, "HiGHS": highs}
    rows = []
    for name, solver in solvers.items():
        gaps = [solver(radio_week(0), seconds) for seconds in moments]
        row: dict[str, Any] = {"solver": name}
        for seconds, outcome in zip(moments, gaps, strict=True):
            row[f"gap after {seconds:g} s"] = (
                "no plan" if outcome.gap is None else f"{100 * outcome.gap:.2f} %"
            )
        rows.append(row)
    return rows


def code() -> str:
    """Return a digest of all that is measured: the planner, its rules, and this benchmark."""
    digest = hashlib.sha256()
    package = Path(lastswitch.__file__).parent
    places = [
        (package, "planning/**/*.py"),
        (package, "rules/*.py"),
        (ROOT, "benchmarks/*rule*.py"),
    ]
    for folder, pattern in places:
        for file in sorted(folder.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def kept(digest: str) -> dict[str, Any]:
    """Return the tables kept before by the same code; empty ones if there are none."""
    file = RESULTS / "rules.json"
    before: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if before.get("version") != digest:
        return {"problems": [], "radio week": []}
    return {name: before[name] for name in ("problems", "radio week")}


def main() -> None:
    """Measure, print, and keep the results unless the run was a quick or lonely one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--only", choices=[*PROBLEMS, "radio week"], metavar="ROW")
    options = parser.parse_args()
    limit, moments = (5.0, (1.0, 5.0)) if options.quick else (LIMIT, MOMENTS)
    names = [name for name in PROBLEMS if options.only in (None, name)]
    digest = code()
    tables = kept(digest) if options.only else {"problems": [], "radio week": []}
    if names:
        rows = compare(names, 1 if options.quick else 3, limit, options.alone)
        print_table(f"seconds to proven optimality, or the gap after {limit:g} s", rows)
        new = {row["problem"]: row for row in [*tables["problems"], *rows]}
        tables["problems"] = [new[name] for name in PROBLEMS if name in new]
    if options.only in (None, "radio week"):
        tables["radio week"] = week(moments, options.alone)
        print_table("radio week: 40 songs, 12 artists, 168 rounds", tables["radio week"])
    if not (options.quick or options.alone):
        keep(
            "rules",
            "Planning under rules",
            "Time to a proven schedule, rules compiled included; where none was proven within "
            f"{limit:g} seconds, the gap left. HiGHS and CP-SAT solve the same flows of arms and "
            "monitors, with rules of one arm folded into its flow; other forms for CP-SAT were "
            "not tried. Runs of less than a quarter of a second are repeated and the best counts, "
            "which on shared cores favours the fastest solver.",
            {"version": digest, **tables},
        )


if __name__ == "__main__":
    main()
