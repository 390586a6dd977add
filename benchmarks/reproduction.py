"""The paper's experiments at the paper's settings: what `lastswitch reproduce` finds.

Run ``python -m benchmarks.reproduction [--quick]``. The paper map quotes these figures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._table import keep, print_table
from lastswitch.paper import reproduce


def rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per instance and policy."""
    totals = {(row["experiment"], row["policy"]): row["total"] for row in summary["findings"]}
    return [
        {
            "instance": row["experiment"],
            "policy": row["policy"],
            "total": row["total"],
            "total ±": row["total_half"],
            "share of optimum": row["share"],
            "regret": row["regret"],
            "per round at the end": row["settled"],
            "runs above ISI-CombUCB1": sum(
                total > totals[row["experiment"], "ISI-CombUCB1"] for total in row["totals"]
            ),
        }
        for row in summary["findings"]
    ]


def main() -> None:
    """Reproduce, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and short runs")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        reproduce(folder, quick=quick)
        summary = json.loads((Path(folder) / "summary.json").read_text())
    tables = {
        "instances": [
            {
                "instance": part["title"],
                "rounds": part["horizon"],
                "runs": part["runs"],
                "optimum": part["optimum"]["total"],
            }
            for part in summary["experiments"].values()
        ],
        "policies": rows(summary),
        "table 1": [
            {name: cell[name] for name in ("rest", "streak", "printed", "bound", "measured")}
            for cell in summary["table_1"]
        ],
    }
    for title, table in tables.items():
        print_table(title, table)
    if not quick:
        about = (
            "The paper's experiments at the paper's settings, ours beside them: totals with 95 % "
            "intervals over ten runs. `lastswitch reproduce` gives the same numbers."
        )
        keep("reproduction", "The paper, reproduced", about, tables, cores="2 cores")


if __name__ == "__main__":
    main()
