"""A subject's track moves as the model says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lastswitch.learning import Track
from lastswitch.states import transition


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
