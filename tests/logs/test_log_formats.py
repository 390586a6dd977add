"""What people have: dates of all orders, zones of all spellings, words, commas, odd files."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lastswitch.errors import LogError
from lastswitch.logs import fit_curves
from lastswitch.logs.source import LONGEST_LINE


def states(times, every="1d", **how):
    """Return (plays in a row, one round of rest, two rounds) for plays of one arm at ``times``."""
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    events = fit_curves(frame, subject=None, every=every, **how).counts.pooled.events[0]
    return int(events[61]), int(events[1]), int(events[2])


@pytest.mark.parametrize(
    ("times", "pattern"),
    [
        (["01/02/2024", "02/02/2024", "04/02/2024"], "%d/%m/%Y"),
        (["02/01/2024", "02/02/2024", "02/04/2024"], "%m/%d/%Y"),
        (["1.2.24 9:05", "2.2.24 9:05", "4.2.24 9:05"], "%d.%m.%y %H:%M"),
        (["Feb 1 2024 11:00 PM", "Feb 2 2024 12:30 AM", "Feb 4 2024 1:00 AM"], "%b %d %Y %I:%M %p"),
        ([20240201, 20240202, 20240204], "%Y%m%d"),
        ([1706745600, 1706832000, 1707004800], "unix"),
        ([1706745600000, 1706832000000, 1707004800000], "unix_ms"),
        (["1706745600", "1706832000", "1707004800"], "unix"),
    ],
)
def test_times_of_a_stated_format_are_read(times, pattern):
    """A play, one the next day, and one after a day of rest."""
    assert states(times, time_format=pattern) == (1, 1, 0)


@pytest.mark.parametrize("pattern", ["%d/%m", "%q", "%Y-%m-%d %Y", "soon"])
def test_formats_that_say_no_date_are_refused(pattern):
    """The message shows a good one."""
    with pytest.raises(LogError, match=r"%d"):
        states(["01/02/2024"], time_format=pattern)


def test_ambiguous_dates_are_not_guessed():
    """03/04 may be either; the message names the option."""
    with pytest.raises(LogError, match=r"time_format='%d/%m/%Y' reads day first"):
        states(["03/04/2024", "04/04/2024"])


def test_seconds_need_a_word_to_be_days():
    """Plain numbers with every='1d': the message says how."""
    with pytest.raises(LogError, match="say time_format='unix'"):
        states([1706745600, 1706832000])


@pytest.mark.parametrize(
    "times",
    [
        ["2024-03-01T10:00:00+02", "2024-03-01T11:00:00+02", "2024-03-01T12:00:00+02"],
        ["2024-03-01 10:00:00 Europe/Rome", "2024-03-01 10:00:00Z", "2024-03-01 11:00:00 UTC"],
        ["2024-03-01T08:00:00Z", "2024-03-01T10:00:00+01:00", "2024-03-01T06:00:00-0400"],
        ["2024-07-01 10:00:00 Europe/Rome", "2024-07-01 09:00:00Z", "2024-07-01 12:00:00+02"],
    ],
)
def test_zones_of_every_spelling_are_honoured(times):
    """Three consecutive hours are a first play, the second in a row and the third."""
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    events = fit_curves(frame, subject=None, every="1h").counts.pooled.events[0]
    assert (events[0], events[61], events[62]) == (1, 1, 1)


def test_a_zone_nobody_knows_makes_a_time_unreadable():
    """It is counted, not dropped in silence."""
    frame = pd.DataFrame(
        {
            "time": [
                "2024-03-01 10:00:00 Mars/Base",
                "2024-03-01 10:00:00Z",
                "2024-03-02 10:00:00Z",
            ],
            "arm": "a",
            "reward": 1.0,
        }
    )
    with pytest.warns(UserWarning, match="1 × time missing or unreadable"):
        assert fit_curves(frame, subject=None, every="1d").summary.plays == 2


def test_words_and_decimal_commas_are_read_when_said():
    """Yes and no, and 0,5."""
    frame = pd.DataFrame({"time": range(4), "arm": "a", "reward": ["Yes", "no", "0,5", "YES"]})
    fit = fit_curves(frame, subject=None, decimal=",", reward_words={"yes": 1, "no": 0})
    assert fit.counts.total.sum() == 2.5
    with pytest.raises(LogError, match=r"reward_words=.*decimal=','"):
        fit_curves(frame.head(3), subject=None)


@pytest.mark.parametrize("text", ["1_0", "0x1", "1e", "--1", "١"])
def test_what_is_no_number_is_no_number(text):
    """Engines read more than people write."""
    frame = pd.DataFrame({"time": range(2), "arm": "a", "reward": ["1", text]})
    with pytest.warns(UserWarning, match="1 × reward not a number"):
        assert fit_curves(frame, subject=None).summary.plays == 1


@pytest.mark.parametrize("every", [0.1, 0.01])
def test_fractions_of_a_unit_are_exact(every):
    """Thirty consecutive rounds are thirty, although 0.3 / 0.1 is a hair below 3."""
    times = (
        [place * every for place in range(30)]
        if every == 0.1
        else [float(f"{place / 100:.2f}") for place in range(30)]
    )
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    summary = fit_curves(frame, subject=None, every=every).summary
    assert (summary.plays, summary.merged) == (30, 0)


HEAD = "time,arm,reward\n"


def test_a_name_with_brackets_is_a_name(tmp_path):
    """data[1].csv is that file, not data1.csv."""
    (tmp_path / "data[1].csv").write_text(HEAD + "1,right,1\n2,right,1\n")
    (tmp_path / "data1.csv").write_text(HEAD + "1,wrong,1\n")
    assert fit_curves(tmp_path / "data[1].csv", subject=None).counts.names == ("right",)
    assert fit_curves(str(tmp_path / "data[0-9].csv"), subject=None).counts.names == ("wrong",)


def test_a_long_line_is_read_and_a_monstrous_one_named(tmp_path):
    """Five megabytes are a line; more than any event could hold are named by their number."""
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "1,a,1\n2,a," + "x" * 5_000_000 + "\n3,a,0\n")
    with pytest.warns(UserWarning, match="1 × reward not a number"):
        assert fit_curves(path, subject=None).summary.plays == 2
    path.write_text(HEAD + "1,a,1\n2,a," + "x" * (LONGEST_LINE + 9) + "\n3,a,0\n")
    with pytest.raises(LogError, match="line 3 is longer than 16 MiB"):
        fit_curves(path, subject=None)


def test_nested_columns_are_refused(tmp_path):
    """A list of rewards in a row is no reward."""
    table = pa.table({"time": [1, 2], "arm": ["a", "a"], "reward": [[1.0], [0.0]]})
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(LogError, match="'reward' for the reward is nested"):
        fit_curves(tmp_path / "log.parquet", subject=None)


def test_columns_nobody_named_may_be_nested(tmp_path):
    """They do not matter, nor do they stop copies from being dropped."""
    table = pa.table(
        {"time": [1, 1, 2], "arm": ["a"] * 3, "reward": [1.0] * 3, "x": [[1], [1], [1]]}
    )
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.warns(UserWarning, match="1 × copy"):
        fit = fit_curves(tmp_path / "log.parquet", subject=None, copies="drop")
    assert fit.summary.plays == 2
