"""What asking and telling costs: rounds per second, subjects by the thousand, bytes per subject.

A round of a policy that decides nothing is the interface's own cost; every other policy is shown
next to it, in the same run. Times are of the processor, the best of several turns. The last column
is what a subject keeps in memory when it is idle.

Run ``python -m benchmarks.asking [--quick]``.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import lastswitch as ls
from benchmarks._table import keep, print_table

FIVE = ls.instances.five_arms()
POLICIES: dict[str, Callable[[], ls.Policy]] = {
    "FixedCycle": lambda: ls.FixedCycle([0, 2, 2, 0, 1], 5, initial=-1),
    "UCB1": lambda: ls.learning.UCB1(5, initial=-1),
    "ThompsonSampling": lambda: ls.learning.ThompsonSampling(5, initial=-1),
    "OracleGreedy": lambda: ls.learning.OracleGreedy(FIVE),
    "ISICombUCB1": lambda: ls.ISICombUCB1(5, 4, initial=-1),
    "CombUCB1": lambda: ls.learning.CombUCB1(5, 3, initial=-1),
    "RotationUCB": lambda: ls.RotationUCB(5, initial=-1),
    "RotationUCB, KL-UCB": lambda: ls.RotationUCB(5, index="kl-ucb", initial=-1),
}

#: Turns of which the best is shown: what else the machine does only ever slows one down.
REPEATS = 5


def play(policy: ls.Policy, turns: list[int]) -> float:
    """Ask and tell for each subject in ``turns``; return decisions per second."""
    began = time.process_time()
    for subject in turns:
        pull = policy.ask(subject)
        policy.tell(pull.id, 1.0 if pull.tau > 1 else 0.0)
    return len(turns) / (time.process_time() - began)


def main() -> None:
    """Print one row per policy, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds = 5_000 if quick else 50_000
    many = random.Random(0).choices(range(10_000), k=rounds)
    rows: list[dict[str, Any]] = []
    for name, build in POLICIES.items():
        play(build(), many[:200])  # compile
        pairs = [(play(build(), [0] * rounds), play(build(), many)) for _ in range(REPEATS)]
        alone, together = (max(rates) for rates in zip(*pairs, strict=True))
        rows.append(
            {
                "policy": name,
                "one subject, decisions/s": round(alone),
                "10,000 subjects, decisions/s": round(together),
                "bytes per idle subject": round(idle_bytes(build())),
            }
        )
    print_table("asking and telling", rows)
    if not quick:
        about = (
            "Decisions per second of ask and tell together on the paper's five arms, and what a "
            "subject keeps in memory. FixedCycle decides nothing: its row is the interface's cost."
        )
        keep("asking", "Asking and telling", about, {"asking": rows})


def idle_bytes(policy: ls.Policy) -> float:
    """Return the memory of a subject between its turns."""
    gc.collect()
    tracemalloc.start()
    play(policy, list(range(1_000)))
    before, _ = tracemalloc.get_traced_memory()
    play(policy, list(range(1_000, 3_000)))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / 2_000


if __name__ == "__main__":
    main()
