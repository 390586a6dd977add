"""The journal as JSON lines and Parquet, and plays with their rewards as a log to fit curves to."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import select

from lastswitch._utils.csv import csv_text
from lastswitch._utils.extras import load_extra
from lastswitch.errors import CalendarError
from lastswitch.service import tables
from lastswitch.service.clock import Clock
from lastswitch.service.database import Database
from lastswitch.service.rotation import Version

_AT_A_TIME = 2_000
#: Rows of a group in a Parquet file.
_GROUP = 50_000
#: The columns of a log.
COLUMNS = (
    *("subject", "time", "arm", "reward", "propensity"),
    *("round", "state", "by", "version", "decision"),
)


def journal_lines(
    database: Database, version: Version, after: int = 0, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Give the lines of a rotation's journal, oldest first; arms by name."""
    table, left = tables.journal, limit
    names = version.arms
    while left is None or left > 0:
        query = (
            select(table)
            .where(table.c.rotation == version.rotation, table.c.seq > after)
            .order_by(table.c.seq)
            .limit(_AT_A_TIME if left is None else min(left, _AT_A_TIME))
        )
        with database.reading() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            line: dict[str, Any] = dict(row._mapping)
            for name in ("arms", "taus", "would", "reward"):
                line[name] = None if line[name] is None else json.loads(line[name])
            line["arms"] = [names[arm] for arm in line["arms"]]
            if line["would"] is not None:
                line["would"] = [names[arm] for arm in line["would"]]
            yield line
        if left is not None:
            left -= len(rows)
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].seq


def log(database: Database, version: Version, form: str) -> tuple[str, Iterator[bytes]]:
    """Return the media type and the bytes of a rotation's log in one of its forms."""
    if form == "parquet":
        return "application/vnd.apache.parquet", _parquet(database, version)
    if form == "csv":
        return "text/csv", _csv(database, version)
    return "application/x-ndjson", (
        json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in log_rows(database, version)
    )


def log_rows(database: Database, version: Version) -> Iterator[dict[str, Any]]:
    """Give every play: who, when (the round's beginning, or its number), what, and what it paid.

    A play whose reward is not known yet, or will never come, has none; a round that is too far
    away for the calendar has no time.
    """
    table, after = tables.decision, ""
    when = _times(version)
    while True:
        query = (
            select(table)
            .where(table.c.rotation == version.rotation, table.c.id > after)
            .where(table.c.status.in_(("played", "rewarded")))
            .order_by(table.c.id)
            .limit(_AT_A_TIME)
        )
        with database.reading() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            arms, taus = json.loads(row.arms), json.loads(row.taus)
            paid = [None] * len(arms) if row.reward is None else json.loads(row.reward)
            for arm, tau, reward in zip(arms, taus, paid, strict=True):
                values = (
                    *(row.subject, when(row.round), version.arms[arm], reward, row.propensity),
                    *(row.round, tau, row.by, row.version, row.id),
                )
                yield dict(zip(COLUMNS, values, strict=True))
        if len(rows) < _AT_A_TIME:
            return
        after = rows[-1].id


def _times(version: Version) -> Any:
    """Return what turns a round into the time a log gives it."""
    if version.calendar is None:
        return lambda number: number
    clock, known = Clock(version.calendar), dict[int, str | None]()

    def time(number: int) -> str | None:
        if number not in known:
            known[number] = None
            with suppress(CalendarError, OverflowError, ValueError):  # too far to have a date
                known[number] = datetime.fromtimestamp(clock.begin(number), UTC).isoformat()
        return known[number]

    return time


def _csv(database: Database, version: Version) -> Iterator[bytes]:
    batch: list[list[Any]] = []
    yield csv_text(COLUMNS, []).encode()
    for row in log_rows(database, version):
        batch.append(["" if value is None else value for value in row.values()])
        if len(batch) >= _AT_A_TIME:
            yield _lines(batch)
            batch = []
    if batch:
        yield _lines(batch)


def _lines(batch: list[list[Any]]) -> bytes:
    return csv_text(COLUMNS, batch).partition("\n")[2].encode()


def _parquet(database: Database, version: Version) -> Iterator[bytes]:
    arrow = load_extra("pyarrow", "logs")
    text, number, whole = arrow.string(), arrow.float64(), arrow.int64()
    time = whole if version.calendar is None else arrow.timestamp("us", tz="UTC")
    kinds = (text, time, text, number, number, whole, whole, text, whole, text)
    rows = log_rows(database, version)
    if version.calendar is not None:
        rows = (
            {**row, "time": None if row["time"] is None else datetime.fromisoformat(row["time"])}
            for row in rows
        )
    return _parquet_of(rows, dict(zip(COLUMNS, kinds, strict=True)))


def journal_parquet(lines: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Give lines of the journal as a Parquet file, piece by piece."""
    arrow = load_extra("pyarrow", "logs")
    text, number, whole, flag = arrow.string(), arrow.float64(), arrow.int64(), arrow.bool_()
    kinds = {
        **{"seq": whole, "at": number, "rotation": text, "kind": text, "id": text},
        **{"version": whole, "subject": text, "round": whole, "arms": arrow.list_(text)},
        **{"taus": arrow.list_(whole), "propensity": number, "by": text},
        **{"would": arrow.list_(text), "reward": arrow.list_(number), "told": flag},
    }
    return _parquet_of(lines, kinds)


def _parquet_of(rows: Iterator[dict[str, Any]], kinds: dict[str, Any]) -> Iterator[bytes]:
    """Give rows as a Parquet file, piece by piece: no more than a group of them is held."""
    arrow, parquet = load_extra("pyarrow", "logs"), load_extra("pyarrow.parquet", "logs")
    schema, pieces = arrow.schema(list(kinds.items())), _Pieces()
    with parquet.ParquetWriter(pieces, schema) as writer:
        while batch := list(islice(rows, _GROUP)):
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            yield pieces.taken()
    yield pieces.taken()


class _Pieces(io.RawIOBase):
    """A file that is read while it is written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """Say that it is written."""
        return True

    def write(self, data: Any) -> int:
        """Take in a piece."""
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """Return what was written since."""
        found, self._parts = b"".join(self._parts), []
        return found
