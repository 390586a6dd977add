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
from lastswitch.experiments.simulation import reference_run
from lastswitch.experiments.tasks import Job, perform
from lastswitch.learning import UCB1, ThompsonSampling


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


def simulator(rounds: int) -> None:
    """Print rounds per second of policies that plan nothing."""
    bandit = ls.instances.five_arms()
    policies: dict[str, Callable[[], ls.Policy]] = {
        "FixedCycle": lambda: ls.FixedCycle([0, 1, 2], 5, initial=-1),
        "OracleGreedy": lambda: ls.OracleGreedy(bandit),
        "UCB1": lambda: UCB1(5, initial=-1),
        "Thompson": lambda: ThompsonSampling(5, initial=-1),
    }
    print(f"simulate, five arms, {rounds:,} rounds")
    print(f"{'policy':14} {'rounds/s':>10} {'bare ask/tell':>14} {'of bare':>8} {'definition':>11}")
    for name, make in policies.items():
        fast = seconds(lambda make=make: ls.simulate(bandit, make(), rounds)) / rounds
        least = seconds(lambda make=make: bare(make(), rounds)) / rounds
        slow = seconds(lambda make=make: reference_run(bandit, make(), rounds // 20)) * 20 / rounds
        print(
            f"{name:14} {1 / fast:10,.0f} {1 / least:14,.0f} {least / fast:8.0%} "
            f"{slow / fast:10.1f}×"
        )


def runner(tasks: int) -> None:
    """Print what a sweep of small tasks costs beyond the tasks themselves."""
    bandit = ls.instances.two_arms()
    policies = {f"cycle {k}": partial(ls.FixedCycle, [0, 1]) for k in range(10)}
    sweep = partial(ls.compare, bandit, policies, 100, progress=False)
    job = Job(bandit, "cycle 0", policies["cycle 0"], 100, 0)
    perform(job, 0)
    work = seconds(lambda: [perform(job, run) for run in range(300)]) / 300
    print(f"\ncompare, {tasks:,} tasks of 100 rounds, {work * 1e3:.2f} ms of work each")
    print(f"{'ms per task':26} {'processor':>10} {'wall':>8}")
    ls.compare(bandit, policies, 100, 1, n_jobs=1, progress=False)  # compile once
    for label, n_jobs in (("this process", 1), ("two processes", 2)):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder)
            sweep(n_jobs=n_jobs, store=store / "warm", runs=2)  # start the workers
            for what, share in ((f"{label}, over the work", work / n_jobs), ("  resumed", 0.0)):
                wall, processor = time.perf_counter(), time.process_time()
                sweep(n_jobs=n_jobs, store=store, runs=tasks // 10)
                spent = (time.process_time() - processor) / tasks
                # With two processes only the parent's own share is known.
                own = spent - (share if n_jobs == 1 else 0.0)
                elapsed = (time.perf_counter() - wall) / tasks - share
                print(f"{what:26} {own * 1e3:10.2f} {elapsed * 1e3:8.2f}")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    quick = parser.parse_args().quick
    simulator(20_000 if quick else 200_000)
    runner(1_000 if quick else 10_000)


if __name__ == "__main__":
    main()
