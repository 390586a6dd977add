"""The kernels of RotationUCB against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.learning.rotation_cycle_search import search_cycle
from lastswitch.learning.rotation_lookahead import (
    look_ahead,
    look_ahead_reference,
    state_keys,
)
from lastswitch.learning.rotation_price import best_cycle, potentials, price_slots
from lastswitch.learning.rotation_tables import (
    STREAKS,
    asking_depth,
    due,
    note_made,
    pooled,
    settle,
    wants_depth,
)
from strategies import bandits, pays


@st.composite
def tables(draw, max_arms=3, max_streak=3, max_rest=4):
    """Draw optimistic values by (arm, cell), with streaks that do not rise."""
    n_arms, streaks = draw(st.integers(1, max_arms)), draw(st.integers(1, max_streak))
    depth = draw(st.integers(1, max_rest))
    values = np.array(
        [draw(st.lists(pays, min_size=streaks + depth, max_size=streaks + depth))]
        + [
            draw(st.lists(pays, min_size=streaks + depth, max_size=streaks + depth))
            for _ in range(n_arms - 1)
        ]
    )
    np.minimum.accumulate(values[:, :streaks], axis=1, out=values[:, :streaks])
    return values, streaks, np.full(n_arms, depth)


def neighbours(cell, streaks, depth):
    """Return where a cell goes when idle and when played."""
    if cell < streaks:
        return streaks, min(cell + 1, streaks - 1)
    return min(cell + 1, streaks + depth - 1), 0


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 4), st.data())
def test_a_wide_beam_is_exact(table, rounds, data):
    """With room for every state the look-ahead finds the best of all sequences."""
    values, streaks, depths = table
    n_arms, cells = values.shape
    worth = np.array(data.draw(st.lists(pays, min_size=values.size, max_size=values.size)))
    worth = worth.reshape(values.shape)
    start = np.array(
        data.draw(st.lists(st.integers(0, cells - 1), min_size=n_arms, max_size=n_arms))
    )
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n_arms, max_size=n_arms)))
    allowed[data.draw(st.integers(0, n_arms - 1))] = True
    plan = np.empty(rounds, np.int64)
    keys = state_keys(n_arms, cells)
    score = look_ahead(
        values, worth, streaks, depths, start, allowed, keys, 100, plan[:0], 0.0, plan
    )
    best = look_ahead_reference(values, worth, streaks, depths, start, allowed, rounds)
    assert score == pytest.approx(best, abs=1e-9)
    assert allowed[plan].all()


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 6), st.integers(1, 5))
def test_a_plan_is_worth_what_the_beam_says(table, rounds, width):
    """Whatever the width, playing the plan earns the score returned."""
    values, streaks, depths = table
    worth = np.zeros_like(values)
    start = np.full(len(values), streaks)
    plan = np.empty(rounds, np.int64)
    free = np.ones(len(values), np.bool_)
    keys = state_keys(*values.shape)
    score = look_ahead(
        values, worth, streaks, depths, start, free, keys, width, plan[:0], 0.0, plan
    )
    cells, earned = start.tolist(), 0.0
    for arm in plan:
        earned += values[arm, cells[arm]]
        moves = [neighbours(cell, streaks, depths[0]) for cell in cells]
        cells = [played if i == arm else idle for i, (idle, played) in enumerate(moves)]
    assert score == pytest.approx(earned, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(tables(max_arms=1, max_rest=6), st.floats(-1, 1))
def test_potentials_solve_their_equation(table, price):
    """In every cell h = max(idle, played) - gain, the arm's average-reward Bellman equation."""
    values, streaks, depths = table
    depth = int(depths[0])
    worth = np.empty(streaks + depth)
    gain = potentials(values[0], streaks, depth, price, worth)
    for cell in range(streaks + depth):
        idle, played = neighbours(cell, streaks, depth)
        best = max(worth[idle], worth[played] + values[0, cell] - price) - gain
        assert worth[cell] == pytest.approx(best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables(max_arms=1, max_rest=6), st.floats(-1, 1))
def test_no_cycle_gains_more_than_the_best(table, price):
    """The gain is the largest over rest-and-run cycles written out, never playing and always."""
    values, streaks, depths = table
    row, depth = values[0], int(depths[0])
    gains = [0.0, row[streaks - 1] - price]
    for rest in range(1, depth + 3):
        for run in range(1, streaks + 4):
            pay = row[streaks + min(rest, depth) - 1] - price
            pay += sum(row[min(k, streaks - 1)] - price for k in range(run - 1))
            gains.append(pay / (rest + run))
    assert best_cycle(row, streaks, depth, price)[0] == pytest.approx(max(gains), abs=1e-9)


@settings(max_examples=12, deadline=None)
@given(bandits(min_arms=2, max_arms=3, max_rest=3, max_streak=2))
def test_the_priced_bound_holds_for_every_schedule(bandit):
    """λ + Σ g(λ) under the true curves is at least the true optimum's average."""
    rest, streak = bandit.tables(24, 2)
    values = np.ascontiguousarray(np.hstack([streak, rest]))
    bound = price_slots(values, 2, np.full(bandit.n_arms, 24), np.zeros_like(values))[1]
    assert bound >= ls.optimal_average(bandit).value - 1e-6


def test_pooling_keeps_every_observation():
    """What is deeper than the table goes to its last cells, and only shallow rests stand alone."""
    n = np.arange(1.0, 9.0).reshape(1, 8)  # streaks -1, -2, -3 and rests 1..5
    table = pooled(n, n / 2, n / 2, 3, 2, np.array([3]))
    assert (table[0, 0] - 0.2).tolist() == pytest.approx([1, 2 + 3, 4, 5, 6 + 7 + 8])
    assert (table[1, 0] - 0.2).tolist() == pytest.approx([0.5, 2.5, 2, 2.5, 10.5])


