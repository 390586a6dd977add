"""What the golden file holds: several hundred results of the public interface, by name.

Values, bounds and shares are numbers; what a learner played is a digest of the arms in order.
Only the public interface is used, so that everything beneath it may be rebuilt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.model.instances import random_bandit

FAMILIES = ("uniform", "spike", "step", "monotone", "seasonal", "satiating", "mixed")
#: Small enough to be proven at once: (arms, rounds, depth of the curves).
SIZES = ((3, 8, 5), (5, 20, 8), (10, 20, 8))

Case = tuple[str, Callable[[], dict[str, Any]]]


def digest(arms: Any) -> str:
    """Return a short name of a sequence of arms."""
    return hashlib.sha256(np.asarray(arms, dtype="<i8").tobytes()).hexdigest()[:16]


def certificate(plan: Any) -> dict[str, Any]:
    """Return what a plan or optimum promises; an unproven one's figures hang on the search."""
    return {"value": float(plan.value), "optimal": bool(plan.optimal)}


def blocks() -> Iterator[Case]:
    """Blocks from three starts, by the planner itself, and by the paper's two programs."""
    for family in FAMILIES:
        for n_arms, rounds, depth in SIZES:
            for seed in (0, 1):
                bandit = random_bandit(family, n_arms, depth, seed)
                name = f"block {family} {n_arms}x{rounds} seed {seed}"
                for start in ("initial", "unknown"):
                    yield (
                        f"{name} {start}",
                        lambda b=bandit, n=rounds, s=start: certificate(
                            ls.plan_block(b, n, start=s)
                        ),
                    )
        bandit = random_bandit(family, 3, 4, 7)
        for solver in ("brute-force", "relaxation", "ilp"):
            yield (
                f"block {family} 3x5 {solver}",
                lambda b=bandit, s=solver: {"value": ls.plan_block(b, 5, solver=s).value},
            )
        yield (
            f"block {family} 3x7 given start",
            lambda b=bandit: certificate(ls.plan_block(b, 7, start=[2, -1, 3])),
        )


def cycles() -> Iterator[Case]:
    """Cycles of one length, and the best of all lengths."""
    for family in FAMILIES:
        for seed in (0, 1):
            bandit = random_bandit(family, 4, 5, seed)
            name = f"cycle {family} seed {seed}"
            yield f"{name} of 12", lambda b=bandit: certificate(ls.plan_cycle(b, 12))
            yield f"{name} up to 8", lambda b=bandit: certificate(ls.best_cycle(b, 8))


def ruled_bandit(seed: int) -> tuple[ls.Bandit, int]:
    """Return a bandit of five arms with four rules, some of them soft, and a length."""
    rng = np.random.default_rng(seed)
    n_arms, length = 5, int(rng.integers(6, 11))
    curves = []
    for _ in range(n_arms):
        top, again = rng.integers(4, 11) / 10, rng.integers(0, 4) / 10
        curves.append(ls.curves.recovering(ceiling=float(top), after=3, low=float(top * again)))
    some = sorted(rng.choice(n_arms, 3, replace=False).tolist())
    other = sorted(rng.choice(n_arms, 2, replace=False).tolist())
    rules = [
        r.rest(some, int(rng.integers(1, 3))),
        r.at_most(other, int(rng.integers(1, 3)), within=int(rng.integers(3, 6))),
        r.at_least(int(rng.integers(n_arms)), 1, every=int(rng.integers(3, 6)), cost=0.2),
        r.never_after(int(rng.integers(n_arms)), int(rng.integers(n_arms)), cost=0.15),
    ]
    plays = [1, (0, 1), (1, 2), 2][int(rng.integers(4))]
    silence = float(rng.choice([0.0, 0.1])) if plays in ((0, 1), (1, 2)) else 0.0
    return ls.Bandit(curves, rules=rules, plays=plays, silence=silence), length


def ruled() -> Iterator[Case]:
    """Blocks and cycles under rules."""
    for seed in range(40):
        bandit, length = ruled_bandit(seed)
        yield (
            f"ruled block seed {seed}",
            lambda b=bandit, n=length: certificate(ls.plan_block(b, n)),
        )
    for seed in range(12):
        bandit, _ = ruled_bandit(seed)

        def planned(b: ls.Bandit = bandit) -> dict[str, Any]:
            try:
                return certificate(ls.best_cycle(b, 6))
            except ls.LastSwitchError as error:
                return {"error": type(error).__name__}

        yield f"ruled cycle seed {seed}", planned


