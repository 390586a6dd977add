"""Calendars: rounds and times of real places, and what is closed there."""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastswitch.calendars.calendar import Calendar
from lastswitch.errors import CalendarError, InputTypeError, LastSwitchError

#: (zone, a day on which the clocks go forward, one on which they go back, by how many minutes)
CHANGES = [
    ("Europe/Rome", "2024-03-31", "2024-10-27", 60),
    ("America/New_York", "2024-03-10", "2024-11-03", 60),
    ("Australia/Lord_Howe", "2024-10-06", "2024-04-07", 30),
    ("America/Havana", "2024-03-10", "2024-11-03", 60),  # at midnight and at one
    ("America/Sao_Paulo", "2018-11-04", "2018-02-17", 60),  # at midnight
]
ZONES = [None, "UTC", "Asia/Kathmandu", "Pacific/Apia", *(change[0] for change in CHANGES)]
EVERY = ["1d", "2d", "1w", "12h", "6h", "1h", "30min", "15min"]
SKIPS = [
    None,
    "sat-sun",
    "sun",
    "22:00-06:00",
    "mon-fri 00:00-07:00, weekends",
    ["2024-03-31", date(2024, 4, 1)],
    "2018-11-01..2018-11-10, wed",
]

calendars = st.builds(
    lambda day, every, zone, skip, hour: (day, every, zone, skip, f"{hour:02d}:00"),
    st.one_of(
        st.dates(date(2011, 12, 20), date(2031, 1, 1)),
        st.sampled_from([date.fromisoformat(day) for change in CHANGES for day in change[1:3]]),
    ),
    st.sampled_from(EVERY),
    st.sampled_from(ZONES),
    st.sampled_from(SKIPS),
    st.sampled_from([0, 0, 2, 4, 23]),
)


def build(day, every, zone, skip, day_starts):
    """Return a calendar at or after ``day``, wherever the first open round is."""
    for _ in range(60):
        try:
            return Calendar(day, every, zone, skip, day_starts)
        except CalendarError as error:
            assume("leaves no round open" not in str(error))  # as whole days by skipping nights
            day += timedelta(days=1)
    raise AssertionError("no open round in sixty days, and no word of it")


def utc(moment):
    """Return a moment that can be compared with others, whatever the clocks do."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@given(calendars, st.integers(-300, 300))
def test_a_round_is_found_again_by_its_times(settings, number):
    """Round to time to round, at a round's first and last second and in its middle."""
    calendar = build(*settings)
    begin, end = calendar.span(number)
    assert begin == calendar.time(number)
    seconds = int((utc(end) - utc(begin)).total_seconds())
    assert seconds > 0
    for step in (0, seconds // 2, seconds - 1):
        moment = begin + timedelta(seconds=step)
        if begin.tzinfo is not None:
            moment = (begin.astimezone(UTC) + timedelta(seconds=step)).astimezone(begin.tzinfo)
        assert calendar.round(moment) == number
        assert calendar.round(moment.isoformat()) == number
    assert utc(calendar.span(number - 1)[1]) <= utc(begin)
    assert utc(calendar.time(number + 1)) >= utc(end)


def walk(zone, day, every, day_starts, days):
    """Return when rounds begin, by looking at the clock on the wall once a minute.

    A round begins when the wall clock comes to a new multiple of ``every`` minutes after the day's
    beginning, however it comes there; and at one it comes to again, if it went back by a round at
    least.
    """
    place = ZoneInfo(zone)
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=2)
    latest, shown, begins = None, None, []
    for _ in range((days + 4) * 1440):
        local = moment.astimezone(place)
        wall = local.replace(tzinfo=None) - timedelta(hours=day_starts)
        minutes = (wall - datetime(2000, 1, 1)) // timedelta(minutes=1)
        label = minutes // every
        back = local.replace(fold=0).utcoffset() - local.utcoffset()
        again = local.fold and minutes % every == 0 and back >= timedelta(minutes=every)
        if latest is not None and (label > latest or again):
            begins.append((local, wall.date()))
        latest = label if latest is None else max(label, latest)
        shown = wall
        moment += timedelta(minutes=1)
    assert shown is not None
    return begins


