"""One task of a sweep: one run of one policy, what it needs and what it leaves.

A task is a pure function of its :class:`Job` and its run number, so it gives the same bytes in
any process, on any machine of a cluster and in any order.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._random import SCHEME, stream
from lastswitch.bandit import Bandit
from lastswitch.errors import InputTypeError
from lastswitch.experiments.identity import Untold, digest, library_digest
from lastswitch.experiments.run import Run
from lastswitch.experiments.simulation import AsksAndTells, simulate
from lastswitch.files import bandit_to_dict
from lastswitch.learning.policy import Policy
from lastswitch.learning.simple import FixedCycle

#: Points at which a run's cumulative rewards are kept; a curve needs no more.
CHECKPOINTS = 400

#: Builds a fresh policy from what it names of ``bandit``, ``n_arms``, ``initial`` and ``seed``.
Factory = Callable[..., AsksAndTells]


@dataclass(frozen=True)
class Job:
    """A policy to run on a bandit: everything but the number of the run.

    Examples
    --------
    >>> import lastswitch as ls
    >>> greedy = ls.learning.OracleGreedy
    >>> Job(ls.instances.two_arms(), "greedy", greedy, horizon=100, seed=0).subjects
    1
    """

    bandit: Bandit
    name: str
    factory: Factory
    horizon: int
    seed: int
    subjects: int = 1


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run leaves: cumulative rewards at the checkpoints, and counts.

    Attributes
    ----------
    collected, expected
        Reward collected, and expected, up to each checkpoint.
    switches
        How often the arm changed.
    plays
        Plays of each arm.
    visits
        Three rows: arm, tau, and how often that arm was played in that state.

    Examples
    --------
    >>> import lastswitch as ls
    >>> cycle = ls.FixedCycle([0, 1], initial=-1)
    >>> Outcome.of(simulate(ls.instances.two_arms(), cycle, 10)).switches
    9
    """

    collected: NDArray[np.float64]
    expected: NDArray[np.float64]
    switches: int
    plays: NDArray[np.int64]
    visits: NDArray[np.int64]

    @classmethod
    def of(cls, run: Run) -> Outcome:
        """Summarise a run."""
        at = checkpoints(run.horizon) * run.subjects - 1
        return cls(
            collected=run.cumulative[at],
            expected=run.cumulative_means[at],
            switches=run.switches,
            plays=run.plays.astype(np.int64),
            visits=run.visits,
        )


def checkpoints(horizon: int) -> NDArray[np.int64]:
    """Return the rounds at which rewards are kept: evenly spaced, the last one included.

    Examples
    --------
    >>> checkpoints(3).tolist(), len(checkpoints(10**6)), int(checkpoints(10**6)[-1])
    ([1, 2, 3], 400, 1000000)
    """
    count = min(horizon, CHECKPOINTS)
    return (np.arange(1, count + 1, dtype=np.int64) * horizon + count - 1) // count


def perform(job: Job, run: int) -> dict[str, Any]:
    """Run one task and return its :class:`Outcome` as a dictionary.

    Examples
    --------
    >>> import lastswitch as ls
    >>> job = Job(ls.instances.two_arms(), "greedy", ls.learning.OracleGreedy, horizon=10, seed=0)
    >>> perform(job, run=0)["plays"].tolist()
    [10, 0]
    """
    noise, policy = task_seeds(job.seed, job.name, run)
    built = build(job.factory, job.bandit, policy)
    played = simulate(job.bandit, built, job.horizon, noise, subjects=job.subjects)
    return vars(Outcome.of(played))


def task_seeds(seed: int, name: str, run: int) -> tuple[int, int]:
    """Return the seeds of the noise and of the policy in one task.

    They hang on names alone, so adding or reordering policies moves nobody's numbers.

    Examples
    --------
    >>> task_seeds(0, "greedy", 3) == task_seeds(0, "greedy", 3)
    True
    """
    noise, policy = stream(seed, "policy", name, "run", run).integers(2**63, size=2).tolist()
    return noise, policy


def build(factory: Factory, bandit: Bandit, seed: int) -> AsksAndTells:
    """Call ``factory`` with what it names of ``bandit``, ``n_arms``, ``initial`` and ``seed``.

    What a :func:`functools.partial` already fixes is left alone.

    Examples
    --------
    >>> from functools import cache, partial
    >>> import lastswitch as ls
    >>> bandit = ls.instances.two_arms()
    >>> build(partial(ls.FixedCycle, [0, 1]), bandit, seed=0).initial
    (-1, -1)
    """
    if not callable(factory):
        raise InputTypeError(
            f"a policy is given as a factory, a callable that builds a fresh one, got {factory!r}; "
            "write for example lambda seed: ls.RotationUCB(5, seed=seed)."
        )
    # Gaussian rewards know no bounds; beyond ten standard deviations none is ever drawn.
    beyond = 10.0 * bandit.sigma if bandit.noise == "gaussian" else 0.0
    offers = {
        "bandit": bandit,
        "n_arms": bandit.n_arms,
        "initial": bandit.initial,
        "rewards": (-beyond, 1.0 + beyond),
        "seed": seed,
    }
    fixed = factory.keywords if isinstance(factory, partial) else {}
    named = inspect.signature(factory).parameters
    return factory(**{key: offers[key] for key in offers if key in named and key not in fixed})


class Described(NamedTuple):
    """What a factory builds.

    Attributes
    ----------
    policy
        Its class and its parameters, for people.
    identity
        The digest of all that decides what it does; empty if that cannot be told.
    doubt
        Why not.
    """

    policy: dict[str, Any]
    identity: str = ""
    doubt: str = ""


def describe(factory: Factory, bandit: Bandit) -> Described:
    """Build a policy once and say what it is.

    Examples
    --------
    >>> import lastswitch as ls
    >>> describe(lambda: ls.FixedCycle([0, 1]), ls.instances.two_arms()).policy["type"]
    'FixedCycle'
    """
    policy = build(factory, bandit, seed=0)
    kind = type(policy)
    if isinstance(policy, Policy):
        given = policy.parameters()
        told: dict[str, Any] = {"type": policy.type_name(), "parameters": _readable(given)}
        own = {name: part for name, part in vars(policy).items() if name not in _bookkeeping()}
        built: list[Any] = [kind, given, own]
    else:
        told, built = {"type": f"{kind.__module__}.{kind.__qualname__}"}, [policy]
    try:
        return Described(told, digest([factory, *built]))
    except Untold as doubt:
        return Described(told, doubt=str(doubt))


@cache
def _bookkeeping() -> frozenset[str]:
    """Return what every policy keeps of its pulls, which decides nothing before the first."""
    bare = FixedCycle.__new__(FixedCycle)
    Policy.__init__(bare, 1)
    return frozenset(vars(bare))


def provenance(job: Job, policy: dict[str, Any]) -> dict[str, Any]:
    """Return where a result comes from: versions, seed, instance and policy.

    Examples
    --------
    >>> import lastswitch as ls
    >>> job = Job(ls.instances.two_arms(), "greedy", ls.learning.OracleGreedy, horizon=10, seed=7)
    >>> provenance(job, {"type": "OracleGreedy"})["seed"]
    7
    """
    return {
        "streams": SCHEME,
        "library": library_digest(),
        "versions": versions(),
        "instance": fingerprint(bandit_to_dict(job.bandit)),
        "policy": {"name": job.name, **policy},
        "horizon": job.horizon,
        "subjects": job.subjects,
        "seed": job.seed,
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes the numbers.

    Examples
    --------
    >>> sorted(versions())
    ['highspy', 'lastswitch', 'numba', 'numpy', 'python', 'scipy']
    """
    import lastswitch

    return {
        "lastswitch": lastswitch.__version__,
        "numpy": np.__version__,
        **{name: version(name) for name in ("numba", "scipy", "highspy")},
        "python": platform.python_version(),
    }


def fingerprint(document: Any) -> str:
    """Return the SHA-256 of a JSON document, whatever the order of its keys.

    Examples
    --------
    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _readable(value: Any) -> Any:
    """Return a parameter as JSON for people; the key tells the rest.

    Examples
    --------
    >>> _readable((1, np.float64(0.5), np.arange(2), len))
    [1, 0.5, [0, 1], 'len']
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _readable(part) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_readable(part) for part in value]
    if isinstance(value, partial):
        return [_readable(value.func), *map(_readable, value.args), _readable(value.keywords)]
    return getattr(value, "__qualname__", type(value).__name__)
