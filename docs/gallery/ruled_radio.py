"""A radio day under rules: who plays when, how far apart an artist is, and what each rule costs.

Run ``python ruled_radio.py --out radio.png``.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

from matplotlib.figure import Figure

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._utils.drawing import FAINT, INK, MUTED, colour, house_style, save_figure

ROUNDS, APART = 24, 3


def song(top: float, pace: float) -> ls.Curve:
    """Return a song that comes back to what it is worth, the slower the larger the pace."""
    return ls.Curve([top * k / (k + pace) for k in range(1, 13)], [0.1 * top])


RADIO = ls.Bandit(
    [song(1.0, 2), song(0.9, 1), song(0.8, 1), song(0.9, 3), song(0.7, 1), song(0.6, 0.5),
     song(0.65, 1), song(0.5, 0.5)],
    names=["Hello", "Skyfall", "Toxic", "Gimme", "Wannabe", "Stop", "Africa", "Rosanna"],
    groups={
        "Adele": ["Hello", "Skyfall"],
        "Britney": ["Toxic", "Gimme"],
        "Spice Girls": ["Wannabe", "Stop"],
        "Toto": ["Africa", "Rosanna"],
    },
    initial=12,
)  # fmt: skip
RULES = [
    *(r.apart(artist, APART, name=f"{artist} {APART} apart") for artist in RADIO.groups),
    r.at_most("everyone", 4, each=True, name="a song 4 times"),
    r.pinned("Rosanna", 8, name="request at 8"),
    r.never("Spice Girls", range(18, 24), name="no Spice Girls late"),
]


def calendar(axes, plan: ls.Plan) -> None:
    """Draw a row per song, a square per play, and per artist the distance between two plays."""
    artists = {name: k for k, (_, songs) in enumerate(RADIO.groups.items()) for name in songs}
    for row, name in enumerate(RADIO.names):
        hue = colour(artists[name])
        axes.axhline(row, color=FAINT, lw=0.8, zorder=0)
        for t, arms in enumerate(plan.rounds):
            if row in arms:
                axes.bar(t, 0.74, 0.86, bottom=row - 0.37, color=hue, lw=0)
    for k, songs in enumerate(RADIO.groups.values()):
        members = [RADIO.index(name) for name in songs]
        plays = [(t, arm) for t, (arm,) in enumerate(plan.rounds) if arm in members]
        for (t, arm), (later, other) in pairwise(plays):
            axes.plot([t + 0.43, later - 0.43], [arm, other], color=colour(k), lw=0.9, alpha=0.6)
            if later - t == APART:  # the rule is just kept
                axes.text(
                    *((t + later) / 2, (arm + other) / 2, f"{APART}"),
                    color=INK,
                    fontsize=8,
                    ha="center",
                    va="center",
                    bbox={"boxstyle": "circle,pad=0.12", "fc": "white", "ec": "none"},
                )
    axes.set_yticks(range(RADIO.n_arms), RADIO.names)
    axes.set_ylim(RADIO.n_arms - 0.4, -0.6)
    axes.set_xlim(-0.6, ROUNDS - 0.4)
    axes.set_xticks(range(0, ROUNDS, 2))
    axes.set_xlabel(f"round ({APART}: an artist again after just as many rounds as the rule asks)")
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(f"The best day under {len(RULES)} rules: worth {plan.value:.2f}, proven", pad=6)


def prices(axes, plan: ls.Plan) -> None:
    """Draw what each rule costs, dearest first."""
    reports = sorted(plan.explain().rules, key=lambda report: -report.most)
    names = [report.rule.name for report in reports]
    costs = [report.most for report in reports]
    axes.barh(names, costs, color=INK, height=0.6)
    for row, cost in enumerate(costs):
        text = f" {cost:.3f}" if cost else " nothing"
        axes.text(cost, row, text, va="center", color=INK if cost else MUTED, fontsize=9)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max(costs) * 1.1)
    axes.set_xlabel("value without the rule less value with it")
    axes.grid(axis="y", visible=False)
    axes.set_title("What each rule costs", pad=6)


def draw() -> Figure:
    """Draw the day and the rules' prices."""
    plan = ls.plan_block(RADIO, ROUNDS, rules=RULES)
    with house_style():
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=[1.5, 1])
        calendar(above.subplots(), plan)
        prices(below.subplots(), plan)
    return figure


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("ruled_radio.png"))
    out = parser.parse_args().out
    save_figure(draw(), out.with_suffix(""), [out.suffix[1:]])
    print(f"Drawn in {out}")


if __name__ == "__main__":
    main()
