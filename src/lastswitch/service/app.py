"""The application: the service's parts put together, as FastAPI serves them."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from lastswitch import __version__
from lastswitch.errors import LastSwitchError
from lastswitch.service import decisions_api, reading_api, studio_api
from lastswitch.service.clock import SteadyClock
from lastswitch.service.database import BusyError, Database, is_away, trouble_with
from lastswitch.service.gate import Access, Gate, Rates, Streams
from lastswitch.service.keys import Keys
from lastswitch.service.metrics import Metrics
from lastswitch.service.operations import Answer
from lastswitch.service.problems import Problem
from lastswitch.service.rotations import Rotations
from lastswitch.service.wire import ProblemView, answer, decision_view
from lastswitch.service.worker import PATIENCE, Reply, Worker


@dataclass
class Service:
    """What one process of the service is made of.

    Parameters
    ----------
    database
        Where everything is kept.
    access
        Who is let in, and how much they may ask for.
    clock
        Seconds since 1970; by default one that does not jump.
    """

    database: Database
    access: Access = field(default_factory=Access)
    clock: Callable[[], float] = field(default_factory=SteadyClock)
    worker: Worker = field(init=False)
    keys: Keys = field(init=False)
    metrics: Metrics = field(init=False)
    rates: Rates = field(init=False)
    streams: Streams = field(init=False)
    #: Whether the process is ending: those who watch are let go.
    stopping: bool = False

    def __post_init__(self) -> None:
        limits = self.access.limits
        self.worker = Worker(self.database, _render, self.clock, limits.subjects)
        self.keys, self.metrics = Keys(self.database), Metrics()
        self.rates = Rates(limits.rate)
        self.streams = Streams(limits.streams, limits.all_streams)
        self.worker.listeners.append(lambda lines: self.metrics.sync(self.worker))

    def application(self) -> Any:
        """Return the ASGI application.

        What comes by the thousand is routed to its endpoints without the framework, which serves
        all the rest and describes the whole.
        """
        app = FastAPI(
            title="lastswitch",
            version=__version__,
            summary="Decisions for things that wear out when repeated and recover when rested.",
            docs_url=None,  # they would load scripts from elsewhere
            redoc_url=None,
        )
        app.state.service = self
        app.openapi = partial(_contract, app, app.openapi)  # type: ignore[method-assign]
        app.include_router(decisions_api.router)
        app.include_router(reading_api.router)
        app.include_router(reading_api.open_router)
        app.include_router(studio_api.router)
        app.mount(
            "/", StaticFiles(directory=str(files("lastswitch.service") / "studio"), html=True)
        )
        for kind, handler in HANDLERS.items():
            app.add_exception_handler(kind, handler)
        routes = [*decisions_api.plain_routes(), Mount("", app)]
        whole = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=self._lifespan)
        whole.state.service = self
        return Gate(whole, self.access, self.keys, self.metrics, self.rates)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self._find_database()
        self._heed_signals()
        self.worker.start()
        refreshing = asyncio.create_task(self._keep_keys())
        try:
            yield
        finally:
            self.stop_soon()
            refreshing.cancel()
            await asyncio.to_thread(self.worker.stop)
            self.database.close()

    def stop_soon(self) -> None:
        """Let go whoever watches, and wait for nobody any longer."""
        self.stopping = True
        self.worker.stop_soon()

    def _heed_signals(self) -> None:
        """Stop soon when told to: the server waits for open connections before it says so."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)

            def heard(number: int, frame: Any, before: Any = before) -> None:
                self.stop_soon()
                if callable(before):
                    before(number, frame)

            signal.signal(number, heard)

    async def _find_database(self) -> None:
        """Make the tables and read the keys, once the database answers."""
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                await asyncio.to_thread(self.database.create)
                await asyncio.to_thread(self.keys.read)
                return
            except SQLAlchemyError as error:
                if not is_away(error) or time.monotonic() > ends:
                    raise
                await asyncio.sleep(0.25)

    async def _keep_keys(self) -> None:
        """Read the keys again now and then: a revoked one opens nothing a second later."""
        while True:
            await asyncio.sleep(0.5)
            if self.keys.stale():
                try:
                    await asyncio.to_thread(self.keys.read)
                except SQLAlchemyError:
                    continue


def _contract(app: FastAPI, plain: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI document, with keys and problems in it."""
    document = plain()
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {})[ProblemView.__name__] = ProblemView.model_json_schema()
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, verbs in document["paths"].items():
        if path.startswith(("/v1/", "/metrics")):
            for operation in verbs.values():
                operation["security"] = [{"key": []}]
    return document


def _render(found: Answer, rotations: Rotations) -> Reply:
    decision = found.decision
    if decision is None:
        return found.status, None
    return found.status, decision_view(
        decision, rotations.version(decision.rotation, decision.version)
    )


async def _problem(request: Request, error: Any) -> Response:
    found = answer(error.status, error.body())
    if "retry_after" in error.more:
        found.headers["retry-after"] = str(error.more["retry_after"])
    return found


async def _invalid(request: Request, error: Any) -> Response:
    words = [f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in error.errors()[:5]]
    return await _problem(request, Problem(422, "request", "; ".join(words) + "."))


async def _http(request: Request, error: Any) -> Response:
    words = {404: "there is nothing at this address.", 405: "this address does not take that verb."}
    problem = Problem(error.status_code, "http", words.get(error.status_code, str(error.detail)))
    found = await _problem(request, problem)
    for name, value in (error.headers or {}).items():
        found.headers[name] = value
    return found


async def _refused(request: Request, error: Any) -> Response:
    return await _problem(request, Problem(422, "refused", str(error)))


async def _away(request: Request, error: Any) -> Response:
    return await _problem(request, trouble_with(error))


async def _broken(request: Request, error: Any) -> Response:
    return await _problem(request, Problem(500, "internal", "something broke here."))


#: What answers an error of a kind.
HANDLERS: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
    Problem: _problem,
    RequestValidationError: _invalid,
    HTTPException: _http,
    LastSwitchError: _refused,
    SQLAlchemyError: _away,
    BusyError: _away,
    Exception: _broken,
}
