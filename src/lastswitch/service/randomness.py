"""Random bytes that nobody can guess, many for one call of the system.

Every such call lets go of the interpreter, and to have it back among busy threads takes longer
than the call.
"""

from __future__ import annotations

import os
import threading

_AHEAD = 4096
_lock = threading.Lock()
_pool = b""


def random_bytes(count: int) -> bytes:
    """Return bytes from the system's source, each given out once.

    Examples
    --------
    >>> len(random_bytes(16)), random_bytes(16) != random_bytes(16)
    (16, True)
    """
    global _pool
    with _lock:
        if len(_pool) < count:
            _pool = os.urandom(_AHEAD + count)
        found, _pool = _pool[:count], _pool[count:]
    return found


def _forget() -> None:
    """Leave to a process that is forked off nothing that its parent will give out too."""
    global _pool, _lock
    _pool, _lock = b"", threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