@pytest.mark.parametrize(("zone", "forward", "back", "minutes"), CHANGES)
@pytest.mark.parametrize("every", [15, 30, 60, 120, 720, 1440])
@pytest.mark.parametrize("day_starts", [0, 0.25, 1, 2.5, 4])  # hours, some left out by clocks
def test_rounds_are_what_a_clock_on_the_wall_says(zone, forward, back, minutes, every, day_starts):
    """Both changes of the clocks, in five zones, against looking at the clock every minute."""
    for day in map(date.fromisoformat, (forward, back)):
        first = day - timedelta(days=1)
        clock = f"{int(day_starts):02d}:{int(60 * day_starts % 60):02d}"
        calendar = Calendar(first, f"{every}min", zone, day_starts=clock)
        expected = [begin for begin, on in walk(zone, first, every, day_starts, 3) if on >= first][
            : 3 * 1440 // every - 4 if every < 720 else 3
        ]
        got = [calendar.time(k) for k in range(len(expected))]
        assert [t.isoformat() for t in got] == [t.isoformat() for t in expected]


@pytest.mark.parametrize(("zone", "forward", "back", "minutes"), CHANGES)
def test_days_of_23_and_25_hours(zone, forward, back, minutes):
    """A day's rounds sum to its true length, and half-hours are left out or come twice."""
    for day, change in ((forward, -minutes), (back, minutes)):
        days = Calendar(day, "1d", zone)
        length = days.span(0)[1].astimezone(UTC) - days.time(0).astimezone(UTC)
        assert length == timedelta(days=1, minutes=change)
        halves = Calendar(day, "30min", zone)
        assert halves.periods("day", 60)[0] == (0, 48 + change // 30)


def test_a_day_that_never_was_has_no_round():
    """Samoa went from the 29th to the 31st of December 2011."""
    days = Calendar("2011-12-28", zone="Pacific/Apia")
    assert [days.day(k).day for k in range(4)] == [28, 29, 31, 1]
    with pytest.raises(CalendarError, match=r"2011-12-30.*in no open round|does not exist"):
        days.round("2011-12-30 12:00")


def test_long_rounds_keep_to_the_wall_clock():
    """Rounds of 12 hours begin at 00:00 and 12:00 before and after the clocks change."""
    halves = Calendar("2024-03-30", "12h", "Europe/Rome")
    assert [f"{halves.time(k):%d %H:%M}" for k in range(5)] == [
        *("30 00:00", "30 12:00", "31 00:00", "31 12:00", "01 00:00")
    ]


def test_the_day_ends_at_four():
    """The small hours belong to the day before, in days, words and dates."""
    hours = Calendar("2024-06-07", "1h", "Europe/Rome", day_starts="04:00")
    assert hours.start.hour == 4
    assert hours.day(hours.round("2024-06-08 03:59")) == date(2024, 6, 7)
    friday = hours.rounds("fri", 48)
    assert friday == tuple(range(24))
    assert hours.rounds("2024-06-07", 48) == friday
    assert hours.rounds("fri 02:00-04:00", 48) == (22, 23)
    assert hours.rounds("fri 22:00-05:00", 48) == (18, 19, 20, 21, 22, 23, 24)


def test_a_day_may_start_at_a_time_of_python_or_toml():
    """A time of day is as good as its text."""
    assert Calendar("2024-06-07", day_starts=time(4)) == Calendar("2024-06-07", day_starts="04:00")
    with pytest.raises(CalendarError, match="day_starts must be a time of day"):
        Calendar("2024-06-07", day_starts=time(4, 0, 30))


def test_skipped_rounds_are_not_counted():
    """Weekends, nights and holidays have no numbers."""
    office = Calendar(
        "2024-12-20",
        "1h",
        "Europe/Rome",
        skip=["weekends", "18:00-09:00", "2024-12-25..2024-12-26"],
    )
    days = [office.day(k).isoformat() for k in range(0, 9 * 4, 9)]
    assert days == ["2024-12-20", "2024-12-23", "2024-12-24", "2024-12-27"]
    assert {office.time(k).hour for k in range(100)} == set(range(9, 18))
    assert office.time(-1).isoformat() == "2024-12-19T17:00:00+01:00"


@given(st.integers(0, 6), st.integers(1, 40), st.sampled_from(["day", "week", "month"]))
def test_periods_partition_the_rounds(weekday, length, per):
    """Every round is in one period, whose rounds share it and no other round does."""
    first = date(2024, 1, 29) + timedelta(days=weekday)
    calendar = (
        Calendar(first, "12h", skip="thu") if first.weekday() != 3 else Calendar(first, "12h")
    )
    periods = calendar.periods(per, length)
    assert [first for first, _ in periods[1:]] == [stop for _, stop in periods[:-1]]
    assert periods[0][0] <= 0 < periods[0][1]
    assert periods[-1][0] < length <= periods[-1][1]

    def key(number):
        day = calendar.day(number)
        return {"day": day, "week": day.isocalendar()[:2], "month": (day.year, day.month)}[per]

    for first, stop in periods:
        assert len({key(k) for k in range(first, stop)}) == 1
        assert key(first - 1) != key(first) != key(stop)


def test_periods_beside_months_that_are_closed():
    """A month keeps its rounds when those around it have none."""
    summer = Calendar("2024-06-10", skip="2024-02-01..2024-05-31, 2024-07-01..2024-12-31")
    assert summer.periods("month", 21) == ((-9, 21),)
    assert summer.periods("month", 22) == ((-9, 21), (21, 52))


@given(calendars, st.integers(1, 60))
def test_length_counts_the_rounds_before_a_time(settings, days):
    """As many rounds as begin before it, and no more."""
    calendar = build(*settings)
    until = settings[0] + timedelta(days=90 + days)
    length = calendar.length(until)
    assert calendar.day(length - 1) < until <= calendar.day(length)


@given(calendars)
def test_open_rounds_as_a_table(settings):
    """The table to join on says what asking round by round says."""
    calendar = build(*settings)
    table = calendar.open(calendar.time(3), calendar.time(9))
    assert table.round.tolist() == list(range(3, 9))
    for number, begin, end in zip(*map(np.ndarray.tolist, table), strict=True):
        first, last = calendar.span(number)
        assert (utc(first).timestamp(), utc(last).timestamp()) == (begin, end)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"zone": "Europe/Roma"}, "did you mean 'Europe/Rome'?"),
        ({"zone": "rome"}, "did you mean 'Europe/Rome'?"),
        ({"zone": "Europe"}, "no time zone is called 'Europe'"),
        ({"zone": "../etc/passwd"}, "no time zone is called"),
        ({"zone": 5}, "no time zone is called 5"),
        ({"every": "1 day"}, "such as '1d'"),
        ({"every": "5h"}, "the nearest is '4h'"),
        ({"every": "36h"}, "the nearest is '2d'"),
        ({"every": "0d"}, "every must be a whole number"),
        ({"every": "400d"}, "at most a year"),
        ({"every": None}, "every must be a whole number"),
        ({"day_starts": "4am"}, "day_starts must be a time of day"),
        ({"day_starts": "24:00"}, "day_starts must be a time of day"),
        ({"start": "3 June"}, "start must be a date such as '2024-06-03'"),
        ({"start": "2024-06-01", "skip": "sat-sun"}, "the nearest is Monday 2024-06-03."),
        (
            {"start": "2024-06-03 22:00", "every": "1h", "skip": "20:00-06:00"},
            "the nearest is Tuesday 2024-06-04 06:00.",
        ),
        ({"start": "2024-06-03 06:30", "every": "1h"}, "begins Monday 2024-06-03 06:00"),
        ({"start": "2024-06-03 06:00"}, "day_starts='06:00'"),
        (
            {"start": "2024-03-31 02:30", "every": "30min", "zone": "Europe/Rome"},
            "does not exist in Europe/Rome: the clocks go forward over it, to 03:00",
        ),
        ({"start": "2024-06-03T06:00+02:00", "every": "1h"}, "carries a time zone"),
        ({"skip": "mon-sun"}, "skip leaves no round open"),
        ({"skip": "00:00-12:00"}, "skip leaves no round open"),
        ({"skip": "satday"}, "did you mean"),
    ],
)
def test_calendars_that_cannot_be_are_refused(settings, message):
    """The error says what was wrong and what to write instead."""
    with pytest.raises(CalendarError, match=re.escape(message)):
        Calendar(**{"start": "2024-06-03", **settings})


