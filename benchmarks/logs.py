"""How fits of logs scale, and how close they come to the truth: ``python -m benchmarks.logs``.

Part one reads Parquet files of growing size, each in a process of its own, and reports seconds,
processor seconds and peak memory. Part two fits simulated logs (5 arms, 2,000 subjects, 500,000
events) and reports how often 95 % intervals cover the truth, and what the rotation planned from
each fit earns of the true optimum. Options: ``--quick`` for small sizes and few seeds,
``--largest MILLIONS``, ``--seeds N``, ``--part scale|truth``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch.logs import fit_curves, simulate

MILLION = 1_000_000
SIZES = [1, 10, 50]
#: 250 events per subject; a day, an arm and a reward each, and one long column nobody asks for.
MAKE = """
COPY (
    SELECT 'user-' || (i // 250) AS subject,
        TIMESTAMP '2024-01-01' + to_days(CAST(i % 250 AS INTEGER))
            + to_seconds(CAST(hash(i) % 80000 AS INTEGER)) AS time,
        'arm-' || (hash(i * 7 + 1) % {arms}) AS arm,
        CAST(hash(i * 13 + 5) % 100 < 30 AS INTEGER) AS reward
        {extra}
    FROM range({events}) AS numbers(i)
) TO '{path}' (FORMAT parquet)
"""
TRUTH = ls.Bandit(
    [
        ls.curves.recovering(0.8, 5, low=0.02),
        ls.curves.step(4, 0.9, 0.1),
        ls.curves.satiating(0.7, 0.1, 4),
        ls.curves.constant(0.3),
        ls.curves.periodic([0.1, 0.1, 0.6], 0.05),
    ],
    names=["0", "1", "2", "3", "4"],  # numbered, so that a fit keeps their order
)
LENGTH = 24


def make(path: Path, events: int, arms: int = 5, columns: int = 1) -> None:
    """Write a log of ``events`` rows with ``columns`` columns nobody will ask for."""
    import duckdb

    extra = "".join(f", 'pad-' || hash(i + {c}) AS pad{c}" for c in range(columns))
    quiet = duckdb.connect()
    quiet.execute("SET enable_progress_bar = false")
    quiet.execute(MAKE.format(arms=arms, extra=extra, events=events, path=path))


def fit_here(path: str, every: str | None) -> dict[str, float]:
    """Fit one log in this process and say what it cost."""
    began = time.perf_counter()
    fit = fit_curves(path, every=every)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "plays": fit.summary.plays,
        "seconds": seconds,
        "processor": used.ru_utime + used.ru_stime,
        "GiB": peak_memory(),
    }


def peak_memory() -> float:
    """Return the most memory this process ever held, in GiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what the system calls say there starts at the parent's memory
        line = next(text for text in status.read_text().splitlines() if text.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def fit_apart(path: Path, every: str | None) -> dict[str, float]:
    """Fit one log in a fresh process, so that the peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.logs", "--one", str(path)]
    command += ["--every", every] if every else []
    folder = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def scale(sizes: list[float]) -> list[dict[str, Any]]:
    """Measure growing logs, rounds by order and by clock, then a wide one and one of many arms."""
    shapes: list[tuple[str, float, int, int, str | None]] = []
    for size in sizes:
        shapes += [("in order", size, 5, 1, None), ("by day", size, 5, 1, "1d")]
    shapes.append(("100 more columns", sizes[0], 5, 100, None))
    shapes.append(("5,000 arms", sizes[0], 5000, 1, None))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, size, arms, columns, every in shapes:
            path = Path(folder) / f"{size}-{arms}-{columns}.parquet"
            if not path.exists():
                make(path, int(size * MILLION), arms, columns)
            cost = fit_apart(path, every)
            each = 1e6 * cost["processor"] / (size * MILLION)
            rows.append(
                {
                    "log": what,
                    "million events": size,
                    "seconds": cost["seconds"],
                    "processor seconds": cost["processor"],
                    "peak GiB": cost["GiB"],
                    "µs per event": each,
                }
            )
            print(rows[-1], flush=True)
    return rows


def truth(seeds: int, subjects: int = 2000, rounds: int = 250) -> list[dict[str, Any]]:
    """Fit simulated logs and hold them to the truth."""
    best = ls.plan_cycle(TRUTH, LENGTH, gap=0.002, time_limit=30)
    rows = []
    for spread in (0.0, 0.5):
        covered: list[bool] = []
        shares: list[float] = []
        for seed in range(seeds):
            fit = fit_curves(simulate(TRUTH, subjects, rounds, seed, spread=spread))
            covered += [
                state.low <= TRUTH.mean(arm, state.tau) <= state.high
                for arm, found in enumerate(fit.arms)
                for state in found.estimates
                if state.events >= 200 and state.tau is not None
            ]
            planned = ls.plan_cycle(fit.bandit, LENGTH, gap=0.002, time_limit=30)
            shares.append(ls.cycle_reward(TRUTH, planned.block) / best.bound)
        rows.append(
            {
                "subjects differ by": spread,
                "fits": seeds,
                "intervals": len(covered),
                "covered": float(np.mean(covered)),
                "worst share of the optimum": min(shares),
                "mean share": float(np.mean(shares)),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs, few seeds")
    parser.add_argument("--largest", type=float, default=50.0, help="million events")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--part", choices=["scale", "truth"])
    parser.add_argument("--one", help="fit this file and print its cost as JSON")
    parser.add_argument("--every")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fit_here(options.one, options.every)))
        return
    sizes = [0.2, 1.0] if options.quick else [size for size in SIZES if size <= options.largest]
    tables: dict[str, list[dict[str, Any]]] = {}
    if options.part != "truth":
        tables["growth"] = scale(sizes)
    if options.part != "scale":
        small = (2, 400, 100) if options.quick else (options.seeds,)
        tables["truth"] = truth(*small)
    for name, rows in tables.items():
        print_table(name, rows)
    if not options.quick and options.part is None:
        about = (
            "Curves from Parquet logs, embedded engine, 3 GB before it spills. Processor seconds "
            "are those of all threads, start of Python included. Truth: five arms, 2,000 "
            "subjects, 500,000 events; intervals of states with at least 200 events, and what a "
            f"cycle of {LENGTH} planned from the fit earns in truth."
        )
        keep("logs", "Fitting logs", about, tables, cores=f"{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
