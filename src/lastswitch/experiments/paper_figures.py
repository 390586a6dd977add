"""The paper's figures drawn from what was run here, and ours beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lastswitch.drawing import PALETTE, house_style
from lastswitch.experiments.paper import COMB, CS_BEST, CS_WORST, GREEDY, ISI, ROTATION
from lastswitch.experiments.plots import draw_comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lastswitch.experiments.comparison import Comparison

#: A policy has one colour in every figure.
COLOURS = dict(zip([ISI, COMB, GREEDY, CS_WORST, CS_BEST, ROTATION], PALETTE, strict=False))


class Picture(NamedTuple):
    """A figure, the name of its files, its heading and what it shows, in words."""

    name: str
    heading: str
    caption: str
    figure: Figure


def paper_pictures(found: Mapping[str, Comparison], band: str) -> list[Picture]:
    """Draw Figures 1 to 4 of the paper; ``band`` says what the bands are."""
    from lastswitch.figures import figure_1

    five, two = found["five-arms"], found["two-arms"]
    paper = [ISI, COMB, GREEDY]
    return [
        Picture(
            "figure-1-models",
            "Figure 1: the models",
            "What an arm pays by its state, and how the state moves: last switch dependent "
            "bandits, and models whose rewards depend on delays alone.",
            figure_1(),
        ),
        Picture(
            "figure-2-five-arms",
            "Figure 2: five arms",
            f"What the five arms pay, and the reward collected: {band}.",
            curves_and_rewards(five, paper),
        ),
        Picture(
            "figure-3-calibration",
            "Figure 3: five arms, with calibration sequences",
            "The same with the two learners that play every arm once before each block, in the "
            f"order that hides the spike of the first arm and in the order that shows it: {band}.",
            curves_and_rewards(five, [*paper, CS_WORST, CS_BEST]),
        ),
        Picture(
            "figure-4-two-arms",
            "Figure 4: two arms",
            f"What the two arms pay, and the reward collected: {band}.",
            curves_and_rewards(two, paper),
        ),
    ]


def our_pictures(found: Mapping[str, Comparison], band: str) -> list[Picture]:
    """Draw the same experiments with our learner, the optimum and the regret."""
    five, two = found["five-arms"], found["two-arms"]
    return [
        Picture(
            "ours-five-arms",
            "Five arms, with RotationUCB and the optimum",
            "Reward collected beside what the best possible schedule expects, and the expected "
            f"reward lost against it: {band}.",
            rewards_and_regret(five),
        ),
        Picture(
            "ours-two-arms",
            "Two arms, with RotationUCB and the optimum",
            "Reward collected beside what the best possible schedule expects, and the expected "
            f"reward lost against it: {band}.",
            rewards_and_regret(two),
        ),
    ]


def curves_and_rewards(found: Comparison, policies: Sequence[str]) -> Figure:
    """Draw the arms' curves above the cumulative reward of some policies."""
    from matplotlib.figure import Figure

    from lastswitch.figures import draw_curves

    with house_style():
        figure = Figure(figsize=(7.2, 7.4), layout="constrained")
        top, bottom = figure.subplots(2, 1, height_ratios=[1, 1.25])
        draw_curves(found.bandit, top)
        draw_comparison(bottom, found, "reward", policies, colours=COLOURS, optimum=False)
    return figure


def rewards_and_regret(found: Comparison) -> Figure:
    """Draw every policy's cumulative reward under the optimum's, above its regret."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(7.2, 7.8), layout="constrained")
        top, bottom = figure.subplots(2, 1)
        draw_comparison(top, found, "reward", colours=COLOURS)
        draw_comparison(bottom, found, "regret", colours=COLOURS)
    return figure
