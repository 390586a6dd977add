"""A rotation: what is rotated, what must be respected, and how it is decided.

A rotation is written as a bandit's file is, with a table ``[serve]`` beside its arms::

    [serve]
    decide = "learner"        # or "plan", or "cycle"
    prior = 5                 # a learner believes the curves of the file as 5 rewards per state
    holdout = 0.1             # a tenth of the subjects get the arms in turn
    window = "7d"             # a reward may take so long ...
    missing = 0.0             # ... and counts as this when it has not come

The same as JSON is what the service takes and stores. Every change makes a new *version*. An arm
keeps its number for ever: new ones come after those there were, and one that a version no longer
lists is retired.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic import model_validator as check_together

from lastswitch._utils.checks import is_number, shown
from lastswitch._utils.codec import digest
from lastswitch._utils.suggest import suggestion
from lastswitch.calendars.calendar import Calendar
from lastswitch.calendars.days import UNITS
from lastswitch.errors import LastSwitchError, ServiceError
from lastswitch.learning.rotation.prior import Prior, read_prior
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import bandit_from_dict
from lastswitch.rules import Counting, Rule

#: The largest number that a reward, or a memory, may be: sums of many more stay numbers.
LARGEST = 1e15
#: Seconds that ``ahead`` may be: ten years.
FARTHEST_AHEAD = 3660 * 86_400.0
_SPAN = re.compile(r"\s*(\d{1,9})\s*(s|min|h|d|w)\s*")

Share = Annotated[float, Field(ge=0, le=1)]
Reward = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


def seconds_of(text: str) -> float:
    """Return the seconds of a length of time in words.

    Examples
    --------
    >>> seconds_of("90min")
    5400.0
    """
    match = _SPAN.fullmatch(text)
    if match is None or not int(match[1]):
        raise ServiceError(f"give a whole number and a unit ({', '.join(UNITS)}), such as '7d'")
    return float(int(match[1]) * UNITS[match[2]])


def _span(text: str) -> str:
    seconds_of(text)
    return text


def _span_ahead(text: str) -> str:
    if seconds_of(text) > FARTHEST_AHEAD:
        raise ServiceError("ahead is at most 3660d")
    return text


Span = Annotated[str, AfterValidator(_span)]


class Settings(BaseModel):
    """The table ``[serve]`` of a rotation.

    Parameters
    ----------
    decide
        ``"learner"`` learns what arms pay; ``"plan"`` plans from where each subject stands, on the
        curves given; ``"cycle"`` plays ``cycle`` over and over.
    cycle
        The arms of each round of the cycle, by name; by default the best cycle of the curves.
    lookahead
        Rounds that a plan looks ahead.
    time_limit
        Seconds that a plan may take.
    prior
        How many rewards per state a learner takes the curves for; or the counts of a fit.
    memory
        Rounds after which a learner takes a reward for 1/e; for ever by default.
    explore
        The share of decisions drawn evenly among the arms allowed.
    holdout
        The share that is decided by ``holdout_plays`` instead, to be compared with.
    holdout_by
        Whether the share is of subjects or of decisions.
    holdout_plays
        ``"round-robin"`` (the arm that has rested longest), or a cycle.
    shadow
        Whether everything is played by ``holdout_plays`` and what would have been decided is only
        noted.
    rewards
        The smallest and the largest reward.
    window
        How long a reward may take, such as ``"7d"``; for ever by default.
    missing
        What a reward that has not come by then counts as; ``None``: as no reward at all.
    stand
        How long an offer stands that waits to be confirmed.
    ahead
        How far from now, or before round 0, a round may be that ``at`` asks for, where there is a
        calendar.
    subjects
        How many subjects the rotation takes in; as many as the service says by default.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    decide: Literal["learner", "plan", "cycle"] = "learner"
    cycle: Any = None
    lookahead: Annotated[int, Field(ge=1, le=1000)] = 24
    time_limit: Annotated[float, Field(gt=0, le=10)] = 0.1
    prior: Any = None
    memory: Annotated[float, Field(gt=0, le=LARGEST)] | None = None
    explore: Share = 0.0
    holdout: Share = 0.0
    holdout_by: Literal["subject", "decision"] = "subject"
    holdout_plays: Any = "round-robin"
    shadow: bool = False
    rewards: Annotated[tuple[Reward, Reward], Strict(False)] = (0.0, 1.0)
    window: Span | None = None
    missing: Reward | None = 0.0
    stand: Span = "15min"
    ahead: Annotated[str, AfterValidator(_span_ahead)] = "366d"
    subjects: Annotated[int, Field(ge=1, le=10**12)] | None = None

    @classmethod
    def from_dict(cls, given: Any) -> Settings:
        """Return the settings of a table.

        Examples
        --------
        >>> Settings.from_dict({"decide": "learner", "holdout": 0.1}).holdout
        0.1
        >>> Settings.from_dict({"holdin": 0.1})
        Traceback (most recent call last):
        lastswitch.errors.ServiceError: [serve] has no 'holdin' (did you mean 'holdout'?); it has...
        >>> Settings.from_dict({"lookahead": 0})
        Traceback (most recent call last):
        lastswitch.errors.ServiceError: [serve] lookahead: input should be greater than or equal to
        1, got 0.
        """
        if not isinstance(given, Mapping):
            raise ServiceError(f"[serve] must be a table of settings, got {shown(given)}.")
        try:
            return cls.model_validate(dict(given))
        except ValidationError as error:
            raise ServiceError(_words(error)) from None

    @check_together(mode="after")
    def _agree(self) -> Settings:
        if self.explore + self.holdout > 1.0:
            raise ServiceError("explore and holdout are shares of the same whole; lower one")
        low, high = self.rewards
        if low >= high:
            raise ServiceError("rewards are the smallest and the largest")
        if self.missing is not None and not low <= self.missing <= high:
            raise ServiceError(f"missing must be a reward from {low:g} to {high:g}, or left out")
        return self


