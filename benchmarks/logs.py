"""How fits of logs scale, and how close they come to the truth: ``python -m benchmarks.logs``.

Part one reads Parquet files of growing size, each in a process of its own, and reports seconds,
processor seconds and peak memory. Part two fits simulated logs (5 arms, 500 subjects, 50,000
events) and reports how often 95 % intervals cover the truth, and what the rotation planned from
each fit earns of the true optimum; also where subjects differ and choose by what they are, within
subjects and pooled. Part three fits coin flips in five disguises, and reports how often anything
is found in them, and how often predictions cover what a fresh log shows. Options: ``--quick`` for
small sizes and few seeds, ``--largest MILLIONS``, ``--seeds N``, ``--part scale|truth|coins``.
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
from lastswitch.logs import fit_curves, predicted_gain, simulate, support
from lastswitch.logs.worlds import READINGS, coin_flips

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
#: Means far enough from 0 and 1 that a subject's own shift moves them all by the same.
MILD = ls.Bandit(
    [
        ls.Curve(rest=[0.3, 0.45, 0.6, 0.7], streak=[0.25, 0.15]),
        ls.Curve(rest=[0.55], streak=[0.45, 0.3, 0.2]),
        ls.curves.constant(0.35),
    ],
    names=["0", "1", "2"],
)
LENGTH = 12


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


def truth(seeds: int, subjects: int = 500, rounds: int = 100) -> list[dict[str, Any]]:
    """Fit simulated logs and hold them to the truth."""
    best = ls.plan_cycle(TRUTH, LENGTH, gap=0.002, time_limit=30)
    worlds: dict[str, dict[str, Any]] = {
        "alike": {},
        "differ": {"spread": 0.5},
        "differ and choose": {"shift": 0.09, "policy": keen},
    }
    rows = []
    for name, world in worlds.items():
        covered: list[bool] = []
        plain: list[bool] = []
        within: list[float] = []
        pooled: list[float] = []
        shares: list[float] = []
        for seed in range(seeds):
            fit = fit_curves(
                simulate(MILD if "shift" in world else TRUTH, subjects, rounds, seed, **world)
            )
            model = MILD if "shift" in world else TRUTH
            for arm, found in enumerate(fit.arms):
                events, total, _ = (table[arm] for table in fit.counts.pooled)
                for state in found.estimates:
                    if state.events < 200 or state.tau is None or state.pooled is not None:
                        continue
                    real = model.mean(arm, state.tau)
                    column = state.tau if state.tau > 0 else fit.counts.rest - state.tau
                    mean = total[column] / events[column]
                    covered.append(state.low <= real <= state.high)
                    plain.append(
                        abs(mean - real) <= 1.96 * np.sqrt(real * (1 - real) / events[column])
                    )
                    if state.tau < 0:
                        within.append(state.mean - real)
                        pooled.append(mean - real)
            if model is TRUTH:
                planned = ls.plan_cycle(fit.bandit, LENGTH, gap=0.005, time_limit=10)
                shares.append(ls.cycle_reward(TRUTH, planned.block) / best.bound)
            else:
                top = ls.plan_cycle(MILD, LENGTH, gap=0.005, time_limit=10)
                planned = ls.plan_cycle(fit.bandit, LENGTH, gap=0.005, time_limit=10)
                shares.append(ls.cycle_reward(MILD, planned.block) / top.bound)
        rows.append(
            {
                "subjects": name,
                "fits": seeds,
                "intervals": len(covered),
                "covered": float(np.mean(covered)),
                "covered by pooled means": float(np.mean(plain)),
                "bias in a row": float(np.mean(within)),
                "bias of pooled means": float(np.mean(pooled)),
                "worst share of the optimum": min(shares),
                "mean share": float(np.mean(shares)),
            }
        )
        print(rows[-1], flush=True)
    return rows


def keen(states: Any) -> Any:
    """Let the lucky (every other subject) repeat what they played last, the others seldom."""
    chances = np.full(states.shape, 1.0 / states.shape[1])
    stay = np.where(np.arange(len(states)) % 2 == 0, 0.55, 0.1)
    last = states < 0
    played = last.any(axis=1)
    mixed = stay[:, None] * last + (1 - stay)[:, None] * chances
    return np.where(played[:, None], mixed, chances)


def coins(seeds: int, only: str | None = None) -> list[dict[str, Any]]:
    """Look for effects in coin flips, and predict gains where there are none."""
    rows = []
    for disguise, how in READINGS.items():
        if only not in (None, disguise):
            continue
        alarms, truths, fresh, gains = [], [], [], []
        for seed in range(seeds):
            fit = fit_curves(coin_flips(disguise, seed), **how)
            alarms.append(any(f.answer in ("yes", "reverse") for row in fit.findings for f in row))
            plan = ls.plan_cycle(fit.bandit, 6)
            gain = predicted_gain(fit, plan)
            gains.append(gain.over_log.mean)
            again = fit_curves(coin_flips(disguise, seed + 1_000_000), **how)
            shown = predicted_gain(again, [plan.names[arm] for arm in plan.block]).over_log.mean
            known = all(one.known for one in support(fit, plan))
            if known:
                truths.append(gain.over_log.low <= 0 <= gain.over_log.high)
                fresh.append(gain.fresh.low <= shown <= gain.fresh.high)
        rows.append(
            {
                "coin flips": disguise,
                "fits": seeds,
                "any yes or reverse": float(np.mean(alarms)),
                "predictions": len(truths),
                "cover the truth": float(np.mean(truths)) if truths else float("nan"),
                "cover a fresh log": float(np.mean(fresh)) if fresh else float("nan"),
                "mean predicted gain": float(np.mean(gains)),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs, few seeds")
    parser.add_argument("--largest", type=float, default=50.0, help="million events")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--part", choices=["scale", "truth", "coins"])
    parser.add_argument("--disguise", choices=list(READINGS), help="of the coin flips, one only")
    parser.add_argument("--one", help="fit this file and print its cost as JSON")
    parser.add_argument("--every")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fit_here(options.one, options.every)))
        return
    sizes = [0.2, 1.0] if options.quick else [size for size in SIZES if size <= options.largest]
    tables: dict[str, list[dict[str, Any]]] = {}
    seeds = 2 if options.quick else options.seeds
    if options.part in (None, "scale"):
        tables["growth"] = scale(sizes)
    if options.part in (None, "truth"):
        tables["truth"] = truth(max(seeds // 10, 1))
    if options.part in (None, "coins"):
        tables["coins"] = coins(seeds, options.disguise)
    for name, rows in tables.items():
        print_table(name, rows)
    if not options.quick and options.part is None:
        about = (
            "Curves from Parquet logs, embedded engine, 3 GB before it spills. Processor seconds "
            "are those of all threads, start of Python included. Truth: 500 subjects, 50,000 "
            "events; intervals of states with at least 200 events, how far means in a row are off, "
            f"and what a cycle of {LENGTH} planned from the fit earns in truth. Coins: 95 % "
            "intervals and answers on logs where nothing happens; predictions of rotations whose "
            "every state is known."
        )
        keep("logs", "Fitting logs", about, tables, cores=f"{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
