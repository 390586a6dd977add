"""What the runner costs: rounds per second, overhead per task, and the price of resuming.

Each figure stands beside what it is compared with, measured in the same process: a bare ask/tell
loop for the simulator, the tasks' own work for the runner.

Run ``python -m benchmarks.experiments [--quick]``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch.experiments.simulation import reference_run
from lastswitch.experiments.tasks import Job, perform
from lastswitch.learning import RAWUCB, UCB1, BlockingUCB, ThompsonSampling


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the processor time of the fastest of a few repeats."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def bare(policy: ls.Policy, rounds: int) -> None:
    """Ask and tell, and nothing else: what any simulation costs at least."""
    for _ in range(rounds):
        policy.tell(policy.ask().id, 1.0)


def simulator(rounds: int) -> list[dict[str, Any]]:
    """Return rounds per second of policies that plan nothing."""
    bandit = ls.instances.five_arms()
    policies: dict[str, Callable[[], ls.Policy]] = {
        "FixedCycle": lambda: ls.FixedCycle([0, 1, 2], 5, initial=-1),
        "OracleGreedy": lambda: ls.learning.OracleGreedy(bandit),
        "UCB1": lambda: UCB1(5, initial=-1),
        "ThompsonSampling": lambda: ThompsonSampling(5, initial=-1),
        "RAWUCB": lambda: RAWUCB(5, initial=-1),
        "BlockingUCB": lambda: BlockingUCB(5, [3] * 5, initial=-1),
    }
    rows: list[dict[str, Any]] = []
    for name, make in policies.items():
        fast = seconds(lambda make=make: ls.simulate(bandit, make(), rounds)) / rounds
        least = seconds(lambda make=make: bare(make(), rounds)) / rounds
        slow = seconds(lambda make=make: reference_run(bandit, make(), rounds // 20)) * 20 / rounds
        rows.append(
            {
                "policy": name,
                "rounds/s": round(1 / fast),
                "bare ask and tell /s": round(1 / least),
                "times the definition": slow / fast,
            }
        )
    print_table(f"simulate, five arms, {rounds:,} rounds", rows)
    return rows


def runner(tasks: int) -> list[dict[str, Any]]:
    """Return what a sweep of small tasks costs beyond the tasks themselves."""
    bandit = ls.instances.two_arms()
    policies = {f"cycle {k}": partial(ls.FixedCycle, [0, 1]) for k in range(10)}
    sweep = partial(ls.compare, bandit, policies, 100, progress=False)
    job = Job(bandit, "cycle 0", policies["cycle 0"], 100, 0)
    perform(job, 0)
    work = seconds(lambda: [perform(job, run) for run in range(300)]) / 300
    rows: list[dict[str, Any]] = []
    ls.compare(bandit, policies, 100, 1, n_jobs=1, progress=False)  # compile once
    for label, n_jobs in (("this process", 1), ("two processes", 2)):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder)
            sweep(n_jobs=n_jobs, store=store / "warm", runs=2)  # start the workers
            for what, share in (
                (f"{label}, over the work", work / n_jobs),
                (f"{label}, resumed", 0.0),
            ):
                wall, processor = time.perf_counter(), time.process_time()
                sweep(n_jobs=n_jobs, store=store, runs=tasks // 10)
                spent = (time.process_time() - processor) / tasks
                # With two processes only the parent's own share is known.
                own = spent - (share if n_jobs == 1 else 0.0)
                elapsed = (time.perf_counter() - wall) / tasks - share
                rows.append({"ms per task": what, "processor": own * 1e3, "wall": elapsed * 1e3})
    print_table(f"compare, {tasks:,} tasks of 100 rounds, {work * 1e3:.2f} ms of work each", rows)
    return rows


def main() -> None:
    """Print both, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    quick = parser.parse_args().quick
    tables = {
        "simulating": simulator(20_000 if quick else 200_000),
        "many small tasks": runner(1_000 if quick else 10_000),
    }
    if not quick:
        about = (
            "Rounds per second of `simulate` on the paper's five arms for policies that plan "
            "nothing, beside a loop that only asks and tells, and in multiples of the plain "
            "definition's speed; and what `compare` adds to each of 10,000 tasks of 100 rounds, "
            "in milliseconds."
        )
        keep("experiments", "Simulating and comparing", about, tables, cores="2 cores")


if __name__ == "__main__":
    main()
