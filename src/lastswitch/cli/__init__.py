"""The command line: parse, call the library, print.

Each command is a function in a module of its own; this one only gathers them and turns errors the
user can mend into one line and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from lastswitch._utils.ascii import print_anywhere
from lastswitch._utils.spelling import spelled_as
from lastswitch.cli.check import check
from lastswitch.cli.cohort import cohort
from lastswitch.cli.compare import compare
from lastswitch.cli.fit import fit
from lastswitch.cli.new import new
from lastswitch.cli.optimum import optimum
from lastswitch.cli.plan import plan
from lastswitch.cli.replay import replay
from lastswitch.cli.reproduce import reproduce
from lastswitch.cli.serve import serve
from lastswitch.cli.show import show
from lastswitch.cli.warm_up import warm_up
from lastswitch.errors import LastSwitchError

#: What a shell expects of a command ended by Ctrl-C.
INTERRUPTED = 130

app = typer.Typer(
    name="lastswitch",
    help="Plan and learn schedules for actions that wear out when repeated and recover with rest.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(new, check, show, plan, optimum, compare, reproduce, fit, cohort, serve, replay),
    warm_up,
):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lastswitch {version('lastswitch')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which release."
        ),
    ] = False,
) -> None:
    """Let errors and notices speak of the options of the command that runs."""
    commands: dict[str, Any] = context.command.commands  # type: ignore[attr-defined]
    chosen = commands.get(context.invoked_subcommand or "")
    if chosen is not None:
        named = {parameter.name: parameter.opts[0] for parameter in chosen.params}
        told = {name: option for name, option in named.items() if option.startswith("--")}
        context.with_resource(spelled_as(told))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on ``argv`` (the process's own by default); return the exit code."""
    print_anywhere()
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        ended = app(args=given or ["--help"], prog_name="lastswitch", standalone_mode=False)
    except LastSwitchError as error:
        return _fail(str(error))
    except typer.TyperException as error:  # an option that is not there, a number that is none
        context = getattr(error, "ctx", None)
        command = "lastswitch" if context is None else context.command_path
        words = error.format_message().rstrip(".")
        return _fail(f"{words}{'' if words.endswith('?') else '.'} See {command} --help.")
    except SystemExit as end:  # whoever read our output has seen enough and closed the pipe
        return end.code if isinstance(end.code, int) else 1
    if ended == INTERRUPTED:
        return _fail("interrupted.", INTERRUPTED)
    return ended if isinstance(ended, int) else 0


def _fail(message: str, code: int = 2) -> int:
    """Say in one line what went wrong."""
    typer.echo(f"lastswitch: {' '.join(message.split())}", err=True)
    return code


def entry() -> None:
    """Serve the installed ``lastswitch`` script."""
    sys.exit(main())
