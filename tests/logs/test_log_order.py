"""Events of one subject at one time have no order, and nothing but the caller's word makes one."""

from __future__ import annotations

import pandas as pd
import pytest

from lastswitch.errors import LogError
from lastswitch.logs import fit_curves
from lastswitch.logs.worlds import coin_flips


@pytest.fixture(scope="module")
def tied():
    """Four coin flips on each of ten dates for each of 200 people, stamped by the date."""
    return coin_flips("ties", seed=1)


def answers(fit):
    """Return all answers of a fit."""
    return {found.answer for row in fit.findings for found in row}


def test_ties_are_refused_with_the_reason_and_the_ways_out(tied):
    """Three quarters of the events are tied: no answer, no state, no invented habit."""
    fit = fit_curves(tied)
    assert answers(fit) == {"unclear"}
    words = fit.findings[0][0].words
    assert "which came first is not in the log" in words
    assert all(way in words for way in ("column", "seed", "(order)", "(every)"))
    assert fit.summary.tied == 200 * 10 * 3
    assert not any(state.known for arm in fit.arms for state in arm.streak)


def test_a_random_order_finds_coins_to_be_coins(tied):
    """The second in a row pays what everything pays; ordered by reward it paid nearly 1."""
    fit = fit_curves(tied, order=0)
    assert answers(fit) <= {"no", "unclear"}
    for arm in fit.arms:
        assert arm.streak[0].mean == pytest.approx(0.5, abs=0.06)


def test_flips_over_random_orders_are_reported(tied):
    """Five orders are tried, and what they disagree about is no answer."""
    summary = fit_curves(tied, order=0).summary
    assert all(1 <= many <= 5 for row in summary.agreed for many in row)
    assert "over 5 of them some answer flips for" in "\n".join(summary.notices)


def test_the_same_seed_draws_the_same_order(tied):
    """And another seed another one."""
    one, same, other = (fit_curves(tied, order=seed).counts.pooled for seed in (3, 3, 4))
    assert (one.total == same.total).all()
    assert (one.total != other.total).any()


def test_an_effect_that_hangs_on_the_order_is_taken_back(habit):
    """Habit that one order of the ties shows and another does not is unclear."""
    from dataclasses import replace

    fit = fit_curves(habit)
    assert fit.findings[0][0].answer == "reverse"
    shaky = replace(fit, summary=replace(fit.summary, agreed=((3, 5, 5), (5, 5, 5))))
    assert shaky.findings[0][0].answer == "unclear"
    assert "reverse in 3 of 5 random orders" in shaky.findings[0][0].words
    assert shaky.findings[1][0].answer == "reverse"


def test_a_column_orders_ties():
    """By size where it holds numbers: 9 comes before 10."""
    frame = pd.DataFrame(
        {"time": 1, "seq": ["10", "9", "11"], "arm": ["a", "a", "b"], "reward": [1, 0, 0]}
    )
    fit = fit_curves(frame, subject=None, order="seq")
    first, repeated = fit.counts.pooled.total[0, 0], fit.counts.pooled.total[0, 61]
    assert (first, repeated) == (0, 1)
    assert fit.summary.tied == 0


def test_the_clock_needs_no_order(tied):
    """Events of a day are one play, whatever their order."""
    fit = fit_curves(tied, every="1d")
    assert (fit.summary.tied, fit.summary.unordered) == (0, "")
    assert answers(fit) <= {"no", "unclear"}


def test_a_few_ties_are_counted_and_do_not_stop_answers():
    """One tie among forty events is drawn at random and mentioned."""
    frame = pd.DataFrame({"time": [0, *range(39)], "arm": ["a", "b"] * 20, "reward": [0, 1] * 20})
    fit = fit_curves(frame, subject=None)
    assert fit.summary.tied == 1
    assert "1 of 39 consecutive events" in "\n".join(fit.summary.notices)
    assert not fit.summary.unordered


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": "nope"}, "no column 'nope' for the order"),
        ({"order": -1}, "order must be a whole number"),
        ({"order": 0, "every": "1d"}, "exclude each other"),
    ],
)
def test_orders_that_make_no_sense_are_refused(tied, wrong, message):
    """Each message says what was given."""
    with pytest.raises(LogError, match=message):
        fit_curves(tied, **wrong)
