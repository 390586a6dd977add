"""What a result depends on, as one digest: values, and the code that is not this library's.

A stored result may be served only to a task that would compute the same bytes. What a factory is
made of is walked: its code, its arguments, defaults and closure, the globals and modules its code
names, the class it builds and that class's ancestors. Values are told by their content, this
library's own code by :func:`library_digest`, installed packages by their versions. What cannot be
told raises :class:`Untold`; its results are then kept, but never served to anyone else.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from lastswitch.bandit import Bandit
from lastswitch.files import bandit_to_dict

#: Folders of this library that no run, and no policy of anyone, calls.
_NOT_RUN = ("cli", "service", "studio")
#: What Python keeps in a class, some of it on first use, and what says nothing of what it does.
_BOOKKEEPING = frozenset(
    {"__annotations__", "__annotate_func__", "__annotations_cache__", "__dict__", "__doc__"}
    | {"__firstlineno__", "__module__", "__slotnames__", "__static_attributes__"}
    | {"__weakref__", "_abc_impl"}
)
#: The flag of a class that was made while Python ran, not compiled into it.
_MADE_BY_PYTHON = 1 << 9
#: Values that are told by how they are written.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


class Untold(Exception):  # noqa: N818 - caught here, never seen
    """Something whose content cannot be told, such as an open file or a lock."""


def digest(value: Any) -> str:
    """Return a digest of ``value`` and of all the code it leads to that is not this library's.

    Raises
    ------
    Untold
        If some part of it has no content that could be told.

    Examples
    --------
    >>> import numpy as np
    >>> digest(np.array([1, 2])) == digest(np.array([1, 2])), digest(1) == digest(1.0)
    (True, False)
    >>> digest(lambda n: n + 1) == digest(lambda n: n + 2)
    False
    """
    try:
        return _Walk().tell(value)
    except Untold:
        raise
    except Exception as error:  # whatever an object does when it is looked at: in doubt, untold
        raise Untold(f"looking at it raised {type(error).__name__}: {error}") from error


@functools.cache
def library_digest() -> str:
    """Return the digest of this library's sources that a run may call, and of the machine's kind.

    Examples
    --------
    >>> len(library_digest())
    64
    """
    told = hashlib.sha256(platform.machine().encode())
    for name, source in _sources(files("lastswitch"), ""):
        told.update(f"\0{name}\0".encode() + source)
    return told.hexdigest()


def _sources(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name not in _NOT_RUN:
            yield from _sources(entry, f"{above}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield above + entry.name, entry.read_bytes()


class _Walk:
    """One walk over what a value leads to: each thing is told once, whatever leads to it."""

    def __init__(self) -> None:
        self.told: dict[int, tuple[str, Any]] = {}  # the value too: an id is only its own alive
        self.open: dict[int, int] = {}  # what is being told, and how deep: it may lead to itself
        self.modules: set[tuple[int, frozenset[str]]] = set()

    def tell(self, value: Any) -> str:
        """Return the digest of ``value``."""
        if type(value) in _PLAIN:
            return _hash(type(value).__name__, repr(value))
        if id(value) in self.told:
            return self.told[id(value)][0]
        if id(value) in self.open:
            return _hash("above", str(len(self.open) - self.open[id(value)]))
        self.open[id(value)] = len(self.open)
        kind = next((kind for kind in _TELLERS if isinstance(value, kind)), object)
        found = _hash(kind.__name__, *_TELLERS.get(kind, _Walk.instance)(self, value))
        del self.open[id(value)]
        self.told[id(value)] = (found, value)
        return found

    def each(self, values: Any) -> list[str]:
        """Return the digests of several values."""
        return [self.tell(value) for value in values]

    def mapping(self, value: Mapping[Any, Any]) -> list[str]:
        """Tell a dictionary, in its order: a program may go by it."""
        return self.each([type(value), *(part for item in value.items() for part in item)])

    def array(self, value: np.ndarray[Any, Any]) -> list[str]:
        """Tell an array by its bytes."""
        if value.dtype.hasobject:
            return [str(value.shape), *self.each(value.ravel().tolist())]
        return [value.dtype.str, str(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]

    def module(self, value: types.ModuleType, names: frozenset[str] = frozenset()) -> list[str]:
        """Tell a module: by its version, or by its source and what ``names`` mean in it."""
        version = _version(value.__name__)
        if version is not None or (id(value), names) in self.modules:
            return [value.__name__, version or ""]
        self.modules.add((id(value), names))
        file = getattr(value, "__file__", None)
        source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
        return [value.__name__, source, *self.named(vars(value), names)]

    def function(self, value: types.FunctionType) -> list[str]:
        """Tell a function: its code, what it was given, and what its names mean."""
        if _installed(value):
            return _reference(value)
        names = frozenset(_names(value.__code__))
        modules = {name: sys.modules[name] for name in names if name in sys.modules}
        given = [value.__defaults__, value.__kwdefaults__, *map(_held, value.__closure__ or ())]
        known = {**modules, **value.__globals__}  # also what it imports when called
        return [*self.code(value.__code__), *self.each(given), *self.named(known, names)]

    def code(self, value: types.CodeType) -> list[str]:
        """Tell code by what it does: not by its file, its lines or its comments."""
        shape = (value.co_argcount, value.co_kwonlyargcount, value.co_posonlyargcount)
        words = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        return self.each([value.co_code, value.co_flags, *shape, *words, *value.co_consts])

    def named(self, known: Mapping[str, Any], names: frozenset[str]) -> list[str]:
        """Tell what each of ``names`` means among ``known``, where it means something."""
        told = []
        for name in sorted(names & known.keys()):
            value = known[name]
            module = isinstance(value, types.ModuleType)
            told += [name, *(self.module(value, names) if module else [self.tell(value)])]
        return told

    def kind(self, value: type) -> list[str]:
        """Tell a class: its own members and its ancestors'."""
        if _installed(value) or not value.__flags__ & _MADE_BY_PYTHON:
            return _reference(value)
        members = {key: part for key, part in vars(value).items() if key not in _BOOKKEEPING}
        told = [value.__qualname__, *self.each([type(value), *value.__bases__])]
        for key in sorted(members):
            told += [key, self.tell(members[key])]
        return told

    def instance(self, value: Any) -> list[str]:
        """Tell any other object by how it would be copied: its class and its content."""
        for inner in ("py_func", "__wrapped__"):  # compiled by Numba, or cached: as it was before
            if hasattr(value, inner):
                return self.each([type(value).__name__, getattr(value, inner)])
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:
            raise Untold(f"it holds a {type(value).__name__}, which has no content") from error
        if isinstance(parts, str):  # a global of that name
            return self.each([type(value), parts])
        rest = [list(part) if part is not None else None for part in parts[3:5]]
        return self.each([type(value), *parts[:3], *rest])


