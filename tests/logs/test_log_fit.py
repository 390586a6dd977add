"""Curves fitted to simulated logs find the truth they came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.logs import fit_curves, load_fit, predicted_gain, simulate
from lastswitch.logs.cycles import cycle_cells
from lastswitch.logs.estimates import Evidence, falling, interval, kernel, level_from, pool_sparse

TRUTH = ls.Bandit(
    [
        ls.curves.recovering(0.8, 5, low=0.02),
        ls.curves.step(4, 0.9, 0.1),
        ls.curves.satiating(0.7, 0.1, 4),
        ls.curves.constant(0.3),
        ls.curves.periodic([0.1, 0.1, 0.6], 0.05),
    ],
    names=["jazz", "talk", "news", "ads", "weekly"],
)


@pytest.fixture(scope="module")
def fit():
    """Fit 60,000 events."""
    return fit_curves(simulate(TRUTH, subjects=300, rounds=200, seed=4))


def numbered(fit, truth):
    """Yield the truth's arm number and the fit of each arm."""
    return ((truth.index(arm.name), arm) for arm in fit.arms)


@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_intervals_cover_the_truth_as_often_as_they_say(spread):
    """95 % intervals of well-counted states cover in 93 to 97 %, also when subjects differ."""
    hits = []
    for seed in range(3):
        fit = fit_curves(simulate(TRUTH, subjects=250, rounds=120, seed=seed, spread=spread))
        hits += [
            state.low <= TRUTH.mean(number, state.tau) <= state.high
            for number, arm in numbered(fit, TRUTH)
            for state in arm.estimates
            if state.events >= 200
        ]
    # A few hundred intervals: the band is the promise, widened by what so few can tell.
    slack = 2.5 * np.sqrt(0.95 * 0.05 / len(hits))
    assert 0.93 - slack <= np.mean(hits) <= 0.97 + slack


def test_independent_intervals_would_not_cover_when_subjects_differ():
    """The design effect is needed: without it, intervals of unlike subjects are too short."""
    log = simulate(ls.Bandit([([0.5], [0.5])] * 2), subjects=40, rounds=300, seed=1, spread=0.8)
    state = fit_curves(log).arms[0].rest[0]
    independent = 1.96 * np.sqrt(0.25 / state.events)
    assert (state.high - state.low) / 2 > 1.5 * independent


def test_the_rotation_planned_from_a_fit_is_nearly_optimal(fit):
    """Played in truth, it earns at least 97 % of the best cycle of that length."""
    planned = ls.plan_cycle(fit.bandit, 12, gap=0.01)
    block = [TRUTH.index(planned.names[arm]) for arm in planned.block]
    best = ls.plan_cycle(TRUTH, 12, gap=0.0)
    assert ls.cycle_reward(TRUTH, block) >= 0.97 * best.bound


def test_every_streak_curve_falls(fit):
    """A fitted bandit is a lawful one."""
    for arm in fit.arms:
        assert list(arm.curve.streak) == sorted(arm.curve.streak, reverse=True)


def test_first_plays_are_kept_apart(fit):
    """Each subject's first play of an arm is in no state."""
    assert [arm.first.events for arm in fit.arms] == [300] * 5
    prior = fit.prior()
    assert fit.counts.events.sum() == prior.rest_counts.sum() + prior.streak_counts.sum() + 1500


def test_a_constant_arm_levels_to_one_value(fit):
    """What cannot be told apart is one value: the curve is as simple as the evidence."""
    ads = fit.arms[0]
    assert ads.name == "ads"
    assert ads.curve.support().rest <= 2


def test_an_arm_never_repeated_pays_nothing_in_a_row():
    """A streak nobody saw is unknown, and no plan may count on it."""
    frame = pd.DataFrame({"time": range(40), "arm": ["a", "b"] * 20, "reward": [1, 0] * 20})
    arm = fit_curves(frame, subject=None, min_events=1, min_subjects=1).arms[0]
    assert arm.unseen == ("streak",)
    assert arm.curve.streak == (0.0,)
    assert arm.curve(1) == 1.0


def test_an_arm_only_ever_tried_once_is_unknown_and_said_so():
    """Neither side was seen: both pay nothing, and the fit says so up front."""
    frame = pd.DataFrame({"who": range(10), "time": 1, "arm": "a", "reward": [0, 1] * 5})
    fit = fit_curves(frame, subject="who")
    arm = fit.arms[0]
    assert (arm.unseen, arm.curve(1), arm.curve(-1)) == (("rest", "streak"), 0.0, 0.0)
    assert fit.summary.single == ("a",)
    assert "played twice by nobody: 'a'" in str(fit)


def test_real_valued_rewards_give_a_gaussian_bandit():
    """Noise and its size are read from the spread within states."""
    truth = ls.Bandit([([0.5], [0.3])] * 2, noise="gaussian", sigma=0.1)
    log = simulate(truth, subjects=100, rounds=50, seed=2)
    bandit = fit_curves(log, scale="clip").bandit
    assert bandit.noise == "gaussian"
    assert bandit.sigma == pytest.approx(0.1, rel=0.1)


