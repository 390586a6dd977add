"""Draw the figures of the documentation into this folder: ``python docs/assets/draw.py``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import lastswitch as ls
from lastswitch import figures
from lastswitch._utils.drawing import FAINT, INK, MUTED, colour, house_style, save_figure
from lastswitch.paper import figure_1

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: The station of the landing page and of the practitioners' page.
STATION = ls.Bandit(
    [
        ls.curves.step(at=3, high=0.95, low=0.35),
        ls.curves.recovering(ceiling=0.7, after=4, low=0.2),
        ls.curves.satiating(fresh=0.3, floor=0.05, after=3),
    ],
    names=["hit", "gold", "talk"],
    initial=10,
)


def greedy_block(bandit: ls.Bandit, rounds: int) -> list[int]:
    """Return what always playing the best arm of the moment plays, after it has settled."""
    state, played = bandit.start(), []
    for _ in range(10 * rounds):
        played.append(int(np.argmax(bandit.means(state))))
        state = ls.states.transition(state, played[-1])
    return played[-rounds:]


def draw_rows(axes: Axes, bandit: ls.Bandit, rows: dict[str, list[int]]) -> None:
    """Draw one calendar row per schedule, each round with its arm and its mean pay."""
    for height, (name, block) in enumerate(reversed(rows.items())):
        settled = ls.states.state_after(bandit.start(), block * 3)
        pays = ls.blocks.block_pays(bandit, block, settled)
        for t, (arm, pay) in enumerate(zip(block, pays, strict=True)):
            axes.add_patch(
                Rectangle((t + 0.04, height + 0.12), 0.92, 0.6, color=colour(arm), alpha=0.88)
            )
            middle = t + 0.5
            axes.text(middle, height + 0.5, bandit.names[arm], ha="center", color="white", size=8)
            axes.text(middle, height + 0.24, f"{pay:.2f}", ha="center", color="white", size=7.5)
        label = f"{name}: {pays.mean():.3f} a round"
        axes.text(0.04, height + 0.8, label, color=INK, size=9.5, weight="bold")
    axes.set_xlim(0, len(block))
    axes.set_ylim(0, len(rows) + 0.05)
    axes.axis("off")


def landing(*, narrow: bool) -> Figure:
    """Return the picture of the landing page: three curves, and two ways to play them."""
    best = ls.optimal_average(STATION)
    turns = 2 if narrow else 3
    rows = {
        "best rotation, proven": list(best.block) * turns,
        "best arm of the moment": greedy_block(STATION, len(best.block) * turns),
    }
    with house_style():
        figure = Figure(figsize=(5, 6) if narrow else (10, 3.6), layout="constrained")
        if narrow:
            curves, calendar = figure.subplots(2, 1, height_ratios=[1.5, 1])
        else:
            curves, calendar = figure.subplots(1, 2, width_ratios=[1, 1.55])
        figures.draw_curves(STATION, curves)
        curves.set_title("what each pays, rested or repeated", pad=24)
        draw_rows(calendar, STATION, rows)
        calendar.set_title("round after round", color=MUTED)
    return figure


#: Prices of the worked example, and the rounds arms A and B would take at them.
PRICING = [
    ((0, 0, 0, 0), (0, 3), (0, 1, 2, 3), "24: rounds 1 and 4 wanted twice"),
    ((3, 0, 0, 3), (0, 2), (1, 2), "19: round 3 twice, round 4 never"),
    ((3, 1, 1, 3), (0, 3), (1, 2), "18: a block, and nothing is better"),
]


def pricing() -> Figure:
    """Return the worked example of certified planning: prices up, until the arms agree."""
    with house_style():
        figure = Figure(figsize=(7.4, 3.4), layout="constrained")
        axes = figure.subplots()
        for height, (prices, first, second, verdict) in enumerate(reversed(PRICING)):
            for t, price in enumerate(prices):
                takers = (t in first) + (t in second)
                edge = INK if takers == 1 else colour(1)
                axes.add_patch(
                    Rectangle((t, height), 0.94, 0.78, fill=False, edgecolor=edge, lw=1.4)
                )
                axes.text(t + 0.08, height + 0.56, f"price {price}", size=8, color=MUTED)
                for arm, (name, taken) in enumerate((("A", first), ("B", second))):
                    if t in taken:
                        axes.text(
                            t + 0.32 + 0.32 * arm,
                            height + 0.16,
                            name,
                            size=13,
                            weight="bold",
                            color=colour(2 * arm),
                        )
            axes.text(4.1, height + 0.3, f"bound {verdict}", size=9.5, color=INK)
        for t in range(4):
            axes.text(t + 0.47, len(PRICING) + 0.02, f"round {t + 1}", ha="center", size=9)
        axes.set_xlim(0, 7.4)
        axes.set_ylim(-0.05, len(PRICING) + 0.2)
        axes.axis("off")
    return figure


def dinners() -> Figure:
    """Return four weeks of the meals that ``lastswitch new meals`` begins with."""
    file = Path(ls.__file__).parent / "starters" / "meals.toml"
    meals, calendar = ls.load_bandit(file), ls.load_calendar(file)
    length = calendar.length(until="2024-07-01")
    plan = ls.plan_block(meals, length, rules=calendar.resolve(meals.rules, length, meals))
    return plan.plot(calendar=calendar).figure


def closing() -> Figure:
    """Return how value and bound of one problem of every family close in on each other."""
    results = json.loads((ROOT / "benchmarks" / "results" / "closing.json").read_text())
    curves = results["curves"]
    order = sorted(curves, key=lambda family: gaps(curves[family])[-1])
    with house_style():
        figure = Figure(figsize=(9.6, 5), layout="constrained")
        grid = figure.subplots(2, 4, sharex=True, sharey=True)
        for axes, family in zip(grid.flat, order, strict=False):
            draw_closing(axes, family, curves[family])
        key = grid.flat[len(order)]
        key.axis("off")
        for height, (text, shade) in enumerate(
            [("no block is worth more", colour(1)), ("best block so far", colour(0))]
        ):
            key.text(0.1, 0.72 - 0.16 * height, text, color=shade, transform=key.transAxes)
        key.text(0.1, 0.36, "shaded: not known", color=MUTED, transform=key.transAxes)
        grid[0, 0].set_xscale("log")
        grid[0, 0].set_xlim(0.005, 12)
        grid[0, 0].set_ylim(-16, 26)
        grid[0, 0].set_xticks([0.01, 0.1, 1, 10], ["", "0.1", "1", "10"])
        grid[0, 3].tick_params(axis="x", labelbottom=True)  # no panel below it has labels
        figure.supxlabel("seconds", size=10)
        figure.supylabel("% above the best block found", size=10)
    return figure


def gaps(curve: dict[str, list[float]]) -> np.ndarray:
    """Return the gap at every moment of a curve."""
    return np.array(curve["bound"]) / np.array(curve["value"]) - 1


def draw_closing(axes: Axes, family: str, curve: dict[str, list[float]]) -> None:
    """Draw value and bound of one family against the clock, as shares of the last value."""
    proven = gaps(curve)[-1] < 1e-9
    shares = 100 * (np.array([curve["value"], curve["bound"]]) / curve["value"][-1] - 1)
    # What nobody can see need not be drawn.
    told = np.append(True, np.abs(np.diff(shares.round(1))).max(axis=0) > 0)
    told[-1] = True
    seconds = np.append(np.array(curve["seconds"])[told], 10.0)
    value, bound = np.hstack([shares[:, told], shares[:, -1:]])
    axes.fill_between(seconds, value, bound, step="post", color=FAINT, lw=0)
    axes.step(seconds, bound, where="post", color=colour(1), lw=1.6)
    axes.step(seconds, value, where="post", color=colour(0), lw=1.6)
    if proven:
        axes.plot(curve["seconds"][-1], 0.0, "o", color=INK, ms=5, zorder=3)
        verdict = f"proven in {curve['seconds'][-1]:.2g} s"
    else:
        verdict = f"{100 * gaps(curve)[-1]:.2g} % left"
    name = "UCB-like" if family == "ucb" else family
    axes.set_title(f"{name}: {verdict}", size=9.5)


if __name__ == "__main__":
    save_figure(closing(), HERE / "closing", formats=["svg"])
    save_figure(dinners(), HERE / "dinners", formats=["png"])
    save_figure(pricing(), HERE / "pricing", formats=["svg"])
    save_figure(figure_1(), HERE / "figure-1", formats=["svg"])
    save_figure(landing(narrow=False), HERE / "landing", formats=["svg", "png"])
    save_figure(landing(narrow=True), HERE / "landing-narrow", formats=["svg"])
