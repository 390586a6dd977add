"""Comparisons as figures: lines over the rounds, bands for what chance could have done.

Lines are named at their right end instead of in a legend, so that nobody matches colours by eye.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.checks import check_choice, check_list
from lastswitch._utils.drawing import INK, colour, house_style, legible, new_axes
from lastswitch._utils.intervals import t_interval
from lastswitch.errors import ExperimentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.experiments.comparison import Comparison

#: Room between two labels at the right edge, as a share of the axes' height.
_LABEL_GAP = 0.062
#: The thin line from a line's end to its label.
_LEADER = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 1, "shrinkB": 1, "relpos": (0, 0.5)}
#: Runs whose ends differ by more than this, relatively, are also drawn one by one.
_FAR_APART = 0.25
#: Averages over fewer rounds than this share of the horizon are noise; they are not drawn.
_WARM_UP = 0.02


class Line(NamedTuple):
    """One labelled line.

    Attributes
    ----------
    band
        How far its uncertainty reaches to either side.
    runs
        Single runs to draw faintly behind it, one per row.

    Examples
    --------
    >>> Line("flat", np.arange(3.0), np.ones(3), "#000000").label
    'flat'
    """

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    colour: str
    band: NDArray[np.float64] | None = None
    runs: NDArray[np.float64] | None = None
    dashes: str = "-"


@dataclass(frozen=True)
class _View:
    """What a figure shows of a comparison: one row per run, and the optimum's line."""

    title: str
    axis: str
    runs: Callable[[Comparison, str], NDArray[np.float64]]
    optimum: Callable[[Comparison], NDArray[np.float64] | None]


def _per_play(found: Comparison) -> NDArray[np.float64]:
    return np.asarray(found.rounds * found.subjects, dtype=float)


_VIEWS: Mapping[str, _View] = {
    "reward": _View(
        "Cumulative reward",
        "reward collected",
        lambda found, name: found.runs(name).collected,
        lambda found: found.optimum.curve,
    ),
    "regret": _View(
        "Regret",
        "reward lost against the optimum",
        lambda found, name: found.optimum.curve - found.runs(name).expected,
        lambda found: None,
    ),
    "average": _View(
        "Reward per round so far",
        "mean reward per round",
        lambda found, name: found.runs(name).collected / _per_play(found),
        lambda found: found.optimum.curve / _per_play(found),
    ),
}


def draw_comparison(
    found: Comparison,
    what: str = "reward",
    policies: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    colours: Mapping[str, str] | None = None,
    optimum: bool = True,
) -> Axes:
    """Draw one view of a comparison and return the axes; see :meth:`Comparison.plot`.

    ``colours`` by policy keep a policy's colour the same across figures; ``optimum=False``
    leaves the optimum's line out.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from matplotlib.figure import Figure
    >>> cycle = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1)}
    >>> found = ls.compare(ls.instances.two_arms(), cycle, 50, 2, n_jobs=1, progress=None)
    >>> ax = draw_comparison(found, "reward", ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['alternate', 'optimum']
    """
    check_choice("what", what, _VIEWS, ExperimentError)
    view = _VIEWS[what]
    names = list(found.policies) if policies is None else check_list("policies", policies, "names")
    chosen = colours or {name: colour(at) for at, name in enumerate(found.policies)}
    shown = found.rounds >= (_WARM_UP * found.horizon if what == "average" else 0)
    rounds = np.asarray(found.rounds[shown], dtype=float)
    lines = []
    for name in names:
        runs = view.runs(found, name)[:, shown]
        middle = t_interval(runs)
        faint = runs if _disagree(runs) else None
        lines.append(
            Line(legible(name), rounds, middle.mean, chosen.get(name, INK), middle.half, runs=faint)
        )
    best = view.optimum(found)
    if optimum and best is not None:
        label = "optimum" if found.optimum.optimal else "best schedule found"
        lines.append(Line(label, rounds, best[shown], INK, dashes="--"))
    with house_style():
        drawn = new_axes(ax, 7.2, 4.2)
        draw_lines(drawn, lines)
        drawn.set(title=view.title, xlabel="round", ylabel=view.axis)
    return drawn


def draw_lines(ax: Axes, lines: Sequence[Line]) -> None:
    """Draw lines with their bands, and name each at its right end.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> draw_lines(ax, [Line("flat", np.arange(3.0), np.ones(3), "#000000")])
    >>> [text.get_text() for text in ax.texts]
    ['flat']
    """
    from matplotlib.ticker import FuncFormatter

    for line in lines:
        ax.plot(line.x, line.y, line.dashes, color=line.colour, zorder=3)
        if line.runs is not None:
            ax.plot(line.x, line.runs.T, color=line.colour, lw=0.7, alpha=0.5, zorder=2.5)
        if line.band is not None and np.isfinite(line.band).all():
            low, high = line.y - line.band, line.y + line.band
            ax.fill_between(line.x, low, high, color=line.colour, alpha=0.18, linewidth=0, zorder=2)
    first, last = float(min(line.x[0] for line in lines)), float(max(line.x[-1] for line in lines))
    ax.set_xlim(min(first, 0.0), last)
    lowest = min(float(np.min(line.y)) for line in lines)
    if lowest >= 0:
        ax.set_ylim(bottom=0)
    if last >= 1000:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if max(float(np.max(line.y)) for line in lines) >= 1000:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    label_ends(ax, [(line.label, float(line.y[-1]), line.colour) for line in lines])


def _disagree(runs: NDArray[np.float64]) -> bool:
    """Tell whether runs end so far apart that their mean describes none of them."""
    ends = runs[:, -1]
    return len(ends) > 1 and bool(ends.std() > _FAR_APART * abs(ends.mean()))


def label_ends(ax: Axes, labels: Sequence[tuple[str, float, str]]) -> None:
    """Write each label beside the right edge at its height, moved apart where they would touch.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> label_ends(ax, [("low", 0.5, "#000000"), ("high", 0.5, "#000000")])
    >>> [round(float(text.get_position()[1]), 3) for text in ax.texts]
    [0.469, 0.531]
    """
    bottom, top = ax.get_ylim()
    heights = [(y - bottom) / (top - bottom) for _, y, _ in labels]
    for (text, _, paint), height, place in zip(labels, heights, spread(heights), strict=True):
        ax.annotate(
            legible(text, 40),
            xy=(1.0, height),
            xytext=(1.035, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=paint,
            va="center",
            fontsize=9.5,
            annotation_clip=False,
            arrowprops={**_LEADER, "color": paint},
        )


def spread(heights: Sequence[float], gap: float = _LABEL_GAP) -> list[float]:
    """Return places at least ``gap`` apart, in the same order and as near to ``heights`` as can be.

    Examples
    --------
    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], gap=0.1)]
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(heights)), key=lambda k: (heights[k], k))
    # Pool neighbours that touch into one group centred on the mean of what they asked for.
    groups: list[tuple[float, int]] = []
    for k in order:
        centre, size = heights[k], 1
        while groups and groups[-1][0] + (groups[-1][1] + size) * gap / 2 > centre + 1e-12:
            other, count = groups.pop()
            centre = (other * count + centre * size) / (count + size)
            size += count
        groups.append((centre, size))
    places = [centre + (at - (size - 1) / 2) * gap for centre, size in groups for at in range(size)]
    result = [0.0] * len(heights)
    for k, place in zip(order, places, strict=True):
        result[k] = place
    return result
