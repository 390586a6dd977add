"""What the log does not know is unknown: planning keeps away, and predictions are honest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lastswitch as ls
from lastswitch.logs import fit_curves, predicted_gain, simulate, support
from lastswitch.logs.predict import Readings, log_worth
from lastswitch.logs.worlds import coin_fit, coin_flips

TRUTH = ls.Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])], names=["jazz", "talk"])


def test_arms_seen_once_per_user_support_no_plan():
    """Nothing is known of rest or streaks, every state pays nothing, and the fit says so."""
    fit = fit_curves(coin_flips("single", seed=1))
    assert all(arm.unseen == ("rest", "streak") for arm in fit.arms)
    plan = ls.plan_cycle(fit.bandit, 6)
    assert plan.value == 0
    assert {found.answer for row in fit.findings for found in row} == {"unclear"}
    assert not any(one.known for one in support(fit, plan))


def test_a_state_of_few_events_pays_its_lower_bound():
    """Nine lucky repeats of an arm are no reason to repeat it."""
    log = simulate(TRUTH, subjects=60, rounds=30, seed=1).to_pandas()
    rare = pd.DataFrame(
        {
            "subject": np.repeat(range(1, 10), 2),
            "time": log["time"].max() + pd.to_timedelta(np.tile([1, 2], 9), unit="D"),
            "arm": "opera",
            "reward": 1.0,
        }
    )
    fit = fit_curves(pd.concat([log, rare]))
    opera = next(arm for arm in fit.arms if arm.name == "opera")
    assert (opera.repeats, opera.streak[0].known, opera.streak[0].mean) == (9, False, 1.0)
    assert opera.curve(-1) == pytest.approx(opera.streak[0].low, abs=1e-6)
    assert opera.curve(-2) == 0
    assert "opera" not in {
        ls.plan_cycle(fit.bandit, 8).names[a] for a in ls.plan_cycle(fit.bandit, 8).block
    }


def test_few_subjects_are_too_few_however_busy():
    """Two hundred events of two people are two people's."""
    log = simulate(TRUTH, subjects=2, rounds=400, seed=1)
    assert not any(state.known for arm in fit_curves(log).arms for state in arm.estimates)
    known = fit_curves(log, min_subjects=1).arms[0].estimates
    assert any(state.known for state in known)


def test_one_subject_is_compared_within_stretches_of_time():
    """Without subjects, time itself gives the parts to compare."""
    log = simulate(TRUTH, subjects=1, rounds=3000, seed=1)
    fit = fit_curves(log, subject=None)
    wear, back, _ = fit.findings[0]
    assert (wear.answer, back.answer) == ("yes", "yes")


def test_rests_longer_than_ever_seen_promise_nothing_unless_the_curve_has_levelled():
    """A curve that still rises at its end is not prolonged; one long level is."""
    steep = ls.Curve(rest=[0.1, 0.3, 0.5, 0.7, 0.9], streak=[0.05])
    truth = ls.Bandit([steep, ls.curves.constant(0.3)], names=["steep", "flat"])

    def often(states):
        rested = np.clip(states[:, :1], 0, 5) / 5  # never later than after five rounds
        return np.hstack([rested, 1 - rested])

    fit = fit_curves(simulate(truth, subjects=200, rounds=60, seed=1, policy=often))
    rising = fit.arms[1]
    assert rising.curve(5) == pytest.approx(0.9, abs=0.05)
    assert rising.curve(6) == 0
    assert rising.at(6) is None
    assert "rest" not in rising.holds


def test_too_few_subjects_to_hold_out_are_said_to_be():
    """Ten people are not split: the rotation is valued as given."""
    fit = fit_curves(simulate(TRUTH, subjects=10, rounds=100, seed=1))
    gain = predicted_gain(fit, ls.plan_cycle(fit.bandit, 4))
    assert not gain.held_out
    assert "as given" in str(gain)


def test_intervals_cover_where_subjects_differ_and_choose():
    """Lucky subjects repeat more: within subjects the truth is covered, pooled it is not."""
    truth = ls.Bandit([([0.5, 0.6], [0.4, 0.3]), ([0.45], [0.45])], names=["0", "1"])

    def keen(states):
        stay = np.where(np.arange(len(states)) % 2 == 0, 0.8, 0.2)[:, None]
        last = states < 0
        mixed = np.where(last, stay, (1 - stay))
        return np.where(last.any(axis=1, keepdims=True), mixed, 0.5)

    covered, pooled = [], []
    for seed in range(4):
        fit = fit_curves(simulate(truth, 150, 60, seed, policy=keen, shift=0.2))
        for arm, found in enumerate(fit.arms):
            for state in found.estimates:
                if state.events < 150 or state.pooled:
                    continue
                real = truth.mean(arm, state.tau)
                column = state.tau if state.tau > 0 else 60 - state.tau
                events, total, _ = (table[arm, column] for table in fit.counts.pooled)
                error = 1.96 * np.sqrt(real * (1 - real) / events)
                covered.append(state.low <= real <= state.high)
                pooled.append(abs(total / events - real) <= error)
    assert np.mean(covered) > 0.85
    assert np.mean(pooled) < 0.6


def test_a_state_that_held_out_subjects_never_visited_is_not_certain():
    """Its value comes from the others, and so does its error: it is not taken for none."""
    fit = coin_fit("choosers", 1, subjects=60)
    nobody = fit.counts.centred().of_groups(np.zeros(fit.counts.groups, dtype=bool))
    everyone = fit.counts.centred()
    unseen, seen = (Readings(fit).worth(counts, [0, 1]) for counts in (nobody, everyone))
    pays = np.mean([fit.arms[arm].curve(1) for arm in (0, 1)]) - log_worth(fit.counts).value
    assert unseen.value == pytest.approx(pays, abs=1e-6)
    assert unseen.error(nobody) > 0.3 * seen.error(fit.counts)
    certain = Readings(fit).worth(nobody, [0, 1])._replace(pulls=np.zeros(fit.counts.groups))
    assert certain.error(nobody) == 0  # what it was taken for
