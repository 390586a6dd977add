"""``lastswitch show``: look at a bandit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastswitch.cli._arguments import BanditArgument

if TYPE_CHECKING:
    from rich.table import Table

    from lastswitch.model.bandit import Bandit
    from lastswitch.model.curves import Curve


#: Characters a name may take, and a value with the space beside it.
_NAME_WIDTH, _CELL_WIDTH = 24, 7


def show(
    bandit: BanditArgument,
    figure: Annotated[
        Path | None,
        typer.Option(help="Also draw the curves and the states here (.png, .svg or .pdf)."),
    ] = None,
) -> None:
    """Print the curves of a bandit as a table, and draw them if asked to."""
    from rich.console import Console

    from lastswitch._utils.drawing import check_figure_path, save_figure
    from lastswitch.model.figures import draw_bandit
    from lastswitch.model.files import find_bandit

    found = find_bandit(bandit)
    if figure is not None:
        check_figure_path(figure)
    console = Console()
    console.print(_table(found, console.width))
    console.print(_summary(found), highlight=False)
    if figure is not None:
        save_figure(draw_bandit(found), figure.with_suffix(""), [figure.suffix[1:]])
        console.print(f"Drawn in {figure}", highlight=False, markup=False)


def _table(bandit: Bandit, width: int) -> Table:
    """Lay out one row per arm and one column per state, as many as ``width`` characters hold."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    streak, rest = _fit(bandit, width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("arm", no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    longer = max(curve.support().streak for curve in bandit.curves) > streak
    if longer:
        table.add_column("…")
    taus = [*range(-streak, 0), *range(1, rest + 1)]
    for tau in taus:
        if tau == 1:
            table.add_column("│")
        table.add_column(f"{tau}".replace("-", "−"), justify="right", no_wrap=True)
    table.add_column("then")
    for name, curve in zip(bandit.names, bandit.curves, strict=True):
        cells = [_cell(curve, tau) for tau in taus]
        cells.insert(streak, "│")
        before = [_more(curve.support().streak > streak)] if longer else []
        table.add_row(escape(name), *before, *cells, _tail(curve, rest))
    return table


def _fit(bandit: Bandit, width: int) -> tuple[int, int]:
    """Return how many streak and rest states to show."""
    supports = [curve.support() for curve in bandit.curves]
    streak, rest = max(s.streak for s in supports), max(s.rest for s in supports)
    names = min(max(map(len, bandit.names)), _NAME_WIDTH)
    room = max((width - names - 16) // _CELL_WIDTH, 2)
    streak = min(streak, max(room // 3, room - rest, 1))
    return streak, min(rest, room - streak)


def _cell(curve: Curve, tau: int) -> str:
    """Return one value, dim where it only repeats what the curve has said already."""
    support = curve.support()
    said = tau <= support.rest if tau > 0 else -tau <= support.streak
    text = f"{curve(tau):.3f}".rstrip("0").rstrip(".")
    return text if said else f"[dim]{text}[/dim]"


def _more(hidden: bool) -> str:
    return "…" if hidden else ""


def _tail(curve: Curve, shown: int) -> str:
    if curve.support().rest > shown:
        return "…"
    return "repeats" if curve.tail == "repeat" and curve.support().rest > 1 else "holds"


def _summary(bandit: Bandit) -> str:
    noise = f"{bandit.noise} rewards"
    if bandit.noise == "gaussian":
        noise += f" (sigma {bandit.sigma:g})"
    starts = sorted(set(bandit.initial))
    start = f"τ = {starts[0]}" if len(starts) == 1 else f"τ = {list(bandit.initial)}"
    return (
        f"{bandit.n_arms} arms, {noise}, starting at {start}.".replace("-", "−")
        + "\nColumns: −r pays after r plays in a row, r after r rounds of rest."
    )