def test_deep_rests_borrow_at_most_two_observations_of_their_neighbours():
    """An unseen deep rest between two that paid well is believed to pay, but not firmly."""
    n = np.zeros((1, 16 + 20))
    s = n.copy()
    n[0, [26, 28]] = 50.0
    s[0, [26, 28]] = 40.0
    table = pooled(n, s, s, 16, 4, np.array([20]))
    assert table[0, 0, 4 + 11] == pytest.approx(2.0 + 0.2)
    assert table[1, 0, 4 + 11] == pytest.approx(2.0 * 0.8 + 0.2)


def test_plays_still_out_count_at_the_mean_so_far():
    """A pending play adds a count and leaves the mean; one half where nothing is known."""
    counts, sums = np.array([[4.0, 0.0]]), np.array([[3.0, 0.0]])
    n, s, q = settle(counts, sums, sums, np.array([[2.0, 1.0]]))
    assert n.tolist() == [[6.0, 1.0]]
    assert s.tolist() == q.tolist() == [[4.5, 0.5]]


@pytest.mark.parametrize(
    ("counts", "sums", "waits", "asks"),
    [
        ([9, 9, 9], [1, 1, 9], False, True),  # a step hides in the tail
        ([9, 9, 9], [3, 3, 3], False, False),  # a flat tail
        ([9, 9, 9], [3, 3, 3], True, True),  # the best cycle waits for it
        ([1, 1, 0], [0, 1, 0], True, False),  # too little seen to say
    ],
)
def test_a_tail_asks_for_depth_when_its_states_differ_or_are_waited_for(counts, sums, waits, asks):
    """The rule that deepens an arm's table."""
    assert wants_depth(np.array(counts, float), np.array(sums, float), 0, waits) is asks


@st.composite
def seen_states(draw, most=3):
    """Draw counts, plays and sums by (arm, raw state), few of them seen."""
    shape = draw(st.integers(1, most)), STREAKS + 6
    size = shape[0] * shape[1]
    number = st.sampled_from([0.0] * 3 + [1.0, 2.0, 3.0, 11.0, 40.0])
    counts, out = (
        np.array(draw(st.lists(number, min_size=size, max_size=size))).reshape(shape)
        for _ in range(2)
    )
    share = np.array(draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    return counts, counts + out, (counts + out) * share.reshape(shape)


@settings(max_examples=60, deadline=None)
@given(seen_states(), seen_states(), st.data())
def test_what_tables_were_made_of_says_when_they_are_due(then, now, data):
    """An arm is due once a state of it has grown; of arms not made nothing is noted."""
    arms = min(len(then[0]), len(now[0]))
    (counts, n, s), (counts_now, n_now, _) = ([x[:arms] for x in seen] for seen in (then, now))
    made = np.array(data.draw(st.lists(st.booleans(), min_size=arms, max_size=arms)))
    limits, basis = np.full((2, 2, *n.shape), 7.0)
    note_made(counts, n, s, made, 1.1, limits, basis)
    assert (limits[:, ~made] == 7.0).all()
    assert (basis[:, ~made] == 7.0).all()
    assert limits[:, made] == pytest.approx(1.1 * np.stack([counts, n])[:, made])
    assert basis[0, made] == pytest.approx(n[made])
    assert basis[1, made] == pytest.approx((s / np.maximum(n, 1.0))[made])
    told, played = 0.95 * limits
    grown = (counts_now >= told) & (counts_now > 0) | (n_now >= played) & (n_now > 0)
    assert due(counts_now, n_now, limits, 0.95).tolist() == grown.any(axis=1).tolist()


@settings(max_examples=60, deadline=None)
@given(tables(), seen_states(), st.floats(-0.5, 0.9), st.integers(1, 5), st.booleans())
def test_arms_ask_for_depth_one_by_one(table, seen, price, most, at_once):
    """All arms at once ask for what each asks for by itself, and none may be too deep."""
    values, streaks, depths = table
    arms = min(len(values), len(seen[0]))
    n, s = seen[1][:arms], seen[2][:arms]
    depth = int(depths[0])
    asked = asking_depth(values, streaks, depths[:arms], most, price, n, s, at_once)
    expected = [
        depth < most
        and wants_depth(
            n[arm],
            s[arm],
            STREAKS + depth - 1,
            at_once or best_cycle(values[arm], streaks, depth, price)[2] == depth,
        )
        for arm in range(arms)
    ]
    assert asked.tolist() == expected


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e308])
def test_tables_that_are_no_numbers_do_not_lead_out_of_the_arrays(wrong):
    """Whatever a table holds, a plan is of arms that may be played."""
    values, depths = np.full((3, 8), wrong), np.full(3, 4)
    worth, plan = np.zeros_like(values), np.full(6, -7)
    price_slots(values, 4, depths, worth)
    free, cycle = np.array([False, True, True]), np.array([1, 2])
    for known in (cycle[:0], cycle):
        keys = state_keys(3, 8)
        look_ahead(values, worth, 4, depths, np.array([4, 5, 0]), free, keys, 5, known, 0.5, plan)
        assert set(plan.tolist()) <= {1, 2}
    known, _ = search_cycle(values, 4, depths, cycle, plan, 0.5, 2.0, np.full(50, 0.5))
    assert set(known.tolist()) <= {0, 1, 2}
