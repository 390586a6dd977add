"""What every request passes: host, origin, size, key and rate; and what is noted of it.

A page of another site must not reach a service on loopback, neither by a form or a script
(``Origin``, ``Sec-Fetch-Site``) nor by a name that it lets point here (``Host``). So both are
checked before anything else, key or not.
"""

from __future__ import annotations

import logging
import math
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from lastswitch.service.keys import ANYBODY, Key, Keys
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
    #: Requests, or entries of a batch, a second and key; 0 for no limit. Twice as many at once.
    rate: float = 0.0
    #: Subjects of a rotation that does not say itself how many it takes in.
    subjects: int = 1_000_000
    #: Bytes of an address, and of all headers.
    address: int = 8_000
    headers: int = 32_000
    #: Streams of events at once, of one key and of all.
    streams: int = 20
    all_streams: int = 200


@dataclass
class Access:
    """Who is let in: names this server goes by, and whether a key is asked for."""

    hosts: tuple[str, ...] = LOOPBACK
    #: Without keys everybody who gets here may do everything: for loopback, and where it is said.
    keys: bool = True
    limits: Limits = field(default_factory=Limits)


class Rates:
    """What is left of each key's rate: a bucket that fills, and may be overdrawn once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(1.0, 2.0 * rate), clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str, count: int = 1) -> None:
        """Take from a key's bucket; refuse while it is empty, however much was taken at once.

        Examples
        --------
        >>> rates = Rates(10.0, lambda: 0.0)
        >>> rates.take("ann", 50)
        >>> rates.take("ann")
        Traceback (most recent call last):
        lastswitch.service.problems.Problem: more than 10 requests a second; slow down.
        """
        if not self._rate:
            return
        now = self._clock()
        left, since = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        if left < 1.0:
            self._left[key] = left, now
            wait = math.ceil((1.0 - left) / self._rate)
            words = f"more than {self._rate:g} requests a second; slow down."
            raise Problem(429, "rate", words, retry_after=wait)
        self._left[key] = left - count, now


class Streams:
    """Counts streams, and refuses one too many.

    Parameters
    ----------
    of_one, of_all
        How many there may be of one key, and of all.

    Examples
    --------
    >>> streams = Streams(1, 2)
    >>> with streams.one_more("ann"):
    ...     streams.check("bob")
    ...     try:
    ...         streams.check("ann")
    ...     except Problem as problem:
    ...         print(problem)
    a key watches up to 1 streams of events at once; close one.
    """

    def __init__(self, of_one: int, of_all: int) -> None:
        self._of_one, self._of_all = of_one, of_all
        self._open: Counter[str] = Counter()

    def check(self, key: str) -> None:
        """Refuse a stream of a key that has as many as it may."""
        if self._open[key] >= self._of_one:
            words = f"a key watches up to {self._of_one} streams of events at once; close one."
            raise Problem(429, "streams", words, retry_after=5)
        if self._open.total() >= self._of_all:
            raise Problem(429, "streams", "too many watch; try again in a moment.", retry_after=5)

    @contextmanager
    def one_more(self, key: str) -> Iterator[None]:
        """Count a stream while it is open."""
        self.check(key)
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            self._open += Counter()  # forget who has none


class Gate:
    """The outermost layer of the application."""

    def __init__(
        self, app: Any, access: Access, keys: Keys, metrics: Metrics, rates: Rates
    ) -> None:
        self._app, self._access, self._keys, self._metrics = app, access, keys, metrics
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        name = given if _ID.fullmatch(given) else b"%016x" % random.getrandbits(64)
        scope["request_id"] = name.decode()
        status, begun, ended = 500, False, False
        bodiless = scope["method"] == "HEAD"
        if bodiless:
            scope["method"] = "GET"  # answered as that would be, without what it would send

        async def sending(message: Message) -> None:
            nonlocal status, begun, ended
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*message["headers"], (b"x-request-id", name), *_HEADERS]
            elif bodiless:
                if ended:
                    raise OSError("nobody reads on")
                message = {"type": "http.response.body", "body": b""}
            await send(message)
            ended = ended or (
                message["type"] == "http.response.body" and not message.get("more_body", False)
            )

        try:
            try:
                self._check(scope, headers)
                await self._app(scope, self._limited(scope, receive), sending)
            except Problem as problem:
                if begun:
                    raise
                await _refuse(problem, sending)
            except Exception:
                if ended and bodiless:
                    return
                log.exception("request %s failed", scope["request_id"])
                if not begun:
                    await _refuse(Problem(500, "internal", "something broke here."), sending)
                elif not ended:
                    raise  # the answer is cut off, and must be seen to be
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request(scope["method"], route, status, seconds)
            level = _level(status)
            if log.isEnabledFor(level):
                log.log(level, "request", extra={"told": _told(scope, route, status, seconds)})

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        limits = self._access.limits
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.address:
            raise Problem(414, "address", f"an address has at most {limits.address:,} bytes.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.headers:
            raise Problem(431, "headers", f"headers have at most {limits.headers:,} bytes.")
        _check_host(headers, self._access.hosts)
        _check_origin(scope, headers)
        length, most = headers.get(b"content-length", b"0"), self._most(scope)
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        scope["key"] = self._key(scope, headers)

    def _key(self, scope: Scope, headers: dict[bytes, bytes]) -> Key | None:
        path = scope["path"]
        if not path.startswith(("/v1/", "/metrics", "/studio/")):
            return None
        if not self._access.keys:
            return ANYBODY
        key = self._keys.check(headers.get(b"authorization", b"").decode("latin-1"))
        self._rates.take(key.id)
        reads = scope["method"] in ("GET", "HEAD") or path.startswith("/studio/")
        if not reads and not key.writes:
            raise Problem(403, "read-only", "this key only reads; use one that writes.")
        rotation = _ROTATION.match(path)
        if rotation is not None and not key.covers(unquote(rotation[1])):
            raise Problem.unknown("rotation", unquote(rotation[1]))
        return key

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


async def _refuse(problem: Problem, send: Send) -> None:
    headers = [(b"content-type", MEDIA.encode())]
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="lastswitch"'))
    if "retry_after" in problem.more:
        headers.append((b"retry-after", str(problem.more["retry_after"]).encode()))
    start = {"type": "http.response.start", "status": problem.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": problem.encoded()})


def _level(status: int) -> int:
    """Return how much a status matters: what is refused at the door is seen without asking."""
    if status >= 500:
        return logging.ERROR
    return logging.WARNING if status in (401, 403, 413, 414, 421, 429, 431) else logging.INFO


def _told(scope: Scope, route: str, status: int, seconds: float) -> dict[str, Any]:
    """Return what a request leaves in the log: no names of subjects."""
    key, client = scope.get("key"), scope.get("client")
    return {
        "request": scope["request_id"],
        "client": None if client is None else client[0],
        "method": scope["method"],
        "route": route,
        "status": status,
        "ms": round(1000 * seconds, 2),
        "key": None if key is None else key.id,
    }
