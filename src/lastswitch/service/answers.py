"""How answers are written: JSON bytes, problems, and what the contract says of both."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, TypeAdapter, ValidationError

from lastswitch.service.problems import MEDIA, Problem
from lastswitch.service.wire import ProblemView

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
