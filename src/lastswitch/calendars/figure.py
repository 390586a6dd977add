"""Schedules as pictures: a coloured cell per round, days in rows or columns."""

from __future__ import annotations

from datetime import date
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from lastswitch._utils.drawing import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    colour,
    house_style,
    legible,
    new_axes,
)
from lastswitch.calendars.sheet import HEADS, MONTHS, Sheet, Slot, sheet
from lastswitch.planning.reading import headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.calendars.schedule import Schedule

#: Axes narrower than this, in inches, have their days in rows: a phone's.
_NARROW = 5.0
#: Sizes of text in cells, in points, the largest that fits; how wide and high a letter is to it.
_SIZES, _CHARACTER, _LEADING = (9, 8, 7, 6), 0.66, 1.25
#: Letters below which a name in a cell says nothing, and the legend says it.
_LETTERS = 5
#: How much white is in the palette's colours when they come again, and what is drawn over them
#: when these have come again too.
_WHITE, _HATCHES = (0.0, 0.6), ("", "...", "///")
#: Names in the legend, before it sums up the rest.
_LEGEND = 24
_GAP = 0.04
#: Points of width from which a pin has room beside the name.
_ROOM_FOR_PIN = 24


class _Cell(NamedTuple):
    """Where a round is drawn, and which: None for one that is skipped."""

    column: int
    row: int
    number: int | None


class _Grid(NamedTuple):
    """The cells of a figure, and what is written along its sides."""

    columns: list[str]
    rows: list[str]
    cells: list[_Cell]


