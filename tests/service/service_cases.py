"""Services to test: in this process, in processes of their own, on SQLite and on PostgreSQL."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from glob import glob
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from lastswitch.service.app import Service, _render
from lastswitch.service.clock import SteadyClock
from lastswitch.service.database import Database
from lastswitch.service.gate import Access, Limits
from lastswitch.service.keys import make_key
from lastswitch.service.rotations import put_rotation
from lastswitch.service.worker import Worker

CYCLE = {
    "arms": [{"name": name, "rest": [0.2, 0.6], "streak": [0.1]} for name in ("a", "b", "c")],
    "serve": {"decide": "cycle", "cycle": ["a", "b", "b", "c"], "window": "1h", "stand": "10min"},
}
LEARNER = {
    "arms": [{"name": "jazz"}, {"name": "talk"}, {"name": "news"}],
    "serve": {"decide": "learner"},
}


class Now:
    """A clock that goes when told to."""

    def __init__(self, at=1_000_000.0):
        self.at = at

    def __call__(self):
        """Return what it shows."""
        return self.at


@contextlib.contextmanager
def running(database, specs, *, clock=None, access=None, **key):
    """Give a client, with a key, of a service in this process."""
    database.create()
    for name, spec in specs.items():
        put_rotation(database, name, spec)
    secret = make_key(database, **key)
    service = Service(database, access or Access(hosts=("testserver",)), clock or SteadyClock())
    with TestClient(service.application(), headers={"authorization": f"Bearer {secret}"}) as client:
        assert service.worker.ready.wait(60)
        client.service, client.key, client.secret = service, secret.split("_")[1], secret
        yield client


@contextlib.contextmanager
def worker_on(database, clock=time.time, most_subjects=10**6):
    """Give a worker on a database, and stop it."""
    worker = Worker(database, _render, clock, most_subjects)
    worker.start()
    assert worker.ready.wait(60)
    try:
        yield worker
    finally:
        worker.stop()


def free_port():
    """Return a port of loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """``lastswitch serve`` in a process group of its own, and a key."""

    def __init__(self, where, *options, workers=1, key=None):
        self.where, self.options, self.workers, self.port = where, options, workers, free_port()
        database = Database(where)
        self.key = key or make_key(database)
        database.close()  # a connection left open would tidy up after a server that is killed
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "lastswitch", "serve", "--database", self.where]
        command += ["--port", str(self.port), "--workers", str(self.workers), *self.options]
        self.process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(1200):
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.url}/ready").status_code == 200:
                    return self
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}")
            time.sleep(0.05)
        raise RuntimeError("the server did not get ready")

    def kill(self):
        """End it at once, as a power switch would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ask it to end, and wait."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.kill()

    def workers_of(self):
        """Return the processes that serve."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False
        )
        return [int(line) for line in found.stdout.split()]


class Postgres:
    """A PostgreSQL server of the tests' own, in a temporary folder."""

    def __init__(self):
        self.bin = Path(sorted(glob("/usr/lib/postgresql/*/bin"))[-1])
        self.folder = Path(tempfile.mkdtemp(prefix="lastswitch-pg-", dir="/tmp"))
        self.port, self.process = free_port(), None
        self.as_user = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, "nobody")
            self.as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        self.data = self.folder / "data"
        initdb = [self.bin / "initdb", "-D", self.data, "-U", "tests", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*self.as_user, *initdb, "--no-sync"], check=True, capture_output=True)

    def start(self):
        """Start the server, and wait until it answers."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 100,
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen(
            [*self.as_user, self.bin / "postgres", "-D", self.data, *settings],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ready = [self.bin / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port), "-q"]
        for _ in range(600):
            if subprocess.run(ready, check=False).returncode == 0:
                return self
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL did not start")

    def url(self):
        """Return the URL of a fresh database."""
        import psycopg

        name = f"t{secrets.token_hex(6)}"
        at = f"host=127.0.0.1 port={self.port} user=tests"
        with psycopg.connect(f"{at} dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"

    def kill(self):
        """End the server and all its processes at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # A postmaster killed so leaves its lock; the next start takes it over.

    def close(self):
        """End the server and remove everything."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def need_postgres():
    """Skip nothing silently: say how to get PostgreSQL where it is absent."""
    if not glob("/usr/lib/postgresql/*/bin/initdb"):
        pytest.fail("PostgreSQL is not there; get it with: apt-get install postgresql")


def ask(client, subject="ann", key=None, rotation="r", **body):
    """Ask over HTTP."""
    headers = {} if key is None else {"idempotency-key": key}
    return client.post(
        f"/v1/rotations/{rotation}/decisions", json={"subject": subject, **body}, headers=headers
    )


__all__ = [
    "CYCLE",
    "LEARNER",
    "Access",
    "Database",
    "Limits",
    "Now",
    "Postgres",
    "Server",
    "ask",
    "need_postgres",
    "running",
    "worker_on",
]
