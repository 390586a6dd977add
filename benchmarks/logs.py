"""How fits of logs scale, and how close they come to the truth: ``python -m benchmarks.logs``.

Growth: Parquet files of growing size, each in a process of its own; seconds, processor seconds and
peak memory. Truth: simulated logs; how often 95 % intervals cover the truth, and what the rotation
planned from each fit earns of the true optimum; also where subjects differ and choose by what they
are, within subjects and pooled. Coins: coin flips in five disguises; how often anything is found in
them, and how often predictions cover the truth and what a fresh log shows. Control: the same
predictions where there is something to gain. Options: ``--quick`` for small sizes and few seeds,
``--largest MILLIONS``, ``--seeds N``, ``--part growth|truth|coins|control``.
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
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks._log_studies import LENGTH, SUBJECTS, coins_of, gain_of, truth_of
from benchmarks._table import RESULTS, keep, print_table
from lastswitch.logs import fit_curves
from lastswitch.logs.worlds import READINGS

MILLION = 1_000_000
Run: TypeAlias = Callable[[Callable[[Any], dict[str, Any]], list[Any]], list[dict[str, Any]]]
LISTS = ("covered", "plain", "within", "pooled")
#: What is reported of predictions, and what a study calls it.
PREDICTED = {
    "cover the truth": "truth",
    "covered without holding out": "naive",
    "mean predicted gain": "gain",
    "without holding out": "naive gain",
    "true gain": "real",
    "half an interval": "half",
}
PARTS = ("growth", "truth", "coins", "control")
ABOUT = (
    "Curves from Parquet logs, embedded engine, 3 GB before it spills. Processor seconds are those "
    "of all threads, start of Python included; seconds are by the clock, and load is how many "
    "others wanted the processor. Truth: 500 subjects, 50,000 events; intervals of states with at "
    "least 200 events, how far means in a row are off, and what a cycle of "
    f"{LENGTH} planned from the fit earns in truth. Coins: 95 % intervals and answers on logs of "
    "200 subjects (2,000 where each has one event) in which nothing happens; predictions are made "
    "where every state of the rotation is known, and held to fresh logs that know them too. Any "
    "yes or reverse: to any of the nine questions of a log, in 5 % of logs at most if honest; "
    "pooled means: plays in a row against rested ones, all events alike, by the same rule. "
    "Spread of errors: of predictions, in units of their standard error. Control: the same "
    "predictions where arms do wear out, for unlike subjects who choose by what they are."
)
#: The first seed of the studies. What was looked at while they were made lies elsewhere.
SEED = 20_000_000
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
                    "load": os.getloadavg()[0],
                    "peak GiB": cost["GiB"],
                    "µs per event": each,
                }
            )
            print(rows[-1], flush=True)
    return rows


def truth(seeds: range, run: Run) -> list[dict[str, Any]]:
    """Fit simulated logs and hold them to the truth."""
    rows = []
    for name in SUBJECTS:
        found = run(truth_of, [(name, seed) for seed in seeds])
        joined = {key: np.concatenate([one[key] for one in found]) for key in LISTS}
        error = np.std(joined["within"]) / np.sqrt(len(found))
        rows.append(
            {
                "subjects": name,
                "fits": len(found),
                "intervals": len(joined["covered"]),
                "covered": float(np.mean(joined["covered"])),
                "covered by pooled means": float(np.mean(joined["plain"])),
                "bias in a row": float(np.mean(joined["within"])),
                "its error at most": float(error),
                "bias of pooled means": float(np.mean(joined["pooled"])),
                "worst share of the optimum": min(one["share"] for one in found),
                "mean share": float(np.mean([one["share"] for one in found])),
            }
        )
        print(rows[-1], flush=True)
    return rows


def coins(seeds: range, run: Run, only: str | None = None) -> list[dict[str, Any]]:
    """Look for effects in coin flips, and predict gains where there are none."""
    rows = []
    for disguise in READINGS:
        if only not in (None, disguise):
            continue
        found = run(coins_of, [(disguise, seed, seed + len(seeds)) for seed in seeds])
        alarms = {
            "any yes or reverse": float(np.mean([one["alarm"] for one in found])),
            "pooled means would": float(np.mean([one["pooled alarm"] for one in found])),
        }
        rows.append({"coin flips": disguise, "fits": len(found)} | alarms | predictions(found))
        print(rows[-1], flush=True)
    return rows


def control(seeds: range, run: Run) -> list[dict[str, Any]]:
    """Predict gains where there are some: unlike subjects, who choose by what they are."""
    found = run(gain_of, [(seed, seed + len(seeds)) for seed in seeds])
    above = float(np.mean([one["above zero"] for one in found if one["known"]]))
    row = {"world": "wears out", "fits": len(found)} | predictions(found) | {"above zero": above}
    print(row, flush=True)
    return [row]


def predictions(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how often predictions cover what they should, and how far they are off."""
    made = [one for one in found if one["known"]]
    shown = [one["fresh"] for one in made if one["shown"]]
    means = {
        name: float(np.mean([one[key] for one in made])) if made else None
        for name, key in PREDICTED.items()
    }
    return {
        "predictions": len(made),
        "fresh logs": len(shown),
        "cover a fresh log": float(np.mean(shown)) if shown else None,
        **means,
        "spread of errors": float(np.std([one["z"] for one in made])) if made else None,
    }


def pooled(processes: int) -> Run:
    """Return a function that maps a study over tasks, in processes that give way to others."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a process is a thread

    def run(study: Callable[[Any], dict[str, Any]], tasks: list[Any]) -> list[dict[str, Any]]:
        with get_context("spawn").Pool(processes, os.nice, (10,)) as pool:
            return pool.map(study, tasks, chunksize=5)

    return run


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs, few seeds")
    parser.add_argument("--largest", type=float, default=50.0, help="million events")
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--first-seed", type=int, default=SEED)
    parser.add_argument("--part", choices=PARTS, action="append", help="may be said again")
    parser.add_argument("--disguise", choices=list(READINGS), help="of the coin flips, one only")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--one", help="fit this file and print its cost as JSON")
    parser.add_argument("--every")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fit_here(options.one, options.every)))
        return
    sizes = [0.2, 1.0] if options.quick else [size for size in SIZES if size <= options.largest]
    count = 4 if options.quick else options.seeds
    seeds, run = range(options.first_seed, options.first_seed + count), pooled(options.processes)
    parts = options.part or PARTS
    tables = dict(kept())
    if "growth" in parts:
        tables["growth"] = scale(sizes)
    if "truth" in parts:
        tables["truth"] = truth(seeds[: max(count // 4, 2)], run)
    if "coins" in parts:
        tables["coins"] = coins(seeds, run, options.disguise)
    if "control" in parts:
        tables["control"] = control(seeds, run)
    for name in parts:
        print_table(name, tables[name])
    if not options.quick and options.disguise is None and options.first_seed == SEED:
        keep("logs", "Fitting logs", ABOUT, tables, cores=f"{os.cpu_count()} cores")


def kept() -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the last run: a part measured again replaces its own only."""
    file = RESULTS / "logs.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    return {name: found[name] for name in PARTS if name in found}


if __name__ == "__main__":
    main()
