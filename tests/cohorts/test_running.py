"""Parts: the same rows however many there are, whoever plans them, and whenever it was ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, random_states
from lastswitch.cohorts import local
from lastswitch.cohorts.job import Census, joined, keys_of, plain_key
from lastswitch.cohorts.local import work_folder
from lastswitch.cohorts.roster import in_parts
from lastswitch.errors import FileError

BUDGET = "everyone: 300 per round"
STATES = random_states(500)


def plan(**options):
    """Plan the same cohort, with a budget that splits subjects who stand alike."""
    return ls.plan_cohort(RADIO, STATES, 4, plays=(0, 1), budget=BUDGET, calendar=JUNE, **options)


@pytest.fixture(scope="module")
def whole():
    """Return the plays of the cohort as one part."""
    return plan().to_arrow()


@pytest.mark.parametrize("size", [60, 499])
def test_parts_of_any_size_give_the_same_rows(whole, monkeypatch, size):
    """Where the cohort is cut changes nothing."""
    monkeypatch.setattr(local, "PART", size)
    assert plan(n_jobs=1).to_arrow().equals(whole)


def test_two_processes_give_the_same_rows(whole, monkeypatch):
    """So do several workers, who finish in any order; progress counts subjects."""
    monkeypatch.setattr(local, "PART", 100)
    told = []
    assert plan(n_jobs=2, progress=told.append).to_arrow().equals(whole)
    assert [now.done for now in told if now.total == 500] == [100, 200, 300, 400, 500]


def test_rows_in_another_order_give_the_same_plans(whole):
    """A table has no order: rows come out by subject."""
    shuffled = STATES.sample(frac=1, random_state=3)
    found = ls.plan_cohort(RADIO, shuffled, 4, plays=(0, 1), budget=BUDGET, calendar=JUNE)
    assert found.to_arrow().equals(whole)
    names = whole.column("subject").to_pylist()
    assert names == sorted(names)


def test_finished_parts_are_not_planned_again(whole, tmp_path, monkeypatch):
    """A run that fails in the middle leaves its parts; the next one plans only the others."""
    monkeypatch.setattr(local, "PART", 100)
    out = tmp_path / "plans.parquet"
    true_plan, calls = local.Job.plan, []

    def failing(job, roster):
        calls.append(len(calls))
        if len(calls) == 4:
            raise RuntimeError("the power went out")
        return true_plan(job, roster)

    monkeypatch.setattr(local.Job, "plan", failing)
    with pytest.raises(RuntimeError):
        plan(out=out, n_jobs=1)
    assert not out.exists()
    plan(out=out, n_jobs=1)
    assert len(calls) == 4 + 2  # three were there
    assert pq.read_table(out).equals(whole)
    assert [file.name for file in tmp_path.iterdir()] == ["plans.parquet"]


def test_parts_of_another_question_are_not_used(tmp_path, monkeypatch):
    """What was left of a run with other curves is never taken for this one's."""
    monkeypatch.setattr(local, "PART", 100)
    out = tmp_path / "plans.parquet"

    def ended(*_):
        raise RuntimeError("ended before the parts were put together")

    with monkeypatch.context() as patch:
        patch.setattr("lastswitch.cohorts.call.write", ended)
        with pytest.raises(RuntimeError):
            plan(out=out, n_jobs=1)
    other = ls.Bandit([*RADIO.curves[:2], ls.curves.constant(0.8)], names=RADIO.names)
    again = ls.plan_cohort(other, STATES, 4, out=out, n_jobs=1)
    assert again.to_arrow().equals(ls.plan_cohort(other, STATES, 4).to_arrow())


KILLED = """
import sys
import pandas as pd
import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, random_states
from lastswitch.cohorts import local

local.PART = 20
if __name__ == "__main__":
    plan = ls.plan_cohort(
        RADIO, random_states(500), 4, plays=(0, 1), budget="everyone: 300 per round",
        calendar=JUNE, out=sys.argv[1], n_jobs=1,
    )
"""


def test_a_killed_run_goes_on_and_writes_the_same(whole, tmp_path):
    """After kill -9 in the middle, a rerun gives the very same rows, none of them twice."""
    script, out = tmp_path / "night.py", tmp_path / "plans.parquet"
    script.write_text(KILLED)
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-W", "ignore", str(script), str(out)]
    parts = tmp_path / ".plans.parquet.parts"
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}) as night:
        while not list(parts.glob("part-*.parquet")) and night.poll() is None:
            time.sleep(0.002)
        night.send_signal(signal.SIGKILL)
    kept = {path: path.stat().st_mtime_ns for path in parts.glob("part-*.parquet")}
    if night.returncode == -signal.SIGKILL:  # else it was done before it could be killed
        assert kept
        assert not out.exists()
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert done.returncode == 0
    assert pq.read_table(out).equals(whole)
    assert not parts.exists()


def test_two_runs_of_one_output_are_kept_apart(tmp_path):
    """The second is told of the first, and harms nothing; a lock does not outlive its run."""
    out = tmp_path / "plans.parquet"
    with work_folder(out), pytest.raises(FileError, match="another run is writing"):
        plan(out=out)
    plan(out=out)
    assert out.exists()


@given(st.lists(st.text(), max_size=20))
@settings(max_examples=25)
def test_keys_are_those_of_the_definition(names):
    """The kernel's hash is the plain one, of any text."""
    clean = [name.encode("utf-8", "replace").decode() for name in names]
    assert keys_of(pa.array(clean, pa.string())).tolist() == [plain_key(name) for name in clean]


@given(st.lists(st.integers(0, 7), max_size=8), st.integers(1, 6))
@settings(max_examples=25)
def test_batches_of_any_size_become_parts(sizes, size):
    """No row is lost or moved, and only the last part is short."""
    whole, pieces = 0, []
    for n in sizes:
        pieces.append(pa.record_batch({"row": pa.array(range(whole, whole + n), pa.int64())}))
        whole += n
    parts = list(in_parts(pieces, size))
    assert [row for part in parts for row in part.column("row").to_pylist()] == list(range(whole))
    assert all(len(part) == size for part in parts[:-1])


def test_a_census_adds_up():
    """Who stands where is counted by standing and weight, whatever the parts."""
    rng = np.random.default_rng(0)
    rows, weights = rng.integers(0, 3, (200, 2)), rng.choice([0.5, 1.0], 200)
    ones = np.ones(200, np.int64)
    parts = [Census(rows[k::3], weights[k::3], ones[k::3]) for k in range(3)]
    found = joined([joined(parts[:2]), parts[2]])
    expected: dict = {}
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        key = (*row, weight)
        expected[key] = expected.get(key, 0) + 1
    keys = [(*row, w) for row, w in zip(found.rows.tolist(), found.weights, strict=True)]
    assert dict(zip(keys, found.counts.tolist(), strict=True)) == expected
