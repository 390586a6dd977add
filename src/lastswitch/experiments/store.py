"""A folder of finished tasks, so that a killed sweep goes on where it stopped.

One small file per task, named by the hash of everything the task depends on. A file is written
whole and then moved into place, so a reader sees all of it or nothing; it carries the digest of
its own content, so one that a failing disk has damaged reads as absent and is computed again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lastswitch._utils.codec import pack_array, unpack_array
from lastswitch.errors import ExperimentError

FORMAT = "lastswitch/task"


class TaskStore:
    """Finished tasks by key, in ``folder``; nothing is written there before :meth:`open`.

    A store that holds all that is asked for may be read-only. Several processes and threads may
    write to one folder at once.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = TaskStore(folder).open()
    ...     store.put("ab12", {"total": 3.5}, {"seed": 0}, "greedy, run 0")
    ...     TaskStore(folder).get("ab12"), store.get("cd34")
    ({'total': 3.5}, None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._incoming = self.folder / "incoming"

    def open(self) -> TaskStore:
        """Make the folder if it is not there, and refuse one that cannot be written to."""
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            self._clear_abandoned()
            probe = self._temporary("probe")
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ExperimentError(
                f"cannot keep results in {self.folder}: {error.strerror or error}; "
                "choose a folder that can be written to."
            ) from error
        return self

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what was stored under ``key``, or ``None`` if there is nothing sound."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        head, _, body = content.partition(b"\n")
        if head != _head(key, body):
            return None
        result = json.loads(body)["result"]
        return {name: _unpacked(value) for name, value in result.items()}

    def put(
        self, key: str, result: Mapping[str, Any], provenance: dict[str, Any], task: str
    ) -> None:
        """Store ``result`` and where it comes from; ``task`` is what an error calls it."""
        packed = {name: _packed(value) for name, value in result.items()}
        body = json.dumps({"provenance": provenance, "result": packed}, sort_keys=True)
        content = body.encode()
        temporary = self._temporary(key)
        target = self._path(key)
        try:
            _make_room(target.parent)
            # No fsync: the digest already tells a torn file from a sound one, and a sync per task
            # would cost more than most tasks.
            temporary.write_bytes(_head(key, content) + b"\n" + content)
            os.replace(temporary, target)
        except OSError as error:
            _quietly(temporary.unlink)
            raise ExperimentError(
                f"cannot store the result of {task} in {self.folder}: {error.strerror or error}; "
                "what was stored before is kept: mend that and run the same again to go on."
            ) from error

    def _path(self, key: str) -> Path:
        return self.folder / "tasks" / key[:2] / f"{key}.json"

    def _temporary(self, name: str) -> Path:
        """Return a file of this thread's own: others may be writing the same task here."""
        return self._incoming / f"{_host()}-{os.getpid()}.{threading.get_ident()}.{name}"

    def _clear_abandoned(self) -> None:
        """Remove what processes of this machine that are no more were writing."""
        for path in self._incoming.iterdir():
            host, _, process = path.name.split(".")[0].rpartition("-")
            if host == _host() and process.isdigit() and not _alive(int(process)):
                _quietly(path.unlink)


def _head(key: str, body: bytes) -> bytes:
    """Return the first line of a task's file."""
    digest = hashlib.sha256(body).hexdigest()
    head = f'{{"format": "{FORMAT}", "version": 1, "key": "{key}", "digest": "{digest}"}}'
    return head.encode()


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return pack_array(value)
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Any) -> Any:
    return unpack_array(value, "a stored task") if isinstance(value, dict) else value


@functools.cache
def _host() -> str:
    return socket.gethostname().replace(".", "_")


def _make_room(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)


def _alive(process: int) -> bool:
    """Tell whether a process of this machine is still there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _quietly(action: Callable[[], object]) -> None:
    """Tidy up; what cannot be tidied harms nobody."""
    try:
        action()
    except OSError:
        return
