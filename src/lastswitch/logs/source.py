"""Reading a log: files, data frames and database tables as one Ibis table, never modified."""

from __future__ import annotations

import glob
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import InputTypeError, LogError

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

#: A path, several paths, a data frame (pandas, Polars, Arrow) or an Ibis table.
LogLike: TypeAlias = Any
#: ``"duckdb"`` (embedded, the default), ``"spark"``, or any Ibis connection.
BackendLike: TypeAlias = Any
Format = Literal["csv", "parquet", "JSON lines"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
}
_PACKED = (".gz", ".zst")
#: Bytes: a line of text longer than this is no event, but a file that is not what it seems.
LONGEST_LINE = 1 << 24


@dataclass(frozen=True)
class Columns:
    """Which columns of the log say who, when, what was played and what happened."""

    subject: str | None
    time: str
    arm: str
    reward: str | None
    propensity: str | None = None
    order: str | None = None

    def chosen(self) -> dict[str, str]:
        """Return the log's column for each role that has one."""
        optional = ("subject", "reward", "propensity", "order")
        return {
            role: column
            for role, column in vars(self).items()
            if column is not None or role not in optional
        }


@dataclass(frozen=True)
class Source:
    """An opened log: its table, its connection, and the lines its reader had to give up on."""

    table: Table
    connection: BaseBackend
    lost_lines: Callable[[], list[str]]