def test_smoothing_brings_neighbours_closer():
    """Each rest value moves towards those beside it."""
    log = simulate(TRUTH, subjects=60, rounds=60, seed=3)
    rough, smooth = (fit_curves(log, smooth=width).arms[4].curve for width in (None, 2.0))
    taus = np.arange(1, 10)
    assert np.abs(np.diff(smooth(taus))).max() < np.abs(np.diff(rough(taus))).max()


def test_a_saved_fit_is_the_fit(fit, tmp_path):
    """Curves, counts and summary survive a round trip through a file."""
    again = load_fit(fit.save(tmp_path / "radio.fit.npz"))
    assert [arm.curve for arm in again.arms] == [arm.curve for arm in fit.arms]
    assert again.summary == fit.summary


@pytest.mark.parametrize("content", [b"", b"not a fit", b"PK\x03\x04"])
def test_a_broken_fit_file_is_refused(tmp_path, content):
    """Half a file is named as such."""
    path = tmp_path / "half.fit.npz"
    path.write_bytes(content)
    with pytest.raises(ls.errors.FileError, match="is not a saved fit"):
        load_fit(path)


def test_a_missing_fit_file_is_refused(tmp_path):
    """The message names it."""
    with pytest.raises(ls.errors.FileError, match=r"none\.fit\.npz does not exist"):
        load_fit(tmp_path / "none.fit.npz")


# Gains


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_cells_of_a_cycle_pay_what_the_cycle_pays(block):
    """The states along a repeated block are those of cycle_reward."""
    rng = np.random.default_rng(len(block))
    streaks = np.sort(rng.random((4, 30)))[:, ::-1]
    bandit = ls.Bandit(list(zip(rng.random((4, 30)), streaks, strict=True)))
    if len(set(block)) == 1:  # cycle_reward starts one block into the streak, cells at its end
        assert all(tau < -30 for _, tau in cycle_cells(block))
    else:
        paid = sum(bandit.mean(arm, tau) for arm, tau in cycle_cells(block))
        assert paid == pytest.approx(ls.cycle_reward(bandit, block))


def test_predicted_gains_cover_the_true_gains(fit):
    """Intervals hold the true differences to round-robin and to the best arm alone."""
    names = ["talk", "jazz", "news", "weekly"]
    gain = predicted_gain(fit, names)
    numbers = [TRUTH.index(name) for name in names]
    true = ls.cycle_reward(TRUTH, numbers) / 4
    robin = ls.cycle_reward(TRUTH, [TRUTH.index(name) for name in fit.bandit.names]) / 5
    assert gain.rotation.low <= true <= gain.rotation.high
    assert gain.over_round_robin.low <= true - robin <= gain.over_round_robin.high
    assert gain.best_arm_name == "ads"
    assert gain.log.mean == pytest.approx(fit.log_mean)


def test_gain_is_found_by_the_bandits_content(fit, tmp_path):
    """A bandit's file leads to the fit it came from, whatever either is called."""
    fit.bandit.save(tmp_path / "radio.toml")
    fit.save(tmp_path / "another-name.fit.npz")
    assert predicted_gain(tmp_path / "radio.toml", [0, 1]) == predicted_gain(fit, [0, 1])


def test_gain_of_an_unknown_arm_is_refused(fit):
    """The message lists the arms there are."""
    with pytest.raises(ls.errors.LogError, match="no arm \\['polka'\\]"):
        predicted_gain(fit, ["polka", "jazz"])


# Estimates


@given(
    st.floats(-0.1, 1.1), st.floats(0, 0.5), st.integers(0, 50), st.integers(1, 50), st.booleans()
)
def test_a_mean_lies_in_its_interval_and_in_the_unit_interval(mean, error, events, people, known):
    """Whatever the counts."""
    evidence = Evidence(events, 0.2, min(people, events), min(people, events))
    found = interval(mean, error, evidence, 0.95, binary=True, known=known)
    if events:
        assert 0 <= found.low <= found.mean <= found.high <= 1
    else:
        assert (found.low, found.high) == (0, 1)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=25), st.integers(1, 50))
def test_pools_reach_the_least_number_where_they_can(events, least):
    """A state with enough stands alone; others join neighbours as sparse, and borrow no more."""
    many = np.array(events, float)
    for state, (begin, end) in enumerate(pool_sparse(many, least)):
        assert begin <= state < end
        if many[state] >= least:
            assert end - begin == 1
        elif many[begin:end].sum() < least:  # a whole run of sparse states, not enough together
            assert begin == 0 or many[begin - 1] >= least
            assert end == len(many) or many[end] >= least


def test_levelling_stops_where_the_mean_changes():
    """Six equal deep states are one, the two different ones before stay."""
    assert level_from(np.array([0.1, 0.3, *[0.5] * 6]), np.full(8, 0.02)) == 2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=40)
def test_falling_values_fall_and_stay_put_if_they_did(values):
    """The result is nonincreasing, and a projection: doing it twice changes nothing."""
    once = falling(np.array(values), np.ones(len(values)))
    assert (np.diff(once) <= 1e-12).all()
    assert falling(once, np.ones(len(values))) == pytest.approx(once)


def test_smoothing_keeps_a_constant():
    """An average of equal values is that value."""
    assert kernel(np.arange(5.0), 1.5) @ np.full(5, 0.3) == pytest.approx(np.full(5, 0.3))
