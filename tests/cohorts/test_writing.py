"""What is written: one table, or a feed per subject; whole, safe and readable."""

from __future__ import annotations

import csv

import icalendar
import pandas as pd
import pyarrow.parquet as pq
import pytest

import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, random_states
from lastswitch.cohorts.writing import file_name
from lastswitch.errors import CohortError, FileError

HOSTILE = ["../../etc/passwd", "=1+1", "CON", "con", "a/b", "a\\b", ".", "é\n", "x" * 300, "-"]
STATES = random_states(len(HOSTILE)).assign(subject=HOSTILE)
PLAIN = random_states(9)


def test_parquet_holds_the_long_table(tmp_path):
    """Subject, round, date, arm, pay, value and bound, readable by anyone, sorted."""
    plan = ls.plan_cohort(RADIO, PLAIN, 3, calendar=JUNE, out=tmp_path / "plans.parquet")
    table = pq.read_table(tmp_path / "plans.parquet")
    assert table.schema.names == ["subject", "round", "date", "arm", "pay", "value", "bound"]
    kinds = [str(kind) for kind in table.schema.types]
    assert kinds == ["string", "int32", "date32[day]", "string", "double", "double", "double"]
    assert table.equals(ls.plan_cohort(RADIO, PLAIN, 3, calendar=JUNE).to_arrow())
    assert table.equals(plan.to_arrow())
    assert len(plan.to_frame("polars")) == 27


def test_rounds_without_dates_and_within_a_day(tmp_path):
    """No calendar, no dates; rounds shorter than a day say when they begin, in their zone."""
    assert "date" not in ls.plan_cohort(RADIO, PLAIN, 2).to_arrow().schema.names
    hours = ls.Calendar("2024-06-03", every="12h", zone="Europe/Rome")
    table = ls.plan_cohort(RADIO, PLAIN, 2, calendar=hours).to_arrow()
    begins = table.column("begin").to_pylist()[:2]
    assert [moment.isoformat() for moment in begins] == [
        "2024-06-03T00:00:00+02:00",
        "2024-06-03T12:00:00+02:00",
    ]


def test_csv_runs_nothing(tmp_path):
    """Every row is there, and no cell is a formula."""
    ls.plan_cohort(RADIO, STATES, 3, calendar=JUNE, out=tmp_path / "plans.csv")
    with open(tmp_path / "plans.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = {row["subject"] for row in rows}
    assert len(rows) == 3 * len(HOSTILE)
    assert "'=1+1" in names
    assert not any(name.startswith(("=", "@")) for name in names)
    assert rows[0]["date"] == "2024-06-03"


def test_a_feed_per_subject_stays_in_its_folder(tmp_path):
    """Hostile names become files of their own in the folder, and valid feeds; a rerun replaces."""
    folder = tmp_path / "feeds"
    for _ in range(2):
        ls.plan_cohort(RADIO, STATES, 3, calendar=JUNE, out=folder, form="ics")
        files = sorted(folder.iterdir())
        assert len(files) == len({file.name.lower() for file in files}) == len(HOSTILE)
        assert [path.name for path in tmp_path.iterdir()] == ["feeds"]
    for file in files:
        events = icalendar.Calendar.from_ical(file.read_bytes()).walk("VEVENT")
        assert len(events) == 3
        assert {str(event["SUMMARY"]) for event in events} <= set(RADIO.names)


def test_names_of_files_are_told_apart():
    """Also where a system takes capitals for small letters, or cuts what is long."""
    names = [file_name(name) for name in HOSTILE]
    assert len({name.lower() for name in names}) == len(HOSTILE)
    assert all(len(name) < 90 and "/" not in name and not name.startswith(".") for name in names)


BAD = {
    "format": ("plans.txt", {}, FileError, "cannot tell the format"),
    "folder": ("nowhere/plans.csv", {}, FileError, "does not exist"),
    "word": ("plans.csv", {"form": "xlsx"}, FileError, "must be one of parquet, csv, ics"),
    "dates": ("feeds", {"form": "ics"}, CohortError, "feeds need dates"),
    "taken": (".", {"form": "parquet"}, FileError, "folder"),
}


@pytest.mark.parametrize(("name", "options", "error", "words"), BAD.values(), ids=BAD)
def test_bad_outputs_are_refused_before_any_work(tmp_path, name, options, error, words):
    """Nothing is planned that could not be written."""
    with pytest.raises(error, match=words):
        ls.plan_cohort(RADIO, PLAIN, 2, out=tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_others_is_not_replaced(tmp_path):
    """Feeds replace a folder as a whole, so never one with anything else in it."""
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "thesis.doc").write_text("years of work")
    with pytest.raises(FileError, match=r"holds 'thesis\.doc'"):
        ls.plan_cohort(RADIO, PLAIN, 2, calendar=JUNE, out=tmp_path / "feeds", form="ics")


def test_what_is_refused_leaves_the_old_output(tmp_path):
    """A night that fails leaves yesterday's file as it was."""
    out = tmp_path / "plans.parquet"
    ls.plan_cohort(RADIO, PLAIN, 2, out=out)
    before = out.read_bytes()
    with pytest.raises(CohortError):
        ls.plan_cohort(RADIO, pd.concat([PLAIN, PLAIN]), 2, out=out)
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["plans.parquet"]
