"""Where compiled kernels are kept: one folder per module of kernels and per version of its sources.

Numba knows a kernel on disk by its own file alone; what other files give it (kernels that are
called, constants) is compiled into it all the same. So the folder's name holds a digest of all the
files that the kernel's module imports: code that is out of date is never found.

Nothing that is wrong with the disk stops a kernel: it is compiled in memory, and one line says so.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

_LOG = logging.getLogger("lastswitch")
_PACKAGE = Path(__file__).parents[1]
#: Of one module, the folders used last stay: those of a few checkouts and versions side by side.
_KEPT = 8
_CONFIG: Any = numba.config
#: Numba's settings are those of the whole process.
_LOCK = threading.Lock()
_warned: set[str] = set()


def cache_folder() -> Path:
    """Return the folder that holds everything this package compiles.

    ``LASTSWITCH_CACHE_DIR`` names it, else ``NUMBA_CACHE_DIR``; else it lies where the system keeps
    what programs can make again.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    for variable in ("LASTSWITCH_CACHE_DIR", "NUMBA_CACHE_DIR"):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)).absolute() / "lastswitch"


def sources(file: Path) -> set[Path]:
    """Return a module's file and all files of this package that it imports, directly or not.

    What is imported inside a function is left out: a kernel cannot do so.

    Examples
    --------
    >>> sorted(path.name for path in sources(Path(__file__)))
    ['kernel_cache.py']
    """
    found, todo = {file}, [file]
    while todo:
        new = _imported(todo.pop()) - found
        found |= new
        todo += new
    return found


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the files of this package that one file imports."""
    found: set[Path | None] = set()
    for line in _imports(ast.parse(file.read_bytes())):
        if isinstance(line, ast.Import):
            found |= {_file_of(_PACKAGE.parent, name.name) for name in line.names}
            continue
        folder = file.parents[line.level - 1] if line.level else _PACKAGE.parent
        for name in line.names:
            path = _file_of(folder, f"{line.module or ''}.{name.name}".strip("."))
            found.add(path or _file_of(folder, line.module or ""))
    return frozenset(path for path in found if path is not None)


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Go through what is imported when a file is, that is outside functions."""
    for line in ast.iter_child_nodes(node):
        if isinstance(line, ast.Import | ast.ImportFrom):
            yield line
        elif not isinstance(line, ast.FunctionDef) and not _is_for_types(line):
            yield from _imports(line)


def _is_for_types(line: ast.AST) -> bool:
    """Tell whether a line is ``if TYPE_CHECKING:``, which is never run."""
    return isinstance(line, ast.If) and ast.unparse(line.test) == "TYPE_CHECKING"


def _file_of(folder: Path, name: str) -> Path | None:
    """Return the file of a module of this package, or None."""
    path = folder.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_relative_to(_PACKAGE) and file.is_file():
            return file
    return None


@functools.cache
def digest(file: Path) -> str:
    """Return what tells apart the versions of all that is compiled into a module's kernels.

    Examples
    --------
    >>> digest(Path(__file__)) == digest(Path(__file__))
    True
    """
    found = hashlib.sha256()
    for version in (sys.version, numba.__version__, llvmlite.__version__, np.__version__):
        found.update(f"{version}\n".encode())
    found.update(f"{_CONFIG.BOUNDSCHECK} {_CONFIG.OPT}\n".encode())
    for path in sorted(sources(file)):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


class Locator:
    """Tells Numba where the code of a kernel lies: the class that its list of locators names."""

    def __init__(self, function: Any) -> None:
        self._folder = Path(_CONFIG.CACHE_DIR)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Any, file: str) -> Locator:
        """Return the locator of a function: in the folder that Numba is told at the moment."""
        found = cls(function)
        with contextlib.suppress(OSError):
            os.utime(found._folder)  # used today: see _make_room
        return found

    def get_cache_path(self) -> str:
        """Return the folder of this kernel."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what must be the same for compiled code to be used."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Return what tells kernels of one name in one module apart."""
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Make the folder; older ones of the same module make room for it."""
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            _make_room(self._folder.parent, self._folder.name.rpartition("-")[0])


def _make_room(folder: Path, module: str) -> None:
    """Remove the folders of a module's former versions, except those used last."""
    with contextlib.suppress(OSError):  # another process does the same
        versions = sorted(folder.glob(f"{module}-*"), key=lambda path: path.stat().st_mtime)
        for path in versions[:-_KEPT]:
            shutil.rmtree(path)


class Forgiving:
    """Numba's cache of one kernel, of which nothing that goes wrong stops the kernel."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, types: Any, context: Any) -> Any:
        """Return what was compiled for these types of arguments, or None."""
        try:
            found = self._cache.load_overload(types, context)
            if found is None or tuple(found.signature.args) == tuple(types):
                return found  # (two processes that write at once can mix up two files)
        except OSError as error:
            _warn_of_folder(self._cache.cache_path, error)
            return None
        except Exception:
            pass  # whatever the bytes of a damaged file may raise
        _warn_once("Compiled code in %s is damaged: compiling it again.", self._cache.cache_path)
        with contextlib.suppress(OSError):
            self._cache.flush()
        return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Keep what was compiled, if it can be kept."""
        try:
            self._cache.save_overload(types, compiled)
        except OSError as error:
            _warn_of_folder(self._cache.cache_path, error)


def _warn_of_folder(folder: str, error: OSError) -> None:
    """Say that a folder is of no use, why, and what to do."""
    _warn_once(
        "Compiled code cannot be kept in %s (%s), so every process compiles anew: "
        "set LASTSWITCH_CACHE_DIR to a folder with room that can be written.",
        folder,
        error.strerror or error,
    )


def _warn_once(message: str, *values: object) -> None:
    """Log one line, the first time only."""
    if message not in _warned:
        _warned.add(message)
        _LOG.warning("lastswitch: " + message, *values)


@contextlib.contextmanager
def _settings(**changed: str) -> Iterator[None]:
    """Change settings of Numba for a while."""
    with _LOCK:
        before = {name: getattr(_CONFIG, name, "") for name in changed}
        try:
            vars(_CONFIG).update(changed)
            yield
        finally:
            vars(_CONFIG).update(before)


def kept(function: Any, **options: Any) -> Any:
    """Return a kernel whose compiled code is kept on disk, where that can be done.

    Numba is told the folder by its list of locators; a version that has no such list is told by its
    setting for a folder, and then wants to write there.
    """
    file = Path(inspect.getfile(function))
    if not file.is_file():  # typed in, or from an archive: nothing to tell versions apart by
        return numba.njit(**options)(function)
    module = function.__module__.removeprefix("lastswitch.")
    folder = cache_folder() / f"{module}-{digest(file)}"
    locator = f"{Locator.__module__}.{Locator.__name__}"
    try:
        with _settings(CACHE_DIR=str(folder), CACHE_LOCATOR_CLASSES=locator):
            kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # what Numba raises if it finds no folder
        _warn_of_folder(str(folder), OSError("it cannot be written"))
        return numba.njit(**options)(function)
    cache = getattr(kernel, "_cache", None)
    if all(hasattr(cache, name) for name in ("load_overload", "save_overload", "flush")):
        kernel._cache = Forgiving(cache)
    return kernel
