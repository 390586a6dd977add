"""``lastswitch cohort``: a calendar for every subject."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastswitch.cli._arguments import BanditArgument
from lastswitch.cli._dates import day_of_words, rounds_to_plan

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.logs.saving import FoundFit


def cohort(
    bandit: BanditArgument,
    out: Annotated[
        Path,
        typer.Option(
            help="Where to write: a .parquet or .csv file, or a folder with --format ics.",
            show_default=False,
        ),
    ],
    log: Annotated[
        list[str] | None,
        typer.Option(help="The log of events (CSV, Parquet, a folder, a pattern); repeatable."),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(
            help="Instead of a log: a table of states, with one column per arm or with the "
            "columns subject, arm and tau; or of recent plays (subject, arm, round or time)."
        ),
    ] = None,
    length: Annotated[int | None, typer.Option(help="Rounds to plan.", show_default=False)] = None,
    weeks: Annotated[int | None, typer.Option(help="Plan the rounds of so many weeks.")] = None,
    days: Annotated[int | None, typer.Option(help="Plan the rounds of so many days.")] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where the first round begins: a date, a date and time, today, tomorrow or a "
            "weekday. Events from then on are not looked at. Without it, the round after the "
            "log's last comes next, and there are no dates.",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="What all subjects together may play: 'everyone: 1000 per round', "
            "'jazz: 500 in all', 'jazz+talk: 200 per round on sat-sun'; repeatable."
        ),
    ] = None,
    plays: Annotated[
        str | None,
        typer.Option(help="Arms a round plays: 1, or 0-1 for one or none; the bandit's without."),
    ] = None,
    silence: Annotated[
        float | None, typer.Option(help="What an empty place pays; the bandit's without it.")
    ] = None,
    subjects: Annotated[
        str | None,
        typer.Option(
            help="A table of who is planned, those without any event included; everyone in the "
            "log or the states without it."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="The column that says how much a subject's value counts."),
    ] = None,
    subject: Annotated[str, typer.Option(help="The column that says who.")] = "subject",
    time: Annotated[str, typer.Option(help="The column that says when.")] = "time",
    arm: Annotated[str, typer.Option(help="The column that says what was played.")] = "arm",
    every: Annotated[
        str | None,
        typer.Option(help="How long a round is (1d, 12h, 1w); as the bandit was fitted without."),
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="On whose clock days are cut; as fitted without it.")
    ] = None,
    day_starts: Annotated[
        str | None, typer.Option(help="When a day begins, such as 04:00; as fitted without it.")
    ] = None,
    skip: Annotated[
        str | None, typer.Option(help="Rounds that do not exist; as fitted without it.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="What orders events of one time: a column or a seed.")
    ] = None,
    time_format: Annotated[str | None, typer.Option(help="How times are written.")] = None,
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Leave out arms the bandit does not have.")
    ] = False,
    gap: Annotated[float, typer.Option(help="Stop within this share of the best possible.")] = 1e-3,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for finding prices.")] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="parquet, csv, or ics: a folder with a feed per subject."),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="processes (of this machine), ray, dask or spark.")
    ] = "processes",
    jobs: Annotated[int | None, typer.Option(help="Workers; all cores without it.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the summary here, as one HTML page.")
    ] = None,
) -> None:
    """Write the coming rounds of every subject, within budgets that all of them share."""
    from lastswitch.cohorts import plan_cohort
    from lastswitch.errors import CohortError, FileError
    from lastswitch.logs.saving import find_fit
    from lastswitch.model.files import find_bandit

    if (log is None) == (states is None):
        raise CohortError("say where subjects stand with either --log or --states.")
    if page is not None and not page.parent.is_dir():
        raise FileError(f"cannot write {page}: the folder {page.parent} does not exist.")
    found, fit = find_bandit(bandit), find_fit(bandit)
    given = {"every": every, "zone": zone, "day_starts": day_starts, "skip": skip}
    clock = _clock(bandit, fit, {name: value for name, value in given.items() if value is not None})
    calendar = _calendar(clock, begin)
    rounds, _ = rounds_to_plan(calendar, cycle=False, length=length, weeks=weeks, days=days)
    stand: Any = states
    if log is not None:
        stand = _event_log(log, clock, calendar, (subject, time, arm), order, time_format)
    made = plan_cohort(
        found,
        stand,
        rounds,
        plays=None if plays is None else _plays(plays),
        silence=silence,
        budget=budget,
        calendar=calendar,
        subjects=subjects,
        subject=subject,
        weight=weight,
        drop_unknown=drop_unknown,
        habit=None if fit.fit is None else fit.fit.log_mean,
        gap=gap,
        time_limit=time_limit,
        backend=backend,  # type: ignore[arg-type]
        n_jobs=jobs,
        out=out,
        form=form,  # type: ignore[arg-type]
        progress=True,
    )
    typer.echo(f"{made}\n({made.seconds:.3g} s)")
    for notice in made.notices:
        typer.echo(notice, err=True)
    typer.echo(f"wrote {out}")
    if page is not None:
        made.page(page, title=Path(bandit).stem)
        typer.echo(f"wrote {page}")


def _clock(bandit: str, fit: FoundFit, given: dict[str, Any]) -> dict[str, Any]:
    """Return how rounds are cut: as the options say, else as the file does, else as the fit was."""
    from lastswitch.model.files import calendar_table

    clock: dict[str, Any] = {}
    if fit.fit is not None:
        summary = fit.fit.summary
        clock = {"every": summary.every, "zone": summary.zone, "day_starts": summary.day_starts}
        clock["skip"] = summary.skip or None
    if Path(bandit).suffix in (".toml", ".json"):
        clock |= calendar_table(bandit) or {}
    return clock | given


def _calendar(clock: dict[str, Any], begin: str | None) -> Calendar | None:
    """Return the calendar of the coming rounds; None where nothing says when they begin."""
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.errors import CalendarError

    table = {name: value for name, value in clock.items() if value is not None}
    if begin is not None:
        table["start"] = day_of_words(begin, table.get("zone"))
    if "start" not in table:
        return None
    every = clock.get("every", "1d")
    if not isinstance(every, str):
        told = "each event was a round" if every is None else f"a round was {every:g} of its times"
        raise CalendarError(
            f"--from needs rounds on the clock, and where the bandit was fitted {told}; say "
            "--every 1d, or leave --from out."
        )
    return Calendar.from_dict(table)


def _event_log(
    log: list[str],
    clock: dict[str, Any],
    calendar: Calendar | None,
    columns: tuple[str, str, str],
    order: str | None,
    time_format: str | None,
) -> Any:
    """Return the log and how it is read; with dates, the calendar cuts it."""
    from lastswitch.logs import EventLog

    subject, time, arm = columns
    cut = {name: value for name, value in clock.items() if value is not None and name != "start"}
    return EventLog(
        log[0] if len(log) == 1 else log,
        subject=subject,
        time=time,
        arm=arm,
        order=int(order) if order is not None and order.isdecimal() else order,
        time_format=time_format,
        **(cut if calendar is None else {}),
    )


def _plays(text: str) -> tuple[int, int]:
    """Return how many arms a round plays, as a range.

    Examples
    --------
    >>> _plays("0-1"), _plays("2")
    ((0, 1), (2, 2))
    """
    from lastswitch.errors import PlanError

    least, _, most = text.partition("-")
    if not (least.isdecimal() and (most or least).isdecimal()):
        raise PlanError(
            f"--plays must be a number such as 1, or a range such as 0-1, got {text!r}."
        )
    return int(least), int(most or least)
