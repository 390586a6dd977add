"""A fit as one self-contained HTML page: words, figures, tables, nothing fetched from anywhere."""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._atomic import write_atomic
from lastswitch.drawing import house_style
from lastswitch.logs.figures import draw_arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.logs.estimates import Estimate

#: Arms that get a figure and a section; the others, those played least, are in the tables only.
FIGURES = 40


def write_page(
    fit: CurveFit,
    path: str | PathLike[str],
    *,
    title: str = "Curves from a log",
    plan: str = "",
    figures: Mapping[int, Figure] | None = None,
) -> Path:
    """Write ``fit`` as a page; ``plan`` is the file name the next command is shown with.

    ``figures`` gives those already drawn, by arm.
    """
    return write_atomic(path, page(fit, title=title, plan=plan, figures=figures))


def page(
    fit: CurveFit,
    *,
    title: str = "Curves from a log",
    plan: str = "",
    figures: Mapping[int, Figure] | None = None,
) -> str:
    """Return the page as text; see :func:`write_page`."""
    import jinja2

    source = files("lastswitch.logs").joinpath("templates/fit.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["reward"] = _reward
    drawn = draw_most_played(fit) if figures is None else figures
    arms = [
        {
            "fit": fit.arms[arm],
            "findings": fit.findings[arm],
            "ends": _ends(fit.arms[arm]),
            "figure": _svg(drawn[arm], arm) if arm in drawn else None,
        }
        for arm in range(len(fit.arms))
    ]
    return environment.from_string(source).render(
        title=title, plan=plan, fit=fit, summary=fit.summary, arms=arms, words=_words(fit)
    )


def _ends(arm: ArmFit) -> list[Estimate | None]:
    """Return the shortest and the longest known rest and streak, None where there is none."""
    ends: list[Estimate | None] = []
    for side in (arm.rest, arm.streak):
        known = [state for state in side if state.known]
        ends += [side[0] if side and side[0].known else None, known[-1] if known else None]
    return ends


def draw_most_played(fit: CurveFit) -> dict[int, Figure]:
    """Draw the arms that get a figure, all or those played most; return the figures by arm."""
    order = sorted(range(len(fit.arms)), key=lambda arm: -fit.arms[arm].events)
    return {arm: draw_arm(fit, arm) for arm in sorted(order[:FIGURES])}


def _words(fit: CurveFit) -> dict[str, Any]:
    from lastswitch.logs.clock import MIDNIGHT
    from lastswitch.logs.summary import CAUTION

    summary, scale = fit.summary, fit.summary.scale
    ways = {
        "none": "as they are",
        "clip": "cut to [0, 1]",
        "minmax": f"mapped from [{scale.low:g}, {scale.high:g}] to [0, 1]",
    }
    rounds = "each subject's events, in order, are its rounds"
    if summary.every is not None:
        rounds = f"a round lasts {summary.every}, and a round without events is one of rest"
    if isinstance(summary.every, str):
        place = f"{summary.day_starts} of {summary.zone}" if summary.zone else MIDNIGHT
        rounds += f"; rounds are cut at {place}"
    if summary.skip:
        rounds += f"; those of {summary.skip} do not exist, and are no rests"
    return {"caution": CAUTION, "scale": ways[scale.rule], "rounds": rounds}


def _svg(figure: Figure, arm: int) -> str:
    buffer = io.StringIO()
    with house_style():
        figure.savefig(
            buffer, format="svg", metadata={"Date": None}, bbox_inches=figure.bbox_inches
        )
    text = buffer.getvalue()
    # Identifiers are a figure's own in a file but shared by a page: keep those of arms apart.
    body = text[text.index("<svg") :]
    for mark in ('id="', "url(#", 'href="#'):
        body = body.replace(mark, f"{mark}arm{arm}-")
    return body


def _reward(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
