"""Rows in and out of the database: what operations work on, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from lastswitch.service import tables
from lastswitch.service.channels import Changes, Found, Row, Wanted
from lastswitch.service.contract import Work
from lastswitch.service.operations import Ask, Decision, Operation, Subject
from lastswitch.service.rotation import is_text
from lastswitch.service.subjects import Standing

_read, _write = msgspec.json.decode, msgspec.json.encode


def load(
    fetch: Callable[[Wanted], Found],
    work: Work,
    operations: Sequence[Operation],
    *,
    again: bool = False,
) -> None:
    """Read every row that the operations need.

    An ask without a key has an id that nobody else has: only ``again``, after a commit that may
    have gone through, can it be there.
    """
    asks = [op for op in operations if isinstance(op, Ask)]
    fresh = () if again else {op.id for op in asks if not op.keyed}
    found = fetch(
        Wanted(
            # Names that nothing can have, some databases cannot even be asked for.
            ids=[name for name in {op.id for op in operations}.difference(fresh) if is_text(name)],
            keys=list({op.id for op in asks if op.keyed}),
            subjects=list({(op.rotation, op.subject) for op in asks if is_text(op.rotation)}),
        )
    )
    work.decisions |= {row[0]: decision_of(row) for row in found.decisions}
    work.aliases |= {name: (decision, digest) for name, decision, digest in found.aliases}
    work.subjects |= {(row[0], row[1]): subject_of(row) for row in found.subjects}


def changes(work: Work) -> Changes:
    """Return what became of the rows."""
    changed = sorted(
        (s for s in work.subjects.values() if s.changed), key=lambda s: (s.rotation, s.name)
    )
    touched = {line.decision.id: line.decision for line in work.lines}
    return Changes(
        new_subjects=[_subject_row(s) for s in changed if s.guard is None],
        moved=[_moved(s) for s in changed if s.guard is not None],
        new_decisions=[_decision_row(d) for d in touched.values() if d.was is None],
        settled=[_settled(d) for d in touched.values() if d.was is not None],
        aliases=[
            {"id": name, "decision": decision, "digest": digest}
            for name, (decision, digest) in work.new_aliases.items()
        ],
        lines=[_line(line) for line in work.lines],
    )


def count_subjects(connection: Connection, rotation: str) -> int:
    """Return how many subjects a rotation has."""
    where = tables.subject.c.rotation == rotation
    return int(connection.execute(select(func.count()).where(where)).scalar_one())


def subject_of(row: Row) -> Subject:
    """Return a subject from its row."""
    rotation, name, guard, following, state, recent, open_id = row
    rounds = [(number, tuple(arms)) for number, arms in _read(recent)]
    return Subject(rotation, name, Standing(following, _read(state), rounds), open_id, guard)


def decision_of(row: Row) -> Decision:
    """Return a decision from its row."""
    name, rotation, version, subject, round_, arms, taus, propensity, by, reason = row[:10]
    status, asked, until, due, reward, told, would, digest = row[10:]
    return Decision(
        id=name,
        rotation=rotation,
        version=version,
        subject=subject,
        round=round_,
        arms=tuple(_read(arms)),
        taus=tuple(_read(taus)),
        propensity=propensity,
        by=by,
        reason=reason,
        status=status,
        asked=asked,
        until=until,
        due=due,
        reward=None if reward is None else tuple(_read(reward)),
        told=bool(told),
        would=None if would is None else tuple(_read(would)),
        digest=digest,
        was=status,
    )


def _subject_row(subject: Subject) -> dict[str, Any]:
    standing = subject.standing
    return {
        "rotation": subject.rotation,
        "name": subject.name,
        "guard": 0,
        "next": standing.next,
        "state": _text(standing.state),
        "recent": _text(standing.recent),
        "open_id": subject.open_id,
    }


def _moved(subject: Subject) -> dict[str, Any]:
    standing, was = subject.standing, subject.guard or 0
    return {
        "guard": was + 1,
        "next": standing.next,
        "state": _text(standing.state),
        "recent": _text(standing.recent),
        "open_id": subject.open_id,
        "rotation": subject.rotation,
        "name": subject.name,
        "was": was,
    }


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
        "status": decision.status,
        "until": decision.until,
        "due": decision.due,
        "reward": None if decision.reward is None else _text(decision.reward),
        "told": decision.told,
        "id": decision.id,
        "was": decision.was,
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
