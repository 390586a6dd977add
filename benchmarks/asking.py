"""What asking and telling costs: rounds per second, subjects by the thousand, bytes per subject.

A round of a policy that decides nothing is the interface's own cost; every other policy is shown
next to it, in the same run. The last column is what a subject keeps in memory when it is idle.

Run ``python -m benchmarks.asking [--quick]``.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
import tracemalloc
from collections.abc import Callable

import lastswitch as ls

FIVE = ls.instances.five_arms()
POLICIES: dict[str, Callable[[], ls.Policy]] = {
    "FixedCycle": lambda: ls.FixedCycle([0, 2, 2, 0, 1], 5, initial=-1),
    "OracleGreedy": lambda: ls.OracleGreedy(FIVE),
    "ISICombUCB1": lambda: ls.ISICombUCB1(5, 4, initial=-1),
    "CombUCB1": lambda: ls.CombUCB1(5, 3, initial=-1),
    "RotationUCB": lambda: ls.RotationUCB(5, initial=-1),
}


def play(policy: ls.Policy, turns: list[int]) -> float:
    """Ask and tell for each subject in ``turns``; return decisions per second."""
    began = time.perf_counter()
    for subject in turns:
        pull = policy.ask(subject)
        policy.tell(pull.id, 1.0 if pull.tau > 1 else 0.0)
    return len(turns) / (time.perf_counter() - began)


def main() -> None:
    """Print one row per policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    rounds = 5_000 if parser.parse_args().quick else 50_000
    many = random.Random(0).choices(range(10_000), k=rounds)
    heading = ("policy", "1 subject /s", "10,000 /s", "to FixedCycle", "bytes/subject")
    print(("{:14}" + "{:>15}" * 4).format(*heading))
    reference = None
    for name, build in POLICIES.items():
        play(build(), many[:200])  # compile
        alone, together = play(build(), [0] * rounds), play(build(), many)
        reference = together if reference is None else reference
        gc.collect()
        tracemalloc.start()
        policy = build()
        play(policy, list(range(1_000)))
        before, _ = tracemalloc.get_traced_memory()
        play(policy, list(range(1_000, 3_000)))
        size = (tracemalloc.get_traced_memory()[0] - before) / 2_000
        tracemalloc.stop()
        row = f"{name:14}{alone:15,.0f}{together:15,.0f}{together / reference:15.3f}{size:15,.0f}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
