"""``lastswitch fit``: from an event log to curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from lastswitch.logs import CurveFit


def fit(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="CSV or Parquet files, a folder, or a quoted pattern.",
            show_default=False,
        ),
    ],
    subject: Annotated[str, typer.Option(help="The column that says who.")] = "subject",
    time: Annotated[str, typer.Option(help="The column that says when.")] = "time",
    arm: Annotated[str, typer.Option(help="The column that says what was played.")] = "arm",
    reward: Annotated[str, typer.Option(help="The column that says what it paid.")] = "reward",
    every: Annotated[
        str | None,
        typer.Option(
            help="A round is this long (1d, 12h, 1w; a number for numbered times), and one "
            "without events is one of rest; days are cut at midnight UTC, or the log's own "
            "midnight if its times carry no zone. Without it, each subject's events are its rounds."
        ),
    ] = None,
    together: Annotated[
        str, typer.Option(help="What events in one round pay together: mean or max.")
    ] = "mean",
    scale: Annotated[
        str, typer.Option(help="How rewards come to [0, 1]: none, clip or minmax.")
    ] = "none",
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a log with bad rows.")] = False,
    backend: Annotated[str, typer.Option(help="duckdb or spark.")] = "duckdb",
    smooth: Annotated[
        float | None, typer.Option(help="Smooth rest curves over this many rounds.")
    ] = None,
    min_events: Annotated[
        int, typer.Option(help="States with fewer events are pooled with their neighbours.")
    ] = 30,
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
        warnings.simplefilter("ignore", LastSwitchWarning)  # the same notices are printed below
        found = fit_curves(
            log[0] if len(log) == 1 else log,
            subject=subject,
            time=time,
            arm=arm,
            reward=reward,
            every=_number(every),
            together=together,  # type: ignore[arg-type]
            scale=scale,  # type: ignore[arg-type]
            strict=strict,
            backend=backend,
            smooth=smooth,
            min_events=min_events,
            max_rest=max_rest,
            max_streak=max_streak,
            memory=memory,
        )
    with console.status("writing"):
        written = write_outputs(found, out)
    _print(console, found)
    for path in written[:4]:
        console.print(f"wrote {path}", markup=False)
    console.print(f"wrote {len(written) - 4} figures in {written[-1].parent}", markup=False)
    console.print(f"next: lastswitch plan {out} --length 28 --cycle", markup=False)


def _number(every: str | None) -> str | float | None:
    try:
        return None if every is None else float(every)
    except ValueError:
        return every


def _print(console: Console, fit: CurveFit) -> None:
    from rich.markup import escape
    from rich.table import Table

    from lastswitch.logs import CAUTION

    summary = fit.summary
    console.print(
        f"{summary.plays:,} plays by {summary.subjects:,} subjects; mean reward {fit.log_mean:.4f}"
    )
    for notice in summary.notices:
        console.print(f"left out: {notice}", style="yellow", markup=False)
    table = Table("arm", "events", "long rest", "2nd in a row", "wears out", "recovers", "period")
    for arm, findings in zip(fit.arms, fit.findings, strict=True):
        answers = [str(found.period or found.answer) for found in findings]
        rested, repeated = f"{arm.curve.rest[-1]:.3f}", f"{arm.curve(-1):.3f}"
        table.add_row(escape(arm.name), f"{arm.events:,}", rested, repeated, *answers)
    console.print(table)
    console.print(CAUTION, style="dim")
