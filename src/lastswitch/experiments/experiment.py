"""Run several policies many times, keep every finished run, and compare: :func:`compare`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.checks import check_bandit, check_whole
from lastswitch._utils.progress import Report
from lastswitch.errors import ExperimentError, InputTypeError, LastSwitchWarning
from lastswitch.experiments.backends import Backend
from lastswitch.experiments.comparison import Comparator, Comparison, PolicyRuns
from lastswitch.experiments.runner import Failure, Result, Task, run_tasks
from lastswitch.experiments.simulation import simulate
from lastswitch.experiments.store import TaskStore
from lastswitch.experiments.tasks import (
    Described,
    Factory,
    Job,
    Outcome,
    checkpoints,
    describe,
    fingerprint,
    perform,
    provenance,
)
from lastswitch.learning.simple import FixedCycle
from lastswitch.model.bandit import Bandit

if TYPE_CHECKING:
    from lastswitch.planning.optima.optimum import Optimum


class FailedTasksError(ExperimentError):
    """Some tasks raised; the others went on.

    Attributes
    ----------
    failures
        What went wrong, task by task.
    finished
        By experiment, the comparison of the runs that finished (if any did).

    Examples
    --------
    >>> FailedTasksError([Failure("policy 'x', run 3", "KeyError: 1", "")], {}).failures[0].label
    "policy 'x', run 3"
    """

    def __init__(self, failures: Sequence[Failure], finished: Mapping[str, Comparison]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more tasks failed)" if len(failures) > 1 else ""
        super().__init__(
            f"{first.label} failed: {first.error}{more}; the other runs are kept in this error's "
            ".finished, and in the store if there is one."
        )
        self.failures = list(failures)
        self.finished = dict(finished)


@dataclass(frozen=True)
class Experiment:
    """One bandit and the policies to run on it; see :func:`compare` for the parts.

    Examples
    --------
    >>> from lastswitch.model.instances import two_arms
    >>> Experiment(two_arms(), {"greedy": lambda bandit: ...}, horizon=0)
    Traceback (most recent call last):
    lastswitch.errors.ExperimentError: horizon must be a whole number of at least 1, got 0.
    """

    bandit: Bandit
    policies: Mapping[str, Factory]
    horizon: int
    runs: int = 10
    seed: int = 0
    subjects: int = 1

    def __post_init__(self) -> None:
        check_bandit("compare", self.bandit)
        for what, least in (("horizon", 1), ("runs", 1), ("subjects", 1), ("seed", 0)):
            whole = check_whole(what, getattr(self, what), least, ExperimentError)
            object.__setattr__(self, what, whole)  # a NumPy integer would not fit in a file
        if not isinstance(self.policies, Mapping):
            raise InputTypeError(
                f"policies must be a dictionary of names and factories, got {self.policies!r}."
            )
        if not self.policies:
            raise ExperimentError("there is nothing to compare: policies is empty.")


def compare(
    bandit: Bandit,
    policies: Mapping[str, Factory],
    horizon: int,
    runs: int = 10,
    seed: int = 0,
    *,
    subjects: int = 1,
    n_jobs: int | None = None,
    backend: Backend = "loky",
    store: str | os.PathLike[str] | None = None,
    progress: bool | Report | None = True,
) -> Comparison:
    """Run every policy ``runs`` times on ``bandit`` and compare them with the true optimum.

    The numbers depend on the seed and the names alone: not on the backend, the number of workers,
    the order of the policies, nor on which others are there.

    Parameters
    ----------
    bandit
        What the arms pay.
    policies
        By name, how to build a fresh policy. A factory is called with whichever of ``bandit``,
        ``n_arms``, ``initial`` and ``seed`` it names, so a class, a :func:`functools.partial` or
        a lambda will do: ``{"rotation": ls.RotationUCB, "paper": partial(ls.ISICombUCB1,
        length=4)}``.
    horizon
        Rounds per run (per subject).
    runs
        Independent runs of each policy.
    seed
        Names all randomness.
    subjects
        Subjects that take turns in each run.
    n_jobs
        Workers; all cores when not given, 1 to stay in this process.
    backend
        ``"loky"`` for processes; ``"ray"`` or ``"dask"`` for a cluster, the running one if there
        is one, else a local one.
    store
        A folder that keeps each run as it finishes. The same call later computes only what is
        missing, even if this one is killed. A run is named by the bandit, the seed, the versions of
        this library and of those it computes with, and the policy's type and parameters. Runs of a
        class of your own are kept only if it has an attribute ``store_key``: any JSON value, which
        you change whenever what the class does changes; one that is no :class:`Policy` puts its
        arguments in it too.
    progress
        ``True`` for a bar with the time left, ``None`` for nothing, or a function that is called
        with a :class:`~lastswitch.Progress` after every task.

    Raises
    ------
    FailedTasksError
        If some runs raised. The others are in its ``finished``, and in the store.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.instances.two_arms()
    >>> cycles = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1),
    ...           "first arm": lambda: ls.FixedCycle([0], 2, initial=-1)}
    >>> found = compare(bandit, cycles, horizon=100, runs=3, n_jobs=1, progress=False)
    >>> [row[0] for row in found.table().rows]
    ['alternate', 'first arm']
    """
    experiment = Experiment(bandit, policies, horizon, runs, seed, subjects)
    return run_experiments(
        {"": experiment}, n_jobs=n_jobs, backend=backend, store=store, progress=progress
    )[""]


def run_experiments(
    experiments: Mapping[str, Experiment],
    *,
    n_jobs: int | None = None,
    backend: Backend = "loky",
    store: str | os.PathLike[str] | None = None,
    progress: bool | Report | None = True,
) -> dict[str, Comparison]:
    """Run several experiments through one pool of workers; see :func:`compare`.

    Examples
    --------
    >>> import lastswitch as ls
    >>> cycle = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1)}
    >>> short = Experiment(ls.instances.two_arms(), cycle, horizon=10, runs=1)
    >>> long = Experiment(ls.instances.two_arms(), cycle, horizon=90, runs=1)
    >>> found = run_experiments({"short": short, "long": long}, n_jobs=1, progress=False)
    >>> found["long"].horizon
    90
    """
    kept = None if store is None else TaskStore(store)
    books = {
        name: _Book.open(name, experiment, stored=kept is not None)
        for name, experiment in experiments.items()
    }
    tasks = _in_turn(books.values())
    results, failures = run_tasks(
        tasks, n_jobs=n_jobs, backend=backend, store=kept, progress=progress
    )
    by_task = {tasks[at]: result for at, result in results.items()}
    found = {name: book.close(by_task) for name, book in books.items()}
    finished = {name: comparison for name, comparison in found.items() if comparison is not None}
    if failures:
        raise FailedTasksError(failures, finished)
    return finished


def _in_turn(books: Iterable[_Book]) -> list[Task]:
    """Return all tasks, every policy's first run before any second run.

    What a policy needs compiled is then compiled early, different things side by side, and an
    optimum is never the last to start.
    """
    turns: list[tuple[int, Task]] = []
    for book in books:
        turns.append((0, book.optimum))
        turns += [(run, task) for (_, run), task in book.tasks.items()]
    return [task for _, task in sorted(turns, key=lambda turn: turn[0])]


@dataclass(frozen=True)
class _Book:
    """An experiment as tasks, and the way back from results to a comparison."""

    experiment: Experiment
    origins: dict[str, dict[str, Any]]
    optimum: Task
    tasks: dict[tuple[str, int], Task]

    @classmethod
    def open(cls, label: str, experiment: Experiment, stored: bool) -> _Book:
        bandit, where = experiment.bandit, f"{label}: " if label else ""
        origins, tasks = {}, {}
        for name, factory in experiment.policies.items():
            job = Job(
                bandit, name, factory, experiment.horizon, experiment.seed, experiment.subjects
            )
            told = _described(name, factory, bandit)
            if told.doubt and stored:
                _warn_in_doubt(name, told.doubt)
            origin = origins[name] = provenance(job, told.policy)
            whole = {**origin, "identity": told.identity}
            common = fingerprint(whole)
            for run in range(experiment.runs):
                task_label = f"{where}policy {name!r}, run {run}"
                numbered = {**whole, "run": run}
                key = fingerprint([common, run]) if told.identity else ""
                tasks[name, run] = Task(task_label, key, numbered, perform, (job, run))
        shared = next(iter(origins.values()))
        part = {key: shared[key] for key in shared if key not in ("policy", "seed")}
        part["of"] = "optimum"
        given = (bandit, experiment.horizon, experiment.subjects)
        optimum = Task(f"{where}the optimum", fingerprint(part), part, _optimum, given)
        return cls(experiment, origins, optimum, tasks)

    def close(self, results: Mapping[Task, Result]) -> Comparison | None:
        """Return the comparison of what finished; ``None`` if that is too little for one."""
        policies = {}
        for name in self.experiment.policies:
            done = {
                run: Outcome(**results[task])
                for (owner, run), task in self.tasks.items()
                if owner == name and task in results
            }
            if done:
                policies[name] = PolicyRuns.gather(done)
        best = results.get(self.optimum)
        if not policies or best is None:
            return None
        experiment = self.experiment
        shared = next(iter(self.origins.values()))
        whole = {key: value for key, value in shared.items() if key != "policy"}
        whole["policies"] = [origin["policy"] for origin in self.origins.values()]
        return Comparison(
            experiment.bandit,
            experiment.horizon,
            experiment.subjects,
            experiment.seed,
            policies,
            Comparator(**best),
            whole,
        )


def _optimum(bandit: Bandit, horizon: int, subjects: int) -> Result:
    """Return the :class:`Comparator` as a dictionary: the optimum for all subjects together."""
    from lastswitch.planning import optimal_total

    best = optimal_total(bandit, horizon)
    pays = np.cumsum(_optimum_pays(bandit, best))
    return vars(
        Comparator(
            value=subjects * best.value,
            bound=subjects * best.bound,
            curve=subjects * pays[checkpoints(horizon) - 1],
        )
    )


def _optimum_pays(bandit: Bandit, best: Optimum) -> NDArray[np.float64]:
    """Return what the optimum's schedule is expected to earn, round by round."""
    from lastswitch.model.blocks import block_pays

    if bandit.plain:
        return block_pays(bandit, best.block)
    cycle = FixedCycle(best.rounds, bandit.n_arms, initial=bandit.initial)
    return simulate(bandit, cycle, len(best.rounds)).expected


def _described(name: str, factory: Factory, bandit: Bandit) -> Described:
    """Build the policy once before any task does: a factory that cannot is told at once."""
    try:
        return describe(factory, bandit)
    except Exception as error:
        raise ExperimentError(
            f"policy {name!r} cannot be built: {type(error).__name__}: {error}; nothing was run."
        ) from error


def _warn_in_doubt(name: str, doubt: str) -> None:
    warnings.warn(
        f"runs of policy {name!r} are not kept in the store: {doubt}. Give a class of your own an "
        "attribute store_key, a text that you change whenever what it does changes; build other "
        "policies from plain values.",
        LastSwitchWarning,
        stacklevel=2,
    )
