"""The change-point posterior and the reservation index against their definitions."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta

from lastswitch.learning.beta_excess import excess
from lastswitch.learning.rotation_belief import (
    believe,
    believe_arms,
    believe_reference,
    stays_of,
)
from lastswitch.learning.rotation_segments import (
    HAZARDS,
    segment_likelihoods,
    segment_weights,
    segment_weights_reference,
    staying,
)


@st.composite
def seen_cells(draw, most=9):
    """Draw rewards and sums by cell, some cells unseen, and how many of them are streaks."""
    streaks, depth = draw(st.integers(1, 3)), draw(st.integers(1, most - 3))
    cell = st.integers(0, 6) | st.integers(0, 400)
    n = np.array([float(draw(cell)) for _ in range(streaks + depth)])
    share = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
    return n, n * [draw(share) for _ in n], streaks


EVEN = np.full(len(HAZARDS), 1 / len(HAZARDS))


def priors():
    """Draw how likely each hazard is beforehand."""
    shares = st.tuples(*[st.floats(0.01, 1.0)] * len(HAZARDS))
    return shares.map(lambda votes: np.array(votes) / sum(votes))


def index_of(n, s, streaks, profit, arms=2, hazards=EVEN):
    """Return the index and the mean of each cell."""
    values, means = np.ones(n.size), np.full(n.size, np.nan)
    stays = stays_of(n.size, streaks, arms)
    believe(n, s, streaks, profit, arms, stays, hazards.copy(), values, means)
    return values, means


@settings(max_examples=60, deadline=None)
@given(seen_cells(), priors(), st.integers(0, 2), st.integers(1, 6))
def test_the_weights_are_those_of_all_ways_to_cut(cells, prior, first, even):
    """Forwards and backwards sum over the cuts what enumeration lists one by one."""
    n, s, streaks = cells
    seen = np.flatnonzero(n)
    count, total = (np.concatenate([[0.0], np.cumsum(x[seen])]) for x in (n, s))
    before = np.concatenate([[0], np.cumsum(n > 0)])
    hazards, stays = np.array(HAZARDS), staying(np.array(HAZARDS), first + n.size, streaks, even)
    expected, shares = segment_weights_reference(n, s, hazards, prior, streaks, first, even)
    assume(seen.size)
    likely = segment_likelihoods(count, total)
    weights, each = segment_weights(likely, seen + first, stays, prior)
    by_seen = np.zeros((seen.size, seen.size))
    for i, j in product(range(n.size), repeat=2):
        if before[i] < before[j + 1]:  # it holds a state that was seen
            by_seen[before[i], before[j + 1] - 1] += expected[i, j]
    assert weights.sum(axis=0) == pytest.approx(by_seen, abs=1e-9)
    assert each == pytest.approx(shares, abs=1e-9)
    for place in range(seen.size):  # every state seen lies in exactly one segment of a cut
        covering = weights[:, : place + 1, place:].sum(axis=(1, 2))
        assert covering == pytest.approx(each)


@settings(max_examples=60, deadline=None)
@given(seen_cells(), st.sampled_from([0.0, 0.5, 20.0, 500.0]), st.sampled_from([1, 5, 8]), priors())
def test_the_index_is_where_looking_is_just_worth_its_price(cells, profit, arms, prior):
    """Newton's method finds nearly what bisection on exact distributions finds.

    It may stop where its steps are short, and takes many rewards for normal ones: what is left of
    that is only to be seen where a look profits plays by the hundred.
    """
    n, s, streaks = cells
    values, means = index_of(n, s, streaks, profit, arms, prior)
    expected, expected_means = believe_reference(n, s, streaks, profit, arms, prior)
    assert values == pytest.approx(expected, abs=0.005 if profit <= 20.0 else 0.035)
    assert means == pytest.approx(expected_means, abs=1e-9, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 300), st.floats(0, 300), st.floats(0.001, 0.999))
def test_the_excess_is_the_integral_of_the_tail(hits, misses, u):
    """E[(μ - u)₊] = ∫ P(μ > x) dx from u to 1, whether exact or taken for normal."""
    a, b = 1.0 + hits, 1.0 + misses
    variable = beta(a, b)
    points = np.clip([u, *variable.ppf([0.01, 0.5, 0.99]), 1.0], u, 1.0)
    tail = sum(quad(variable.sf, low, high)[0] for low, high in pairwise(points))
    more, above = excess(a, b, float(betaln(a, b)), u)
    many = a + b > 40 and min(a, b) > 4
    assert more == pytest.approx(tail, abs=2e-3 if many else 1e-7)
    assert above == pytest.approx(variable.sf(u), abs=0.05 if many else 1e-6)


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


def table_of(*curves, times=40.0):
    """Return counts and sums of arms that paid just what these curves say, the first never seen."""
    pays = np.array([np.zeros(len(curves[0])), *curves])
    n = np.full(pays.shape, times)
    n[0] = 0.0
    return n, n * pays


def test_how_often_curves_change_is_learned_from_all_arms():
    """Flat arms make changes unlikely for one hardly seen, jagged ones likely; alone it is even."""
    flat, jagged = [0.3] * 6, [0.1, 0.9, 0.2, 0.8, 0.1, 0.9]
    believed = []
    for others in ([flat] * 4, [jagged] * 4):
        n, s = table_of(*others)
        n[0, 2], s[0, 2] = 1.0, 1.0
        hazards, values = np.zeros((5, len(HAZARDS))), np.ones((5, 6))
        every = np.ones(5, np.bool_)
        for _ in range(2):
            believe_arms(n, s, 1, np.full(5, 5), 20.0, every, hazards, values)
        assert hazards.sum(axis=1) == pytest.approx(1.0)
        believed.append(hazards[0] @ np.array(HAZARDS))
    assert believed[0] < np.mean(HAZARDS) - 0.1 < np.mean(HAZARDS) + 0.1 < believed[1]


def test_an_arm_never_seen_has_no_vote():
    """Where nothing was seen, nothing is said of hazards, and all is to be seen."""
    hazards, values = np.zeros((2, len(HAZARDS))), np.zeros((2, 6))
    nothing = np.zeros((2, 6))
    believe_arms(nothing, nothing, 1, np.full(2, 5), 20.0, np.ones(2, np.bool_), hazards, values)
    assert not hazards.any()
    assert (values == 1.0).all()
