"""Several processes, clients that repeat themselves, and what is left when the power fails."""

import contextlib
import json
import random
import shutil
import sqlite3
import threading
import time

import httpx2
import pytest
from service_cases import CYCLE, Database, Server
from test_replaying import wrong_in

from lastswitch.service.rotations import put_rotation

ROTATION = {**CYCLE, "serve": {**CYCLE["serve"], "window": "30d"}}


class Restless(threading.Thread):
    """A client that repeats, reorders and gives up on requests, and notes what was acknowledged."""

    def __init__(self, url, key, seed, subjects=6, offers=True):
        super().__init__(daemon=True)
        self.url, self.key, self.rng, self.subjects = url, key, random.Random(seed), subjects
        self.offers, self.name_ = offers, f"c{seed}"
        self.ending = threading.Event()
        self.played, self.rewarded, self.bodies, self.odd = {}, {}, {}, []

    def run(self):
        """Go on until told to end."""
        waiting, count = [], 0
        with httpx2.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.key}"}, timeout=5
        ) as http:
            while not self.ending.is_set():
                with contextlib.suppress(httpx2.TransportError):
                    if waiting and self.rng.random() < 0.5:
                        self.tell(http, waiting.pop(self.rng.randrange(len(waiting))))
                        continue
                    count += 1
                    found = self.ask(http, f"{self.name_}-{count}")
                    if found is not None:
                        waiting.append(found["id"])

    def send(self, http, path, body, key=None):
        """Send a request, sometimes twice; an answer that does not fit is noted."""
        headers = {} if key is None else {"idempotency-key": key}
        answers = [http.post(path, json=body, headers=headers)]
        if self.rng.random() < 0.2:
            answers.append(http.post(path, json=body, headers=headers))
        for answer in answers:
            if answer.status_code not in (200, 201, 409, 410, 503):
                self.odd.append((path, answer.status_code, answer.text))
        return answers[-1] if answers[-1].status_code < 300 else None

    def ask(self, http, key):
        """Ask, at once or as an offer that is then confirmed."""
        later = self.offers and self.rng.random() < 0.3
        body = {"subject": f"s{self.rng.randrange(self.subjects)}"}
        body["confirm"] = "later" if later else "now"
        answer = self.send(http, "/v1/rotations/r/decisions", body, key)
        if answer is None:
            return None
        found = answer.json()
        if later:
            answer = self.send(http, f"/v1/decisions/{found['id']}/confirm", None)
            if answer is None:
                return None
            found = answer.json()
        if found["status"] in ("played", "rewarded"):
            self.played[found["id"]] = (found["subject"], found["round"], found["arms"])
        return found

    def tell(self, http, name):
        """Tell a reward that depends on the decision alone, so that everyone tells the same."""
        reward = float(sum(map(ord, name)) % 2)
        if self.send(http, f"/v1/decisions/{name}/reward", {"reward": reward}) is not None:
            self.rewarded[name] = reward


def check_nothing_lost(where, clients):
    """See that what was acknowledged is there, once, and that every row agrees."""
    assert [line for client in clients for line in client.odd] == []
    assert wrong_in(where) == []
    database = Database(where)
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT id, subject, round, arms, reward FROM decision")
        kept = {row.id: row for row in rows}
        lines = connection.exec_driver_sql("SELECT id, kind FROM journal").all()
    database.close()
    for client in clients:
        for name, (subject, round_, arms) in client.played.items():
            row = kept[name]
            assert (row.subject, row.round) == (subject, round_)
            assert [("a", "b", "c")[arm] for arm in json.loads(row.arms)] == arms
        for name, reward in client.rewarded.items():
            assert json.loads(kept[name].reward) == [reward]
    assert len(lines) == len(set(map(tuple, lines)))
    return sum(len(client.played) for client in clients), len(lines)


def unrest(server, seconds, seeds, disturb=None, every=0.5):
    """Let restless clients work on a server while something disturbs it now and then."""
    clients = [Restless(server.url, server.key, seed) for seed in seeds]
    for client in clients:
        client.start()
    ends = time.monotonic() + seconds
    disturbed, rng = 0, random.Random(seeds[0])
    while time.monotonic() < ends:
        time.sleep(every * rng.uniform(0.4, 1.6))
        if disturb is not None:
            disturb()
            disturbed += 1
    for client in clients:
        client.ending.set()
    for client in clients:
        client.join(30)
    return clients, disturbed


def serving(where, workers):
    """Give a server of a fresh rotation."""
    database = Database(where)
    database.create()
    put_rotation(database, "r", ROTATION)
    database.close()
    return Server(where, workers=workers)


@pytest.mark.xdist_group("servers")
def test_two_processes_lose_and_double_nothing(tmp_path):
    """Retries, duplicates and races of six subjects on two workers; then a graceful stop."""
    where = str(tmp_path / "a.sqlite")
    server = serving(where, workers=2).start()
    try:
        clients, _ = unrest(server, 2.5, [1, 2, 3])
    finally:
        server.stop()
    plays, _ = check_nothing_lost(where, clients)
    assert plays > 20


