"""``lastswitch compare``: run a sweep written in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastswitch.experiments.backends import Backend


def compare(
    sweep: Annotated[
        Path, typer.Argument(metavar="SWEEP.toml", help="What to run.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Where results go; by default a folder beside the sweep file."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Workers; all cores by default.", show_default=False)
    ] = None,
    backend: Annotated[
        Backend, typer.Option(help="Processes (loky), or a Ray or Dask cluster.")
    ] = "loky",
) -> None:
    """Compare policies on instances, and resume where an earlier call stopped.

    Prints one table per instance, best policy first, and writes for each a comparison (.npz), its
    table (.csv) and its figures (.png) to the output folder.
    """
    from rich.console import Console

    from lastswitch._utils.drawing import house_style, new_figure, save_figure
    from lastswitch.experiments.sweeps import run_sweep, slug

    folder = out if out is not None else sweep.with_name(f"{sweep.stem}-results")
    found = run_sweep(sweep, folder, n_jobs=jobs, backend=backend)
    console = Console()
    for name, comparison in found.items():
        table = comparison.table()
        console.print(f"\n{name}", style="bold", markup=False)
        console.print(table)
        table.to_csv(folder / f"{slug(name)}.csv")
        for what in ("reward", "regret"):
            with house_style():
                figure = new_figure(None, 7.2, 4.2)
                comparison.plot(what, ax=figure.subplots())
            save_figure(figure, folder / f"{slug(name)}-{what}", ["png"])
    console.print(f"\nResults are in {folder}", highlight=False, markup=False)