@contextmanager
def open_log(log: LogLike, backend: BackendLike = None, memory: str = "3GB") -> Iterator[Source]:
    """Open ``log`` for reading; what was opened here is closed at the end.

    ``memory`` is where the embedded engine starts spilling to disk.
    """
    with _connected(log, backend, memory) as connection, _interruptible():
        lost: Callable[[], list[str]] = list
        if isinstance(log, str | Path) or _is_list_of_paths(log):
            paths, kind = _files(log)
            _refuse_long_lines(paths, kind)
            try:
                table, lost = _read(connection, paths, kind)
            except load_extra("duckdb", "logs").InterruptException:
                raise
            except load_extra("duckdb", "logs").Error as error:
                reason = str(error).splitlines()[0].removesuffix(".")
                raise LogError(
                    f"cannot read {paths[0]!r} as {kind}: {reason[:300]}; check that it is what "
                    "its name says."
                ) from error
        else:
            table = _as_table(log)
        yield Source(table, connection, lost)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C inside the engine end a call as it does anywhere else.

    The engine notices it first, stops its query, and says so in an error of its own.
    """
    try:
        yield
    except (RuntimeError, load_extra("duckdb", "logs").InterruptException) as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def _read(connection: Any, paths: list[str], kind: Format) -> tuple[Table, Callable[[], list[str]]]:
    """Return the files as one table, and how to ask for the lines that were lost."""
    if connection.name == "duckdb":
        # The engine takes a path for a pattern: "data[1].csv" must not be read as "data1.csv".
        literal = [glob.escape(path) for path in paths]
        if kind == "parquet":
            return connection.read_parquet(literal), list
        if kind == "JSON lines":
            return _read_json_lines(connection, literal), list
        # Text only: a value that cannot be read must be counted, not stop the reading.
        table = connection.read_csv(
            literal, all_varchar=True, header=True, store_rejects=True, max_line_size=LONGEST_LINE
        )
        return table, lambda: _rejected(connection)
    ibis = load_extra("ibis", "logs")
    literal = [re.sub(r"([\\\[\]{}*?,])", r"\\\1", str(Path(path).absolute())) for path in paths]
    if kind == "parquet":
        tables = [connection.read_parquet(path) for path in literal]
    elif kind == "JSON lines":
        tables = [connection.read_json(path, primitivesAsString=True) for path in literal]
    else:
        tables = [connection.read_csv(path, header=True, inferSchema=False) for path in literal]
    return ibis.union(*tables, distinct=False) if len(tables) > 1 else tables[0], list


def _read_json_lines(connection: Any, paths: list[str]) -> Table:
    """Return files of one JSON object a line; times stay the text they are, as in CSV."""
    options = f"format = 'newline_delimited', maximum_object_size = {LONGEST_LINE}"
    found = connection.con.execute(
        f"DESCRIBE SELECT * FROM read_json(?, {options}, sample_size = -1)", [paths]
    ).fetchall()
    plain = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "BOOLEAN")
    kinds = {
        name: kind if kind in plain or kind.endswith(("]", ")")) else "VARCHAR"
        for name, kind, *_ in found
    }
    return connection.read_json(
        paths, columns=kinds, format="newline_delimited", maximum_object_size=LONGEST_LINE
    )


def _refuse_long_lines(paths: list[str], kind: Format) -> None:
    """Name the line that is too long, which the engine would misname; packed files it names."""
    if kind == "parquet":
        return
    for path in paths:
        if Path(path).suffix in _PACKED or Path(path).stat().st_size <= LONGEST_LINE:
            continue
        number, held = 1, 0
        with open(path, "rb") as file:
            while chunk := file.read(LONGEST_LINE):
                begin = chunk.find(b"\n")
                if held + (begin if begin >= 0 else len(chunk)) > LONGEST_LINE:
                    raise LogError(
                        f"{path!r}: line {number} is longer than {LONGEST_LINE // 2**20} MiB, "
                        "which no event is; is a quote left open there?"
                    )
                number += chunk.count(b"\n")
                held = len(chunk) - chunk.rfind(b"\n") - 1 if begin >= 0 else held + len(chunk)


def distinct_rows(table: Table) -> Table:
    """Return the rows of the whole table, those equal in every column once."""
    plain = {
        name: table[name].cast("string") if table[name].type().is_nested() else table[name]
        for name in table.columns
    }
    return table.select(**plain).distinct()


def select_columns(table: Table, columns: Columns) -> Table:
    """Return the log with its named columns only, renamed to their roles.

    Nothing else is ever read, so a wide log costs no more than a narrow one.
    """
    for role, column in columns.chosen().items():
        if not isinstance(column, str):
            raise InputTypeError(f"{role} must be the name of a column, got {column!r}.")
        if column in table.columns and table[column].type().is_nested():
            raise LogError(
                f"the column {column!r} for the {role} is nested ({table[column].type()}): a log "
                "has one plain value per row and column; unpack it first."
            )
        if column not in table.columns:
            raise LogError(
                f"the log has no column {column!r} for the {role}"
                f"{suggestion(column, table.columns)}; its columns are {list(table.columns)}."
            )
    picked = {role: table[column] for role, column in columns.chosen().items()}
    ibis = load_extra("ibis", "logs")
    if columns.subject is None:
        picked["subject"] = ibis.literal("all")
    if columns.reward is None:
        picked["reward"] = ibis.literal(0.0)
    return table.select(**picked)


@contextmanager
def _connected(log: LogLike, backend: BackendLike, memory: str) -> Iterator[BaseBackend]:
    ibis = load_extra("ibis", "logs")
    if backend is None and isinstance(log, ibis.expr.types.Table) and not _is_memory_table(log):
        yield log.get_backend()
    elif isinstance(backend, ibis.backends.BaseBackend):  # some cannot be compared with a text
        yield backend
    elif backend in (None, "duckdb"):
        with _embedded(memory) as connection:
            yield connection
    elif backend == "spark":
        with _spark_session() as session:
            yield ibis.pyspark.connect(session)
    else:
        raise InputTypeError(
            f"{spelled('backend')} must be 'duckdb', 'spark' or an Ibis connection, got "
            f"{backend!r}.",
            parameter="backend",
        )


@contextmanager
def _embedded(memory: str) -> Iterator[BaseBackend]:
    """Yield an engine of our own, which spills to a folder that goes with it."""
    ibis, duckdb = load_extra("ibis", "logs"), load_extra("duckdb", "logs")
    with tempfile.TemporaryDirectory(prefix="lastswitch-") as folder:
        try:
            connection = ibis.duckdb.connect(
                memory_limit=memory, temp_directory=folder, preserve_insertion_order=False
            )
        except duckdb.Error as error:
            raise LogError(
                f"{spelled('memory')} must be a size such as '3GB', got {memory!r}.",
                parameter="memory",
            ) from error
        connection.raw_sql("SET enable_progress_bar = false")
        try:
            yield connection
        finally:
            connection.disconnect()


@contextmanager
def _spark_session() -> Iterator[Any]:
    """Yield the running Spark session, or a local one that ends with this call."""
    sql = load_extra("pyspark.sql", "spark")
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    # Its workers are to be this Python, with what is installed here, not any other on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Local mode talks to itself only: every socket is bound to the loopback address.
    session = (
        sql.SparkSession.builder.master("local[*]")
        .appName("lastswitch")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    try:
        yield session
    finally:
        session.stop()


def _is_list_of_paths(log: LogLike) -> bool:
    return (
        isinstance(log, Sequence)
        and len(log) > 0
        and all(isinstance(item, str | Path) for item in log)
    )


def _is_memory_table(table: Table) -> bool:
    operations = load_extra("ibis.expr.operations", "logs")
    return bool(table.op().find(operations.InMemoryTable)) and not table.op().find(
        operations.DatabaseTable
    )


def _files(log: str | Path | Sequence[str | Path]) -> tuple[list[str], Format]:
    """Return the files ``log`` names, and their one format."""
    given = [log] if isinstance(log, str | Path) else list(log)
    paths = [path for item in given for path in _expanded(item)]
    kinds = {path: _format(path) for path in paths}
    if len(set(kinds.values())) > 1:
        raise LogError(
            f"a log must be all CSV, all Parquet or all JSON lines, got a mixture: "
            f"{sorted(kinds)[:6]}."
        )
    return paths, next(iter(kinds.values()))


def _expanded(item: str | Path) -> list[str]:
    path = Path(item)
    if path.is_dir():
        found = [str(file) for file in sorted(path.rglob("*")) if _known_suffix(file) is not None]
        what = "no CSV, Parquet or JSON lines file in folder"
    else:
        found = [str(path)] if path.is_file() else sorted(glob.glob(str(item), recursive=True))
        what = "no such log"
    if not found:
        raise LogError(
            f"{what}: {str(item)!r}; give a file, a folder or a pattern like 'logs/*.csv'."
        )
    return found


def _known_suffix(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _format(path: str) -> Format:
    known = _known_suffix(Path(path))
    if known is None:
        raise LogError(
            f"cannot tell what {path!r} is: a log is a .csv, .tsv, .parquet or .jsonl file "
            "(a .gz or .zst of one is fine too)."
        )
    return known


def _as_table(log: LogLike) -> Table:
    ibis = load_extra("ibis", "logs")
    if isinstance(log, ibis.expr.types.Table):
        return log
    if not hasattr(log, "columns") and not hasattr(log, "schema"):
        raise InputTypeError(
            f"a log is a path, a list of paths, a data frame or an Ibis table, got {type(log)!r}."
        )
    return ibis.memtable(_settled(log) if hasattr(log, "dtypes") else log)


def _settled(frame: Any) -> Any:
    """Return a frame whose columns of mixed types are text: each value is judged on its own."""
    arrow = load_extra("pyarrow", "logs")
    mixed = {}
    for name, kind in frame.dtypes.items() if hasattr(frame.dtypes, "items") else ():
        if str(kind) == "object":
            try:
                arrow.array(frame[name], from_pandas=True)
            except (arrow.ArrowInvalid, arrow.ArrowTypeError):
                mixed[name] = frame[name].map(str, na_action="ignore")
    return frame.assign(**mixed) if mixed else frame


def _rejected(connection: Any) -> list[str]:
    """Return the lines the CSV reader could not split into columns, with their numbers."""
    rows = connection.con.execute(
        "SELECT line, any_value(csv_line) FROM reject_errors "
        "WHERE scan_id = (SELECT min(scan_id) FROM reject_errors) "
        "GROUP BY file_id, line ORDER BY file_id, line"
    ).fetchall()
    return [f"line {line}: {text}" for line, text in rows]
