"""What every request passes: host, origin, size, key and rate; and what is noted of it.

A page of another site must not reach a service on loopback, neither by a form or a script
(``Origin``, ``Sec-Fetch-Site``) nor by a name that it lets point here (``Host``). So both are
checked before anything else, key or not.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from lastswitch.service.keys import Key, Keys
from lastswitch.service.metrics import Metrics
from lastswitch.service.problems import MEDIA, Problem

log = logging.getLogger("lastswitch.service.requests")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
#: Paths that answer without a key.
OPEN = ("/health", "/ready", "/openapi.json")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_ROTATION = re.compile(r"/v1/rotations/([^/]+)")
_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", _POLICY.encode()),
]


@dataclass
class Limits:
    """How much a client may ask for."""

    body: int = 1_000_000
    #: Bytes of a log sent to be fitted.
    log: int = 32_000_000
    batch: int = 1_000
    #: Requests a second and key, and how many at once; 0 for no limit.
    rate: float = 0.0
    burst: int = 200
    subjects: int = 1_000_000


@dataclass
class Access:
    """Who is let in: names this server goes by, and whether it is on loopback."""

    hosts: tuple[str, ...] = LOOPBACK
    loopback: bool = True
    limits: Limits = field(default_factory=Limits)


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: Any, access: Access, keys: Keys, metrics: Metrics) -> None:
        self._app, self._access, self._keys, self._metrics = app, access, keys, metrics
        self._buckets: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        name = given if _ID.fullmatch(given) else b"%016x" % random.getrandbits(64)
        scope["request_id"] = name.decode()
        status, begun = 500, False

        async def sending(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*message["headers"], (b"x-request-id", name), *_HEADERS]
            await send(message)

        try:
            try:
                self._check(scope, headers)
                await self._app(scope, self._limited(scope, receive), sending)
            except Problem as problem:
                if begun:
                    raise
                await _refuse(problem, sending)
            except Exception:
                log.exception("request %s failed", scope["request_id"])
                if begun:
                    raise
                await _refuse(Problem(500, "internal", "something broke here."), sending)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request(scope["method"], route, status, seconds)
            if log.isEnabledFor(logging.INFO):
                log.info(_line(scope, route, status, seconds))

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        _check_host(headers, self._access.hosts)
        _check_origin(scope, headers)
        length, most = headers.get(b"content-length", b"0"), self._most(scope)
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        scope["key"] = self._key(scope, headers)

    def _key(self, scope: Scope, headers: dict[bytes, bytes]) -> Key | None:
        path = scope["path"]
        near = self._access.loopback and _is_near(scope, headers)
        if near and path.startswith("/studio/"):
            return None  # planning, for who sits at this machine
        if not path.startswith(("/v1/", "/metrics", "/studio/")):
            return None
        key = self._keys.check(headers.get(b"authorization", b"").decode("latin-1"))
        self._check_rate(key)
        reads = scope["method"] in ("GET", "HEAD") or path.startswith("/studio/")
        if not reads and not key.writes:
            raise Problem(403, "read-only", "this key only reads; use one that writes.")
        rotation = _ROTATION.match(path)
        if rotation is not None and not key.covers(unquote(rotation[1])):
            raise Problem.unknown("rotation", unquote(rotation[1]))
        return key

    def _check_rate(self, key: Key) -> None:
        """Take a token of the key's bucket, which fills at the rate."""
        limits = self._access.limits
        if not limits.rate:
            return
        now = time.monotonic()
        left, since = self._buckets.get(key.id, (float(limits.burst), now))
        left = min(float(limits.burst), left + (now - since) * limits.rate)
        if left < 1.0:
            self._buckets[key.id] = (left, now)
            raise Problem(
                429,
                "rate",
                f"more than {limits.rate:g} requests a second; slow down, or use the batch forms.",
                retry_after=round((1.0 - left) / limits.rate, 3),
            )
        self._buckets[key.id] = (left - 1.0, now)

    def _most(self, scope: Scope) -> int:
        """Return how many bytes a body may have."""
        limits = self._access.limits
        return limits.log if scope["path"] == "/studio/fit" else limits.body

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Count the bytes of a body that did not say how long it is."""
        read, most = 0, self._most(scope)

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise _too_large(most)
            return message

        return limited


def _too_large(most: int) -> Problem:
    return Problem(413, "too-large", f"a body has at most {most:,} bytes; send less.")


def _check_host(headers: dict[bytes, bytes], hosts: tuple[str, ...]) -> None:
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name not in hosts:
        raise Problem(
            421, "wrong-host", "this service does not go by that name; see lastswitch serve --name."
        )


def _check_origin(scope: Scope, headers: dict[bytes, bytes]) -> None:
    origin = headers.get(b"origin")
    site = headers.get(b"sec-fetch-site", b"none")
    if origin is not None:
        own = b"//" + headers.get(b"host", b"")
        if not origin.lower().endswith(own.lower()) or origin.count(b"/") != 2:
            raise Problem(403, "other-origin", "pages of other sites may not use this service.")
    elif site not in (b"none", b"same-origin") and scope["path"] != "/":
        raise Problem(403, "other-origin", "pages of other sites may not use this service.")


def _is_near(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Tell whether who asks sits at this machine, and not behind a proxy that does."""
    if b"x-forwarded-for" in headers or b"forwarded" in headers:
        return False
    client = scope.get("client")
    return client is not None and client[0] in ("127.0.0.1", "::1", "testclient")


async def _refuse(problem: Problem, send: Send) -> None:
    headers = [(b"content-type", MEDIA.encode())]
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="lastswitch"'))
    if "retry_after" in problem.more:
        headers.append((b"retry-after", b"1"))
    start = {"type": "http.response.start", "status": problem.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": problem.encoded()})


def _line(scope: Scope, route: str, status: int, seconds: float) -> str:
    """Return what a request leaves in the log: one JSON object, no names of subjects."""
    key = scope.get("key")
    return json.dumps(
        {
            "request": scope["request_id"],
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 2),
            "key": None if key is None else key.id,
        }
    )
