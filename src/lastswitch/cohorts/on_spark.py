"""Cohorts on Spark: every partition is planned where it is, by ``mapInArrow``.

Only three things come to the driver: how many subjects stand where, the keys of the few who must
be told apart, and what is counted. The plays stay on the cluster and are written there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.extras import load_extra
from lastswitch._utils.progress import Progress, Report
from lastswitch.cohorts.job import Census, Found, Job, joined
from lastswitch.cohorts.roster import Roster
from lastswitch.cohorts.rows import Tally
from lastswitch.cohorts.solving import Batch
from lastswitch.cohorts.writing import Format, whole_folder, write
from lastswitch.errors import CohortError

if TYPE_CHECKING:
    from lastswitch.cohorts.reading import OpenRoster

_STANDINGS = "row array<bigint>, weight double, count bigint"
_KEYS = "row array<bigint>, key bigint, weight double"


class SparkCohort:
    """A roster as a Spark data frame, and the work on its partitions.

    Parameters
    ----------
    job
        What is planned.
    connection
        An Ibis connection to Spark.
    """

    def __init__(self, job: Job, connection: Any) -> None:
        self._job, self._connection = job, connection
        self._frame: Any = None

    def census(self, opened: OpenRoster) -> Census:
        """Keep the roster on the cluster; return who stands where."""
        functions = load_extra("pyspark.sql.functions", "spark")
        self._connection._run_pre_execute_hooks(opened.table)  # tables of ours it must know of
        sql = self._connection.compile(opened.table)
        self._frame = self._connection._session.sql(sql).persist()
        told = self._frame.mapInArrow(_over(self._job, _standings), _STANDINGS)
        counted = told.groupBy("row", "weight").agg(functions.sum("count").alias("count"))
        found = counted.toArrow()
        if not len(found):
            raise CohortError("there is nobody to plan: the table of subjects has no rows.")
        rows, weights, counts = (found.column(name) for name in ("row", "weight", "count"))
        return joined([Census(_matrix(rows), weights.to_numpy(), counts.to_numpy())])

    def pending(self, job: Job) -> Found:
        """Return all subjects whose keys must be known before anyone is planned."""
        found = self._frame.mapInArrow(_over(job, _pending), _KEYS).toArrow()
        keys = found.column("key").to_numpy().view(np.uint64)
        return Found(_matrix(found.column("row")), keys, found.column("weight").to_numpy())

    def plan(
        self, job: Job, target: tuple[Path, Format] | None, report: Report
    ) -> tuple[Tally, Any]:
        """Plan every partition and write it, or bring the plays here; return what was counted."""
        began = time.perf_counter()
        types = load_extra("pyspark.sql.pandas.types", "spark")
        schema = types.from_arrow_schema(_empty_table(job).schema)
        plays = self._frame.mapInArrow(_over(job, _plays), schema)
        held = None
        if target is None:
            held = plays.orderBy("subject", "round").toArrow()
        elif target[1] == "parquet":
            with whole_folder(target[0]) as folder:
                plays.write.mode("append").parquet(folder.absolute().as_uri(), compression="zstd")
        else:
            whole = plays.orderBy("subject", "round").toArrow()
            write([whole], *target, job.calendar)
        told = self._frame.mapInArrow(_over(job, _tallies), "tally string").toArrow()
        tally = Tally.none(job.problem.length, job.problem.n_arms)
        for text in sorted(told.column("tally").to_pylist()):
            tally = tally + Tally.from_dict(json.loads(text))
        self._frame.unpersist()
        report(Progress(time.perf_counter() - began, tally.subjects, tally.subjects))
        return tally, held


def _over(job: Job, work: Callable[[Job, Roster], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what ``mapInArrow`` calls on every partition: ``work`` on each of its batches."""

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if len(batch):
                yield from work(job, job.roster(batch)).combine_chunks().to_batches()

    return each


def _standings(job: Job, roster: Roster) -> Any:
    arrow = load_extra("pyarrow", "logs")
    found = job.census(roster)
    return arrow.table({"row": _lists(found.rows), "weight": found.weights, "count": found.counts})


def _pending(job: Job, roster: Roster) -> Any:
    arrow = load_extra("pyarrow", "logs")
    found = job.pending(roster)
    columns = {"row": _lists(found.standings), "key": found.key.view(np.int64)}
    return arrow.table({**columns, "weight": found.weight})


def _plays(job: Job, roster: Roster) -> Any:
    return job.plan(roster)[0]


def _tallies(job: Job, roster: Roster) -> Any:
    arrow = load_extra("pyarrow", "logs")
    return arrow.table({"tally": [json.dumps(job.plan(roster)[1].to_dict())]})


def _empty_table(job: Job) -> Any:
    """Return the table of nobody's plays, for its columns."""
    from lastswitch.cohorts.rows import table_of

    arrow = load_extra("pyarrow", "logs")
    problem = job.problem
    nobody = Roster(
        arrow.array([], arrow.string()), np.zeros(0), np.zeros((0, problem.n_arms), np.int64)
    )
    none = np.zeros((0, problem.length, problem.plays[1]), np.int16)
    return table_of(problem, nobody, Batch(none, np.zeros(0), np.zeros(0)), job.calendar)


def _lists(rows: Any) -> Any:
    """Return a matrix as an Arrow column of lists."""
    arrow = load_extra("pyarrow", "logs")
    ends = arrow.array(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1])
    return arrow.ListArray.from_arrays(ends, arrow.array(rows.ravel()))


def _matrix(lists: Any) -> Any:
    """Return a column of lists as a matrix."""
    flat = lists.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(lists), -1)
