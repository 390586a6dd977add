"""A plan on a calendar: what is printed, written, drawn and read back."""

import csv
import io
import json
import re
from datetime import UTC, date, datetime, timedelta

import icalendar
import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.calendars.ics import escaped, fold
from lastswitch.errors import CalendarError, FileError, InputTypeError, PlanError
from lastswitch.planning.plan import Plan

NAMES = ("hit", "gold", "talk")
HOSTILE = [
    "=1+1",
    "a,b",
    'say "hi"',
    "two\nlines",
    "back\\slash; and, more",
    "🎵 naïve",
    "\t@x",
    "-",
    "null\x00bell\x07",
]
#: When feeds of these tests were made.
NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)

names = st.lists(
    st.one_of(
        st.sampled_from(HOSTILE),
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=90),
    ),
    min_size=1,
    max_size=4,
    unique=True,
)
calendars = st.sampled_from(
    [
        ls.Calendar("2024-06-03", zone="Europe/Rome"),
        ls.Calendar("2024-06-03"),
        ls.Calendar("2024-10-26", every="1h", zone="Europe/Rome", day_starts="04:00"),
        ls.Calendar("2024-03-30", every="6h", zone="America/Havana", skip="sun"),
        ls.Calendar("2024-06-03 06:00", every="30min", skip="20:00-06:00"),
        ls.Calendar("2024-12-20", every="1w", zone="Australia/Lord_Howe"),
        ls.Calendar("2024-12-20", every="3d", skip="2024-12-26"),
    ]
)


@st.composite
def schedules(draw):
    """Draw a plan of any names on one of many calendars."""
    labels = draw(names)
    block = draw(st.lists(st.integers(0, len(labels) - 1), min_size=1, max_size=40))
    plan = Plan(tuple(block), 1.0, 1.0, names=tuple(labels), repeats=draw(st.booleans()))
    calendar = draw(calendars)
    return plan.calendar(calendar, 2 * len(block) if plan.repeats else None)


def a_schedule(length=9, **calendar):
    """Return a plan of three arms on a calendar that begins on Thursday 6 June 2024."""
    block = tuple(k % 3 for k in range(length))
    plan = Plan(block, 2.0, 2.0, names=NAMES)
    return plan.calendar(ls.Calendar(**{"start": "2024-06-06", **calendar}))


def test_plays_follow_the_plan_and_the_calendar():
    """Every round of the plan is played at its time."""
    schedule = a_schedule(skip="sun")
    assert [play.name for play in schedule.plays] == list(NAMES) * 3
    assert [play.day.day for play in schedule.plays] == [6, 7, 8, 10, 11, 12, 13, 14, 15]
    assert schedule.plays[3].begin == datetime(2024, 6, 10)


def test_a_cycle_is_repeated_and_a_block_is_not():
    """Only a cycle may be longer than itself."""
    cycle = ls.plan_cycle(ls.instances.two_arms(), 2)
    june = cycle.calendar(ls.Calendar("2024-06-01"), length=30)
    assert [play.arm for play in june.plays] == list(cycle.block) * 15
    with pytest.raises(PlanError, match="at most the plan's 9 rounds, got 10"):
        a_schedule().plan.calendar(ls.Calendar("2024-06-06"), length=10)
    assert len(a_schedule().plan.calendar(ls.Calendar("2024-06-06"), length=4).plays) == 4
    with pytest.raises(InputTypeError, match="dated by a Calendar, got str"):
        a_schedule().plan.calendar("2024-06-06")


def test_days_print_as_weeks_in_rows():
    """Under weekdays, closed days marked, days before and after left empty."""
    assert str(a_schedule(skip="sun", zone="Europe/Rome")).splitlines() == [
        "9 rounds, worth 2 (0.222 per round), proven optimal",
        "Thu 6 Jun 2024 to Sat 15 Jun 2024, Europe/Rome",
        "        Mon   Tue   Wed   Thu   Fri   Sat   Sun",
        " 3 Jun                    hit   gold  talk  ·",
        "10 Jun  hit   gold  talk  hit   gold  talk",
        "",
        "· closed",
    ]


def test_hours_print_under_their_days():
    """One table per week, a row per time of day; nights that are closed take no rows."""
    schedule = a_schedule(5, start="2024-06-09 18:00", every="6h", skip="00:00-06:00")
    assert str(schedule).splitlines()[2:] == [
        "",
        "       Sun 9 Jun",
        "18:00  hit",
        "",
        "       Mon 10 Jun  Tue 11 Jun",
        "06:00  gold        gold",
        "12:00  talk",
        "18:00  hit",
    ]


