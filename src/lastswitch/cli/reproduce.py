"""``lastswitch reproduce``: the paper's figures and tables, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastswitch.experiments.backends import Backend


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for figures, summary and report.")] = Path(
        "results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A look in seconds.")] = False,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each policy; the paper's 10 by default.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="Rounds; the paper's 5112 and 5060 by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Names all randomness.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Workers; all cores by default.")] = None,
    backend: Annotated[
        Backend, typer.Option(help="Processes (loky), or a Ray or Dask cluster.")
    ] = "loky",
) -> None:
    """Redo the paper: Figures 1 to 4, Table 1, and ours beside them, with a report to open."""
    import time

    from rich.console import Console

    from lastswitch.paper.reproduction import reproduce as run

    began = time.perf_counter()
    done = run(
        out, quick=quick, runs=runs, horizon=horizon, seed=seed, n_jobs=jobs, backend=backend
    )
    console = Console()
    for name, comparison in done.comparisons.items():
        console.print(f"\n{name}", style="bold", markup=False)
        console.print(comparison.table())
    for line in done.conclusions:
        console.print(f"• {line}", highlight=False, markup=False)
    seconds = time.perf_counter() - began
    console.print(f"\nDone in {seconds:.0f} s; open {done.report}", highlight=False, markup=False)
