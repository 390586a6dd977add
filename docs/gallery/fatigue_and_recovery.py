"""Four messages that tire and recover: what they pay, the best rotation, and what greed costs.

Run ``python fatigue_and_recovery.py --out rotation.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import lastswitch as ls
from lastswitch._utils.drawing import FAINT, INK, colour, house_style, save_figure
from lastswitch.model.figures import draw_curves

ROUNDS = 36

MESSAGES = ls.Bandit(
    [
        ls.Curve(rest=[0.30, 0.34, 0.40, 0.55, 0.90], streak=[0.15, 0.05, 0.00]),
        ls.Curve(rest=[0.30, 0.35, 0.75], streak=[0.20, 0.10, 0.05]),
        ls.Curve(rest=[0.26], streak=[0.15, 0.08, 0.03]),
        ls.curves.constant(0.12),
    ],
    names=["discount", "new arrivals", "tip", "nothing"],
)


def greedy(bandit: ls.Bandit, rounds: int) -> list[int]:
    """Play what pays most right now, round after round."""
    state, arms = bandit.start(), []
    for _ in range(rounds):
        arms.append(int(np.argmax(bandit.means(state))))
        state = ls.states.transition(state, arms[-1])
    return arms


def timeline(axes, bandit: ls.Bandit, arms: list[int], start, title: str) -> None:
    """One square per round, on the row of the arm played; the fuller the better paid."""
    pays = ls.blocks.block_pays(bandit, arms, start)
    for time, (arm, pay) in enumerate(zip(arms, pays, strict=True), start=1):
        axes.bar(time, -0.86, 0.86, bottom=arm + 0.43, color=FAINT, alpha=0.7, lw=0)
        axes.bar(time, -0.86 * pay, 0.86, bottom=arm + 0.43, color=colour(arm), lw=0)
    axes.set_yticks(range(bandit.n_arms), bandit.names)
    axes.set_ylim(bandit.n_arms - 0.4, -0.6)
    axes.set_xlim(0.4, len(arms) + 0.6)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(f"{title}: {pays.mean():.2f} a round", pad=4)


def bars(axes, averages: dict[str, float], bound: float) -> None:
    """The averages side by side, under the most that is possible."""
    values = list(averages.values())
    tints = ["#9A9A9A"] * (len(values) - 1) + [INK]
    axes.barh(list(averages), values, color=tints, height=0.62)
    for row, value in enumerate(values):
        axes.text(value + 0.008, row, f"{value:.2f}", va="center", color=INK)
    axes.axvline(bound, color=INK, lw=1, ls=":")
    axes.text(bound, -0.62, "most possible ", ha="right", va="center", color=INK, fontsize=9)
    axes.set_ylim(len(values) - 0.4, -0.95)
    axes.set_xlim(0, bound * 1.12)
    axes.set_xlabel("mean reward a round")
    axes.grid(axis="y", visible=False)
    axes.set_title("What a schedule earns")


def draw(bandit: ls.Bandit) -> Figure:
    """Draw the curves, the averages, and the two schedules."""
    best = ls.optimal_average(bandit)
    long_run = 2000
    averages = {
        "always the same": max(curve.streak[-1] for curve in bandit.curves),
        "what pays most now": float(ls.blocks.block_pays(bandit, greedy(bandit, long_run)).mean()),
        "taking turns": ls.cycle_reward(bandit, range(bandit.n_arms)) / bandit.n_arms,
        "best rotation": best.value,
    }
    rotation = np.resize(best.block, ROUNDS).tolist()
    settled = ls.states.state_after(bandit.start(), best.block)  # the rotation has been running
    with house_style():
        figure = Figure(figsize=(11, 7.6), layout="constrained")
        top, first, second = figure.subfigures(3, 1, height_ratios=[1.6, 0.8, 0.92])
        left, right = top.subplots(1, 2, width_ratios=[1.35, 1])
        draw_curves(bandit, left).set_title("What a message earns", pad=42)
        bars(right, averages, best.bound)
        timeline(first.subplots(), bandit, rotation, settled, "The best rotation")
        below = second.subplots()
        timeline(
            below, bandit, greedy(bandit, ROUNDS), bandit.start(), "Playing what pays most now"
        )
        below.set_xlabel("round (the fuller the square, the better paid)")
    return figure


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("fatigue_and_recovery.png"))
    out = parser.parse_args().out
    save_figure(draw(MESSAGES), out.with_suffix(""), [out.suffix[1:]])
    print(f"Drawn in {out}")


if __name__ == "__main__":
    main()
