"""Drafts of a rotation, as the studio edits them: planned, explained and written to files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from lastswitch._utils.csv import csv_text
from lastswitch.calendars import Schedule
from lastswitch.calendars.calendar import Calendar
from lastswitch.calendars.odd import oddities
from lastswitch.errors import InfeasibleError, PlanError
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import to_toml
from lastswitch.planning import plan_block, plan_cycle
from lastswitch.planning.explain import explain
from lastswitch.planning.plan import Plan
from lastswitch.planning.reading import headline
from lastswitch.rules import Rule
from lastswitch.service.problems import Problem
from lastswitch.service.rotation import make_version

#: Seconds for a plan, and for what one rule costs.
PLAN_SECONDS, RULE_SECONDS = 1.5, 0.5
#: Rounds planned at most, and drafts planned at once: decisions come first.
LONGEST, AT_ONCE = 366, 2
MEDIA = {"toml": "application/toml", "csv": "text/csv", "ics": "text/calendar"}

#: Drafts that wait to be planned, arms times rounds of one, and as a cycle under rules.
WAITING, MOST, MOST_RULED = 8, 75_000, 5_000


class _Room:
    """Threads for what takes long, and who waits for them: decisions and probes have others."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="lastswitch-drafts")
        self.inside = 0


_room = _Room()
_Found = TypeVar("_Found")


async def compute(function: Callable[..., _Found], *given: Any) -> _Found:
    """Compute in a thread of its own kind; refuse where too many wait."""
    if _room.inside >= AT_ONCE + WAITING:
        words = "too many plans are being made; try again in a moment."
        raise Problem(429, "busy", words, retry_after=2)
    _room.inside += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_room.threads, function, *given)
    finally:
        _room.inside -= 1


class DraftBody(BaseModel):
    """A rotation as it is being written, and how much of it to plan."""

    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any]
    length: Annotated[StrictInt, Field(ge=1, le=LONGEST)] = 28
    #: Plan a cycle, to be repeated for ever.
    cycle: StrictBool = False
    #: Where the first round begins, where there is a calendar.
    begin: Annotated[StrictStr, Field(max_length=40)] | None = None
    name: Annotated[StrictStr, Field(max_length=64)] = "rotation"


class Made(NamedTuple):
    """A draft that was planned."""

    bandit: Bandit
    calendar: Calendar | None
    plan: Plan
    schedule: Schedule | None


def made(body: DraftBody) -> Made:
    """Plan a draft; one that was planned just now is remembered."""
    return _made(json.dumps(body.model_dump(exclude={"name"}), sort_keys=True))


@lru_cache(maxsize=16)
def _made(text: str) -> Made:
    body = DraftBody(**json.loads(text))
    bandit, calendar = _read(body)
    _check_size(body, bandit)
    rules = _rules(body, bandit, calendar) if bandit.rules else None
    if body.cycle:
        plan = plan_cycle(bandit, body.length, rules=rules, time_limit=PLAN_SECONDS)
    else:
        plan = plan_block(bandit, body.length, rules=rules, time_limit=PLAN_SECONDS)
    return Made(bandit, calendar, plan, None if calendar is None else plan.calendar(calendar))


def _read(body: DraftBody) -> tuple[Bandit, Calendar | None]:
    version = make_version("draft", 1, body.spec)
    calendar = version.calendar
    if calendar is not None and body.begin:
        calendar = calendar.starting(body.begin)
    return version.bandit, calendar


def _check_size(body: DraftBody, bandit: Bandit) -> None:
    """Refuse a draft that would take too much memory to plan."""
    ruled = body.cycle and not bandit.plain
    size, most = bandit.n_arms * body.length, MOST_RULED if ruled else MOST
    if size > most:
        raise PlanError(
            f"up to {most:,} arms times rounds of a {'cycle under rules' if ruled else 'plan'} are "
            f"planned here, got {bandit.n_arms:,} arms and {body.length:,} rounds; plan fewer "
            "rounds."
        )


def _rules(body: DraftBody, bandit: Bandit, calendar: Calendar | None) -> tuple[Rule, ...]:
    # A rule without a name goes by its sentence, so that no conflict speaks Python.
    rules = tuple(rule if rule.name else replace(rule, name=str(rule)) for rule in bandit.rules)
    if calendar is None or body.cycle:  # a cycle has no dates, and says so of rules that do
        return rules
    return calendar.resolve(rules, body.length, bandit)