def optima() -> Iterator[Case]:
    """Best averages, best totals, and the frequency bound above them."""
    for family in FAMILIES:
        for n_arms in (2, 4):
            bandit = random_bandit(family, n_arms, 4, 3)
            name = f"{family} {n_arms} arms"
            yield f"average {name}", lambda b=bandit: certificate(ls.optimal_average(b))
            yield f"total {name}", lambda b=bandit: certificate(ls.optimal_total(b, 100))
            yield f"average bound {name}", lambda b=bandit: {"value": ls.average_bound(b)}
    for name, bandit in (("five", ls.instances.five_arms()), ("two", ls.instances.two_arms())):
        yield f"average {name} arms", lambda b=bandit: certificate(ls.optimal_average(b))
        yield f"total {name} arms", lambda b=bandit: certificate(ls.optimal_total(b, 300))


#: Name -> the policy's making, from the number of arms and a seed where it draws.
LEARNERS: dict[str, Callable[[int, int], Any]] = {
    "RotationUCB": lambda n, seed: ls.RotationUCB(n),
    "ISICombUCB1": lambda n, seed: ls.ISICombUCB1(n, length=4),
    "CombUCB1": lambda n, seed: ls.learning.CombUCB1(n, length=3),
    "RAWUCB": lambda n, seed: ls.learning.RAWUCB(n),
    "UCB1": lambda n, seed: ls.learning.UCB1(n),
}


def played(bandit: ls.Bandit, make: Callable[[int, int], Any], rounds: int) -> dict[str, Any]:
    """Play ``rounds`` rounds; return the digest of the arms and what was earned."""
    rng = np.random.default_rng(11)
    policy, arms, earned = make(bandit.n_arms, 5), [], 0.0
    states = bandit.start()
    for _ in range(rounds):
        pull = policy.ask()
        reward = float(rng.random() < bandit.curves[pull.arm](int(states[pull.arm])))
        policy.tell(pull.id, reward)
        arms.append(pull.arm)
        states = ls.states.transition(states, pull.arm)
        earned += reward
    return {"arms": digest(arms), "earned": earned}


def learners() -> Iterator[Case]:
    """Plays of learners in a world that always answers the same way."""
    worlds = {
        "five arms": ls.instances.five_arms(),
        "two arms": ls.instances.two_arms(),
        **{f"{family} 4 arms": random_bandit(family, 4, 6, 2) for family in FAMILIES},
    }
    for world, bandit in worlds.items():
        for name, make in LEARNERS.items():
            yield (
                f"learner {name} on {world}",
                lambda b=bandit, m=make: played(b, m, 300),
            )


def ruled_learners() -> Iterator[Case]:
    """Earnings of the learner under rules, silence and several plays."""
    for seed in range(8):
        bandit, _ = ruled_bandit(seed)

        def learned(b: ls.Bandit = bandit) -> dict[str, Any]:
            run = ls.simulate(b, ls.RotationUCB.for_bandit(b), horizon=200, seed=3)
            return {"earned on average": float(run.mean_total)}

        yield f"learner RotationUCB under rules seed {seed}", learned


def fits() -> Iterator[Case]:
    """Curves fitted to simulated logs."""
    for family in ("satiating", "monotone", "step"):
        for seed in (0, 1):

            def fitted(f: str = family, s: int = seed) -> dict[str, Any]:
                bandit = random_bandit(f, 3, 4, s)
                log = ls.logs.simulate(bandit, subjects=60, rounds=40, seed=s, idle=0.2)
                fit = ls.fit_curves(log, every="1d")
                tables = [(*curve.rest, *curve.streak) for curve in fit.bandit.curves]
                return {"pays": [round(float(pay), 9) for table in tables for pay in table]}

            yield f"fit {family} seed {seed}", fitted


def cohorts() -> Iterator[Case]:
    """Cohorts without and with a budget."""
    for seed in range(10):
        bandit = random_bandit("mixed", 4, 5, seed)
        states = np.random.default_rng(seed).choice([1, 2, 3, 4, -1, -2], size=(30, 4))
        people = pa.table(
            {
                "subject": [f"user {n}" for n in range(len(states))],
                **{name: states[:, i] for i, name in enumerate(bandit.names)},
            }
        )
        for label, more in (
            ("free", {"plays": (0, 1)}),
            ("budget", {"plays": (0, 1), "budget": "everyone: 12 per round"}),
        ):

            def planned(b: Any = bandit, s: Any = people, m: Any = more) -> dict[str, Any]:
                plan = ls.plan_cohort(b, s, 5, silence=0.05, gap=0.0, progress=False, **m)
                return {"bound": float(plan.bound)}

            yield f"cohort seed {seed} {label}", planned


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return every case by its name."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for part in (blocks, cycles, ruled, optima, learners, ruled_learners, fits, cohorts):
        for name, make in part():
            assert name not in found, name
            found[name] = make
    return found
