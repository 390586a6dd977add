"""Brackets in kernels that make no array: one call of a known type.

What brackets may mean is half the work of compiling: a place counted from either end, a slice, a
mask and two dozen more, looked through again for every use. Here ``array[place]`` becomes a call of
one function, which takes places as they are: *a negative one does not count from the end*, nor is
that asked in every turn of a loop. (With ``NUMBA_BOUNDSCHECK=1`` every place is checked, so a test
can tell that none is outside.)
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin


@register_pass(mutates_CFG=False, analysis_only=False)
class PlainBrackets(FunctionPass):
    """Brackets become calls of :func:`entry` and :func:`put`."""

    _name = "lastswitch_plain_brackets"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        names = (f"$plain.{number}" for number in itertools.count())
        for block in state.func_ir.blocks.values():
            body: list[Any] = []
            tuples: dict[str, list[Any]] = {}
            for line in block.body:
                body += _plainly(line, tuples, block.scope, names)
                _remember(line, tuples)
            block.body = body
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


def _remember(line: Any, tuples: dict[str, list[Any]]) -> None:
    """Keep the tuples that are still made of what their variables hold."""
    if not isinstance(line, ir.Assign):
        return
    changed = line.target.name
    for name, parts in list(tuples.items()):
        if name == changed or changed in {part.name for part in parts}:
            del tuples[name]
    if isinstance(line.value, ir.Expr) and line.value.op == "build_tuple":
        tuples[changed] = list(line.value.items)


def _plainly(
    line: Any, tuples: dict[str, list[Any]], scope: Any, names: Iterator[str]
) -> list[Any]:
    """Return a line of a kernel as it is, or if it uses brackets, as a call."""

    def called(function: Any, to: Any, array: Any, place: Any, *value: Any) -> list[Any]:
        name = ir.Var(scope, next(names), line.loc)
        what = ir.Global(function.__name__, function, line.loc)
        places = tuples.get(place.name, [place])
        call = ir.Expr.call(name, [array, *value, *places], (), line.loc)
        return [ir.Assign(what, name, line.loc), ir.Assign(call, to, line.loc)]

    if isinstance(line, ir.Assign) and isinstance(line.value, ir.Expr):
        if line.value.op == "getitem":
            return called(entry, line.target, line.value.value, line.value.index)
        return [line]
    if isinstance(line, ir.SetItem):
        place = line.index
    elif isinstance(line, ir.StaticSetItem) and isinstance(line.index, int) and line.index >= 0:
        place = line.index_var
    else:
        return [line]
    nothing = ir.Var(scope, next(names), line.loc)
    return called(put, nothing, line.target, place, line.value)


def entry(array: Any, *places: Any) -> Any:
    """Return an entry of an array, as a kernel does.

    Examples
    --------
    >>> entry([1.0, 2.0], 1)
    2.0
    """
    return array[places if len(places) > 1 else places[0]]


def put(array: Any, value: Any, *places: Any) -> None:
    """Write an entry of an array, as a kernel does.

    Examples
    --------
    >>> written = [1.0, 2.0]
    >>> put(written, 0.5, 1)
    >>> written
    [1.0, 0.5]
    """
    array[places if len(places) > 1 else places[0]] = value


def _is_plain(array: Any, places: Any) -> bool:
    """Tell whether the places are of one entry, of an array whose entries follow each other."""
    if not isinstance(array, types.Array) or array.ndim != len(places):
        return False
    if array.layout != "C" or not array.aligned:
        return False
    return all(isinstance(types.unliteral(place), types.Integer) for place in places)


def _between(kinds: Any) -> Any:
    """Return the type of what Numba finds between brackets."""
    return kinds[0] if len(kinds) == 1 else types.BaseTuple.from_types(kinds)


@infer_global(entry)
class _Entry(AbstractTemplate):
    """The type of an entry; rows of a matrix and fields of a tuple are as Numba has them."""

    def generic(self, args: Any, kws: Any) -> Any:
        array, *places = args
        if _is_plain(array, places):
            return signature(array.dtype, array, *map(types.unliteral, places))
        found = self.context.resolve_function_type(operator.getitem, (array, _between(places)), kws)
        return found and signature(found.return_type, array, *places)


@infer_global(put)
class _Put(AbstractTemplate):
    """What writing an entry takes, or anything else that Numba can write."""

    def generic(self, args: Any, kws: Any) -> Any:
        array, value, *places = args
        if _is_plain(array, places) and array.mutable:
            return signature(types.none, array, array.dtype, *map(types.unliteral, places))
        given = (array, _between(places), value)
        found = self.context.resolve_function_type(operator.setitem, given, kws)
        return found and signature(types.none, array, found.args[2], *places)


def _where(context: Any, builder: Any, kinds: Any, array: Any, places: Any) -> Any:
    """Return where in memory an entry is, and how its kind of number is kept there."""
    kind, *integers = kinds
    fields, offset = context.data_model_manager[kind], None
    for axis, (integer, given) in enumerate(zip(integers, places, strict=True)):
        place = context.cast(builder, given, integer, types.intp)
        long = builder.extract_value(fields.get(builder, array, "shape"), axis)
        if context.enable_boundscheck:
            cgutils.do_boundscheck(context, builder, place, long, axis)
        offset = place if offset is None else builder.add(builder.mul(offset, long), place)
    data = fields.get(builder, array, "data")
    return builder.gep(data, [offset], inbounds=True), context.data_model_manager[kind.dtype]


def _joined(context: Any, builder: Any, kinds: Any, places: Any) -> tuple[Any, Any]:
    """Return what is between brackets as Numba takes it: its type, and itself."""
    between = _between(kinds)
    return between, context.make_tuple(builder, between, places) if len(places) > 1 else places[0]


@lower_builtin(entry, types.Any, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Read one entry; anything else as Numba does."""
    (kind, *kinds), (array, *places) = sig.args, args
    if _is_plain(kind, kinds):
        where, kept = _where(context, builder, sig.args, array, places)
        return kept.load_from_data_pointer(builder, where)
    between, place = _joined(context, builder, kinds, places)
    as_numba = signature(sig.return_type, kind, between)
    return context.get_function(operator.getitem, as_numba)(builder, (array, place))


@lower_builtin(put, types.Any, types.Any, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write one entry; anything else as Numba does."""
    (kind, of, *kinds), (array, value, *places) = sig.args, args
    if _is_plain(kind, kinds):
        where, kept = _where(context, builder, (kind, *kinds), array, places)
        builder.store(kept.as_data(builder, value), where)
    else:
        between, place = _joined(context, builder, kinds, places)
        as_numba = signature(types.none, kind, between, of)
        context.get_function(operator.setitem, as_numba)(builder, (array, place, value))
    return context.get_dummy_value()
