"""Table 1: what repeating a block costs by the shape of the curves, and which cells are void."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.model.instances import example_2
from lastswitch.paper.theory import block_error
from paper_cases import every_block

on_off = st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def shaped_curves(draw, rising_rest: bool, constant_streak: bool):
    """Draw a curve of one cell; a rising rest curve also beats every repeat."""
    rest = draw(st.lists(on_off, min_size=1, max_size=6))
    streak = draw(st.lists(on_off, min_size=1, max_size=1 if constant_streak else 4))
    if rising_rest:
        rest = sorted(rest)
        streak = [min(pay, rest[0]) for pay in streak]
    return ls.Curve(rest, sorted(streak, reverse=True))


@st.composite
def histories(draw, rising_rest: bool, constant_streak: bool):
    """Draw a bandit of one cell, some rounds already played, and the block that follows them."""
    arm = shaped_curves(rising_rest, constant_streak)
    bandit = ls.Bandit(draw(st.lists(arm, min_size=2, max_size=3)))
    runs = st.lists(
        st.tuples(st.integers(0, bandit.n_arms - 1), st.integers(1, 4)), min_size=1, max_size=4
    ).map(lambda pairs: [each for one, times in pairs for each in [one] * times])
    return bandit, draw(runs), draw(runs)


def loss_of_repeating(bandit, played, block) -> float:
    """Return r(B | τ) − r(B | τ_B): what the block paid there, minus what one turn of it pays."""
    there = ls.states.state_after(bandit.start(), played)
    constant = all(curve.kind.streak == "constant" for curve in bandit.curves)
    repeated = block if constant else ls.blocks.repaired_block(block, bandit.n_arms)
    return ls.block_reward(bandit, block, there) - ls.cycle_reward(bandit, repeated)


@pytest.mark.parametrize("rising_rest", [True, False], ids=["rising", "arbitrary"])
@pytest.mark.parametrize("constant_streak", [True, False], ids=["constant", "wearing"])
def test_the_four_covered_cells(rising_rest, constant_streak):
    """A block taken out of any history and repeated loses at most its cell of the table."""

    @settings(max_examples=60)
    @given(histories(rising_rest, constant_streak))
    def holds(case):
        bandit, played, block = case
        loss = loss_of_repeating(bandit, played, block)
        assert loss <= block_error(bandit, len(block)) + 1e-9

    holds()


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_k_minus_1_is_attained(n_arms):
    """Rising rest, constant streaks: Example 2 loses exactly K − 1."""
    bandit, turn = example_2(n_arms), list(range(n_arms))
    assert block_error(bandit, 2 * n_arms - 1) == n_arms - 1
    assert loss_of_repeating(bandit, turn * 3, turn + turn[:-1]) == n_arms - 1


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_k_is_attained(n_arms):
    """Arbitrary rest, constant streaks: every arm paid off schedule, none when repeated."""
    spikes = [ls.curves.spike(at=20 + 2 * arm, high=1.0) for arm in range(n_arms - 1)]
    keen = n_arms - 1  # pays on a repeat only
    bandit = ls.Bandit([*spikes, ls.Curve([0.0], [1.0])])
    played = [*range(n_arms - 2, -1, -1)] + [keen] * 19
    block = [keen, *range(n_arms - 1)]
    assert block_error(bandit, len(block)) == n_arms
    assert loss_of_repeating(bandit, played, block) == n_arms


def test_k_plus_2_is_attained():
    """Arbitrary rest, wearing streaks: seven paying rounds of which the repeated B' keeps three."""
    first = ls.Curve([0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0])
    second = ls.Curve([0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0])
    bandit = ls.Bandit([first, second])
    block = [0, 0, 0, 1, 1, 1, 1]
    assert block_error(bandit, len(block)) == 4
    assert loss_of_repeating(bandit, [1, 0, 1, 1, 0, 0], block) == 4


BEYOND, LATE, WORN = 6, 8, 200  # block size; first and last streak that pays


@pytest.mark.parametrize("rest", [[0.0], [0.0] * 49 + [1.0, 0.0]], ids=["rising", "arbitrary"])
def test_the_two_vacuous_cells(rest):
    """Streaks that pay only late: the optimum nears 1, every cycle of six rounds earns nothing."""
    streak = [1.0 if LATE <= run < WORN else 0.0 for run in range(1, WORN + 1)]
    bandit = ls.Bandit([ls.Curve(rest, streak, monotone=False)] * 2)
    assert block_error(bandit, BEYOND) == BEYOND
    long_runs = [0] * WORN + [1] * WORN
    assert ls.cycle_reward(bandit, long_runs) / len(long_runs) >= 0.96
    assert all(ls.cycle_reward(bandit, block) == 0 for block in every_block(2, BEYOND))


def test_in_the_vacuous_cells_no_block_makes_up_for_the_state():
    """Lemma 2 has no counterpart there: d from one state, and nothing whatever one plays from 1."""
    streak = [0.0] * (LATE - 1) + [1.0]
    bandit = ls.Bandit([ls.Curve([0.0], streak, monotone=False)] * 2)
    assert ls.block_reward(bandit, [0] * BEYOND, [-LATE, 1]) == BEYOND
    assert all(ls.block_reward(bandit, block) == 0 for block in every_block(2, BEYOND))


def test_the_first_row_needs_rest_to_beat_a_repeat():
    """If a repeat pays more than one round of rest, K − 1 fails even with a rising rest curve."""
    lazy, keen = ls.Curve([0.0, 0.0, 0.0, 1.0], [0.0]), ls.Curve([0.0, 0.0, 0.0, 1.0], [1.0])
    bandit = ls.Bandit([lazy, keen])
    assert {curve.kind.rest for curve in bandit.curves} == {"nondecreasing"}
    played = [0, 1, 1, 0, 1, 0, 1, 1, 1, 1]
    assert loss_of_repeating(bandit, played, [1, 1, 1, 0, 0]) == 2
    assert block_error(bandit, 5) == 2