def test_rounds_of_weeks_print_as_spans():
    """From the first day to the last."""
    lines = str(a_schedule(2, every="1w")).splitlines()
    assert lines[1:] == [
        "Thu 6 Jun 2024 to Wed 19 Jun 2024",
        " Thu 6 Jun – Wed 12 Jun  hit",
        "Thu 13 Jun – Wed 19 Jun  gold",
    ]


def test_a_repeated_hour_has_two_rows():
    """The night the clocks go back, 02:00 comes twice."""
    schedule = a_schedule(25, start="2024-10-27", every="1h", zone="Europe/Rome")
    rows = [line.split()[0] for line in str(schedule).splitlines()[4:]]
    assert rows == ["00:00", "01:00", "02:00", *(f"{h:02d}:00" for h in range(2, 24))]


@given(schedules())
def test_nothing_printed_is_wider_than_a_terminal(schedule):
    """Long names are wrapped and cut."""
    assert max(map(len, str(schedule).splitlines()[2:])) <= 100


@given(schedules())
@settings(max_examples=60)
def test_feeds_parsed_by_others_are_the_plan(schedule):
    """An independent parser finds each play at its time, under its name."""
    text = schedule.to_ics(name="our feed", stamp=NOW)
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert "\n" not in text.replace("\r\n", "")
    feed = icalendar.Calendar.from_ical(text)
    assert feed["NAME"] == "our feed"
    assert feed["VERSION"] == "2.0"
    assert feed["PRODID"]
    assert not feed.errors
    events = feed.walk("VEVENT")
    assert [str(event["SUMMARY"]) for event in events] == [
        re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", play.name) for play in schedule.plays
    ]
    assert len({str(event["UID"]) for event in events}) == len(events)
    for event, play in zip(events, schedule.plays, strict=True):
        begin, end = event["DTSTART"].dt, event["DTEND"].dt
        assert event["DTSTAMP"].dt == NOW
        assert not event.errors
        if schedule.calendar.daily:
            assert begin == play.day
            assert end - begin == timedelta(days=schedule.calendar.every_days)
        elif schedule.calendar.zone is None:
            assert (begin, end) == (play.begin, play.end)
        else:
            assert begin.utcoffset() == timedelta(0)
            assert (begin, end) == (play.begin.astimezone(UTC), play.end.astimezone(UTC))


def uids(text):
    """Return the identities of a feed's events by when they begin."""
    events = icalendar.Calendar.from_ical(text).walk("VEVENT")
    return {event["DTSTART"].dt: str(event["UID"]) for event in events}


def test_a_feed_that_is_published_again_updates_its_events():
    """The same slot keeps its identity whatever is played there, and whenever the plan begins."""
    first = uids(a_schedule(9).to_ics(name="radio"))
    plan = Plan((2,) * 9, 1.0, 1.0, names=NAMES)
    second = uids(plan.calendar(ls.Calendar("2024-06-08")).to_ics(name="radio"))
    shared = first.keys() & second.keys()
    assert len(shared) == 7
    assert all(first[day] == second[day] for day in shared)
    other = uids(a_schedule(9).to_ics(name="television"))
    assert not set(first.values()) & set(other.values())


def test_feeds_need_a_name_and_a_stamp_with_a_zone():
    """Bad input is said."""
    with pytest.raises(InputTypeError, match="what to call the feed, got ''"):
        a_schedule().to_ics(name="")
    with pytest.raises(CalendarError, match="stamp must have a zone"):
        a_schedule().to_ics(stamp=datetime(2024, 6, 1))


@given(st.text(max_size=300))
def test_folding_can_be_undone(text):
    """Lines are folded at 75 octets, never within a character."""
    line = "SUMMARY:" + escaped(text).replace("\n", "")
    folded = fold(line)
    assert folded.replace("\r\n ", "") == line
    assert all(len(piece.encode()) <= 75 for piece in folded.split("\r\n"))


def test_lines_are_as_long_as_they_may_be():
    """75 octets, not one more and, where more is to come, none fewer."""
    for character, octets in (("x", 1), ("é", 2), ("音", 3), ("🎵", 4)):
        for length in range(120, 160):
            first, *others = fold(character * length).split("\r\n")
            for piece in (first, *others[:-1]):
                assert 75 - octets < len(piece.encode()) <= 75


