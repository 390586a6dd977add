"""One task of a sweep: one run of one policy, what it needs and what it leaves.

A task is a pure function of its :class:`Job` and its run number, so it gives the same bytes in
any process, on any machine of a cluster and in any order.
"""

from __future__ import annotations

import inspect
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.random import SCHEME, stream
from lastswitch._utils.sources import library_digest
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.experiments.run import Run
from lastswitch.experiments.simulation import AsksAndTells, simulate
from lastswitch.learning.policy import Policy
from lastswitch.learning.policy.saving import policy_class
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import bandit_to_dict

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
    >>> from functools import partial
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
        Its class and its parameters.
    identity
        What tells it from every other policy; empty if that is not known.
    doubt
        Why not.
    """

    policy: dict[str, Any]
    identity: str = ""
    doubt: str = ""


def describe(factory: Factory, bandit: Bandit) -> Described:
    """Build a policy once and say what it is: its type, its parameters, and its own store key.

    A policy of this library is told by its type and its parameters. What a class of the caller's
    does, only the caller knows: such a class names its ``store_key``, any JSON value.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.instances.two_arms()
    >>> told = describe(lambda: ls.FixedCycle([0, 1]), bandit)
    >>> told.policy["type"], told.doubt
    ('FixedCycle', '')
    >>> told.identity == describe(partial(ls.FixedCycle, [0, 1, 1]), bandit).identity
    False
    """
    policy = build(factory, bandit, seed=0)
    kind = type(policy)
    told: dict[str, Any] = {"type": f"{kind.__module__}.{kind.__qualname__}"}
    kinds: set[type] = {kind}
    if isinstance(policy, Policy):
        told["type"] = policy.type_name()
        try:
            told = policy.describe()
        except PolicyError as error:
            return Described(told, doubt=str(error))
        kinds |= {policy_class(name) for name in _factories(told["parameters"])}
    keys = {}
    for one in kinds:
        if not one.__module__.startswith("lastswitch."):
            key = getattr(policy if one is kind else one, "store_key", None)
            if key is None:
                doubt = f"{one.__qualname__} is a class of your own and has no store_key"
                return Described(told, doubt=doubt)
            keys[f"{one.__module__}.{one.__qualname__}"] = key
    try:
        return Described(told, fingerprint([told, keys]))
    except (TypeError, ValueError) as error:
        return Described(told, doubt=f"the store_key of {kind.__qualname__} is no JSON: {error}")


def _factories(parameters: Any) -> Iterator[str]:
    """Yield the names of the policies that described parameters hold factories of."""
    if isinstance(parameters, dict):
        if "$factory" in parameters:
            yield parameters["$factory"]
        parameters = list(parameters.values())
    if isinstance(parameters, list):
        for part in parameters:
            yield from _factories(part)


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
    return sha256(text.encode()).hexdigest()