def test_a_start_of_another_type_is_refused():
    """A number is no date."""
    with pytest.raises(InputTypeError, match="start must be a date"):
        Calendar(20240603)


def test_a_closed_time_names_the_nearest_round():
    """By number and date, before or after."""
    office = Calendar("2024-06-03", skip="sat-sun")
    with pytest.raises(CalendarError, match="the nearest is round 4, Friday 2024-06-07"):
        office.round("2024-06-08 11:00")
    with pytest.raises(CalendarError, match="the nearest is round 5, Monday 2024-06-10"):
        office.round("2024-06-09 13:00")
    assert office.round("2024-05-31") == -1


def test_words_that_mean_no_round_are_refused():
    """The error says from when to when the rounds go, and why nothing can match."""
    days = Calendar("2024-06-03", skip="sun")
    with pytest.raises(CalendarError, match="from Monday 2024-06-03 to Thursday 2024-06-06"):
        days.rounds("fri", 4)
    with pytest.raises(CalendarError, match="leave out the time of day"):
        days.rounds("fri 06:00-10:00", 14)
    with pytest.raises(CalendarError, match="the calendar skips 'sun'"):
        days.rounds("sun", 14)
    assert days.rounds("fri 00:00-10:00", 14) == (4, 10)  # a round's beginning decides


