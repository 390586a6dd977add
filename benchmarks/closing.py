"""How value and bound close in on each other, second by second: ``python -m benchmarks.closing``.

One problem of every family at the largest size, ten seconds each. ``--quick`` for one second, kept
nowhere.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from benchmarks._problems import FAMILIES, problem
from benchmarks._table import keep, print_table
from lastswitch import Progress
from lastswitch.planning import clock, plan_block

SIZE, SEED, LIMIT = (50, 100), 100, 10.0
#: When the gaps of the table are read.
MOMENTS = (0.1, 1.0, 10.0)


def history(family: str, limit: float) -> list[tuple[float, float, float]]:
    """Return (seconds, value, bound) at every change."""
    told: list[tuple[float, float, float]] = []

    def tell(progress: Progress) -> None:
        state = (progress.value, progress.bound)
        if math.isfinite(sum(state)) and (not told or told[-1][1:] != state):
            told.append((progress.seconds, *state))

    clock.TELL_EVERY = 0.0  # as often as there is something to tell
    plan = plan_block(problem(family, *SIZE, SEED), time_limit=limit, progress=tell)
    return [*told, (plan.seconds, plan.value, plan.bound)]


def gap_at(told: list[tuple[float, float, float]], moment: float) -> float | None:
    """Return the gap at a moment, in per cent; None before there is a block."""
    known = [(bound - value) / abs(value) for seconds, value, bound in told if seconds <= moment]
    return 100 * known[-1] if known else None


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one second each, kept nowhere")
    options = parser.parse_args()
    limit = 1.0 if options.quick else LIMIT
    plan_block(problem("spike", *SIZE, 1), time_limit=1.0)  # load every kernel
    rows, curves = [], {}
    for family in FAMILIES:
        told = history(family, limit)
        row: dict[str, Any] = {"family": family, "first block ms": 1e3 * told[0][0]}
        # Read a little late: a limit is looked at between two slices of work.
        row |= {f"gap % after {m:g} s": gap_at(told, m * 1.05) for m in MOMENTS if m <= limit}
        rows.append(row)
        curves[family] = {
            name: [float(f"{part[k]:.6g}") for part in told]
            for k, name in enumerate(("seconds", "value", "bound"))
        }
    print_table("closing in", rows)
    if not options.quick:
        about = (
            f"Value and bound of one problem of every family, {SIZE[0]} arms and {SIZE[1]} rounds, "
            f"from the first block on and for {LIMIT:g} seconds. *When to expect a proof* has the "
            "picture."
        )
        keep("closing", "How the gap closes", about, {"families": rows, "curves": curves})


if __name__ == "__main__":
    main()
