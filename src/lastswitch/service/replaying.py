"""Folding the journal again, to see whether subjects, decisions and beliefs agree with it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from lastswitch._utils.listing import first_dozen
from lastswitch.errors import LastSwitchError, ServiceError
from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.service import tables
from lastswitch.service.database import Database
from lastswitch.service.deciders import hear, make_learner
from lastswitch.service.operations import Standing
from lastswitch.service.rotation import Version, make_version

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


class _Told(NamedTuple):
    """What the journal says of a decision."""

    #: What is the same on all its lines and in its row, in short.
    facts: int
    asked: float
    status: str
    due: float | None = None
    reward: str | None = None
    told: bool | None = None


def _facts(row: Any) -> int:
    """Return a number that stands for what a line, or a decision's row, says of the decision."""
    return hash(
        (
            *(row.rotation, row.version, row.subject, row.round, row.arms, row.taus),
            *(row.propensity, row.by, row.would),
        )
    )


def _compare(connection: Connection, found: Replayed) -> None:
    versions = _versions(connection, found)
    standings: dict[tuple[str, str], Standing] = {}
    offers: dict[tuple[str, str], str | None] = {}
    decisions: dict[str, _Told] = {}
    learners, snapshots = _learners(versions), _snapshots(connection, versions, found)
    found.snapshots = len(snapshots)
    for row in _lines(connection):
        found.lines += 1
        for name, (seq, body) in list(snapshots.items()):
            if row.seq > seq:
                _compare_beliefs(found, name, learners.get(name), body)
                del snapshots[name]
        version = versions.get((row.rotation, row.version))
        decisions[row.id] = _follow(found, decisions.get(row.id), row, version)
        who, arms = (row.rotation, row.subject), json.loads(row.arms)
        if row.kind == "offer":
            offers[who] = row.id
        elif row.kind in ("cancel", "lapse", "play") and offers.get(who) == row.id:
            offers[who] = None
        if row.kind == "play" and version is not None:
            standing = standings.setdefault(who, Standing())
            if standing.next is not None and row.round < standing.next:
                found.wrong.append(f"line {row.seq}: round {row.round} was over")
            taus = standing.play(version, row.round, arms)
            if taus != json.loads(row.taus):
                found.wrong.append(f"line {row.seq}: states {row.taus}, and they were {taus}")
        if row.rotation in learners:
            rewards, learner = learners[row.rotation]
            told = None if row.reward is None else json.loads(row.reward)
            hear(learner, rewards, row.kind, arms, json.loads(row.taus), told)
    for name, (_, body) in snapshots.items():
        _compare_beliefs(found, name, learners.get(name), body)
    _compare_subjects(connection, found, standings, offers)
    _compare_decisions(connection, found, decisions)


def _follow(found: Replayed, before: _Told | None, row: Any, version: Version | None) -> _Told:
    """Return what is known of a decision after one more line."""
    status = None if before is None else before.status
    if status not in _BEFORE[row.kind]:
        found.wrong.append(f"line {row.seq}: {row.kind} of a decision that was {status}")
    told = _Told(_facts(row), row.at, _STATUS[row.kind]) if before is None else before
    if told.facts != _facts(row):
        found.wrong.append(f"line {row.seq}: it says otherwise than the line before of {row.id}")
    told = told._replace(status=_STATUS[row.kind])
    if row.kind == "play" and version is not None and row.arms != "[]":
        return told._replace(due=row.at + version.window if version.window < math.inf else None)
    if row.kind == "reward":
        return told._replace(reward=row.reward, told=row.told)
    return told


def _versions(connection: Connection, found: Replayed) -> dict[tuple[str, int], Version]:
    """Return the versions; one that this release cannot make is wrong."""
    versions = {}
    for row in connection.execute(select(tables.version).order_by(tables.version.c.number)):
        given = row.rotation, row.number, json.loads(row.spec), json.loads(row.arms)
        try:
            versions[row.rotation, row.number] = make_version(*given)
        except LastSwitchError as error:
            found.wrong.append(f"version {row.number} of {row.rotation} cannot be made: {error}")
    return versions


def _learners(
    versions: dict[tuple[str, int], Version],
) -> dict[str, tuple[Sequence[float], SharedRotation]]:
    """Return the learner of each rotation that has one, and the rewards it knows."""
    newest = {name: version for (name, _), version in versions.items()}
    return {
        name: (version.settings.rewards, make_learner(version))
        for name, version in newest.items()
        if version.settings.decide == "learner"
    }


def _snapshots(
    connection: Connection, versions: dict[tuple[str, int], Version], found: Replayed
) -> dict[str, tuple[int, str]]:
    """Return the snapshots; one of rewards that no version had is wrong."""
    rows = {row.rotation: row for row in connection.execute(select(tables.snapshot))}
    had = {(name, *version.settings.rewards) for (name, _), version in versions.items()}
    for name, row in rows.items():
        rewards = json.loads(row.body).get("rewards")
        if rewards is not None and (name, *rewards) not in had:
            found.wrong.append(f"the snapshot of {name}: its rewards")
    return {name: (row.seq, row.body) for name, row in rows.items()}


def _lines(connection: Connection) -> Iterator[Any]:
    table, after = tables.journal, 0
    while True:
        query = select(table).where(table.c.seq > after).order_by(table.c.seq).limit(_AT_A_TIME)
        rows = connection.execute(query).all()
        yield from rows
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].seq


def _compare_beliefs(
    found: Replayed,
    name: str,
    known: tuple[Sequence[float], SharedRotation] | None,
    body: str,
) -> None:
    if known is None or known[1].memory is not None:
        return  # nothing learns here now; or what fades depends on when it was looked at
    (rewards, learner), kept = known, json.loads(body)
    if kept.get("rewards") != list(rewards):
        return  # nobody reads it any more
    for table, mine in learner.news().items():
        theirs = np.array(kept[table])
        theirs = np.pad(theirs, ((0, len(mine) - len(theirs)), (0, 0)))
        if not np.allclose(np.array(mine), theirs, rtol=1e-9, atol=1e-6):
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
    connection: Connection, found: Replayed, decisions: dict[str, _Told]
) -> None:
    for row in connection.execute(select(tables.decision)):
        found.decisions += 1
        said = decisions.pop(row.id, None)
        told = row.told if row.status == "rewarded" else None
        shown = _Told(_facts(row), row.asked, row.status, row.due, row.reward, told)
        if said is None:
            found.wrong.append(f"decision {row.id}: the journal knows nothing of it")
        elif said != shown:
            names = ("what was decided", "asked", "status", "due", "reward", "told")
            odd = [name for name, a, b in zip(names, said, shown, strict=True) if a != b]
            found.wrong.append(f"decision {row.id}: its {', '.join(odd)}")
    found.wrong += [f"decision {name} is lost" for name in decisions]
