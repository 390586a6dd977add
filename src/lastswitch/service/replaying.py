"""Folding the journal again, to see whether subjects, decisions and beliefs agree with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from lastswitch._listing import first_dozen
from lastswitch.errors import ServiceError
from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.service import tables
from lastswitch.service.database import Database
from lastswitch.service.deciders import make_learner
from lastswitch.service.rotation import Version, make_version
from lastswitch.service.subjects import Standing

_AT_A_TIME = 5_000
#: What each kind of line makes of a decision.
_STATUS = {
    "offer": "offered",
    "play": "played",
    "reward": "rewarded",
    "cancel": "cancelled",
    "lapse": "lapsed",
}
#: What may come before each kind.
_BEFORE: dict[str, set[str | None]] = {
    "offer": {None},
    "play": {None, "offered"},
    "reward": {"played"},
    "cancel": {"offered"},
    "lapse": {"offered"},
}


@dataclass
class Replayed:
    """What a fold of the journal leads to, and where the tables say otherwise."""

    lines: int = 0
    subjects: int = 0
    decisions: int = 0
    snapshots: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether everything agrees."""
        return not self.wrong

    def __str__(self) -> str:
        counted = (
            f"{self.lines:,} lines of the journal, {self.decisions:,} decisions, "
            f"{self.subjects:,} subjects, {self.snapshots:,} snapshots"
        )
        if self.agrees:
            return f"{counted}: everything agrees."
        return f"{counted}: {len(self.wrong):,} disagree: {first_dozen(self.wrong)}."


def replay_database(where: str) -> Replayed:
    """Fold the journal of a database and compare it with the tables; nothing is changed."""
    if "://" not in where and not Path(where).is_file():
        raise ServiceError(f"there is no database at {where!r}.")
    database = Database(where)
    try:
        found = Replayed()
        with database.reading() as connection:
            if database.sqlite:
                state = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
                if state != "ok":
                    found.wrong.append(f"SQLite says {state}")
            _compare(connection, found)
        return found
    finally:
        database.close()


def _compare(connection: Connection, found: Replayed) -> None:
    versions = _versions(connection)
    standings: dict[tuple[str, str], Standing] = {}
    offers: dict[tuple[str, str], str | None] = {}
    decisions: dict[str, tuple[str, str | None]] = {}
    learners, snapshots = _learners(versions), _snapshots(connection)
    found.snapshots = len(snapshots)
    for row in _lines(connection):
        found.lines += 1
        for name, (seq, body) in list(snapshots.items()):
            if row.seq > seq:
                _compare_beliefs(found, name, learners[name], body)
                del snapshots[name]
        status = decisions[row.id][0] if row.id in decisions else None
        if status not in _BEFORE[row.kind]:
            found.wrong.append(f"line {row.seq}: {row.kind} of a decision that was {status}")
        decisions[row.id] = (_STATUS[row.kind], row.reward)
        who, arms = (row.rotation, row.subject), json.loads(row.arms)
        if row.kind == "offer":
            offers[who] = row.id
        elif row.kind in ("cancel", "lapse", "play") and offers.get(who) == row.id:
            offers[who] = None
        if row.kind == "play":
            standing = standings.setdefault(who, Standing())
            if standing.next is not None and row.round < standing.next:
                found.wrong.append(f"line {row.seq}: round {row.round} was over")
            taus = standing.play(versions[row.rotation, row.version], row.round, arms)
            if taus != json.loads(row.taus):
                found.wrong.append(f"line {row.seq}: states {row.taus}, and they were {taus}")
        _hear(learners.get(row.rotation), row, arms)
    for name, (_, body) in snapshots.items():
        _compare_beliefs(found, name, learners[name], body)
    _compare_subjects(connection, found, standings, offers)
    _compare_decisions(connection, found, decisions)


def _versions(connection: Connection) -> dict[tuple[str, int], Version]:
    rows = connection.execute(select(tables.version).order_by(tables.version.c.number))
    return {
        (row.rotation, row.number): make_version(
            row.rotation, row.number, json.loads(row.spec), json.loads(row.arms)
        )
        for row in rows
    }


def _learners(versions: dict[tuple[str, int], Version]) -> dict[str, SharedRotation]:
    newest = {name: version for (name, _), version in versions.items()}
    return {
        name: make_learner(version)
        for name, version in newest.items()
        if version.settings.decide == "learner"
    }


def _snapshots(connection: Connection) -> dict[str, tuple[int, str]]:
    rows = connection.execute(select(tables.snapshot))
    return {row.rotation: (row.seq, row.body) for row in rows}


def _lines(connection: Connection) -> Iterator[Any]:
    table, after = tables.journal, 0
    while True:
        query = select(table).where(table.c.seq > after).order_by(table.c.seq).limit(_AT_A_TIME)
        rows = connection.execute(query).all()
        yield from rows
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].seq


def _hear(learner: SharedRotation | None, row: Any, arms: list[int]) -> None:
    if learner is None:
        return
    taus = json.loads(row.taus)
    if row.kind == "play":
        for arm, tau in zip(arms, taus, strict=True):
            learner.played(arm, tau)
    elif row.kind == "reward":
        for arm, tau, paid in zip(arms, taus, json.loads(row.reward), strict=True):
            learner.paid(arm, tau, paid)


def _compare_beliefs(found: Replayed, name: str, learner: SharedRotation, body: str) -> None:
    if learner.memory is not None:
        return  # what fades depends on when it was looked at
    news, kept = learner.news(), json.loads(body)
    for table in news:
        mine, theirs = np.array(news[table]), np.array(kept[table])
        theirs = np.pad(theirs, ((0, len(mine) - len(theirs)), (0, 0)))
        if not np.allclose(mine, theirs, rtol=1e-9, atol=1e-6):
            found.wrong.append(f"the snapshot of {name}: its {table}")


def _compare_subjects(
    connection: Connection,
    found: Replayed,
    standings: dict[tuple[str, str], Standing],
    offers: dict[tuple[str, str], str | None],
) -> None:
    for row in connection.execute(select(tables.subject)):
        found.subjects += 1
        who = (row.rotation, row.name)
        standing = standings.pop(who, Standing())
        recent = [[number, list(arms)] for number, arms in standing.recent]
        same = (standing.next, standing.state) == (row.next, json.loads(row.state))
        if not same or recent != json.loads(row.recent) or offers.get(who) != row.open_id:
            found.wrong.append(f"subject {row.name!r} of {row.rotation}")
    found.wrong += [f"subject {name!r} of {rotation} is lost" for rotation, name in standings]


def _compare_decisions(
    connection: Connection, found: Replayed, decisions: dict[str, tuple[str, str | None]]
) -> None:
    table = tables.decision
    for row in connection.execute(select(table.c.id, table.c.status, table.c.reward)):
        found.decisions += 1
        if decisions.pop(row.id, None) != (row.status, row.reward):
            found.wrong.append(f"decision {row.id}")
    found.wrong += [f"decision {name} is lost" for name in decisions]
