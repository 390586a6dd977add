"""The same plans on Ray, Dask and Spark as on this machine, and Spark reads logs alike."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, random_events, random_states
from lastswitch import rules as r
from lastswitch.cohorts import local
from lastswitch.errors import CohortError
from lastswitch.logs.source import open_log

pytestmark = pytest.mark.engines

STATES = random_states(400).assign(weight=[1.0, 2.0] * 200)


@pytest.fixture(scope="module")
def spark():
    """Keep one local Spark for the whole file."""
    with open_log(STATES, "spark") as source:
        source.connection._session.conf.set("spark.sql.shuffle.partitions", "2")
        yield source.connection


def plan(backend=None, **options):
    """Plan one cohort within a budget that splits subjects who stand alike."""
    asked = {"plays": (0, 1), "calendar": JUNE, "budget": "everyone: 250 per round"}
    return ls.plan_cohort(RADIO, STATES, 4, backend=backend, n_jobs=2, **asked, **options)


def test_ray_and_dask_give_the_same_plans(tmp_path, monkeypatch):
    """Parts planned by workers of either are those planned here."""
    expected = plan().to_arrow()
    monkeypatch.setattr(local, "PART", 100)
    for backend in ("ray", "dask"):
        found = plan(backend, out=tmp_path / f"{backend}.parquet")
        assert found.to_arrow().equals(expected)
        assert pq.read_table(tmp_path / f"{backend}.parquet").equals(expected)


def test_spark_gives_the_same_plans(spark, tmp_path):
    """Planned on its partitions, with prices from its aggregates; held or written as a folder."""
    here, there = plan(), plan("spark")
    assert there.to_arrow().equals(here.to_arrow())
    assert there.value == pytest.approx(here.value)
    assert (there.plays == here.plays).all()
    assert there.others == pytest.approx(here.others)
    written = plan("spark", out=tmp_path / "plans.parquet")
    assert written.path.is_dir()
    keys = [("subject", "ascending"), ("round", "ascending")]
    assert written.to_arrow().sort_by(keys).equals(here.to_arrow())
    plan("spark", out=tmp_path / "plans.parquet")  # again, in the place of the first
    assert [path.name for path in tmp_path.iterdir()] == ["plans.parquet"]


def test_spark_reads_a_log_as_here(spark, tmp_path):
    """States, recent plays and newcomers from a log are the same on both engines."""
    random_events(12, 150).to_parquet(tmp_path / "events.parquet")
    rules = [r.apart("jazz", 3), r.at_most("everyone", 3, within=4)]
    asked = {"rules": rules, "plays": (0, 1), "calendar": JUNE}
    log = ls.logs.EventLog(tmp_path / "events.parquet")
    names = [f"u{k:03d}" for k in range(0, 12, 2)]
    for who in (None, [*names, "new"]):
        here = ls.plan_cohort(RADIO, log, 4, subjects=who, **asked)
        there = ls.plan_cohort(RADIO, log, 4, subjects=who, backend="spark", **asked)
        assert there.to_arrow().equals(here.to_arrow())


def test_spark_refuses_what_is_refused_here(spark, tmp_path):
    """Someone twice is told by name, and nothing is written."""
    with pytest.raises(CohortError, match="is there 400 times"):
        ls.plan_cohort(
            RADIO, STATES.assign(subject="ann"), 2, backend="spark", out=tmp_path / "p.parquet"
        )
    assert list(tmp_path.iterdir()) == []
