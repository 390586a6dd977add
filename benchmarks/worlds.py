"""RotationUCB beyond the plain case: held-out instances, curves that move, subjects who differ.

- *Held out*: eight sets of random instances, in the shapes of ``benchmarks.learning``, on whose
  seeds nothing was tuned.
- *Moving*: two of four curves jump halfway; share of the optimum before and after, how soon the
  new optimum is earned again, and what a memory costs where nothing moves.
- *Subjects*: curves that are a blend of common ones and of the subject's own.

Run ``python -m benchmarks.worlds [--quick] [--part held-out|moving|subjects]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lastswitch as ls
from benchmarks._table import keep, print_table
from benchmarks.learning import FAMILIES, SHAPES, Case, shares
from lastswitch._random import stream
from lastswitch.families import random_bandit
from lastswitch.learning import RAWUCB

#: First seeds of the eight sets; what was tuned was tuned on others (300, 2000, …).
HELD_OUT = tuple(range(1100, 1900, 100))


def held_out_table(bases: Sequence[int], horizon: int) -> list[dict[str, Any]]:
    """Play every instance of the sets once with each of two indices."""
    every: dict[str, list[tuple[int, int, float]]] = {"reservation": [], "kl-ucb": []}
    for base in bases:
        for number, family in enumerate(FAMILIES):
            for arms, depth in SHAPES:
                bandit = random_bandit(family, arms, depth, seed=base + number)
                case = Case.of(family, bandit, horizon)
                for index, found in every.items():
                    share = shares(case, _with(index=index), 1)[0]
                    found.append((arms, depth, share))
    rows = []
    for index, found in every.items():
        share = np.array([value for _, _, value in found])
        rows.append(
            {
                "index": index,
                "runs": len(found),
                "mean": float(share.mean()),
                "ten arms": float(np.mean([value for arms, _, value in found if arms == 10])),
                "depth 30": float(np.mean([value for _, depth, value in found if depth == 30])),
                "5th percentile": float(np.quantile(share, 0.05)),
                "worst": float(share.min()),
            }
        )
    return rows


def moving_table(horizon: int) -> list[dict[str, Any]]:
    """Let two curves of four jump halfway."""
    policies: dict[str, Callable[[], ls.Policy]] = {
        "RotationUCB": lambda: ls.RotationUCB(4),
        "memory of T/2": lambda: ls.RotationUCB(4, memory=horizon / 2),
        "memory of T/4": lambda: ls.RotationUCB(4, memory=horizon / 4),
        "memory of T/12": lambda: ls.RotationUCB(4, memory=horizon / 12),
        "RAWUCB": lambda: RAWUCB(4),
    }
    rows, half = [], horizon // 2
    for name, build in policies.items():
        found = []
        for number, family in enumerate(("step", "spike", "monotone", "mixed"), 1):
            before = random_bandit(family, 4, 6, seed=500 + number)
            other = random_bandit(family, 4, 6, seed=600 + number)
            after = ls.Bandit([*other.curves[:2], *before.curves[2:]], noise=before.noise)
            old, new = (ls.optimal_average(bandit).value for bandit in (before, after))
            jump = _earned(build(), [before] * half + [after] * half, number)
            still = _earned(build(), [before] * horizon, number)
            found.append(
                (
                    jump[:half].mean() / old,
                    jump[half:].mean() / new,
                    jump[-horizon // 6 :].mean() / new,
                    still.mean() / old,
                )
            )
        names = ("before the jump", "after it", "in the last sixth", "if nothing jumps")
        rows.append(
            {"policy": name, **dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))}
        )
    return rows


def subjects_table(subjects: int, lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Let subjects differ not at all, half, or wholly."""
    rows = []
    for differ in (0.0, 0.3, 1.0):
        for rounds in lengths:
            row: dict[str, Any] = {"own part of the curves": differ, "rounds each": rounds}
            for pooling in ("all", "none", "partial"):
                found = []
                for number, family in enumerate(("monotone", "step"), 1):
                    bandits = _subjects(family, differ, subjects, number)
                    best = sum(ls.optimal_average(bandit).value for bandit in bandits) * rounds
                    policy = ls.RotationUCB(3, pooling=pooling)  # type: ignore[arg-type]
                    earned = _earned_by_all(policy, bandits, rounds, number)
                    found.append(earned / best)
                row[pooling] = float(np.mean(found))
            rows.append(row)
    return rows


def _with(**arguments: Any) -> Callable[[ls.Bandit, int, int], Any]:
    return lambda b, T, s: ls.RotationUCB(b.n_arms, initial=b.initial, seed=s, **arguments)


def _earned(policy: ls.Policy, bandits: Sequence[ls.Bandit], seed: int) -> NDArray[np.float64]:
    """Return the mean earned in each round, each on its own bandit."""
    rng, means = stream(seed, "moving"), np.empty(len(bandits))
    for t, bandit in enumerate(bandits):
        pull = policy.ask()
        means[t] = bandit.mean(pull.arm, pull.tau)
        policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, rng))
    return means


def _subjects(family: str, differ: float, subjects: int, seed: int) -> list[ls.Bandit]:
    """Return one bandit per subject: a blend of common curves and its own."""
    common = random_bandit(family, 3, 5, seed=seed).tables(8, 4)
    bandits = []
    for number in range(subjects):
        own = random_bandit(family, 3, 5, seed=1000 * seed + number + 1).tables(8, 4)
        rest, streak = (
            (1 - differ) * ours + differ * theirs for ours, theirs in zip(common, own, strict=True)
        )
        bandits.append(ls.Bandit([ls.Curve(r, s) for r, s in zip(rest, streak, strict=True)]))
    return bandits


def _earned_by_all(
    policy: ls.Policy, bandits: Sequence[ls.Bandit], rounds: int, seed: int
) -> float:
    """Return what all subjects earn together, playing in turn."""
    rng, total = stream(seed, "subjects"), 0.0
    for _ in range(rounds):
        for subject, bandit in enumerate(bandits):
            pull = policy.ask(subject)
            total += float(bandit.mean(pull.arm, pull.tau))
            policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, rng))
    return total


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one set, shorter runs")
    parser.add_argument("--part", choices=["all", "held-out", "moving", "subjects"], default="all")
    options = parser.parse_args(arguments)
    quick, tables = options.quick, {}
    if options.part in ("all", "held-out"):
        bases = HELD_OUT[:1] if quick else HELD_OUT
        tables["held-out instances"] = held_out_table(bases, 2_000 if quick else 10_000)
    if options.part in ("all", "moving"):
        tables["a jump halfway"] = moving_table(2_400 if quick else 12_000)
    if options.part in ("all", "subjects"):
        tables["subjects who differ"] = subjects_table(10, (60,) if quick else (60, 400))
    for title, rows in tables.items():
        print_table(title, rows)
    if not quick and options.part == "all":
        about = "Share of the best possible expected total (of each subject's, or of each half's)."
        keep("worlds", "RotationUCB beyond the plain case", about, tables)


if __name__ == "__main__":
    main()
