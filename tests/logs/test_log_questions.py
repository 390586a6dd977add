"""Does it wear out, does it recover, is there a period: answers on logs whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lastswitch as ls
from lastswitch.logs import CAUTION, fit_curves, simulate
from lastswitch.logs.periods import find_period

SHAPES = {
    "recovering": ls.curves.recovering(0.8, 5),
    "step": ls.curves.step(4, 0.9, 0.1),
    "satiating": ls.curves.satiating(0.7, 0.1, 4),
    "constant": ls.curves.constant(0.3),
    "periodic": ls.curves.periodic([0.1, 0.1, 0.6], 0.05),
    "spike": ls.curves.spike(3, 0.7, 0.1),
}


@pytest.fixture(scope="module")
def answers():
    """Answer for every shape, from 60,000 events of unlike subjects."""
    truth = ls.Bandit(list(SHAPES.values()), names=list(SHAPES))
    fit = fit_curves(simulate(truth, subjects=600, rounds=100, seed=3, spread=0.3))
    return {arm.name: found for arm, found in zip(fit.arms, fit.findings, strict=True)}


@pytest.mark.parametrize("shape", ["recovering", "step", "satiating"])
def test_what_wears_out_and_recovers_is_found(answers, shape):
    """Both answers are yes, with an effect in the right direction."""
    wear, back, _ = answers[shape]
    assert (wear.answer, back.answer) == ("yes", "yes")
    assert wear.high < 0 < back.low


def test_a_constant_arm_neither_wears_out_nor_recovers(answers):
    """No difference is claimed where there is none."""
    assert {found.answer for found in answers["constant"]} <= {"no", "unclear"}


def test_a_period_is_found_with_its_length(answers):
    """The shortest period, not a multiple of it."""
    found = answers["periodic"][2]
    assert (found.answer, found.period) == ("yes", 3)
    assert found.effect == pytest.approx(0.5, abs=0.1)


def test_a_season_whose_low_points_come_first_is_found():
    """Its monotone trend is a step that only its first turn departs from; that hides no season."""
    season = ls.curves.periodic([0.1, 0.1, 0.8], 0.05)
    truth = ls.Bandit([season, ls.curves.constant(0.3), ls.curves.constant(0.3)])
    log = simulate(truth, subjects=200, rounds=80, seed=1, idle=0.1)
    fit = fit_curves(log, every="1d")
    assert [found[2].period for found in fit.findings] == [3, None, None]
    assert fit.findings[0][2].low < 0.7 < fit.findings[0][2].high


@pytest.mark.parametrize("shape", ["recovering", "step", "satiating", "constant", "spike"])
def test_rises_steps_and_single_peaks_are_no_periods(answers, shape):
    """A pattern must repeat to be a period."""
    assert answers[shape][2].answer == "no"


def test_a_single_peak_is_no_period_whatever_echoes_it():
    """Of a peak at 3, the rest at 13 happens to lie a little high; a season has a second peak."""
    errors = np.array(
        [
            *(0.0079, 0.0086, 0.0133, 0.0097, 0.0114, 0.0126, 0.0148, 0.016, 0.0159, 0.0198),
            *(0.0228, 0.022, 0.0324, 0.0276, 0.0343, 0.0354, 0.0558, 0.0563, 0.0405, 0.0597),
        ]
    )
    spike = np.array(
        [
            *(0.1098, 0.096, 0.7144, 0.0762, 0.0948, 0.0988, 0.1056, 0.1015, 0.0963, 0.1166),
            *(0.1105, 0.0475, 0.1364, 0.1138, 0.1134, 0.1145, 0.1562, 0.1126, 0.0901, 0.0991),
        ]
    )
    pulls = np.random.default_rng(0).standard_normal((200, 20))
    pulls *= errors / np.sqrt(np.sum(pulls**2, axis=0))
    beat = find_period(spike, pulls, 0.95, "spike")
    assert beat is None or beat.p_value > 0.05
    spike[12] = 0.7
    season = find_period(spike, pulls, 0.95, "season")
    assert (season.period, season.peak, season.p_value < 1e-6) == (10, 3, True)


def test_recovery_says_how_long_it_takes(answers):
    """The step at four rounds is in the words."""
    assert "Nine tenths are back after 4 rounds." in answers["step"][1].words


def test_habit_is_reported_as_the_opposite(habit):
    """An arm that pays more the more it is repeated does not wear out, and is said not to."""
    wear = fit_curves(habit).findings[0][0]
    assert wear.answer == "reverse"
    assert "opposite" in wear.words


def test_a_small_log_is_told_to_be_small():
    """Nothing is claimed on a handful of events."""
    frame = pd.DataFrame({"time": range(6), "arm": ["a", "b"] * 3, "reward": [0, 1] * 3})
    fit = fit_curves(frame, subject=None)
    assert {found.answer for found in fit.findings[0]} == {"unclear"}
    assert "Too few" in fit.findings[0][0].words


def test_false_alarms_are_as_rare_as_promised():
    """On arms that never change, hardly any log of 8 gives a yes or its opposite to anyone."""
    truth = ls.Bandit([ls.curves.constant(0.4)] * 3)
    alarms = 0
    for seed in range(8):
        fit = fit_curves(simulate(truth, subjects=60, rounds=40, seed=seed, spread=0.5))
        for question in range(3):
            alarms += any(found[question].answer in ("yes", "reverse") for found in fit.findings)
    # 24 families of tests at 5 %: 1.2 expected; 7 or more has a chance below one in a thousand.
    assert alarms < 7


def test_the_caution_is_in_the_words():
    """Whoever prints a fit reads that logs are not experiments."""
    log = simulate(ls.Bandit([ls.curves.constant(0.4)] * 2), subjects=10, rounds=10, seed=0)
    assert CAUTION in str(fit_curves(log))
