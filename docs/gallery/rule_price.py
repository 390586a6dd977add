"""What a cap on messages costs, for caps of all sizes; and rules that cannot hold together.

Run ``python rule_price.py --out price.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._utils.drawing import FAINT, INK, MUTED, colour, house_style, save_figure
from lastswitch.errors import InfeasibleError

DAYS = 28

MESSAGES = ls.Bandit(
    [
        ls.Curve([0.10, 0.20, 0.35, 0.50, 0.60], [0.02]),
        ls.Curve([0.20, 0.30, 0.35], [0.05]),
        ls.Curve([0.15, 0.25], [0.10]),
    ],
    names=["offer", "tip", "news"],
    plays=(0, 1),
)
#: Seven days that ask too much: two offers, five days apart, none before Thursday.
CLASH = [
    r.at_most("everyone", 4),
    r.at_least("offer", 2),
    r.rest("offer", 5),
    r.only("offer", range(3, 7)),
    r.at_least("tip", 1, within=4),
    r.never("news", [6]),
]


def price_of_caps(axes) -> None:
    """Draw the value of a month by the messages allowed in any seven days."""
    plans = [
        ls.plan_block(MESSAGES, DAYS, rules=[r.at_most("everyone", cap, within=7)])
        for cap in range(8)
    ]
    values = np.array([plan.value for plan in plans])
    axes.bar(range(8), values, 0.7, color=colour(0), lw=0)
    axes.bar(range(8), values[-1] - values, 0.7, bottom=values, color=FAINT, lw=0)
    for cap, value in enumerate(values):
        lost = values[-1] - value
        text = f"-{lost:.2f}" if lost > 0.005 else "free"
        axes.text(cap, values[-1] + 0.1, text, ha="center", color=INK if lost else MUTED)
    axes.set_ylim(0, values[-1] * 1.12)
    axes.set_xlabel("messages allowed in any seven days")
    axes.set_ylabel(f"best value of {DAYS} days")
    axes.grid(axis="x", visible=False)
    axes.tick_params(axis="x", length=0)
    axes.set_title("The price of a cap: grey is lost", pad=8)


def clash(axes) -> ls.errors.LastSwitchError:
    """Draw the rules, those in conflict in colour, with what dropping each would allow."""
    try:
        ls.plan_block(MESSAGES, 7, rules=CLASH)
    except InfeasibleError as error:
        found = error
    guilty = set(found.conflict)
    for row, rule in enumerate(CLASH):
        mine = rule in guilty
        axes.text(0.02, row, str(rule), color=INK if mine else MUTED, va="center")
        axes.bar(-0.01, 0.7, 0.02, bottom=row - 0.35, color=colour(1) if mine else FAINT, lw=0)
        if mine:
            others = [other for other in CLASH if other is not rule]
            worth = ls.plan_block(MESSAGES, 7, rules=others).value
            axes.text(0.5, row, f"without it the best week is worth {worth:.2f}", va="center")
    axes.set_ylim(len(CLASH) - 0.4, -0.6)
    axes.set_xlim(-0.03, 1.02)
    axes.set_axis_off()
    axes.set_title(f"{len(guilty)} of {len(CLASH)} rules cannot hold together", pad=8)
    return found


def draw() -> Figure:
    """Draw the price of a cap, and a conflict."""
    with house_style():
        figure = Figure(figsize=(10, 6.6), layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=[1.35, 1])
        price_of_caps(above.subplots())
        clash(below.subplots())
    return figure


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("rule_price.png"))
    out = parser.parse_args().out
    save_figure(draw(), out.with_suffix(""), [out.suffix[1:]])
    print(f"Drawn in {out}")


if __name__ == "__main__":
    main()
