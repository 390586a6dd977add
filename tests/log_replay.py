"""A plain replay of a log, event by event: what the windowed states must equal."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from lastswitch.model.states import transition

Row = tuple[str, float, str, float | None]
State = int | None


def replay_in_order(rows: list[Row]) -> list[tuple[str, str, int, float | None, State]]:
    """Return (subject, arm, round, reward, tau) of every play when each event is a round.

    Every arm of a subject carries a state moved by the model's own transition; an arm that was
    never played has none.
    """
    plays = []
    for subject, events in _by_subject(rows).items():
        arms = sorted({arm for _, _, arm, _ in events})
        index = {arm: place for place, arm in enumerate(arms)}
        tau, seen = np.ones(len(arms), dtype=np.int64), set()
        for number, (_, _, arm, reward) in enumerate(events):
            state = int(tau[index[arm]]) if arm in seen else None
            plays.append((subject, arm, number, reward, state))
            seen.add(arm)
            tau = transition(tau, index[arm])
    return plays


def replay_by_clock(
    rows: list[Row], length: float
) -> list[tuple[str, str, int, float | None, State]]:
    """Return the plays when the clock gives the rounds: each arm is stepped round by round."""
    together: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for events in _by_subject(rows).values():
        for subject, time, arm, reward in events:
            rewards = together[subject, arm, math.floor(time / length)]
            rewards.extend([] if reward is None else [reward])
    plays = []
    for (subject, arm), rounds in _rounds(together).items():
        tau: int | None = None
        for number in range(min(rounds), max(rounds) + 1):
            if number in rounds:
                rewards = together[subject, arm, number]
                reward = sum(rewards) / len(rewards) if rewards else None
                plays.append((subject, arm, number, reward, tau))
                tau = (min(tau, 0) if tau is not None else 0) - 1
            else:
                assert tau is not None
                tau = max(tau, 0) + 1
    return plays


def _rounds(together: dict[tuple[str, str, int], Any]) -> dict[tuple[str, str], set[int]]:
    rounds: dict[tuple[str, str], set[int]] = defaultdict(set)
    for subject, arm, number in together:
        rounds[subject, arm].add(number)
    return rounds


def _by_subject(rows: list[Row]) -> dict[str, list[Row]]:
    """Return each subject's events in order of time, then of their place in ``rows``."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    return {subject: sorted(events, key=lambda row: row[1]) for subject, events in groups.items()}


def random_log(rng: np.random.Generator, kind: str) -> list[Row]:
    """Return a random log of one of several awkward kinds."""
    sizes = {
        "ties": (6, 3, 5),
        "gaps": (6, 3, 400),
        "single": (40, 3, 30),
        "one subject": (1, 4, 90),
    }
    subjects, arms, times = sizes.get(kind, (4, 3000, 200))
    many = {"single": 40, "one subject": 300}.get(kind, 400)
    rows: list[Row] = []
    for event in range(many):
        subject = event if kind == "single" else int(rng.integers(subjects))
        time = float(rng.integers(times)) + (0.25 if rng.random() < 0.3 else 0.0)
        reward = None if rng.random() < 0.05 else float(rng.integers(3)) / 2
        rows.append((f"s{subject}", time, f"a{int(rng.integers(arms))}", reward))
    return rows + [rows[int(place)] for place in rng.integers(len(rows), size=5)]


def table_of(rows: list[Row]) -> Any:
    """Return rows as the table of clean events that states are computed from."""
    subject, time, arm, reward = (list(column) for column in zip(*rows, strict=True))
    paid, place = pa.array(reward, pa.float64()), np.arange(len(rows), dtype=float)
    columns = {"subject": subject, "time": time, "arm": arm, "reward": paid, "order": place}
    return ibis.memtable(pa.table(columns))


def computed_states(connection: Any, states: Any) -> list[Any]:
    """Return computed plays in the replay's form."""
    rows = connection.to_pyarrow(states).to_pylist()
    return sorted(
        (
            (
                row["subject"],
                row["arm"],
                row["round"],
                None if row["reward"] is None or row["reward"] != row["reward"] else row["reward"],
                None if row["first"] else int(row["tau"]),
            )
            for row in rows
        ),
        key=repr,
    )


KINDS = ("ties", "gaps", "single", "one subject", "many arms")
