"""Run tasks anywhere, keep each result the moment it is there, and go on past a failure."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from lastswitch._utils.progress import Progress, Report, reporter
from lastswitch.errors import ExperimentError, LastSwitchError
from lastswitch.experiments.backends import Backend, run_calls
from lastswitch.experiments.store import TaskStore

#: What a task returns, by name: numbers, lists and arrays.
Result = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Task:
    """A pure function and its arguments, named for people and for the store.

    Attributes
    ----------
    label
        What an error calls it.
    key
        The hash of everything its result depends on; empty if that cannot be told, and then
        nothing is kept.
    origin
        Where its result comes from, kept with the result.

    Examples
    --------
    >>> Task("absolute", "key", {"of": "abs"}, lambda x: {"value": abs(x)}, (-3,)).function(-3)
    {'value': 3}
    """

    label: str
    key: str
    origin: Mapping[str, Any]
    function: Callable[..., Result]
    given: tuple[Any, ...]


@dataclass(frozen=True)
class Failure:
    """A task that raised: which one, the error in a line, and where.

    Examples
    --------
    >>> Failure("policy 'x', run 0", "KeyError: 1", "Traceback ...").error
    'KeyError: 1'
    """

    label: str
    error: str
    trace: str


def run_tasks(
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    backend: Backend = "loky",
    store: TaskStore | None = None,
    progress: bool | Report | None = False,
    what: str = "Running",
) -> tuple[dict[int, Result], list[Failure]]:
    """Return the results by position in ``tasks``, and the failures in order of position.

    ``what`` is what a progress bar says is being done.

    Examples
    --------
    >>> def half(x):
    ...     return {"half": 1 / (2 / x)}
    >>> tasks = [Task(f"task {x}", f"{x}", {}, half, (x,)) for x in (3, 0)]
    >>> results, failures = run_tasks(tasks, n_jobs=1)
    >>> results, failures[0].label, failures[0].error
    ({0: {'half': 1.5}}, 'task 0', 'ZeroDivisionError: division by zero')
    """
    results: dict[int, Result] = {}
    if store is not None:
        found = ((at, store.get(task.key)) for at, task in enumerate(tasks) if task.key)
        results = {at: result for at, result in found if result is not None}
    missing = [at for at in range(len(tasks)) if at not in results]
    if store is not None and any(tasks[at].key for at in missing):
        store.open()  # a folder that cannot be written to is told before anything runs
    failures: dict[int, Failure] = {}
    calls = [
        (_attempt, (at, tasks[at].label, tasks[at].function, tasks[at].given)) for at in missing
    ]
    began = time.perf_counter()
    with reporter(progress, what) as report:
        report(Progress(0.0, len(results), len(tasks)))
        if calls:
            with closing(_guarded(calls, n_jobs, backend)) as finished:
                for at, result in finished:
                    if isinstance(result, Failure):
                        failures[at] = result
                    else:
                        results[at] = result
                        task = tasks[at]
                        if store is not None and task.key:
                            store.put(task.key, result, dict(task.origin), task.label)
                    seconds = time.perf_counter() - began
                    report(Progress(seconds, len(results) + len(failures), len(tasks)))
    return results, [failures[at] for at in sorted(failures)]


def _attempt(
    at: int, label: str, function: Callable[..., Result], given: tuple[Any, ...]
) -> tuple[int, Result | Failure]:
    """Do one task in a worker; what it raises becomes a :class:`Failure` for others to go on."""
    try:
        return at, function(*given)
    except Exception as error:
        return at, Failure(label, f"{type(error).__name__}: {error}", traceback.format_exc())


def _guarded(
    calls: Sequence[Any], n_jobs: int | None, backend: Backend
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Yield from the backend; what breaks the backend itself becomes one clear error."""
    results = run_calls(calls, n_jobs, backend)
    try:
        yield from results
    except (LastSwitchError, GeneratorExit):
        raise
    except Exception as error:
        if "pickl" in f"{type(error).__name__} {error}".lower():
            reason = f"{error.__cause__ or error}".strip('"\n').splitlines()[-1]
            raise ExperimentError(
                f"a task cannot be sent to the {backend} workers: {reason}; "
                "build the policy from plain values, without open files or locks, or use n_jobs=1."
            ) from error
        raise ExperimentError(
            f"the {backend} workers broke down: {type(error).__name__}: {error}; finished tasks "
            "are kept in the store, if there is one: run the same again to go on, with fewer "
            "n_jobs if memory ran out."
        ) from error
    finally:
        results.close()
