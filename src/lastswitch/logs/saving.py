"""Fits as files: the counts and how they were read, so that a loaded fit is the fit itself."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from lastswitch._atomic import write_atomic
from lastswitch._checks import check_path
from lastswitch.errors import FileError, LastSwitchError
from lastswitch.logs.armfit import FitRules
from lastswitch.logs.cleaning import BadRows
from lastswitch.logs.counts import Counts

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit

FORMAT = "lastswitch-fit-1"
#: What a fit's file is called beside the bandit it belongs to: ``radio.toml``, ``radio.fit.npz``.
SUFFIX = ".fit.npz"

_ARRAYS = ("group", "arm", "column", "events", "total", "squares")


def save_fit(fit: CurveFit, path: str | PathLike[str]) -> Path:
    """Write ``fit`` to one compressed file; :func:`load_fit` gives it back."""
    counts = fit.counts
    header = {
        "format": FORMAT,
        "names": counts.names,
        "rest": counts.rest,
        "streak": counts.streak,
        "groups": counts.groups,
        "rules": fit.rules._asdict(),
        "summary": asdict(fit.summary) | {"scale": fit.summary.scale._asdict()},
    }
    buffer = io.BytesIO()
    arrays = {name: getattr(counts, name) for name in _ARRAYS}
    np.savez_compressed(buffer, header=np.array(json.dumps(header)), **arrays)
    return write_atomic(path, buffer.getvalue())


def load_fit(path: str | PathLike[str]) -> CurveFit:
    """Read a fit that ``fit.save(path)`` wrote.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> log = ls.logs.simulate(ls.Bandit([([0.9], [0.1])] * 2), subjects=20, rounds=20, seed=0)
    >>> fit = ls.fit_curves(log)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_fit(fit.save(f"{folder}/radio.fit.npz")).bandit == fit.bandit
    True
    """
    from lastswitch.logs.curvefit import LogSummary, Scale, fit_counts

    file = check_path(path)
    try:
        header, arrays = _read(file)
        counts = Counts(
            tuple(header["names"]), header["rest"], header["streak"], header["groups"], **arrays
        )
        summary = header["summary"]
        summary["scale"] = Scale(**summary["scale"])
        summary["bad"] = tuple(
            BadRows(entry["kind"], entry["count"], tuple(entry["examples"]))
            for entry in summary["bad"]
        )
        return fit_counts(counts, LogSummary(**summary), FitRules(**header["rules"]))
    except LastSwitchError:
        raise
    except FileNotFoundError as error:
        raise FileError(f"no fit at {str(file)!r}; save one with fit.save(path).") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise FileError(f"{str(file)!r} is not a saved fit: {error}.") from error


def fit_beside(bandit: str | PathLike[str]) -> Path | None:
    """Return the file of the fit that ``bandit``'s file came from, if it lies beside it.

    Examples
    --------
    >>> fit_beside("written-by-hand.toml") is None
    True
    """
    path = check_path(bandit)
    beside = path.with_suffix(SUFFIX) if path.name else path
    return beside if beside.is_file() else None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        arrays = {name: file[name] for name in _ARRAYS}
    if header["format"] != FORMAT:
        raise FileError(
            f"{str(path)!r} is of format {header['format']!r}; this release reads {FORMAT!r}."
        )
    return header, arrays
