"""The clock: days cut where the caller says, rounds without events, and everyone's state now."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from lastswitch.errors import LogError
from lastswitch.logs import current_states, fit_curves

ROME = ZoneInfo("Europe/Rome")


def rounds_of(times, **how):
    """Return how many different rounds the plays of one arm fall into."""
    frame = pd.DataFrame({"time": times, "arm": "a", "reward": 1.0})
    return fit_curves(frame, subject=None, **how).summary.plays


def test_days_are_cut_in_the_zone_the_caller_names():
    """23:00 and 01:00 UTC are one evening in Lima, two days in UTC."""
    times = ["2024-06-01T23:00:00Z", "2024-06-02T01:00:00Z"]
    assert rounds_of(times, every="1d") == 2
    assert rounds_of(times, every="1d", zone="America/Lima") == 1


def test_a_day_may_begin_at_four():
    """What happens at three in the morning belongs to the evening before."""
    times = ["2024-06-01 23:00", "2024-06-02 03:00", "2024-06-02 05:00"]
    assert rounds_of(times, every="1d", day_starts="04:00") == 2
    assert rounds_of(times, every="1d") == 2
    assert rounds_of(times[:2], every="1d", day_starts="04:00") == 1


def test_every_hour_of_a_year_falls_into_its_local_day():
    """Days of 23 and 25 hours included: the rounds are those of the plain calendar."""
    utc = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in range(24 * 366)]
    text = [time.isoformat() for time in utc]
    days = {time.astimezone(ROME).date() for time in utc}
    assert rounds_of(text, every="1d", zone="Europe/Rome") == len(days)
    local = {(t.astimezone(ROME) - timedelta(hours=4)).date() for t in utc}
    assert rounds_of(text, every="1d", zone="Europe/Rome", day_starts="04:00") == len(local)


def test_times_without_a_zone_are_of_the_zone_named():
    """Mixed with zoned ones they are in one order, and none is bad."""
    times = ["2024-06-01 10:00:00", "2024-06-01T09:00:00Z"]  # 08:00 and 09:00 in UTC
    frame = pd.DataFrame({"time": times, "arm": ["a", "b"], "reward": [1.0, 1.0]})
    fit = fit_curves(frame, subject=None, every="1h", zone="Europe/Rome")
    assert fit.summary.bad == ()
    assert rounds_of(times, every="1h", zone="Europe/Rome") == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"every": "1d", "zone": "Mars/Base"}, "no time zone is called 'Mars/Base'"),
        ({"every": "1d", "day_starts": "4"}, "such as '04:00', got '4'"),
        ({"day_starts": "04:00"}, "say how long a round is"),
    ],
)
def test_clocks_that_make_no_sense_are_refused(wrong, message):
    """Each message says what was given."""
    with pytest.raises(LogError, match=message):
        rounds_of(["2024-06-01"], **wrong)


def standing(rows, now):
    """Return every subject's and arm's state at round ``now``, moving round by round."""
    played = defaultdict(set)
    for who, number, arm in rows:
        if number < now:
            played[str(who), arm].add(number)
    found = {}
    for key, numbers in played.items():
        tau = None
        for number in range(min(numbers), now):
            if number in numbers:
                tau = min(tau or 0, 0) - 1
            elif tau is not None:
                tau = max(tau, 0) + 1
        found[key] = tau
    return found


def as_dict(table):
    """Return an Arrow table of states as a dictionary."""
    rows = table.to_pylist()
    return {(row["subject"], row["arm"]): row["tau"] for row in rows}


def random_days(seed):
    """Return plays (subject, day, arm) and the frame that logs them."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.integers(8)), int(rng.integers(25)), f"a{rng.integers(3)}") for _ in range(150)
    ]
    start = date(2024, 3, 20)  # the clocks go forward on the 31st
    times = [
        datetime(*(start + timedelta(days=d)).timetuple()[:3], int(rng.integers(24)), tzinfo=ROME)
        for _, d, _ in rows
    ]
    frame = pd.DataFrame(
        {
            "subject": [who for who, _, _ in rows],
            "time": [time.astimezone(UTC).isoformat() for time in times],
            "arm": [arm for _, _, arm in rows],
        }
    )
    return rows, frame, start


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ahead", [5, 12, 60])
def test_current_states_equal_a_replay(seed, ahead):
    """On any day: later events are not looked at, days without events are rests."""
    rows, frame, start = random_days(seed)
    at = start + timedelta(days=ahead)
    found = current_states(frame, every="1d", zone="Europe/Rome", at=at)
    assert as_dict(found) == standing(rows, ahead)


def test_by_default_everyone_stands_on_the_day_after_the_last():
    """The log's last day is the 25th."""
    rows, frame, _ = random_days(1)
    last = max(day for _, day, _ in rows)
    found = current_states(frame, every="1d", zone="Europe/Rome")
    assert as_dict(found) == standing(rows, last + 1)


def test_without_a_clock_everyone_stands_after_their_own_last_event():
    """Subject ann played a, b, b; bob played a."""
    frame = pd.DataFrame(
        {"subject": ["ann"] * 3 + ["bob"], "time": [1, 2, 3, 1], "arm": ["a", "b", "b", "a"]}
    )
    found = as_dict(current_states(frame))
    assert found == {("ann", "a"): 2, ("ann", "b"): -2, ("bob", "a"): -1}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"at": "2024-06-01"}, "say how long a round is"),
        ({"every": "1d", "at": "soon"}, "got 'soon'"),
    ],
)
def test_moments_that_make_no_sense_are_refused(how, message):
    """Each message says what was given."""
    frame = pd.DataFrame({"time": ["2024-06-01"], "arm": ["a"]})
    with pytest.raises(LogError, match=message):
        current_states(frame, subject=None, **how)
