"""Sweeps as files: instances × policies × parameters, written down in TOML.

::

    horizon = 5000
    runs = 10
    seed = 0

    [instances]                      # a known instance or a bandit file, under a name of yours
    paper = "five-arms"
    radio = "radio.toml"

    [policies.greedy]
    type = "OracleGreedy"

    [policies.isi]
    type = "ISICombUCB1"
    length = 4

    [policies.isi.each]              # one policy for each combination of these
    alpha = [0.5, 1.5]
"""

from __future__ import annotations

import inspect
import itertools
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lastswitch._utils.checks import check_path
from lastswitch._utils.codec import parse_toml, read_text
from lastswitch._utils.progress import Report
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import ExperimentError, LastSwitchError
from lastswitch.experiments.backends import Backend
from lastswitch.experiments.comparison import Comparison
from lastswitch.experiments.experiment import Experiment, FailedTasksError, run_experiments
from lastswitch.experiments.tasks import Factory
from lastswitch.model.bandit import Bandit

_TOP = ("horizon", "runs", "seed", "subjects", "instances", "policies")


def read_sweep(path: str | os.PathLike[str]) -> dict[str, Experiment]:
    """Read a sweep and return one experiment per instance, checked as far as can be.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '''
    ... horizon = 100
    ... instances = {paper = "two-arms"}
    ... [policies.cycle]
    ... type = "FixedCycle"
    ... each = {block = [[0, 1], [0, 1, 1]]}
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "sweep.toml"
    ...     _ = file.write_text(text)
    ...     sweep = read_sweep(file)
    >>> list(sweep["paper"].policies)
    ['cycle block=[0, 1]', 'cycle block=[0, 1, 1]']
    """
    file = check_path(path)
    data = parse_toml(read_text(file), str(file))
    try:
        return _experiments(data, file.parent)
    except LastSwitchError as error:
        raise ExperimentError(f"{file}: {error}") from error


def run_sweep(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    backend: Backend = "loky",
    progress: bool | Report | None = True,
) -> dict[str, Comparison]:
    """Run a sweep and save the comparison of each instance to ``out`` as ``.npz``.

    Finished tasks are kept in ``out``, so the same call goes on where an earlier one stopped. If
    some tasks fail, the comparisons of the others are saved before the error is raised.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '''
    ... horizon = 9
    ... runs = 2
    ... instances.paper = "two-arms"
    ... policies.greedy.type = "OracleGreedy"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "sweep.toml"
    ...     _ = file.write_text(text)
    ...     found = run_sweep(file, folder, n_jobs=1, progress=False)
    ...     (pathlib.Path(folder) / "paper.npz").exists(), list(found)
    (True, ['paper'])
    """
    sweep = read_sweep(path)
    folder = Path(out)
    try:
        found = run_experiments(
            sweep, n_jobs=n_jobs, backend=backend, store=folder / "store", progress=progress
        )
    except FailedTasksError as error:
        _save(error.finished, folder)
        raise
    _save(found, folder)
    return found


def slug(name: str) -> str:
    """Return ``name`` as a file may be called.

    Examples
    --------
    >>> slug("pinwheel:2,4,8")
    'pinwheel-2-4-8'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-") or "unnamed"


def _save(found: Mapping[str, Comparison], folder: Path) -> None:
    for name, comparison in found.items():
        comparison.save(folder / f"{slug(name)}.npz")


def _experiments(data: Mapping[str, Any], folder: Path) -> dict[str, Experiment]:
    for key in data:
        _known("the top level", key, _TOP)
    for key in ("horizon", "instances", "policies"):
        if key not in data:
            raise ExperimentError(f"{key!r} is missing.")
    for key in ("instances", "policies"):
        if not isinstance(data[key], dict) or not data[key]:
            raise ExperimentError(f"{key!r} must be a table with at least one entry.")
    policies: dict[str, Factory] = {}
    for name, entry in data["policies"].items():
        policies |= _variants(name, entry)
    files: dict[str, str] = {}
    for name in data["instances"]:
        other = files.setdefault(slug(name), name)
        if other != name:
            raise ExperimentError(
                f"instances {other!r} and {name!r} would be saved to one file; rename one."
            )
    settings = {key: data[key] for key in ("horizon", "runs", "seed", "subjects") if key in data}
    return {
        name: Experiment(_bandit(name, text, folder), policies, **settings)
        for name, text in data["instances"].items()
    }


def _bandit(name: str, text: Any, folder: Path) -> Bandit:
    """Return an instance: a file beside the sweep, or a name that is known."""
    from lastswitch.model.files import find_bandit, load_bandit

    if not isinstance(text, str):
        raise ExperimentError(f"instance {name!r} must be a text like 'five-arms', got {text!r}.")
    try:
        beside = folder / text
        return load_bandit(beside) if beside.is_file() else find_bandit(text)
    except LastSwitchError as error:
        raise ExperimentError(f"instance {name!r}: {error}") from error


def _variants(name: str, entry: Any) -> dict[str, Factory]:
    """Return one factory per combination of the parameters under ``each``."""
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        raise ExperimentError(f'policy {name!r} needs a type, such as type = "RotationUCB".')
    kind = _policy(name, entry["type"])
    each = entry.get("each", {})
    fixed = {key: value for key, value in entry.items() if key not in ("type", "each")}
    if not isinstance(each, dict) or not all(isinstance(v, list) and v for v in each.values()):
        raise ExperimentError(f"policy {name!r}: each must hold lists, got {each!r}.")
    takes = inspect.signature(kind).parameters
    for key in (*fixed, *each):
        _known(f"policy {name!r}", key, tuple(takes))
    variants: dict[str, Factory] = {}
    for values in itertools.product(*each.values()):
        chosen = dict(zip(each, values, strict=True))
        label = " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])
        variants[label] = partial(kind, **fixed, **chosen)
    return variants


def _policy(name: str, kind: str) -> Callable[..., Any]:
    """Return the policy class called ``kind``."""
    import lastswitch.learning as learning

    known = {
        entry: found
        for entry in dir(learning)
        for found in [getattr(learning, entry)]
        if isinstance(found, type) and issubclass(found, learning.Policy)
    }
    del known["Policy"]
    if kind not in known:
        raise ExperimentError(
            f"policy {name!r}: there is no policy type {kind!r}{suggestion(kind, known)}; "
            f"types are {', '.join(sorted(known))}."
        )
    return known[kind]


def _known(where: str, key: str, known: tuple[str, ...]) -> None:
    if key not in known:
        raise ExperimentError(
            f"{where}: unknown name {key!r}{suggestion(key, known)}; known are {', '.join(known)}."
        )
