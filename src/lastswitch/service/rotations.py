"""The rotations a worker knows: their versions, the decider of the newest, what learners heard.

Beliefs are a fold of the journal. A worker counts what it commits itself at once and the rest when
it reads on in the journal, where it leaves out what it counted already.

A rotation whose decider cannot be made, or cannot hear its journal, is *set aside*: it alone is
answered with 503 until it gets a version that can be made; all others go on.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from lastswitch.service import tables
from lastswitch.service.clock import Clock
from lastswitch.service.database import Database
from lastswitch.service.deciders import Decider, hear, warm
from lastswitch.service.operations import Line
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import Version, is_text, make_version, same_spec
from lastswitch.service.trial import try_out

log = logging.getLogger("lastswitch.service")

_journal, _version = tables.journal, tables.version
#: Lines read at a time, and lines after which what was heard is written down.
_AT_A_TIME, _SNAPSHOT_EVERY = 5_000, 50_000
#: Versions remembered beside the newest of each rotation: decisions made before still need them.
_REMEMBERED = 32

_NEXT_LINES = (
    select(
        *(_journal.c.seq, _journal.c.rotation, _journal.c.kind, _journal.c.id),
        *(_journal.c.arms, _journal.c.taus, _journal.c.reward),
    )
    .where(_journal.c.kind.in_(("play", "reward")))
    .order_by(_journal.c.seq)
    .limit(_AT_A_TIME)
)


def put_rotation(database: Database, name: str, spec: Mapping[str, Any]) -> tuple[Version, bool]:
    """Make a rotation, or a new version of it where it is written otherwise than before.

    Returns the version, and whether it is new. What cannot be made is refused before it is stored.
    """
    version, known = _next_version(database, name, spec)
    while not known:
        dated = not all(rule.resolved for rule in version.bandit.rules)
        Clock(version.calendar).check_fine(dated)
        try_out(version)
        with database.writing() as connection:
            found = _newest(connection, name)
            if version.number == 1 + (0 if found is None else found.number):
                _insert_version(connection, version)
                return version, True
        version, known = _next_version(database, name, spec)  # somebody else put one meanwhile
    return version, False


def has_rotation(database: Database, name: str) -> bool:
    """Tell whether a database has a rotation."""
    with database.reading() as connection:
        return _newest(connection, name) is not None


def _next_version(database: Database, name: str, spec: Mapping[str, Any]) -> tuple[Version, bool]:
    """Return the version that a spec makes, and whether it is the newest there is already."""
    make_version(name, 1, spec)  # refuse nonsense before anything is read
    with database.reading() as connection:
        found = _newest(connection, name)
    if found is None:
        return make_version(name, 1, spec), False
    if same_spec(json.loads(found.spec), spec):
        return _version_of(found), True
    return make_version(name, found.number + 1, spec, json.loads(found.arms)), False


def _newest(connection: Connection, name: str) -> Any:
    query = select(_version).where(_version.c.rotation == name)
    return connection.execute(query.order_by(_version.c.number.desc())).first()


def _insert_version(connection: Connection, version: Version) -> None:
    if version.number == 1:
        row = {"name": version.rotation, "at": time.time()}
        connection.execute(insert(tables.rotation), [row])
    row = {
        "rotation": version.rotation,
        "number": version.number,
        "at": time.time(),
        "spec": json.dumps(version.spec),
        "arms": json.dumps(version.arms),
    }
    connection.execute(insert(_version), [row])


def _version_of(row: Any) -> Version:
    return make_version(row.rotation, row.number, json.loads(row.spec), json.loads(row.arms))


class Rotations:
    """Versions and deciders by rotation, kept up with the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.seen = 0
        self._deciders: dict[str, Decider] = {}
        #: Why a rotation is set aside, by name, and the version that is to blame.
        self._aside: dict[str, tuple[int, str]] = {}
        self._earlier: OrderedDict[tuple[str, int], Version] = OrderedDict()
        #: Threads that answer look versions up, and make deciders, too.
        self._lock, self._earlier_lock = threading.RLock(), threading.Lock()
        #: Lines committed here, and counted, that the journal will bring again; by rotation.
        self._own: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self._snapshot_at = 0

    def decider(self, name: str) -> Decider:
        """Return what decides for a rotation."""
        if name not in self._deciders:
            self._look_for(name)  # another worker may have made it just now
        found = self._deciders.get(name)
        if found is None:
            if name in self._aside:
                raise Problem(
                    503,
                    "set-aside",
                    f"rotation {name!r} is set aside: {self._aside[name][1]} Put a version of it "
                    "that can be made.",
                )
            raise Problem.unknown("rotation", name)
        return found

    def version(self, name: str, number: int) -> Version:
        """Return a version of a rotation."""
        newest = self._deciders.get(name)
        if newest is not None and newest.version.number == number:
            return newest.version
        with self._earlier_lock:
            found = self._earlier.get((name, number))
            if found is not None:
                self._earlier.move_to_end((name, number))
                return found
        where = (_version.c.rotation == name, _version.c.number == number)
        with self.database.reading() as connection:
            row = connection.execute(select(_version).where(*where)).first()
        if row is None:
            raise Problem.unknown("version", str(number))
        found = _version_of(row)
        with self._earlier_lock:
            self._earlier[name, number] = found
            if len(self._earlier) > _REMEMBERED:
                self._earlier.popitem(last=False)
        return found

    def names(self) -> list[str]:
        """Return the rotations that decide."""
        return sorted(self._deciders)

    def aside(self) -> list[str]:
        """Return the rotations that are set aside."""
        return sorted(self._aside)

    def start(self) -> None:
        """Read everything there is: versions, snapshots, and the journal after them.

        From nothing: what an attempt had heard when the database went away would count twice.
        """
        with self._lock:
            self._start()

    def _start(self) -> None:
        self._deciders, self._aside = {}, {}
        self._own.clear()
        with self.database.reading() as connection:
            head = connection.execute(select(func.coalesce(func.max(_journal.c.seq), 0))).scalar()
        self.seen = self._snapshot_at = int(head or 0)
        self._read_versions()

    def read_on(self) -> int:
        """Read what other workers did since; return how many lines that was."""
        with self._lock:
            return self._read_on()

    def _read_on(self) -> int:
        self._read_versions()
        with self.database.reading() as connection:
            rows = connection.execute(_NEXT_LINES.where(_journal.c.seq > self.seen)).all()
        for row in rows:
            own, mark = self._own[row.rotation], (row.id, row.kind)
            if mark in own:
                own.discard(mark)
            else:
                self._hear(row)
            self.seen = row.seq
        return len(rows)

    def committed(self, lines: list[Line]) -> None:
        """Count what this worker committed; its plays were counted when they were decided.

        Nothing is raised: what is committed is committed.
        """
        for line in lines:
            name = line.decision.rotation
            decider = self._deciders.get(name)
            if decider is None or decider.learner is None:
                continue  # what learns here later reads the journal
            if line.kind in ("play", "reward"):
                self._own[name].add((line.decision.id, line.kind))
            if line.kind == "reward":
                try:
                    _tell(decider, line)
                except Exception as error:
                    self._set_aside(name, decider.version.number, error)

    def undone(self, lines: list[Line]) -> None:
        """Take back what was counted for lines that were not committed."""
        for line in lines:
            decider, decision = line.decider, line.decision
            if decider is not None:
                decider.settled(decision.subject, decision.arms, played=False)
                if decider.learner is not None and line.kind == "play":
                    for arm, tau in zip(decision.arms, decision.taus, strict=True):
                        decider.learner.paid(arm, tau, None)

    def snapshot(self, force: bool = False) -> bool:
        """Write down what learners heard, if that is all of the journal so far and no more."""
        lag = self.seen - self._snapshot_at
        if any(self._own.values()) or not lag or (lag < _SNAPSHOT_EVERY and not force):
            return False
        rows = [
            {"rotation": name, "seq": self.seen, "body": json.dumps(heard_by(decider))}
            for name, decider in self._deciders.items()
            if decider.learner is not None
        ]
        if rows:
            kept = tables.snapshot
            names = [row["rotation"] for row in rows]
            with self.database.writing() as connection:
                connection.execute(delete(kept).where(kept.c.rotation.in_(names)))
                connection.execute(insert(kept), rows)
        self._snapshot_at = self.seen
        return True

    def _look_for(self, name: str) -> None:
        """Make the decider of a rotation that is not known yet."""
        if is_text(name):
            with self._lock:
                self._look(name)

    def _look(self, name: str) -> None:
        with self.database.reading() as connection:
            row = _newest(connection, name)
        if (
            row is not None
            and name not in self._deciders
            and self._aside.get(name, (0, ""))[0] != row.number
        ):
            self._succeed(row)

    def _read_versions(self) -> None:
        """Make deciders of versions not known yet; learners take over what was heard."""
        known = {name: decider.version.number for name, decider in self._deciders.items()}
        known |= {name: number for name, (number, _) in self._aside.items()}
        query = select(_version.c.rotation, func.max(_version.c.number))
        with self.database.reading() as connection:
            newest = connection.execute(query.group_by(_version.c.rotation)).all()
            changed = [name for name, number in newest if known.get(name) != number]
            rows = [_newest(connection, name) for name in changed]
        for row in rows:
            self._succeed(row)

    def _succeed(self, row: Any) -> None:
        """Let a version decide from now on; one that cannot is set aside."""
        name, before = row.rotation, self._deciders.get(row.rotation)
        try:
            decider = Decider(_version_of(row))
            if decider.learner is not None and not _handed_over(before, decider):
                self._own.pop(name, None)  # what was counted is heard with the rest
                with self.database.reading() as connection:
                    _fold(connection, decider, self.seen)
            warm(decider, time.time())
        except self.database.errors:
            raise  # the database is away: that is nothing against the rotation
        except Exception as error:
            self._set_aside(name, row.number, error)
            return
        self._aside.pop(name, None)
        self._deciders[name] = decider

    def _set_aside(self, name: str, number: int, error: Exception) -> None:
        log.error("rotation %s, version %d, is set aside: %s", name, number, error, exc_info=True)
        self._deciders.pop(name, None)
        self._own.pop(name, None)
        self._aside[name] = number, f"version {number} cannot be made ({error!s:.200})."

    def _hear(self, row: Any) -> None:
        decider = self._deciders.get(row.rotation)
        if decider is None:
            return  # whoever takes over reads the journal
        try:
            _hear(decider, row)
        except Exception as error:
            self._set_aside(row.rotation, decider.version.number, error)


