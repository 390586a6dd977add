"""The command line: parse, call the library, print.

Each command is a function in a module of its own; this one only gathers them and turns errors the
user can mend into one line and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from lastswitch.cli.compare import compare
from lastswitch.cli.fit import fit
from lastswitch.cli.optimum import optimum
from lastswitch.cli.plan import plan
from lastswitch.cli.reproduce import reproduce
from lastswitch.cli.show import show
from lastswitch.errors import LastSwitchError

app = typer.Typer(
    name="lastswitch",
    help="Plan and learn schedules for actions that wear out when repeated and recover with rest.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (show, plan, optimum, compare, reproduce, fit):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lastswitch {version('lastswitch')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which release."
        ),
    ] = False,
) -> None:
    """Gather the options that belong to no command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on ``argv`` (the process's own by default); return the exit code."""
    try:
        app(args=argv)
    except LastSwitchError as error:
        typer.echo(f"lastswitch: {error}", err=True)
        return 2
    except SystemExit as end:  # how Typer ends: help, usage errors, success
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def entry() -> None:
    """Serve the installed ``lastswitch`` script."""
    sys.exit(main())
