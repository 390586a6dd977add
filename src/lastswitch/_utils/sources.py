"""Which version of this library computes: to the letter, so that an edited checkout is another."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from pathlib import Path

#: Folders of this library that no computation calls.
_NOT_RUN = ("cli", "service")


@cache
def library_digest() -> str:
    """Return the digest of the sources that a result may depend on, and of the machine's kind.

    Examples
    --------
    >>> len(library_digest())
    64
    """
    package = Path(__file__).parents[1]
    told = sha256(platform.machine().encode())
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _NOT_RUN:
            told.update(f"\0{name.as_posix()}\0".encode() + path.read_bytes())
    return told.hexdigest()
