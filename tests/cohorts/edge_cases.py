"""A small cohort that several tests plan: a radio, some listeners, their log."""

from __future__ import annotations

import numpy as np
import pandas as pd

import lastswitch as ls

RADIO = ls.Bandit(
    [ls.curves.step(2, 0.9), ls.curves.constant(0.3), ls.curves.recovering(0.8, 4, 0.1)],
    names=["jazz", "talk", "news"],
)
JUNE = ls.Calendar("2024-06-03")


def random_states(n: int, seed: int = 0) -> pd.DataFrame:
    """Return the states of ``n`` listeners, in no order of their names."""
    rng = np.random.default_rng(seed)
    taus = {name: rng.choice([-3, -2, -1, 1, 2, 3, 4, 9], n) for name in RADIO.names}
    return pd.DataFrame({"subject": rng.permutation([f"u{k:05d}" for k in range(n)]), **taus})


def random_events(subjects: int, events: int, seed: int = 0) -> pd.DataFrame:
    """Return a log: one or two arms on some days of May."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-05-10") + pd.to_timedelta(rng.integers(0, 24, events), "D")
    hours = pd.to_timedelta(rng.integers(0, 24, events), "h")
    return pd.DataFrame(
        {
            "subject": [f"u{k:03d}" for k in rng.integers(0, subjects, events)],
            "time": days + hours,
            "arm": rng.choice(RADIO.names, events),
        }
    )


def calendars(plan: ls.cohorts.CohortPlan) -> dict[str, list[list[str | None]]]:
    """Return, for every subject, the arms of each round."""
    found: dict[str, list[list[str | None]]] = {}
    for row in plan.to_arrow().to_pylist():
        rounds = found.setdefault(row["subject"], [[] for _ in range(plan.problem.length)])
        if row["arm"] is not None:
            rounds[row["round"]].append(row["arm"])
    return found
