"""Everything a fit leaves behind: the bandit, the fit, a table, a page and figures."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._atomic import write_atomic
from lastswitch._checks import check_path
from lastswitch._csv import csv_text
from lastswitch.drawing import save_figure
from lastswitch.errors import FileError
from lastswitch.logs.page import draw_most_played, write_page
from lastswitch.logs.saving import SUFFIX, save_fit, save_fitted_bandit

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit


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
