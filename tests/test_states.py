"""How the switch state moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError, InputTypeError, StateError
from strategies import blocks, states


def by_the_papers_cases(tau, played):
    """Return the next state of one arm: the four cases of Laforgue et al. (2022), Eq. (2)."""
    if played:
        return tau - 1 if tau <= 0 else -1
    return 1 if tau <= 0 else tau + 1


@given(data=st.data(), n_arms=st.integers(1, 5))
def test_transition_is_the_papers_case_table(data, n_arms):
    """Every arm moves as Eq. (2) says, including the state 0 the paper allows."""
    tau = data.draw(st.lists(st.integers(-9, 9), min_size=n_arms, max_size=n_arms))
    arm = data.draw(st.integers(0, n_arms - 1))
    expected = [by_the_papers_cases(state, index == arm) for index, state in enumerate(tau)]
    assert ls.transition(tau, arm).tolist() == expected


def test_transition_leaves_its_input_alone():
    """The function is pure."""
    tau = np.array([1, -2])
    ls.transition(tau, 1)
    assert tau.tolist() == [1, -2]


@given(data=st.data(), n_arms=st.integers(1, 4), many=st.integers(1, 5))
def test_many_states_move_as_one_does(data, n_arms, many):
    """The vectorised transition is the single one, row by row."""
    rows = np.array([data.draw(states(n_arms)) for _ in range(many)])
    arms = data.draw(st.lists(st.integers(0, n_arms - 1), min_size=many, max_size=many))
    expected = [ls.transition(row, arm).tolist() for row, arm in zip(rows, arms, strict=True)]
    assert ls.transition(rows, arms).tolist() == expected
    same = [ls.transition(row, arms[0]).tolist() for row in rows]
    assert ls.transition(rows, arms[0]).tolist() == same


@given(start=states(3), plays=st.integers(1, 6), rest=st.integers(1, 6))
def test_a_streak_then_rest_counts_both(start, plays, rest):
    """N plays in a row end at -n (from rest), and m rounds without end at +m."""
    start[0] = abs(start[0])
    streak = ls.state_after(start, [0] * plays)
    assert streak[0] == -plays
    assert ls.state_after(streak, [1] * rest)[0] == rest


@given(data=st.data(), n_arms=st.integers(1, 4))
def test_trajectories_chain_transitions(data, n_arms):
    """Each row follows from the one before, and the last is state_after."""
    start, block = data.draw(states(n_arms)), data.draw(blocks(n_arms))
    path = ls.trajectory(start, block)
    assert path[0].tolist() == start.tolist()
    for step, arm in enumerate(block):
        assert path[step + 1].tolist() == ls.transition(path[step], arm).tolist()
    assert ls.state_after(start, block).tolist() == path[-1].tolist()


def test_bad_states_and_arms_are_refused():
    """Each message says what was given."""
    with pytest.raises(BlockError, match="arm 3 does not exist: arms are numbered 0 to 1"):
        ls.transition([1, 1], 3)
    with pytest.raises(BlockError, match="arm -1 does not exist"):
        ls.state_after([1, 1], [0, -1])
    with pytest.raises(InputTypeError, match=r"vector of integers, one per arm; got \[1.5\]"):
        ls.transition([1.5], 0)
    with pytest.raises(StateError, match=r"shape \(0,\)"):
        ls.transition(np.array([], dtype=int), 0)
    with pytest.raises(StateError, match=r"arms of shape \(3,\) for states of shape \(2, 2\)"):
        ls.transition([[1, 1], [1, 1]], [0, 1, 0])
    with pytest.raises(BlockError, match=r"at least one; got \[\]"):
        ls.trajectory([1, 1], [])
    with pytest.raises(InputTypeError, match=r"got \[0.5\]"):
        ls.trajectory([1, 1], [0.5])