@given(schedules())
def test_tables_read_by_others_are_the_plan(schedule):
    """CSV and playlist, read by Python's own reader, hold each play; no cell is a formula."""
    for text, column in ((schedule.to_csv(), "arm"), (schedule.to_playlist(), "title")):
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(rows) == len(schedule.plays)
        for row, play in zip(rows, schedule.plays, strict=True):
            assert row[column].removeprefix("'") == play.name.removeprefix("'")
            assert not row[column].startswith(("=", "+", "@", "\t", "\r"))
            begin = row.get("begin") or row["time"]
            assert begin == f"{play.begin:%Y-%m-%d %H:%M:%S}"


def test_the_table_says_round_date_weekday_and_times():
    """One row per play."""
    assert a_schedule(1, every="6h").to_csv().splitlines() == [
        "round,date,weekday,begin,end,arm",
        "0,2024-06-06,Thursday,2024-06-06 00:00:00,2024-06-06 06:00:00,hit",
    ]
    assert a_schedule(1, start="2024-06-06 18:00", every="6h").to_playlist().splitlines() == [
        "time,title",
        "2024-06-06 18:00:00,hit",
    ]


@given(schedules())
def test_json_says_it_all(schedule):
    """Times carry their offsets; the calendar comes back from its table."""
    data = json.loads(schedule.to_json())
    assert data["format"] == "lastswitch/schedule"
    assert ls.Calendar.from_dict(data["calendar"]) == schedule.calendar
    assert data["rounds"] == schedule.length
    for entry, play in zip(data["plays"], schedule.plays, strict=True):
        assert entry["begin"] == play.begin.isoformat()
        assert datetime.fromisoformat(entry["end"]).timestamp() == play.end.timestamp()
        assert (entry["round"], entry["arm"]) == (play.round, play.name)


@given(schedules(), st.sampled_from(["pandas", "polars"]))
@settings(max_examples=40)
def test_frames_hold_the_plays(schedule, library):
    """With true times, in the calendar's zone."""
    frame = schedule.to_frame(library)
    assert list(frame.columns) == ["round", "begin", "end", "day", "arm", "name"]
    rows = frame.rows() if library == "polars" else list(frame.itertuples(index=False, name=None))
    assert len(rows) == len(schedule.plays)
    for row, play in zip(rows, schedule.plays, strict=True):
        assert (row[0], row[3], row[4], row[5]) == (play.round, play.day, play.arm, play.name)
        for got, meant in ((row[1], play.begin), (row[2], play.end)):
            assert got.isoformat() == meant.isoformat()


def test_frames_of_other_libraries_are_refused():
    """By name."""
    with pytest.raises(PlanError, match="library must be one of pandas, polars, got 'numpy'"):
        a_schedule().to_frame("numpy")


def test_what_is_written_is_what_is_returned(tmp_path):
    """Each format goes to a file whole, or not at all."""
    schedule = a_schedule()
    for name in ("csv", "json", "playlist"):
        path = tmp_path / f"june.{name}"
        text = getattr(schedule, f"to_{name}")(path)
        assert path.read_bytes() == text.encode()
    assert schedule.to_ics(tmp_path / "june.ics", stamp=NOW).encode() == (
        (tmp_path / "june.ics").read_bytes()
    )
    with pytest.raises(FileError, match="does not exist"):
        schedule.to_csv(tmp_path / "missing" / "june.csv")


def texts(ax):
    """Return what is written in the cells."""
    return [text.get_text() for text in ax.texts]


