"""Clients at full load while processes are killed: what was acknowledged must be there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import time
from typing import Any

from benchmarks._service_load import Connection
from lastswitch.service.database import Database
from lastswitch.service.replaying import replay_database

_CLIENTS, _SUBJECTS = 24, 2_000


class Persistent:
    """A client that repeats a request, with the same key, until it is answered.

    Parameters
    ----------
    port, key
        Where the service is, and a key that writes.
    number
        Which of the clients it is.
    """

    def __init__(self, port: int, key: str, number: int) -> None:
        self._port, self._key, self._number = port, key, number
        self._connection: Connection | None = None
        self.played: dict[str, tuple[str, int, list[str]]] = {}
        self.rewarded: dict[str, float] = {}
        self.repeated = 0
        self.odd: list[tuple[int, bytes]] = []

    async def run(self, ending: asyncio.Event) -> None:
        """Ask and tell until the end."""
        rng, count = random.Random(self._number), 0
        while not ending.is_set():
            count += 1
            subject = f"s{rng.randrange(_SUBJECTS)}"
            name = f"{self._number}-{count}"
            found = await self._send(
                b"/v1/rotations/r/decisions", {"subject": subject}, name, ending
            )
            if found is None:
                continue
            self.played[found["id"]] = (found["subject"], found["round"], found["arms"])
            reward, path = float(rng.random() < 0.5), f"/v1/decisions/{found['id']}/reward"
            if await self._send(path.encode(), {"reward": reward}, name, ending) is not None:
                self.rewarded[found["id"]] = reward

    async def _send(self, path: bytes, body: Any, name: str, ending: asyncio.Event) -> Any:
        while not ending.is_set():
            try:
                connection = self._connection or await self._connect(name)
                connection.idempotency = name.encode()
                status, found = await asyncio.wait_for(
                    connection.call(path, json.dumps(body).encode()), 30.0
                )
            except (OSError, TimeoutError):
                self._connection = None
                self.repeated += 1
                await asyncio.sleep(0.05)
                continue
            if status < 300:
                return json.loads(found)
            if status != 503:
                self.odd.append((status, found))
                return None
            self.repeated += 1
            await asyncio.sleep(0.05)
        return None

    async def _connect(self, name: str) -> Connection:
        head = (
            f"Host: localhost\r\nAuthorization: Bearer {self._key}\r\n"
            "Content-Type: application/json\r\n"
        )
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(
            lambda: Connection(head.encode()), "127.0.0.1", self._port
        )
        return self._connection


async def _under_load(
    server: Any, database: Any, kills: int, seed: int
) -> tuple[list[Persistent], dict[str, int]]:
    """Kill one process or another at random moments while clients work."""
    rng, ending = random.Random(seed), asyncio.Event()
    clients = [Persistent(server.port, server.key, number) for number in range(_CLIENTS)]
    tasks = [asyncio.create_task(client.run(ending)) for client in clients]
    done = {"worker": 0, "server": 0, "database": 0}
    for _ in range(kills):
        await asyncio.sleep(rng.uniform(0.5, 2.5))
        what = rng.choice(["worker", "worker", "server", "database" if database else "server"])
        done[what] += 1
        if what == "worker":
            while not (found := server.workers_of()):  # all are just being started again
                await asyncio.sleep(0.05)
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
        elif what == "server":
            server.kill()
            await asyncio.to_thread(server.start)
        else:
            database.kill()
            await asyncio.sleep(rng.uniform(0.0, 0.5))
            await asyncio.to_thread(database.start)
    await asyncio.sleep(2.0)
    ending.set()
    await asyncio.gather(*tasks)
    return clients, done


def killed(name: str, where: str, server: Any, database: Any, kills: int) -> dict[str, Any]:
    """Return how many acknowledged plays and rewards were lost, doubled or changed."""
    server.start()
    began = time.monotonic()
    try:
        clients, done = asyncio.run(_under_load(server, database, kills, seed=len(name)))
    finally:
        server.stop()
    missing, changed = _missing(where, clients)
    found = replay_database(where)
    if found.wrong:
        print(found, flush=True)
    return {
        "database": name,
        "workers": server.workers,
        "killed workers": done["worker"],
        "killed servers": done["server"],
        "killed databases": done["database"],
        "acknowledged plays": sum(len(client.played) for client in clients),
        "acknowledged rewards": sum(len(client.rewarded) for client in clients),
        "requests repeated": sum(client.repeated for client in clients),
        "lost": missing,
        "otherwise than acknowledged": changed,
        "refused": sum(len(client.odd) for client in clients),
        "lines of the journal": found.lines,
        "disagree with the journal": len(found.wrong),
        "seconds": time.monotonic() - began,
    }


def _missing(where: str, clients: list[Persistent]) -> tuple[int, int]:
    """Return what is not there, and what is there otherwise."""
    database = Database(where)
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT id, subject, round, reward FROM decision").all()
    database.close()
    kept = {row.id: row for row in rows}
    missing = changed = 0
    for client in clients:
        for name, (subject, round_, _) in client.played.items():
            row = kept.get(name)
            missing += row is None
            changed += row is not None and (row.subject, row.round) != (subject, round_)
        for name, reward in client.rewarded.items():
            row = kept.get(name)
            paid = None if row is None else row.reward
            missing += paid is None
            changed += paid is not None and json.loads(paid) != [reward]
    return missing, changed
