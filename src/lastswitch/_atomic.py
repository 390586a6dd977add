"""Whole-file writes: a reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lastswitch._checks import check_path
from lastswitch.errors import FileError


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
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}~")
    # Not mkstemp, whose files only their owner may read: a report is there to be sent on.
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        try:
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        if isinstance(error, FileError):
            raise
        why = getattr(error, "strerror", None) or error
        raise FileError(f"cannot write {str(target)!r}: {why}.") from error
