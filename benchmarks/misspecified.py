"""Worlds that break the model: what RotationUCB earns in them, and others do.

The share of what an oracle earns (see ``lastswitch.model.instances.World.oracle``), the mean of
some runs: one alone may be a tenth above or below another.

Run ``python -m benchmarks.misspecified [--quick]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch.learning import RAWUCB, UCB1
from lastswitch.model.instances import MISSPECIFIED, misspecified

#: Runs of each policy in each world.
RUNS = 20

#: Policies by name, from the number of arms and the horizon.
POLICIES: dict[str, Callable[[int, int], ls.Policy]] = {
    "RotationUCB": lambda n, _: ls.RotationUCB(n),
    "RotationUCB, memory of T/4": lambda n, horizon: ls.RotationUCB(n, memory=horizon / 4),
    "RAW-UCB": lambda n, _: RAWUCB(n),
    "UCB1": lambda n, _: UCB1(n),
}


def rows(horizon: int, runs: int) -> list[dict[str, Any]]:
    """Return one row per world."""
    found = []
    for name, about in MISSPECIFIED.items():
        world = misspecified(name)
        # A look-ahead oracle settles into a cycle: its rate over a part of the rounds is its rate.
        part = horizon if world.best is not None else horizon // 20
        best = world.oracle(part) / part
        row: dict[str, Any] = {"world": name, "about": about, "oracle, per round": best}
        for policy, build in POLICIES.items():
            earned = [
                world.play(build(world.n_arms, horizon), horizon, seed).mean_total
                for seed in range(runs)
            ]
            row[policy] = float(np.mean(earned)) / horizon / best
        found.append(row)
    return found


def main() -> None:
    """Print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    table = rows(1_000, 1) if quick else rows(10_000, RUNS)
    print_table("shares of what an oracle earns in worlds that break the model", table)
    if not quick:
        about = (
            "Share of what an oracle earns in worlds whose pay hangs on more than the switch "
            f"states, over 10,000 rounds, the mean of {RUNS} runs. For rotting and rising arms the "
            "oracle is the optimum, elsewhere a look-ahead with the true world."
        )
        keep("misspecified", "Worlds that break the model", about, {"worlds": table})


if __name__ == "__main__":
    main()
