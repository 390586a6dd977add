"""The files to start from, planned, and their rules checked by reading the days themselves."""

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

import lastswitch as ls

STARTERS = Path(ls.__file__).parent / "starters"


def planned(kind, until):
    """Return a starter's schedule up to a date."""
    file = STARTERS / f"{kind}.toml"
    bandit, calendar = ls.load_bandit(file), ls.load_calendar(file)
    length = calendar.length(until)
    plan = ls.plan_block(bandit, length, rules=calendar.resolve(bandit.rules, length, bandit))
    assert plan.optimal
    return bandit, plan.calendar(calendar)


def per_week(plays, names):
    """Return how often any of ``names`` is played in each week."""
    return Counter(play.day.isocalendar()[1] for play in plays if play.name in names)


def test_dinners_keep_the_rules_of_the_house():
    """Fish and vegetables every week, little meat, no pasta twice running, ovens on Sundays."""
    meals, schedule = planned("meals", "2024-07-01")
    plays, groups = schedule.plays, meals.groups
    assert all(play.day.weekday() != 5 for play in plays)
    weeks = {play.day.isocalendar()[1] for play in plays}
    assert len(weeks) == 4
    assert all(per_week(plays, groups["fish"])[week] >= 1 for week in weeks)
    assert all(per_week(plays, groups["veg"])[week] >= 2 for week in weeks)
    assert all(per_week(plays, groups["meat"])[week] <= 2 for week in weeks)
    pasta = groups["pasta"]
    assert not any(a.name in pasta and b.name in pasta for a, b in pairwise(plays))
    for play in plays:
        if play.name in ("lasagne", "roast chicken"):
            assert play.day.weekday() == 6
        if play.day == date(2024, 6, 16):
            assert play.name == "lasagne"


def test_messages_are_few_and_never_on_sundays():
    """Three a week at most, none on Sundays and holidays, the same one not within three days."""
    app, schedule = planned("notifications", "2024-07-01")
    plays = schedule.plays
    assert max(per_week(plays, app.names).values()) <= 3
    assert all(play.day.weekday() != 6 for play in plays)
    assert date(2024, 6, 24) not in {play.day for play in plays}
    for name in app.names:
        days = [play.day for play in plays if play.name == name]
        assert all(b - a >= timedelta(days=3) for a, b in pairwise(days))
        if name == "weekly summary":
            assert {day.weekday() for day in days} <= {4, 5}


@pytest.mark.parametrize("day", ["2024-06-03", "2024-06-08"])
def test_a_day_of_radio(day):
    """The magazine at its hours, artists apart, songs at most four times."""
    file = STARTERS / "radio.toml"
    radio, calendar = ls.load_bandit(file), ls.load_calendar(file, start=day)
    rules = calendar.resolve(radio.rules, 18, radio)
    plays = ls.plan_block(radio, 18, rules=rules).calendar(calendar).plays
    assert [play.begin.hour for play in plays] == list(range(6, 24))
    weekday = date.fromisoformat(day).weekday() < 5
    for play in plays:
        if play.begin.hour == 6 or (play.begin.hour == 12 and weekday):
            assert play.name == "Slow News"
        if play.begin.hour >= 22:
            assert play.name != "Slow News"
    for artist in ("Ada Kern", "The Locks"):
        hours = [play.begin.hour for play in plays if play.name in radio.groups[artist]]
        assert all(b - a >= 3 for a, b in pairwise(hours))
    counts = Counter(play.name for play in plays)
    assert max(counts[song] for song in radio.groups["songs"]) <= 4