@pytest.mark.parametrize("length", [0, -1, 2.5, "7"])
def test_lengths_are_whole_numbers(length):
    """Of at least one."""
    with pytest.raises(CalendarError, match="length must be a whole number of at least 1"):
        Calendar("2024-06-03").rounds("mon", length)


def test_years_end_somewhere():
    """Nobody plans beyond the year 9999, and the message says so."""
    with pytest.raises(CalendarError, match="years a calendar knows, 2 to 9998"):
        Calendar("9998-12-01").time(100)
    assert Calendar("9998-12-01").time(20).day == 21
    with pytest.raises(CalendarError, match="start must be in the years"):
        Calendar("9999-12-31")
    with pytest.raises(InputTypeError, match="a round is a whole number"):
        Calendar("2024-06-03").time(2.5)


@given(calendars)
def test_calendars_come_back_from_their_tables(settings):
    """What a file holds is the calendar; equal settings are equal calendars."""
    calendar = build(*settings)
    again = Calendar.from_dict(calendar.to_dict())
    assert again == calendar
    assert hash(again) == hash(calendar)
    assert [again.time(k) for k in (-3, 0, 50)] == [calendar.time(k) for k in (-3, 0, 50)]
    assert calendar.starting(calendar.time(5)).time(2) == calendar.time(7)


def test_the_two_halves_of_a_repeated_hour_are_two_starts():
    """02:00 comes twice that night, and each is a calendar of its own."""
    once, again = (
        Calendar(f"2024-10-27T02:00+0{offset}:00", "1h", "Europe/Rome") for offset in (2, 1)
    )
    assert once != again
    assert once.starting(once.time(1)) == again
    assert Calendar.from_dict(again.to_dict()) == again


def test_tables_of_calendars_are_checked():
    """An unknown key, a missing start and what is no table."""
    with pytest.raises(CalendarError, match="did you mean 'zone'"):
        Calendar.from_dict({"start": "2024-06-03", "zones": "UTC"})
    with pytest.raises(CalendarError, match="has no start"):
        Calendar.from_dict({"every": "1d"})
    with pytest.raises(InputTypeError, match="a table of settings"):
        Calendar.from_dict("1d")


@settings(max_examples=20)
@given(st.lists(st.integers(-2000, 2000), min_size=1, max_size=8))
def test_the_order_of_questions_does_not_matter(numbers):
    """What was looked up before never changes an answer."""
    fresh = [Calendar("2024-06-03", "6h", "Europe/Rome", "sun").time(k) for k in numbers]
    one = Calendar("2024-06-03", "6h", "Europe/Rome", "sun")
    assert [one.time(k) for k in numbers] == fresh


@pytest.mark.parametrize("value", [None, 0, 2.5, "mon", b"x", [None], {}, np.int64(3), object()])
@pytest.mark.parametrize(
    "method", ["time", "span", "day", "round", "say", "length", "starting", "rounds_of_day"]
)
def test_arguments_that_make_no_sense_are_refused_by_name(method, value):
    """Whatever is given, the error is one of ours; whole numbers are rounds."""
    calendar = Calendar("2024-06-03", zone="Europe/Rome", skip="sun")
    numbers = method in ("time", "span", "day", "say")
    if numbers and isinstance(value, int | np.integer):
        assert getattr(calendar, method)(value)
        return
    with pytest.raises(LastSwitchError):
        getattr(calendar, method)(value)


@pytest.mark.parametrize("rules", [None, 5, "sun", [5], ["sun"]])
def test_only_rules_are_resolved(rules):
    """A list of rules, and for whole numbers of rounds."""
    with pytest.raises(InputTypeError, match=r"made with lastswitch\.rules"):
        Calendar("2024-06-03").resolve(rules, 7)
    with pytest.raises(CalendarError, match="length must be a whole number"):
        Calendar("2024-06-03").resolve([], 0)
    with pytest.raises(InputTypeError, match="resolve needs a Bandit, got str"):
        Calendar("2024-06-03").resolve([], 7, "station.toml")