def _unordered(walk: _Walk, value: Any) -> list[str]:
    # Each member on a walk of its own: their order, and so what was seen before, is chance.
    return [type(value).__name__, *sorted(digest(member) for member in value)]


def _builtin(walk: _Walk, value: types.BuiltinFunctionType) -> list[str]:
    owner = value.__self__
    return [
        *_reference(value),
        *([] if isinstance(owner, types.ModuleType) else walk.each([owner])),
    ]


def _wrapped(walk: _Walk, value: Any) -> list[str]:
    parts = ("fget", "fset", "fdel", "func", "__func__", "__self__")
    return walk.each([type(value).__name__, *(getattr(value, part, None) for part in parts)])


#: How each kind of thing is told; the first that fits.
_TELLERS: dict[type, Callable[[_Walk, Any], list[str]]] = {
    Bandit: lambda walk, value: walk.each([type(value), bandit_to_dict(value)]),
    functools.partial: lambda walk, value: walk.each([value.func, value.args, value.keywords]),
    np.ndarray: _Walk.array,
    np.generic: lambda walk, value: [value.dtype.str, repr(value.item())],
    memoryview: lambda walk, value: walk.each([value.format, value.shape, value.tobytes()]),
    tuple: lambda walk, value: walk.each([type(value), *value]),
    list: lambda walk, value: walk.each([type(value), *value]),
    set: _unordered,
    frozenset: _unordered,
    dict: _Walk.mapping,
    types.MappingProxyType: _Walk.mapping,
    types.ModuleType: _Walk.module,
    types.CodeType: _Walk.code,
    types.FunctionType: _Walk.function,
    types.MethodType: _wrapped,
    property: _wrapped,
    staticmethod: _wrapped,
    classmethod: _wrapped,
    functools.cached_property: _wrapped,
    types.BuiltinFunctionType: _builtin,
    types.MemberDescriptorType: lambda walk, value: [value.__qualname__],
    types.GetSetDescriptorType: lambda walk, value: [value.__qualname__],
    type: _Walk.kind,
}


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _reference(value: Any) -> list[str]:
    """Return the name under which installed code offers ``value``."""
    module = str(value.__module__)
    return [module, value.__qualname__, _version(module) or ""]


def _installed(value: Any) -> bool:
    """Tell whether ``value`` is what its name means in this library or an installed package.

    A decorator may have lent a function of the caller's the name of another.
    """
    if _version(value.__module__) is None:
        return False
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield every name that ``code``, and the code within it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _held(cell: types.CellType) -> Any:
    """Return what a closure holds; nothing yet, for a name that is bound later."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.cache
def _version(module: Any) -> str | None:
    """Return the version that stands for the code of ``module``; ``None`` if it is the caller's."""
    if not isinstance(module, str):  # some compiled classes do not say
        return None
    top = module.partition(".")[0]
    if top == "lastswitch":
        return library_digest()
    if top in sys.stdlib_module_names and top != "__main__":
        return platform.python_version()
    file = getattr(sys.modules.get(module), "__file__", None)
    places = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    if file is None or not any(Path(file).is_relative_to(place) for place in places):
        return None
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
        return found if isinstance(found, str) else None
