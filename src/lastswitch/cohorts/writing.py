"""Cohort plans as files: one Parquet or CSV table, or a folder with a calendar per subject."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, get_args

from lastswitch._utils.atomic import atomic_file
from lastswitch._utils.checks import check_choice, check_path
from lastswitch._utils.csv import csv_cell
from lastswitch._utils.extras import load_extra
from lastswitch.calendars.ics import feed_of
from lastswitch.calendars.schedule import Play
from lastswitch.errors import CohortError, FileError

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar

Format = Literal["parquet", "csv", "ics"]
_SUFFIXES: dict[str, Format] = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
#: Characters of a subject's name that its file keeps.
_NAME = 60


def check_target(
    out: str | os.PathLike[str],
    form: Format | None,
    calendar: Calendar | None,
    sources: Sequence[object] = (),
    *,
    folder: bool = False,
) -> tuple[Path, Format]:
    """Return where to write and how, refused before any work is done if it cannot be.

    Parameters
    ----------
    out, form
        As given; without a format the suffix says it.
    calendar
        Feeds need dates.
    sources
        What is read; files among it are never written to.
    folder
        Whether the table is a folder of part files, as Spark writes them.

    Examples
    --------
    >>> check_target("plans.txt", None, None)
    Traceback (most recent call last):
    lastswitch.errors.FileError: cannot tell the format of 'plans.txt': end it in...
    """
    target = check_path(out)
    if form is None:
        if target.suffix not in _SUFFIXES:
            raise FileError(
                f"cannot tell the format of {str(target)!r}: end it in .parquet or .csv, or say "
                "which it is (parquet, csv, or ics for a folder with a calendar per subject)."
            )
        form = _SUFFIXES[target.suffix]
    check_choice("format", form, get_args(Format), FileError)
    if form == "ics" and calendar is None:
        raise CohortError("feeds need dates: give a calendar, such as Calendar('2024-06-03').")
    if not target.name or not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist.")
    for source in sources:
        if isinstance(source, str | Path) and Path(source).resolve() == target.resolve():
            raise FileError(
                f"{str(target)!r} is read from, and never written to; rename the output."
            )
    if folder or form == "ics":
        _check_folder(target, ".ics" if form == "ics" else ".parquet")
    elif target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; rename the output.")
    return target, form


def _check_folder(target: Path, suffix: str) -> None:
    """Refuse to replace anything but a folder of our own."""
    if target.is_file():
        raise FileError(f"cannot write {target}: it is a file, and a folder is needed.")
    if not target.is_dir():
        return
    with os.scandir(target) as entries:
        others = [e.name for e in entries if not e.name.endswith((suffix, ".crc", "_SUCCESS"))]
    if others:
        raise FileError(
            f"cannot write {target}: the folder holds {others[0]!r} and is replaced as a whole; "
            "name another folder."
        )


def write(parts: Iterable[Any], target: Path, form: Format, calendar: Calendar | None) -> Path:
    """Write tables of plays, part by part, as one file or folder that appears whole."""
    if form == "parquet":
        with atomic_file(target) as temporary:
            _write_parquet(parts, temporary)
    elif form == "csv":
        with atomic_file(target) as temporary:
            _write_csv(parts, temporary)
    else:
        assert calendar is not None  # feeds without dates were refused
        with whole_folder(target) as folder:
            for table in parts:
                _write_feeds(table, folder, calendar)
    return target


def _write_parquet(parts: Iterable[Any], path: Path) -> None:
    parquet = load_extra("pyarrow.parquet", "logs")
    writer = None
    try:
        for table in parts:
            plain = table.replace_schema_metadata(None)
            if writer is None:
                writer = parquet.ParquetWriter(path, plain.schema, compression="zstd")
            writer.write_table(plain)
    finally:
        if writer is not None:
            writer.close()


def _write_csv(parts: Iterable[Any], path: Path) -> None:
    csv = load_extra("pyarrow.csv", "logs")
    writer = None
    try:
        for table in parts:
            safe = _safe_text(table.replace_schema_metadata(None))
            if writer is None:
                writer = csv.CSVWriter(path, safe.schema)
            writer.write(safe)
    finally:
        if writer is not None:
            writer.close()


def _safe_text(table: Any) -> Any:
    """Return the table with no cell that a spreadsheet would run."""
    arrow = load_extra("pyarrow", "logs")
    for place, name in enumerate(table.schema.names):
        if arrow.types.is_string(table.schema.field(name).type):
            coded = table.column(name).combine_chunks().dictionary_encode()
            cells = [csv_cell(text) for text in coded.dictionary.to_pylist()]
            safe = arrow.array(cells, arrow.string()).take(coded.indices)
            table = table.set_column(place, name, safe)
    return table


def file_name(subject: str) -> str:
    """Return the name of a subject's file: no folder, no surprise, no two alike.

    Examples
    --------
    >>> file_name("../../etc/passwd"), file_name("ann")
    ('etc-passwd-3754d6cb3a.ics', 'ann-49915e0d7d.ics')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", subject).strip("-")[:_NAME] or "subject"
    mark = sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{plain}-{mark}.ics"


def _write_feeds(table: Any, folder: Path, calendar: Calendar) -> None:
    """Write one feed per subject of a part."""
    made = datetime.now().astimezone()
    for subject, plays in _by_subject(table, calendar):
        text = feed_of(calendar, plays, subject or "lastswitch", made)
        (folder / file_name(subject)).write_bytes(text.encode("utf-8", "replace"))


def _by_subject(table: Any, calendar: Calendar) -> Iterator[tuple[str, list[Play]]]:
    """Yield every subject and its plays; all of a subject's rows are side by side."""
    names, rounds, arms = (table.column(c).to_pylist() for c in ("subject", "round", "arm"))
    times = {t: (*calendar.span(t), calendar.day(t)) for t in set(rounds)}
    begin = 0
    for row in range(1, len(names) + 1):
        if row == len(names) or names[row] != names[begin]:
            plays = [
                Play(rounds[k], *times[rounds[k]], -1, arms[k])
                for k in range(begin, row)
                if arms[k] is not None
            ]
            yield names[begin], plays
            begin = row


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder to fill; it takes the place of ``target`` at the end, if all went well."""
    made, old = (target.with_name(f".{target.name}.{token_hex(8)}~") for _ in range(2))
    made.mkdir()
    try:
        yield made
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    if target.exists():
        os.replace(target, old)
    os.replace(made, target)
    shutil.rmtree(old, ignore_errors=True)
