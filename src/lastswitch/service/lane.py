"""A short way to the operations that come by the thousand.

The framework routes, solves and checks every request anew, which takes several times what asking
and telling themselves do. Requests for :mod:`~lastswitch.service.decisions_api` whose address and
key have the right shape are handed to their endpoints at once; everything else, and everything
that is wrong with them, goes the framework's way, and both ways have the same answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import signature
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from lastswitch.service.decisions_api import LONGEST_PART, is_idempotency_key
from lastswitch.service.gate import Receive, Scope, Send

#: What answers an error of a kind, as the framework has it.
Handlers = Sequence[tuple[type[Exception], Callable[[Request, Any], Awaitable[Response]]]]


class Lane:
    """The application with a short way past it.

    Parameters
    ----------
    app
        The application.
    routes
        Those with a short way: ``POST``, with at most one part of the address, the third, that
        varies.
    handlers
        What answers errors.
    """

    def __init__(self, app: Any, routes: Sequence[Any], handlers: Handlers) -> None:
        self._app, self._handlers = app, handlers
        self._routes = {}
        for route in routes:
            parts = route.path.split("/")
            varies = parts[3].startswith("{")
            key = (parts[2], *parts[4:]) if varies else route.path
            keyed = "key" in signature(route.endpoint).parameters
            self._routes[key] = (route, route.endpoint, varies, keyed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        parts = path.split("/")
        found = self._routes.get(path)
        if found is None and len(parts) > 3 and parts[1] == "v1":
            found = self._routes.get((parts[2], *parts[4:]))
        if found is None:
            await self._app(scope, receive, send)
            return
        route, endpoint, varies, keyed = found
        given: list[str | None] = [parts[3]] if varies else []
        if keyed:
            given.append(_idempotency_key(scope))
        if not _fits(given):
            await self._app(scope, receive, send)
            return
        scope["route"], scope["app"] = route, self._app
        request = Request(scope, receive)
        try:
            response = await endpoint(request, *given)
        except Exception as error:
            response = await self._answer(request, error)
        await response(scope, receive, send)

    async def _answer(self, request: Request, error: Exception) -> Response:
        for kind, handler in self._handlers:
            if isinstance(error, kind):
                return await handler(request, error)
        raise error


def _idempotency_key(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"idempotency-key":
            text: str = value.decode("latin-1")
            return text
    return None


def _fits(given: Sequence[str | None]) -> bool:
    part, *key = given or (None,)
    return (part is None or 0 < len(part) <= LONGEST_PART) and all(
        text is None or is_idempotency_key(text) for text in key
    )