def draw(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Draw ``schedule`` into ``ax``, or into axes of a new figure, and return them.

    Days are weeks in rows, under their weekdays. Rounds shorter than a day have a column per day,
    or a row per day where axes are narrow. Skipped rounds are hatched, silent ones empty, and a
    dot marks a play that a rule pins there.

    Examples
    --------
    >>> import lastswitch as ls
    >>> plan = ls.plan_block(ls.instances.two_arms(), 14)
    >>> draw(plan.calendar(ls.Calendar("2024-06-03"))).get_ylabel()
    ''
    """
    laid = sheet(schedule)
    with house_style():
        ax = new_axes(ax, *_size(schedule, laid))
        grid = _weeks(laid) if schedule.calendar.daily else _hours(laid, _inches(ax)[0] < _NARROW)
        ax.set_xlim(0, len(grid.columns))
        ax.set_ylim(len(grid.rows), 0)
        _frame(ax, grid)
        looks, labels = _places(schedule), _labels(schedule, *_room(ax, grid))
        for cell in grid.cells:
            _draw_cell(ax, schedule, cell, looks, labels, _room(ax, grid)[0])
        _legend(ax, schedule, grid, looks if labels.cut else {})
        ax.set_title(_title(schedule, _inches(ax)[0]), fontsize=10)
    return ax


def _size(schedule: Schedule, laid: Sheet) -> tuple[float, float]:
    """Return the size of a new figure, in inches."""
    if schedule.calendar.daily:
        return 8.0, 1.2 + 0.6 * len(laid.weeks)
    days = len({day for day, _ in laid.cells})
    return min(max(6.0, 1.0 + 0.9 * days), 14.0), 1.2 + 0.28 * len(laid.slots)


def _inches(ax: Axes) -> tuple[float, float]:
    """Return how wide and high the axes are, in inches."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # axes always belong to one
    width, height = figure.get_size_inches()
    place = ax.get_position()
    return float(width * place.width), float(height * place.height)


def _room(ax: Axes, grid: _Grid) -> tuple[float, float]:
    """Return how wide and high a cell is, in points."""
    width, height = _inches(ax)
    inner = 72 * (1 - 2 * _GAP)
    return inner * width / len(grid.columns), inner * height / len(grid.rows)


def _weeks(laid: Sheet) -> _Grid:
    """Return days as weeks in rows."""
    slot = laid.slots[0]
    cells = [
        _Cell(place % 7, place // 7, laid.cells[day, slot])
        for place, day in enumerate(laid.days)
        if (day, slot) in laid.cells
    ]
    return _Grid(list(HEADS), [_day(week[0]) for week in laid.weeks], cells)


def _hours(laid: Sheet, narrow: bool) -> _Grid:
    """Return days beside times of day; in narrow axes days go down, in wide ones across."""
    shown = {day for day, _ in laid.cells}
    days = [day for day in laid.days if day in shown]
    place: dict[date | Slot, int] = {day: k for k, day in enumerate(days)}
    place.update({slot: k for k, slot in enumerate(laid.slots)})
    cells = [
        _Cell(place[slot if narrow else day], place[day if narrow else slot], number)
        for (day, slot), number in laid.cells.items()
    ]
    names = [f"{HEADS[day.weekday()]}{' ' if narrow else chr(10)}{_day(day)}" for day in days]
    clocks = [slot.clock for slot in laid.slots]
    return _Grid(clocks, names, cells) if narrow else _Grid(names, clocks, cells)


def _frame(ax: Axes, grid: _Grid) -> None:
    """Write weekdays, dates and times along the sides; no more of them than fit."""
    width, height = _room(ax, grid)
    longest = max(max(map(len, name.split("\n"))) for name in grid.columns)
    across = max(1, -(-int(8 * _CHARACTER * longest) // max(int(width), 1)))
    down = max(1, -(-10 // max(int(height), 1)))
    columns, rows = range(0, len(grid.columns), across), range(0, len(grid.rows), down)
    ax.set_xticks([k + 0.5 for k in columns], [grid.columns[k] for k in columns], fontsize=8)
    ax.set_yticks([k + 0.5 for k in rows], [grid.rows[k] for k in rows], fontsize=8)
    ax.tick_params(length=0, labelcolor=INK, top=False, bottom=False)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0, labelcolor=INK)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)


class _Labels(NamedTuple):
    """What is written into the cells: each arm's lines, how large, and whether any was cut."""

    lines: dict[int, list[str]]
    size: int
    cut: bool


def _labels(schedule: Schedule, width: float, height: float) -> _Labels:
    """Return the names in one size that fits all cells of so many points, cut if they must be."""
    most = max(len(schedule.arms(number)) for number in range(schedule.length))
    names = {play.arm: play.name for play in schedule.plays}
    for size in _SIZES:
        letters, rows = (
            int(width / (size * _CHARACTER)),
            int(height / max(most, 1) / size / _LEADING),
        )
        lines = {
            arm: wrap(name, max(letters, 1), break_long_words=False) or ["?"]
            for arm, name in names.items()
        }
        if all(len(w) <= rows and max(map(len, w)) <= letters for w in lines.values()):
            return _Labels(lines, size, cut=False)
    if letters < _LETTERS or rows < 1:
        return _Labels({}, size, cut=True)
    return _Labels({arm: _cut(w, letters, rows) for arm, w in lines.items()}, size, cut=True)


def _cut(lines: list[str], letters: int, rows: int) -> list[str]:
    """Return so many lines of so many letters; an ellipsis is where something is missing."""
    short = [line if len(line) <= letters else line[: letters - 1] + "…" for line in lines]
    if len(short) > rows:
        short = [*short[: rows - 1], short[rows - 1][: letters - 1].rstrip("…") + "…"]
    return short


def _draw_cell(
    ax: Axes,
    schedule: Schedule,
    cell: _Cell,
    looks: dict[int, int],
    labels: _Labels,
    width: float,
) -> None:
    """Draw one round."""
    if cell.number is None:
        ax.add_patch(_box(cell, 0, 1, facecolor="#F4F4F4", edgecolor=FAINT, hatch="////"))
        return
    arms = schedule.arms(cell.number)
    if not arms:
        ax.add_patch(_box(cell, 0, 1, facecolor="white", edgecolor=FAINT))
    for place, arm in enumerate(arms):
        ax.add_patch(_box(cell, place, len(arms), **_fill(looks[arm])))
        if arm in labels.lines:
            ax.text(
                *(cell.column + 0.5, cell.row + (place + 0.5) / len(arms)),
                "\n".join(map(legible, labels.lines[arm])),
                ha="center",
                va="center",
                fontsize=labels.size,
                color=_ink(looks[arm]),
                linespacing=1.05,
                clip_on=True,
            )
        if (cell.number, arm) in schedule.pinned:
            aside = 0.88 if width > _ROOM_FOR_PIN else 0.5
            ax.plot(cell.column + aside, cell.row + (place + 0.2) / len(arms), **_PIN)


_PIN: dict[str, Any] = {
    "marker": "o",
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
    "linestyle": "none",
}


def _box(cell: _Cell, place: int, places: int, **look: Any) -> Any:
    """Return the rectangle of the ``place``-th of so many plays of a round."""
    from matplotlib.patches import Rectangle

    corner = cell.column + _GAP, cell.row + _GAP + (1 - 2 * _GAP) * place / places
    return Rectangle(corner, 1 - 2 * _GAP, (1 - 2 * _GAP) / places, linewidth=0.6, **look)


def _places(schedule: Schedule) -> dict[int, int]:
    """Return the place of each arm in the palette: its own, or its rank among those played.

    A palette that is too short for all arms may still be long enough for those in the picture.
    """
    if len(schedule.plan.names) <= len(PALETTE):
        return {arm: arm for arm in range(len(schedule.plan.names))}
    return {arm: k for k, arm in enumerate(sorted({play.arm for play in schedule.plays}))}


def _fill(place: int) -> dict[str, Any]:
    """Return the look of an arm; a pattern tells apart those whose every shade is taken."""
    hatch = _HATCHES[place // (len(PALETTE) * len(_WHITE)) % len(_HATCHES)]
    return {"facecolor": _shade(place), "edgecolor": "white", "hatch": hatch}


def _shade(place: int) -> tuple[float, float, float]:
    """Return the colour at a place, lighter when the palette comes round again."""
    base, white = colour(place), _WHITE[place // len(PALETTE) % len(_WHITE)]
    red, green, blue = (white + (1 - white) * int(base[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def _ink(place: int) -> str:
    """Return black or white, whichever is easier to read on the colour at a place."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _shade(place)]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "white"


def _legend(ax: Axes, schedule: Schedule, grid: _Grid, looks: dict[int, int]) -> None:
    """Say under the axes what colours and signs mean, where the cells do not say it themselves."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Any, str]] = []
    played = [arm for arm in looks if any(play.arm == arm for play in schedule.plays)]
    for arm in played[:_LEGEND]:
        entries.append((Patch(**_fill(looks[arm])), legible(schedule.plan.names[arm], limit=28)))
    if len(played) > _LEGEND:
        entries.append((Patch(alpha=0), f"and {len(played) - _LEGEND:,} more"))
    numbers = [cell.number for cell in grid.cells]
    if None in numbers:
        entries.append((Patch(facecolor="#F4F4F4", edgecolor=MUTED, hatch="////"), "closed"))
    if any(number is not None and not schedule.arms(number) for number in numbers):
        entries.append((Patch(facecolor="white", edgecolor=MUTED), "silence"))
    if schedule.pinned:
        entries.append((Line2D([], [], **_PIN), "pinned by a rule"))
    if entries:
        longest = max(len(label) for _, label in entries)
        across = max(1, min(len(entries), int(72 * _inches(ax)[0] / (5 * longest + 30))))
        handles, labels = zip(*entries, strict=True)
        ax.legend(
            *(handles, labels),
            loc="upper left",
            bbox_to_anchor=(0.0, -0.02),
            ncols=across,
            fontsize=8,
            borderaxespad=0.2,
            handlelength=1.4,
            columnspacing=1.2,
        )


def _title(schedule: Schedule, width: float) -> str:
    """Return what the plan is worth, in lines that fit."""
    return "\n".join(wrap(headline(schedule.plan), max(int(72 * width / 6.0), 24)))


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"
