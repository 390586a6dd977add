"""What goes over the wire: bodies of requests and answers, with examples, read and written."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import Request
from fastapi.responses import Response
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from lastswitch.service.operations import Decision
from lastswitch.service.problems import MEDIA, Problem
from lastswitch.service.rotation import LONGEST_NAME, MOST_ARMS, Version

Name = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_NAME)]
Id = Annotated[StrictStr, Field(min_length=1, max_length=64)]
Round = Annotated[StrictInt, Field(ge=-(2**52), le=2**52)]
Number = StrictFloat | StrictInt
Reward = Number | None | Annotated[list[Number | None], Field(max_length=MOST_ARMS)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AskBody(_Body):
    """Asking what a subject plays."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"subject": "ann", "confirm": "now"}]}
    )

    subject: Name = Field(description="Whose turn it is.")
    at: Round | Annotated[StrictStr, Field(max_length=40)] | None = Field(
        None,
        description="The round: its number, or a moment in it where the rotation has a calendar. "
        "By default the present round, or without a calendar the subject's next.",
    )
    allowed: Annotated[list[Name], Field(max_length=MOST_ARMS)] | None = Field(
        None, description="The arms that may be played now, by name; all by default."
    )
    plays: Annotated[StrictInt, Field(ge=0, le=MOST_ARMS)] | None = Field(
        None, description="How many arms to play, within what the rotation says."
    )
    confirm: Literal["now", "later"] = Field(
        "now", description="`now`: it is played. `later`: it is offered, and waits for a confirm."
    )


class KeyedAskBody(AskBody):
    """One of several asks, with its idempotency key."""

    key: Annotated[StrictStr, Field(min_length=1, max_length=200)] | None = None


class AsksBody(_Body):
    """Several asks at once."""

    decisions: list[KeyedAskBody] = Field(
        examples=[[{"subject": "ann", "key": "a1"}, {"subject": "bob", "key": "b1"}]]
    )


class RewardBody(_Body):
    """What a decision paid."""

    reward: Reward = Field(
        description="A number; null if it will never come; a list, one entry per arm, where a "
        "decision played several.",
        examples=[1.0],
    )


class RewardOf(RewardBody):
    """What one of several decisions paid."""

    id: Id


class RewardsBody(_Body):
    """What several decisions paid."""

    rewards: list[RewardOf] = Field(examples=[[{"id": "6j3k...", "reward": 1.0}]])


class IdsBody(_Body):
    """Several decisions, by id."""

    ids: list[Id] = Field(examples=[["6j3k...", "q0zd..."]])


class DecisionView(BaseModel):
    """A decision."""

    id: str = Field(examples=["5rj6x2m7v4qk3c8wz1n0hyt9ab"])
    rotation: str = Field(examples=["station"])
    subject: str = Field(examples=["ann"])
    round: int = Field(examples=[12])
    arms: list[str] = Field(description="What to play; empty for silence.", examples=[["jazz"]])
    state: list[int] = Field(
        description="The state each arm was found in: rounds of rest, or minus the plays in a row.",
        examples=[[3]],
    )
    propensity: float = Field(
        description="How likely this was, over the draws of holdout and exploration.",
        examples=[0.9],
    )
    version: int = Field(description="The version of the rotation.", examples=[1])
    reason: str = Field(examples=["learned; worth up to 0.712 a round"])
    by: Literal["policy", "holdout", "explore", "shadow"] = "policy"
    would: list[str] | None = Field(None, description="In shadow mode, what was decided instead.")
    status: Literal["offered", "played", "rewarded", "lapsed", "cancelled"] = "played"
    asked: str = Field(examples=["2024-06-03T06:00:00.000Z"])
    expires: str | None = Field(
        None, description="When an offer lapses, or when the window for the reward closes."
    )
    reward: float | list[float | None] | None = None
    told: bool | None = Field(
        None, description="Whether the reward was told, or booked as missing."
    )


