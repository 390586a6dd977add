"""How many decisions the service takes a second: ``python -m benchmarks.service``.

Real servers on loopback, loaded by clients in one further process; ``--quick`` for seconds of each,
``--seconds N`` for longer. ``--growth N`` watches the memory of a server over N decisions instead,
``--kills N`` kills processes N times under load and counts what was lost. Each part is kept beside
what the others found. PostgreSQL is measured where its programs are found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from tests.service.service_cases import Postgres, Server

from benchmarks._service_kills import killed
from benchmarks._table import RESULTS, keep, print_table
from lastswitch.model.instances import five_arms
from lastswitch.service.database import Database
from lastswitch.service.rotations import put_rotation

ABOUT = (
    "The paper's five arms, a learner, 10,000 subjects, clients on loopback that ask and tell the "
    "reward, each a request (32 clients) or a batch of 50 in one (2 clients), with every commit on "
    "disk (SQLite synchronous=FULL, PostgreSQL fsync). Clients and database run on the same two "
    "cores, and load is how many others wanted them. Milliseconds p50 and p99 are those of "
    "requests; the processor's are those of the server's processes, of the clients, and of "
    "PostgreSQL. Memory: one server and 100,000 subjects, in batches of 100. Kills: 24 clients "
    "repeat what was not answered while workers, whole servers and the database are killed at "
    "random moments (kill -9); then every acknowledgement is looked up, and the journal replayed."
)
#: Workers, and decisions in a request.
CASES = ((1, 1), (2, 1), (4, 1), (1, 50))
BATCH_CLIENTS = 2


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--growth", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--subjects", type=int, default=10_000)
    parser.add_argument("--only", choices=("SQLite", "PostgreSQL"))
    given = parser.parse_args()
    with databases(given.only) as places:
        if given.growth:
            table, rows = "growth", grow(places["SQLite"].make(), given)
        elif given.kills:
            table, rows = "kills", kill(places, given.kills)
        else:
            seconds = 2.0 if given.quick else given.seconds
            table, rows = (
                "throughput",
                [
                    measure(name, place, workers, batch, seconds, given)
                    for name, place in places.items()
                    for workers, batch in CASES
                ],
            )
    print_table(table, rows)
    if not given.quick:
        keep("service", "Decisions over HTTP", ABOUT, _beside(table, rows), "two cores")


def _beside(table: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all tables: the new one, and those kept before."""
    path = RESULTS / "service.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    names = ("throughput", "growth", "kills")
    tables = {name: kept.get(name, []) for name in names}
    measured = {row.get("database") for row in rows}
    others = [row for row in tables[table] if row.get("database") not in measured]
    tables[table] = sorted([*others, *rows], key=lambda row: str(row.get("database")))
    return {name: found for name, found in tables.items() if found}


class Place(NamedTuple):
    """A kind of database: what makes a fresh one, and the server behind it."""

    make: Callable[[], str]
    server: Postgres | None = None


@contextlib.contextmanager
def databases(only: str | None = None) -> Iterator[dict[str, Place]]:
    """Give what makes fresh databases, by the name of their kind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        places = {}
        if only != "PostgreSQL":
            places["SQLite"] = Place(lambda: f"{tempfile.mkdtemp(dir=folder)}/a.sqlite")
        if only != "SQLite" and glob("/usr/lib/postgresql/*/bin/initdb"):
            server = Postgres().start()
            stack.callback(server.close)
            places["PostgreSQL"] = Place(server.url, server)
        yield places


def ready(where: str, workers: int) -> Server:
    """Return a server of a learner, not started yet."""
    bandit = five_arms()
    database = Database(where)
    database.create()
    spec = {
        "arms": [{"name": name} for name in bandit.names],
        "initial": list(bandit.initial),
        "serve": {"decide": "learner"},
    }
    put_rotation(database, "r", spec)
    database.close()
    return Server(where, workers=workers)


@contextlib.contextmanager
def served(where: str, workers: int) -> Iterator[Server]:
    """Give a server of a learner."""
    server = ready(where, workers).start()
    try:
        yield server
    finally:
        server.stop()


def measure(
    name: str, place: Place, workers: int, batch: int, seconds: float, given: argparse.Namespace
) -> dict[str, Any]:
    """Load one server, after a moment to warm up."""
    with served(place.make(), workers) as server:
        load(server, 1.0, batch, given)
        apart = None if place.server is None else place.server.process.pid
        busy, before = os.getloadavg()[0], (_processor(server.process.pid), _processor(apart))
        found = load(server, seconds, batch, given)
        after = _processor(server.process.pid), _processor(apart)
    told = max(1, found["told decisions"])
    each = [1000 * (b - a) / told for a, b in zip(before, after, strict=True)]
    row = {
        "database": name,
        "workers": workers,
        "decisions per request": batch,
        **{key: found[key] for key in ("told decisions/s", "p50 ms", "p99 ms", "failed")},
        "processor ms per decision": each[0],
        "clients' ms": found["clients' processor ms per decision"],
        "PostgreSQL's ms": each[1] if apart is not None else None,
        "load": busy,
    }
    print(row, flush=True)
    return row


def kill(places: dict[str, Place], kills: int) -> list[dict[str, Any]]:
    """Kill processes under load, on every kind of database."""
    rows = []
    for name, place in places.items():
        where = place.make()
        rows.append(killed(name, where, ready(where, 2), place.server, kills))
        print(rows[-1], flush=True)
    return rows


def load(server: Server, seconds: float, batch: int, given: argparse.Namespace) -> dict[str, Any]:
    """Load a server from a process of its own."""
    settings = {
        "port": server.port,
        "key": server.key,
        "clients": given.clients if batch == 1 else BATCH_CLIENTS,
        "seconds": seconds,
        "subjects": given.subjects,
        "batch": batch,
    }
    command = [sys.executable, "-m", "benchmarks._service_load", json.dumps(settings)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def grow(where: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Watch the memory of a server while it decides for many subjects."""
    given.subjects, rows, total, step = 100_000, [], 0, given.growth // 20
    with served(where, 1) as server:
        while total < given.growth:
            total += load(server, 10.0, 100, given)["told decisions"]
            if rows and total < given.growth and total < rows[-1]["decisions"] + step:
                continue
            time.sleep(0.5)
            rows.append(
                {
                    "decisions": total,
                    "memory MB": _memory(server.process.pid),
                    "database MB": _size(where),
                }
            )
            print(rows[-1], flush=True)
    return rows


def _processor(number: int | None) -> float:
    """Return the processor seconds that a process and those it started have spent."""
    if number is None:
        return 0.0
    ticks = 0
    for one in (number, *_started_by(number)):
        with contextlib.suppress(FileNotFoundError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(") ")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _started_by(number: int) -> list[int]:
    found = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [int(child) for child in found]


def _memory(number: int) -> float:
    status = Path(f"/proc/{number}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _size(where: str) -> float:
    return sum(path.stat().st_size for path in Path(where).parent.glob("a.sqlite*")) / 2**20


if __name__ == "__main__":
    main()
