"""Clients that load a service over loopback: bare sockets, so that they cost little themselves."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

import msgspec

_read, _write = msgspec.json.decode, msgspec.json.encode


class Connection(asyncio.Protocol):
    """A connection that is kept: one request at a time, and its answer."""

    def __init__(self, head: bytes) -> None:
        self._head, self._rest = head, b""
        #: The header that names the next request, if it may be repeated.
        self.idempotency: bytes | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._lost = False

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer; once it is whole, hand it over."""
        self._rest += data
        head, found, body = self._rest.partition(b"\r\n\r\n")
        if not found or self._answer is None:
            return
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= size and not self._answer.done():
            self._rest = b""
            self._answer.set_result((int(head[9:12]), body))

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits that nothing will come."""
        self._lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server closed the connection"))

    async def call(self, path: bytes, body: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of its answer."""
        if self._lost:
            raise ConnectionError("the server closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        named = b"" if self.idempotency is None else b"Idempotency-Key: %s\r\n" % self.idempotency
        self._transport.write(
            b"POST %s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s"
            % (path, self._head, named, len(body), body)
        )
        return await self._answer

    def close(self) -> None:
        """Close it."""
        self._transport.close()


async def load(
    port: int, key: str, *, clients: int, seconds: float, subjects: int, batch: int
) -> dict[str, float]:
    """Ask and tell for ``seconds``; return decisions a second and milliseconds of requests."""
    head = f"Host: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    waits: list[float] = []
    told, failed, ends = 0, 0, time.perf_counter() + seconds

    async def timed(connection: Connection, path: bytes, body: Any) -> Any:
        nonlocal failed
        began = time.perf_counter()
        status, found = await connection.call(path, _write(body))
        waits.append(time.perf_counter() - began)
        if status >= 300:
            failed += 1
            return None
        return _read(found)

    async def client(number: int) -> None:
        nonlocal told
        rng = random.Random(number)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(head.encode()), "127.0.0.1", port
        )
        while time.perf_counter() < ends:
            names = [f"s{rng.randrange(subjects)}" for _ in range(batch)]
            if batch == 1:
                found = await timed(connection, b"/v1/rotations/r/decisions", {"subject": names[0]})
                if found is not None:
                    body = {"reward": float(rng.random() < 0.5)}
                    path = f"/v1/decisions/{found['id']}/reward".encode()
                    done = await timed(connection, path, body)
                    told += done is not None
                continue
            asked = {"decisions": [{"subject": name} for name in names]}
            found = await timed(connection, b"/v1/rotations/r/decisions/batch", asked)
            if found is not None:
                ids = [answer["decision"]["id"] for answer in found["answers"]]
                paid = [{"id": name, "reward": float(rng.random() < 0.5)} for name in ids]
                done = await timed(connection, b"/v1/decisions/reward", {"rewards": paid})
                told += len(ids) if done is not None else 0
        connection.close()

    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(client(number) for number in range(clients)))
    took, spent = time.perf_counter() - began, time.process_time() - spent
    waits.sort()
    return {
        "told decisions": told,
        "told decisions/s": told / took,
        "p50 ms": 1000 * waits[len(waits) // 2],
        "p99 ms": 1000 * waits[int(0.99 * len(waits))],
        "failed": failed,
        "clients' processor ms per decision": 1000 * spent / max(1, told),
    }


if __name__ == "__main__":
    import uvloop

    given = json.loads(sys.argv[1])
    print(json.dumps(uvloop.run(load(**given))))
