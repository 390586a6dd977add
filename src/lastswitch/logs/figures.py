"""One arm's fit as a figure: the curve, what was seen with its interval, and how much was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.drawing import FAINT, INK, MUTED, colour, fonts, house_style, legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit


def draw_arm(fit: CurveFit, arm: int) -> Figure:
    """Draw one arm: streak to the left of zero, rest to the right, its first play apart.

    Examples
    --------
    >>> import lastswitch as ls
    >>> log = ls.logs.simulate(ls.Bandit([([0.9], [0.1])] * 2), subjects=20, rounds=20, seed=0)
    >>> [axes.get_ylabel() for axes in draw_arm(ls.fit_curves(log), 0).axes]
    ['mean reward', 'events']
    """
    from matplotlib.figure import Figure

    fitted, tint = fit.arms[arm], colour(arm)
    with house_style():
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        places = _draw_seen(top, fitted, tint)
        _draw_used(top, fitted)
        _draw_events(bottom, places, tint)
        top.axhline(fit.log_mean, color=MUTED, lw=1, ls=":", zorder=1)
        top.annotate(
            "mean of the log",
            (1, fit.log_mean),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color=MUTED,
            fontsize=8,
        )
        _dress(top, bottom, fitted)
        # Lay out once: every format the figure is saved in would do it again.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _first_place(fitted: ArmFit) -> float:
    """Return where a first play stands: right of the longest rest, with a gap."""
    return max(len(fitted.rest), 1) * 1.06 + 2


def _draw_seen(ax: Axes, fitted: ArmFit, tint: str) -> list[tuple[float, int]]:
    """Draw means and intervals; return the place and the events of every state."""
    drawn = [(float(state.tau), state) for state in fitted.estimates if state.tau is not None]
    if fitted.first.events:
        drawn.append((_first_place(fitted), fitted.first))
    for pooled in (False, True):
        chosen = [(x, s) for x, s in drawn if (s.pooled is not None) is pooled]
        if not chosen:
            continue
        x, means, lows, highs = np.array([(x, s.mean, s.low, s.high) for x, s in chosen]).T
        ax.errorbar(
            x,
            means,
            yerr=np.maximum([means - lows, highs - means], 0),
            fmt="o",
            ms=3.5 if pooled else 4.5,
            color=tint,
            mfc="white" if pooled else tint,
            elinewidth=1.0,
            alpha=0.55 if pooled else 1.0,
            capsize=0,
            zorder=3,
            label="pooled" if pooled else "mean and interval",
        )
    return [(x, state.events) for x, state in drawn]


def _draw_used(ax: Axes, fitted: ArmFit) -> None:
    """Draw the curve itself, as a step line on each side; dotted where the log does not know it."""
    style: dict[str, Any] = {"color": INK, "lw": 1.4, "zorder": 4}
    for side, sign in ((fitted.rest, 1), (fitted.streak, -1)):
        depth = max(len(side), 2)
        taus = sign * np.arange(1, depth + 1)
        known = np.array([state.known for state in side] + [False] * (depth - len(side)))
        edges = np.repeat(taus, 2) + np.tile([-0.5, 0.5], depth) * sign
        values = np.repeat(fitted.curve(taus), 2)
        for chosen, line, named in (
            (known, "-", "fitted curve"),
            (~known, ":", "unknown (lower bound)"),
        ):
            if chosen.any():
                shown = np.where(np.repeat(chosen, 2), values, np.nan)
                ax.plot(edges, shown, ls=line, label=named, **style)


def _draw_events(ax: Axes, places: list[tuple[float, int]], tint: str) -> None:
    x, events = zip(*places, strict=True)
    ax.bar(x, events, width=0.8, color=tint, alpha=0.6, lw=0)
    ax.set_ylabel("events")
    if max(events) > 50 * max(min(e for e in events if e), 1):
        ax.set_yscale("log")


def _dress(top: Axes, bottom: Axes, fitted: ArmFit) -> None:
    from matplotlib.ticker import MaxNLocator

    left, right = max(len(fitted.streak), 2), max(len(fitted.rest), 2)
    edge = _first_place(fitted) + 1 if fitted.first.events else right + 0.7
    for ax in (top, bottom):
        ax.axvspan(-0.5, 0.5, color=FAINT, alpha=0.6, lw=0, zorder=0)
        ax.set_xlim(-left - 0.7, edge)
    highest = max(
        state.high for state in (*fitted.rest, *fitted.streak, fitted.first) if state.events
    )
    top.set_ylim(-0.02 * highest, min(1.03, highest * 1.25 + 0.01))
    top.set_ylabel("mean reward")
    top.set_title(legible(fitted.name, 70), fontfamily=fonts())
    handles, labels = top.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    top.legend(
        unique.values(),
        unique,
        loc="lower right",
        bbox_to_anchor=(1.01, 0.99),
        ncols=4,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.0,
    )
    ticks = [t for t in MaxNLocator(nbins=12, integer=True).tick_values(-left, right) if t]
    shown = [t for t in ticks if -left <= t <= right]
    labels_ = [f"{t:.0f}".replace("-", "−") for t in shown]
    if fitted.first.events:
        shown, labels_ = [*shown, _first_place(fitted)], [*labels_, "first\nplay"]
    bottom.set_xticks(shown, labels_)
    bottom.set_xlabel("← plays in a row before          rounds of rest before →")
