"""The same expressions on Spark give the same states, faults and counts."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from lastswitch.logs import current_states, fit_curves
from lastswitch.logs.clock import Rounds
from lastswitch.logs.source import open_log
from lastswitch.logs.states import plays_by_clock, plays_in_order, with_states
from log_replay import (
    KINDS,
    computed_states,
    random_log,
    replay_by_clock,
    replay_in_order,
    table_of,
)

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def spark():
    """One local Spark for the whole file, bound to the loopback address and stopped at the end."""
    with open_log(table_of([("s", 0.0, "a", 1.0)]), "spark") as source:
        source.connection._session.conf.set("spark.sql.shuffle.partitions", "2")
        yield source.connection


@pytest.mark.parametrize("kind", KINDS)
def test_states_in_order_equal_a_replay_on_spark(spark, kind):
    """Each event a round, on Spark."""
    rows = random_log(np.random.default_rng(11), kind)
    found = computed_states(spark, with_states(plays_in_order(table_of(rows))))
    assert found == sorted(replay_in_order(rows), key=repr)


@pytest.mark.parametrize("kind", KINDS)
def test_states_by_clock_equal_a_replay_on_spark(spark, kind):
    """Rounds from the clock, on Spark."""
    rows = random_log(np.random.default_rng(12), kind)
    found = computed_states(spark, with_states(plays_by_clock(table_of(rows), Rounds(3.0, 0.0))))
    expected = sorted(replay_by_clock(rows, 3.0), key=repr)
    assert [play[:3] + play[4:] for play in found] == [play[:3] + play[4:] for play in expected]


def test_closed_rounds_are_no_rests_on_spark(spark):
    """What a calendar leaves out is left out on Spark as it is on DuckDB."""
    log = table_of([("s", 86400.0 * day, "a", 1.0) for day in (0, 1, 4, 5, 11)])  # from a Thursday
    days = log.mutate(time=log.time.cast("int64").as_timestamp("s"))
    words = {"every": "1d", "skip": "sat-sun", "at": "1970-01-20"}
    found = [current_states(days, backend=engine, **words) for engine in (None, spark)]
    assert found[0].to_pylist() == found[1].to_pylist() == [{"subject": "s", "arm": "a", "tau": 5}]


MESSY = """who,when,what,paid
ann,2024-03-01 10:00:00.250000,jazz,1
ann,2024-03-01 10:00:00.125000,talk,0
ann,2024-03-02T09:00:00,jazz,true
ann,2024-03-02T09:00:00,jazz,true
bob,2024-03-01 08:00:00,jazz,lots
bob,2024-03-04,talk,1
bob,2024-03-05T00:30:00+02:00,jazz,1
,2024-03-04,talk,1
bob,soon,talk,1
bob,2024-03-06,,1
"""


@pytest.mark.parametrize("every", [None, "1d"])
def test_a_messy_file_is_read_alike_on_both_engines(spark, tmp_path, every):
    """Faults by kind, counts and curves agree between DuckDB and Spark."""
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    roles = {"subject": "who", "time": "when", "arm": "what", "reward": "paid", "every": every}
    with pytest.warns(UserWarning, match="bad rows"):
        here = fit_curves(path, **roles)
    with pytest.warns(UserWarning, match="bad rows"):
        there = fit_curves(path, **roles, backend=spark)
    assert [(b.kind, b.count) for b in here.summary.bad] == [
        (b.kind, b.count) for b in there.summary.bad
    ]
    assert here.summary.plays == there.summary.plays
    for mine, yours in zip(here.counts.pooled, there.counts.pooled, strict=True):
        assert mine == pytest.approx(yours)


def test_spark_reads_parquet_and_offsets_like_duckdb(spark, tmp_path):
    """Zoned times are put in one order by their instants, whatever their offsets."""
    rows = [
        ("s", "2024-03-01T10:00:00+05:00", "a", 1.0),
        ("s", "2024-03-01T06:00:00Z", "b", 0.0),
        ("s", "2024-03-01T03:30:00-0330", "a", 1.0),
    ]
    names = ("subject", "time", "arm", "reward")
    table = ibis.memtable([dict(zip(names, row, strict=True)) for row in rows])
    path = tmp_path / "zoned.parquet"
    ibis.duckdb.connect().to_parquet(table, path)
    for backend in (None, spark):
        fit = fit_curves(path, backend=backend)
        assert fit.counts.pooled.events[0].nonzero()[0].tolist() == [0, 1]


FORMATS = {
    "time_format": ["01/02/2024 23:30", "02/02/2024 00:30", "04/02/2024 12:00"],
    "zone": ["2024-03-30T23:30:00+02", "2024-03-31 10:00:00 Europe/Rome", "2024-04-02T09:00:00Z"],
}


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_and_zones_are_read_alike_on_both_engines(spark, tmp_path, kind):
    """Days cut in Rome at four in the morning, from dates and zones of several spellings."""
    path = tmp_path / "log.csv"
    rows = "".join(f"s,{time},a,yes\n" for time in FORMATS[kind])
    path.write_text("subject,time,arm,reward\n" + rows)
    how = {"every": "1d", "zone": "Europe/Rome", "day_starts": "04:00", "reward_words": {"yes": 1}}
    if kind == "time_format":
        how["time_format"] = "%d/%m/%Y %H:%M"
    here, there = (fit_curves(path, backend=engine, **how) for engine in (None, spark))
    assert here.summary.bad == there.summary.bad == ()
    assert here.counts.pooled.events.tolist() == there.counts.pooled.events.tolist()


def test_current_states_are_the_same_on_both_engines(spark):
    """Everyone's state on a day, from the same expressions."""
    from lastswitch.logs import current_states

    rng = np.random.default_rng(3)
    rows = [
        {
            "subject": f"s{rng.integers(6)}",
            "time": f"2024-03-{rng.integers(1, 29):02d} {rng.integers(24):02d}:15:00",
            "arm": f"a{rng.integers(3)}",
        }
        for _ in range(120)
    ]
    how = {"every": "1d", "zone": "Europe/Rome", "day_starts": "04:00", "at": "2024-03-25"}
    table = ibis.memtable(rows)
    here, there = (current_states(table, backend=engine, **how) for engine in (None, spark))
    assert here.to_pylist() == there.to_pylist()


def test_a_random_order_of_ties_is_one_on_spark_too(spark):
    """Every event has a round of its own, and the draw is the same every time."""
    rows = random_log(np.random.default_rng(7), "ties")
    table = table_of(rows).drop("order")
    drawn = [computed_states(spark, with_states(plays_in_order(table, seed))) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({(play[0], play[2]) for play in drawn[0]}) == len(rows)
