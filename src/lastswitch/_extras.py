"""Optional dependencies: load on use, and say what to install when they are not there."""

from __future__ import annotations

import importlib
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
        raise MissingExtraError(
            f"this feature needs {module}, which is not installed; "
            f"run: pip install 'lastswitch[{extra}]'",
            name=error.name,
        ) from error
