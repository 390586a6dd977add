"""Keys: who may read or write which rotation. Only their hashes are kept."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import insert, select, update

from lastswitch.errors import ServiceError
from lastswitch.service import tables
from lastswitch.service.database import Database
from lastswitch.service.problems import Problem

_SHAPE = re.compile(r"ls_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
#: What a key that is not there is compared with, so that it takes as long.
_NOBODY = sha256(b"nobody").hexdigest()
#: Seconds a worker believes in the keys it has read.
_FRESH = 1.0


class Key(NamedTuple):
    """What a key may do: write or only read, in one rotation or (None) in all."""

    id: str
    writes: bool
    rotation: str | None
    label: str = ""

    def covers(self, rotation: str) -> bool:
        """Tell whether the key is good for a rotation."""
        return self.rotation is None or self.rotation == rotation


#: Who asks where no keys are asked for.
ANYBODY = Key("anybody", True, None)


def make_key(
    database: Database, *, writes: bool = True, rotation: str | None = None, label: str = ""
) -> str:
    """Make a key and return it: the only time that it can be read."""
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {
        "id": name,
        "hash": _hashed(name, secret),
        "writes": writes,
        "rotation": rotation,
        "label": label,
        "at": time.time(),
    }
    with database.writing() as connection:
        connection.execute(insert(tables.key), [row])
    return f"ls_{name}_{secret}"


def revoke_key(database: Database, name: str) -> None:
    """Let a key, named by its middle part, open nothing from now on."""
    with database.writing() as connection:
        done = connection.execute(
            update(tables.key).where(tables.key.c.id == name).values(revoked=time.time())
        )
    if not done.rowcount:
        raise ServiceError(f"there is no key {name!r:.40}; keys are called ls_NAME_secret.")


def has_master(database: Database) -> bool:
    """Tell whether there is a key that writes to every rotation: somebody can do everything."""
    key = tables.key
    query = select(key.c.id).where(key.c.writes, key.c.rotation.is_(None), key.c.revoked.is_(None))
    with database.reading() as connection:
        return connection.execute(query).first() is not None


class Keys:
    """The keys of a database as a worker knows them."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._known: dict[str, tuple[str, Key]] = {}
        self._read = float("-inf")

    def stale(self) -> bool:
        """Tell whether the keys should be read again."""
        return self._clock() - self._read > _FRESH

    def read(self) -> None:
        """Read the keys."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(tables.key).where(tables.key.c.revoked.is_(None))
            ).all()
        self._known = {
            row.id: (row.hash, Key(row.id, row.writes, row.rotation, row.label)) for row in rows
        }
        self._read = self._clock()

    def knows(self, key: Key) -> bool:
        """Tell whether a key that was good before still is."""
        return key == ANYBODY or key.id in self._known

    def check(self, header: str | None) -> Key:
        """Return the key of an ``Authorization`` header.

        A name that is not there takes as long as a secret that is wrong.
        """
        scheme, _, given = (header or "").partition(" ")
        match = _SHAPE.fullmatch(given.strip()) if scheme.lower() == "bearer" else None
        if match is None:
            raise Problem(
                401, "no-key", "this needs a key: send the header Authorization: Bearer ls_..."
            )
        kept, key = self._known.get(match[1], (_NOBODY, None))
        same = hmac.compare_digest(_hashed(match[1], match[2]), kept)
        if key is None or not same:
            raise Problem(401, "wrong-key", "this key opens nothing; it is wrong or was revoked.")
        return key


def _hashed(name: str, secret: str) -> str:
    # A secret of 256 random bits needs no slow hash: it cannot be guessed.
    return sha256(f"{name}:{secret}".encode()).hexdigest()