def test_the_picture_has_a_cell_per_day():
    """Coloured by arm, with its name; closed days are hatched and explained."""
    ax = a_schedule(9, skip="sun").plot()
    assert texts(ax) == list(NAMES) * 3
    boxes = [box for box in ax.patches if box.get_hatch() != "////"]
    assert [box.get_facecolor() for box in boxes[:3]] == [b.get_facecolor() for b in boxes[3:6]]
    assert len({box.get_facecolor() for box in boxes}) == 3
    assert len(ax.patches) - len(boxes) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["closed"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["3 Jun", "10 Jun"]
    plt.close("all")


def test_hours_go_down_at_a_desk_and_across_on_a_phone():
    """Days are columns in wide axes and rows in narrow ones."""
    schedule = a_schedule(24, every="6h")
    wide, narrow = (plt.subplots(figsize=size)[1] for size in ((9, 4), (3.9, 6)))
    plan = schedule.plan
    assert plan.plot(wide, calendar=schedule.calendar) is wide
    assert plan.plot(narrow, calendar=schedule.calendar) is narrow
    assert wide.get_xticklabels()[0].get_text() == "Thu\n6 Jun"
    assert narrow.get_yticklabels()[0].get_text() == "Thu 6 Jun"
    plt.close("all")


def test_names_that_do_not_fit_are_in_the_legend():
    """A cell too small for its name leaves it to the legend, in full."""
    plan = Plan((0, 1) * 20, 1.0, 1.0, names=("a song with a long name", "$x_1$ & co"))
    ax = plan.calendar(ls.Calendar("2024-06-03", every="1h")).plot(plt.subplots(figsize=(3, 3))[1])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["a song with a long name", r"\$x_1\$ & co"]
    ax.figure.canvas.draw()
    plt.close("all")


@pytest.mark.parametrize("count", [3, 12, 30])
def test_arms_look_different(count):
    """As far as shades and patterns go; all of a palette's colours are used first."""
    plan = Plan(tuple(range(count)), 1.0, 1.0, names=tuple(f"arm {k}" for k in range(count)))
    ax = plan.calendar(ls.Calendar("2024-06-03")).plot()
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in ax.patches}
    assert len(looks) == count
    plt.close("all")


def test_rounds_of_several_days_fill_them():
    """A week is seven cells of one colour."""
    ax = a_schedule(2, every="1w").plot()
    assert texts(ax) == ["hit"] * 7 + ["gold"] * 7
    plt.close("all")


def test_a_day_is_the_calendars_day():
    """Where the day ends at four, the small hours are printed under the day before."""
    schedule = a_schedule(30, every="1h", day_starts="04:00")
    assert schedule.plays[22].begin == datetime(2024, 6, 7, 2)
    assert schedule.plays[22].day == date(2024, 6, 6)
    assert str(schedule).splitlines()[4].split() == ["04:00", "hit", "hit"]


def ruled():
    """Return a plan of up to two arms a round, some pinned, some rounds silent."""
    station = ls.Bandit(
        [ls.curves.step(2, 0.9), ls.curves.constant(0.2), ls.curves.constant(0.1)],
        names=NAMES,
        plays=(0, 2),
        silence=0.15,
        rules=[
            ls.rules.never("everyone", when="sun"),
            ls.rules.pinned("talk", when="2024-06-07"),
        ],
    )
    calendar = ls.Calendar("2024-06-06")
    rules = calendar.resolve(station.rules, 7, station)
    return ls.plan_block(station, 7, rules=rules).calendar(calendar)


def test_silence_and_several_plays_in_every_format():
    """A silent round has no play; a round of two has two, each an event of its own."""
    schedule = ruled()
    counts = [len(schedule.arms(number)) for number in range(7)]
    assert counts[3] == 0  # Sunday
    assert max(counts) == 2
    assert len(schedule.plays) == sum(counts)
    days = {play.day for play in schedule.plays}
    assert date(2024, 6, 9) not in days
    events = icalendar.Calendar.from_ical(schedule.to_ics(stamp=NOW)).walk("VEVENT")
    assert [(e["DTSTART"].dt, str(e["SUMMARY"])) for e in events] == [
        (play.day, play.name) for play in schedule.plays
    ]
    assert len({str(e["UID"]) for e in events}) == len(events)
    text = str(schedule)
    assert " + " in text
    assert "– silence" in text


def test_pinned_plays_are_marked():
    """Where a rule pins a play, and nowhere else."""
    schedule = ruled()
    assert schedule.pinned == {(1, NAMES.index("talk"))}
    ax = schedule.plot()
    assert len(ax.lines) == 1
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[-2:] == ["silence", "pinned by a rule"]
    assert a_schedule().pinned == frozenset()
    plt.close("all")


def test_costs_of_rules_are_told_by_date():
    """Rules keep their words, and rounds become days or times."""
    june = ls.Calendar("2024-06-03", every="12h")
    station = ls.Bandit([ls.curves.constant(0.5), ls.curves.constant(0.25)], names=["hit", "gold"])
    rules = june.resolve([ls.rules.never("hit", when="12:00-24:00")], 18, station)
    told = ls.plan_block(station, 18, rules=rules).calendar(june).explain().splitlines()
    assert told[1] == "hit: never on 12:00-24:00"
    assert told[2].startswith("  costs 2.25; without it Mon 3 Jun 12:00, Tue 4 Jun 12:00, ")
    assert told[2].endswith("Sat 8 Jun 12:00 and 3 more would break it")
