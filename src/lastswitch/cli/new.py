"""``lastswitch new``: a commented file to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

#: The files that come with the package, and what each is about.
STARTERS = {
    "radio": "songs and a magazine, hour by hour",
    "notifications": "messages of an app, day by day, with silence",
    "meals": "dinners, day by day",
}


def new(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="|".join(STARTERS),
            help="; ".join(f"{name}: {what}" for name, what in STARTERS.items()) + ".",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write it to this file, which must not exist yet.")
    ] = None,
) -> None:
    """Print a commented file to start from: lastswitch new radio > station.toml."""
    from lastswitch._utils.atomic import write_atomic
    from lastswitch._utils.checks import check_choice
    from lastswitch.errors import FileError

    check_choice("the kind of file", kind, STARTERS, FileError)
    text = files("lastswitch").joinpath("starters", f"{kind}.toml").read_text(encoding="utf-8")
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise FileError(f"{out} exists already; give another name, or remove it first.")
    write_atomic(out, text.replace(f" {kind}.toml", f" {out.name}"))
    typer.echo(f"wrote {out}; next: lastswitch check {out}")
