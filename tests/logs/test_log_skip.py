"""Rounds that do not exist in a log: rest is counted in open rounds, on any clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import CalendarError, LogError
from lastswitch.logs.reading import EventLog
from log_replay import replay_by_clock

#: The Friday before summer time begins in Rome.
FRIDAY = datetime(2024, 3, 29, tzinfo=UTC)


def log_of(rows):
    """Return a log of (subject, hours after the start, arm, reward)."""
    return pd.DataFrame(
        {
            "subject": [row[0] for row in rows],
            "time": [(FRIDAY + timedelta(hours=row[1])).isoformat() for row in rows],
            "arm": [row[2] for row in rows],
            "reward": [row[3] for row in rows],
        }
    )


def engine_states(log, **clock):
    """Return (subject, arm, tau) of every play by the engine, in the order of the rounds."""
    with EventLog(log, **clock).open("reward") as reading:
        table = reading.source.connection.to_pyarrow(reading.states())
    rows = sorted(table.to_pylist(), key=lambda row: (row["subject"], row["arm"], row["round"]))
    return [(row["subject"], row["arm"], row["tau"]) for row in rows]


def plain_states(rows, calendar):
    """Return the same by asking a calendar about every event, one by one."""
    numbered = []
    for subject, hours, arm, reward in rows:
        moment = FRIDAY + timedelta(hours=hours)
        if calendar.zone is None:
            moment = moment.replace(tzinfo=None)
        try:
            numbered.append((subject, calendar.round(moment), arm, reward))
        except CalendarError:
            continue  # closed
    plays = replay_by_clock(numbered, 1.0)
    return [(play[0], play[1], play[4]) for play in sorted(plays, key=lambda play: play[:3])]


events = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob"]),
        st.integers(0, 12 * 24),
        st.sampled_from(["jazz", "talk"]),
        st.sampled_from([0.0, 1.0]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=15)
@given(
    events,
    st.sampled_from(["1d", "6h", "1h", "30min"]),
    st.sampled_from([None, "Europe/Rome", "Australia/Lord_Howe"]),
    st.sampled_from(["00:00", "04:00"]),
    st.sampled_from(["sat-sun", "22:00-04:00", "2024-04-01..2024-04-03", "mon 00:00-24:00, wed"]),
)
def test_states_count_open_rounds(rows, every, zone, day_starts, skip):
    """The engine's states are those of a calendar asked event by event."""
    try:
        calendar = ls.Calendar("2024-04-04", every, zone, skip, day_starts)
        expected = plain_states(rows, calendar)
    except CalendarError:  # the nights are the days' beginnings: nothing is open
        with pytest.raises(LogError, match="skip leaves out all"):
            engine_states(log_of(rows), every=every, zone=zone, day_starts=day_starts, skip=skip)
        return
    if not expected:
        with pytest.raises(LogError, match="skip leaves out all"):
            engine_states(log_of(rows), every=every, zone=zone, day_starts=day_starts, skip=skip)
        return
    found = engine_states(log_of(rows), every=every, zone=zone, day_starts=day_starts, skip=skip)
    assert found == expected


def office_log():
    """Return a log of workdays: jazz on Friday, Monday, Tuesday and Thursday; one on Saturday."""
    hours = {"fri": 12, "sat": 36, "mon": 84, "tue": 108, "thu": 156}
    return log_of([("ann", hour, "jazz", 1.0) for hour in hours.values()])


def test_a_weekend_is_no_rest():
    """From Friday to Monday is one open round; the Saturday event is left out and counted."""
    log = office_log()
    skipped = engine_states(log, every="1d", skip="sat-sun")
    assert [tau for _, _, tau in skipped] == [None, -1, -2, 1]
    counted = engine_states(log, every="1d")
    assert [tau for _, _, tau in counted] == [None, -1, 1, -1, 1]


def test_every_row_is_accounted_for():
    """Rows are plays, joined ones and those left out; a missing reward is left out once."""
    rows = [
        (f"s{k}", 12 + 24 * day, "jazz", 1.0 if day % 2 else 0.0)
        for k in range(40)
        for day in range(8)
    ]
    log = log_of(rows)
    log.loc[3, "reward"] = None  # a Monday
    log.loc[9, "reward"] = None  # a Saturday
    with pytest.warns(ls.errors.LastSwitchWarning):
        fit = ls.fit_curves(log, every="1d", skip="sat-sun")
    summary = fit.summary
    kinds = {entry.kind: entry.count for entry in summary.bad}
    assert kinds["closed"] == 79
    assert summary.rows == 320 == summary.plays + summary.merged + summary.left_out
    assert summary.skip == "sat-sun"
    assert ls.fit_curves(office_and_more(), every="1d").summary.skip == ""


def office_and_more():
    """Return enough events for a fit."""
    return log_of(
        [(f"s{k}", 12 + 24 * d, "jazz", float(d % 2)) for k in range(40) for d in range(5)]
    )


def test_states_now_count_open_rounds():
    """On Sunday the coming round is Monday's: Friday's play was the round before."""
    log = log_of([("ann", 12, "jazz", 1.0)])
    at = {"zone": "Europe/Rome", "every": "1d", "skip": "sat-sun"}
    for day, tau in (("2024-03-31", -1), ("2024-04-01", -1), ("2024-04-02", 1), ("2024-04-06", 5)):
        found = ls.logs.current_states(log, at=day, **at)
        assert found["tau"].to_pylist() == [tau]
    assert ls.logs.current_states(log, **at)["tau"].to_pylist() == [-1]


def test_a_log_in_closed_rounds_only_is_refused():
    """With what to do."""
    log = log_of([("ann", 36, "jazz", 1.0)])
    with pytest.raises(LogError, match="skip leaves out all 1 events"):
        ls.fit_curves(log, every="1d", skip="sat")


def test_skip_needs_a_clock_and_words():
    """It leaves out rounds of the clock; misspelt words get a suggestion."""
    with pytest.raises(LogError, match="say how long a round is"):
        ls.fit_curves(office_log(), skip="sat")
    with pytest.raises(CalendarError, match="did you mean 'sat'"):
        ls.fit_curves(office_log(), every="1d", skip="satt")


def test_zones_have_one_clock():
    """The hour that comes twice has two rounds, as in a calendar."""
    night = datetime(2024, 10, 27, tzinfo=ZoneInfo("Europe/Rome")).astimezone(UTC)
    log = pd.DataFrame(
        {
            "subject": "ann",
            "time": [(night + timedelta(hours=h)).isoformat() for h in (1, 2, 3, 4)],
            "arm": "jazz",
            "reward": 1.0,
        }
    )
    states = engine_states(log, every="1h", zone="Europe/Rome", skip="mon")
    assert [tau for _, _, tau in states] == [None, -1, -2, -3]
