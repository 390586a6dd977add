"""``lastswitch check``: what is odd about a file, before anything is planned."""

from __future__ import annotations

from typing import Annotated

import typer

from lastswitch.cli._arguments import BanditArgument
from lastswitch.cli._dates import find_calendar, rounds_to_plan

#: Rounds looked at where nothing says how many: four weeks of days.
_ROUNDS, _WEEKS = 28, 4


def check(
    bandit: BanditArgument,
    length: Annotated[
        int | None, typer.Option(help="Rounds to look at; four weeks if not given.")
    ] = None,
    weeks: Annotated[int | None, typer.Option(help="Look at so many weeks.")] = None,
    days: Annotated[int | None, typer.Option(help="Look at so many days.")] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="Where the first round begins, as in plan.")
    ] = None,
) -> None:
    """Say what is odd about a file; exit code 1 if anything is, 2 if it cannot be planned."""
    from lastswitch.calendars.odd import oddities
    from lastswitch.model.files import find_bandit

    found, calendar = find_bandit(bandit), find_calendar(bandit, begin)
    if length is weeks is days is None:
        weeks, length = (None, _ROUNDS) if calendar is None else (_WEEKS, None)
    rounds, _ = rounds_to_plan(calendar, cycle=False, length=length, weeks=weeks, days=days)
    odd = oddities(found, rounds, calendar)
    what = f"{found.n_arms} arms, {len(found.rules)} rules, {rounds} rounds"
    if calendar is not None:
        what += f" from {calendar.say(0)} to {calendar.say(rounds - 1)}"
    typer.echo(f"{what}: {'nothing odd.' if not odd else ''}".rstrip())
    for sentence in odd:
        typer.echo(f"- {sentence}")
    if odd:
        raise typer.Exit(1)
