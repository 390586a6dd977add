"""What operators meet: addresses taken, full disks, turns not given back, ends, logs, keys."""

import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import httpx2
import pytest
from service_cases import (
    CYCLE,
    LEARNER,
    Access,
    Database,
    Limits,
    Server,
    ask,
    free_port,
    running,
    worker_on,
)
from sqlalchemy import event

from lastswitch.cli import main
from lastswitch.service import database as database_module
from lastswitch.service import drafts, reading_api
from lastswitch.service import worker as worker_module
from lastswitch.service.gate import Rates
from lastswitch.service.keys import has_master, make_key, revoke_key
from lastswitch.service.metrics import Lines
from lastswitch.service.problems import Problem
from lastswitch.service.replaying import replay_database
from lastswitch.service.rotations import put_rotation
from lastswitch.service.running import MOST_HEAD

ROTATION = """
[serve]
decide = "cycle"
cycle = ["a"]

[[arms]]
name = "a"
rest = [0.5]
streak = [0.1]
"""


@pytest.fixture
def client(database):
    """Give a client of a service with a cycle."""
    with running(database, {"r": CYCLE}) as found:
        yield found


@pytest.fixture
def served(tmp_path):
    """Give a server in a process of its own."""
    where = str(tmp_path / "a.sqlite")
    database = Database(where)
    database.create()
    put_rotation(database, "r", CYCLE)
    database.close()
    server = Server(where).start()
    yield server
    server.kill()


def serve(*options, seconds=60):
    """Run ``lastswitch serve`` to its end."""
    command = [sys.executable, "-m", "lastswitch", "serve", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


# Starting.


def test_an_address_that_is_taken_makes_nothing(tmp_path):
    """No database, no key, and no link to whoever is there."""
    file = tmp_path / "r.toml"
    file.write_text(ROTATION)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        found = serve(file, "--port", other.getsockname()[1])
    assert found.returncode == 2
    assert "is it taken" in found.stderr
    assert "ls_" not in found.stdout + found.stderr
    assert not (tmp_path / "r.sqlite").exists()


@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("--name", "x.example", "--no-keys")])
def test_what_must_not_be_served_makes_nothing(tmp_path, options, capsys):
    """An address without names, and no keys behind a name."""
    file = tmp_path / "r.toml"
    file.write_text(ROTATION)
    assert main(["serve", str(file), *options]) == 2
    assert "--n" in capsys.readouterr().err
    assert not (tmp_path / "r.sqlite").exists()


