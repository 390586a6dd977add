"""Compiling everything ahead: for images, executors and whoever would rather not wait later.

Each part is an example of what callers do, small but in every way of theirs: what a first call
compiles is then on disk, for this process and for all others that find the same folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds that a search may take: all its kernels are loaded long before.
_LONG = 5.0


def warm_up(report: Callable[[str, float], object] | None = None) -> Path:
    """Compile all kernels ahead and return the folder in which they are kept.

    A second call finds what the first one compiled, and takes a few seconds. Where the folder
    cannot be used a warning says so, and what is compiled serves this process alone.

    Parameters
    ----------
    report
        Called after each part with its name and the seconds it took.

    Returns
    -------
    Path
        The folder: that of ``LASTSWITCH_CACHE_DIR`` or ``NUMBA_CACHE_DIR``, or the user's own.

    Examples
    --------
    >>> import lastswitch as ls
    >>> ls.warm_up().is_absolute()
    True
    """
    from lastswitch._utils.jit import compiling
    from lastswitch._utils.kernel_cache import cache_folder

    for name, part in _PARTS.items():
        began = time.perf_counter()
        with compiling():
            part()
        if report is not None:
            report(name, time.perf_counter() - began)
    return cache_folder()


def _bandits(n_arms: int, depth: int) -> Iterator[Any]:
    """Yield a bandit of three random families: of some, problems are easy, of others hard."""
    from lastswitch.model.families import random_bandit

    for family in ("uniform", "step", "spike"):
        yield random_bandit(family, n_arms, depth, seed=2)


def _ruled() -> Any:
    """Return a bandit with rules, hard and soft, rounds of several plays and rounds of none."""
    import lastswitch as ls
    from lastswitch import rules

    some = [
        rules.rest(1, 2),
        rules.at_most(0, plays=3, every=7),
        rules.at_least(2, plays=1, within=9, cost=0.5),
    ]
    return ls.Bandit(next(_bandits(5, 6)).curves, rules=some, plays=(0, 2), silence=0.1)


def _blocks() -> None:
    import lastswitch as ls

    for n_arms, depth, length in ((3, 4, 6), (5, 20, 20), (10, 20, 20), (10, 40, 40)):
        for bandit in _bandits(n_arms, depth):
            plan = ls.plan_block(bandit, length, time_limit=_LONG)
            ls.block_reward(bandit, plan.block)
            ls.plan_block(bandit, length, start="unknown", time_limit=_LONG)


def _cycles() -> None:
    import lastswitch as ls

    for bandit in _bandits(4, 6):
        ls.plan_cycle(bandit, 8, time_limit=_LONG)
        ls.best_cycle(bandit, 6, time_limit=_LONG)
        ls.average_bound(bandit)


def _optima() -> None:
    import lastswitch as ls

    for bandit in (*_bandits(3, 6), *_bandits(6, 12)):
        ls.optimal_average(bandit, time_limit=_LONG)
        ls.optimal_total(bandit, 40, time_limit=_LONG)


def _rules() -> None:
    import lastswitch as ls

    bandit = _ruled()
    for length in (6, 24):
        ls.plan_block(bandit, length, time_limit=_LONG)
        ls.plan_block(bandit, length, silence=None, plays=1, time_limit=_LONG)
    ls.plan_cycle(bandit, 14, time_limit=_LONG)


def _rotation() -> None:
    import lastswitch as ls

    for index in ("reservation", "kl-ucb", "ucb1", "empirical-bernstein", "thompson"):
        _play(ls.RotationUCB(4, index=index))
    for pooling in ("none", "partial"):
        _play(ls.RotationUCB(4, pooling=pooling))
    _play(ls.RotationUCB(4, memory=50.0))


def _rotation_under_rules() -> None:
    from lastswitch.learning import RuledRotationUCB

    bandit = _ruled()
    _play(RuledRotationUCB(bandit.n_arms, rules=bandit.rules, plays=bandit.plays))


def _baselines() -> None:
    from lastswitch.learning import RAWUCB, ThompsonSampling

    for policy in (RAWUCB(4), ThompsonSampling(4)):
        _play(policy)


def _cohorts() -> None:
    import lastswitch as ls

    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return  # an extra: without it there are no cohorts
    bandit = next(_bandits(4, 6))
    arms = enumerate(bandit.names)
    rows = [(f"subject {k}", arm, 1 + (k + i) % 5) for i, arm in arms for k in range(20)]
    subject, arm, tau = zip(*rows, strict=True)
    states = pa.table({"subject": subject, "arm": arm, "tau": tau})
    for budget in (None, ls.Budget([0], 10)):
        for plays in (1, 2, (0, 2), (1, 3)):
            ls.plan_cohort(bandit, states, 5, budget=budget, plays=plays)


def _play(policy: Any) -> None:
    """Let a policy play for two subjects, some of whose arms are not there, and look ahead."""
    rng = np.random.default_rng(0)
    for turn in range(120):
        subject, allowed = f"subject {turn % 2}", [0, 1, 3] if turn % 7 == 6 else None
        if policy.plays == (1, 1):
            pulls = [policy.ask(subject=subject, allowed=allowed)]
        else:
            pulls = policy.ask_round(subject=subject)
        for pull in pulls:
            policy.tell(pull.id, float(rng.random()))


#: What is compiled, in the order in which one builds on another.
_PARTS: dict[str, Callable[[], None]] = {
    "blocks": _blocks,
    "cycles": _cycles,
    "averages and totals": _optima,
    "rules": _rules,
    "rotation": _rotation,
    "rotation under rules": _rotation_under_rules,
    "baselines": _baselines,
    "cohorts": _cohorts,
}
