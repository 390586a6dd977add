"""Reading logs: formats, columns, and rows that cannot be used."""

from __future__ import annotations

import datetime as dt
import hashlib
import re

import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lastswitch.errors import InputTypeError, LastSwitchWarning, LogError
from lastswitch.logs import fit_curves

ROWS = [
    {"subject": who, "time": f"2024-01-{day:02d}", "arm": arm, "reward": paid}
    for who in ("ann", "bob")
    for day, arm, paid in ((1, "jazz", 1), (2, "jazz", 0), (4, "talk", 1), (5, "jazz", 1))
]


def as_csv(rows) -> str:
    """Return rows as the text of a CSV file."""
    head = list(rows[0])
    lines = [",".join("" if row[name] is None else str(row[name]) for name in head) for row in rows]
    return "\n".join([",".join(head), *lines]) + "\n"


def events_of(fit) -> list:
    """Return the events of each arm, column by column."""
    return fit.counts.pooled.events.tolist()


def test_every_kind_of_log_gives_the_same_counts(tmp_path):
    """CSV, packed CSV, Parquet, several files, a folder, pandas and Arrow are one log."""
    frame = pd.DataFrame(ROWS)
    table = pa.Table.from_pylist(ROWS)
    (tmp_path / "parts").mkdir()
    (tmp_path / "log.csv").write_text(as_csv(ROWS))
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    pq.write_table(table, tmp_path / "log.parquet")
    for number, part in enumerate((ROWS[:3], ROWS[3:])):
        (tmp_path / "parts" / f"{number}.csv").write_text(as_csv(part))
    parts = sorted((tmp_path / "parts").iterdir())
    expected = events_of(fit_curves(frame))
    for log in (
        tmp_path / "log.csv",
        tmp_path / "log.csv.gz",
        str(tmp_path / "log.parquet"),
        parts,
        tmp_path / "parts",
        str(tmp_path / "parts" / "*.csv"),
        table,
    ):
        assert events_of(fit_curves(log)) == expected, log


@pytest.mark.parametrize(
    "times",
    [
        [dt.datetime(2024, 1, day) for day in (1, 2, 4)],
        [dt.date(2024, 1, day) for day in (1, 2, 4)],
        ["2024-01-01", "2024-01-02", "2024-01-04"],
        ["2024-01-01T09:00:00Z", "2024-01-02T09:00:00Z", "2024-01-04T09:00:00Z"],
        ["2024-01-01T23:30:00-0100", "2024-01-02T23:30:00+0000", "2024-01-05T01:30:00+02:00"],
    ],
    ids=["stamps", "dates", "text", "zulu", "offsets"],
)
def test_times_of_every_type_are_days(times):
    """A play, one the next day, and one after a day of rest; but offsets shift the first two."""
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    fit = fit_curves(frame, subject=None, every="1d")
    plays = fit.prior()
    if times[0] == "2024-01-01T23:30:00-0100":  # both on the 2nd in UTC: one play
        assert (fit.summary.plays, fit.summary.merged, plays.rest_counts[0, 0]) == (2, 1, 1)
    else:
        assert (plays.streak_counts[0, 0], plays.rest_counts[0, 0]) == (1, 1)


def test_numbered_times_are_counted_by_a_number():
    """Rounds of 10 units: 0 and 12 follow each other, 35 comes after one of rest."""
    frame = pd.DataFrame({"time": ["0", "12", "35"], "arm": "a", "reward": 1})
    prior = fit_curves(frame, subject=None, every=10).prior()
    assert (prior.streak_counts[0, 0], prior.rest_counts[0, 0]) == (1, 1)


def test_zoned_stamps_keep_their_instants():
    """A column of zoned timestamps is ordered by instant, whatever zone it is shown in."""
    times = pd.to_datetime(["2024-01-01 23:30", "2024-01-03 00:30"]).tz_localize("Asia/Tokyo")
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    prior = fit_curves(frame, subject=None, every="1d").prior()
    assert prior.streak_counts[0, 0] == 1  # 14:30 UTC on the 1st, 15:30 UTC on the 2nd


