"""Cohorts on one machine, or on the machines of a Ray or Dask cluster: part files in a folder.

The roster is read once, in batches, into part files of a folder beside the output. Each part is
planned by itself, anywhere, and leaves a file named by everything that made it; a run that was
ended in the middle finds what is finished and goes on from there. Nothing is held whole in memory
but the different standings.
"""

from __future__ import annotations

import json
import pickle
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lastswitch._utils.atomic import atomic_file
from lastswitch._utils.extras import load_extra
from lastswitch._utils.progress import Progress, Report
from lastswitch._utils.sources import library_digest
from lastswitch.cohorts.job import Census, Found, Job, joined
from lastswitch.cohorts.roster import PART, in_parts
from lastswitch.cohorts.rows import Tally
from lastswitch.errors import CohortError, FileError, LastSwitchError
from lastswitch.experiments.backends import Backend, run_calls

if TYPE_CHECKING:
    from lastswitch.cohorts.reading import OpenRoster

#: Where a part file keeps its tally.
_TALLY = b"lastswitch/tally"
#: Entries of states that a part may have: cohorts of many arms have fewer subjects a part.
_ENTRIES = 6_000_000


class Part(NamedTuple):
    """A part that is planned: its file and its tally."""

    path: Path
    tally: Tally


class LocalCohort:
    """A roster in part files, and the work on them.

    Parameters
    ----------
    job
        What is planned.
    folder
        Where the part files are; every worker must see it.
    n_jobs, backend
        As for :func:`lastswitch.compare`.
    """

    def __init__(self, job: Job, folder: Path, n_jobs: int | None, backend: Backend) -> None:
        self._job, self._folder = job, folder
        self._n_jobs, self._backend = n_jobs, backend
        self._rosters: list[Path] = []
        self.subjects = 0

    def census(self, opened: OpenRoster) -> Census:
        """Read the roster into part files; return who stands where."""
        found = []
        size = min(PART, max(_ENTRIES // self._job.problem.n_arms, 100))
        for number, table in enumerate(in_parts(_batches(opened, size), size)):
            found.append(self._job.census(self._job.roster(table)))
            path = self._folder / f"roster-{number:06d}.arrow"
            with atomic_file(path) as temporary:
                _write_arrow(table, temporary)
            self._rosters.append(path)
            self.subjects += len(table)
            if len(found) > 8:  # different standings are held, not all of them
                found = [joined(found)]
        if not found:
            raise CohortError("there is nobody to plan: the table of subjects has no rows.")
        return joined(found)

    def pending(self, job: Job) -> Found:
        """Return all subjects whose keys must be known before anyone is planned."""
        found = [job.pending(job.roster(_read_arrow(path))) for path in self._rosters]
        return Found(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def plan(self, job: Job, report: Report) -> list[Part]:
        """Plan every part that is not there yet; return all, in order."""
        began, done = time.perf_counter(), 0
        content = pickle.dumps(job)
        # The same question leaves the same bytes; where it should not, parts are planned again.
        identity = sha256(library_digest().encode() + content).hexdigest()
        job_file = self._folder / f"job-{identity[:16]}.pickle"
        with atomic_file(job_file) as temporary:
            temporary.write_bytes(content)
        calls = [
            (_plan_part, (str(job_file), identity, number, str(path)))
            for number, path in enumerate(self._rosters)
        ]
        n_jobs = 1 if len(calls) == 1 and self._backend == "loky" else self._n_jobs
        parts: dict[int, Part] = {}
        for number, path, tally in run_calls(calls, n_jobs, self._backend):
            parts[number] = Part(Path(path), Tally.from_dict(tally))
            done += parts[number].tally.subjects
            report(Progress(time.perf_counter() - began, done, self.subjects))
        return [parts[number] for number in range(len(calls))]


def _batches(opened: OpenRoster, size: int) -> Iterable[Any]:
    """Return the roster as record batches, in the order of its subjects."""
    connection = opened.connection
    if connection.name != "duckdb":
        return connection.to_pyarrow_batches(  # type: ignore[no-any-return]
            opened.table.order_by("subject"), chunk_size=size
        )
    # Its releases differ in what a result offers, and Ibis asks for what the newest do not have.
    name = f"roster_{token_hex(8)}"
    connection.create_table(name, opened.table, temp=True)
    result = connection.con.sql(f"SELECT * FROM {name} ORDER BY subject")
    reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
    return reader(size)  # type: ignore[no-any-return]


def _plan_part(
    job_file: str, identity: str, number: int, roster_file: str
) -> tuple[int, str, dict[str, Any]]:
    """Plan one part unless its file is there; return its number, its file and its tally."""
    parquet = load_extra("pyarrow.parquet", "logs")
    job = _job(job_file)
    roster = job.roster(_read_arrow(Path(roster_file)))
    name = sha256(f"{identity} {roster.digest()}".encode()).hexdigest()[:32]
    path = Path(job_file).with_name(f"part-{number:06d}-{name}.parquet")
    if path.exists():
        held = parquet.read_schema(path).metadata
        return number, str(path), json.loads(held[_TALLY])
    table, tally = job.plan(roster)
    found = tally.to_dict()
    with atomic_file(path) as temporary:
        parquet.write_table(
            table.replace_schema_metadata({_TALLY: json.dumps(found).encode()}),
            temporary,
            compression="zstd",
        )
    return number, str(path), found


@lru_cache(maxsize=1)
def _job(path: str) -> Job:
    """Return the job of a file that this run wrote; a worker reads it once."""
    job: Job = pickle.loads(Path(path).read_bytes())
    return job


def _write_arrow(table: Any, path: Path) -> None:
    ipc = load_extra("pyarrow.ipc", "logs")
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def _read_arrow(path: Path) -> Any:
    arrow, ipc = load_extra("pyarrow", "logs"), load_extra("pyarrow.ipc", "logs")
    with arrow.memory_map(str(path)) as source:
        return ipc.open_file(source).read_all()


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """Yield the folder beside ``out`` in which its parts are made; it goes when all went well.

    Two runs with one output would be in each other's way, so the second is refused; a run that
    was killed is not in anyone's way.
    """
    folder = out.with_name(f".{out.name}.parts")
    try:
        folder.mkdir(exist_ok=True)
        lock = open(folder / "lock", "a")  # noqa: SIM115 - held open: it is the lock
    except OSError as error:
        raise FileError(f"cannot write {out}: {error.strerror or error}.") from error
    with lock:
        if not _locked(lock):
            raise FileError(f"another run is writing {out}; wait for it, or write to another file.")
        try:
            yield folder
        except LastSwitchError:  # what is refused leaves nothing behind
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _locked(lock: Any) -> bool:
    """Take the lock, which ends with its process; False if someone has it."""
    try:
        import fcntl
    except ImportError:  # a system without it has no such lock; runs there are on their own
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def total_of(parts: Sequence[Part]) -> Tally:
    """Return the tally of all parts."""
    whole = parts[0].tally
    for part in parts[1:]:
        whole = whole + part.tally
    return whole
