"""RotationUCB under rules: its share of the ruled optimum, and what a decision costs.

Three instances small enough that their best average is proven: a radio whose artists keep apart,
notifications with silence and a cap, two mails a day. The share is of that average, so the first
rounds, which no policy has behind it, count against the learner. A fixed cycle that is optimal and
one that merely keeps the rules stand beside it.

Run ``python -m benchmarks.ruled_learning [--quick]``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch import rules as r
from lastswitch._random import stream


def instances() -> dict[str, tuple[ls.Bandit, list[Any]]]:
    """Return bandits by name, each with a cycle that keeps its rules without looking at pays."""

    def curves(name: str, n_arms: int) -> list[ls.Curve]:
        rng, rests = stream(0, "benchmarks/ruled learning", name), np.arange(1, 5)
        found = []
        for top, scale in rng.uniform((0.3, 0.5), (0.95, 2.0), (n_arms, 2)):
            rest = top * (1 - np.exp(-rests / scale))
            found.append(ls.Curve(rest, [0.4 * rest[0]]))
        return found

    radio = ls.Bandit(
        curves("radio", 5),
        names=["a1", "a2", "b1", "b2", "news"],
        groups={"a": ["a1", "a2"], "b": ["b1", "b2"]},
        rules=[r.apart("a", 2), r.apart("b", 2), r.at_least("news", 1, within=6)],
    )
    notifications = ls.Bandit(
        curves("notifications", 4),
        plays=(0, 1),
        silence=0.25,
        rules=[r.at_most("everyone", 3, within=7), r.rest("everyone", 3)],
    )
    mails = ls.Bandit(
        curves("mails", 5),
        plays=2,
        rules=[r.rest("everyone", 2), r.never_after(0, 1), r.at_least(4, 1, every=5)],
    )
    return {
        "radio": (radio, [(0,), (2,), (4,), (1,), (3,)]),
        "notifications": (notifications, [(0,), (), (1,), (), (2,), (), ()]),
        "two mails": (mails, [(0, 2), (3, 4), (1, 2), (3, 4)]),
    }


def rows(horizon: int, runs: int) -> list[dict[str, Any]]:
    """Return one row per instance."""
    found = []
    for name, (bandit, plain) in instances().items():
        best = ls.optimal_average(bandit)
        shares, late, rates = [], [], []
        for seed in range(runs):
            policy = ls.RotationUCB.for_bandit(bandit)
            began = time.process_time()
            run = ls.simulate(bandit, policy, horizon, seed)  # refuses broken rules
            rates.append(horizon / (time.process_time() - began))
            shares.append(run.mean_total / horizon / best.value)
            late.append(run.expected[-horizon // 5 :].mean() / best.value)
        cycle = ls.FixedCycle(plain, bandit.n_arms)
        kept = ls.simulate(bandit, cycle, horizon, 0).mean_total / horizon / best.value
        found.append(
            {
                "instance": name,
                "rules": len(bandit.rules),
                "best average": best.value,
                "proven": best.optimal,
                "share": float(np.mean(shares)),
                "worst run": float(np.min(shares)),
                "share of the last fifth": float(np.mean(late)),
                "a cycle that keeps the rules": kept,
                "decisions/s": round(max(rates)),
            }
        )
    return found


def main() -> None:
    """Print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows(200, 1)  # compile
    table = rows(1_000 if quick else 10_000, 1 if quick else 3)
    print_table("RotationUCB under rules", table)
    if not quick:
        about = (
            "Share of the best average under the rules, over 10,000 rounds and three runs; no hard "
            "rule was broken. Decisions per second include telling, and the simulation."
        )
        keep("ruled_learning", "Learning under rules", about, {"under rules": table})


if __name__ == "__main__":
    main()
