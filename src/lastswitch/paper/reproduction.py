"""The paper in one call: run it, draw it, measure its table, and write a report."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.progress import Report
from lastswitch.errors import ExperimentError, FileError
from lastswitch.experiments.backends import Backend
from lastswitch.experiments.comparison import Comparison
from lastswitch.experiments.experiment import FailedTasksError, run_experiments
from lastswitch.experiments.runner import Task, run_tasks
from lastswitch.paper.figures import PICTURES, save_picture
from lastswitch.paper.findings import findings, summary
from lastswitch.paper.report import render_report
from lastswitch.paper.settings import RUNS, paper_experiments
from lastswitch.paper.table_1 import RESTS, SAMPLES, STREAKS, Cell, measure_cell

#: Runs, rounds and random blocks of a quick look.
QUICK_RUNS, QUICK_HORIZON, QUICK_SAMPLES = 2, 1100, 200


class Reproduction(NamedTuple):
    """What was found and where it was written.

    Attributes
    ----------
    comparisons
        The comparison of each instance.
    table_1
        The cells of Table 1, measured.
    conclusions
        What the numbers say.
    report
        The page to open.

    Examples
    --------
    >>> Reproduction({}, [], ["It holds."], Path("results/report.html")).report.name
    'report.html'
    """

    comparisons: dict[str, Comparison]
    table_1: list[Cell]
    conclusions: list[str]
    report: Path


def reproduce(
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    backend: Backend = "loky",
    progress: bool | Report | None = True,
) -> Reproduction:
    """Run the paper's experiments and write figures, ``summary.json`` and ``report.html``.

    Parameters
    ----------
    out
        The folder to write to. A call that was interrupted goes on where it stopped.
    quick
        A look in seconds: few and short runs.
    runs, horizon, seed
        Other settings than the paper's (10 runs; 5112 rounds on five arms, 5060 on two).
    n_jobs, backend, progress
        As for :func:`~lastswitch.compare`.

    Examples
    --------
    ``reproduce("results")`` writes ``results/report.html`` and all that it shows. What cannot be
    written is told before anything is run:

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     reproduce(file.name, quick=True, progress=False)
    Traceback (most recent call last):
    lastswitch.errors.ExperimentError: cannot keep results in ...: Not a directory; choose ...
    """
    folder = Path(out)
    chosen_runs = runs if runs is not None else QUICK_RUNS if quick else RUNS
    rounds = horizon if horizon is not None else QUICK_HORIZON if quick else None
    parts = paper_experiments(chosen_runs, rounds, seed)
    experiments = {key: part.experiment for key, part in parts.items()}
    store = folder / "unfinished"
    found = run_experiments(
        experiments, n_jobs=n_jobs, backend=backend, store=store, progress=progress
    )
    samples = QUICK_SAMPLES if quick else SAMPLES
    cells = _measure_and_draw(found, folder / "figures", samples, seed, n_jobs, progress)
    rows = findings(parts, found)
    told = summary(parts, found, rows, cells)
    page = render_report(parts, found, rows, cells, told["conclusions"], folder / "figures")
    report = _write(folder, found, json.dumps(told, indent=2, sort_keys=True), page)
    shutil.rmtree(store, ignore_errors=True)  # everything is in the results now
    return Reproduction(found, cells, told["conclusions"], report)


def _measure_and_draw(
    found: dict[str, Comparison],
    figures: Path,
    samples: int,
    seed: int,
    n_jobs: int | None,
    progress: bool | Report | None,
) -> list[Cell]:
    """Measure the six cells of Table 1 and draw every figure, on this machine's cores."""
    _make_folder(figures)
    tasks = [
        Task(f"figure {picture.name}", "", {}, save_picture, (picture, shown, figures))
        for picture in PICTURES
        for shown in [found.get(picture.instance)]
    ]
    shapes = [(rest, streak) for rest in RESTS for streak in STREAKS]
    tasks += [
        Task(f"Table 1, {rest} and {streak}", "", {}, measure_cell, (rest, streak, samples, seed))
        for rest, streak in shapes
    ]
    results, failures = run_tasks(tasks, n_jobs=n_jobs, progress=progress, what="Drawing")
    if failures:
        raise FailedTasksError(failures, found)
    return [Cell(**results[at]) for at in range(len(PICTURES), len(tasks))]


def _write(folder: Path, found: dict[str, Comparison], summary_text: str, page: str) -> Path:
    """Write the comparisons, the summary and the report."""
    for name, comparison in found.items():
        comparison.save(folder / f"{name}.npz")
    try:
        write_atomic(folder / "summary.json", summary_text + "\n")
        return write_atomic(folder / "report.html", page)
    except FileError as error:
        raise ExperimentError(
            f"{error} Mend that and run the same again, finished runs are kept."
        ) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExperimentError(
            f"cannot write the results to {folder}: {error.strerror or error}; choose a folder "
            "that can be written to."
        ) from error
