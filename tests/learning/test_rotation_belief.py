"""Levels, kinds of curves and the reservation index against their definitions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from lastswitch.learning.rotation.belief import believe_arms, reservation, reservation_reference
from lastswitch.learning.rotation.kinds import (
    BEFOREHAND,
    CHANGING,
    KINDS,
    PEAK,
    PERIODIC,
    RISING,
    pays_reference,
    room_for,
)
from lastswitch.learning.rotation.levels import likelihoods_reference
from rotation_kernels import believed, laid_out, reached


@st.composite
def seen_cells(draw, most=12):
    """Draw rewards and sums by cell, some cells unseen, and how many of them are streaks."""
    streaks, depth = draw(st.integers(1, 3)), draw(st.integers(1, most - 3))
    cell = st.integers(0, 6) | st.integers(0, 60)
    n = np.array([float(draw(cell)) for _ in range(streaks + depth)])
    share = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
    return n, n * [draw(share) for _ in n], streaks


def priors():
    """Draw how likely each kind is beforehand: one of them alone, or all somehow."""
    alone = st.integers(0, len(KINDS) - 1).map(lambda way: np.eye(len(KINDS))[way])
    votes = st.tuples(*[st.floats(0.01, 1.0)] * len(KINDS))
    return alone | votes.map(lambda votes: np.array(votes) / sum(votes))


def index_of(n, s, streaks, profit, kinds=BEFOREHAND):
    """Return the index and the mean of each cell."""
    return believed(n, s, streaks, profit, kinds)[:2]


def pays_by(n, s, streaks, kinds, even=4):
    """Return levels, how likely each kind is, and how likely each place pays each level."""
    cells = np.array([streaks - 1 - k if k < streaks else k for k in range(n.size)])
    _, _, shares, pays = believed(n[cells], s[cells], streaks, 1.0, kinds, even)
    levels = laid_out(n, s)[0]
    return levels, shares, pays[:, : levels.size]


@settings(max_examples=80, deadline=None)
@given(seen_cells(), priors(), st.integers(1, 8))
def test_forwards_and_backwards_sum_what_whole_matrices_do(cells, prior, even):
    """Of one kind the pays are the same; of several all but those that hardly matter."""
    n, s, streaks = cells
    assume(n.any())
    levels, widths, likely = laid_out(n, s)
    expected, expected_pays = pays_reference(n, s, streaks, even, levels, widths, likely, prior)
    assume(np.isfinite(expected).all())
    _, shares, pays = pays_by(n, s, streaks, prior, even)
    assert shares == pytest.approx(expected, abs=1e-7)
    left_out = shares[shares < 5e-3].sum()
    assert np.abs(pays - expected_pays).sum(axis=1).max() <= 2.0 * left_out + 1e-7
    assert pays.sum(axis=1) == pytest.approx(np.ones(n.size))


@settings(max_examples=80, deadline=None)
@given(seen_cells())
def test_levels_cover_all_there_is_and_are_finer_where_more_is_known(cells):
    """Stretches lie side by side; one at a well-known mean is no wider than its deviation."""
    n, s, _ = cells
    levels, widths, likely = laid_out(n, s)
    edges = np.cumsum(widths)
    assert edges[-1] == pytest.approx(1.0)
    assert levels == pytest.approx(edges - 0.5 * widths)
    for seen, paid in zip(n, s, strict=True):
        mean, deviation = beta(1 + paid, 1 + seen - paid).stats("mv")
        width = widths[np.searchsorted(edges, mean)]
        assert width <= max(np.sqrt(deviation), 0.0501) + 1e-12
    expected = likelihoods_reference(n, s, levels, widths)
    assert likely == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_state_by_itself_pays_as_its_rewards_say(seen, share):
    """On the levels its mean is exact to within a small part of its own error, however small."""
    n, s = np.array([seen, 0.0]), np.array([seen * share, 0.0])
    levels, _, pays = pays_by(n, s, 1, np.eye(len(KINDS))[0])
    exact = beta(1 + s[0], 1 + n[0] - s[0])
    assert pays[0] @ levels == pytest.approx(exact.mean(), abs=0.15 * exact.std())
    spread = np.sqrt(pays[0] @ (levels - exact.mean()) ** 2)
    assert spread == pytest.approx(exact.std(), rel=0.15)


def test_states_without_end_have_levels_enough():
    """However many states are known however well, levels cover what there is."""
    rng = np.random.default_rng(0)
    n, s = np.full(80, 1e7), 1e7 * rng.random(80)
    levels, widths, _ = laid_out(n, s)
    assert widths.sum() == pytest.approx(1.0)
    assert (np.diff(levels) > 0).all()
    values, means = index_of(n, s, 4, 100.0)
    assert np.isfinite(values).all()
    assert np.isfinite(means).all()


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1e6), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_index_is_where_looking_is_just_worth_its_price(mean, wins, weights):
    """One walk down the levels finds what bisection does."""
    levels, shares = np.sort(np.random.default_rng(len(weights)).random(len(weights))), weights
    expected = reservation_reference(mean, wins, levels, np.array(shares))
    found = reached(reservation)(mean, wins, levels, np.array(shares, float), levels.size)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("form", "curve"),
    [
        (CHANGING, [0.6, 0.6, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.4, 0.4, 0.4]),
        (RISING, [0.05, 0.1, 0.3, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9]),
        (PEAK, [0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1]),
        (PERIODIC, [0.1, 0.3, 0.9, 0.5, 0.3, 0.9, 0.5, 0.3, 0.9]),
    ],
)
def test_what_was_seen_tells_of_what_kind_a_curve_is(form, curve):
    """Thirty rewards of each state are enough to tell forms apart."""
    n = np.full(len(curve), 30.0)
    _, shares, _ = pays_by(n, n * curve, 1, BEFOREHAND)
    assert shares[KINDS[:, 0] == form].sum() > 0.9


def test_an_arm_without_its_peak_has_it_where_least_was_seen():
    """Among arms with peaks, two zeros do not bury the one rest of an arm that may be its own."""
    n = np.array([20.0, 20.0, 20.0, 2.0, 20.0, 20.0, 20.0])
    s = np.round(n * 0.1)
    peaks = np.where(KINDS[:, 0] == PEAK, 0.9, 0.1 * BEFOREHAND)
    values, _ = index_of(n, s, 1, 50.0, kinds=peaks / peaks.sum())
    assert values[3] > 1.5 * np.delete(values, 3).max()


def test_rests_never_seen_pay_what_their_phase_does():
    """Where rests three apart paid the same twice, the next is believed to do so again."""
    pays = np.array([0.2, 0.1, 0.9, 0.4, 0.1, 0.9, 0.4, 0.0, 0.0, 0.0])
    n = np.where(np.arange(10) < 7, 40.0, 0.0)
    _, means = index_of(n, n * pays, 1, 1.0)
    assert means[7:] == pytest.approx([0.1, 0.9, 0.4], abs=0.12)


def test_states_that_pay_alike_share_what_was_seen():
    """A state seen once between two well known ones is believed like them; one alone is not."""
    n, s = np.array([50.0, 1.0, 50.0]), np.array([10.0, 0.0, 10.0])
    together, _ = index_of(n, s, 1, 10.0)
    by_itself, _ = index_of(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0]), 1, 10.0)
    assert together[1] < 0.7 * by_itself[1]


def test_a_state_unlike_its_neighbours_is_soon_believed_for_itself():
    """Ten rewards of ten between states that pay nothing are no accident."""
    n, s = np.array([50.0, 50.0, 10.0, 50.0]), np.array([0.0, 0.0, 10.0, 0.0])
    _, means = index_of(n, s, 1, 10.0)
    assert means[2] > 0.85
    assert means[[0, 1, 3]].max() < 0.05


def test_what_profits_more_plays_is_worth_more_and_no_belief_is_final():
    """The index starts at the mean and rises to the most there can be."""
    n, s = np.array([200.0, 3.0, 200.0]), np.array([20.0, 0.0, 20.0])
    values = [index_of(n, s, 1, profit)[0] for profit in (0.0, 100.0, 1e3, 1e6, 1e12)]
    means = index_of(n, s, 1, 0.0)[1]
    assert values[0] == pytest.approx(means)
    assert (np.diff(values, axis=0) > 0).all()
    assert values[-1][1] > 0.9


def test_short_rests_are_seen_before_they_are_judged_and_long_ones_are_not():
    """Rests 1 to 4 stay at 1; the sixth is believed like the others that pay nothing."""
    n = np.array([0.0, 9.0, 0.0, 0.0, 9.0, 9.0, 0.0])  # one streak, rests 1 to 6
    values, _ = index_of(n, np.zeros(7), 1, 5.0)
    assert values[[0, 2, 3]].tolist() == [1.0, 1.0, 1.0]
    assert values[[1, 4, 5, 6]].max() < 0.9
    assert (index_of(np.zeros(7), np.zeros(7), 1, 5.0)[0] == 1.0).all()


def test_kinds_of_curves_are_learned_from_all_arms():
    """Beside arms that rise one hardly seen is taken to rise, beside peaks to have one."""
    rising, peak = [0.05, 0.2, 0.4, 0.6, 0.7, 0.9], [0.1, 0.1, 0.1, 0.9, 0.1, 0.1]
    for form, curve in ((RISING, rising), (PEAK, peak)):
        n = np.full((5, 6), 40.0)
        n[0] = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        s = n * curve
        s[0] = 0.0
        kinds, values = np.zeros((5, len(KINDS))), np.ones((5, 6))
        for _ in range(2):
            table = n, s, 1, np.full(5, 5), 4, 20.0, np.ones(5, np.bool_), kinds, values
            believe_arms(*table, np.empty(6), room_for(6, 1, 4))
        assert kinds.sum(axis=1) == pytest.approx(1.0)
        assert kinds[0, KINDS[:, 0] == form].sum() > 0.5


def test_an_arm_never_seen_has_no_vote():
    """Where nothing was seen, nothing is said of kinds, and all is to be seen."""
    kinds, values = np.zeros((2, len(KINDS))), np.zeros((2, 6))
    nothing = np.zeros((2, 6))
    table = nothing, nothing, 1, np.full(2, 5), 4, 20.0, np.ones(2, np.bool_), kinds, values
    believe_arms(*table, np.empty(6), room_for(6, 1, 4))
    assert not kinds.any()
    assert (values == 1.0).all()
