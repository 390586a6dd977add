"""``lastswitch warm-up``: compile everything ahead."""

from __future__ import annotations

import typer


def warm_up() -> None:
    """Compile everything ahead, for images and executors, and say where it lies."""
    from lastswitch.warming import warm_up

    def say(name: str, seconds: float) -> None:
        typer.echo(f"{name:<22}{seconds:7.1f} s")

    folder = warm_up(say)
    kernels = list(folder.rglob("*.nbc"))
    if not kernels:
        typer.echo(f"Nothing could be kept in {folder}.")
        raise typer.Exit(1)
    size = sum(path.stat().st_size for path in kernels) / 1e6
    typer.echo(f"{len(kernels)} kernels, {size:.1f} MB, in {folder}")
