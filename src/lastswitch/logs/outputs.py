"""Everything a fit leaves behind: the bandit, the fit, a table, a page and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._atomic import write_atomic
from lastswitch._checks import check_path
from lastswitch._csv import csv_text
from lastswitch.drawing import save_figure
from lastswitch.errors import FileError
from lastswitch.files import save_bandit
from lastswitch.logs.page import draw_most_played, write_page
from lastswitch.logs.saving import SUFFIX, save_fit

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit


def write_outputs(fit: CurveFit, path: str | PathLike[str]) -> list[Path]:
    """Write ``fit`` around ``path``, the bandit's ``.toml``; return the files written.

    ``radio.toml`` comes with ``radio.fit.npz`` (the fit, for predicted gains),
    ``radio.states.csv`` (every state), ``radio.html`` and the folder ``radio-figures``.
    """
    target = check_target(path)
    drawn = draw_most_played(fit)
    written = [
        save_bandit(fit.bandit, target),
        save_fit(fit, target.with_suffix(SUFFIX)),
        write_atomic(target.with_suffix(".states.csv"), table(fit)),
        write_page(
            fit,
            target.with_suffix(".html"),
            title=target.stem,
            plan=target.name,
            figures=drawn,
        ),
    ]
    folder = target.with_name(f"{target.stem}-figures")
    folder.mkdir(exist_ok=True)
    for arm, figure in drawn.items():
        plain = re.sub(r"[^\w-]+", "-", fit.arms[arm].name).strip("-") or "arm"
        written += save_figure(figure, folder / f"{arm + 1:02d}-{plain[:60]}", ("png",))
    return written


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
        ([f"{x:.6g}" if isinstance(x, float) else x for x in e.values()] for e in entries),
    )
