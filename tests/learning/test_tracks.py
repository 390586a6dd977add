"""A subject's track moves as the model says."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastswitch.errors import PolicyError
from lastswitch.learning import Track
from lastswitch.model.states import moved, transition


@st.composite
def histories(draw):
    """Draw start states and a sequence of plays."""
    n_arms = draw(st.integers(1, 5))
    start = draw(st.lists(st.integers(-4, 6), min_size=n_arms, max_size=n_arms))
    plays = draw(st.lists(st.integers(0, n_arms - 1), max_size=30))
    return start, plays


@given(histories())
def test_a_track_moves_as_the_transition_does(history):
    """After every play, each τ equals the one the model's transition gives."""
    start, plays = history
    track, states = Track(tuple(start)), np.array(start)
    for arm in plays:
        assert track.play(arm) == states[arm]
        states = transition(states, arm)
        assert track.state() == states.tolist()
        assert [track.tau(i) for i in range(len(start))] == states.tolist()


@given(histories())
def test_a_track_survives_its_row(history):
    """A track rebuilt from its row moves on as the original."""
    start, plays = history
    track = Track(tuple(start))
    for arm in plays:
        track.play(arm)
    track.block, track.at, track.memory = (0, 0), 1, ["anything"]
    again = Track.from_row(track.to_row(), len(start))
    assert again.to_row() == track.to_row()
    assert again.play(0) == track.play(0)
    assert again.state() == track.state()


@st.composite
def several(draw):
    """Draw start states and rounds of several plays, of one, and of none."""
    n_arms = draw(st.integers(1, 4))
    start = draw(st.lists(st.integers(-4, 6), min_size=n_arms, max_size=n_arms))
    arms = st.sets(st.integers(0, n_arms - 1)).map(lambda played: tuple(sorted(played)))
    return start, draw(st.lists(arms, max_size=20))


@given(several())
def test_rounds_of_several_plays_move_a_track_as_the_move_rule_says(history):
    """After every round each τ is where the one move rule puts it, also once saved and read."""
    start, rounds = history
    track, states = Track(tuple(start)), list(start)
    for arms in rounds:
        assert track.play_round(arms) == tuple(states[arm] for arm in arms)
        states = [moved(tau, arm in arms) for arm, tau in enumerate(states)]
        assert track.state() == states
        assert [track.tau(i) for i in range(len(start))] == states
        again = Track.from_row(json.loads(json.dumps(track.to_row())), len(start))
        assert again.state() == states
        assert again.to_row() == track.to_row()


def test_a_track_that_no_rounds_lead_to_is_refused():
    """Streaks of arms that were not played last, or of one arm told as of several, are refused."""
    track = Track((1, 1, 1))
    track.play_round((0, 2))
    good = track.to_row()
    assert good[-1] == [[0, 1], [2, 1]]
    Track.from_row(good, 3)
    for runs in ([[0, 1]], [[0, 1], [1, 1]], [[0, 1], [2, 0]], [[0, 1], [3, 1]], []):
        with pytest.raises(PolicyError):
            Track.from_row([*good[:-1], runs], 3)
