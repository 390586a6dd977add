"""Random ruled problems with every feature, small enough to enumerate."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from lastswitch import Bandit, Curve
from lastswitch import rules as r
from lastswitch.errors import ProblemError
from lastswitch.planning import BlockProblem, Terminal
from lastswitch.planning.ruled_brute_force import round_choices
from lastswitch.planning.ruled_problem import RuledProblem


def random_who(rng: np.random.Generator, n_arms: int) -> list[int] | str | int:
    """Draw an arm, some arms or everyone."""
    choice = rng.random()
    if choice < 0.4:
        return int(rng.integers(n_arms))
    if choice < 0.6:
        return "everyone"
    size = int(rng.integers(1, n_arms + 1))
    return rng.choice(n_arms, size, replace=False).tolist()


def random_rule(rng: np.random.Generator, n_arms: int, length: int, cycle: bool = False) -> r.Rule:
    """Draw a rule of any kind, hard or soft."""
    who = random_who(rng, n_arms)
    cost = float(rng.choice([0.1, 0.25, 1.0])) if rng.random() < 0.35 else None
    kind = rng.choice(["most", "least", "apart", "rest", "after", "only", "never", "pinned"])
    if kind in ("most", "least"):
        plays: int | float = int(rng.integers(kind == "least", 3))
        if rng.random() < 0.2:
            plays = float(rng.choice([0.0, 0.25, 0.5, 0.75, 1.0]))
        if kind == "least" and rng.random() < 0.5:
            plays = 1
        window = rng.random()
        options: dict[str, object] = {"each": bool(rng.random() < 0.3)}
        if window < 0.4:
            options["within"] = int(rng.integers(1, length + 2))
        elif window < 0.7:
            sizes = [w for w in range(1, length + 1) if not cycle or length % w == 0]
            options["every"] = int(rng.choice(sizes))
            options["offset"] = int(rng.integers(0, 3))
        elif window < 0.85:
            start = int(rng.integers(-2, length))
            options["spans"] = [
                (start, start + int(rng.integers(1, 4))),
                (start + int(rng.integers(0, 4)), start + 5),
            ]
        make = r.at_most if kind == "most" else r.at_least
        return make(who, plays, cost=cost, **options)  # type: ignore[arg-type]
    if kind in ("apart", "rest"):
        return getattr(r, kind)(who, int(rng.integers(1, length + 1)), cost=cost)
    if kind == "after":
        return r.never_after(who, random_who(rng, n_arms), cost=cost)
    if kind == "pinned":
        return r.pinned(who, int(rng.integers(0, length)), cost=cost)
    rounds = np.flatnonzero(rng.random(length) < (0.7 if kind == "only" else 0.3)).tolist()
    return getattr(r, kind)(who, rounds, cost=cost)


def random_ruled(rng: np.random.Generator, most: int = 800) -> RuledProblem:
    """Draw a problem: ties, streaks, starts, ends, masks, plays, silence, history and rules."""
    while True:
        n_arms, length = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        levels = rng.choice([1, 2, 10, 1000])

        def table(*shape: int, levels: int = levels) -> np.ndarray:
            return rng.integers(0, levels + 1, shape) / levels

        rest = table(n_arms, int(rng.integers(1, length + 2)))
        streak = table(n_arms, int(rng.integers(1, length + 2)))
        if rng.random() < 0.3:
            rest[:], streak[:] = rest[0], streak[0]
        first = table(n_arms, length)
        terminal = None
        if rng.random() < 0.2:
            ends = [rng.normal(size=(n_arms, n)).round(1) for n in (2, 2, 1)]
            terminal = Terminal(ends[0], ends[1], ends[2][:, 0])
        highest = int(rng.integers(1, min(n_arms, 3) + 1))
        plays = (int(rng.integers(0, highest + 1)), highest)
        allowed = rng.random((length, n_arms)) < 0.8 if rng.random() < 0.3 else None
        history = [
            tuple(np.flatnonzero(rng.random(n_arms) < 0.4).tolist())
            for _ in range(int(rng.integers(0, 5)))
        ]
        try:
            problem = RuledProblem(
                BlockProblem(
                    *(rest, streak, first),
                    run=rng.integers(0, 3, n_arms) if rng.random() < 0.5 else None,
                    distinct_start=bool(n_arms > 1 and rng.random() < 0.1),
                    terminal=terminal,
                ),
                rules=[random_rule(rng, n_arms, length) for _ in range(int(rng.integers(0, 5)))],
                plays=plays,
                silence=float(rng.choice([0.0, 0.0, 0.1, -0.2])),
                history=history,
                allowed=allowed,
            )
        except ProblemError:  # the mask leaves a round too few arms
            continue
        if math.prod(len(round_choices(problem, t)) for t in range(length)) <= most:
            return problem


#: Problems for Hypothesis, which shrinks the seed; a seed is enough to repeat a failure.
ruled_problems = st.integers(0, 2**32 - 1).map(
    lambda seed: random_ruled(np.random.default_rng(seed))
)


def random_cycle(rng: np.random.Generator, most: int = 800) -> RuledProblem:
    """Draw a cycle to plan: rests, streaks, seasons, plays, silence, masks and rules."""
    while True:
        n_arms, length = int(rng.integers(1, 4)), int(rng.integers(1, 7))
        levels = rng.choice([1, 2, 10, 1000])

        def table(size: int, levels: int = levels) -> np.ndarray:
            return rng.integers(0, levels + 1, size) / levels

        curves = [
            Curve(
                table(int(rng.integers(1, 5))),
                -np.sort(-table(int(rng.integers(1, 4)))),
                tail=str(rng.choice(["hold", "repeat"])),
            )
            for _ in range(n_arms)
        ]
        if rng.random() < 0.3:
            curves = [curves[0]] * n_arms
        highest = int(rng.integers(1, min(n_arms, 3) + 1))
        bandit = Bandit(
            curves,
            rules=[random_rule(rng, n_arms, length, cycle=True) for _ in range(rng.integers(0, 4))],
            plays=(int(rng.integers(0, highest + 1)), highest),
            silence=float(rng.choice([0.0, 0.1, -0.2])),
        )
        allowed = rng.random((length, n_arms)) < 0.8 if rng.random() < 0.3 else None
        try:
            problem = RuledProblem.from_bandit(bandit, length, allowed=allowed, repeats=True)
        except ProblemError:
            continue
        if math.prod(len(round_choices(problem, t)) for t in range(length)) <= most:
            return problem


#: The same for cycles.
ruled_cycles = st.integers(0, 2**32 - 1).map(lambda seed: random_cycle(np.random.default_rng(seed)))
