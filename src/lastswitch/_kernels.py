"""The one way this package compiles: cached Numba kernels, announced once.

Only modules that are loaded on use import this one, so ``import lastswitch`` stays light.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_LOG = logging.getLogger("lastswitch")
_announced: set[str] = set()

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile ``function`` on first use and keep the result on disk for the next process."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def announce(what: str, kernel: Callable[..., Any]) -> None:
    """Say, once per process, that ``kernel`` is about to be compiled (if it is not cached).

    The line goes to the ``lastswitch`` logger at warning level, so it reaches stderr by default
    and ``logging.getLogger("lastswitch").setLevel("ERROR")`` silences it.
    """
    if what in _announced:
        return
    _announced.add(what)
    if not _has_cache_file(kernel):
        _LOG.warning("lastswitch: compiling the %s kernels, once (a few seconds) ...", what)


def _has_cache_file(kernel: Callable[..., Any]) -> bool:
    """Tell whether an earlier process left compiled code of ``kernel`` on disk."""
    if getattr(kernel, "signatures", None):
        return True  # compiled in this process already
    try:
        cache_file = kernel._cache._cache_file  # type: ignore[attr-defined]
        return bool(cache_file._load_index())
    except Exception:  # Numba's internals moved: an extra notice harms nobody
        return False