def heard_by(decider: Decider) -> dict[str, Any]:
    """Return what a snapshot holds: counts, and the rewards that they are shares of."""
    assert decider.learner is not None
    return {**decider.learner.news(), "rewards": list(decider.version.settings.rewards)}


def _handed_over(before: Decider | None, decider: Decider) -> bool:
    """Let a new learner hear what the one before heard, if they count the same."""
    if before is None or before.learner is None or decider.learner is None:
        return False
    if list(before.version.settings.rewards) != list(decider.version.settings.rewards):
        return False
    decider.learner.hear(before.learner.news())
    return True


def _fold(connection: Connection, decider: Decider, until: int) -> None:
    """Let a new learner hear the snapshot, if it counts the same, and the lines after it."""
    assert decider.learner is not None
    kept, after, name = tables.snapshot, 0, decider.version.rotation
    row = connection.execute(
        select(kept).where(kept.c.rotation == name).order_by(kept.c.seq.desc())
    ).first()
    if row is not None and row.seq <= until:
        heard = json.loads(row.body)
        if heard.get("rewards") == list(decider.version.settings.rewards):
            decider.learner.hear(heard)
            after = row.seq
    lines = _NEXT_LINES.where(_journal.c.rotation == name, _journal.c.seq <= until)
    while True:
        rows = connection.execute(lines.where(_journal.c.seq > after)).all()
        for row in rows:
            _hear(decider, row)
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].seq


def _hear(decider: Decider, row: Any) -> None:
    if decider.learner is None:
        return
    told = None if row.reward is None else json.loads(row.reward)
    rewards = decider.version.settings.rewards
    hear(decider.learner, rewards, row.kind, json.loads(row.arms), json.loads(row.taus), told)


def _tell(decider: Decider, line: Line) -> None:
    decision, rewards = line.decision, decider.version.settings.rewards
    hear(decider.learner, rewards, "reward", decision.arms, decision.taus, decision.reward)
