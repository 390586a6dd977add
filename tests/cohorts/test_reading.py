"""Every way to say where subjects stand is read as the same thing, and bad ones are refused."""

from __future__ import annotations

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, random_events, random_states
from lastswitch.cohorts.reading import Question, open_roster
from lastswitch.cohorts.roster import roster_of, text_buffers
from lastswitch.errors import CohortError, FileError, LogError, StateError
from lastswitch.logs import EventLog, current_states


def read(states, **asked):
    """Return the roster as plain values: subject -> (states, weight, recent plays)."""
    question = Question(RADIO, **asked)
    with open_roster(states, question) as opened:
        table = opened.connection.to_pyarrow(opened.table)
        roster = roster_of(table, RADIO, question.lookback, opened.known)
    recent = [None] * len(roster) if roster.recent is None else roster.recent.tolist()
    rows = zip(roster.subject.to_pylist(), roster.tau.tolist(), roster.weight, recent, strict=True)
    return {name: (tau, weight, plays) for name, tau, weight, plays in rows}


STATES = random_states(6)
EXPECTED = {row.subject: ([row.jazz, row.talk, row.news], 1.0, None) for row in STATES.itertuples()}
LONG = STATES.melt("subject", var_name="arm", value_name="tau")


def test_states_by_column_are_read_from_every_kind_of_table(tmp_path):
    """Data frames of three libraries, two kinds of file and an Ibis table say the same."""
    STATES.to_csv(tmp_path / "states.csv", index=False)
    STATES.to_parquet(tmp_path / "states.parquet")
    tables = [STATES, pl.from_pandas(STATES), pa.Table.from_pandas(STATES), ibis.memtable(STATES)]
    tables += [str(tmp_path / "states.csv"), tmp_path / "states.parquet"]
    assert all(read(table) == EXPECTED for table in tables)


def test_long_states_are_read_alike(tmp_path):
    """Columns subject, arm and tau say the same as one column per arm; so do text and floats."""
    LONG.to_csv(tmp_path / "long.csv", index=False)
    whole = LONG.assign(tau=LONG.tau.astype(float))
    assert read(LONG) == read(str(tmp_path / "long.csv")) == read(whole) == EXPECTED


def test_arms_without_a_row_stand_in_initial():
    """A subject of whom nothing is said starts where the bandit starts."""
    one = LONG[(LONG.subject == "u00001") & (LONG.arm == "talk")]
    tau = int(one.tau.iloc[0])
    asked = {"subjects": ["u00001", "new"]}
    assert read(one, **asked) == {"u00001": ([1, tau, 1], 1.0, None), "new": ([1, 1, 1], 1.0, None)}


def test_weights_come_from_either_table():
    """A weight stands beside the states, or in the table of subjects, which then has the word."""
    weighed = STATES.assign(weight=np.arange(6.0), worth=2.0)
    both = weighed.drop(columns="worth")
    assert [entry[1] for entry in read(both).values()] == list(range(6))
    named = weighed.drop(columns="weight")
    assert {entry[1] for entry in read(named, weight="worth").values()} == {2.0}
    asked = pd.DataFrame({"subject": ["u00002", "new"], "weight": [7.0, 8.0]})
    assert {name: e[1] for name, e in read(both, subjects=asked).items()} == {
        "u00002": 7.0,
        "new": 8.0,
    }


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_a_log_gives_the_states_a_fit_would(zone):
    """From a log, states are those of ``current_states`` on the calendar's clock."""
    events = random_events(20, 300)
    calendar = ls.Calendar("2024-06-03", zone=zone, day_starts="04:00", skip="sun")
    clock = {"every": "1d", "zone": zone, "day_starts": "04:00", "skip": "sun"}
    expected: dict = {}
    for row in current_states(events, **clock, at=calendar.start).to_pylist():
        states = expected.setdefault(row["subject"], [1, 1, 1])
        states[RADIO.index(row["arm"])] = row["tau"]
    found = read(EventLog(events), calendar=calendar)
    assert {name: entry[0] for name, entry in found.items()} == expected


