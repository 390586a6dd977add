"""What can be read: rotations, subjects, plans, decisions, the journal; and how the service is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from sqlalchemy import select

from lastswitch.service import drafts, export, tables
from lastswitch.service.deciders import Asked, NoArmError
from lastswitch.service.keys import Key
from lastswitch.service.operations import Subject
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import Version, check_name
from lastswitch.service.rotations import put_rotation
from lastswitch.service.store import decision_of, subject_of
from lastswitch.service.wire import (
    DecisionView,
    RotationView,
    SubjectView,
    answer,
    decision_view,
    problems,
    rotation_view,
)

if TYPE_CHECKING:
    from lastswitch.service.app import Service

router = APIRouter(prefix="/v1")
open_router = APIRouter()

RotationName = Annotated[str, Path(description="The rotation.", max_length=64)]
After = Annotated[int, Query(ge=0, le=2**62, description="Only what comes after this line.")]
Many = Annotated[int, Query(ge=1, le=10_000, description="How many at most.")]
#: Seconds that whoever asks whether the service is ready waits for an answer.
READY = 5.0
_EXAMPLE = {
    "arms": [{"name": "jazz"}, {"name": "talk"}],
    "serve": {"decide": "learner", "holdout": 0.1, "window": "7d"},
}
_LINE = (
    '{"seq": 7, "at": 1717394400.0, "rotation": "station", "kind": "play", '
    '"id": "5rj6x2m7v4qk3c8wz1n0hyt9ab", "version": 1, "subject": "ann", "round": 12, '
    '"arms": ["jazz"], "taus": [3], "propensity": 0.9, "by": "policy", "would": null, '
    '"reward": null, "told": null}'
)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _newest(request: Request, name: str) -> Version:
    return _service(request).worker.rotations.decider(name).version


@router.get("/rotations", summary="List the rotations", responses=problems())
def list_rotations(request: Request) -> list[RotationView]:
    """Return every rotation that the key covers, in its newest version."""
    key: Key = request.scope["key"]
    rotations = _service(request).worker.rotations
    found = [name for name in rotations.names() if key.covers(name)]
    return [RotationView(**rotation_view(rotations.decider(name).version)) for name in found]


@router.get("/rotations/{name}", summary="See a rotation", responses=problems(404))
def get_rotation(
    request: Request,
    name: RotationName,
    version: Annotated[int | None, Query(ge=1, le=2**31, description="Not the newest.")] = None,
) -> RotationView:
    """Return a rotation: its newest version, or an earlier one."""
    found = _newest(request, name)
    if version is not None:
        found = _service(request).worker.rotations.version(name, version)
    return RotationView(**rotation_view(found))


@router.put(
    "/rotations/{name}",
    summary="Make or change a rotation",
    response_model=RotationView,
    responses={201: {"model": RotationView, "description": "A new version."}, **problems(404)},
)
async def change_rotation(
    request: Request,
    name: RotationName,
    spec: Annotated[dict[str, Any], Body(examples=[_EXAMPLE])],
) -> Response:
    """Make a rotation, or a new version of it; written as it is, nothing happens."""
    service = _service(request)
    check_name(name)
    version, new = await asyncio.to_thread(put_rotation, service.database, name, spec)
    await service.worker.submit([])  # this worker knows it before it says so
    return answer(201 if new else 200, rotation_view(version))


@router.get("/rotations/{name}/subjects", summary="List subjects", responses=problems(404))
def list_subjects(
    request: Request,
    name: RotationName,
    after: Annotated[str, Query(max_length=200, description="Names after this one.")] = "",
    limit: Many = 100,
) -> list[SubjectView]:
    """Return subjects in the order of their names."""
    version, table = _newest(request, name), tables.subject
    query = select(table).where(table.c.rotation == name, table.c.name > after)
    with _service(request).database.reading() as connection:
        rows = connection.execute(query.order_by(table.c.name).limit(limit)).all()
    return [_subject_view(subject_of(row), version) for row in rows]


@router.get(
    "/rotations/{name}/subjects/{subject:path}", summary="See a subject", responses=problems(404)
)
def get_subject(
    request: Request, name: RotationName, subject: Annotated[str, Path(max_length=200)]
) -> SubjectView:
    """Return where a subject stands."""
    version = _newest(request, name)
    return _subject_view(_find_subject(request, name, subject), version)


@router.get("/rotations/{name}/plan", summary="See what is to come", responses=problems(404, 409))
async def get_plan(
    request: Request,
    name: RotationName,
    subject: Annotated[str, Query(min_length=1, max_length=200, description="Whose.")],
) -> dict[str, Any]:
    """Return the plan of the coming rounds, on the curves given, from where a subject stands."""
    return await drafts.compute(_plan, request, name, subject)


@router.get("/decisions/{id}", summary="See a decision", responses=problems(404))
def get_decision(
    request: Request,
    id: Annotated[str, Path(max_length=64)],  # noqa: A002
) -> DecisionView:
    """Return a decision as it is now."""
    service, key, table = _service(request), request.scope["key"], tables.decision
    with service.database.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == id)).first()
    if row is None or not key.covers(row.rotation):
        raise Problem.unknown("decision", id)
    version = service.worker.rotations.version(row.rotation, row.version)
    return DecisionView(**decision_view(decision_of(row), version))


@router.get(
    "/rotations/{name}/journal",
    summary="Read the journal",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/x-ndjson": {"example": _LINE},
                "application/vnd.apache.parquet": {},
            },
            "description": "A JSON object, or a row of a Parquet file, a line.",
        },
        **problems(404),
    },
)
def get_journal(
    request: Request,
    name: RotationName,
    after: After = 0,
    limit: Annotated[int | None, Query(ge=1, le=10**9, description="Lines at most.")] = None,
    form: Annotated[
        Literal["jsonl", "parquet"], Query(description="JSON lines, or a Parquet file.")
    ] = "jsonl",
) -> Response:
    """Return the journal, oldest line first: the truth that everything follows from."""
    version, service = _newest(request, name), _service(request)
    lines = export.journal_lines(service.database, version, after, limit)
    if form == "parquet":
        return StreamingResponse(
            export.journal_parquet(lines),
            media_type="application/vnd.apache.parquet",
            headers={"content-disposition": f'attachment; filename="{name}.journal.parquet"'},
        )
    return StreamingResponse(_encoded(lines), media_type="application/x-ndjson")


@router.get(
    "/rotations/{name}/log",
    summary="Read the plays as a log",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/vnd.apache.parquet": {},
                "text/csv": {},
                "application/x-ndjson": {},
            },
            "description": "subject, time, arm, reward, propensity and more, a line per play.",
        },
        **problems(404),
    },
)
def get_log(
    request: Request, name: RotationName, form: Literal["parquet", "csv", "jsonl"] = "parquet"
) -> Response:
    """Return plays and rewards as the log that `lastswitch fit` reads, propensities included."""
    version, service = _newest(request, name), _service(request)
    media, chunks = export.log(service.database, version, form)
    return StreamingResponse(
        chunks,
        media_type=media,
        headers={"content-disposition": f'attachment; filename="{name}.{form}"'},
    )


@open_router.get("/health", summary="Whether the process is up")
async def health(request: Request) -> dict[str, Any]:
    """Say that the process answers, and if so that it asks for no keys."""
    return {"status": "up"} if _service(request).access.keys else {"status": "up", "keys": False}


@open_router.get(
    "/ready",
    summary="Whether it can decide",
    responses={503: {"description": "Not yet, or the database is away."}},
)
async def ready(request: Request) -> dict[str, Any]:
    """Say whether the journal is read and the database can be written."""
    service = _service(request)
    if not service.worker.ready.is_set():
        raise Problem(503, "starting", "the journal is being read; try again in a moment.")
    try:  # the thread that commits reads on, and writes if it has not just now
        await asyncio.wait_for(service.worker.submit([]), READY)
    except TimeoutError:
        trouble = service.worker.trouble
        if trouble is not None:
            raise trouble from None
        words = f"nothing was committed for {READY:g} seconds; try again in a moment."
        raise Problem(503, "busy", words, retry_after=1) from None
    aside = len(service.worker.rotations.aside())  # how many, not which: nobody needs a key here
    return {"status": "ready", "aside": aside} if aside else {"status": "ready"}


@open_router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=problems(),
)
async def metrics(request: Request) -> Response:
    """Return figures in Prometheus' text format; a key that reads will do."""
    service = _service(request)
    return PlainTextResponse(service.metrics.text(service.worker))


