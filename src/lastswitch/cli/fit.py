"""``lastswitch fit``: from an event log to curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from lastswitch.logs import CurveFit

#: Arms printed at most; the table of states and the page have all.
MOST_PRINTED = 12


def fit(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="CSV, Parquet or JSON-lines files, a folder, or a quoted pattern.",
            show_default=False,
        ),
    ],
    subject: Annotated[str, typer.Option(help="The column that says who.")] = "subject",
    no_subject: Annotated[
        bool, typer.Option("--no-subject", help="The whole log is one subject's.")
    ] = False,
    time: Annotated[str, typer.Option(help="The column that says when.")] = "time",
    arm: Annotated[str, typer.Option(help="The column that says what was played.")] = "arm",
    reward: Annotated[str, typer.Option(help="The column that says what it paid.")] = "reward",
    every: Annotated[
        str | None,
        typer.Option(
            help="A round is this long (1d, 12h, 1w; a number for numbered times), and one "
            "without events is one of rest. Without it, each subject's events are its rounds."
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(help="On whose clock days are cut, such as America/Lima; UTC without it."),
    ] = None,
    day_starts: Annotated[
        str, typer.Option(help="When a day begins on that clock, such as 04:00.")
    ] = "00:00",
    skip: Annotated[
        str | None,
        typer.Option(help="Rounds that do not exist and are no rests: sat-sun, 22:00-06:00, ..."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|SEED",
            help="What orders events of one subject at one time: a column, or a whole number to "
            "draw a random order by.",
        ),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(help="How times are written: '%d/%m/%Y %H:%M', unix, unix_ms."),
    ] = None,
    decimal: Annotated[str, typer.Option(help="The decimal mark of rewards: . or ,")] = ".",
    reward_words: Annotated[
        str | None, typer.Option(help="Words that stand for rewards, such as yes=1,no=0.")
    ] = None,
    together: Annotated[
        str, typer.Option(help="What events in one round pay together: mean or max.")
    ] = "mean",
    scale: Annotated[
        str, typer.Option(help="How rewards come to [0, 1]: none, clip or minmax.")
    ] = "none",
    copies: Annotated[
        str, typer.Option(help="Rows equal in every column: keep or drop them.")
    ] = "keep",
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a log with bad rows.")] = False,
    backend: Annotated[str, typer.Option(help="duckdb or spark.")] = "duckdb",
    smooth: Annotated[
        float | None, typer.Option(help="Smooth rest curves over this many rounds.")
    ] = None,
    min_events: Annotated[
        int, typer.Option(help="States with fewer events are pooled, or unknown.")
    ] = 30,
    min_subjects: Annotated[
        int, typer.Option(help="States seen by fewer subjects are unknown.")
    ] = 5,
    max_rest: Annotated[int, typer.Option(help="Longer rests are counted with this one.")] = 60,
    max_streak: Annotated[int, typer.Option(help="Longer streaks likewise.")] = 20,
    memory: Annotated[str, typer.Option(help="What DuckDB may hold before it spills.")] = "3GB",
    out: Annotated[
        Path, typer.Option(help="The bandit's file; a page, a table and figures go beside it.")
    ] = Path("fitted.toml"),
) -> None:
    """Fit rest and streak curves to a log of events, and say whether things wear out."""
    import warnings

    from rich.console import Console

    from lastswitch.errors import LastSwitchWarning
    from lastswitch.logs import fit_curves
    from lastswitch.logs.outputs import check_target, write_outputs

    check_target(out, log)
    console = Console(highlight=False)
    with warnings.catch_warnings(), console.status("reading the log"):
        warnings.simplefilter("ignore", LastSwitchWarning)  # the notices are printed below
        found = fit_curves(
            log[0] if len(log) == 1 else log,
            subject=None if no_subject else subject,
            time=time,
            arm=arm,
            reward=reward,
            every=_number(every),
            zone=zone,
            day_starts=day_starts,
            skip=skip,
            order=int(order) if order is not None and order.isdecimal() else order,
            time_format=time_format,
            decimal=decimal,
            reward_words=_words(reward_words),
            together=together,  # type: ignore[arg-type]
            scale=scale,  # type: ignore[arg-type]
            copies=copies,  # type: ignore[arg-type]
            strict=strict,
            backend=backend,
            smooth=smooth,
            min_events=min_events,
            min_subjects=min_subjects,
            max_rest=max_rest,
            max_streak=max_streak,
            memory=memory,
        )
    with console.status("writing"):
        written = write_outputs(found, out)
    _print(console, found, out)
    for path in written[:4]:
        console.print(f"wrote {path}", markup=False)
    console.print(f"wrote {len(written) - 4} figures in {written[-1].parent}", markup=False)
    console.print(f"next: lastswitch plan {out} --length 28 --cycle", markup=False)


def _number(every: str | None) -> str | float | None:
    try:
        return None if every is None else float(every)
    except ValueError:
        return every


def _words(text: str | None) -> dict[str, float] | None:
    """Return what ``yes=1,no=0`` means."""
    from lastswitch.errors import LogError

    if text is None:
        return None
    try:
        pairs = (part.split("=") for part in text.split(","))
        return {word.strip(): float(value) for word, value in pairs}
    except ValueError:
        raise LogError(
            f"--reward-words must be words and numbers such as yes=1,no=0, got {text!r}."
        ) from None


def _print(console: Console, fit: CurveFit, out: Path) -> None:
    from rich.markup import escape
    from rich.table import Table

    from lastswitch._utils.listing import counted
    from lastswitch.logs import CAUTION

    summary = fit.summary
    console.print(
        f"{counted(summary.rows, 'row')}: {counted(summary.plays, 'play')} by "
        f"{counted(summary.subjects, 'subject')}, "
        f"{summary.merged:,} joined, {summary.left_out:,} left out; "
        f"mean reward {fit.log_mean:.4f}"
    )
    for notice in summary.notices:
        console.print(notice, style="yellow", markup=False)
    table = Table("arm", "events", "long rest", "2nd in a row", "wears out", "recovers", "period")
    order = sorted(range(len(fit.arms)), key=lambda arm: -fit.arms[arm].events)
    for number in sorted(order[:MOST_PRINTED]):
        arm, findings = fit.arms[number], fit.findings[number]
        answers = [str(found.period or found.answer) for found in findings]
        rested = next((state for state in reversed(arm.rest) if state.known), None)
        repeated = arm.streak[0] if arm.streak and arm.streak[0].known else None
        shown = (
            "unknown" if state is None else f"{state.value:.3f}" for state in (rested, repeated)
        )
        table.add_row(escape(arm.name), f"{arm.events:,}", *shown, *answers)
    console.print(table)
    if len(fit.arms) > MOST_PRINTED:
        rest = len(fit.arms) - MOST_PRINTED
        states = out.with_suffix(".states.csv")
        console.print(f"and {rest:,} more arms, played less: all are in {states}", markup=False)
    console.print(CAUTION, style="dim")