def replayed(events, lookback):
    """Return states and recent plays by walking through the days, one subject at a time."""
    first, now = events.time.dt.date.min(), JUNE.day(0)
    found = {}
    for subject, own in events.groupby("subject"):
        tau, recent = [None] * 3, []
        day = first
        while day < now:
            played = sorted({RADIO.index(a) for a in own.arm[own.time.dt.date == day]})
            for arm in range(3):
                if arm in played:
                    tau[arm] = min(tau[arm] or 0, 0) - 1
                elif tau[arm] is not None:
                    tau[arm] = max(tau[arm], 0) + 1
            recent.append(played)
            day = day + pd.Timedelta(days=1)
        taus = [1 if t is None else t for t in tau]
        found[subject] = (taus, [set(r) for r in recent[-lookback:]])
    return found


@pytest.mark.parametrize("lookback", [1, 4, 9])
def test_recent_plays_come_from_the_log(lookback):
    """What rules look back at is what a walk through the log finds; newcomers have no past."""
    events = random_events(15, 200, seed=lookback)
    found = read(EventLog(events), lookback=lookback, calendar=JUNE)
    expected = replayed(events, lookback)
    assert {
        name: (tau, [{arm for arm in round_ if arm >= 0} for round_ in recent])
        for name, (tau, _, recent) in found.items()
    } == expected
    newcomer = read(EventLog(events), lookback=lookback, calendar=JUNE, subjects=["new"])["new"]
    assert {arm for round_ in newcomer[2] for arm in round_} == {-2}


def test_rounds_before_the_log_are_not_known():
    """A log of three days says nothing of the day before them."""
    events = random_events(4, 60)
    late = events[events.time >= "2024-05-31"]
    recent = next(iter(read(EventLog(late), lookback=5, calendar=JUNE).values()))[2]
    known = [(-2 not in round_) for round_ in recent]
    assert known == [False, False, True, True, True]


def test_a_table_of_recent_plays_is_a_log():
    """Numbered from the past or dated, plays give states and what rules remember of them."""
    numbered = pd.DataFrame(
        {"subject": ["ann", "ann", "bob"], "arm": ["jazz", "talk", "talk"], "round": [-1, -1, -3]}
    )
    found = read(numbered, lookback=3)
    assert found["ann"][0] == [-1, -1, 1]
    assert found["bob"][0] == [1, 2, 1]
    assert [sorted(set(r) - {-1}) for r in found["ann"][2]] == [[], [], [0, 1]]
    days = pd.Timestamp("2024-06-03") + pd.to_timedelta(numbered["round"], "D")
    dated = numbered.drop(columns="round").assign(time=days)
    assert read(dated, lookback=3, calendar=JUNE) == found


def test_without_a_clock_each_event_is_a_round():
    """Everyone stands after their own last event, and knows their own events only."""
    events = pd.DataFrame(
        {"subject": ["ann"] * 3 + ["bob"], "time": [1, 2, 9, 4], "arm": ["jazz", "talk"] * 2}
    )
    found = read(EventLog(events), lookback=2)
    assert found["ann"][0] == [-1, 1, 1]
    assert found["ann"][2] == [[1], [0]]
    assert found["bob"][2] == [[-2], [1]]


def test_names_are_told_by_all_their_bytes():
    """Buffers of a slice begin at 0, whatever it was cut from."""
    offsets, data = text_buffers(pa.array(["añ", "", "bob"])[1:])
    assert offsets.tolist() == [0, 0, 3]
    assert data.tobytes() == b"bob"


BAD = {
    "twice": (lambda t: t.assign(subject="ann"), CohortError, "'ann' is there 6 times"),
    "zero": (lambda t: t.assign(jazz=0), StateError, "state 0 for arm 'jazz'"),
    "missing": (lambda t: t.assign(jazz=[None] * 6), StateError, "no state for arm 'jazz'"),
    "half": (lambda t: t.assign(talk=1.5), StateError, "state 1.5 for arm 'talk'"),
    "words": (lambda t: t.assign(talk="often"), StateError, "no state for arm 'talk'"),
    "nobody": (lambda t: t.assign(subject=None), CohortError, "no subject"),
    "no column": (lambda t: t.drop(columns="news"), CohortError, "lacks the arms news"),
    "typo": (lambda t: t.rename(columns={"news": "nws"}), CohortError, "did you mean 'nws'"),
    "more": (lambda t: t.assign(colour=1), CohortError, "mean nothing here: colour"),
    "weight": (lambda t: t.assign(weight=-1), CohortError, "the weight -1.0"),
    "who": (lambda t: t.rename(columns={"subject": "user"}), CohortError, "nothing here: user"),
}