def _words(error: ValidationError) -> str:
    """Say in one sentence what is wrong with the first setting that is."""
    found = error.errors(include_url=False)[0]
    name, message = ".".join(map(str, found["loc"])), found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        known = list(Settings.model_fields)
        return f"[serve] has no {name!r}{suggestion(name, known)}; it has {', '.join(known)}."
    if not name:
        return f"[serve] {message}."
    return f"[serve] {name}: {message[0].lower()}{message[1:]}, got {shown(found['input'])}."


#: Longest names of arms, subjects and rotations.
LONGEST_NAME = 200
MOST_ARMS = 500
#: The farthest that rules look back, and the farthest round that they name.
LONGEST_WINDOW, FARTHEST_RULE = 1_000, 100_000
#: Arms times rounds that a plan, or a cycle under rules, may look at: the memory it takes.
MOST_PLANNED, MOST_CYCLED = 500_000, 5_000
#: Rewards that a prior may count in a state, and states that it may count of an arm.
MOST_BELIEVED, MOST_STATES = 1e9, 1_000
#: Rounds of a calendar that show how long its days, weeks and months are.
_SAMPLED = 2000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

#: The arms of a round by number.
Arms = tuple[int, ...]


@dataclass(frozen=True)
class Version:
    """One version of a rotation: everything a decision depends on besides subjects and rewards."""

    rotation: str
    number: int
    #: As given: a bandit's file with ``serve`` and ``calendar``, as JSON.
    spec: Mapping[str, Any]
    #: All arms there ever were, by number.
    arms: tuple[str, ...]
    settings: Settings
    bandit: Bandit
    active: tuple[bool, ...]
    calendar: Calendar | None
    cycle: tuple[Arms, ...]
    holdout_cycle: tuple[Arms, ...] | None

    @cached_property
    def window(self) -> float:
        """Seconds that a reward may take."""
        given = self.settings.window
        return math.inf if given is None else seconds_of(given)

    @cached_property
    def ahead(self) -> float:
        """Seconds from now, or before the first round, that rounds asked for may be away."""
        return seconds_of(self.settings.ahead)

    @cached_property
    def stand(self) -> float:
        """Seconds that an offer stands."""
        return seconds_of(self.settings.stand)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each arm."""
        return {name: arm for arm, name in enumerate(self.arms)}

    @cached_property
    def look_back(self) -> int:
        """Rounds of the past that rules can see."""
        longest = 0
        for rule in self.bandit.rules:
            if isinstance(rule, Counting):
                longest = max(longest, rule.within or 0, rule.every or 0)
                longest = max([longest, *(b - a for a, b in rule.spans or ())])
                if rule.per is not None and self.calendar is not None:
                    periods = self.calendar.periods(rule.per, _SAMPLED)
                    longest = max([longest, *(end - begin + 1 for begin, end in periods)])
            else:
                longest = max(longest, 1)
        return min(longest, LONGEST_WINDOW)

    def names(self, arms: Sequence[int]) -> list[str]:
        """Return the names of arms."""
        return [self.arms[arm] for arm in arms]


def make_version(
    rotation: str, number: int, spec: Mapping[str, Any], before: Sequence[str] = ()
) -> Version:
    """Return a version of a rotation whose earlier ones had the arms ``before``.

    Examples
    --------
    >>> spec = {"arms": [{"name": "jazz"}, {"name": "talk"}]}
    >>> version = make_version("radio", 1, spec, before=["news"])
    >>> version.arms, version.active
    (('news', 'jazz', 'talk'), (False, True, True))
    """
    check_name(rotation)
    if not isinstance(spec, Mapping):
        raise ServiceError(f"a rotation is a table with arms, got {shown(spec)}.")
    try:
        return _made(rotation, number, spec, before)
    except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as error:
        if isinstance(error, LastSwitchError):
            raise
        raise ServiceError(
            f"rotation {rotation} cannot be read: {type(error).__name__}: {error!s:.200}."
        ) from error


def _made(rotation: str, number: int, spec: Mapping[str, Any], before: Sequence[str]) -> Version:
    settings = Settings.from_dict(spec.get("serve", {}))
    listed = _arm_tables(spec.get("arms"), settings.decide)
    names = [str(table["name"]) for table in listed]
    arms = [*before, *(name for name in names if name not in before)]
    if len(arms) > MOST_ARMS:
        raise ServiceError(f"a rotation has at most {MOST_ARMS} arms, got {len(arms)}.")
    by_name = dict(zip(names, listed, strict=True))
    retired = {"rest": [0.0], "streak": [0.0]}
    whole = {key: value for key, value in spec.items() if key not in ("serve", "calendar", "arms")}
    tables = [by_name.get(name, {"name": name, **retired}) for name in arms]
    initial = whole.get("initial", 1)
    if isinstance(initial, list):
        states = dict(zip(names, initial, strict=False))
        whole["initial"] = [states.get(name, 1) for name in arms]
    bandit = bandit_from_dict({**whole, "arms": tables}, source=f"rotation {rotation}")
    calendar = _calendar(spec.get("calendar"))
    _check_rules(bandit, calendar)
    if settings.decide == "learner" and bandit.plays[1] > 1:
        for rule in bandit.rules:
            if not rule.resolved:
                raise ServiceError(
                    f"{rule!r} speaks of dates, and a learner of several plays a round keeps rules "
                    "of rounds; say it with within or every, or decide by plan."
                )
    _check_size(settings, bandit)
    active = tuple(name in by_name for name in arms)
    version = Version(
        rotation=rotation,
        number=number,
        spec=plain(spec),
        arms=tuple(arms),
        settings=settings,
        bandit=bandit,
        active=active,
        calendar=calendar,
        cycle=_cycle(settings.cycle, arms) if settings.cycle is not None else (),
        holdout_cycle=None
        if settings.holdout_plays == "round-robin"
        else _cycle(settings.holdout_plays, arms),
    )
    prior_of(version)  # refused here whoever decides: a later version may learn
    return version


def prior_of(version: Version) -> Prior | None:
    """Return what a learner of this version believes beforehand."""
    given = version.settings.prior
    if given is None:
        return None
    if is_number(given):
        if not 0 < given <= MOST_BELIEVED:
            raise ServiceError(f"prior is from 0 to {MOST_BELIEVED:g} rewards, got {shown(given)}.")
        prior = Prior.from_bandit(version.bandit, given)
        for table in prior:  # arms of which nothing was said, and retired ones, are not known
            table[[not said for said in _said(version)]] = 0.0
        return prior
    if not (isinstance(given, Mapping) and set(given) == set(Prior._fields)):
        raise ServiceError(
            f"prior is a number of rewards per state, or the counts of a fit, got {shown(given)}."
        )
    low, high = version.settings.rewards
    return read_prior(_counts_of(version, given), len(version.arms), (low, high))


def _counts_of(version: Version, given: Mapping[str, Any]) -> Prior:
    """Return the tables of a fit by arms' numbers; their rows are the arms as they are listed."""
    tables = []
    listed = [version.number_of[arm["name"]] for arm in version.spec["arms"]]
    for name in Prior._fields:
        rows = given[name]
        wide = len(rows[0]) if _is_table(rows) else 0
        if not 0 < wide <= MOST_STATES or len(rows) > len(listed):
            raise ServiceError(
                f"prior.{name} must be a table of numbers with a row for each of the "
                f"{len(listed)} arms and up to {MOST_STATES:,} states, got {shown(rows)}."
            )
        table = np.zeros((len(version.arms), wide))
        table[listed[: len(rows)]] = rows
        if name.endswith("_counts") and table.max() > MOST_BELIEVED:
            raise ServiceError(
                f"prior.{name} counts at most {MOST_BELIEVED:g} rewards in a state, got "
                f"{table.max():g}."
            )
        tables.append(table)
    return Prior(*tables)


