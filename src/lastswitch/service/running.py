"""Starting the service: an address, a database, a first key, worker processes."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from lastswitch.errors import ServiceError
from lastswitch.logs.saving import find_fit
from lastswitch.model.files import read_values
from lastswitch.service.app import Service
from lastswitch.service.database import Database, is_away, trouble_with
from lastswitch.service.gate import LOOPBACK, Access, Limits
from lastswitch.service.keys import has_master, make_key
from lastswitch.service.metrics import log_lines
from lastswitch.service.rotation import plain
from lastswitch.service.rotations import put_rotation
from lastswitch.service.worker import PATIENCE

#: Seconds after which a thread lets another have the interpreter: the one that commits asks for it
#: many times between two waits for the disk, and should not wait for whole answers to be written.
_SWITCH = 0.0005
#: How worker processes are told what to serve.
_SETTINGS = "LASTSWITCH_SERVE"


class Prepared(NamedTuple):
    """What is ready to be served: the rotations put in place, and the first key if one was made."""

    database: Database
    rotations: list[str]
    key: str | None


def open_database(
    files: Sequence[Path],
    where: str | None = None,
    synchronous: str = "FULL",
    migrate: bool = False,
) -> Database:
    """Return the database of some rotations' files, or the one named, with its tables.

    A SQLite file that an earlier release wrote is copied and brought up to date; PostgreSQL, of
    which we can make no copy, only if ``migrate`` says that there is one.
    """
    if where is None:
        if not files:
            raise ServiceError("say what to serve: a rotation's file, or --database.")
        where = str(files[0].with_suffix(".sqlite"))
    database = Database(where, synchronous)
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            database.create(migrate=migrate or database.sqlite)
            return database
        except database.errors as error:
            if not is_away(error):
                raise ServiceError(f"the database cannot be used: {error!s:.300}") from error
            if time.monotonic() > ends:
                raise ServiceError(trouble_with(error).detail) from error
            time.sleep(0.25)


def prepare(
    files: Sequence[Path],
    where: str | None = None,
    synchronous: str = "FULL",
    migrate: bool = False,
) -> Prepared:
    """Open the database, put the files' rotations into it, and make a key if there is none."""
    specs = [(file.stem, read_spec(file)) for file in files]
    database = open_database(files, where, synchronous, migrate)
    for name, spec in specs:
        put_rotation(database, name, spec)
    key = None if has_master(database) else make_key(database, label="first")
    return Prepared(database, [name for name, _ in specs], key)


def read_spec(file: Path) -> dict[str, Any]:
    """Return the rotation in a bandit's file; one fitted from a log brings its counts along."""
    spec = plain(read_values(file))
    if not isinstance(spec, dict):
        raise ServiceError(f"{file} is no rotation: it must hold a table with [[arms]].")
    spec.pop("version", None)
    settings = dict(spec.get("serve", {}))
    if settings.get("prior") == "fit":
        fit = find_fit(file).fit
        if fit is None:
            raise ServiceError(f"prior is 'fit', and {file} does not lie beside the fit it is of.")
        settings["prior"] = {name: table.tolist() for name, table in fit.prior()._asdict().items()}
        spec["serve"] = settings
    return spec


def check_access(host: str, names: Sequence[str] = (), *, keys: bool = True) -> None:
    """Refuse an address that can be reached by names nobody said, or without keys by anybody."""
    if host not in LOOPBACK and not names:
        raise ServiceError(
            f"{host} can be reached from elsewhere: say by which names, such as "
            "--name decide.example.org."
        )
    if not keys and (host not in LOOPBACK or names):
        raise ServiceError(
            "--no-keys lets everybody do everything who gets here, and so is for loopback alone: "
            "leave --host and --name out, or use keys."
        )


