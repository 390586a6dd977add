"""Optional dependencies: load on use, and say what to install when they are not there."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, requires
from types import ModuleType

from lastswitch.errors import MissingExtraError


def load_extra(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say which extra of this package brings it.

    Examples
    --------
    >>> load_extra("json", "logs").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name != module.partition(".")[0]:
            raise  # installed but broken: show the real reason
        # What the extra consists of, for a checkout has no "lastswitch" to install from elsewhere.
        needs = " ".join(f"'{need}'" for need in _requirements(extra)) or module
        raise MissingExtraError(
            f"this feature needs {module}, which is not installed; "
            f"run: pip install {needs} (the extra '{extra}' of lastswitch)",
            name=error.name,
        ) from error


def _requirements(extra: str) -> list[str]:
    """Return what ``extra`` asks for, the extras it builds on included.

    Examples
    --------
    >>> _requirements("gym")
    ['gymnasium>=1.0']
    """
    try:
        listed = requires("lastswitch") or []
    except PackageNotFoundError:  # a checkout that is not installed
        return []
    found = []
    for line in listed:
        need, _, marker = line.partition(";")
        if marker.replace('"', "'").strip().endswith(f"extra == '{extra}'"):
            own = need.strip().removeprefix("lastswitch[")
            if own != need.strip():
                found += [n for part in own.rstrip("]").split(",") for n in _requirements(part)]
            else:
                found.append(need.strip())
    return found
