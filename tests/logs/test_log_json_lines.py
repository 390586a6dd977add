"""JSON lines are read as CSV is: values are judged one by one, times stay what they say."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from lastswitch.errors import LastSwitchWarning, LogError
from lastswitch.logs import fit_curves
from log_replay import KINDS, random_log

NAMES = ("subject", "time", "arm", "reward")


def written(path, rows):
    """Write rows as JSON lines, packed where the name says so."""
    text = "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.jsonl.gz"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_give_the_same_counts(tmp_path, kind, name):
    """As JSON lines and as CSV."""
    rows = [row for row in random_log(np.random.default_rng(5), kind) if None not in row]
    rows = [(str(a), b, str(c), d) for a, b, c, d in rows]
    csv = tmp_path / "log.csv"
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
    csv.write_text("\n".join(lines) + "\n")
    found = [
        fit_curves(path, min_events=1).counts.pooled.events
        for path in (csv, written(tmp_path / name, rows))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("zone", ["Z", "+02:00", " Europe/Rome", ""])
def test_zones_are_those_of_the_text(tmp_path, zone):
    """The engine would drop a Z, and read 10:00Z as 10:00 of wherever the log is from."""
    times = [f"2024-03-01T{hour}:30:00{zone}" for hour in ("21", "22", "23")]
    rows = [("s", time, "a", 1.0) for time in times]
    csv = tmp_path / "log.csv"
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
    csv.write_text("\n".join(lines) + "\n")
    found = [
        fit_curves(path, every="1h", zone="Asia/Tokyo").counts.pooled.events
        for path in (csv, written(tmp_path / "log.jsonl", rows))
    ]
    np.testing.assert_array_equal(*found)


def test_a_value_that_is_no_number_is_counted_not_fatal(tmp_path):
    """Even where the first thousands of lines are fine."""
    rows = [("s", k, "a", 1.0) for k in range(30_000)] + [("s", 30_000, "a", "lots")]
    path = written(tmp_path / "log.jsonl", rows)
    with pytest.warns(LastSwitchWarning, match="lots"):
        fit = fit_curves(path)
    assert fit.counts.pooled.events.sum() == 30_000


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"subject": "s", "time": 1, "arm": "a", "reward": 1}\n{"subject": "s", "ti\n', "cannot"),
        ('{"subject": "s", "time": 1, "arm": ["a"], "reward": 1}\n', "nested"),
    ],
)
def test_what_is_not_a_log_is_refused_in_words(tmp_path, text, word):
    """A line that is cut off, and arms in lists."""
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(LogError, match=word):
        fit_curves(path)


def test_a_mixture_of_formats_is_refused(tmp_path):
    """One log, one format."""
    (tmp_path / "a.csv").write_text("subject,time,arm,reward\ns,1,a,1\n")
    written(tmp_path / "b.jsonl", [("s", 2, "a", 1.0)])
    with pytest.raises(LogError, match="mixture"):
        fit_curves(tmp_path)
