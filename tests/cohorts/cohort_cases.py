"""Random cohorts with every feature of planning, small enough for plain references."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import lastswitch as ls
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.planning.ruled_problem import RuledProblem
from planning.ruled.ruled_cases import random_rule


class Case(NamedTuple):
    """A problem and its subjects: states, recent plays (n, rounds, places), histories."""

    problem: CohortProblem
    states: np.ndarray
    recent: np.ndarray
    histories: list[list[tuple[int, ...]]]


def random_curve(rng: np.random.Generator, levels: int) -> ls.Curve:
    """Draw a curve; few levels make ties."""
    rest = rng.integers(0, levels + 1, int(rng.integers(1, 6))) / levels
    streak = np.sort(rng.integers(0, levels + 1, int(rng.integers(1, 4))) / levels)[::-1]
    return ls.Curve(rest, streak, "repeat" if rng.random() < 0.2 else "hold")


def random_problem(rng: np.random.Generator, *, single: bool = False, **options) -> CohortProblem:
    """Draw a problem; ``single``: of at most one play a round."""
    n_arms, length = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    levels = int(rng.choice([2, 10, 1000]))
    curves = [random_curve(rng, levels) for _ in range(n_arms)]
    most = 1 if single else int(rng.integers(1, n_arms + 1))
    rules = [random_rule(rng, n_arms, length) for _ in range(int(rng.integers(0, 4)))]
    return CohortProblem(
        ls.Bandit(curves),
        length,
        rules=rules,
        plays=(int(rng.integers(0, most + 1)) if rng.random() < 0.4 else 0, most),
        silence=float(rng.choice([0.0, 0.1, -0.2])),
        **options,
    )


def random_case(rng: np.random.Generator, subjects: int, **options) -> Case:
    """Draw a problem and subjects with pasts, some of them known in part or not at all."""
    problem = random_problem(rng, **options)
    K, most = problem.n_arms, problem.plays[1]
    rounds = int(rng.integers(0, 7))
    recent = np.full((subjects, rounds, most), -1)
    states = np.array([rng.integers(1, 8, K) * rng.choice([1, -1], K) for _ in range(subjects)])
    histories = []
    for n in range(subjects):
        known = int(rng.integers(0, rounds + 1))
        recent[n, : rounds - known] = -2
        history = []
        for age in range(rounds - known, rounds):
            arms = rng.choice(K, int(rng.integers(0, most + 1)), replace=False)
            recent[n, age, : len(arms)] = arms
            history.append(tuple(arms.tolist()))
        histories.append(history)
    return Case(problem, states, recent, histories)


def single_problems(case):
    """Return the planning problem of each subject, from its state and history."""
    problem = case.problem
    return [
        RuledProblem.from_bandit(
            problem.bandit,
            problem.length,
            start=states,
            history=history,
            rules=problem.rules,
            plays=problem.plays,
            silence=problem.silence,
        )
        for states, history in zip(case.states, case.histories, strict=True)
    ]
