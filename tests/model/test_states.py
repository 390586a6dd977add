"""How the switch state moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import BlockError, InputTypeError, LastSwitchError, StateError
from lastswitch.model.block_kernel import entry
from lastswitch.model.states import column, moved
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
    assert ls.states.transition(tau, arm).tolist() == expected


def test_transition_leaves_its_input_alone():
    """The function is pure."""
    tau = np.array([1, -2])
    ls.states.transition(tau, 1)
    assert tau.tolist() == [1, -2]


@given(data=st.data(), n_arms=st.integers(1, 4), many=st.integers(1, 5))
def test_many_states_move_as_one_does(data, n_arms, many):
    """The vectorised transition is the single one, row by row."""
    rows = np.array([data.draw(states(n_arms)) for _ in range(many)])
    arms = data.draw(st.lists(st.integers(0, n_arms - 1), min_size=many, max_size=many))
    expected = [
        ls.states.transition(row, arm).tolist() for row, arm in zip(rows, arms, strict=True)
    ]
    assert ls.states.transition(rows, arms).tolist() == expected
    same = [ls.states.transition(row, arms[0]).tolist() for row in rows]
    assert ls.states.transition(rows, arms[0]).tolist() == same


@given(start=states(3), plays=st.integers(1, 6), rest=st.integers(1, 6))
def test_a_streak_then_rest_counts_both(start, plays, rest):
    """N plays in a row end at -n (from rest), and m rounds without end at +m."""
    start[0] = abs(start[0])
    streak = ls.states.state_after(start, [0] * plays)
    assert streak[0] == -plays
    assert ls.states.state_after(streak, [1] * rest)[0] == rest


@given(data=st.data(), n_arms=st.integers(1, 4))
def test_trajectories_chain_transitions(data, n_arms):
    """Each row follows from the one before, and the last is state_after."""
    start, block = data.draw(states(n_arms)), data.draw(blocks(n_arms))
    path = ls.states.trajectory(start, block)
    assert path[0].tolist() == start.tolist()
    for step, arm in enumerate(block):
        assert path[step + 1].tolist() == ls.states.transition(path[step], arm).tolist()
    assert ls.states.state_after(start, block).tolist() == path[-1].tolist()


def test_bad_states_and_arms_are_refused():
    """Each message says what was given."""
    with pytest.raises(BlockError, match="arm 3 does not exist: arms are numbered 0 to 1"):
        ls.states.transition([1, 1], 3)
    with pytest.raises(BlockError, match="arm -1 does not exist"):
        ls.states.state_after([1, 1], [0, -1])
    with pytest.raises(InputTypeError, match=r"vector of integers, one per arm; got \[1.5\]"):
        ls.states.transition([1.5], 0)
    with pytest.raises(StateError, match=r"shape \(0,\)"):
        ls.states.transition(np.array([], dtype=int), 0)
    with pytest.raises(StateError, match=r"arms of shape \(3,\) for states of shape \(2, 2\)"):
        ls.states.transition([[1, 1], [1, 1]], [0, 1, 0])
    with pytest.raises(BlockError, match=r"at least one; got \[\]"):
        ls.states.trajectory([1, 1], [])
    with pytest.raises(InputTypeError, match=r"got \[0.5\]"):
        ls.states.trajectory([1, 1], [0.5])


@given(st.integers(-20, 20), st.booleans())
def test_one_rule_moves_single_states_and_arrays(tau, played):
    """An array moves entry by entry as a number does, and as the paper prints it."""
    printed = by_the_papers_cases(tau, played)
    assert moved(tau, played) == printed
    assert moved(np.array([tau]), np.array([played])).tolist() == [printed]


@given(st.integers(-40, 40), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_one_map_finds_the_column_of_states_and_arrays(tau, rest, streak, repeats):
    """Arrays, single states and the compiled twin agree, whatever the sizes of the tables."""
    place = column(tau, rest, streak, repeats)
    assert column(np.array([tau]), rest, streak, repeats).tolist() == [place]
    assert entry(tau, 0, rest, rest, streak, repeats) == place
    assert (place < rest) == (tau > 0)
    assert (
        column(tau, 0, streak)
        == column(np.array([tau]), 0, streak)
        == column(min(tau, 0), 0, streak)
    )


@pytest.mark.parametrize("far", [2**63 - 1, -(2**63), 2**62 + 1, np.uint64(2**63 + 5)])
def test_states_that_would_overflow_are_refused(far):
    """Wherever a state can be given; a state of 2**62 itself counts on."""
    bandit = ls.Bandit([ls.curves.step(2, 0.9)] * 2)
    for use in (
        lambda: ls.states.transition([far, 1], 0),
        lambda: ls.states.state_after([far, 1], [0]),
        lambda: ls.Bandit(bandit.curves, initial=[far, 1]),
        lambda: ls.plan_block(bandit, 3, start=[far, 1]),
        lambda: ls.block_reward(bandit, [0, 1], start=[far, 1]),
        lambda: ls.optimal_total(bandit, 3, start=[far, 1]),
        lambda: bandit.curves[0]([far]),
    ):
        with pytest.raises(LastSwitchError, match=r"2\*\*62|integer"):
            use()
    assert ls.states.transition([2**62, 1], 1).tolist() == [2**62 + 1, -1]


def test_a_start_has_one_meaning_everywhere():
    """The default is the bandit's own; unknown is the calibrated reward; 0 is no state."""
    bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.Curve([0.4], [0.3])], initial=[5, -2])
    block = [0, 1, 0, 0]
    given_start = ls.block_reward(bandit, block, [5, -2])
    assert ls.block_reward(bandit, block) == ls.block_reward(bandit, block, "initial")
    assert ls.block_reward(bandit, block) == given_start
    assert ls.block_reward(bandit, block, "unknown") == ls.blocks.calibrated_reward(bandit, block)
    assert ls.plan_block(bandit, 4).value == ls.plan_block(bandit, 4, start=[5, -2]).value
    calibrated = ls.plan_block(bandit, 4, start="unknown")
    assert calibrated.value == pytest.approx(ls.blocks.calibrated_reward(bandit, calibrated.block))
    for use in (
        lambda start: ls.blocks.block_pays(bandit, block, start),
        lambda start: ls.plan_block(bandit, 4, start=start),
        lambda start: ls.optimal_total(bandit, 4, start),
    ):
        for wrong in ("anywhere", [1, 0], None, [1], [1.5, 1.0]):
            with pytest.raises(StateError, match="start must be 'initial', 'unknown' or 2"):
                use(wrong)
