"""Times in words: which minutes of a week they mean, and what is no such word."""

import re
from datetime import datetime

import numpy as np
import pytest

from lastswitch.calendars.when import parse_when
from lastswitch.errors import CalendarError, InputTypeError


def minutes_of_the_week(text):
    """Return the minutes of a week from Monday on at which ``text`` holds, looked up one by one."""
    when = parse_when(text)
    minutes = np.arange(7 * 1440)
    monday = 19723 + 4  # 2024-01-05 was a Friday; days count from 1970
    days = monday - (monday + 3) % 7 + 7 + minutes // 1440
    return set(np.flatnonzero(when.holds(days, minutes % 1440 * 60, 0)).tolist())


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("sun", [(6, 0, 7, 0)]),
        ("Sunday", [(6, 0, 7, 0)]),
        ("mon-fri 06:00-10:00", [(d, 360, d, 600) for d in range(5)]),
        ("fri - mon", [(0, 0, 1, 0), (4, 0, 7, 0)]),
        ("weekends, tue 9:30-24:00", [(5, 0, 7, 0), (1, 570, 2, 0)]),
        ("fri 22:00-02:00", [(4, 1320, 5, 120)]),
        ("sun 22:00-02:00", [(6, 1320, 7, 0), (0, 0, 0, 120)]),
        (
            "22:00-02:00",
            [(d, 1320, d + 1, 0) for d in range(7)] + [(d, 0, d, 120) for d in range(7)],
        ),
        ("00:00-24:00", [(0, 0, 7, 0)]),
        ("mon, wed 06:00-10:00", [(0, 0, 1, 0), (2, 360, 2, 600)]),
        ("weekdays 12:00–13:00", [(d, 720, d, 780) for d in range(5)]),
    ],
)
def test_times_in_words(text, spans):
    """Each sentence means exactly these minutes of a week."""
    expected = {m for a, b, c, d in spans for m in range(1440 * a + b, 1440 * c + d)}
    assert minutes_of_the_week(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mnday", "did you mean 'monday'?"),
        ("weekday-fri", "'weekday' is no day"),
        ("mon fri", "a time of day goes here"),
        ("06:00-10:00 mon", "days before its time"),
        ("mon 06:00", "write it as 06:00-10:00"),
        ("mon 6pm-8pm", "a time of day goes here"),
        ("mon 06:00-25:00", "hours go from 00:00 to 24:00"),
        ("mon 06:75-08:00", "hours go from 00:00 to 24:00"),
        ("06:00-06:00", "ends when it begins"),
        ("2024-13-01", "write dates as 2024-12-24"),
        ("24/12/2024", "write dates as 2024-12-24"),
        ("2024-12-24..2024-12-20", "in this order"),
        ("mon-tue-wed", "the first and the last"),
        ("mon tue 06:00-10:00", "too many words"),
        (" , ", "times are missing"),
        ([], "times are missing"),
    ],
)
def test_words_it_cannot_read_are_explained(text, message):
    """The error repeats the word and says what to write."""
    with pytest.raises(CalendarError, match=re.escape(message)):
        parse_when(text)


@pytest.mark.parametrize("value", [5, [5], datetime(2024, 6, 3, 6), None])
def test_times_are_words_or_dates(value):
    """Other types are refused by name."""
    with pytest.raises(InputTypeError, match="times are words or dates"):
        parse_when(value)
