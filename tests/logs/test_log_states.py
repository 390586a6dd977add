"""The state at every event, from window functions, is the one a replay finds."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from lastswitch.errors import LogError
from lastswitch.logs.clock import Rounds, clock_rounds
from lastswitch.logs.states import plays_by_clock, plays_in_order, with_states
from log_replay import (
    KINDS,
    Row,
    computed_states,
    random_log,
    replay_by_clock,
    replay_in_order,
    table_of,
)


@pytest.fixture(scope="module")
def duck():
    """One embedded engine for the whole file."""
    return ibis.duckdb.connect()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_states_in_order_equal_a_replay(duck, kind, seed):
    """Each event a round: rest, run and first play agree with moving every state by hand."""
    rows = random_log(np.random.default_rng(seed), kind)
    found = computed_states(duck, with_states(plays_in_order(table_of(rows))))
    assert found == sorted(replay_in_order(rows), key=repr)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1.0, 3.0])
def test_states_by_clock_equal_a_replay(duck, kind, length):
    """Rounds from the clock: empty rounds rest every arm, and a round's events are one play."""
    rows = random_log(np.random.default_rng(5), kind)
    found = computed_states(duck, with_states(plays_by_clock(table_of(rows), Rounds(length, 0.0))))
    expected = sorted(replay_by_clock(rows, length), key=repr)
    assert [play[:3] + play[4:] for play in found] == [play[:3] + play[4:] for play in expected]
    means = [play[3] for play in found], [play[3] for play in expected]
    assert np.array(means[0], dtype=float) == pytest.approx(
        np.array(means[1], dtype=float), nan_ok=True
    )


def test_the_largest_reward_of_a_round_can_stand_for_it(duck):
    """together='max' answers "did anything happen that day"."""
    rows: list[Row] = [("s", 0.0, "a", 0.0), ("s", 0.5, "a", 1.0)]
    states = with_states(plays_by_clock(table_of(rows), Rounds(1.0, 0.0), "max"))
    assert computed_states(duck, states) == [("s", "a", 0, 1.0, None)]


def test_rounds_of_a_week_begin_on_monday():
    """1970-01-05 was a Monday."""
    assert clock_rounds("1w", "stamps").origin == 4 * 86400


@pytest.mark.parametrize("every", ["1 fortnight", "0d", "d", 7, -1, ""])
def test_unreadable_rounds_are_refused(every):
    """The message repeats what was given and shows a good one."""
    with pytest.raises(LogError, match="such as '1d'"):
        clock_rounds(every, "stamps")


@pytest.mark.parametrize("every", ["1d", 0, -2.0])
def test_numbered_times_need_a_number(every):
    """A log whose times are numbers has no days."""
    with pytest.raises(LogError, match="plain numbers"):
        clock_rounds(every, "numbers")
