"""Rows in and out of the database: what operations work on, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, Table, bindparam, func, insert, select, update

from lastswitch.service import tables
from lastswitch.service.contract import OFFERED, Ask, Decision, Operation, Subject, Work
from lastswitch.service.subjects import Standing

_decision, _subject, _alias = tables.decision, tables.subject, tables.alias
_read, _write = msgspec.json.decode, msgspec.json.encode

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


def load(
    connection: Connection, work: Work, operations: Sequence[Operation], *, again: bool = False
) -> None:
    """Read every row that the operations need.

    An ask without a key has an id that nobody else has: only ``again``, after a commit that may
    have gone through, can it be there.
    """
    asks = [op for op in operations if isinstance(op, Ask)]
    fresh = () if again else {op.id for op in asks if not op.keyed}
    _load_decisions(connection, work, {op.id for op in operations}.difference(fresh))
    keyed = {op.id for op in asks if op.keyed} - set(work.decisions)
    if keyed:
        found = connection.execute(_ALIASES, {"ids": list(keyed)}).all()
        work.aliases |= {row.id: (row.decision, row.digest) for row in found}
    wanted = {(op.rotation, op.subject) for op in asks}
    for op in operations:
        decision = work.decisions.get(op.id)
        if decision is not None and decision.status == OFFERED:
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
    _many(connection, _subject, fresh)
    _update(connection, _MOVE, [_moved(s) for s in changed if s.guard is not None])
    touched = {line.decision.id: line.decision for line in work.lines}
    new = [_decision_row(d) for d in touched.values() if d.was is None]
    _many(connection, _decision, new)
    _update(connection, _SETTLE, [_settled(d) for d in touched.values() if d.was is not None])
    if work.new_aliases:
        rows = [
            {"id": name, "decision": decision, "digest": digest}
            for name, (decision, digest) in work.new_aliases.items()
        ]
        _many(connection, _alias, rows)
    _many(connection, tables.journal, [_line(line) for line in work.lines])


def _many(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        _execute(connection, insert(table), rows, table.name)


def _update(connection: Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    if rows and _execute(connection, statement, rows, "") != len(rows):
        raise ConflictError


def _execute(connection: Connection, statement: Any, rows: list[dict[str, Any]], to: str) -> int:
    """Execute a statement for many rows; return how many it changed.

    The statement's text is made once: what SQLAlchemy does for every row costs more than SQLite.
    """
    text, order = _prepared(connection.dialect, statement if not to else None, to, tuple(rows[0]))
    given = rows if order is None else [tuple(map(row.__getitem__, order)) for row in rows]
    return connection.exec_driver_sql(text, given).rowcount


@cache
def _prepared(
    dialect: Any, statement: Any, to: str, columns: tuple[str, ...]
) -> tuple[str, tuple[str, ...] | None]:
    """Return a statement's text, and the order of its parameters where they have no names."""
    if to:
        statement = insert(tables.metadata.tables[to])
    compiled = statement.compile(dialect=dialect, column_keys=list(columns) if to else None)
    order = compiled.positiontup
    return str(compiled), None if order is None else tuple(order)


def count_subjects(connection: Connection, rotation: str) -> int:
    """Return how many subjects a rotation has."""
    where = _subject.c.rotation == rotation
    return int(connection.execute(select(func.count()).where(where)).scalar_one())


def subject_of(row: Row[Any]) -> Subject:
    """Return a subject from its row."""
    recent = [(number, tuple(arms)) for number, arms in _read(row.recent)]
    standing = Standing(row.next, _read(row.state), recent)
    return Subject(row.rotation, row.name, standing, row.open_id, row.guard)


def decision_of(row: Row[Any]) -> Decision:
    """Return a decision from its row."""
    return Decision(
        id=row.id,
        rotation=row.rotation,
        version=row.version,
        subject=row.subject,
        round=row.round,
        arms=tuple(_read(row.arms)),
        taus=tuple(_read(row.taus)),
        propensity=row.propensity,
        by=row.by,
        reason=row.reason,
        status=row.status,
        asked=row.asked,
        until=row.until,
        due=row.due,
        reward=None if row.reward is None else tuple(_read(row.reward)),
        told=row.told,
        would=None if row.would is None else tuple(_read(row.would)),
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
    return _write(value).decode()
