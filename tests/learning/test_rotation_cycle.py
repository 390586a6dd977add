"""The cycle that plans are measured by, against playing it out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.learning.rotation.cycle import Settled
from lastswitch.learning.rotation.cycle_search import CLOSED, LONGEST, search_cycle
from rotation_kernels import (
    added,
    cycle_pay,
    enter,
    fill_in,
    improved,
    look_ahead,
    plan_anew,
    price_slots,
    respond,
)
from strategies import pays

#: What a search may draw.
NOISE = np.random.default_rng(0).random(500)


@st.composite
def tables(draw):
    """Draw values by (arm, cell), with streaks that do not rise, and a joint state."""
    n_arms, streaks = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    depths = np.array([draw(st.integers(1, 5)) for _ in range(n_arms)])
    cells = streaks + int(depths.max())
    values = np.array([draw(st.lists(pays, min_size=cells, max_size=cells)) for _ in range(n_arms)])
    np.minimum.accumulate(values[:, :streaks], axis=1, out=values[:, :streaks])
    state = np.array([draw(st.integers(0, streaks + depth - 1)) for depth in depths.tolist()])
    return values, streaks, depths, state


@st.composite
def tables_and_cycles(draw):
    """Draw tables, and a cycle of their arms."""
    values, streaks, depths, state = draw(tables())
    arm = st.integers(0, len(values) - 1)
    cycle = np.array(draw(st.lists(arm, min_size=1, max_size=7)))
    return values, streaks, depths, state, cycle


def played(values, streaks, depths, state, arms):
    """Return what each of the plays pays, and the state after them."""
    cells, earned = state.tolist(), []
    for arm in arms:
        earned.append(values[arm, cells[arm]])
        for k, cell in enumerate(cells):
            if cell < streaks:
                cells[k] = min(cell + 1, streaks - 1) if k == arm else streaks
            else:
                cells[k] = 0 if k == arm else min(cell + 1, streaks + depths[k] - 1)
    return earned, np.array(cells)


def value_of(table, cycle, state):
    """Return what entering ``cycle`` from ``state`` is worth."""
    values, streaks, depths, _ = table
    return cycle_pay(values, streaks, depths, cycle), enter(values, streaks, depths, state, cycle)


@settings(max_examples=100, deadline=None)
@given(tables_and_cycles())
def test_a_cycle_pays_what_playing_it_for_ever_pays(case):
    """From any state, after some turns, every turn earns the pay; the biases say in which order."""
    values, streaks, depths, state, cycle = case
    _, state = played(values, streaks, depths, state, cycle.tolist() * 8)
    turn, _ = played(values, streaks, depths, state, cycle.tolist())
    pay = cycle_pay(values, streaks, depths, cycle)
    assert pay == pytest.approx(np.mean(turn), abs=1e-12)
    _, same, bias, pays, _ = Settled.of(values, streaks, depths, cycle)
    assert same == pytest.approx(pay, abs=1e-12)
    bias = bias[:-1]
    assert pays == pytest.approx(np.array(turn), abs=1e-12)
    assert bias == pytest.approx(np.array(turn) - pay + np.roll(bias, -1), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(tables_and_cycles())
def test_entering_earns_what_playing_on_earns(case):
    """The best place to enter is the one from which the most is earned in the long run."""
    values, streaks, depths, state, cycle = case
    pay, (worth, place) = value_of((values, streaks, depths, state), cycle, state)
    bias = Settled.of(values, streaks, depths, cycle).bias
    turns = []
    for first in range(cycle.size):
        plays = np.roll(cycle, -first).tolist() * (2 + streaks)
        earned, _ = played(values, streaks, depths, state, plays)
        turns.append(sum(earned) - len(plays) * pay + bias[first])
    assert worth == pytest.approx(max(turns), abs=1e-9)
    assert turns[place] == pytest.approx(max(turns), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(tables_and_cycles())
def test_no_change_of_one_place_improves_what_was_improved(case):
    """Every replacement, omission and insertion was tried, and none is better."""
    values, streaks, depths, _, start = case

    def pay_of(cycle):
        return cycle_pay(values, streaks, depths, np.array(cycle))

    cycle, pay = improved(values, streaks, depths, start)
    assert pay == pytest.approx(pay_of(cycle))
    assert pay >= pay_of(start) - 1e-12
    assert 1 <= cycle.size <= LONGEST
    plays, arms = cycle.tolist(), range(len(values))
    for at in range(len(plays)):
        others = [[*plays[:at], arm, *plays[at + 1 :]] for arm in arms]
        others += [[*plays[:at], arm, *plays[at:]] for arm in arms if len(plays) < LONGEST]
        others += [[*plays[:at], *plays[at + 1 :]]] if len(plays) > 1 else []
        assert max(map(pay_of, others)) <= pay + 1e-8


@settings(max_examples=40, deadline=None)
@given(tables_and_cycles(), st.booleans())
def test_no_short_cycle_and_no_end_of_the_plan_is_better(case, bounded):
    """The search earns at least what it started from: short cycles, the known one, the plan.

    A bound on all schedules may end it early, and makes no difference to that.
    """
    values, streaks, depths, _, plan = case
    bound = price_slots(values, streaks, depths, np.empty_like(values))[1] if bounded else np.inf
    price = price_slots(values, streaks, depths, np.empty_like(values))[0]
    cycle, pay = search_cycle((values, streaks, depths), plan[:2], plan, price, bound, NOISE)
    assert pay <= bound + 1e-8
    assert pay == pytest.approx(cycle_pay(values, streaks, depths, cycle))
    starts = [plan[:2], *(plan[at:] for at in range(plan.size))]
    for length in (1, 2, 3):
        starts += map(np.array, product(range(len(values)), repeat=length))
    best = max(cycle_pay(values, streaks, depths, start) for start in starts)
    assert pay >= best - (CLOSED if bounded else 1e-8)


@settings(max_examples=200, deadline=None)
@given(tables_and_cycles(), st.data())
def test_a_play_adds_what_the_cycle_earns_with_it(case, data):
    """To change a place earns what the new arm's play adds, less what the old one's did."""
    values, streaks, depths, _, cycle = case
    length, at = cycle.size, data.draw(st.integers(0, cycle.size - 1))
    arm = data.draw(st.integers(0, len(values) - 1))

    def adds(arm):
        turn = np.roll(cycle, -at).tolist()
        plays = [gap for gap in range(1, length) if turn[gap] == arm]
        others = [gap for gap in range(1, length) if turn[gap] != arm] or [length]
        right, left = others[0] - 1, length - others[-1] - 1 if others[0] < length else 0
        back, ahead = (length - plays[-1], plays[0]) if plays else (length, length)
        return added(values, streaks, depths, arm, length, back, ahead, left, right)

    changed = cycle.copy()
    changed[at] = arm
    before, after = (
        length * cycle_pay(values, streaks, depths, plays) for plays in (cycle, changed)
    )
    assert after - before == pytest.approx(adds(arm) - adds(cycle[at]), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(tables_and_cycles(), st.data())
def test_free_places_are_taken_and_no_single_change_is_left_that_pays(case, data):
    """Whatever was free goes to an arm; then every other arm at every place was tried."""
    values, streaks, depths, _, cycle = case
    free = data.draw(st.sets(st.integers(0, cycle.size - 1)))
    cycle[list(free)] = -1
    fill_in(values, streaks, depths, cycle)
    assert cycle.min() >= 0
    pay = cycle_pay(values, streaks, depths, cycle)
    for at, arm in product(range(cycle.size), range(len(values))):
        changed = cycle.copy()
        changed[at] = arm
        assert cycle_pay(values, streaks, depths, changed) <= pay + 1e-8


@settings(max_examples=100, deadline=None)
@given(tables_and_cycles(), st.floats(0.0, 1.0), st.data())
def test_an_arm_takes_the_free_places_that_suit_it_best(case, price, data):
    """No other choice of free places, the first among them, earns more above the price.

    At a price nothing is worth, no place is taken.
    """
    values, streaks, depths, _, cycle = case
    length, arm = cycle.size, data.draw(st.integers(0, len(values) - 1))
    first = data.draw(st.integers(0, length - 1))
    cycle[[first, *data.draw(st.sets(st.integers(0, length - 1)))]] = -1
    free = [gap for gap in range(1, length) if cycle[(first + gap) % length] == -1]

    def earned(chosen):
        gaps = np.diff([0, *chosen, length])
        cells = [0 if gap == 1 else streaks + min(gap - 1, depths[arm]) - 1 for gap in gaps]
        return float(values[arm, cells].sum() - price * len(cells))

    within = (max(np.diff([0, *chosen, length])) <= depths[arm] + 1 for chosen in subsets(free))
    sums = [earned(c) for c, fits in zip(subsets(free), within, strict=True) if fits]
    best, trial = max(sums, default=-np.inf), cycle.copy()
    found = respond(values, streaks, depths, arm, price, trial, first)
    assert found == pytest.approx(best, abs=1e-9) if sums else found < -1e17
    taken = [
        gap for gap in range(1, length) if gap in free and trial[(first + gap) % length] == arm
    ]
    if found > 0.0:
        assert earned(taken) == pytest.approx(best, abs=1e-9)
    else:
        assert (trial == cycle).all()


def subsets(places):
    """Return all choices of some of the places, in order."""
    return [
        [place for place, taken in zip(places, choice, strict=True) if taken]
        for choice in product((False, True), repeat=len(places))
    ]


@settings(max_examples=60, deadline=None)
@given(tables_and_cycles(), st.booleans())
def test_planning_anew_never_loses(case, from_nothing):
    """What comes of it is a whole cycle of the same length that pays no less."""
    values, streaks, depths, _, cycle = case
    before = cycle_pay(values, streaks, depths, cycle)
    if from_nothing:
        cycle[:], before = -1, 0.0
    pay, drawn = plan_anew(values, streaks, depths, 0.5, cycle, 5, NOISE, 490)
    assert cycle.min() >= 0
    assert drawn > 490
    assert pay == pytest.approx(cycle_pay(values, streaks, depths, cycle))
    assert pay >= before - 1e-8


def test_arms_that_must_all_move_at_once_are_found():
    """Two arms every fourth round and three every sixth fit into twelve, and nothing else does."""
    values = np.full((5, 1 + 8), 0.1)
    values[:2, 3], values[2:, 5] = 0.7, 0.6  # delays of 4 and 6
    depths, plan = np.full(5, 8), np.array([0, 1, 2, 3, 4])
    price, bound = price_slots(values, 1, depths, np.empty_like(values))
    _, pay = search_cycle((values, 1, depths), plan[:0], plan, price, bound, NOISE)
    assert pay == pytest.approx(0.65)
    assert improved(values, 1, depths, plan)[1] < 0.64  # one place at a time does not get there


@settings(max_examples=60, deadline=None)
@given(tables_and_cycles(), st.integers(1, 9), st.integers(1, 4))
def test_plans_followed_to_their_ends_earn_no_less_than_the_cycle(case, rounds, width):
    """Whatever the potentials get wrong: pay per round, less what the two ends are worth."""
    values, streaks, depths, state, cycle = case
    table = values, streaks, depths, state
    worth, plan = np.zeros_like(values), np.empty(rounds, np.int64)
    price_slots(values, streaks, depths, worth)
    pay, (begins, _) = value_of(table, cycle, state)
    earned, turns, alone = 0.0, 5, len(set(cycle.tolist())) == 1
    for _ in range(turns):
        promised = look_ahead(values, worth, streaks, depths, state, None, width, cycle, plan)
        gained, state = played(values, streaks, depths, state, plan.tolist())
        earned += sum(gained)
        ends = value_of(table, cycle, state)[1][0]
        if not alone:  # an arm alone pays more at first than this says
            assert sum(gained) + ends >= promised - 1e-9
    assert earned + ends >= turns * rounds * pay + begins - 1e-9
