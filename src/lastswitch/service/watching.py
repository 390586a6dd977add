"""How a rotation is doing: what its journal, its subjects and its learner say of it.

Figures are of the latest lines of the journal, so that looking costs the same in a year.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from lastswitch._utils.intervals import LEVEL, t_interval
from lastswitch.errors import LastSwitchError
from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.logs.estimates import Evidence, interval
from lastswitch.model.bandit import Bandit
from lastswitch.service import tables
from lastswitch.service.database import Database
from lastswitch.service.deciders import Decider
from lastswitch.service.rotation import Version

#: Lines of the journal looked at, points of a series, names listed, and states shown of an arm.
LINES, POINTS, LISTED, STATES = 20_000, 40, 20, 12


class Told(NamedTuple):
    """A line of the journal, as far as figures need it."""

    at: float
    kind: str
    id: str
    subject: str
    round: int
    arms: list[int]
    by: str
    #: What the arms paid together; None if nothing is known.
    paid: float | None
    told: bool | None


def watch_view(database: Database, decider: Decider, now: float) -> dict[str, Any]:
    """Return the figures the studio shows of a rotation."""
    version = decider.version
    seq, lines = _latest(database, version)
    plays = [line for line in lines if line.kind == "play"]
    rewards = [line for line in lines if line.kind == "reward"]
    return {
        "rotation": version.rotation,
        "version": version.number,
        "decide": version.settings.decide,
        "shadow": version.settings.shadow,
        "seq": seq,
        "lines": len(lines),
        "most_lines": LINES,
        "arms": list(version.arms),
        "decisions": len(plays),
        "shares": _shares(version, plays),
        "gain": gain(rewards, paired=version.settings.holdout_by == "decision"),
        "series": _series(rewards),
        "bound": _bound(decider),
        "rewards": _punctuality(plays, rewards, now),
        "due": _due(database, decider, now),
        "beliefs": [] if decider.learner is None else beliefs(decider.learner, version),
    }


def _latest(database: Database, version: Version) -> tuple[int, list[Told]]:
    """Return the last line's number, and the latest lines, oldest first."""
    table = tables.journal
    columns = (table.c.seq, table.c.at, table.c.kind, table.c.id, table.c.subject, table.c.round)
    query = (
        select(*columns, table.c.arms, table.c.by, table.c.reward, table.c.told)
        .where(table.c.rotation == version.rotation)
        .order_by(table.c.seq.desc())
        .limit(LINES)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    lines = [
        Told(
            *(row.at, row.kind, row.id, row.subject, row.round),
            json.loads(row.arms),
            row.by,
            _paid(row.reward),
            row.told,
        )
        for row in reversed(rows)
    ]
    return (rows[0].seq if rows else 0), lines


def _paid(text: str | None) -> float | None:
    told = [] if text is None else json.loads(text)
    known = [value for value in told if value is not None]
    return float(sum(known)) if known else None


def _shares(version: Version, plays: Sequence[Told]) -> list[dict[str, Any]]:
    """Return how often each arm was played, by what decided."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for line in plays:
        for arm in line.arms:
            counts[arm][line.by] += 1
    total = sum(sum(found.values()) for found in counts.values())
    return [
        {
            "arm": name,
            "active": version.active[arm],
            "plays": sum(counts[arm].values()),
            "share": sum(counts[arm].values()) / total if total else 0.0,
        }
        for arm, name in enumerate(version.arms)
        if version.active[arm] or counts[arm]
    ]


def gain(rewards: Iterable[Told], *, paired: bool) -> dict[str, Any]:
    """Compare what was decided with the holdout, per round: means of subjects, and the difference.

    A subject's rounds are not independent, so subjects are what is counted. Where the holdout is
    drawn for each decision, each subject is compared with itself.

    Examples
    --------
    >>> lines = [Told(0, "reward", "", f"s{k % 8}", k, [0], "policy" if k % 8 < 6 else "holdout",
    ...               float(k % 7 > 2), True) for k in range(96)]
    >>> found = gain(lines, paired=False)
    >>> found["policy"]["subjects"], found["holdout"]["subjects"]
    (6, 2)
    >>> found["difference"]["low"] < found["difference"]["mean"] < found["difference"]["high"]
    True
    """
    sides: dict[str, dict[str, list[float]]] = {"policy": {}, "holdout": {}}
    for line in rewards:
        side = "holdout" if line.by in ("holdout", "shadow") else "policy"
        if line.paid is not None:
            sides[side].setdefault(line.subject, []).append(line.paid)
    means = {
        side: {subject: sum(paid) / len(paid) for subject, paid in found.items()}
        for side, found in sides.items()
    }
    shown: dict[str, Any] = {"level": LEVEL, "paired": paired, "difference": None}
    for side, found in means.items():
        shown[side] = _mean(list(found.values()))
        shown[side]["rewards"] = sum(map(len, sides[side].values()))
    policy, holdout = means["policy"], means["holdout"]
    if paired:
        both = [policy[subject] - holdout[subject] for subject in policy if subject in holdout]
        shown["difference"] = _mean(both) if _varies(both) else None
    elif len(policy) > 1 and len(holdout) > 1:
        both_sides = list(policy.values()), list(holdout.values())
        shown["difference"] = _welch(*both_sides) if any(map(_varies, both_sides)) else None
    return shown


def _varies(values: Sequence[float]) -> bool:
    """Tell whether something is known of the spread: a few equal means say nothing of it."""
    return len(values) > 1 and max(values) - min(values) > 1e-12


def _mean(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean of subjects with its interval; None where it is not known."""
    if not values:
        return {"mean": None, "low": None, "high": None, "subjects": 0}
    found = t_interval(values)
    ends = [None if math.isnan(end) else float(end) for end in (found.low, found.high)]
    return {"mean": float(found.mean), "low": ends[0], "high": ends[1], "subjects": len(values)}


def _welch(left: Sequence[float], right: Sequence[float]) -> dict[str, Any]:
    """Return the difference of two means with Welch's interval."""
    from scipy.special import stdtrit

    spread = [float(np.var(side, ddof=1)) / len(side) for side in (left, right)]
    error, between = math.sqrt(sum(spread)), float(np.mean(left) - np.mean(right))
    freedom = sum(spread) ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(spread, (left, right), strict=True)
    )
    half = float(stdtrit(freedom, 0.5 + LEVEL / 2)) * error
    return {"mean": between, "low": between - half, "high": between + half}


