"""The paper's learners as printed and as published in code, on the paper's two instances.

Algorithm 1 and the authors' code (github.com/GiuliaClerici/LSD_bandits) differ in four places:

- *log*: the logarithm's argument counts blocks in the paper, rounds in the code;
- *start*: an unseen state's bound is +∞ in the paper, d √(1.5 log(K d)) in the code;
- *refresh*: the paper recomputes every bound after every block, the code only those of the states
  the arms are in when a reward is counted (and gives ties to the lowest-numbered arm);
- *order*: the code numbers the five arms differently (a constant arm comes first), so its
  calibration sequences, "all arms in order" and its reverse, are not the paper's.

The logarithm explains ISI's difference, the order that of the calibration sequences. With bounds
that are not refreshed, CombUCB1 locks onto the spike in a run now and then (its total is then about
2000); whether it does hangs on ties between equal blocks.

This prints what each difference alone, and all together, does to the total reward, next to what
the authors' code itself was measured to collect.

Run ``python -m benchmarks.paper_policies [--runs 10]``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lastswitch as ls
from lastswitch._utils.arrays import FloatArray
from lastswitch.learning.estimates import unvisited_first
from lastswitch.learning.paper.block_ucb import BlockUCB

CHANGES = ("log", "start", "refresh")
#: Bounds that are not refreshed stay equal for long, so that which of several equal blocks is
#: played matters; the code gives a tie to the lowest-numbered arm, and so does this small cost.
TIE = 1e-9
#: Our number of the arm that the authors' code calls 0, 1, 2, 3, 4.
CODE_ARMS = (2, 0, 1, 3, 4)


class Learner(NamedTuple):
    """One learner of the paper, and what the authors' code collects with it."""

    name: str
    base: type[BlockUCB]
    length: int
    order: tuple[int, ...] | None = None
    code: str = ""

    def build(self, bandit: ls.Bandit, changes: tuple[str, ...]) -> ls.Policy:
        """Return the learner with ``changes`` applied."""
        base = changed(self.base, frozenset(changes)) if changes else self.base
        arguments: dict[str, Any] = {}
        if self.order is not None:
            swap = "order" in changes
            arguments["order"] = [CODE_ARMS[arm] for arm in self.order] if swap else self.order
        return base(bandit.n_arms, self.length, initial=-1, **arguments)


FIVE = (
    Learner("ISI", ls.ISICombUCB1, 4, code="1564 ± 4"),
    Learner("CombUCB1", ls.learning.CombUCB1, 3, code="761 ± 9"),
    Learner("CS-worst", ls.learning.CalibratedCombUCB1, 3, (0, 1, 2, 3, 4), "679 ± 6"),
    Learner("CS-best", ls.learning.CalibratedCombUCB1, 3, (4, 3, 2, 1, 0), "1074 ± 7"),
)
TWO = (Learner("ISI", ls.ISICombUCB1, 11), Learner("CombUCB1", ls.learning.CombUCB1, 10))


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
            if "start" in changes:
                start = self.length * math.sqrt(1.5 * math.log(self.n_arms * self.length))
                table = np.where(np.isinf(self.table), start, self.table)
            else:
                table = unvisited_first(self.table, self.length)
            return table - TIE * np.arange(self.n_arms)[:, None] if "refresh" in changes else table

        def learn(self, pull: ls.learning.Pull, reward: float, note: Any) -> None:
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


def show(
    bandit: ls.Bandit,
    build: Callable[[int], ls.Policy],
    horizon: int,
    runs: int,
    labels: tuple[str, str, str],
) -> None:
    """Play ``runs`` runs and print one row."""
    began = time.perf_counter()
    done = [ls.simulate(bandit, build(seed), horizon, seed=seed) for seed in range(runs)]
    seconds = (time.perf_counter() - began) / runs
    rate = np.mean([run.means[-horizon // 10 :].mean() for run in done])
    totals = np.array([run.total for run in done])
    error = totals.std(ddof=1) / math.sqrt(runs)
    name, what, code = labels
    print(
        f"{name:10} {what:18} {totals.mean():7.0f} ± {error:3.0f} {rate:8.4f} {code:>10}"
        f" {seconds:7.2f}",
        flush=True,
    )


def table(bandit: ls.Bandit, horizon: int, runs: int, learners: tuple[Learner, ...]) -> None:
    """Print every learner with each change and with all of them."""
    print(
        f"{bandit.n_arms} arms, T = {horizon}, {runs} runs\n{'learner':10} {'as in':18} "
        f"{'total':>13} {'at end':>8} {'the code':>10} {'s/run':>7}"
    )
    greedy = "778 ± 5" if bandit.n_arms == 5 else ""

    def oracle(seed: int) -> ls.Policy:
        return ls.learning.OracleGreedy(bandit, seed=seed)

    show(bandit, oracle, horizon, runs, ("greedy", "paper", greedy))
    for learner in learners:
        every = CHANGES if learner.order is None else (*CHANGES, "order")
        for changes in ((), *((change,) for change in every), every):
            what = "paper" if not changes else "code" if changes == every else f"but {changes[0]}"
            code = learner.code if changes == every else ""

            def build(seed: int, one: Learner = learner, how: Any = changes) -> ls.Policy:
                return one.build(bandit, how)

            show(bandit, build, horizon, runs, (learner.name, what, code))
    print()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two runs of each")
    options = parser.parse_args()
    runs = 2 if options.quick else options.runs
    table(ls.instances.five_arms(), 5112, runs, FIVE)
    table(ls.instances.two_arms(), 5060, runs, TWO)


if __name__ == "__main__":
    main()