def plan_view(body: DraftBody) -> dict[str, Any]:
    """Return the plan of a draft as the studio shows it; or which rules cannot hold together."""
    bandit, calendar = _read(body)
    sentences = [str(rule) for rule in bandit.rules]
    try:
        found = made(body)
    except InfeasibleError as error:
        rules = list(_rules(body, bandit, calendar))
        named = [number for number, rule in enumerate(rules) if rule in error.conflict]
        return {"conflict": str(error), "conflicting": named, "rules": sentences}
    plan = found.plan
    return {
        "headline": headline(plan),
        "value": plan.value,
        "bound": plan.bound,
        "gap": plan.gap,
        "optimal": plan.optimal,
        "per_round": plan.per_round,
        "seconds": plan.seconds,
        "names": list(bandit.names),
        "rules": sentences,
        "words": [line for line in str(plan).splitlines()[1:] if not line.startswith(" ")],
        "rounds": _rounds(found),
    }


def _rounds(found: Made) -> list[dict[str, Any]]:
    """Return what every round plays, with its day and hour where there is a calendar."""
    schedule, calendar = found.schedule, found.calendar
    rounds = []
    for number, arms in enumerate(found.plan.rounds):
        entry: dict[str, Any] = {"round": number, "arms": list(arms)}
        if calendar is not None and schedule is not None:
            entry["day"] = calendar.day(number).isoformat()
            entry["time"] = "" if calendar.daily else f"{calendar.time(number):%H:%M}"
            entry["pinned"] = [arm for arm in arms if (number, arm) in schedule.pinned]
        rounds.append(entry)
    return rounds


def explain_view(body: DraftBody) -> dict[str, Any]:
    """Return what every rule of a draft costs, and what is odd about it."""
    found = made(body)
    say = None if found.schedule is None or body.cycle else found.schedule.say_rounds
    costs = []
    if found.bandit.rules:
        reports = explain(found.plan, RULE_SECONDS).rules
        costs = [" ".join(report.text(say).split("\n  ")[1:]) for report in reports]
    odd = [] if body.cycle else oddities(found.bandit, body.length, found.calendar)
    return {"costs": costs, "odd": [_in_sentences(line, found.bandit.rules) for line in odd]}


def _in_sentences(text: str, rules: Sequence[Rule]) -> str:
    """Return words about rules with the rules as sentences instead of Python."""
    for rule in rules:
        text = text.replace(repr(rule), f"'{rule}'")
    return text


def file_of(body: DraftBody, form: str) -> str:
    """Return a draft's file: the rotation itself (toml), or its plan (csv, ics)."""
    if form == "toml":
        make_version("draft", 1, body.spec)
        return to_toml(_filled(body.spec))
    found = made(body)
    if found.schedule is None:
        if form == "ics":
            raise PlanError(
                "a feed needs dates, and this rotation has no calendar; give it one, such as "
                'start = "2024-06-03".'
            )
        names = found.bandit.names
        rows = [(k, names[arm]) for k, arms in enumerate(found.plan.rounds) for arm in arms]
        return csv_text(["round", "arm"], rows)
    return found.schedule.to_csv() if form == "csv" else found.schedule.to_ics(name=body.name)


def _filled(value: Any) -> Any:
    """Return values without those that are not given: TOML has no null."""
    if isinstance(value, Mapping):
        return {key: _filled(item) for key, item in value.items() if item is not None}
    return [_filled(item) for item in value] if isinstance(value, list) else value


def opened(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rotation as the studio edits it: curves as tables, whatever way they were given.

    Examples
    --------
    >>> opened({"arms": [{"name": "talk", "shape": "step", "at": 2, "high": 0.8}]})["arms"]
    [{'name': 'talk', 'rest': [0.0, 0.8], 'streak': [0.0]}]
    """
    from lastswitch.model.files import bandit_to_dict

    version = make_version("draft", 1, spec)
    tables = bandit_to_dict(replace(version.bandit, rules=()))["arms"]
    kept = {key: value for key, value in version.spec.items() if key not in ("arms", "version")}
    return {**kept, "arms": tables}
