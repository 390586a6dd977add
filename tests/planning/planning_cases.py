"""Random planning problems with every feature, small enough to enumerate."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from lastswitch.errors import ProblemError
from lastswitch.planning import BlockProblem, Terminal


def random_problem(rng: np.random.Generator, most_blocks: int = 1500) -> BlockProblem:
    """Draw a problem: ties, zeros, huge values, streaks, masks, starts, ends, equal arms."""
    while True:
        n_arms, length = int(rng.integers(1, 5)), int(rng.integers(1, 8))
        levels = rng.choice([1, 2, 10, 1000])  # few levels make many ties and zeros
        huge = rng.random() < 0.2

        def table(*shape: int, levels: int = levels, huge: bool = huge) -> np.ndarray:
            values = rng.integers(0, levels + 1, shape) / levels
            return np.where(rng.random(shape) < 0.3, 1e6, values) if huge else values

        rest = table(n_arms, int(rng.integers(1, length + 2)))
        streak = table(n_arms, int(rng.integers(1, length + 2)))
        if rng.random() < 0.3:
            rest[:], streak[:] = rest[0], streak[0]
        first = table(n_arms, length) if rng.random() < 0.6 else np.zeros((n_arms, length))
        run = rng.integers(0, 4, n_arms) if rng.random() < 0.5 else None
        allowed, terminal = None, None
        if rng.random() < 0.5:
            allowed = rng.random((length, n_arms)) < 0.7
            allowed[np.arange(length), rng.integers(0, n_arms, length)] = True
        if rng.random() < 0.4:
            columns = rng.integers(1, 5, 2)
            ends = [rng.normal(size=(n_arms, n)).round(1) for n in (*columns, 1)]
            terminal = Terminal(ends[0], ends[1], ends[2][:, 0])
        try:
            problem = BlockProblem(
                *(rest, streak, first),
                run=run,
                allowed=allowed,
                distinct_start=bool(rng.random() < 0.3),
                terminal=terminal,
            )
        except ProblemError:  # one arm alone cannot start distinct
            continue
        if problem.allowed.sum(axis=1).prod() <= most_blocks:
            return problem


def close(problem: BlockProblem) -> float:
    """Return the rounding to allow, relative to the problem's largest pay."""
    largest = max(abs(table).max() for table in (problem.rest, problem.streak, problem.first))
    return 1e-12 * problem.length * max(1.0, largest)


#: Problems for Hypothesis, which shrinks the seed; a seed is enough to repeat a failure.
problems = st.integers(0, 2**32 - 1).map(lambda seed: random_problem(np.random.default_rng(seed)))
