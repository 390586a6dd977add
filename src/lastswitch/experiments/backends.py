"""Where tasks run: this process, processes of this machine, or a Ray or Dask cluster.

Joblib does the work; this module only opens what it needs and hands results back as they finish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

from lastswitch._utils.checks import check_choice
from lastswitch._utils.extras import load_extra
from lastswitch.errors import ExperimentError

Backend: TypeAlias = Literal["loky", "ray", "dask"]
#: A call to make: the function and its arguments.
Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]

#: Seconds of work handed at once to a backend that answers only when all of it is done.
_WAVE_SECONDS = 2.0


def run_calls(
    calls: Sequence[Call], n_jobs: int | None, backend: Backend
) -> Generator[Any, None, None]:
    """Make every call and yield the results as they finish, in any order.

    Parameters
    ----------
    calls
        What to do. Small calls are sent in batches.
    n_jobs
        Workers; all cores (of the cluster, if there is one) when ``None``.
    backend
        ``"loky"`` for processes of this machine, ``"ray"`` or ``"dask"`` for a cluster: the one
        already running, else a local one for the time of the call.

    Examples
    --------
    >>> sorted(run_calls([(abs, (-3,)), (abs, (2,))], 1, "loky"))
    [2, 3]
    """
    check_choice("backend", backend, get_args(Backend), ExperimentError)
    if n_jobs == 0:
        raise ExperimentError("n_jobs must not be 0; leave it out for all cores, or use 1.")
    if backend == "ray":
        with _ray(n_jobs):
            yield from _in_waves(calls, n_jobs)
    elif backend == "dask":
        with _dask(n_jobs):
            yield from _as_finished(calls, n_jobs, "dask")
    else:
        yield from _as_finished(calls, n_jobs, "loky")


def _as_finished(calls: Sequence[Call], n_jobs: int | None, backend: str) -> Iterator[Any]:
    import joblib

    with joblib.parallel_config(backend=backend, n_jobs=n_jobs or -1):
        parallel = joblib.Parallel(return_as="generator_unordered", pre_dispatch="3*n_jobs")
        results = parallel(joblib.delayed(function)(*given) for function, given in calls)
    try:
        yield from results
    finally:
        results.close()  # whoever stops listening also stops the work


def _in_waves(calls: Sequence[Call], n_jobs: int | None) -> Iterator[Any]:
    """Yield results wave by wave: Ray's joblib backend answers only when all calls are done."""
    import joblib

    with joblib.parallel_config(backend="ray", n_jobs=n_jobs or -1), joblib.Parallel() as parallel:
        waiting = iter(calls)
        size = 2 * joblib.effective_n_jobs()
        while wave := list(islice(waiting, size)):
            began = time.perf_counter()
            yield from parallel(joblib.delayed(function)(*given) for function, given in wave)
            if time.perf_counter() - began < _WAVE_SECONDS / 2:
                size *= 2


@contextmanager
def _ray(n_jobs: int | None) -> Iterator[None]:
    """Use the Ray cluster this process or machine knows, or a local one while we are here."""
    ray = load_extra("ray", "ray")
    load_extra("ray.util.joblib", "ray").register_ray()
    if ray.is_initialized():
        yield
        return
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        ray.init(address="auto", **quiet)
    except ConnectionError:
        ray.init(
            address="local",
            num_cpus=n_jobs if n_jobs and n_jobs > 0 else None,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            **quiet,
        )
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _dask(n_jobs: int | None) -> Iterator[None]:
    """Use the Dask client that is current, or a local cluster while we are here."""
    distributed = load_extra("distributed", "dask")
    try:
        distributed.get_client()
    except ValueError:
        pass
    else:
        yield
        return
    workers = n_jobs if n_jobs and n_jobs > 0 else None
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs="ERROR",
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield
