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
from typing import Any

from lastswitch._checks import is_number, shown
from lastswitch._codec import digest
from lastswitch.bandit import Bandit
from lastswitch.calendar import Calendar
from lastswitch.errors import LastSwitchError, ServiceError
from lastswitch.files import bandit_from_dict
from lastswitch.learning.rotation.prior import Prior
from lastswitch.rules import Counting, Rule
from lastswitch.service.settings import Settings, seconds_of

#: Longest names of arms, subjects and rotations.
LONGEST_NAME = 200
MOST_ARMS = 500
#: The farthest that rules look back.
LONGEST_WINDOW = 1000
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
        return math.inf if given is None else seconds_of("window", given)

    @cached_property
    def stand(self) -> float:
        """Seconds that an offer stands."""
        return seconds_of("stand", self.settings.stand)

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
    active = tuple(name in by_name for name in arms)
    return Version(
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


def prior_of(version: Version) -> Prior | None:
    """Return what a learner of this version believes beforehand."""
    given = version.settings.prior
    if given is None:
        return None
    if is_number(given):
        prior = Prior.from_bandit(version.bandit, given)
        for table in prior:  # arms of which nothing was said, and retired ones, are not known
            table[[not said for said in _said(version)]] = 0.0
        return prior
    if isinstance(given, Mapping) and set(given) == set(Prior._fields):
        import numpy as np

        rows = [np.asarray(given[name], dtype=float) for name in Prior._fields]
        more = len(version.arms) - len(rows[0])
        return Prior(*(np.pad(table, ((0, more), (0, 0))) for table in rows))
    raise ServiceError(
        f"prior is a number of rewards per state, or the counts of a fit, got {shown(given)}."
    )


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
