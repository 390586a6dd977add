"""The frequency program and its rounding: how often each arm should go through each pattern.

A pattern of an arm is *rest u rounds, then play m times in a row*: it takes u + m rounds, m of them
plays, and pays q(u, m) = p(u) + p(-1) + … + p(-(m - 1)). With x the frequencies of patterns,

    maximise Σ q x   subject to   Σ m x ≤ k (k places a round),   Σ (u + m) x ≤ 1 for each arm.

A play that takes the place of a silence earns only what it pays above it. With m = 1 this is the
program of Papadigenopoulos, Caramanis & Shakkottai (2022), delay u + 1; with longer runs that of
Foussoul, Goyal, Papadigenopoulos & Zeevi (2023). A pattern without rest (u = 0, m = 1) stands for
an arm that is played for ever. The value bounds the average of any policy whose runs are no longer
than the longest m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray

#: Frequencies below this are rounding of the solver.
_ZERO = 1e-9


class Pattern(NamedTuple):
    """Rest, then run; ``run == 0`` is an arm that is never a candidate."""

    rest: int
    run: int


class Program(NamedTuple):
    """The solved program: its value, and for each arm its patterns with their frequencies."""

    value: float
    patterns: list[list[tuple[Pattern, float]]]


def solve_program(
    rest: FloatArray, streak: FloatArray, runs: int, places: int = 1, silence: float = 0.0
) -> Program:
    """Solve the frequency program for pay tables by rest and by streak, one row per arm.

    ``places`` are the plays a round may have, ``silence`` what each that stays empty pays.

    Examples
    --------
    >>> solved = solve_program(np.array([[0.0, 1.0], [0.0, 1.0]]), np.zeros((2, 1)), runs=1)
    >>> round(solved.value, 6)
    0.666667
    """
    from scipy.optimize import linprog

    n_arms, depth = rest.shape
    kinds = [Pattern(0, 1)]
    kinds += [Pattern(u, m) for u in range(1, depth + 1) for m in range(1, runs + 1)]
    pays = np.array([[_pay(rest[i], streak[i], kind) for kind in kinds] for i in range(n_arms)])
    plays = np.tile([float(kind.run) for kind in kinds], n_arms)
    pays = pays - silence * plays.reshape(n_arms, -1)
    times = np.kron(np.eye(n_arms), [float(kind.rest + kind.run) for kind in kinds])
    solved = linprog(
        -pays.ravel(),
        A_ub=np.vstack([plays, times]),
        b_ub=np.array([float(places), *[1.0] * n_arms]),
        method="highs",
    )
    assert solved.x is not None  # playing nothing is always feasible
    frequency = solved.x.reshape(n_arms, len(kinds))
    patterns = [
        [(kind, float(x)) for kind, x in zip(kinds, row, strict=True) if x > _ZERO]
        for row in frequency
    ]
    return Program(float(pays.ravel() @ solved.x) + silence * places, patterns)


def round_program(program: Program, rng: np.random.Generator) -> list[tuple[Pattern, int]]:
    """Draw one pattern and one offset for each arm, independently.

    Arm i takes pattern (u, m) with probability (u + m) x, or none; its offset is uniform.

    Examples
    --------
    >>> from lastswitch._utils.random import stream
    >>> solved = solve_program(np.array([[0.0, 1.0]]), np.zeros((1, 1)), runs=1)
    >>> round_program(solved, stream(0, "doc"))[0][0]
    Pattern(rest=2, run=1)
    """
    drawn = []
    for options in program.patterns:
        chosen, left = Pattern(1, 0), float(rng.random())
        for pattern, frequency in options:
            length = pattern.rest + pattern.run
            left -= length * frequency
            if left < _ZERO:
                chosen = pattern
                break
        drawn.append((chosen, int(rng.integers(chosen.rest + chosen.run))))
    return drawn


def _pay(rest: FloatArray, streak: FloatArray, kind: Pattern) -> float:
    """Return what one turn of a pattern pays."""
    last = len(streak) - 1
    if kind.rest == 0:
        return float(streak[last])
    repeats = sum(float(streak[min(k, last)]) for k in range(kind.run - 1))
    return float(rest[kind.rest - 1]) + repeats
