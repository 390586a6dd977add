"""Whole-file writes: a reader sees the old file or the new one, never half of one.

What is written goes to a temporary file beside the target, which then takes its place: under its
mode, and where a link leads. Devices, pipes and our own standard output have no place to take, and
are written into. A temporary file is locked while somebody writes it; what a killed process left
has no lock, and the next save of the same file throws it away.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

from lastswitch._utils.checks import check_path
from lastswitch.errors import FileError, LastSwitchError

try:
    import fcntl
except ImportError:  # Windows: a file that is open cannot be thrown away there
    fcntl = None  # type: ignore[assignment]

#: Bytes of a name that a temporary file takes over; file systems take 255 in all.
_NAME = 200


def write_atomic(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write ``content`` to ``path`` through a temporary file in the same folder.

    What the system refuses (no such folder, no permission, a full disk) is a ``FileError``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(pathlib.Path(folder) / "note.txt", "rest").read_text()
    'rest'
    """
    target = check_path(path)
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise FileError(
            f"cannot write {target}: {error.object[error.start]!r} is half a character (a lone "
            "surrogate), which no file can hold; correct the name it is in."
        ) from error
    with atomic_file(target) as temporary, open(temporary, "wb") as file:
        file.write(data)
    return target


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the temporary file to write instead of ``path``; it takes its place at the end.

    For files too large to be held as one text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "note.txt"
    ...     with atomic_file(target) as temporary:
    ...         _ = temporary.write_text("rest")
    ...         print(target.exists())
    ...     target.read_text()
    False
    'rest'
    """
    target = check_path(path)
    if not target.name:
        raise FileError(f"cannot write {str(path)!r}: it names a folder; add a file name.")
    with told(target):
        found = _status(target)
        if found is not None and not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            writer = _through(target)
        elif found is not None and _is_stdout(found):
            writer = _through(None)
        else:
            writer = _beside(target, None if found is None else stat.S_IMODE(found.st_mode))
        with writer as temporary:
            yield temporary


@contextmanager
def told(target: Path) -> Iterator[None]:
    """Turn what the system says against a file, or against its name, into a ``FileError``.

    Examples
    --------
    >>> with told(Path("plan.json")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    lastswitch.errors.FileError: cannot write 'plan.json': No space left on device.
    """
    try:
        yield
    except LastSwitchError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = getattr(error, "strerror", None) or error
        raise FileError(f"cannot write {str(target)!r}: {why}.") from error


def _status(target: Path) -> os.stat_result | None:
    """Return what is known of the file, or of what a link leads to; None if nothing is there."""
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _is_stdout(found: os.stat_result) -> bool:
    """Tell whether a file is the one our own output goes to: ``--out /dev/stdout > plan.csv``."""
    try:
        return os.path.samestat(found, os.fstat(1))
    except OSError:  # closed
        return False


@contextmanager
def _through(device: Path | None) -> Iterator[Path]:
    """Yield a temporary file elsewhere, which is copied into ``device`` (None: into our output)."""
    handle, name = tempfile.mkstemp()
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if device is None:
            sys.stdout.flush()
        with temporary.open("rb") as source, _opened(device) as sink:
            shutil.copyfileobj(source, sink)
    finally:
        temporary.unlink()


def _opened(device: Path | None) -> BinaryIO:
    return os.fdopen(os.dup(1), "wb") if device is None else device.open("wb")


@contextmanager
def _beside(target: Path, mode: int | None) -> Iterator[Path]:
    """Yield a temporary file in the folder of ``target``, whose place and ``mode`` it takes."""
    real = Path(os.path.realpath(target))
    if not real.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {real.parent} does not exist.")
    temporary, handle = _made(real, 0o666 if mode is None else stat.S_IRUSR | stat.S_IWUSR)
    try:
        yield temporary
        if mode is not None:
            os.chmod(temporary, mode)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        if fcntl is None:
            os.close(handle)  # Windows moves no file that is open
        os.replace(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        with suppress(OSError):  # closed already, on Windows
            os.close(handle)


def _made(real: Path, mode: int) -> tuple[Path, int]:
    """Return a new temporary file beside ``real``, and the handle that holds its lock."""
    name = os.fsdecode(os.fsencode(real.name)[:_NAME])
    for number in count():
        temporary = real.with_name(f".{name}.{number}~")
        while not _being_written(temporary):
            with suppress(FileExistsError):  # somebody else was quicker
                handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                if _locked(handle) is not False and _is(handle, temporary):
                    return temporary, handle
                os.close(handle)
    raise AssertionError("numbers never end")


def _being_written(temporary: Path) -> bool:
    """Tell whether somebody writes this temporary file; one that nobody writes is thrown away."""
    try:
        if fcntl is None:
            temporary.unlink()  # which fails while it is open
            return False
        handle = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:  # open elsewhere, a link, or not ours to read
        return True
    try:
        if not _locked(handle):
            return True
        if _is(handle, temporary):
            temporary.unlink()
        return False
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """Lock an open file; False if somebody else has the lock, None if there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


def _is(handle: int, path: Path) -> bool:
    """Tell whether an open file still has this name."""
    found = _status(path)
    return found is not None and os.path.samestat(os.fstat(handle), found)