def test_keys_are_made_and_nothing_else(tmp_path, capsys):
    """No first key that nobody sees, no new version of a changed file, no key of no rotation."""
    file, where = tmp_path / "r.toml", tmp_path / "r.sqlite"
    file.write_text(ROTATION)
    assert main(["serve", str(file), "--new-key", "read"]) == 0
    reader = capsys.readouterr().out.strip()
    database = Database(where)
    assert not has_master(database)
    assert rows(where, "SELECT count(*) FROM key") == [(1,)]
    assert rows(where, "SELECT count(*) FROM version") == [(0,)]
    put_rotation(database, "r", CYCLE)
    assert main(["serve", str(file), "--revoke", reader.split("_")[1]]) == 0
    assert main(["serve", str(file), "--new-key", "write", "--only", "nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err
    where_only = ["--database", str(where), "--only", "r"]
    assert main(["serve", *where_only, "--new-key", "write"]) == 0
    assert not has_master(database)
    database.close()
    assert rows(where, "SELECT count(*) FROM version") == [(1,)]
    assert rows(where, "SELECT count(*), count(revoked) FROM key") == [(2, 1)]


def rows(where, statement):
    """Return what SQLite says."""
    with contextlib.closing(sqlite3.connect(where)) as connection:
        return connection.execute(statement).fetchall()


def test_files_are_for_their_owner(tmp_path):
    """The database, its log and its turns."""
    database = Database(tmp_path / "a.sqlite")
    before = os.umask(0o022)
    try:
        with running(database, {"r": CYCLE}) as client:
            ask(client)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert {"a.sqlite", "a.sqlite-wal", "a.sqlite.turn"} <= set(modes)


@pytest.mark.xdist_group("servers")
def test_without_keys_and_the_demo_s_link(tmp_path):
    """The link brings the key; without keys none is needed."""
    port = free_port()
    command = [sys.executable, "-m", "lastswitch", "serve", "--demo", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said = [process.stdout.readline() for _ in range(2)]
        link = said[1].split()[1]
        key = link.partition("#key=")[2]
        assert key
        headers = {"authorization": f"Bearer {key}"}
        wait_for(f"http://127.0.0.1:{port}/ready")
        path = f"http://127.0.0.1:{port}/studio/rotations"
        assert httpx2.get(path).status_code == 401
        found = httpx2.get(path, headers=headers).json()["rotations"]
        assert [entry["name"] for entry in found] == ["radio", "station"]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    file = tmp_path / "r.toml"
    file.write_text(ROTATION)
    command = [*command[:4], str(file), "--no-keys", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/ready")
        body = {"subject": "ann"}
        path = f"http://127.0.0.1:{port}/v1/rotations/r/decisions"
        assert httpx2.post(path, json=body).status_code == 201
        assert httpx2.post(path, json=body, headers={"host": "a.example"}).status_code == 421
    finally:
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)


def wait_for(url):
    """Wait until a server is ready."""
    for _ in range(600):
        with contextlib.suppress(httpx2.TransportError):
            if httpx2.get(url).status_code == 200:
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not get ready")


# Trouble with the database.


@contextlib.contextmanager
def taken(path):
    """Keep the turn to write, as a process that hangs would."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def test_a_turn_that_is_not_given_back_is_not_waited_for_for_ever(database, monkeypatch):
    """503 for those who write, said by readiness; all is well once it is given back."""
    monkeypatch.setattr(database_module, "PATIENCE", 0.2)
    monkeypatch.setattr(worker_module, "PATIENCE", 0.5)
    with running(database, {"r": CYCLE}) as client:
        assert client.get("/ready").status_code == 200
        with taken(f"{database.url.database}.turn"):
            began = time.monotonic()
            found = ask(client)
            assert (found.status_code, found.json()["type"][-4:]) == (503, "busy")
            assert found.headers["content-type"] == "application/problem+json"
            assert time.monotonic() - began < 5.0
            assert client.get("/ready").status_code == 503
            assert client.put("/v1/rotations/n", json=CYCLE).status_code == 503
        assert ask(client).status_code == 201
        assert client.get("/ready").status_code == 200


@pytest.mark.xdist_group("servers")
def test_a_server_that_waits_for_its_turn_ends_when_told(served):
    """SIGTERM is heard while a request waits."""
    headers = {"authorization": f"Bearer {served.key}"}
    with taken(f"{served.where}.turn"), httpx2.Client(base_url=served.url, headers=headers) as http:
        waiting = threading.Thread(target=lambda: quietly(http), daemon=True)
        waiting.start()
        time.sleep(0.5)
        began = time.monotonic()
        served.process.terminate()
        served.process.wait(15)
        assert time.monotonic() - began < 5.0


def quietly(http):
    """Ask, whatever becomes of it."""
    with contextlib.suppress(httpx2.HTTPError):
        http.post("/v1/rotations/r/decisions", json={"subject": "ann"}, timeout=30)


@pytest.mark.xdist_group("servers")
def test_a_server_that_is_watched_ends_when_told(served):
    """An open stream of events, as a studio's tab has, is let go."""
    headers = {"authorization": f"Bearer {served.key}"}
    path = f"{served.url}/v1/rotations/r/events"
    with httpx2.stream("GET", path, headers=headers, timeout=30) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": watching"
        began = time.monotonic()
        served.process.terminate()
        served.process.wait(15)
        assert time.monotonic() - began < 3.0


def test_a_full_disk_is_said(database, caplog):
    """At once, as 503, in the log and by readiness; nothing is lost when there is room again."""
    with running(database, {"r": CYCLE}) as client:
        first = ask(client, key="one")
        assert first.status_code == 201
        worker = client.service.worker
        with database.reading() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

        def fill(connection, record):
            connection.execute(f"PRAGMA max_page_count = {pages}")

        def connect_anew():
            worker._channel.close()
            database.engine.dispose()

        event.listen(database.engine, "connect", fill)
        connect_anew()
        with caplog.at_level(logging.ERROR, "lastswitch.service"):
            for k in range(3_000):
                found = ask(client, "x" * 150 + str(k))
                if found.status_code != 201:
                    break
        assert found.status_code == 503
        assert found.json()["type"].endswith("database-full")
        assert sum("disk is full" in record.getMessage() for record in caplog.records) == 1
        assert worker.trouble is not None
        event.remove(database.engine, "connect", fill)
        connect_anew()  # a new connection has no limit
        assert ask(client, "x" * 150 + str(k)).status_code == 201
        assert client.get("/ready").status_code == 200
    assert replay_database(database.url.database).agrees


def test_a_database_that_is_read_only_is_said(database, monkeypatch):
    """503 in words, by asks, by changes and by readiness."""
    with running(database, {"r": CYCLE}) as client:
        worker = client.service.worker
        works, broken = worker._channel.write, sqlite3.OperationalError("read-only")
        broken.sqlite_errorcode = 1032  # SQLITE_READONLY_DBMOVED

        def refuse(changes):
            raise broken

        monkeypatch.setattr(worker._channel, "write", refuse)
        found = ask(client)
        assert (found.status_code, found.json()["type"][-9:]) == (503, "read-only")
        assert worker.trouble.kind == "database-read-only"
        monkeypatch.setattr(worker._channel, "write", works)
        assert ask(client).status_code == 201
        assert worker.trouble is None


@pytest.mark.service
def test_postgresql_that_is_read_only_or_taken_is_said(postgres, monkeypatch):
    """A standby, and somebody who keeps the turn: 503, and well again afterwards."""
    import psycopg

    monkeypatch.setattr(database_module, "PATIENCE", 0.3)
    monkeypatch.setattr(worker_module, "PATIENCE", 1.0)
    monkeypatch.setattr(worker_module, "PROVEN", 0.0)
    where = postgres.url()
    with running(Database(where), {"r": CYCLE}) as client:
        assert ask(client).status_code == 201
        with psycopg.connect(where, autocommit=True) as other:
            other.execute(f"SELECT pg_advisory_lock({database_module.TURN})")
            found = ask(client)
            assert (found.status_code, found.json()["type"][-4:]) == (503, "busy")
            other.execute("SELECT pg_advisory_unlock_all()")
            assert ask(client).status_code == 201
            name = where.rpartition("/")[2]
            other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            client.service.worker._channel.close()
            client.service.database.engine.dispose()
            found = ask(client)
            assert (found.status_code, found.json()["type"][-9:]) == (503, "read-only")
            assert client.get("/ready").status_code == 503
            other.execute("SET default_transaction_read_only = off")
            other.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            client.service.worker._channel.close()
            client.service.database.engine.dispose()
            assert ask(client).status_code == 201
            assert client.get("/ready").status_code == 200


@pytest.mark.service
def test_postgresql_the_journal_cannot_be_emptied(postgres):
    """TRUNCATE is no way around: the database refuses it."""
    import psycopg

    where = postgres.url()
    with running(Database(where), {"r": CYCLE}) as client:
        ask(client)
        with psycopg.connect(where) as other, pytest.raises(psycopg.Error, match="append-only"):
            other.execute("TRUNCATE journal")


def test_probes_wait_for_nobody(client, monkeypatch):
    """Plans being made take none of the threads that answer."""
    going = threading.Event()
    monkeypatch.setattr(drafts, "plan_view", lambda body: going.wait(20) and {})
    body = {"spec": CYCLE, "length": 3}
    answers = []
    askers = [
        threading.Thread(
            target=lambda: answers.append(client.post("/studio/plan", json=body).status_code)
        )
        for _ in range(30)
    ]
    for asker in askers:
        asker.start()
    try:
        began = time.monotonic()
        for path in ("/ready", "/metrics", "/v1/rotations"):
            assert client.get(path).status_code == 200
        assert time.monotonic() - began < 3.0
    finally:
        going.set()
        for asker in askers:
            asker.join(30)
    assert set(answers) == {200, 429}
    assert answers.count(200) <= drafts.AT_ONCE + drafts.WAITING


def test_drafts_have_a_size(client):
    """Arms times rounds, and arms of a log, are refused in words before they take memory."""
    arms = [{"name": f"a{k}", "rest": [0.5], "streak": [0.1]} for k in range(400)]
    for more in ({"cycle": False}, {"cycle": True}):
        found = client.post("/studio/plan", json={"spec": {"arms": arms}, "length": 366, **more})
        assert "arms times rounds" in found.json()["wrong"]
    ruled = {"arms": arms[:50], "plays": [0, 1]}
    found = client.post("/studio/plan", json={"spec": ruled, "length": 200, "cycle": True})
    assert "cycle under rules" in found.json()["wrong"]
    log = "subject,time,arm,reward\n" + "".join(f"s,{k},a{k},1\n" for k in range(1000))
    headers = {"content-type": "text/csv"}
    found = client.post("/studio/fit", content=log, headers=headers)
    assert (found.status_code, "more than 500 arms" in found.text) == (422, True)


def test_plain_cycles_are_planned_as_such(client):
    """The planner of plain cycles proves more, in less memory, than the one of rules."""
    rest = [[0.1 * (k % 7), 0.3 + 0.1 * (k % 5), 0.9] for k in range(50)]
    arms = [{"name": f"a{k}", "rest": rest[k], "streak": [0.0]} for k in range(50)]
    body = {"spec": {"arms": arms}, "length": 60, "cycle": True}
    found = client.post("/studio/plan", json=body).json()
    assert found["gap"] < 0.05
    put_rotation(client.service.database, "c", {"arms": arms, "serve": {"decide": "cycle"}})


# Over HTTP.


def test_streams_end_with_their_key_and_are_counted(database):
    """A revoked key's streams are cut off; a key has so many at once."""
    limits = Limits(streams=2)
    access = Access(hosts=("testserver", "127.0.0.1"), limits=limits)
    with running(database, {"r": CYCLE}, access=access) as client:
        service = client.service
        key = service.keys.check(f"Bearer {client.secret}")
        with service.streams.one_more(key.id), service.streams.one_more(key.id):
            found = client.get("/v1/rotations/r/events")
            assert (found.status_code, found.json()["type"][-7:]) == (429, "streams")
        revoke = threading.Timer(0.5, revoke_key, (database, client.key))
        revoke.start()
        began = time.monotonic()
        assert client.get("/v1/rotations/r/events").text.startswith(": watching")
        assert time.monotonic() - began < 6.0
        assert not service.streams._open


def test_every_failure_is_a_problem(client, monkeypatch):
    """Whatever breaks, on either way, and whoever asks."""

    def breaks(*given):
        raise RuntimeError("made up")

    monkeypatch.setattr(reading_api, "rotation_view", breaks)
    client_ = client
    found = client_.get("/v1/rotations")
    assert found.status_code == 500
    assert found.headers["content-type"] == "application/problem+json"
    assert "made up" not in found.text
    log = "subject,time,arm,reward\ns,1,a,1\n"
    odd = client.post("/studio/fit?every=²", content=log, headers={"content-type": "text/csv"})
    assert (odd.status_code, odd.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize(
    "path",
    ["/health", "/ready", "/", "/v1/rotations/r", "/v1/rotations/r/log", "/v1/rotations/r/events"],
)
def test_head_is_answered(client, path):
    """As GET would be, without a body, and at once even where that never ends."""
    ask(client)
    found = client.head(path)
    assert (found.status_code, found.content) == (200, b"")


def test_head_needs_what_get_needs(client):
    """A key, and an address."""
    assert client.head("/v1/rotations", headers={"authorization": ""}).status_code == 401
    assert client.head("/v1/nothing").status_code == 404


def test_addresses_and_headers_have_a_size(client):
    """Said in words while they are moderate."""
    assert client.get("/health?" + "x" * 9_000).status_code == 414
    assert client.get("/health", headers={"x-much": "x" * 40_000}).status_code == 431
    assert client.get("/health", headers={"x-much": "x" * 10_000}).status_code == 200


@pytest.mark.xdist_group("servers")
@pytest.mark.parametrize("begin", [b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: ", b"GET /"])
def test_headers_that_never_end_are_cut_off(served, begin):
    """Before they take memory, and whether or not a line ever ends; others are answered."""
    with socket.create_connection(("127.0.0.1", served.port), 10) as raw:
        raw.sendall(begin)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 100 * MOST_HEAD:
                raw.sendall(b"a" * 10_000)
                sent += 10_000
        assert sent < 100 * MOST_HEAD
    headers = {"authorization": f"Bearer {served.key}", "x-much": "x" * 20_000}
    with httpx2.Client(base_url=served.url, headers=headers) as http:
        for k in range(12):  # bodies and many heads on one connection are no endless head
            body = {"subject": f"s{k}", "allowed": ["a", "b"] * 200}
            assert http.post("/v1/rotations/r/decisions", json=body).status_code == 201


def test_what_is_refused_is_logged_with_time_and_client(client, caplog):
    """Without being asked for every request."""
    logging.getLogger("lastswitch.service.requests").setLevel(logging.WARNING)
    client.get("/v1/rotations")
    client.get("/v1/rotations", headers={"authorization": "Bearer wrong"})
    records = [r for r in caplog.records if r.name == "lastswitch.service.requests"]
    assert len(records) == 1
    line = json.loads(Lines().format(records[0]))
    assert line["level"] == "warning"
    assert line["status"] == 401
    assert line["client"] == "testclient"
    assert line["time"].endswith("+00:00")


def test_a_bucket_fills_and_may_be_overdrawn_once():
    """Whoever takes much at once waits for it afterwards."""
    now = [0.0]
    rates = Rates(10.0, lambda: now[0])
    rates.take("a", 100)
    with pytest.raises(Problem) as refused:
        rates.take("a")
    assert refused.value.more["retry_after"] == 9
    now[0] = 8.0
    with pytest.raises(Problem):
        rates.take("a")
    rates.take("b")
    now[0] = 8.2
    rates.take("a")


def test_the_rest_of_a_long_plan_is_no_reason_to_wait(database):
    """A worker that is told to end while somebody has the turn ends soon."""
    database.create()
    put_rotation(database, "l", LEARNER)
    with taken(f"{database.url.database}.turn"), worker_on(database) as worker:
        began = time.monotonic()
        worker.stop_soon()
    assert time.monotonic() - began < 4.0
    assert make_key(database)
