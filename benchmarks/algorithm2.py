"""How often, and by how much, the paper's Algorithm 2 misses the best block.

``python -m benchmarks.algorithm2 [--quick]``. Laforgue et al. (2022), Appendix B report no miss in
the cases they tested; here every answer is held against a proven optimum.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

from benchmarks._problems import FAMILIES, problem
from benchmarks._table import keep, print_table
from lastswitch.planning import plan_block
from lastswitch.planning.milp import relaxation

SIZES = [(3, 4), (5, 4), (4, 8), (5, 10)]


def losses(family: str, n_arms: int, length: int, seeds: int) -> list[float]:
    """Return, seed by seed, the share of the optimum that Algorithm 2 leaves on the table."""
    shares = []
    for seed in range(seeds):
        case = problem(family, n_arms, length, seed)
        best = plan_block(case)
        assert best.optimal
        found = case.value(np.asarray(relaxation.solve(case).block))
        shares.append(max(best.value - found, 0.0) / best.value if best.value > 0 else 0.0)
    return shares


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds, small sizes")
    quick = parser.parse_args().quick
    rows: list[dict[str, Any]] = []
    for n_arms, length in SIZES[:2] if quick else SIZES:
        for family in FAMILIES:
            shares = losses(family, n_arms, length, 10 if quick else 30)
            missed = [share for share in shares if share > 1e-7]
            rows.append(
                {
                    "size": f"({n_arms}, {length})",
                    "family": family,
                    "problems": len(shares),
                    "missed": len(missed),
                    "mean loss when missed %": 100 * statistics.mean(missed) if missed else None,
                    "worst loss %": 100 * max(shares),
                }
            )
    print_table("Algorithm 2 against the proven optimum", rows)
    whole = [
        {
            "families": "all",
            "problems": sum(row["problems"] for row in rows),
            "missed": sum(row["missed"] for row in rows),
            "worst loss %": max(row["worst loss %"] for row in rows),
        }
    ]
    if not quick:
        tables = {"in all": whole, "misses": rows}
        about = "Blocks of the paper's Algorithm 2 held against proven optima, seed by seed."
        keep("algorithm2", "How often Algorithm 2 misses the best block", about, tables)


if __name__ == "__main__":
    main()
