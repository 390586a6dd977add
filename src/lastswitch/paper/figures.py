"""The paper's figures drawn from what was run here, and ours beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastswitch._utils.drawing import PALETTE, house_style, new_figure, save_figure
from lastswitch.experiments.plots import draw_comparison
from lastswitch.experiments.runner import Result
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import Curve, periodic, recovering, spike, step
from lastswitch.paper.settings import COMB, CS_BEST, CS_WORST, GREEDY, ISI, ROTATION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lastswitch.experiments.comparison import Comparison

#: A policy has one colour in every figure.
COLOURS = dict(zip([ISI, COMB, GREEDY, CS_WORST, CS_BEST, ROTATION], PALETTE, strict=False))


class Picture(NamedTuple):
    """A figure to draw: the name of its files, its heading, what it shows, and how.

    Attributes
    ----------
    instance
        The instance whose comparison it shows; empty for the models.
    policies
        Which policies the paper shows; none for all of them, under the optimum.

    Examples
    --------
    >>> [picture.name for picture in PICTURES if picture.ours]
    ['ours-five-arms', 'ours-two-arms']
    """

    name: str
    heading: str
    caption: str
    instance: str = ""
    policies: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether this is not a figure of the paper."""
        return bool(self.instance) and not self.policies


_OURS = (
    "Reward collected beside what the best possible schedule expects, and the expected reward lost "
    "against it."
)

#: Every figure of the report, in its order.
PICTURES = (
    Picture(
        "figure-1-models",
        "Figure 1: the models",
        "What an arm pays by its state, and how the state moves: last switch dependent bandits, "
        "and models whose rewards depend on delays alone.",
    ),
    Picture(
        "figure-2-five-arms",
        "Figure 2: five arms",
        "What the five arms pay, and the reward collected.",
        "five-arms",
        (ISI, COMB, GREEDY),
    ),
    Picture(
        "figure-3-calibration",
        "Figure 3: five arms, with calibration sequences",
        "The same with the two learners that play every arm once before each block, in the order "
        "that hides the spike of the first arm and in the order that shows it.",
        "five-arms",
        (ISI, COMB, GREEDY, CS_WORST, CS_BEST),
    ),
    Picture(
        "figure-4-two-arms",
        "Figure 4: two arms",
        "What the two arms pay, and the reward collected.",
        "two-arms",
        (ISI, COMB, GREEDY),
    ),
    Picture("ours-five-arms", "Five arms, with RotationUCB and the optimum", _OURS, "five-arms"),
    Picture("ours-two-arms", "Two arms, with RotationUCB and the optimum", _OURS, "two-arms"),
)


def draw_picture(picture: Picture, found: Comparison | None) -> Figure:
    """Draw one picture from the comparison of its instance.

    Examples
    --------
    >>> len(draw_picture(PICTURES[0], None).axes)
    4
    """
    if found is None:
        return figure_1()
    if picture.ours:
        return _two_panels(
            lambda top: draw_comparison(found, "reward", ax=top, colours=COLOURS),
            lambda bottom: draw_comparison(found, "regret", ax=bottom, colours=COLOURS),
            1.0,
        )
    from lastswitch.model.figures import draw_curves

    return _two_panels(
        lambda top: draw_curves(found.bandit, top),
        lambda bottom: draw_comparison(
            found, "reward", picture.policies, ax=bottom, colours=COLOURS, optimum=False
        ),
        1.3,
    )


def figure_1(figure: Figure | None = None) -> Figure:
    """Draw the paper's Figure 1: LSD bandits on the left, the delay model on the right.

    Into ``figure``, where one is given.

    Examples
    --------
    >>> [axes.get_title(loc="left") for axes in figure_1().axes[:2]]
    ['LSD bandits', 'Delay-dependent rewards']
    """
    from lastswitch.model.figures import draw_curves, draw_transitions

    seasons = np.round(0.45 + 0.3 * np.sin(2 * np.pi * np.arange(1, 7) / 6), 3)
    lsd = Bandit(
        [
            Curve([0.75, 0.85, 0.9, 0.92], [0.62, 0.5, 0.4, 0.32, 0.26, 0.22]),
            periodic(seasons, streak=[0.3, 0.15, 0.05, 0.0]),
            spike(at=4, high=1.0, low=0.1),
        ],
        names=["satiating", "seasonal", "spike"],
    )
    delays = Bandit(
        [recovering(ceiling=0.9, after=8, low=0.25), step(at=5, high=0.7, low=0.05)],
        names=["recharging", "blocking"],
    )
    with house_style():
        figure = new_figure(figure, 11, 5.4)
        axes = figure.subplots(2, 2, height_ratios=[1.6, 1])
        for column, (bandit, title) in enumerate(
            ((lsd, "LSD bandits"), (delays, "Delay-dependent rewards"))
        ):
            draw_curves(bandit, axes[0, column]).set_title(title, pad=24)
            draw_transitions(axes[1, column], streaks=column == 0)
    return figure


def save_picture(picture: Picture, found: Comparison | None, folder: Path) -> Result:
    """Draw one picture and save it as PNG, SVG and PDF."""
    figure = draw_picture(picture, found)
    with house_style():
        figure.draw_without_rendering()  # lay it out once, not again for every format
    figure.set_layout_engine("none")
    return {"files": [path.name for path in save_figure(figure, folder / picture.name)]}


def _two_panels(
    above: Callable[..., object], below: Callable[..., object], lower_height: float
) -> Figure:
    """Draw two panels, one above the other so that they can be read on a narrow screen."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with house_style():
        figure = Figure(figsize=(5.8, 7.0), layout=ConstrainedLayoutEngine(hspace=0.06))
        top, bottom = figure.subplots(2, 1, height_ratios=[1, lower_height])
        above(top)
        below(bottom)
    return figure