def run(
    prepared: Prepared,
    *,
    at: socket.socket,
    host: str = "127.0.0.1",
    workers: int = 1,
    names: Sequence[str] = (),
    limits: Limits | None = None,
    synchronous: str = "FULL",
    keys: bool = True,
    verbose: bool = False,
) -> None:
    """Serve at a socket until told to stop."""
    check_access(host, names, keys=keys)
    limits = limits or Limits()
    settings = {
        "database": prepared.database.url.render_as_string(hide_password=False),
        "synchronous": synchronous,
        "hosts": (*LOOPBACK, *(name.lower() for name in names)),
        "keys": keys,
        # What a key may do in a second is shared by the workers that may be asked.
        "limits": asdict(limits) | {"rate": limits.rate / workers},
        "verbose": verbose,
    }
    prepared.database.close()
    with tempfile.TemporaryDirectory(prefix="lastswitch-") as folder:
        os.environ[_SETTINGS] = json.dumps(settings)
        if workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        config = uvicorn.Config(
            "lastswitch.service.running:from_environment",
            factory=True,
            http=Protocol,
            workers=workers,
            log_level="warning",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=10,
            backlog=4096,
        )
        log_lines(verbose)
        with contextlib.suppress(KeyboardInterrupt):
            if workers > 1:
                _run_workers(config, at)
                return
            server = uvicorn.Server(config)
            server.run([at])
            if not server.started:
                raise ServiceError("the service could not be started; see the log.")


def _run_workers(config: uvicorn.Config, at: socket.socket) -> None:
    given: dict[str, Any] = {"sockets": [at]}
    if "target" in signature(Multiprocess).parameters:  # of some releases
        given["target"] = uvicorn.Server(config).run
    Multiprocess(config, **given).run()


def from_environment() -> Any:
    """Return the application that a worker process serves."""
    settings = json.loads(os.environ[_SETTINGS])
    sys.setswitchinterval(_SWITCH)
    log_lines(settings["verbose"])
    access = Access(tuple(settings["hosts"]), settings["keys"], Limits(**settings["limits"]))
    service = Service(Database(settings["database"], settings["synchronous"]), access)
    service.worker.settled.append(_settle_memory)
    return service.application()


def _settle_memory() -> None:
    """Let collections of garbage leave alone what stays for good: they take a tenth of a second."""
    gc.collect()
    gc.freeze()


class background:  # noqa: N801 - used like a function
    """Serve rotations from a thread of this process, to try things out.

    Parameters
    ----------
    files
        Rotations' files.
    database
        A file for SQLite or a URL of PostgreSQL; by default a file beside the first rotation.

    Attributes
    ----------
    url, key
        Where it is, and a key that writes.

    Examples
    --------
    ::

        with background("station.toml") as service:
            pull = ls.Client(service.url, service.key).ask("ann")
    """

    def __init__(self, *files: str | os.PathLike[str], database: str | None = None) -> None:
        prepared = prepare([Path(file) for file in files], database)
        self.key = prepared.key or make_key(prepared.database, label="background")
        service = Service(prepared.database)
        self._service = service
        self._server = uvicorn.Server(
            uvicorn.Config(
                service.application(),
                http=Protocol,
                port=0,
                log_level="warning",
                access_log=False,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, name="lastswitch-background", daemon=True
        )
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise ServiceError("the service could not be started; see the log.")
            time.sleep(0.01)
        service.worker.ready.wait()
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """Answer what waits, and end."""
        self._service.stop_soon()
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> background:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


#: Bytes of a request's first line and headers.
MOST_HEAD = 64_000
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\nconnection: close\r\n\r\n"
    b'{"type": "urn:lastswitch:problem:headers", "title": "Too many headers", "status": 431, '
    b'"detail": "address and headers have at most 64,000 bytes."}'
)


class Protocol(HttpToolsProtocol):
    """HTTP whose headers end: whoever sends more and more of them is cut off."""

    _head, _reads_head = 0, True

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._head, self._reads_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more: a body is counted at the gate."""
        self._reads_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it is too much of a head."""
        super().data_received(data)
        if not self._reads_head or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > MOST_HEAD:
            self.transport.write(_REFUSAL)
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that has the address, or say that somebody else has it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(4096)
    except OSError as error:
        found.close()
        raise ServiceError(
            f"{host}:{port} cannot be listened on ({error.strerror}); is it taken? Choose another "
            "--port."
        ) from error
    found.set_inheritable(True)
    return found
