"""What the studio's page asks for beyond the contract: drafts, fits, and how a rotation is doing.

Paths under ``/studio/`` compute on what the page sends, or show how a rotation is written. Like
those under ``/v1/``, where what happened is, they need a key.
"""

from __future__ import annotations

import csv
import io
import tempfile
import warnings
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from lastswitch._utils.codec import parse_toml
from lastswitch._utils.csv import csv_text
from lastswitch.errors import FileError, LastSwitchError, LastSwitchWarning
from lastswitch.rules import from_dict
from lastswitch.service import drafts
from lastswitch.service.keys import Key
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import MOST_ARMS, make_version, plain
from lastswitch.service.watching import watch_view
from lastswitch.service.wire import answer, read_body

if TYPE_CHECKING:
    from lastswitch.logs import CurveFit
    from lastswitch.service.app import Service

router = APIRouter(include_in_schema=False)
STARTERS = ("radio", "meals", "notifications")
Column = Annotated[str | None, Query(max_length=200)]


class RuleBody(BaseModel):
    """A rule as a file has it."""

    model_config = ConfigDict(extra="forbid")

    rule: dict[str, Any]


class OpenBody(BaseModel):
    """A rotation to edit: as TOML, or as its values."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(max_length=1_000_000)] | None = None
    spec: dict[str, Any] | None = None


@router.get("/studio/rotations")
def rotations(request: Request) -> Any:
    """Return how the rotations are written, with files to start from."""
    service: Service = request.app.state.service
    key: Key = request.scope["key"]
    known = service.worker.rotations
    found = []
    for name in known.names():
        if key.covers(name):
            version = known.decider(name).version
            listed = {"name": name, "version": version.number, "arms": len(version.arms)}
            found.append({**listed, "spec": drafts.opened(version.spec)})
    return {"rotations": found, "starters": STARTERS}


@router.get("/studio/starters/{name}")
def starter(name: Literal["radio", "meals", "notifications"]) -> Any:
    """Return a rotation to start from."""
    text = files("lastswitch").joinpath("starters", f"{name}.toml").read_text(encoding="utf-8")
    return drafts.opened(plain(parse_toml(text, name)))


@router.post("/studio/open")
async def open_draft(request: Request) -> Response:
    """Return a rotation as the page edits it."""
    body = await read_body(request, OpenBody)
    spec = body.spec if body.text is None else plain(parse_toml(body.text, "the file"))
    if not isinstance(spec, dict):
        raise FileError("there is nothing to open: give the text of a rotation's file.")
    spec.pop("version", None)
    return answer(200, await drafts.compute(drafts.opened, spec))


@router.post("/studio/rule")
async def say_rule(request: Request) -> Response:
    """Return the sentence that a rule is, or what is wrong with it so far."""
    body = await read_body(request, RuleBody)
    try:
        return answer(200, {"sentence": str(from_dict(body.rule))})
    except LastSwitchError as error:
        return answer(200, {"wrong": str(error)})


@router.post("/studio/plan")
async def plan(request: Request) -> Response:
    """Plan a draft: its rounds and its certificate; or what is wrong with it so far."""
    body = await read_body(request, drafts.DraftBody)
    try:
        return answer(200, await drafts.compute(drafts.plan_view, body))
    except LastSwitchError as error:
        return answer(200, {"wrong": str(error)})


@router.post("/studio/explain")
async def explain(request: Request) -> Response:
    """Say what every rule of a draft costs, and what is odd about it."""
    body = await read_body(request, drafts.DraftBody)
    return answer(200, await drafts.compute(drafts.explain_view, body))


@router.post("/studio/file")
async def file(request: Request, form: Literal["toml", "csv", "ics"]) -> Response:
    """Return a draft's file, or one of its plan."""
    body = await read_body(request, drafts.DraftBody)
    text = await drafts.compute(drafts.file_of, body, form)
    return _attachment(text, drafts.MEDIA[form], f"{body.name}.{form}")


@router.get("/studio/example")
async def example() -> Response:
    """Return a log to try: what the radio to start from would leave behind."""
    return Response(await drafts.compute(_example), media_type="text/csv")