@router.get(
    "/rotations/{name}/events",
    summary="Watch the journal",
    response_class=Response,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Lines as they come."},
        **problems(404),
    },
)
async def events(request: Request, name: RotationName, after: After = 0) -> Response:
    """Send every new line of the journal as a server-sent event, until the client has enough."""
    version, service = _newest(request, name), _service(request)
    service.streams.check(request.scope["key"].id)
    return StreamingResponse(
        _watch(request, service, version, after), media_type="text/event-stream"
    )


async def _watch(
    request: Request, service: Service, version: Version, after: int
) -> AsyncIterator[bytes]:
    key: Key = request.scope["key"]
    with service.streams.one_more(key.id):
        yield b": watching\n\n"
        while not service.stopping and not await request.is_disconnected():
            if not service.keys.knows(key):
                return  # it was revoked
            lines = await asyncio.to_thread(_page, service, version, after)
            for line in lines:
                after = line["seq"]
                yield f"id: {after}\nevent: {line['kind']}\ndata: {json.dumps(line)}\n\n".encode()
            if not lines:
                await asyncio.sleep(0.25)


def _plan(request: Request, name: str, subject: str) -> dict[str, Any]:
    decider = _service(request).worker.rotations.decider(name)
    standing = _find_subject(request, name, subject).standing
    round_ = standing.next or 0
    try:
        rounds = decider.plan(standing, Asked("", subject, round_, seconds=drafts.PLAN_SECONDS))
    except NoArmError as error:
        raise Problem(409, "no-arm", str(error)) from error
    return {
        "subject": subject,
        "round": round_,
        "rounds": [decider.version.names(arms) for arms in rounds],
    }


def _page(service: Service, version: Version, after: int) -> list[dict[str, Any]]:
    return list(export.journal_lines(service.database, version, after, 200))


def _encoded(lines: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    for line in lines:
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _find_subject(request: Request, rotation: str, name: str) -> Subject:
    table = tables.subject
    query = select(table).where(table.c.rotation == rotation, table.c.name == name)
    with _service(request).database.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        raise Problem.unknown("subject", name)
    return subject_of(row)


def _subject_view(subject: Subject, version: Version) -> SubjectView:
    standing = subject.standing
    state = standing.before(version, standing.next or 0)
    return SubjectView(
        subject=subject.name,
        next=standing.next,
        state=dict(zip(version.arms, state, strict=False)),
        offer=subject.open_id,
    )
