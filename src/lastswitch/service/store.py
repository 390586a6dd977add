"""Rows in and out of the database: what operations work on, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from lastswitch.service import tables
from lastswitch.service.contract import OFFERED, Ask, Decision, Operation, Subject, Tell, Work
from lastswitch.service.subjects import Standing

_decision, _subject, _alias = tables.decision, tables.subject, tables.alias
_WAY = {"separators": (",", ":")}

_BY_ID = select(_decision).where(_decision.c.id.in_(bindparam("ids", expanding=True)))
_ALIASES = select(_alias).where(_alias.c.id.in_(bindparam("ids", expanding=True)))
_SUBJECTS = (
    select(_subject)
    .where(_subject.c.rotation == bindparam("in_rotation"))
    .where(_subject.c.name.in_(bindparam("names", expanding=True)))
)
_MOVE = (
    update(_subject)
    .where(_subject.c.rotation == bindparam("in_rotation"))
    .where(_subject.c.name == bindparam("of"))
    .where(_subject.c.guard == bindparam("was"))
    .values(
        {name: bindparam(f"new_{name}") for name in ("guard", "next", "state", "recent", "open_id")}
    )
)
_SETTLE = (
    update(_decision)
    .where(_decision.c.id == bindparam("of"))
    .where(_decision.c.status == bindparam("was"))
    .values(
        {name: bindparam(f"new_{name}") for name in ("status", "until", "due", "reward", "told")}
    )
)


class ConflictError(Exception):
    """Another worker changed a row first."""


def load(connection: Connection, work: Work, operations: Sequence[Operation]) -> None:
    """Read every row that the operations need."""
    asks = [op for op in operations if isinstance(op, Ask)]
    _load_decisions(connection, work, {op.id for op in operations})
    keyed = {op.id for op in asks if op.keyed} - set(work.decisions)
    if keyed:
        found = connection.execute(_ALIASES, {"ids": list(keyed)}).all()
        work.aliases |= {row.id: (row.decision, row.digest) for row in found}
    wanted = {(op.rotation, op.subject) for op in asks}
    for op in operations:
        decision = work.decisions.get(op.id)
        if decision is not None and decision.status == OFFERED and not isinstance(op, Tell):
            wanted.add((decision.rotation, decision.subject))
    for rotation in {rotation for rotation, _ in wanted}:
        names = [name for other, name in wanted if other == rotation]
        given = {"in_rotation": rotation, "names": names}
        for row in connection.execute(_SUBJECTS, given):
            work.subjects[rotation, row.name] = subject_of(row)
    offers = {s.open_id for s in work.subjects.values() if s.open_id is not None}
    offers |= {name for name, _ in work.aliases.values()}
    _load_decisions(connection, work, offers - set(work.decisions))


def _load_decisions(connection: Connection, work: Work, ids: Iterable[str]) -> None:
    wanted = list(ids)
    if wanted:
        for row in connection.execute(_BY_ID, {"ids": wanted}):
            work.decisions[row.id] = decision_of(row)


def flush(connection: Connection, work: Work) -> None:
    """Write what became of the rows; raise :class:`ConflictError` if one is not as it was read."""
    changed = sorted(
        (s for s in work.subjects.values() if s.changed), key=lambda s: (s.rotation, s.name)
    )
    fresh = [_subject_row(s, 0) for s in changed if s.guard is None]
    if fresh:
        connection.execute(insert(_subject), fresh)
    _update(connection, _MOVE, [_moved(s) for s in changed if s.guard is not None])
    touched = {line.decision.id: line.decision for line in work.lines}
    new = [_decision_row(d) for d in touched.values() if d.was is None]
    if new:
        connection.execute(insert(_decision), new)
    _update(connection, _SETTLE, [_settled(d) for d in touched.values() if d.was is not None])
    if work.new_aliases:
        rows = [
            {"id": name, "decision": decision, "digest": digest}
            for name, (decision, digest) in work.new_aliases.items()
        ]
        connection.execute(insert(_alias), rows)
    if work.lines:
        connection.execute(insert(tables.journal), [_line(line) for line in work.lines])


def _update(connection: Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    if rows and connection.execute(statement, rows).rowcount != len(rows):
        raise ConflictError


def count_subjects(connection: Connection, rotation: str) -> int:
    """Return how many subjects a rotation has."""
    where = _subject.c.rotation == rotation
    return int(connection.execute(select(func.count()).where(where)).scalar_one())


def subject_of(row: Row[Any]) -> Subject:
    """Return a subject from its row."""
    recent = [(number, tuple(arms)) for number, arms in json.loads(row.recent)]
    standing = Standing(row.next, json.loads(row.state), recent)
    return Subject(row.rotation, row.name, standing, row.open_id, row.guard)


def decision_of(row: Row[Any]) -> Decision:
    """Return a decision from its row."""
    return Decision(
        id=row.id,
        rotation=row.rotation,
        version=row.version,
        subject=row.subject,
        round=row.round,
        arms=tuple(json.loads(row.arms)),
        taus=tuple(json.loads(row.taus)),
        propensity=row.propensity,
        by=row.by,
        reason=row.reason,
        status=row.status,
        asked=row.asked,
        until=row.until,
        due=row.due,
        reward=None if row.reward is None else tuple(json.loads(row.reward)),
        told=row.told,
        would=None if row.would is None else tuple(json.loads(row.would)),
        digest=row.digest,
        was=row.status,
    )


def _subject_row(subject: Subject, guard: int) -> dict[str, Any]:
    standing = subject.standing
    return {
        "rotation": subject.rotation,
        "name": subject.name,
        "guard": guard,
        "next": standing.next,
        "state": _text(standing.state),
        "recent": _text(standing.recent),
        "open_id": subject.open_id,
    }


def _moved(subject: Subject) -> dict[str, Any]:
    was = subject.guard or 0
    row = _subject_row(subject, was + 1)
    where = {"in_rotation": row.pop("rotation"), "of": row.pop("name"), "was": was}
    return {**where, **{f"new_{name}": value for name, value in row.items()}}


def _decision_row(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "rotation": decision.rotation,
        "version": decision.version,
        "subject": decision.subject,
        "round": decision.round,
        "arms": _text(decision.arms),
        "taus": _text(decision.taus),
        "propensity": decision.propensity,
        "by": decision.by,
        "reason": decision.reason,
        "status": decision.status,
        "asked": decision.asked,
        "until": decision.until,
        "due": decision.due,
        "reward": None if decision.reward is None else _text(decision.reward),
        "told": decision.told,
        "would": None if decision.would is None else _text(decision.would),
        "digest": decision.digest,
    }


def _settled(decision: Decision) -> dict[str, Any]:
    return {
        "of": decision.id,
        "was": decision.was,
        "new_status": decision.status,
        "new_until": decision.until,
        "new_due": decision.due,
        "new_reward": None if decision.reward is None else _text(decision.reward),
        "new_told": decision.told,
    }


def _line(line: Any) -> dict[str, Any]:
    decision, pays = line.decision, line.kind == "reward"
    return {
        "at": line.at,
        "rotation": decision.rotation,
        "kind": line.kind,
        "id": decision.id,
        "version": decision.version,
        "subject": decision.subject,
        "round": decision.round,
        "arms": _text(decision.arms),
        "taus": _text(decision.taus),
        "propensity": decision.propensity,
        "by": decision.by,
        "would": None if decision.would is None else _text(decision.would),
        "reward": _text(decision.reward) if pays else None,
        "told": decision.told if pays else None,
    }


def _text(value: Any) -> str:
    return json.dumps(value, **_WAY)  # type: ignore[arg-type]
