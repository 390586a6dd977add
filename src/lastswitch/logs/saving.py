"""Fits as files: the counts and how they were read, so that a loaded fit is the fit itself.

A fit knows the digest of the bandit it gave. The bandit's file is recognised by its content, not
by its name: copied, renamed or written again by hand to the same numbers, it still finds its fit;
with other numbers it is another bandit, of which the fit says nothing.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_path, check_whole
from lastswitch._utils.codec import (
    array_digest,
    digest,
    parse_json,
    read_arrays,
    rebuilding,
    stamp,
    typed,
    unstamp,
)
from lastswitch.errors import FileError
from lastswitch.logs.armfit import FitRules, check_rules
from lastswitch.logs.counts import GROUPS, MOST_STATES, Counts, check_tables
from lastswitch.logs.summary import LogSummary
from lastswitch.model.files import bandit_to_dict, load_bandit, to_toml

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.model.bandit import Bandit

VERSION = 2
#: What a fit's file is called beside the bandit it belongs to: ``radio.toml``, ``radio.fit.npz``.
SUFFIX = ".fit.npz"

_ARRAYS = ("subject", "arm", "column", "events", "total", "squares")
_MARK = re.compile(r"^# fitted from a log: ([0-9a-f]{64})$", re.MULTILINE)


class FoundFit(NamedTuple):
    """The fit a bandit's file came from, if it is there; and whether the file was changed since."""

    fit: CurveFit | None
    edited: bool = False
    lost: bool = False


def bandit_digest(bandit: Bandit) -> str:
    """Return the digest of what a bandit pays: its arms and their curves.

    Examples
    --------
    >>> from lastswitch import Bandit
    >>> one, other = (Bandit([([pay], [0.1])]) for pay in (0.5, 0.6))
    >>> bandit_digest(one) == bandit_digest(one), bandit_digest(one) == bandit_digest(other)
    (True, False)
    """
    return digest(bandit_to_dict(bandit)["arms"])


def save_fitted_bandit(fit: CurveFit, path: Path) -> Path:
    """Write the fitted bandit as TOML, with a mark that says which fit it is from."""
    mark = f"# fitted from a log: {fit.digest}"
    about = "# (changed by hand, these curves are yours: what the log predicts no longer applies)"
    return write_atomic(path, f"{mark}\n{about}\n{to_toml(bandit_to_dict(fit.bandit))}")


def find_fit(path: str | PathLike[str]) -> FoundFit:
    """Return the fit that the bandit in a file came from, found by content.

    It may have any name in the bandit's folder. A file whose curves were changed since, or whose
    fit is not there, is told apart from one that never came from a log.

    Examples
    --------
    >>> find_fit("five-arms")
    FoundFit(fit=None, edited=False, lost=False)
    """
    file = check_path(path)
    if file.suffix not in (".toml", ".json") or not file.is_file():
        return FoundFit(None)
    mine = bandit_digest(load_bandit(file))
    for beside in sorted(file.parent.glob(f"*{SUFFIX}")):
        if _bandit_of(beside) == mine:
            return FoundFit(load_fit(beside))
    marked = _MARK.search(file.read_text(encoding="utf-8-sig"))
    if marked is None:
        return FoundFit(None)
    return FoundFit(None, edited=marked[1] != mine, lost=marked[1] == mine)


def save_fit(fit: CurveFit, path: str | PathLike[str]) -> Path:
    """Write ``fit`` to one compressed file; :func:`load_fit` gives it back."""
    counts = fit.counts
    arrays = {name: getattr(counts, name) for name in _ARRAYS}
    header = {
        "names": counts.names,
        "rest": counts.rest,
        "streak": counts.streak,
        "groups": counts.groups,
        "bandit": fit.digest,
        "rules": fit.rules._asdict(),
        "summary": asdict(fit.summary) | {"scale": fit.summary.scale._asdict()},
        "arrays": array_digest(arrays),
    }
    buffer = io.BytesIO()
    stamped = json.dumps(stamp("fit", VERSION, header), ensure_ascii=False)
    np.savez_compressed(buffer, header=np.array(stamped), **arrays)
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
    ...     ls.load_fit(fit.save(f"{folder}/radio.fit.npz")).bandit == fit.bandit
    True
    """
    from lastswitch.logs.curvefit import fit_counts

    file = check_path(path)
    arrays = read_arrays(file, "fit")
    with rebuilding(str(file)):
        header = _header(arrays.pop("header"), str(file))
        if array_digest(arrays) != header["arrays"]:
            raise FileError(f"{file} is damaged: its counts are not those it was saved with.")
        rules = typed(FitRules, header["rules"])
        check_rules(rules)
        summary = typed(LogSummary, header["summary"])
        if not (0 < summary.share <= 1 and math.isfinite(1 / summary.share)):
            raise FileError(f"{file} is damaged: a share of {summary.share} is none.")
        return fit_counts(_counts(header, arrays), summary, rules)


def _header(text: np.ndarray[Any, Any], where: str) -> dict[str, Any]:
    return unstamp(parse_json(str(text), where), "fit", VERSION, where)


def _counts(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Counts:
    """Return the counts of a fit's file; every cell must lie within the arms and states named."""
    names = typed(tuple[str, ...], header["names"], "'names'")
    rest, streak, groups = (
        check_whole(name, header[name], 1, FileError, most=most)
        for name, most in (("rest", MOST_STATES), ("streak", MOST_STATES), ("groups", GROUPS))
    )
    check_tables(len(names), rest, streak)
    counts = Counts(names, rest, streak, groups, **{name: arrays[name] for name in _ARRAYS})
    for values, most in (
        (counts.subject, 2**62),
        (counts.arm, counts.n_arms),
        (counts.column, counts.width),
    ):
        if (
            values.dtype != np.int64
            or values.ndim != 1
            or not ((values >= 0) & (values < most)).all()
        ):
            raise FileError("its counts name an arm or a state that it does not have")
    for sums in counts.sums:
        if sums.dtype != np.float64 or not np.isfinite(sums).all():
            raise FileError("its counts are not finite numbers")
    if len({len(arrays[name]) for name in _ARRAYS}) > 1 or not (counts.events > 0).all():
        raise FileError("its counts do not go together")
    if (np.diff(counts.arm) < 0).any():
        raise FileError("its counts are not sorted by arm")
    return counts


def _bandit_of(path: Path) -> str | None:
    """Return the digest of the bandit that a fit's file gave, None if it is no such file."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as held:
            found = json.loads(str(held["header"]))
        return found.get("bandit") if isinstance(found, dict) else None
    except Exception:  # a damaged file beside a bandit is not its fit, whatever is wrong with it
        return None
