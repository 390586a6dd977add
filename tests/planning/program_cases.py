"""Small block problems over every feature, drawn from a seed."""

import numpy as np

from lastswitch.planning import BlockProblem, Terminal


def random_problem(seed, max_arms=3, max_length=5):
    """Return a problem small enough to enumerate, with any mix of features."""
    rng = np.random.default_rng(seed)
    arms, length = int(rng.integers(1, max_arms + 1)), int(rng.integers(1, max_length + 1))
    kind = rng.choice(["plain", "ties", "unvisited"])

    def table(columns):
        values = rng.random((arms, columns))
        if kind == "ties":
            return np.round(values * 2) / 2
        if kind == "unvisited":
            return np.where(rng.random(values.shape) < 0.3, 1e4, values)
        return values

    streak = table(int(rng.integers(1, length + 2)))
    if rng.random() < 0.4:
        streak = streak[:, :1]
    distinct = arms > 1 and bool(rng.random() < 0.4)
    return BlockProblem(
        rest=table(int(rng.integers(1, length + 1))),
        streak=streak,
        first=table(length) if rng.random() < 0.6 else np.zeros((arms, length)),
        run=rng.integers(0, 3, arms) if rng.random() < 0.5 else None,
        allowed=_mask(rng, length, arms, distinct) if rng.random() < 0.4 else None,
        distinct_start=distinct,
        terminal=_terminal(rng, arms) if rng.random() < 0.5 else None,
    )


def _mask(rng, length, arms, distinct):
    allowed = rng.random((length, arms)) < 0.7
    allowed[~allowed.any(axis=1), int(rng.integers(arms))] = True
    if distinct and length > 1 and allowed[:2].any(axis=0).sum() < 2:
        allowed[1] = True
    return allowed


def _terminal(rng, arms):
    streak = rng.normal(size=(arms, 3))
    return Terminal(
        rest=rng.normal(size=(arms, int(rng.integers(1, 4)))),
        streak=streak if rng.random() < 0.5 else streak[:, :1],
        unplayed=rng.normal(size=arms),
    )
