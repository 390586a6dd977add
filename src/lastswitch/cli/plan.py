"""``lastswitch plan``: a rotation calendar, and how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lastswitch.cli._arguments import BanditArgument

if TYPE_CHECKING:
    from lastswitch.planning.plan import Plan, Progress


def plan(
    bandit: BanditArgument,
    length: Annotated[int, typer.Option(help="Rounds to plan.", show_default=False)],
    cycle: Annotated[
        bool, typer.Option("--cycle", help="Plan a cycle, to be repeated for ever.")
    ] = False,
    start: Annotated[
        str,
        typer.Option(
            help="Where the arms stand: 'initial' (as the bandit says), 'unknown' (an arm's first "
            "play counts for nothing), or one state per arm, such as 1,-2,4."
        ),
    ] = "initial",
    solver: Annotated[
        str, typer.Option(help="certified, ilp, relaxation or brute-force.")
    ] = "certified",
    gap: Annotated[
        float, typer.Option(help="Stop within this share of the best possible, such as 0.01.")
    ] = 0.0,
    time_limit: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the best schedule for the coming rounds, what it pays, and how good it is."""
    from json import dumps

    from lastswitch.errors import PlanError
    from lastswitch.files import find_bandit
    from lastswitch.logs.saving import find_fit
    from lastswitch.planning import plan_block, plan_cycle

    found = find_bandit(bandit)
    with _progress() as progress:
        if cycle:
            if start != "initial" or solver != "certified":
                raise PlanError(
                    "a cycle makes its own start and has one solver; drop --start and "
                    "--solver, or drop --cycle."
                )
            made = plan_cycle(found, length, gap=gap, time_limit=time_limit, progress=progress)
        else:
            made = plan_block(
                found,
                length,
                start=_start(start),
                solver=solver,
                gap=gap,
                time_limit=time_limit,
                progress=progress,
            )
    if json:
        typer.echo(dumps(made.to_dict(), indent=2))
        return
    typer.echo(_text(made))
    from lastswitch.logs.voice import plan_words

    if words := plan_words(find_fit(bandit), made, bandit):  # curves fitted from a log
        typer.echo(f"\n{words}")


def _text(made: Plan) -> str:
    """Return the calendar and how it was found."""
    return f"{made}\n({made.solver}, {made.seconds:.3g} s)"


def _start(text: str) -> str | list[int]:
    """Return what ``--start`` means: the word itself, or a state per arm."""
    from lastswitch.errors import StateError

    if text in ("initial", "unknown"):
        return text
    try:
        return [int(tau) for tau in text.split(",")]
    except ValueError:
        raise StateError(
            f"--start must be 'initial', 'unknown' or one whole number per arm separated by "
            f"commas, got {text!r}."
        ) from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """Give a progress function that, from one second on, keeps a line on stderr up to date."""
    from rich.console import Console

    status = Console(stderr=True).status("planning ...")
    shown = False

    def tell(seconds: float, value: float, bound: float) -> None:
        nonlocal shown
        if seconds < 1.0:
            return
        if not shown:
            status.start()
            shown = True
        status.update(
            f"{seconds:.0f} s: worth {value:.5g}, at most {bound:.5g} possible (Ctrl-C keeps it)"
        )

    try:
        yield tell
    finally:
        if shown:
            status.stop()