def _series(rewards: Sequence[Told]) -> list[dict[str, Any]]:
    """Return what was paid a round, decided and held out, in stretches of equal length."""
    known = [line for line in rewards if line.paid is not None]
    if not known:
        return []
    first, last = min(line.round for line in known), max(line.round for line in known)
    width = max(1, math.ceil((last + 1 - first) / POINTS))
    stretches: dict[int, dict[str, list[float]]] = {}
    for line in known:
        side = "holdout" if line.by in ("holdout", "shadow") else "policy"
        place = stretches.setdefault((line.round - first) // width, {"policy": [], "holdout": []})
        place[side].append(line.paid or 0.0)
    return [
        {
            "first": first + number * width,
            "last": min(last, first + (number + 1) * width - 1),
            **{side: sum(v) / len(v) if v else None for side, v in place.items()},
        }
        for number, place in sorted(stretches.items())
    ]


def _punctuality(plays: Sequence[Told], rewards: Sequence[Told], now: float) -> dict[str, Any]:
    """Return how many rewards came, are out, or never came, and how long they take."""
    told = {line.id: line for line in rewards}
    out = [line for line in plays if line.id not in told and line.arms]
    taken = sorted(
        found.at - line.at
        for line in plays
        if (found := told.get(line.id)) is not None and found.told
    )
    return {
        "told": sum(bool(line.told) for line in rewards),
        "missing": sum(line.told is False for line in rewards),
        "out": len(out),
        "oldest": max((now - line.at for line in out), default=None),
        "median": taken[len(taken) // 2] if taken else None,
        "slow": taken[int(0.9 * (len(taken) - 1))] if taken else None,
    }


def _due(database: Database, decider: Decider, now: float) -> dict[str, Any]:
    """Return who has not been asked in the present round; without a calendar nobody is due."""
    table, version = tables.subject, decider.version
    mine = table.c.rotation == version.rotation
    with database.reading() as connection:
        subjects = connection.execute(select(func.count()).select_from(table).where(mine)).scalar()
        shown: dict[str, Any] = {"subjects": subjects, "round": None, "count": None, "names": []}
        if version.calendar is None:
            return shown
        try:
            shown["round"] = decider.clock.round(now)
        except LastSwitchError:  # between rounds, or before the first
            return shown
        waits = mine & (table.c.next.is_(None) | (table.c.next <= shown["round"]))
        shown["count"] = connection.execute(
            select(func.count()).select_from(table).where(waits)
        ).scalar()
        names = select(table.c.name).where(waits).order_by(table.c.next, table.c.name)
        shown["names"] = list(connection.execute(names.limit(LISTED)).scalars())
    return shown


def _bound(decider: Decider) -> float | None:
    """Return what no schedule can earn more of a round: as learned, or of the curves given."""
    if decider.learner is None:
        bandit = decider.version.bandit
        return None if bandit.plays != (1, 1) else _bound_of(bandit)
    low, high = decider.version.settings.rewards
    return float(low + (high - low) * decider.learner.bound)


@lru_cache(maxsize=64)
def _bound_of(bandit: Bandit) -> float:
    from lastswitch.planning import average_bound

    return float(average_bound(bandit))


def beliefs(learner: SharedRotation, version: Version) -> list[dict[str, Any]]:
    """Return, arm by arm and state by state, what was seen, how sure that is, and what is hoped.

    Examples
    --------
    >>> from lastswitch.service.rotation import make_version
    >>> version = make_version("radio", 1, {"arms": [{"name": "jazz"}]})
    >>> learner = SharedRotation(1)
    >>> learner.played(0, 1); learner.paid(0, 1, 1.0)
    >>> state = beliefs(learner, version)[0]["states"][-1]
    >>> state["tau"], state["seen"], state["mean"], state["low"] < 0.5
    (1, 1.0, 1.0, True)
    """
    low, high = version.settings.rewards
    books = learner.books
    shown = []
    for arm, name in enumerate(version.arms):
        if not version.active[arm]:
            continue
        states = []
        for tau in (*range(-STATES, 0), *range(1, STATES + 1)):
            cell = books.cell(arm, tau)
            seen, out = books.seen[cell], books.out[cell]
            if not seen and not out:
                continue
            found = _belief(seen, books.paid[cell], books.squared[cell])
            pays = [None if end is None else low + (high - low) * end for end in found]
            hoped = low + (high - low) * learner.tables.value(arm, cell % books.counts.shape[1])
            states.append(
                {
                    **{"tau": tau, "seen": seen, "out": out, "hoped": hoped},
                    **dict(zip(("mean", "low", "high"), pays, strict=True)),
                }
            )
        shown.append({"arm": name, "number": arm, "states": states})
    return shown


def _belief(seen: float, total: float, squared: float) -> tuple[float | None, float, float]:
    """Return the mean of rewards in [0, 1] seen in a state, and the ends of its interval."""
    if seen < 1e-9:
        return None, 0.0, 1.0
    mean = total / seen
    spread = max(squared / seen - mean * mean, 0.0)
    binary = abs(squared - total) < 1e-9
    known = Evidence(seen, spread, max(int(seen), 1), max(int(seen), 1))
    found = interval(mean, math.sqrt(spread / seen), known, LEVEL, binary, known=seen > 1)
    return mean, found.low, found.high