@pytest.mark.xdist_group("servers")
def test_a_killed_server_lost_nothing_it_acknowledged(tmp_path):
    """Kill -9 of every process, under load, and again."""
    where = str(tmp_path / "a.sqlite")
    server = serving(where, workers=1).start()

    def kill():
        server.kill()
        server.start()

    try:
        clients, kills = unrest(server, 3.0, [4, 5], kill, every=1.0)
    finally:
        server.kill()
    assert kills
    check_nothing_lost(where, clients)


def heard(server, count, found, listening):
    """Collect events of a server until there are enough."""
    headers = {"authorization": f"Bearer {server.key}"}
    path, event = f"{server.url}/v1/rotations/r/events", {}
    with httpx2.stream("GET", path, headers=headers, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            listening.set()
            name, _, value = line.partition(": ")
            if name:
                event[name] = value
            elif "data" in event:
                found.append(event)
                event = {}
                if len(found) == count:
                    return


def check_events(where):
    """See that what one process decides is told, in order, to who listens to another."""
    one, other = serving(where, workers=1), None
    try:
        one.start()
        other = Server(where, key=one.key).start()
        events, listening = [], threading.Event()
        listener = threading.Thread(target=heard, args=(other, 6, events, listening))
        listener.start()
        assert listening.wait(60)
        headers = {"authorization": f"Bearer {one.key}"}
        with httpx2.Client(base_url=one.url, headers=headers, timeout=10) as http:
            for name in ("ann", "bob", "cay"):
                found = http.post("/v1/rotations/r/decisions", json={"subject": name}).json()
                told = {"reward": 0.5}
                http.post(f"/v1/decisions/{found['id']}/reward", json=told).raise_for_status()
        listener.join(60)
        assert not listener.is_alive()
    finally:
        for server in (one, other):
            if server is not None and server.process is not None:
                server.stop()
    data = [json.loads(event["data"]) for event in events]
    assert [event["event"] for event in events] == ["play", "reward"] * 3
    assert [line["subject"] for line in data] == ["ann", "ann", "bob", "bob", "cay", "cay"]
    assert [int(event["id"]) for event in events] == [line["seq"] for line in data]
    assert data[1]["reward"] == [0.5]


@pytest.mark.xdist_group("servers")
def test_who_listens_to_one_process_hears_what_another_decides(tmp_path):
    """Server-sent events come from the journal, whoever wrote it."""
    check_events(str(tmp_path / "a.sqlite"))


@pytest.mark.service
def test_postgresql_who_listens_to_one_process_hears_what_another_decides(postgres):
    """The same on PostgreSQL."""
    check_events(postgres.url())


def test_a_cut_off_log_is_an_earlier_state(tmp_path):
    """Whatever the end of SQLite's log is lost: what is left agrees, and is a beginning."""
    where = tmp_path / "a.sqlite"
    server = serving(str(where), workers=1).start()
    try:
        clients, _ = unrest(server, 1.5, [6])
    finally:
        server.kill()  # so that the log stays
    log = where.with_name("a.sqlite-wal")
    whole, size = _lines_of(where, tmp_path / "whole"), log.stat().st_size
    rng = random.Random(0)
    for k in range(12):
        folder = tmp_path / f"cut{k}"
        cut = size if k == 0 else rng.randrange(size)
        lines = _lines_of(where, folder, cut)
        assert lines == whole[: len(lines)]
        if lines:
            assert wrong_in(folder / "a.sqlite") == []
    assert len(whole) >= sum(len(client.played) for client in clients)


def _lines_of(where, folder, cut=None):
    """Copy a database, cut its log off, and return its journal."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{where}{suffix}", folder / f"a.sqlite{suffix}")
    if cut is not None:
        with open(folder / "a.sqlite-wal", "r+b") as log:
            log.truncate(cut)
    with contextlib.closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        try:
            return connection.execute("SELECT seq, id, kind FROM journal ORDER BY seq").fetchall()
        except sqlite3.OperationalError:  # cut before the tables were made
            return []


@pytest.mark.service
def test_postgresql_two_processes_lose_and_double_nothing(postgres):
    """The same on PostgreSQL."""
    where = postgres.url()
    server = serving(where, workers=2).start()
    try:
        clients, _ = unrest(server, 3.0, [7, 8, 9])
    finally:
        server.stop()
    check_nothing_lost(where, clients)


@pytest.mark.service
def test_a_killed_postgresql_lost_nothing_that_was_acknowledged(postgres):
    """Kill -9 of the database under load: workers wait for it, and go on."""
    where = postgres.url()
    server = serving(where, workers=1).start()

    def kill():
        postgres.kill()
        time.sleep(0.2)
        postgres.start()

    try:
        clients, kills = unrest(server, 6.0, [10, 11], kill, every=2.5)
        assert httpx2.get(f"{server.url}/ready").status_code == 200
    finally:
        server.stop()
    assert kills
    check_nothing_lost(where, clients)
