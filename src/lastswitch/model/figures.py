"""Pictures of the model: curves and the transition diagram.

Every curve is drawn with rest to the right of zero and streak to the left. Matplotlib loads on use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.checks import check_bandit
from lastswitch._utils.drawing import (
    FAINT,
    INK,
    PALETTE,
    colour,
    house_style,
    legible,
    new_axes,
    new_figure,
)
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import Curve
from lastswitch.model.states import moved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Distinct curves a legend names before it sums up the rest.
_LEGEND_LIMIT = 10
#: Characters of a name in a legend, and the width of one in inches.
_LABEL_LIMIT, _CHARACTER = 40, 0.078
#: Longest rest and streak drawn; deeper tables run off the edge.
_WIDEST = 60
_MARKERS = "osD^vPX"
_PLAYED, _RESTED = PALETTE[1], PALETTE[0]
#: Diameter of a state in the diagram, in points, and what its arrows have in common.
_NODE = 27
_ARROW: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 11, "lw": 1.4, "zorder": 3}


def draw_curves(bandit: Bandit, ax: Axes | None = None) -> Axes:
    """Draw what every arm of ``bandit`` pays in every state, and return the axes.

    Arms with equal curves share one line. A dotted end means that the last value holds for ever.

    Examples
    --------
    >>> from lastswitch.model.instances import five_arms
    >>> [text.get_text() for text in draw_curves(five_arms()).get_legend().get_texts()]
    ['arm 0', 'arm 1', 'arm 2, arm 3, arm 4']
    """
    check_bandit("draw_curves", bandit)
    with house_style():
        ax = new_axes(ax, 7.2, 3.6)
        shared: dict[Curve, list[int]] = {}
        for arm, curve in enumerate(bandit.curves):
            shared.setdefault(curve, []).append(arm)
        left, right = _extent(list(shared))
        for order, (curve, arms) in enumerate(shared.items()):
            label = _label([bandit.names[arm] for arm in arms]) if order < _LEGEND_LIMIT else None
            _draw_curve(ax, curve, arms[0], left, right, label)
        if len(shared) > _LEGEND_LIMIT:
            ax.plot([], [], " ", label=f"and {len(shared) - _LEGEND_LIMIT} more")
        _dress(ax, left, right)
    return ax


def _extent(curves: Sequence[Curve]) -> tuple[int, int]:
    """Return how far to draw on the streak side and on the rest side."""
    supports = [curve.support() for curve in curves]
    seasons = [s.rest for c, s in zip(curves, supports, strict=True) if c.tail == "repeat"]
    right = max([support.rest + 2 for support in supports] + [2 * season for season in seasons])
    left = max(support.streak for support in supports) + 2
    return min(left, _WIDEST), min(right, _WIDEST)


def _draw_curve(ax: Axes, curve: Curve, arm: int, left: int, right: int, label: str | None) -> None:
    """Draw one curve: points at the states that differ, a dotted line where the last one holds."""
    tint, marker = colour(arm), _MARKERS[(arm // len(PALETTE) + arm) % len(_MARKERS)]
    support = curve.support()
    seasonal = curve.tail == "repeat"
    for sign, edge, states in ((-1, left, support.streak), (1, right, support.rest)):
        endless = sign > 0 and seasonal
        taus = sign * np.arange(1, (edge if endless else min(states, edge)) + 1)
        named = label if sign > 0 else None
        ax.plot(taus, curve(taus), marker, ms=4.5, color=tint, zorder=3, label=named)
        beyond = np.append(taus, edge + 1) if endless else taus  # the next state is out of sight
        ax.plot(beyond, curve(beyond), "-", color=tint, alpha=0.45, zorder=2)
        if not endless:
            end = curve(int(taus[-1]))
            ax.plot([taus[-1], sign * (edge + 0.5)], [end, end], ":", color=tint, lw=1.3, zorder=1)


def _dress(ax: Axes, left: int, right: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.axvspan(-0.5, 0.5, color=FAINT, alpha=0.6, lw=0, zorder=0)  # no state between -1 and 1
    ax.set_xlim(-left - 0.5, right + 0.5)
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=14))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x:.0f}".replace("-", "−") if abs(x) >= 1 else "")
    )
    ax.set_xlabel("rounds of rest, τ > 0 →", loc="right")
    ax.annotate(
        "← plays in a row, τ < 0",
        (0, 0),
        xycoords=(ax.transAxes, ax.xaxis.label),
        ha="left",
        va="bottom",
        color=INK,
    )
    ax.set_ylabel("mean reward")
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=_legend_columns(ax),
        borderaxespad=0.2,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.4,
    )


def _legend_columns(ax: Axes) -> int:
    """Return how many names fit side by side above the axes."""
    longest = max(len(str(label)) for label in ax.get_legend_handles_labels()[1])
    figure = ax.get_figure(root=True)
    inches = ax.get_position().width * (figure.get_figwidth() if figure else 7)
    return min(max(int(inches / _CHARACTER) // (longest + 5), 1), 5)


def _label(names: list[str]) -> str:
    """Return what a legend calls arms of one curve; one entry that fits, ready to draw."""
    text = legible(", ".join(names))
    if len(text) > _LABEL_LIMIT and len(names) > 1:
        text = f"{legible(names[0], _LABEL_LIMIT - 13)} and {len(names) - 1} alike"
    elif len(text) > _LABEL_LIMIT:
        text = legible(names[0], _LABEL_LIMIT)
    # A label that begins with an underscore is one Matplotlib leaves out.
    return f" {text}" if text.startswith("_") else text or " "


def draw_transitions(ax: Axes | None = None, *, streaks: bool = True, depth: int = 3) -> Axes:
    """Draw how one arm's state moves, Laforgue et al. (2022), Eq. (2), cut at ``depth`` states.

    ``streaks=False`` draws the delay model, in which every repeat is the same state.

    Examples
    --------
    >>> sorted(text.get_text() for text in draw_transitions(streaks=False).texts)
    ['1', '2', 'not played →', '← played', '−1', '≥3']
    """
    with house_style():
        ax = new_axes(ax, 7.2, 2.6)
        lowest = -depth if streaks else -1
        places = {tau: _place(tau) for tau in range(lowest, depth + 1) if tau}
        for tau, x in places.items():
            played, rested = moved(tau, True), moved(tau, False)
            if played < lowest:
                _loop(ax, x, _PLAYED, side=1)
            else:
                _arrow(ax, x, places[played], _PLAYED)
            if rested > depth:
                _loop(ax, x, _RESTED, side=-1)
            else:
                _arrow(ax, x, places[rested], _RESTED)
        for tau, x in places.items():
            ax.plot(x, 0, "o", ms=_NODE, color="white", mec=INK, mew=1.2, zorder=4)
            deepest = {depth: "≥", lowest: "≤" if streaks else ""}.get(tau, "")
            text = f"{deepest}{tau}".replace("-", "−")
            ax.text(x, 0, text, ha="center", va="center", zorder=5)
        ax.text(1, 0.86, "← played", color=_PLAYED, ha="right", va="top", transform=ax.transAxes)
        ax.text(0, 0.14, "not played →", color=_RESTED, va="bottom", transform=ax.transAxes)
        ax.set_xlim(places[lowest] - 0.9, places[depth] + 0.9)
        ax.set_ylim(-1.2, 1.2)
        ax.axis("off")
    return ax


def _place(tau: int) -> float:
    """Return where a state stands: the sides are drawn together, for there is no state 0."""
    return tau - 0.35 if tau > 0 else tau + 0.35


def _arrow(ax: Axes, start: float, end: float, tint: str) -> None:
    """Draw one move; plays go left and so bend above the states, rests go right, below them."""
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            (start, 0),
            (end, 0),
            connectionstyle="arc3,rad=0.38",
            shrinkA=_NODE / 2 + 1,
            shrinkB=_NODE / 2 + 1,
            color=tint,
            **_ARROW,
        )
    )


def _loop(ax: Axes, at: float, tint: str, side: int) -> None:
    """Draw the move of the deepest state drawn, which stands for all deeper ones, to itself."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.transforms import Affine2D, ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None  # axes made by a caller always belong to one
    points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans
    around = points + ScaledTranslation(at, 0, ax.transData)  # type: ignore[arg-type]
    ax.add_patch(
        FancyArrowPatch(
            (6 * side, _NODE * 0.46 * side),
            (-6 * side, _NODE * 0.46 * side),
            connectionstyle="arc3,rad=2.4",
            shrinkA=0,
            shrinkB=0,
            color=tint,
            transform=around,
            **_ARROW,
        )
    )


def draw_bandit(bandit: Bandit, figure: Figure | None = None) -> Figure:
    """Draw the curves of ``bandit`` above the diagram of how its states move.

    Into ``figure``, where one is given.

    Examples
    --------
    >>> from lastswitch.model.instances import two_arms
    >>> len(draw_bandit(two_arms()).axes)
    2
    """
    check_bandit("draw_bandit", bandit)
    with house_style():
        figure = new_figure(figure, 7.2, 5.6)
        above, below = figure.subplots(2, 1, height_ratios=[1.6, 1])
        draw_curves(bandit, above)
        draw_transitions(below, streaks=any(c.support().streak > 1 for c in bandit.curves))
    return figure