def _is_table(rows: Any) -> bool:
    """Tell whether rows are lists of numbers of one length."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        return False
    return all(len(row) == len(rows[0]) and all(map(is_number, row)) for row in rows)


def same_spec(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two rotations are written alike."""
    return digest(plain(one)) == digest(plain(other))


def shifted(rules: Sequence[Rule], by: int) -> tuple[Rule, ...]:
    """Return rules whose rounds are counted from round ``by`` on.

    Examples
    --------
    >>> from lastswitch.rules import never
    >>> shifted([never("jazz", [6])], 5)[0].spans
    ((1, 2),)
    """
    return tuple(
        replace(
            rule,
            offset=rule.offset - by,
            spans=None if rule.spans is None else tuple((a - by, b - by) for a, b in rule.spans),
        )
        if isinstance(rule, Counting) and rule.resolved
        else rule
        for rule in rules
    )


def check_name(name: Any) -> str:
    """Return the name of a rotation, if it can be one."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ServiceError(
            "a rotation's name is up to 64 letters, digits, dots, dashes and underscores, got "
            f"{shown(name)}."
        )
    return name


def plain(value: Any) -> Any:
    """Return what a TOML file holds as plain JSON values; dates become text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime) else value


def _arm_tables(given: Any, decide: str) -> list[dict[str, Any]]:
    """Return the tables of the arms; to a learner an arm may be a name and nothing else."""
    if not isinstance(given, list) or not given:
        raise ServiceError(f"a rotation needs arms, at least one; got {shown(given)}.")
    tables = []
    for index, arm in enumerate(given):
        table = dict(arm) if isinstance(arm, Mapping) else {}
        name = table.get("name")
        if not (isinstance(name, str) and is_text(name)):
            raise ServiceError(f"arms[{index}] needs a name of its own, got {shown(arm)}.")
        if decide == "learner" and set(table) == {"name"}:
            table |= {"rest": [0.5], "streak": [0.5]}
        tables.append(table)
    names = [table["name"] for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise ServiceError(f"two arms are called {shown(name)}; give each its own name.")
    return tables


def is_text(name: str) -> bool:
    """Tell whether a name can be kept by any database and shown on any page."""
    return (
        0 < len(name) <= LONGEST_NAME
        and name.isprintable()
        and not any("\ud800" <= letter <= "\udfff" for letter in name)
    )


def _said(version: Version) -> list[bool]:
    """Tell of which arms the rotation says what they pay."""
    tables = {arm["name"]: arm for arm in version.spec["arms"]}
    return [len(tables.get(name, ())) > 1 for name in version.arms]


def _calendar(table: Any) -> Calendar | None:
    if table is None:
        return None
    try:
        return Calendar.from_dict(plain(table))
    except LastSwitchError as error:
        raise ServiceError(f"[calendar]: {error}") from error


def _cycle(given: Any, arms: Sequence[str]) -> tuple[Arms, ...]:
    """Return a cycle of arms by name, or of lists of them."""
    if not isinstance(given, list) or not given or len(given) > 10_000:
        raise ServiceError(f"a cycle lists the arms of each round, got {shown(given)}.")
    turns = []
    for entry in given:
        names = [entry] if isinstance(entry, str) else entry
        if not isinstance(names, list) or any(name not in arms for name in names):
            raise ServiceError(f"a cycle lists arms by name, got {shown(entry)}.")
        turns.append(tuple(arms.index(name) for name in names))
    return tuple(turns)


def _check_size(settings: Settings, bandit: Bandit) -> None:
    """Refuse what would take more memory to plan than a service should lend one rotation."""
    for rule in bandit.rules:
        if not isinstance(rule, Counting):
            continue
        longest = max(rule.within or 0, rule.every or 0)
        if longest > LONGEST_WINDOW:
            raise ServiceError(
                f"{rule!r} looks back {shown(longest)} rounds; a rotation keeps {LONGEST_WINDOW:,}."
            )
        farthest = max((abs(edge) for span in rule.spans or () for edge in span), default=0)
        if max(farthest, abs(rule.offset)) > FARTHEST_RULE:
            raise ServiceError(
                f"{rule!r:.200} speaks of round {shown(max(farthest, abs(rule.offset)))}; a rule "
                f"of a rotation names rounds up to {FARTHEST_RULE:,}: say it with every or per."
            )
    if settings.decide == "learner" or settings.cycle is not None:
        return
    ruled = settings.decide == "cycle" and not bandit.plain
    size, most = bandit.n_arms * settings.lookahead, MOST_CYCLED if ruled else MOST_PLANNED
    if size > most:
        raise ServiceError(
            f"a {'cycle under rules' if ruled else 'plan'} looks at up to {most:,} arms times "
            f"rounds, got {bandit.n_arms:,} arms and lookahead = {settings.lookahead:,}; lower "
            f"lookahead to {max(1, most // bandit.n_arms):,}."
        )


def _check_rules(bandit: Bandit, calendar: Calendar | None) -> None:
    for rule in bandit.rules:
        if not rule.resolved and calendar is None:
            raise ServiceError(f"{rule!r} speaks of dates, and the rotation has no [calendar].")
        windows = ("within", "every", "spans", "when", "per")
        if isinstance(rule, Counting) and all(getattr(rule, name) is None for name in windows):
            raise ServiceError(
                f"{rule!r} is about a whole schedule, and a rotation never ends; say within, every "
                "or per."
            )