class ProblemView(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["urn:lastswitch:problem:round-over"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["round 3 of 'ann' is over; its next is round 4."])


class BatchView(BaseModel):
    """Answers in the order of what was asked: each with its own status."""

    answers: list[dict[str, Any]] = Field(
        examples=[[{"status": 201, "decision": {"id": "5rj6...", "arms": ["jazz"]}}]]
    )


class RotationView(BaseModel):
    """A rotation: its newest version, or one of them."""

    name: str = Field(examples=["station"])
    version: int = Field(examples=[1])
    arms: list[str] = Field(description="Every arm there was, by number.", examples=[["jazz"]])
    active: list[str] = Field(description="Those that may be played.", examples=[["jazz"]])
    decide: Literal["learner", "plan", "cycle"] = "learner"
    rules: list[str] = Field(description="The rules, as sentences.", examples=[[]])
    spec: dict[str, Any] = Field(description="The rotation as it was written.")


class SubjectView(BaseModel):
    """Where a subject stands."""

    subject: str = Field(examples=["ann"])
    next: int | None = Field(description="Its next round.", examples=[13])
    state: dict[str, int] = Field(
        description="The state of each arm in that round.", examples=[{"jazz": -1}]
    )
    offer: str | None = Field(None, description="The id of the offer that stands.")


def rotation_view(version: Version) -> dict[str, Any]:
    """Return a version as it is shown."""
    named = zip(version.arms, version.active, strict=True)
    return {
        "name": version.rotation,
        "version": version.number,
        "arms": list(version.arms),
        "active": [name for name, active in named if active],
        "decide": version.settings.decide,
        "rules": [str(rule) for rule in version.bandit.rules],
        "spec": version.spec,
    }


def decision_view(decision: Decision, version: Version) -> dict[str, Any]:
    """Return a decision as it is shown."""
    names = version.arms
    reward = decision.reward
    expires = decision.until if decision.status == "offered" else decision.due
    return {
        "id": decision.id,
        "rotation": decision.rotation,
        "subject": decision.subject,
        "round": decision.round,
        "arms": [names[arm] for arm in decision.arms],
        "state": list(decision.taus),
        "propensity": decision.propensity,
        "version": decision.version,
        "reason": decision.reason,
        "by": decision.by,
        "would": None if decision.would is None else [names[arm] for arm in decision.would],
        "status": decision.status,
        "asked": moment(decision.asked),
        "expires": None if expires is None else moment(expires),
        "reward": reward[0] if reward is not None and len(reward) == 1 else reward,
        "told": decision.told if reward is not None else None,
    }


@lru_cache(4096)  # what is committed together was asked at the same moment
def moment(seconds: float) -> str:
    """Return a moment as RFC 3339 says.

    Examples
    --------
    >>> moment(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    return (
        f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{int(seconds % 1 * 1000):03d}Z"
    )


Model = TypeVar("Model", bound=BaseModel)
_adapters: dict[type[BaseModel], TypeAdapter[Any]] = {}
to_json = msgspec.json.Encoder().encode


def answer(status: int, body: Any) -> Response:
    """Return an answer; a problem from 400 on."""
    media = "application/json" if status < 400 else MEDIA
    return Response(to_json(body), status, media_type=media)


async def read_body(request: Request, model: type[Model]) -> Model:
    """Return the body of a request, checked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not-json", "send JSON, and say so: Content-Type: application/json.")
    body = await request.body()
    adapter = _adapters.get(model)
    if adapter is None:
        adapter = _adapters[model] = TypeAdapter(model)
    try:
        found: Model = adapter.validate_json(body)
    except ValidationError as error:
        raise Problem(422, "body", _words(error)) from None
    except ValueError:  # half a character, say
        raise Problem(422, "body", "the body is not JSON in UTF-8.") from None
    return found


def _words(error: ValidationError) -> str:
    """Say in one line what is wrong with a body."""
    words = []
    for entry in error.errors(include_url=False, include_input=False)[:5]:
        where = ".".join(str(part) for part in entry["loc"])
        words.append(f"{where or 'the body'}: {entry['msg']}")
    return "; ".join(words) + "."


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the contract says of problems with these statuses."""
    always = (401, 403, 413, 421, 422, 429, 503)
    words = {
        401: "No key, or a wrong one.",
        403: "The key may not do this.",
        404: "No such thing for this key.",
        409: "Not in this state; the detail says why.",
        410: "The offer is gone.",
        413: "The body is too large.",
        415: "The body is not JSON.",
        421: "The service does not go by this name.",
        422: "The request cannot be used; the detail says why.",
        429: "Too many requests.",
        503: "The database is away.",
    }
    schema = {"$ref": f"#/components/schemas/{ProblemView.__name__}"}
    return {
        status: {"description": words[status], "content": {MEDIA: {"schema": schema}}}
        for status in sorted({*statuses, *always})
    }


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return what the contract says of a body that the endpoint reads itself."""
    schema = _inlined(model.model_json_schema())
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the models it refers to written out in place."""
    models = schema.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(entry) for entry in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return inline(models[part["$ref"].rpartition("/")[2]])
        return {name: inline(entry) for name, entry in part.items()}

    found: dict[str, Any] = inline(schema)
    return found
