"""The paper's learners as printed and as published in code, on the paper's two instances.

Algorithm 1 and the authors' code (github.com/GiuliaClerici/LSD_bandits) differ in three places:

- *log*: the logarithm's argument counts blocks in the paper, rounds in the code;
- *start*: an unseen state's bound is +∞ in the paper, d √(1.5 log(K d)) in the code;
- *refresh*: the paper recomputes every bound after every block, the code only those of the states
  the arms are in when a reward is counted.

This prints what each difference alone, and all together, does to the total reward, next to what
the authors' code itself was measured to collect.

Run ``python -m benchmarks.paper_policies [--runs 10]``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lastswitch as ls
from lastswitch.learning.combucb import BlockUCB
from lastswitch.learning.estimates import FloatArray, unvisited_first

CHANGES = ("log", "start", "refresh")


def changed(base: type[BlockUCB], changes: frozenset[str]) -> type[BlockUCB]:
    """Return ``base`` with some of the code's differences from the paper."""

    class Changed(base):  # type: ignore[misc, valid-type]
        """The learner with the authors' choices where ``changes`` says so."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.table = np.full((self.n_arms, self.estimates.width), math.inf)

        def bounds(self) -> FloatArray:
            """Return the bounds with the changes applied."""
            if "refresh" not in changes:
                self.table = self.estimates.optimistic(self.alpha, self._time(self.blocks + 1))
            if "start" not in changes:
                return unvisited_first(self.table, self.block)
            start = self.block * math.sqrt(1.5 * math.log(self.n_arms * self.block))
            return np.where(np.isinf(self.table), start, self.table)

        def learn(self, pull: ls.Pull, reward: float, note: Any) -> None:
            """Learn, and refresh only what the code refreshes."""
            before = sum(self.estimates.counts) if "refresh" in changes else 0
            super().learn(pull, reward, note)
            if "refresh" in changes and sum(self.estimates.counts) > before:
                fresh = self.estimates.optimistic(self.alpha, self._time(self.blocks))
                for arm, tau in enumerate(self.track().state()):
                    met = pull.tau if arm == pull.arm else tau - 1  # the state before this pull
                    cell = self.estimates.cell(arm, met) % self.estimates.width
                    self.table[arm, cell] = fresh[arm, cell]

        def _time(self, blocks: int) -> int:
            return max(self.n_asked, 1) if "log" in changes else blocks

    return Changed


def totals(
    bandit: ls.Bandit, build: Callable[[int], ls.Policy], horizon: int, runs: int
) -> tuple[np.ndarray, float, float]:
    """Return the totals of ``runs`` runs, the final rate and the seconds per run."""
    began = time.perf_counter()
    done = [ls.simulate(bandit, build(seed), horizon, seed=seed) for seed in range(runs)]
    seconds = (time.perf_counter() - began) / runs
    rate = float(np.mean([run.means[-horizon // 10 :].mean() for run in done]))
    return np.array([run.total for run in done]), rate, seconds


def show(name: str, what: str, measured: tuple[np.ndarray, float, float], code: str = "") -> None:
    """Print one row."""
    values, rate, seconds = measured
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    print(
        f"{name:12} {what:22} {values.mean():7.0f} ± {error:3.0f} {rate:8.4f} {code:>11} "
        f"{seconds:8.2f}",
        flush=True,
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two runs, paper and code only")
    options = parser.parse_args()
    runs = 2 if options.quick else options.runs
    variants = [(), tuple(CHANGES)] if options.quick else [(), *zip(CHANGES), tuple(CHANGES)]
    five, two = ls.instances.five_arms(), ls.instances.two_arms()
    learners: list[tuple[str, type[BlockUCB], dict[str, Any], str]] = [
        ("ISI", ls.ISICombUCB1, {"block": 4}, "1564 ± 4"),
        ("CombUCB1", ls.CombUCB1, {"block": 3}, "761 ± 9"),
        ("CS-worst", ls.CalibratedCombUCB1, {"block": 3, "order": [0, 1, 2, 3, 4]}, "679 ± 6"),
        ("CS-best", ls.CalibratedCombUCB1, {"block": 3, "order": [4, 3, 2, 1, 0]}, "1074 ± 7"),
    ]
    heading = (
        f"{'learner':12} {'as in':22} {'total':>13} {'at end':>8} {'the code':>11} {'s/run':>8}"
    )
    print(f"five arms, T = 5112, {runs} runs\n{heading}")
    greedy = totals(five, lambda seed: ls.OracleGreedy(five, seed=seed), 5112, runs)
    show("greedy", "paper", greedy, "778 ± 5")
    for name, base, arguments, code in learners:
        _rows(five, name, base, arguments, code, 5112, runs, variants)
    print(f"\ntwo arms, T = 5060, {runs} runs\n{heading}")
    show("greedy", "paper", totals(two, lambda seed: ls.OracleGreedy(two, seed=seed), 5060, runs))
    for name, base, block in (("ISI", ls.ISICombUCB1, 11), ("CombUCB1", ls.CombUCB1, 10)):
        _rows(two, name, base, {"block": block}, "", 5060, runs, variants)


def _rows(
    bandit: ls.Bandit,
    name: str,
    base: type[BlockUCB],
    arguments: dict[str, Any],
    code: str,
    horizon: int,
    runs: int,
    variants: list[tuple[str, ...]],
) -> None:
    """Print one learner with each set of changes."""
    for changes in variants:
        learner = changed(base, frozenset(changes)) if changes else base
        every = len(changes) == len(CHANGES)
        what = "paper" if not changes else "code" if every else f"paper but {changes[0]}"

        def build(seed: int, learner: type[BlockUCB] = learner) -> ls.Policy:
            return learner(bandit.n_arms, initial=-1, **arguments)

        show(name, what, totals(bandit, build, horizon, runs), code if every else "")


if __name__ == "__main__":
    main()