@router.post("/studio/fit")
async def fit(
    request: Request,
    subject: Column = "subject",
    time: Column = "time",
    arm: Column = "arm",
    reward: Column = "reward",
    every: Column = None,
    page: bool = False,
) -> Response:
    """Fit curves to a log sent as CSV: what was found, and a rotation made of it; or the page."""
    content = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/csv":
        raise Problem(415, "not-csv", "send a log as CSV, and say so: Content-Type: text/csv.")
    columns = {"subject": subject, "time": time, "arm": arm, "reward": reward, "every": every}
    found = await drafts.compute(_fitted, content, columns)
    if page:
        from lastswitch.logs.outputs import page as page_of

        text = await drafts.compute(partial(page_of, found, title="Curves from a log"))
        return _attachment(text, "text/html", "fit.html")
    return answer(200, await drafts.compute(_fit_view, found))


@router.get("/v1/rotations/{name}/watch")
def watch(request: Request, name: str) -> Any:
    """Return how a rotation is doing."""
    service: Service = request.app.state.service
    return watch_view(service.database, service.worker.rotations.decider(name), service.clock())


@cache
def _example() -> str:
    from lastswitch.logs import simulate

    text = files("lastswitch").joinpath("starters", "radio.toml").read_text(encoding="utf-8")
    spec = {**parse_toml(text, "radio"), "rules": []}
    table = simulate(make_version("radio", 1, plain(spec)).bandit, subjects=60, rounds=60, seed=1)
    rows = table.to_pylist()
    return csv_text(list(rows[0]), [list(row.values()) for row in rows])


def _fitted(content: bytes, columns: dict[str, str | None]) -> CurveFit:
    from lastswitch.logs import fit_curves

    given: dict[str, Any] = {name: value for name, value in columns.items() if value}
    given.setdefault("subject", None)  # the whole log is one subject's
    with suppress(ValueError):  # of times that are numbers
        given["every"] = float(given.get("every", ""))
    _check_arms(content, given["arm"])
    with tempfile.TemporaryDirectory(prefix="lastswitch-") as folder:
        log = Path(folder) / "log.csv"
        log.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LastSwitchWarning)  # the notices are in the answer
            return fit_curves(str(log), memory="1GB", **given)


def _check_arms(content: bytes, column: str) -> None:
    """Refuse a log of more arms than a rotation can have, before anything is fitted."""
    rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace")))
    seen: set[str] = set()
    with suppress(csv.Error):  # the fit says what is wrong
        for row in rows:
            seen.add(str(row.get(column)))
            if len(seen) > MOST_ARMS:
                raise Problem(
                    422,
                    "arms",
                    f"the log has more than {MOST_ARMS} arms in its column {column!r:.60}; say "
                    "which column is the arm, or fit it with lastswitch fit.",
                )


def _fit_view(fit: CurveFit) -> dict[str, Any]:
    from lastswitch.logs import CAUTION

    arms = []
    for arm, findings in zip(fit.arms, fit.findings, strict=True):
        states = [
            {
                **{"tau": state.tau, "seen": state.events, "mean": _known(state.mean)},
                **{"low": state.low, "high": state.high, "known": state.known},
            }
            for state in arm.estimates
            if state.events and state.tau is not None
        ]
        answers = [
            {"question": found.question, "answer": found.answer, "words": str(found)}
            for found in findings
        ]
        arms.append({"arm": arm.name, "events": arm.events, "findings": answers, "states": states})
    return {
        "summary": str(fit).partition("\n")[0],
        "notices": list(fit.summary.notices),
        "caution": CAUTION,
        "arms": arms,
        "spec": _rotation_of(fit),
    }


def _known(mean: float) -> float | None:
    return mean if mean == mean else None


def _rotation_of(fit: CurveFit) -> dict[str, Any]:
    """Return a rotation whose learner begins with what the log saw."""
    from lastswitch.model.files import bandit_to_dict

    bandit = bandit_to_dict(fit.bandit)
    prior = {name: table.tolist() for name, table in fit.prior()._asdict().items()}
    kept = {key: bandit[key] for key in ("initial", "arms")}
    return {**kept, "serve": {"decide": "learner", "prior": prior, "holdout": 0.1}}


def _attachment(text: str, media: str, name: str) -> Response:
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(text.encode(), media_type=media, headers=headers)
