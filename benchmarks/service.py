"""How many decisions the service takes a second: ``python -m benchmarks.service``.

Real servers on loopback, loaded by clients in one further process; ``--quick`` for seconds of each,
``--seconds N`` for longer, ``--growth N`` to watch the memory of a server over N decisions.
PostgreSQL is measured where its programs are found.
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
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

from tests.service.service_cases import Postgres, Server

from benchmarks._table import keep, print_table
from lastswitch.instances import five_arms
from lastswitch.service.database import Database
from lastswitch.service.rotations import put_rotation

ABOUT = (
    "The paper's five arms, a learner, {subjects:,} subjects, {clients} clients on loopback that "
    "ask and tell the reward, each a request (or a batch of 50 in one), with every commit on disk "
    "(SQLite synchronous=FULL, PostgreSQL fsync). Clients and database run on the same two cores, "
    "and load is how many others wanted them. Milliseconds p50 and p99 are those of requests, the "
    "processor's those of the server alone."
)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--growth", type=int, default=0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--subjects", type=int, default=10_000)
    given = parser.parse_args()
    seconds = 2.0 if given.quick else given.seconds
    with databases() as places:
        rows = [
            measure(name, make(), workers, batch, seconds, given)
            for name, make in places.items()
            for workers, batch in ((1, 1), (2, 1), (1, 50))
        ]
        tables: dict[str, Any] = {"throughput": rows}
        print_table("Decisions over HTTP", rows)
        if given.growth:
            tables["growth"] = grow(places["SQLite"](), given)
            print_table("Memory", tables["growth"])
    if not given.quick:
        about = ABOUT.format(subjects=given.subjects, clients=given.clients)
        keep("service", "Decisions over HTTP", about, tables, "two cores")


@contextlib.contextmanager
def databases() -> Iterator[dict[str, Any]]:
    """Give what makes fresh databases, by the name of their kind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        places: dict[str, Any] = {
            "SQLite": lambda: f"{tempfile.mkdtemp(dir=folder)}/a.sqlite",
        }
        if glob("/usr/lib/postgresql/*/bin/initdb"):
            server = Postgres().start()
            stack.callback(server.close)
            places["PostgreSQL"] = server.url
        yield places


@contextlib.contextmanager
def served(where: str, workers: int) -> Iterator[Server]:
    """Give a server of a learner."""
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
    server = Server(where, workers=workers).start()
    try:
        yield server
    finally:
        server.stop()


def measure(
    name: str, where: str, workers: int, batch: int, seconds: float, given: argparse.Namespace
) -> dict[str, Any]:
    """Load one server, after a moment to warm up."""
    with served(where, workers) as server:
        load(server, 1.0, batch, given)
        busy, before = os.getloadavg()[0], _processor(server)
        found = load(server, seconds, batch, given)
        spent = _processor(server) - before
    row = {
        "database": name,
        "workers": workers,
        "decisions per request": batch,
        **{key: found[key] for key in ("told decisions/s", "p50 ms", "p99 ms", "failed")},
        "processor ms per decision": 1000 * spent / max(1, found["told decisions"]),
        "load": busy,
    }
    print(row, flush=True)
    return row


def load(server: Server, seconds: float, batch: int, given: argparse.Namespace) -> dict[str, Any]:
    """Load a server from a process of its own."""
    settings = {
        "port": server.port,
        "key": server.key,
        "clients": given.clients if batch == 1 else 4,
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
    given.subjects, rows, total = 100_000, [], 0
    with served(where, 1) as server:
        while total < given.growth:
            total += load(server, 20.0, 100, given)["told decisions"]
            time.sleep(0.5)
            rows.append(
                {"decisions": total, "memory MB": _memory(server), "database MB": _size(where)}
            )
            print(rows[-1], flush=True)
    return rows


def _processor(server: Server) -> float:
    """Return the processor seconds that a server and its workers have spent."""
    assert server.process is not None
    ticks = 0
    for number in (server.process.pid, *server.workers_of()):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(server: Server) -> float:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _size(where: str) -> float:
    return sum(path.stat().st_size for path in Path(where).parent.glob("a.sqlite*")) / 2**20


if __name__ == "__main__":
    main()
