"""``lastswitch new``: a commented file to start from."""

from __future__ import annotations

from importlib.resources import files
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
) -> None:
    """Print a commented file to start from: lastswitch new radio > station.toml."""
    from lastswitch._checks import check_choice
    from lastswitch.errors import FileError

    check_choice("the kind of file", kind, STARTERS, FileError)
    file = files("lastswitch").joinpath("starters", f"{kind}.toml")
    typer.echo(file.read_text(encoding="utf-8"), nl=False)