@pytest.mark.parametrize(("change", "error", "words"), BAD.values(), ids=BAD)
def test_bad_states_are_refused_by_name(change, error, words):
    """The error says who, what was given, and what to do."""
    with pytest.raises(error, match=words):
        read(change(STATES))


BAD_LONG = {
    "arm": (lambda t: t.assign(arm="jaz"), "jaz \\(did you mean 'jazz'"),
    "twice": (lambda t: pd.concat([t, t]), "is there 2 times"),
    "weights": (lambda t: t.assign(weight=1), "weights go into the table of subjects"),
    "no arm": (lambda t: t.assign(arm=None), "names no arm"),
}


@pytest.mark.parametrize(("change", "words"), BAD_LONG.values(), ids=BAD_LONG)
def test_bad_long_states_are_refused_by_name(change, words):
    """So it is where each state has a row."""
    with pytest.raises(CohortError, match=words):
        read(change(LONG))


def test_other_misfits_are_refused():
    """Plays of the future, unknown arms of a log, two clocks, subjects twice, no such column."""
    plays = pd.DataFrame({"subject": ["ann"], "arm": ["jazz"], "round": [0]})
    with pytest.raises(CohortError, match="numbered from the past"):
        read(plays)
    events = random_events(3, 20).assign(arm="blues")
    with pytest.raises(CohortError, match="does not have: blues"):
        read(EventLog(events), calendar=JUNE)
    with pytest.raises(LogError, match="rounds of '12h'"):
        read(EventLog(events, every="12h"), calendar=JUNE)
    with pytest.raises(CohortError, match="'ann' is there 2 times"):
        read(STATES, subjects=["ann", "ann"])
    with pytest.raises(CohortError, match="no column 'wt' for the weight"):
        read(STATES, weight="wt")
    for table, asked in ((LONG, {}), (LONG, {"subjects": ["ann"]}), (STATES, {"subjects": ["a"]})):
        with pytest.raises(CohortError, match="no column 'wt' for the weight"):
            read(table, weight="wt", **asked)
    with pytest.raises(LogError, match="no such log"):
        read("nowhere.parquet")


def test_rules_that_look_back_at_a_table_of_states_are_told_of():
    """Such a table has no past, which is said; a log has one."""
    with open_roster(STATES, Question(RADIO, lookback=2)) as opened:
        assert "rules look back 2 rounds" in opened.notices[0]
    with open_roster(STATES, Question(RADIO)) as opened:
        assert opened.notices == ()


def test_unknown_arms_of_a_log_are_dropped_on_request():
    """The others are read as if those had never been played."""
    events = random_events(5, 60)
    more = pd.concat([events, events.assign(arm="blues")])
    asked = {"calendar": JUNE, "drop_unknown": True}
    assert read(EventLog(more), **asked) == read(EventLog(events), **asked)
    with open_roster(EventLog(more), Question(RADIO, **asked)) as opened:
        assert "blues" in opened.notices[0]


def test_an_arm_called_subject_is_told_apart():
    """A column cannot be both; long states can."""
    odd = ls.Bandit([ls.curves.constant(0.5)], names=["subject"])
    with (
        pytest.raises(CohortError, match="like the column that says who"),
        open_roster(pd.DataFrame({"subject": [1]}), Question(odd)),
    ):
        pass


def test_an_output_over_its_own_source_is_refused(tmp_path):
    """What is read from is never written to."""
    STATES.to_parquet(tmp_path / "states.parquet")
    with pytest.raises(FileError, match="never written to"):
        ls.plan_cohort(RADIO, tmp_path / "states.parquet", 2, out=tmp_path / "states.parquet")