def test_a_frame_of_mixed_values_is_read_value_by_value():
    """Numbers, words and nothing in one column: each is judged on its own, the frame untouched."""
    paid = [1, "lots", None, 0.5]
    frame = pd.DataFrame({"time": range(4), "arm": "a", "reward": pd.Series(paid, dtype=object)})
    with pytest.warns(LastSwitchWarning, match="2 × reward not a number"):
        fit = fit_curves(frame, subject=None)
    assert fit.counts.events.sum() == 2
    assert frame["reward"].tolist() == paid


def test_an_unreadable_file_is_named(tmp_path):
    """The engine's complaint comes with the file's name, as one of the library's errors."""
    (tmp_path / "broken.parquet").write_text("no parquet")
    with pytest.raises(LogError, match=r"cannot read '.*broken\.parquet' as parquet"):
        fit_curves(tmp_path / "broken.parquet")


def test_a_log_without_rows_says_so(tmp_path):
    """A header alone is an empty log."""
    (tmp_path / "log.csv").write_text("subject,time,arm,reward\n")
    with pytest.raises(LogError, match="no usable event among 0 rows: the log is empty"):
        fit_curves(tmp_path / "log.csv")


MESSY = [
    *ROWS,
    {"subject": None, "time": "2024-01-06", "arm": "jazz", "reward": 1},
    {"subject": "ann", "time": "soon", "arm": "jazz", "reward": 1},
    {"subject": "ann", "time": "2024-01-07T10:00:00+01:00", "arm": "jazz", "reward": 1},
    {"subject": "ann", "time": "2024-01-08", "arm": "  ", "reward": 1},
    {"subject": "ann", "time": "2024-01-06", "arm": "jazz", "reward": "lots"},
    {"subject": "bob", "time": "2024-01-06", "arm": "jazz", "reward": "inf"},
    ROWS[0],
]


def test_bad_rows_are_counted_by_kind_with_examples(tmp_path):
    """Every kind of fault is found, once each, in the order they are filed."""
    path = tmp_path / "messy.csv"
    path.write_text(as_csv(MESSY) + "too,few\n")
    with pytest.warns(LastSwitchWarning, match="bad rows left out"):
        fit = fit_curves(path)
    found = {entry.kind: entry.count for entry in fit.summary.bad}
    assert found == {
        "line": 1,
        "subject": 1,
        "time": 1,
        "zone": 1,
        "arm": 1,
        "reward": 2,
    }
    assert fit.summary.copies == 1
    assert fit.summary.rows == len(MESSY) + 1
    shown = {entry.kind: entry.examples[0] for entry in fit.summary.bad}
    assert "too,few" in shown["line"]
    assert "'soon'" in shown["time"]


def test_a_play_without_a_reward_still_moves_the_state():
    """The third play is the second in a row although the second paid nothing readable."""
    frame = pd.DataFrame({"time": [1, 2, 3], "arm": "a", "reward": ["1", "?", "0"]})
    with pytest.warns(LastSwitchWarning, match="the play moves the state"):
        prior = fit_curves(frame, subject=None).prior()
    assert prior.streak_counts[0, :2].tolist() == [0, 1]


def test_strict_refuses_bad_rows_and_names_them(tmp_path):
    """Nothing is skipped in silence: the message lists each kind with an example."""
    path = tmp_path / "messy.csv"
    path.write_text(as_csv(MESSY))
    with pytest.raises(LogError, match=r"(?s)6 bad rows.*no subject.*unreadable.*'soon'"):
        fit_curves(path, strict=True)


def test_strict_refuses_dropped_copies_too():
    """A row left out as a copy is a row left out."""
    with pytest.raises(LogError, match="copy of another row"):
        fit_curves(pd.DataFrame([*ROWS, ROWS[0]]), strict=True, copies="drop")


def test_a_clean_log_passes_strict():
    """strict=True is silent when there is nothing to say."""
    assert fit_curves(pd.DataFrame(ROWS), strict=True).summary.bad == ()


