"""Cohort plans as pictures: who plays what in which round, and what that is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.drawing import (
    FAINT,
    INK,
    MUTED,
    colour,
    fonts,
    house_style,
    legible,
    new_axes,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lastswitch.cohorts.result import CohortPlan

#: Arms with a colour of their own; the others, those played least, share one.
_ARMS = 7
#: Characters of a name.
_LABEL = 24


def draw_plays(plan: CohortPlan, ax: Axes | None = None) -> Axes:
    """Draw how many subjects play each arm in each round, and return the axes.

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pandas as pd
    >>> states = pd.DataFrame({"subject": ["ann", "bob"], "arm 0": [5, -1], "arm 1": [1, 1]})
    >>> plan = ls.plan_cohort(ls.instances.two_arms(), states, 3)
    >>> draw_plays(plan).get_ylabel()
    'subjects'
    """
    with house_style():
        ax = new_axes(ax, 7.2, 3.8)
        length = plan.problem.length
        bottom = np.zeros(length)
        for name, heights, tint in _layers(plan):
            ax.bar(
                range(length),
                heights,
                bottom=bottom,
                width=0.8,
                color=tint,
                edgecolor="white",
                linewidth=0.6,
                label=legible(name, _LABEL),
            )
            bottom = bottom + heights
        for budget in plan.budgets:
            if budget.round is not None and set(budget.budget.who) == {"everyone"}:
                t = budget.round
                label = "budget" if t == 0 else None
                ax.plot([t - 0.45, t + 0.45], [budget.most] * 2, color=INK, lw=2, label=label)
        ax.set_xticks(range(length), _rounds(plan))
        ax.grid(False, axis="x")
        ax.set_ylabel("subjects" if plan.problem.plays[1] == 1 else "plays")
        ax.set_title("Plays of every arm, round by round")
        _count_axis(ax, "y")
        ax.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True, prop={"family": fonts()}
        )
    return ax


def draw_summary(plan: CohortPlan, figure: Figure | None = None) -> Figure:
    """Draw plays by round, the value against other ways to play, and what budgets are worth.

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pandas as pd
    >>> states = pd.DataFrame({"subject": ["ann", "bob"], "arm 0": [5, -1], "arm 1": [1, 1]})
    >>> plan = ls.plan_cohort(ls.instances.two_arms(), states, 3)
    >>> len(draw_summary(plan).axes)
    2
    """
    priced = [row for row in plan.budgets if row.round is not None]
    panels = 3 if priced else 2
    with house_style():
        figure = new_figure(figure, 7.2, 3.4 + 2.1 * (panels - 1))
        axes = figure.subplots(panels, 1, height_ratios=[3.2, *([1.7] * (panels - 1))])
        draw_plays(plan, axes[0])
        _draw_values(plan, axes[1])
        if priced:
            _draw_prices(plan, axes[2])
    return figure


def _layers(plan: CohortPlan) -> list[tuple[str, Any, str]]:
    """Return name, plays by round and colour, from the bottom up; arms played least together."""
    plays, names = plan.plays, plan.problem.bandit.names
    order = sorted(range(len(names)), key=lambda arm: (-int(plays[:, arm].sum()), arm))
    own = sorted(order[:_ARMS] if len(order) > _ARMS else order)
    layers = [(names[arm], plays[:, arm], colour(k)) for k, arm in enumerate(own)]
    rest = [arm for arm in range(len(names)) if arm not in own]
    if rest:
        layers.append((f"{len(rest):,} other arms", plays[:, rest].sum(axis=1), MUTED))
    if plan.tally.silent.any() and plan.problem.plays[1] == 1:
        layers.append(("nothing", plan.tally.silent, FAINT))
    return layers


def _rounds(plan: CohortPlan) -> list[str]:
    """Return what stands under each round; few enough to be read."""
    from lastswitch.calendars.sheet import say_day

    length, calendar = plan.problem.length, plan.calendar
    step = -(-length // (8 if calendar is not None else 14))
    if calendar is None:
        return [str(t) if t % step == 0 else "" for t in range(length)]
    labels = []
    for t in range(length):
        day = say_day(calendar.day(t)).replace(" ", "\n", 1)
        clock = "" if calendar.daily else f"\n{calendar.time(t):%H:%M}"
        labels.append(f"{day}{clock}" if t % step == 0 else "")
    return labels


def _draw_values(plan: CohortPlan, ax: Axes) -> None:
    """Draw what the plan is worth beside other ways to play, per subject."""
    weight = plan.tally.weight or 1.0
    bars = {"this plan": plan.value, **plan.others}
    names = [legible(name, _LABEL + 8) for name in bars]
    values = [value / weight for value in bars.values()]
    places = range(len(values))
    tints = [colour(0), *([MUTED] * (len(values) - 1))]
    ax.barh(places, values, color=tints, height=0.65)
    ax.axvline(plan.bound / weight, color=INK, lw=1.2, ls="--")
    ax.set_yticks(places, names, fontfamily=fonts())
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    for place, value in zip(places, values, strict=True):
        within = value > 0.2 * max(values)
        ax.annotate(
            f"{value:.3f}",
            (value, place),
            xytext=(-4 if within else 4, 0),
            textcoords="offset points",
            ha="right" if within else "left",
            va="center",
            color="white" if within else INK,
            fontsize=9,
        )
    ax.set_title("Value per subject")
    bound = "dashed: the most possible"
    if plan.problem.rules or plan.problem.budgets:
        bound += "; grey: rules and budgets not kept"
    ax.set_xlabel(bound, color=MUTED, fontsize=9)
    ax.set_xlim(left=min(0.0, *values))


def _draw_prices(plan: CohortPlan, ax: Axes) -> None:
    """Draw what one more play would be worth, round by round."""
    for place, budget in enumerate(plan.problem.budgets):
        rows = [row for row in plan.budgets if row.budget is budget and row.round is not None]
        if rows:
            ax.plot(
                [row.round or 0 for row in rows],
                [row.price for row in rows],
                marker="osD^vPX"[place % 7],
                color=colour(place),
                label=legible(budget.title, _LABEL),
            )
    ax.set_xticks(range(plan.problem.length), _rounds(plan))
    ax.set_xlim(-0.6, plan.problem.length - 0.4)
    ax.set_ylim(0, 1.15 * max([row.price for row in plan.budgets] + [1e-3]))
    ax.set_title("What one more play would be worth")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), prop={"family": fonts()})


def _count_axis(ax: Axes, which: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
