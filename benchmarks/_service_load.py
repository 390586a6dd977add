"""Clients that load a service over loopback: bare sockets, so that they cost little themselves."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time


async def _call(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, path: str, body: object
) -> tuple[int, dict[str, object], float]:
    data = json.dumps(body).encode()
    began = time.perf_counter()
    writer.write(
        b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s"
        % (path.encode(), head, len(data), data)
    )
    headers = await reader.readuntil(b"\r\n\r\n")
    size = int(headers.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    found = await reader.readexactly(size)
    seconds = time.perf_counter() - began
    return int(headers[9:12]), json.loads(found), seconds


async def load(
    port: int, key: str, *, clients: int, seconds: float, subjects: int, batch: int
) -> dict[str, float]:
    """Ask and tell for ``seconds``; return decisions a second and milliseconds of requests."""
    head = f"Host: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    waits: list[float] = []
    told, failed, ends = 0, 0, time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal told, failed
        rng = random.Random(number)
        streams = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < ends:
            names = [f"s{rng.randrange(subjects)}" for _ in range(batch)]
            if batch == 1:
                path, body = "/v1/rotations/r/decisions", {"subject": names[0]}
            else:
                path = "/v1/rotations/r/decisions/batch"
                body = {"decisions": [{"subject": name} for name in names]}  # type: ignore[dict-item]
            status, found, took = await _call(*streams, head.encode(), path, body)
            waits.append(took)
            if status >= 300:
                failed += 1
                continue
            answers = found.get("answers", [{"decision": found}])
            ids = [answer["decision"]["id"] for answer in answers]  # type: ignore[attr-defined]
            pays = [float(rng.random() < 0.5) for _ in ids]
            if batch == 1:
                path, body = f"/v1/decisions/{ids[0]}/reward", {"reward": pays[0]}  # type: ignore[dict-item]
            else:
                path = "/v1/decisions/reward"
                rewards = [{"id": i, "reward": r} for i, r in zip(ids, pays, strict=True)]
                body = {"rewards": rewards}  # type: ignore[dict-item]
            status, found, took = await _call(*streams, head.encode(), path, body)
            waits.append(took)
            failed += status >= 300
            told += len(ids)
        streams[1].close()

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    spent = time.perf_counter() - began
    waits.sort()
    return {
        "told decisions": told,
        "told decisions/s": told / spent,
        "p50 ms": 1000 * waits[len(waits) // 2],
        "p99 ms": 1000 * waits[int(0.99 * len(waits))],
        "failed": failed,
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(load(**given))))
