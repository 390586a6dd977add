"""The one way this package compiles: cached Numba kernels, announced once.

Only modules that are loaded on use import this one, so ``import lastswitch`` stays light.
"""

from __future__ import annotations

import functools
import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
import numpy as np

from lastswitch._utils.kernel_cache import kept

#: Kernels that make arrays turn the indices of their innermost loops into this: Numba then leaves
#: out the test for negative ones, which halves the time of a loop that does little else. It has no
#: sum with a signed number (that is a float), so one more is `ONE` more.
index: Any = np.uint64
ONE: Any = np.uint64(1)
#: Turns a number into an integer: `int` is compiled anew for each kind, and a kernel that is handed
#: a plain `0` for each value.
whole: Any = np.int64

_LOG = logging.getLogger("lastswitch")
_announced: set[str] = set()

F = TypeVar("F", bound=Callable[..., Any])


def _understood(**options: Any) -> dict[str, Any]:
    """Return those of the options that this Numba has: without them kernels are slower, no more."""
    target = getattr(numba.njit(lambda: None), "targetdescr", None)
    known = getattr(target, "options", None)
    return {name: value for name, value in options.items() if hasattr(known, name)}


#: What every kernel is compiled with; none is called from C.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"} | _understood(
    no_cfunc_wrapper=True
)
#: Kernels that are called by others only need no way in from Python.
_INNER = _understood(no_cpython_wrapper=True)
#: Kernels that make no array count no references to arrays, which can take as long as their work.
_PLAIN = _understood(_nrt=False)


@overload
def jit(function: F) -> F: ...
@overload
def jit(
    *, inner: bool = False, inline: bool = False, makes_arrays: bool = False
) -> Callable[[F], F]: ...
def jit(
    function: F | None = None,
    *,
    inner: bool = False,
    inline: bool = False,
    makes_arrays: bool = False,
) -> F | Callable[[F], F]:
    """Compile a function on first use, and keep the result on disk for the next process.

    Parameters
    ----------
    function
        What to compile.
    inner
        Other kernels alone call it: it is compiled sooner, and kept as a part of these.
    inline
        The same, and it is copied into its callers before they are compiled: for innermost loops,
        as a call hands over every array in seven words.
    makes_arrays
        It makes arrays, which are freed only if references to them are counted.
    """
    if function is None:
        return functools.partial(jit, inner=inner, inline=inline, makes_arrays=makes_arrays)
    options = _OPTIONS if makes_arrays else _OPTIONS | _PLAIN
    if inline:
        options = options | {"inline": "always"}
    if inner or inline:
        return cast(F, numba.njit(**options | _INNER)(function))
    return cast(F, kept(function, **options))


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
    """Tell whether compiled code of ``kernel`` is there, of this process or an earlier one."""
    if getattr(kernel, "signatures", None):
        return True
    folder = getattr(getattr(kernel, "stats", None), "cache_path", None)
    return folder is not None and any(Path(folder).glob(f"*.{kernel.__qualname__}-*.nbc"))
