"""Simulated logs follow the model they are asked to."""

from __future__ import annotations

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import LogError
from lastswitch.logs import simulate

TRUTH = ls.Bandit([([0.2, 0.8], [0.1, 0.05]), ([0.4], [0.3])], noise="none", names=["a", "b"])


def test_rewards_follow_the_states_of_a_replay():
    """Without noise, every reward is the mean of the state the model's transition gives."""
    log = simulate(TRUTH, subjects=5, rounds=30, seed=1).to_pydict()
    tau = {}
    for who, arm, paid in zip(log["subject"], log["arm"], log["reward"], strict=True):
        state = tau.setdefault(who, TRUTH.start())
        number = TRUTH.index(arm)
        assert paid == pytest.approx(TRUTH.mean(number, int(state[number])))
        tau[who] = ls.states.transition(state, number)


def test_idle_days_leave_no_event_and_rest_everyone():
    """About a third of the days are missing, and days are those of the clock."""
    log = simulate(TRUTH, subjects=200, rounds=50, seed=1, idle=0.3)
    assert log.num_rows == pytest.approx(0.7 * 200 * 50, rel=0.05)
    days = log["time"].to_numpy().astype("datetime64[D]")
    assert np.unique(days).size == 50


def test_the_same_seed_gives_the_same_log():
    """And another seed another one."""
    first, again, other = (simulate(TRUTH, subjects=3, rounds=9, seed=s) for s in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_chances_are_followed_and_written_down():
    """An arm with one chance in four is played a quarter of the time."""
    log = simulate(TRUTH, subjects=100, rounds=100, seed=1, policy=[0.25, 0.75])
    arms = np.array(log["arm"].to_pylist())
    assert (arms == "a").mean() == pytest.approx(0.25, abs=0.02)
    assert set(log["propensity"].to_numpy()[arms == "a"]) == {0.25}


def test_spread_keeps_the_mean_and_parts_the_subjects():
    """Half the subjects are paid more and half less, by as much."""
    truth = ls.Bandit([ls.curves.constant(0.4)] * 2)
    log = simulate(truth, subjects=400, rounds=100, seed=2, spread=1.0)
    by_subject = log["reward"].to_numpy().reshape(400, 100).mean(axis=1)
    assert sorted(np.unique(by_subject.round(1)))[0] == 0.0
    assert by_subject.mean() == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"subjects": 0}, "at least 1"),
        ({"idle": 1.0}, "idle"),
        ({"spread": 2.0}, "spread"),
        ({"policy": [0.5, 0.6]}, "summing to 1"),
        ({"policy": [1.0]}, "shape"),
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong, message):
    """Each message says what was given."""
    with pytest.raises(LogError, match=message):
        simulate(TRUTH, **({"subjects": 2, "rounds": 2} | wrong))
