"""Replay values rotations and policies without bias, and refuses what the log cannot support."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lastswitch as ls
from lastswitch.errors import LogError
from lastswitch.logs import replay, simulate

TRUTH = ls.Bandit(
    [ls.curves.recovering(0.8, 4), ls.curves.satiating(0.7, 0.1, 3), ls.curves.constant(0.3)],
    names=["jazz", "news", "ads"],
)
BLOCK = ["jazz", "news", "news", "ads"]
TRUE = ls.cycle_reward(TRUTH, [0, 1, 1, 2]) / 4


def wary(states):
    """Play rested arms more, so that chances differ from round to round."""
    weight = 1.0 + np.clip(states, 0, 4)
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def log():
    """Simulate a policy that looks at the states, and writes its propensities down."""
    return simulate(TRUTH, subjects=300, rounds=100, seed=5, policy=wary, spread=0.5)


@pytest.mark.parametrize("every", [None, "1d"])
def test_a_rotation_is_valued_within_its_intervals(log, every):
    """Both estimators hold the truth, whichever way rounds are made."""
    found = replay(log, BLOCK, propensity="propensity", every=every)
    assert found.ips.low <= TRUE <= found.ips.high
    assert found.snips.low <= TRUE <= found.snips.high


def test_a_policy_is_valued_like_the_rotation_it_plays(log):
    """FixedCycle visits the rotation's states, and a few first plays."""
    order = ["ads", "jazz", "news"]
    cycle = ls.FixedCycle([order.index(arm) for arm in BLOCK])
    found = replay(log, cycle, propensity="propensity", rounds=800)
    assert found.snips.mean == pytest.approx(
        replay(log, BLOCK, propensity="propensity").snips.mean, abs=0.01
    )


def test_the_weights_undo_the_choices_of_the_log():
    """Eager subjects are shown jazz more often: a plain mean flatters it, the weighted does not."""
    rng = np.random.default_rng(1)
    eager = np.repeat(rng.random(600) < 0.5, 40)
    chance = np.where(eager, 0.8, 0.2)
    jazz = rng.random(eager.size) < chance
    paid = rng.random(eager.size) < np.where(eager, 0.9, 0.1)
    table = pa.table(
        {
            "subject": np.repeat(np.arange(600), 40),
            "time": np.tile(np.arange(40), 600),
            "arm": np.where(jazz, "jazz", "talk"),
            "reward": paid.astype(float),
            "propensity": np.where(jazz, chance, 1 - chance),
        }
    )
    found = replay(table, ["jazz", "talk"], propensity="propensity")
    plain = paid[jazz].mean()
    assert plain > 0.7
    assert found.snips.low <= 0.5 <= found.snips.high


def test_an_unseen_state_is_refused_by_name(log):
    """Nobody in the log repeats jazz twenty times."""
    with pytest.raises(LogError, match="'jazz' after 20 or more plays in a row"):
        replay(log, ["jazz"], propensity="propensity")


def test_wrong_propensities_are_refused(log):
    """Chances that do not add up to the rounds they stand for cannot be right."""
    wrong = log.set_column(4, "propensity", pa.array([0.95] * log.num_rows))
    with pytest.raises(LogError, match="propensities cannot be right"):
        replay(wrong, BLOCK, propensity="propensity")


def test_rounds_with_several_events_are_refused(log):
    """A chance is that of one choice in one round."""
    with pytest.raises(LogError, match="events in one round"):
        replay(log, BLOCK, propensity="propensity", every="1w")


def test_a_log_without_propensities_is_refused(log):
    """The column must be there."""
    with pytest.raises(LogError, match="no column 'chance' for the propensity"):
        replay(log.drop_columns("propensity"), BLOCK, propensity="chance")


def test_an_unknown_arm_is_refused(log):
    """The message lists the log's arms."""
    with pytest.raises(LogError, match=r"no arm \['polka'\]"):
        replay(log, ["polka"], propensity="propensity")
