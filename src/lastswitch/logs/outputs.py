"""Everything a fit leaves behind: the bandit, the fit, a table, a page and figures."""

from __future__ import annotations

import io
import os
import re
import tempfile
import threading
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_path
from lastswitch._utils.csv import csv_text
from lastswitch._utils.drawing import house_style, save_figure
from lastswitch.errors import FileError
from lastswitch.logs.figures import draw_arm
from lastswitch.logs.saving import SUFFIX, save_fit, save_fitted_bandit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.logs.estimates import Estimate


def write_outputs(fit: CurveFit, path: str | PathLike[str]) -> list[Path]:
    """Write ``fit`` around ``path``, the bandit's ``.toml``; return the files written.

    ``radio.toml`` comes with ``radio.fit.npz`` (the fit, for predicted gains),
    ``radio.states.csv`` (every state), ``radio.html`` and the folder ``radio-figures``.
    """
    target = check_target(path)
    drawn = draw_most_played(fit)
    figures = target.with_name(f"{target.stem}-figures")
    with tempfile.TemporaryDirectory(prefix=".lastswitch-", dir=target.parent) as folder:
        made = Path(folder)
        parts = [
            save_fitted_bandit(fit, made / target.name),
            save_fit(fit, made / target.with_suffix(SUFFIX).name),
            write_atomic(made / target.with_suffix(".states.csv").name, table(fit)),
            write_page(
                fit,
                made / target.with_suffix(".html").name,
                title=target.stem,
                plan=target.name,
                figures=drawn,
            ),
        ]
        moves = [(part, target.with_name(part.name)) for part in parts]
        for arm, figure in drawn.items():
            plain = re.sub(r"[^\w-]+", "-", fit.arms[arm].name).strip("-") or "arm"
            saved = save_figure(figure, made / f"{arm + 1:02d}-{plain[:60]}", ("png",))
            moves += [(part, figures / part.name) for part in saved]
        figures.mkdir(exist_ok=True)
        _move_all(moves)
    return [place for _, place in moves]


def _move_all(moves: list[tuple[Path, Path]]) -> None:
    """Put finished files in place, all of them: an interruption waits until they are.

    Each move is a rename within one disk; a thread of its own is not interrupted by Ctrl-C.
    """
    failed: list[OSError] = []

    def move() -> None:
        try:
            for made, place in moves:
                os.replace(made, place)
        except OSError as error:
            failed.append(error)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        mover.join()
    except KeyboardInterrupt:
        mover.join()
        raise
    if failed:
        raise FileError(f"cannot write {moves[0][1]}: {failed[0].strerror}.") from failed[0]


def check_target(path: str | PathLike[str], logs: Sequence[str] = ()) -> Path:
    """Refuse a path that :func:`write_outputs` could not write to, before any work is done.

    Nothing may be written over one of ``logs``.
    """
    target = check_path(path)
    if target.suffix != ".toml":
        raise FileError(f"the fitted bandit is written as .toml, got {str(target)!r}.")
    files = [target, *(target.with_suffix(end) for end in (SUFFIX, ".states.csv", ".html"))]
    for log in map(Path, logs):
        if any(log.resolve() == file.resolve() for file in files):
            raise FileError(
                f"{str(log)!r} is the log, which is never written to; rename the output."
            )
    for file in files:
        if file.is_dir():
            raise FileError(f"{file} cannot be written: it is a folder; rename the output.")
    figures = target.with_name(f"{target.stem}-figures")
    if figures.exists() and not figures.is_dir():
        raise FileError(f"figures cannot be written: {figures} is a file; rename the output.")
    if not target.parent.is_dir():
        raise FileError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    return target


def rows(fit: CurveFit) -> list[dict[str, Any]]:
    """Return one row per arm and state; ``tau`` is ``"first"`` for a first play."""
    return [
        {
            "arm": arm.name,
            "tau": "first" if state.tau is None else state.tau,
            "events": state.events,
            "mean": state.mean,
            "low": state.low,
            "high": state.high,
            "value": state.value,
            "pooled": "" if state.pooled is None else "{} to {}".format(*state.pooled),
            "known": "yes" if state.known else "no",
            "subjects": state.subjects,
        }
        for arm in fit.arms
        for state in (arm.first, *arm.estimates)
        if state.events or state.tau is not None
    ]


def table(fit: CurveFit) -> str:
    """Return :func:`rows` as CSV."""
    entries = rows(fit)
    return csv_text(
        list(entries[0]),
        ([float(f"{x:.6g}") if isinstance(x, float) else x for x in e.values()] for e in entries),
    )


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
