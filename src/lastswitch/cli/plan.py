"""``lastswitch plan``: a rotation calendar, and how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastswitch.cli._arguments import BanditArgument
from lastswitch.cli._dates import (
    NOTED,
    check_output,
    find_calendar,
    rounds_to_plan,
    with_dated_rules,
    written,
)

if TYPE_CHECKING:
    from lastswitch._utils.progress import Progress, Report
    from lastswitch.calendars import Schedule


def plan(
    bandit: BanditArgument,
    length: Annotated[int | None, typer.Option(help="Rounds to plan.", show_default=False)] = None,
    weeks: Annotated[
        int | None, typer.Option(help="Plan the rounds of so many weeks of the calendar.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Plan the rounds of so many days of the calendar.")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where the first round begins: a date (2024-06-03), a date and time, today, "
            "tomorrow, or a weekday (the next one, today included). Says what the [calendar] of "
            "the file leaves open; without one a round is a day.",
        ),
    ] = None,
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
    history: Annotated[
        str | None,
        typer.Option(
            help="Rounds before, the latest last: arms by name or number, separated by commas; "
            "nothing between two commas is a silent round, a + joins arms of one round."
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say of every rule whether it binds and what it costs."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    form: Annotated[
        str | None,
        typer.Option("--format", help="With dates: table, csv, json, ics or playlist."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the dated plan here; .csv, .json, .ics and .txt say how."),
    ] = None,
) -> None:
    """Print the best schedule for the coming rounds, what it pays, and how good it is."""
    from json import dumps

    from lastswitch.calendars import Schedule
    from lastswitch.errors import PlanError
    from lastswitch.logs.saving import find_fit
    from lastswitch.model.files import find_bandit
    from lastswitch.planning import plan_block, plan_cycle

    found, calendar = find_bandit(bandit), find_calendar(bandit, begin)
    form = check_output(calendar is not None, form, out)
    rounds, laid = rounds_to_plan(calendar, cycle=cycle, length=length, weeks=weeks, days=days)
    if calendar is not None and not cycle:
        found = with_dated_rules(found, calendar, rounds)
    with _progress() as progress:
        if cycle:
            if start != "initial" or solver != "certified" or history is not None:
                raise PlanError(
                    "a cycle makes its own start and has one solver; drop --start, --history and "
                    "--solver, or drop --cycle."
                )
            made = plan_cycle(found, rounds, gap=gap, time_limit=time_limit, progress=progress)
        else:
            made = plan_block(
                found,
                rounds,
                start=_start(start),
                history=None if history is None else _history(history),
                solver=solver,
                gap=gap,
                time_limit=time_limit,
                progress=progress,
            )
    from lastswitch.logs.report import plan_words

    words = plan_words(find_fit(bandit), made, bandit)  # nothing, unless fitted from a log
    if json:
        typer.echo(dumps(made.to_dict(), indent=2))
        _aside(words)
        return
    shown = made if calendar is None else made.calendar(calendar, laid)
    if isinstance(shown, Schedule) and (out is not None or form != "table"):
        _write(shown, form, out, Path(bandit).stem, words)
        return
    typer.echo(f"{shown}\n({made.solver}, {made.seconds:.3g} s)")
    if explain:
        typer.echo(f"\n{shown.explain(time_limit)}")
    if words:
        typer.echo(f"\n{words}")


def _write(schedule: Schedule, form: str, out: Path | None, name: str, words: str) -> None:
    """Write a dated plan to a file, or print it for another program."""
    from lastswitch._utils.atomic import write_atomic
    from lastswitch.planning.reading import headline

    if out is None:
        typer.echo(written(schedule, form, name, words), nl=False)
    else:
        write_atomic(out, written(schedule, form, out.stem, words))
        typer.echo(f"{headline(schedule.plan)}\nwrote {out}")
    if form not in NOTED:
        _aside(words)


def _aside(words: str) -> None:
    """Say on stderr what a log says of a plan, where the plan's own format has no place for it."""
    if words:
        typer.echo(words, err=True)


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


def _history(text: str) -> list[list[str | int]]:
    """Return the rounds that ``--history`` names."""
    rounds = [played.split("+") if played.strip() else [] for played in text.split(",")]
    return [[int(arm) if arm.strip().isdigit() else arm.strip() for arm in arms] for arms in rounds]


@contextmanager
def _progress() -> Iterator[Report]:
    """Give a progress function that, from one second on, keeps a line on stderr up to date."""
    from rich.console import Console

    status = Console(stderr=True).status("planning ...")
    shown = False

    def tell(now: Progress) -> None:
        nonlocal shown
        if now.seconds < 1.0:
            return
        if not shown:
            status.start()
            shown = True
        status.update(
            f"{now.seconds:.0f} s: worth {now.value:.5g}, at most {now.bound:.5g} possible "
            "(Ctrl-C keeps it)"
        )

    try:
        yield tell
    finally:
        if shown:
            status.stop()
