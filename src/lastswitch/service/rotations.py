"""The rotations a worker knows: their versions, the decider of the newest, what learners heard.

Beliefs are a fold of the journal. A worker counts what it commits itself at once and the rest when
it reads on in the journal, where it leaves out what it counted already.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from lastswitch.errors import ServiceError
from lastswitch.service import tables
from lastswitch.service.database import Database
from lastswitch.service.deciders import Asked, Decider, NoArmError, check_decider
from lastswitch.service.operations import Line
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import Version, check_name, make_version, same_spec
from lastswitch.service.subjects import Standing

_journal, _version = tables.journal, tables.version
#: Lines read at a time, and lines after which what was heard is written down.
_AT_A_TIME, _SNAPSHOT_EVERY = 5_000, 50_000

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

    Returns the version, and whether it is new.
    """
    # Refuse nonsense, and rules that no learner can keep, before it is anybody's turn.
    check_decider(make_version(check_name(name), 1, spec))
    with database.writing() as connection:
        found = connection.execute(
            select(_version).where(_version.c.rotation == name).order_by(_version.c.number.desc())
        ).first()
        if found is not None and same_spec(json.loads(found.spec), spec):
            return _version_of(found), False
        before = [] if found is None else json.loads(found.arms)
        version = make_version(name, 1 if found is None else found.number + 1, spec, before)
        check_decider(version)
        if found is None:
            connection.execute(insert(tables.rotation), [{"name": name, "at": time.time()}])
        row = {
            "rotation": name,
            "number": version.number,
            "at": time.time(),
            "spec": json.dumps(version.spec),
            "arms": json.dumps(version.arms),
        }
        connection.execute(insert(_version), [row])
    return version, True


def _version_of(row: Any) -> Version:
    return make_version(row.rotation, row.number, json.loads(row.spec), json.loads(row.arms))


