"""Asking, confirming, cancelling and telling over HTTP, one by one and many at once."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.routing import Route

from lastswitch.service.keys import Key
from lastswitch.service.operations import Ask, Cancel, Confirm, Operation, Tell
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import is_text
from lastswitch.service.wire import (
    AskBody,
    AsksBody,
    BatchView,
    DecisionView,
    IdsBody,
    RewardBody,
    RewardsBody,
    answer,
    body_of,
    problems,
    read_body,
)

if TYPE_CHECKING:
    from lastswitch.service.app import Service

router = APIRouter(prefix="/v1")
_IDEMPOTENCY = re.compile(r"[\x21-\x7e]{1,200}")
_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Names the request: sent again, it gets the answer it got before.",
    "schema": {"type": "string", "maxLength": 200, "pattern": f"^{_IDEMPOTENCY.pattern}$"},
}

RotationName = Annotated[str, Path(description="The rotation.")]
DecisionId = Annotated[str, Path(description="The decision's id.")]


@router.post(
    "/rotations/{name}/decisions",
    status_code=201,
    summary="Decide what a subject plays",
    response_model=DecisionView,
    responses={
        200: {"model": DecisionView, "description": "Asked before, or an offer stands already."},
        **problems(404, 409, 415),
    },
    openapi_extra={**body_of(AskBody), "parameters": [_KEY_PARAMETER]},
)
async def decide(request: Request, name: RotationName) -> Response:
    """Decide what a subject plays in its round, and move its state, or offer it first."""
    body = await read_body(request, AskBody)
    return await _one(request, _ask(name, body, request.headers.get("idempotency-key")))


@router.post(
    "/decisions/{id}/reward",
    status_code=201,
    summary="Tell a reward",
    response_model=DecisionView,
    responses={
        200: {"model": DecisionView, "description": "The same reward was told before."},
        **problems(404, 409, 410, 415),
    },
    openapi_extra=body_of(RewardBody),
)
async def reward(request: Request, id: DecisionId) -> Response:  # noqa: A002
    """Say what a decision paid. The first reward counts; the same again is fine."""
    body = await read_body(request, RewardBody)
    return await _one(request, _tell(id, body.reward, _scope(request)))


@router.post(
    "/decisions/{id}/confirm",
    summary="Confirm an offer",
    response_model=DecisionView,
    responses=problems(404, 410),
)
async def confirm(request: Request, id: DecisionId) -> Response:  # noqa: A002
    """Say that an offer is played: now the subject's state moves. Again does nothing."""
    return await _one(request, Confirm(id, _scope(request)))


@router.post(
    "/decisions/{id}/cancel",
    summary="Cancel an offer",
    response_model=DecisionView,
    responses=problems(404, 409),
)
async def cancel(request: Request, id: DecisionId) -> Response:  # noqa: A002
    """Say that an offer is not played: it is as if it had not been asked."""
    return await _one(request, Cancel(id, _scope(request)))


@router.post(
    "/rotations/{name}/decisions/batch",
    summary="Decide for several subjects",
    response_model=BatchView,
    responses=problems(404, 415),
    openapi_extra=body_of(AsksBody),
)
async def decide_many(request: Request, name: RotationName) -> Response:
    """Decide for several subjects at once: each is answered by itself."""
    body = await read_body(request, AsksBody)
    return await _many(request, [_ask(name, one, one.key) for one in body.decisions])


@router.post(
    "/decisions/reward",
    summary="Tell several rewards",
    response_model=BatchView,
    responses=problems(415),
    openapi_extra=body_of(RewardsBody),
)
async def reward_many(request: Request) -> Response:
    """Say what several decisions paid."""
    body, scope = await read_body(request, RewardsBody), _scope(request)
    return await _many(request, [_tell(one.id, one.reward, scope) for one in body.rewards])


@router.post(
    "/decisions/confirm",
    summary="Confirm several",
    response_model=BatchView,
    responses=problems(415),
    openapi_extra=body_of(IdsBody),
)
async def confirm_many(request: Request) -> Response:
    """Say that several offers are played."""
    body, scope = await read_body(request, IdsBody), _scope(request)
    return await _many(request, [Confirm(name, scope) for name in body.ids])


@router.post(
    "/decisions/cancel",
    summary="Cancel several",
    response_model=BatchView,
    responses=problems(415),
    openapi_extra=body_of(IdsBody),
)
async def cancel_many(request: Request) -> Response:
    """Say that several offers are not played."""
    body, scope = await read_body(request, IdsBody), _scope(request)
    return await _many(request, [Cancel(name, scope) for name in body.ids])


def plain_routes() -> list[Route]:
    """Return these operations as Starlette routes to the same endpoints.

    The framework solves and checks the parameters of every request anew, which takes several times
    what asking and telling themselves do; the endpoints here read and check all they need.
    """
    found = [route for route in router.routes if isinstance(route, APIRoute)]
    return [Route(route.path, _plain(route), methods=["POST"]) for route in found]


def _plain(route: APIRoute) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        request.scope["route"] = route
        found: Response = await route.endpoint(request, **request.path_params)
        return found

    return serve


def _ask(rotation: str, body: AskBody, key: str | None) -> Ask:
    for name in (body.subject, *(body.allowed or ())):
        if not is_text(name):
            raise Problem(422, "name", f"{name!r:.80} is no name: use letters that can be shown.")
    if key is not None and not _IDEMPOTENCY.fullmatch(key):
        raise Problem(422, "key", "an Idempotency-Key is up to 200 visible characters of ASCII.")
    asked = (body.subject, body.at, body.allowed, body.plays, body.confirm)
    return Ask(
        rotation=rotation,
        id=_id_of(random.randbytes(16) if key is None else _named(rotation, key)),
        keyed=key is not None,
        subject=body.subject,
        at=body.at,
        allowed=None if body.allowed is None else tuple(body.allowed),
        plays=body.plays,
        confirm=body.confirm == "now",
        digest=sha256(repr(asked).encode()).hexdigest()[:32],
    )


def _named(rotation: str, key: str) -> bytes:
    """Return what names the decision that a request with a key leads to."""
    return sha256(f"{rotation}\x1f{key}".encode()).digest()[:16]


def _id_of(name: bytes) -> str:
    """Return the id of a decision."""
    return base64.b32encode(name).decode().rstrip("=").lower()


def _tell(name: str, reward: Any, scope: str | None) -> Tell:
    return Tell(name, tuple(reward) if isinstance(reward, list) else reward, scope)


def _scope(request: Request) -> str | None:
    key: Key = request.scope["key"]
    return key.rotation


async def _one(request: Request, operation: Operation) -> Response:
    service: Service = request.app.state.service
    ((status, body),) = await service.worker.submit([operation])
    return answer(status, body)


async def _many(request: Request, operations: Sequence[Operation]) -> Response:
    service: Service = request.app.state.service
    most = service.access.limits.batch
    if len(operations) > most:
        raise Problem(413, "batch", f"a batch has at most {most} entries, got {len(operations)}.")
    if len(operations) > 1:  # one was counted at the gate
        service.rates.take(request.scope["key"].id, len(operations) - 1)
    replies = await service.worker.submit(operations) if operations else []
    answers = [
        {"status": status, "decision" if status < 400 else "problem": body}
        for status, body in replies
    ]
    return answer(200, {"answers": answers})