def test_the_log_is_never_modified(tmp_path):
    """The bytes on disk are the same after a fit."""
    path = tmp_path / "messy.csv"
    path.write_text(as_csv(MESSY))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.warns(LastSwitchWarning):
        fit_curves(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_a_misspelt_column_is_named():
    """The message shows the columns there are, and the likely one."""
    with pytest.raises(LogError, match=re.escape("did you mean 'reward'?")):
        fit_curves(pd.DataFrame(ROWS), reward="rewards")


def test_a_missing_file_is_named():
    """No engine's own error reaches the caller."""
    with pytest.raises(LogError, match=r"no such log: 'nowhere\.csv'"):
        fit_curves("nowhere.csv")


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    """A spreadsheet is no log."""
    (tmp_path / "log.xlsx").write_text("")
    with pytest.raises(LogError, match="cannot tell what"):
        fit_curves(tmp_path / "log.xlsx")


def test_a_log_without_a_usable_row_says_why():
    """All rows bad: the kinds are in the message."""
    frame = pd.DataFrame({"time": [1], "arm": ["a"], "reward": ["?"]})
    with pytest.raises(LogError, match="no usable event among 1 rows: 1 × reward"):
        fit_curves(frame, subject=None)


def test_what_is_no_log_is_refused():
    """Neither a path nor a frame."""
    with pytest.raises(InputTypeError, match="a log is a path"):
        fit_curves(42)


def test_an_unknown_backend_is_refused():
    """The message lists what there is."""
    with pytest.raises(InputTypeError, match="'duckdb', 'spark' or an Ibis connection"):
        fit_curves(pd.DataFrame(ROWS), backend="sqlite")


@pytest.mark.parametrize(
    ("scale", "expected"), [("clip", [1.0, 1.0, 0.0]), ("minmax", [0.5, 1.0, 0.0])]
)
def test_rewards_are_scaled_as_stated(scale, expected):
    """Rewards 2, 5 and -1: cut to [0, 1], or mapped from their own range."""
    frame = pd.DataFrame({"time": [1, 2, 3], "arm": ["a", "b", "c"], "reward": [2.0, 5.0, -1.0]})
    fit = fit_curves(frame, subject=None, scale=scale)
    assert fit.counts.pooled.total[:, 0].tolist() == expected


def test_rewards_outside_the_unit_interval_need_a_rule():
    """The message gives the range found and both rules."""
    frame = pd.DataFrame({"time": [1], "arm": ["a"], "reward": [5.0]})
    with pytest.raises(LogError, match=r"go from 5 to 5; use scale='minmax'.*scale='clip'"):
        fit_curves(frame, subject=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": "log"},
        {"together": "sum"},
        {"max_rest": 0},
        {"level": 1.0},
        {"min_events": 0},
        {"smooth": 0.0},
    ],
)
def test_rules_out_of_range_are_refused(wrong):
    """Each message repeats what was given."""
    with pytest.raises(LogError, match=re.escape(str(next(iter(wrong.values()))))):
        fit_curves(pd.DataFrame(ROWS), **wrong)


def test_an_unreadable_size_of_memory_is_refused():
    """The message shows a good one."""
    with pytest.raises(LogError, match="such as '3GB', got 'plenty'"):
        fit_curves(pd.DataFrame(ROWS), memory="plenty")


def test_a_table_is_read_where_it_lives():
    """An Ibis table of a connection is computed by that connection, without copying it."""
    home = ibis.duckdb.connect()
    home.raw_sql(
        "CREATE TABLE seen AS SELECT 'a' AS arm, i AS time, 1 AS reward FROM range(9) t(i)"
    )
    assert fit_curves(home.table("seen"), subject=None).summary.plays == 9
    assert home.raw_sql("SHOW TABLES").fetchall() == [("seen",)]


def test_only_the_named_columns_are_read(tmp_path):
    """A wide file costs no more: the plan the engine is given names four columns."""
    from lastswitch.logs.source import Columns, open_log, select_columns

    wide = pa.Table.from_pylist([row | {f"extra{i}": "x" for i in range(300)} for row in ROWS])
    pq.write_table(wide, tmp_path / "wide.parquet")
    with open_log(tmp_path / "wide.parquet") as source:
        picked = select_columns(source.table, Columns("subject", "time", "arm", "reward"))
        assert set(picked.columns) == {"subject", "time", "arm", "reward"}
        plan = source.connection.con.execute(f"EXPLAIN {picked.compile()}").fetchall()
    assert "extra" not in str(plan)
