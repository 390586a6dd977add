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
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

#: Kernels turn the indices of their innermost loops into this: Numba then leaves out the test for
#: negative ones, which halves the time of a loop that does little else. It has no sum with a signed
#: number (that is a float), so one more is `ONE` more.
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
_announced: set[str] = set()

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile ``function`` on first use and keep the result on disk for the next process."""
    return cast(F, numba.njit(**_OPTIONS)(function))


def inner(function: F) -> F:
    """Compile ``function`` for other kernels only: without a way in from Python, so sooner."""
    return cast(F, numba.njit(**_INNER)(function))


def bare(function: F) -> F:
    """Compile as :func:`jit`, without counting references to arrays.

    For kernels that make no array and take named tuples of them: counting every use of a field
    would take as long as the work itself.
    """
    return cast(F, numba.njit(**_OPTIONS | {"_nrt": False})(function))


def bare_inner(function: F) -> F:
    """Compile as :func:`inner`, for kernels that are :func:`bare`."""
    return cast(F, numba.njit(**_INNER | {"_nrt": False})(function))


def hot(function: F) -> F:
    """Compile into the :func:`bare` kernels that call it, for their innermost loops.

    A call would hand over every array in a dozen words.
    """
    return cast(F, numba.njit(**_INNER | {"_nrt": False, "inline": "always"})(function))


def at(array: Any, *place: Any) -> Any:
    """Return an entry of an array; a kernel takes the place as it is, not from the end.

    It is the same as ``array[place]``, of whatever integers. But a kernel need not ask whether they
    are negative, and its compiler does not go through the two dozen things that brackets may mean,
    again and again: kernels that read much compile a sixth sooner.

    Examples
    --------
    >>> at(np.array([1.0, 2.0]), 1).item()
    2.0
    """
    return array[place]


def put(array: Any, place: Any, value: Any) -> None:
    """Write an entry of a vector, as :func:`at` reads it.

    Examples
    --------
    >>> vector = np.zeros(2)
    >>> put(vector, 1, 0.5)
    >>> vector
    array([0. , 0.5])
    """
    array[place] = value


@infer_global(at)
class _At(AbstractTemplate):
    """The type of an entry, for arrays whose entries follow each other."""

    def generic(self, args: Any, kws: Any) -> Any:
        array, *place = args
        if isinstance(array, types.Array) and array.ndim == len(place) and array.layout == "C":
            return signature(array.dtype, array, *map(types.unliteral, place))
        return None


@infer_global(put)
class _Put(AbstractTemplate):
    """What writing an entry takes."""

    def generic(self, args: Any, kws: Any) -> Any:
        array, place, _ = args
        if isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C":
            return signature(types.none, array, types.unliteral(place), array.dtype)
        return None


def _entry(context: Any, builder: Any, kinds: Any, array: Any, place: Any) -> Any:
    """Return where in memory an entry is, and how its kind of number is kept there."""
    kind, *integers = kinds
    fields, whole_place = context.data_model_manager[kind], None
    for axis, (integer, given) in enumerate(zip(integers, place, strict=True)):
        step = context.cast(builder, given, integer, types.intp)
        if whole_place is not None:
            long = builder.extract_value(fields.get(builder, array, "shape"), axis)
            step = builder.add(builder.mul(whole_place, long), step)
        whole_place = step
    data = fields.get(builder, array, "data")
    return builder.gep(data, [whole_place], inbounds=True), context.data_model_manager[kind.dtype]


def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    where, kept = _entry(context, builder, sig.args, args[0], args[1:])
    return kept.load_from_data_pointer(builder, where)


def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    where, kept = _entry(context, builder, sig.args[:2], args[0], args[1:2])
    builder.store(kept.as_data(builder, args[2]), where)
    return context.get_dummy_value()


for _axes in (1, 2, 3):
    lower_builtin(at, types.Array, *[types.Integer] * _axes)(_read)
lower_builtin(put, types.Array, types.Integer, types.Any)(_write)


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
