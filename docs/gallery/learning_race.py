"""Learners that know nothing against the best schedule there is: the race, and what they learned.

Run ``python learning_race.py --out race.png [--rounds 5112] [--runs 10]``.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import lastswitch as ls
from lastswitch._utils.drawing import FAINT, INK, colour, house_style, save_figure
from lastswitch.experiments.tasks import build

BANDIT = ls.instances.five_arms()
LEARNERS = {
    "RotationUCB": ls.RotationUCB,
    "ISI-CombUCB1": partial(ls.ISICombUCB1, length=4),
    "CombUCB1": partial(ls.learning.CombUCB1, length=3),
    "greedy, knowing all": ls.learning.OracleGreedy,
}
#: Rounds shown of what each learner plays in the end: two turns of the best rotation.
SHOWN = 18


def last_rounds(name: str, rounds: int) -> list[int]:
    """Return what the learner plays in the last rounds of one run."""
    learner = build(LEARNERS[name], BANDIT, seed=0)
    return ls.simulate(BANDIT, learner, rounds, seed=0).arms[-SHOWN:].tolist()


def strips(axes, schedules: dict[str, list[int]]) -> None:
    """One row per schedule, one square per round, the arm's number inside."""
    for row, arms in enumerate(schedules.values()):
        for time, arm in enumerate(arms, start=1):
            # The three arms that never change are one to the eye; no colour is a learner's.
            tint = colour(4 + arm) if arm < 2 else FAINT
            axes.bar(time, 0.8, 0.9, bottom=row - 0.4, color=tint, lw=0)
            axes.text(time, row, arm + 1, ha="center", va="center", color=INK, fontsize=9)
    axes.set_yticks(range(len(schedules)), list(schedules))
    axes.set_ylim(len(schedules) - 0.5, -0.5)
    axes.set_xlim(0.4, SHOWN + 0.6)
    axes.set_xticks([])
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlabel(
        "arm 1 pays after two rounds of rest, arm 2 after eight, the others always a little"
    )
    axes.set_title(f"What they play in the last {SHOWN} rounds")


def draw(rounds: int, runs: int, n_jobs: int | None = None, progress: bool = True) -> Figure:
    """Run the race and draw it."""
    found = ls.compare(BANDIT, LEARNERS, rounds, runs, n_jobs=n_jobs, progress=progress)
    best = ls.optimal_average(BANDIT)
    schedules = {"best rotation": np.resize(best.block, SHOWN).tolist()}
    schedules |= {name: last_rounds(name, rounds) for name in LEARNERS}
    with house_style():
        figure = Figure(figsize=(9.5, 7), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=[1.5, 1])
        found.plot("reward", ax=above)
        shares = {name: found.share(name).mean for name in LEARNERS}
        ahead = max(shares, key=lambda name: shares[name])
        above.set_title(f"The race: {ahead} earns {shares[ahead]:.0%} of what is possible")
        strips(below, schedules)
    return figure


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("learning_race.png"))
    parser.add_argument("--rounds", type=int, default=5112)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    figure = draw(options.rounds, options.runs)
    save_figure(figure, options.out.with_suffix(""), [options.out.suffix[1:]])
    print(f"Drawn in {options.out}")


if __name__ == "__main__":
    main()