class Rotations:
    """Versions and deciders by rotation, kept up with the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.seen = 0
        self._versions: dict[tuple[str, int], Version] = {}
        self._deciders: dict[str, Decider] = {}
        #: Lines committed here, and counted, that the journal will bring again.
        self._own: set[tuple[str, str]] = set()
        self._snapshot_at = 0

    def decider(self, name: str) -> Decider:
        """Return what decides for a rotation."""
        if name not in self._deciders:
            self._refresh()  # another worker may have made it just now
        found = self._deciders.get(name)
        if found is None:
            raise Problem.unknown("rotation", name)
        return found

    def version(self, name: str, number: int) -> Version:
        """Return a version of a rotation."""
        if (name, number) not in self._versions:
            self._refresh()
        return self._versions[name, number]

    def names(self) -> list[str]:
        """Return the rotations there are."""
        return sorted(self._deciders)

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a rotation, oldest first."""
        found = [version for (other, _), version in self._versions.items() if other == name]
        return sorted(found, key=lambda version: version.number)

    def start(self) -> None:
        """Read everything there is: versions, snapshots, and the journal after them.

        From nothing: what an attempt had heard when the database went away would count twice.
        """
        self._versions, self._deciders = {}, {}
        self._own.clear()
        with self.database.reading() as connection:
            self._read_versions(connection)
            head = connection.execute(select(func.coalesce(func.max(_journal.c.seq), 0))).scalar()
            for name, decider in self._deciders.items():
                if decider.learner is not None:
                    _fold(connection, name, decider)
                    _warm(decider)
            self.seen = self._snapshot_at = int(head or 0)

    def read_on(self) -> int:
        """Read what other workers did since; return how many lines that was."""
        with self.database.reading() as connection:
            self._read_versions(connection)
            rows = connection.execute(_NEXT_LINES.where(_journal.c.seq > self.seen)).all()
        for row in rows:
            mark = (row.id, row.kind)
            if mark in self._own:
                self._own.discard(mark)
            else:
                _hear(self._known(row.rotation), row)
            self.seen = row.seq
        return len(rows)

    def committed(self, lines: list[Line]) -> None:
        """Count what this worker committed; its plays were counted when they were decided."""
        for line in lines:
            if line.kind in ("play", "reward"):
                self._own.add((line.decision.id, line.kind))
            if line.kind == "reward":
                decision = line.decision
                learner = self.decider(decision.rotation).learner
                if learner is not None:
                    told = decision.reward or ()
                    for arm, tau, paid in zip(decision.arms, decision.taus, told, strict=True):
                        learner.paid(arm, tau, paid)

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
        if self._own or not lag or (lag < _SNAPSHOT_EVERY and not force):
            return False
        learners = {n: d.learner for n, d in self._deciders.items() if d.learner is not None}
        if learners:
            kept = tables.snapshot
            with self.database.writing() as connection:
                connection.execute(delete(kept).where(kept.c.rotation.in_(list(learners))))
                rows = [
                    {"rotation": name, "seq": self.seen, "body": json.dumps(learner.news())}
                    for name, learner in learners.items()
                ]
                connection.execute(insert(kept), rows)
        self._snapshot_at = self.seen
        return True

    def _refresh(self) -> None:
        with self.database.reading() as connection:
            self._read_versions(connection)

    def _read_versions(self, connection: Connection) -> None:
        """Make deciders of versions not known yet; learners take over what was heard."""
        known = {name: decider.version.number for name, decider in self._deciders.items()}
        newest = connection.execute(
            select(_version.c.rotation, func.max(_version.c.number)).group_by(_version.c.rotation)
        ).all()
        if all(known.get(name) == number for name, number in newest):
            return
        for row in connection.execute(select(_version).order_by(_version.c.number)):
            if (row.rotation, row.number) not in self._versions:
                version = _version_of(row)
                if dict(newest)[row.rotation] == row.number:
                    self._succeed(version)
                self._versions[row.rotation, row.number] = version

    def _succeed(self, version: Version) -> None:
        before, decider = self._deciders.get(version.rotation), Decider(version)
        if before is not None and decider.learner is not None:
            if before.learner is not None:
                decider.learner.hear(before.learner.news())
            else:
                with self.database.reading() as connection:
                    _fold(connection, version.rotation, decider, self.seen)
            _warm(decider)
        self._deciders[version.rotation] = decider

    def _known(self, name: str) -> Decider:
        decider = self._deciders.get(name)
        if decider is None:
            raise ServiceError(f"the journal speaks of a rotation {name!r} that is not there.")
        return decider


def _fold(connection: Connection, name: str, decider: Decider, until: int | None = None) -> None:
    """Let a new learner hear the snapshot and the lines after it."""
    assert decider.learner is not None
    kept, after = tables.snapshot, 0
    row = connection.execute(
        select(kept).where(kept.c.rotation == name).order_by(kept.c.seq.desc())
    ).first()
    if row is not None and (until is None or row.seq <= until):
        decider.learner.hear(json.loads(row.body))
        after = row.seq
    while True:
        lines = _NEXT_LINES.where(_journal.c.rotation == name).where(_journal.c.seq > after)
        if until is not None:
            lines = lines.where(_journal.c.seq <= until)
        rows = connection.execute(lines).all()
        for row in rows:
            _hear(decider, row)
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].seq


def _hear(decider: Decider, row: Any) -> None:
    if decider.learner is None:
        return
    arms, taus = json.loads(row.arms), json.loads(row.taus)
    if row.kind == "play":
        for arm, tau in zip(arms, taus, strict=True):
            decider.learner.played(arm, tau)
    else:
        for arm, tau, paid in zip(arms, taus, json.loads(row.reward), strict=True):
            decider.learner.paid(arm, tau, paid)


def _warm(decider: Decider) -> None:
    """Decide once for nobody, so that kernels are compiled before anyone waits for them."""
    with suppress(NoArmError):
        decider.decide(Asked("", "", 0), Standing())
    decider.forget("")
