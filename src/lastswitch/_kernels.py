"""The one way this package compiles: cached Numba kernels, announced once.

Only modules that are loaded on use import this one, so ``import lastswitch`` stays light.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
import numpy as np

from lastswitch._plain_compiler import PlainCompiler

#: Kernels that make arrays turn the indices of their innermost loops into this: Numba then leaves
#: out the test for negative ones, which halves the time of a loop that does little else. It has no
#: sum with a signed number (that is a float), so one more is `ONE` more.
index: Any = np.uint64
ONE: Any = np.uint64(1)
#: Turns a number into an integer: `int` is compiled anew for each kind, and a kernel that is handed
#: a plain `0` for each value.
whole: Any = np.int64

_LOG = logging.getLogger("lastswitch")
#: What every kernel is compiled with; none is called from C.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
#: What those are that other kernels call: their code is part of what the callers keep on disk.
_INNER: dict[str, Any] = _OPTIONS | {"cache": False, "no_cpython_wrapper": True}
#: What those are compiled with, besides, that make no array.
_BARE: dict[str, Any] = {"_nrt": False, "pipeline_class": PlainCompiler}
_announced: set[str] = set()

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile ``function`` on first use and keep the result on disk for the next process."""
    return cast(F, numba.njit(**_OPTIONS)(function))


def inner(function: F) -> F:
    """Compile ``function`` for other kernels only: without a way in from Python, so sooner."""
    return cast(F, numba.njit(**_INNER)(function))


def bare(function: F) -> F:
    """Compile as :func:`jit`, without counting references to arrays, and sooner.

    For kernels that make no array and take named tuples of them: counting every use of a field
    would take as long as the work itself. A negative place is none (:mod:`lastswitch._brackets`),
    and a variable has one type throughout.
    """
    return cast(F, numba.njit(**_OPTIONS | _BARE)(function))


def bare_inner(function: F) -> F:
    """Compile as :func:`inner`, for kernels that are :func:`bare`."""
    return cast(F, numba.njit(**_INNER | _BARE)(function))


def hot(function: F) -> F:
    """Compile into the :func:`bare` kernels that call it, for their innermost loops.

    A call would hand over every array in a dozen words.
    """
    return cast(F, numba.njit(**_INNER | _BARE | {"inline": "always"})(function))


@contextmanager
def compiling() -> Iterator[None]:
    """Leave the garbage alone for a while.

    The compiler makes a great many objects, nearly all of which stay: the collector would look
    through them again and again, which takes a tenth of the time and more.

    Examples
    --------
    >>> with compiling():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
