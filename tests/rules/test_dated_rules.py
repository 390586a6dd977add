"""Rules in words of time, turned into rounds by a real calendar."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import CalendarError, RuleError
from lastswitch.rules.eligible import eligible

JUNE = ls.Calendar("2024-06-06", zone="Europe/Rome")  # a Thursday


def radio(**settings):
    """Return three arms, two of them music."""
    curve = ls.curves.step(2, 0.9)
    return ls.Bandit(
        [curve] * 3, names=["hit", "gold", "news"], groups={"music": ["hit", "gold"]}, **settings
    )


def test_words_become_the_rounds_they_mean():
    """Sundays are the rounds that are Sundays, weeks those from Monday on."""
    never, weekly, plain = JUNE.resolve(
        [r.never("news", when="sun"), r.at_most("hit", 2, per="week"), r.apart("music", 2)], 14
    )
    assert never.spans == ((3, 4), (10, 11))
    assert weekly.spans == ((-3, 4), (4, 11), (11, 18))
    assert plain == r.apart("music", 2)
    assert never.name == "news: never on sun"
    assert JUNE.resolve([r.never("news", when="sun", name="rest")], 14)[0].name == "rest"


def test_a_week_cut_by_the_end_asks_for_nothing_and_forbids_all_the_same():
    """At least needs the whole week; at most holds in any part of it."""
    least, most = JUNE.resolve(
        [r.at_least("news", 1, per="week"), r.at_most("hit", 1, per="week")], 14
    )
    rounds = [(0,)] * 14
    bound = [rule.bound(radio().names, {}) for rule in (least, most)]
    assert [v.round for v in r.violations(bound[0], rounds)] == [10]
    assert [v.round for v in r.violations(bound[1], rounds)] == [1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13]


def test_last_weeks_plays_count_through_the_history():
    """A week that began before the plan remembers what was played in it."""
    (most,) = JUNE.resolve([r.at_most("hit", 2, per="week")], 4)
    rule = most.bound(radio().names, {})
    assert r.violations(rule, [(0,), (1,), (1,), (1,)], history=[(0,), (1,), (1,)]) == []
    assert [v.round for v in r.violations(rule, [(0,)] * 4, history=[(0,), (0,), (1,)])] == [
        *(0, 1, 2, 3)
    ]


def test_words_about_later_rounds_are_no_error_but_impossible_ones_are():
    """A rule about Sundays is fine in a plan of three weekdays; one about closed days is not."""
    (rule,) = JUNE.resolve([r.never("news", when="mon")], 3)
    assert rule.spans == ()
    assert JUNE.resolve([r.never("news", when="2024-12-24")], 3)[0].spans == ()
    closed = ls.Calendar("2024-06-06", skip="sun")
    with pytest.raises(CalendarError, match=r"never\('news', when='sun'\): no round is meant"):
        closed.resolve([r.never("news", when="sun")], 14)
    with pytest.raises(CalendarError, match="leave out the time of day"):
        closed.resolve([r.only("news", when="mon-fri 06:00-10:00")], 14)
    with pytest.raises(CalendarError, match="did you mean 'sunday'"):
        closed.resolve([r.only("news", when="snday")], 14)
    with pytest.raises(CalendarError, match="did you mean 'week'"):
        closed.resolve([r.at_most("news", 2, per="wek")], 14)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            [r.never("everyone", when="sun")],
            "never('everyone', when='sun') leaves no arm for Sunday 2024-06-09 (round 3)",
        ),
        (
            [
                r.apart("hit", 2),
                r.only("news", when="mon-fri"),
                r.never("gold", when="mon"),
                r.never("hit", when="weekends"),  # which the last one says already
                r.never("music", when="sun"),
            ],
            "only('news', when='mon-fri') and never('music', when='sun') leave no arm for "
            "Sunday 2024-06-09 (round 3)",
        ),
        (
            [r.never("news", when="2024-06-08"), r.pinned("news", when="sat")],
            "pinned('news', when='sat') and never('news', when='2024-06-08') cannot hold together "
            "on Saturday 2024-06-08 (round 2)",
        ),
    ],
)
def test_rules_that_leave_a_round_without_arms_are_named_by_date(rules, message):
    """The smallest set that does it, and the day."""
    with pytest.raises(RuleError, match=re.escape(message)):
        JUNE.resolve(rules, 14, radio())


def test_silence_soft_rules_and_other_days_are_fine():
    """What leaves no arm is fine where no arm is needed, or where it only costs."""
    silent = [r.never("everyone", when="sun")]
    assert JUNE.resolve(silent, 14, radio(plays=(0, 1)))
    assert JUNE.resolve([r.never("everyone", when="sun", cost=1.0)], 14, radio())
    assert JUNE.resolve([r.never("everyone", when="wed")], 6, radio())
    two = radio(plays=2)
    with pytest.raises(RuleError, match="leaves fewer than 2 arms for Sunday"):
        JUNE.resolve([r.never("music", when="sun")], 14, two)


@given(
    st.lists(
        st.builds(
            lambda word, who, rounds: word(who, sorted(rounds)),
            st.sampled_from([r.only, r.never]),
            st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
            st.sets(st.integers(0, 4), min_size=1),
        ),
        max_size=4,
    )
)
def test_eligible_is_what_the_evaluator_says(rules):
    """An arm is eligible in a round if playing it there, and nothing else, breaks no rule."""
    table = np.logical_and.reduce(
        [eligible(rule, 3, 5) for rule in rules] or [np.ones((5, 3), bool)]
    )
    for t, arm in itertools.product(range(5), range(3)):
        rounds = [(arm,) if k == t else () for k in range(5)]
        assert table[t, arm] == (r.cost_of(rules, rounds) == 0)
