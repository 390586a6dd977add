"""Optima found without listing joint states, against those of the listed graph."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.planning.clock import Clock
from lastswitch.planning.optima import shortfall_cycles, shortfall_walks, walks
from lastswitch.planning.optima import totals as optima
from lastswitch.planning.optima.frequency import frequencies
from lastswitch.planning.optima.joint_states import group_arms
from lastswitch.planning.optima.shortfall import shortfalls
from lastswitch.planning.optima.shortfall_cycles import Followed, search_average
from lastswitch.planning.optima.shortfall_kernel import Limits
from lastswitch.planning.optima.shortfall_walks import END_ROUNDS, search_total
from planning.interrupting import CtrlC
from strategies import bandits, states

PLENTY = 10**6
#: What rounding may do to sums of shortfalls, per pay of 1.
CLOSE = 1e-11


def of(bandit):
    """Return the shortfalls of a bandit at the price of its frequency bound."""
    frequency = frequencies(bandit.curves)
    frequency.least()
    return shortfalls(group_arms(bandit), frequency, Clock(None))


def listed(bandit):
    """Return the best average of the listed graph."""
    with patch.object(optima, "QUICKLY_LISTED", PLENTY):
        return ls.optimal_average(bandit)


@given(bandits(max_arms=4, max_rest=5, max_streak=3))
@settings(max_examples=100)
def test_following_debts_finds_the_best_average(bandit):
    """With room enough the cycle found has the best mean, and the bound says so."""
    best = listed(bandit)
    found = search_average(bandit, of(bandit), PLENTY, Clock(None))
    assert found.mean == pytest.approx(best.value, abs=CLOSE)
    assert best.value - CLOSE <= found.bound <= best.value + CLOSE
    assert ls.cycle_reward(bandit, found.block) / len(found.block) == found.mean


@given(bandits(max_arms=4, max_rest=5, max_streak=3), st.integers(1, 60))
@settings(max_examples=100)
def test_a_search_that_may_not_follow_much_stays_on_either_side(bandit, limit):
    """However few states are followed: the mean is a cycle's, and no cycle exceeds the bound."""
    best = listed(bandit)
    with patch.object(shortfall_cycles, "FEW_STATES", limit):
        found = search_average(bandit, of(bandit), limit, Clock(None))
    assert found.mean <= best.value + CLOSE
    assert found.bound >= best.value - CLOSE


@given(bandits(max_arms=4, max_rest=4, max_streak=3), st.integers(END_ROUNDS + 1, 150), st.data())
@settings(max_examples=60)
def test_totals_equal_those_of_the_listed_graph(bandit, horizon, data):
    """From any start the schedule found is a best one, and the bound says so."""
    start = data.draw(states(bandit.n_arms))
    short = of(bandit)
    average = search_average(bandit, short, PLENTY, Clock(None))
    with patch.object(optima, "QUICKLY_WALKED", PLENTY):
        best = ls.optimal_total(bandit, horizon, start)
    found = search_total(bandit, horizon, start, average, short, PLENTY, Clock(None))
    assert found.value == pytest.approx(best.value, rel=1e-9, abs=1e-9)
    assert found.bound == pytest.approx(best.value, rel=1e-8, abs=1e-8)
    assert len(found.block) == horizon
    assert ls.block_reward(bandit, found.block, start) == pytest.approx(found.value)


@given(
    bandits(max_arms=4, max_rest=4, max_streak=3),
    st.integers(END_ROUNDS + 1, 400),
    st.integers(1, 60),
    st.integers(1, 60),
    st.data(),
)
@settings(max_examples=60)
def test_totals_cut_short_stay_on_either_side(bandit, horizon, for_average, for_total, data):
    """However few states are followed, for the average or for the total, both sides hold."""
    start = data.draw(states(bandit.n_arms))
    short = of(bandit)
    average = search_average(bandit, short, for_average, Clock(None))
    with patch.object(optima, "QUICKLY_WALKED", PLENTY):
        best = ls.optimal_total(bandit, horizon, start)
    with patch.object(walks, "SMALL_WORK", 0):  # so that values that repeat are used
        found = search_total(bandit, horizon, start, average, short, for_total, Clock(None))
    slack = 1e-9 * horizon
    assert found.value <= best.value + slack
    assert found.bound >= best.value - slack


def walked_shortfalls(bandit, short, start, block):
    """Return what a block falls short by from ``start``, by what it pays and the biases."""
    groups = np.diff(short.arms.groups)
    kind = dict(zip(short.arms.order, np.repeat(np.arange(len(groups)), groups), strict=True))

    def worth(taus):
        at = [machine.at(int(tau)) for machine, tau in zip(short.arms.machines, taus, strict=True)]
        return sum(short.bias[kind[arm]][state] for arm, state in enumerate(at))

    paid = ls.block_reward(bandit, block, start) / short.unit
    after = ls.states.state_after(start, block)
    return len(block) * short.most / short.unit + worth(start) - worth(after) - paid


@given(bandits(max_arms=3, max_rest=4, max_streak=3), st.data())
@settings(max_examples=100)
def test_nodes_of_unknown_states_never_charge_too_much(bandit, data):
    """Begun anywhere, a block owes at most what it falls short by from any start."""
    short = of(bandit)
    block = data.draw(st.lists(st.integers(0, bandit.n_arms - 1), min_size=1, max_size=12))
    start = data.draw(states(bandit.n_arms))
    least = least_debts(short, short.anywhere(), 0.0, np.inf, len(block), plays=block)
    assert min(least.values()) <= walked_shortfalls(bandit, short, start, block) + CLOSE


def least_debts(short, origin, allowance, most, rounds, plays=None):
    """Follow debts on dictionaries, ``rounds`` rounds or until nothing changes: plain and slow.

    With ``plays``, only those arms in turn, and the debts after the last.
    """
    moves, order = short.moves, short.arms.order
    groups = [slice(a, b) for a, b in zip(short.arms.groups, short.arms.groups[1:], strict=False)]

    def likes_sorted(nodes):
        return nodes if plays else tuple(n for g in groups for n in sorted(nodes[g]))

    debts = {likes_sorted(tuple(origin.tolist())): 0.0}
    frontier = dict(debts)
    for k in range(rounds):
        reached = {}
        for nodes, debt in frontier.items():
            at = moves.at + np.array(nodes)
            for place in range(len(nodes)):
                if plays and order[place] != plays[k]:
                    continue
                idle = debt - allowance + moves.idle_short[at].sum() - moves.idle_short[at[place]]
                for way in range(moves.ways[at[place]], moves.ways[at[place] + 1]):
                    after = moves.idle[at].tolist()
                    after[place] = int(moves.goal[way])
                    owed = idle + moves.goal_short[way]
                    if owed < most:
                        key = likes_sorted(tuple(after))
                        reached[key] = min(owed, reached.get(key, np.inf))
        if plays:
            frontier = reached
            continue
        frontier = {s: d for s, d in reached.items() if d < debts.get(s, np.inf) - 1e-12}
        debts.update(frontier)
        if not frontier:
            break
    return frontier if plays else debts


@given(bandits(max_arms=3, max_rest=4, max_streak=2), st.floats(0.0, 1.0), st.booleans())
@settings(max_examples=60)
def test_the_kernel_follows_what_plain_dictionaries_do(bandit, reach, known):
    """Same states, same least debts; from anywhere or from where the arms start."""
    short = of(bandit)
    found = search_average(bandit, short, PLENTY, Clock(None))
    allowance = (short.most - found.bound) / short.unit - 1e-6  # so that debts come to an end
    machines = short.arms.machines
    start = [machine.at(int(tau)) for machine, tau in zip(machines, bandit.start(), strict=True)]
    origin = short.arms.sorted(start) if known else short.anywhere()
    limits = Limits(allowance, reach, np.empty((0, 0)), np.empty(0), np.empty(0), reach)
    followed = Followed(short, origin, limits)
    assert followed.run(PLENTY, Clock(None), (0.0, 1.0))
    assert followed.cycle is None
    plain = least_debts(short, origin, allowance, reach, PLENTY)
    labels = followed.labels
    kernel = {
        tuple(state): debt
        for state, debt in zip(
            labels.states[: len(followed)].tolist(), labels.debt[: len(followed)], strict=True
        )
    }
    near = {state for state, debt in plain.items() if debt < reach - CLOSE}
    assert near <= kernel.keys() <= plain.keys()
    assert all(kernel[state] == pytest.approx(plain[state], abs=1e-9) for state in near)


@pytest.mark.parametrize("family", ["spike", "step", "monotone", "seasonal", "satiating", "mixed"])
def test_ten_arms_agree_with_a_shorter_list(family):
    """Arms never worth their price change nothing: padded bandits have the optimum of the few."""
    few = ls.instances.random_bandit(family, 4, 5, seed=11)
    poor = [ls.Curve([0.001 * k, 0.0], [0.0]) for k in range(6)]
    padded = ls.Bandit([*few.curves, *poor])
    best, total = listed(few), ls.optimal_total(few, 300)
    found, over = ls.optimal_average(padded), ls.optimal_total(padded, 300)
    assert found.optimal
    assert found.value == pytest.approx(best.value, abs=CLOSE)
    assert over.optimal
    assert over.value == pytest.approx(total.value, abs=1e-8)


@pytest.mark.parametrize("horizon", [None, 1000])
def test_a_search_stopped_by_ctrl_c_keeps_both_sides(horizon):
    """An interrupt while debts are followed leaves a schedule under a true bound."""
    bandit = ls.instances.random_bandit("monotone", 12, 16, seed=1)
    ctrl_c = CtrlC(2)
    if horizon is None:
        best = ls.optimal_average(bandit, progress=ctrl_c)
    else:
        best = ls.optimal_total(bandit, horizon, progress=ctrl_c)
    assert len(ctrl_c.heard) >= 2
    assert 0 < best.value <= best.bound <= (horizon or 1)


def test_every_arm_may_have_a_twin():
    """Arms that are alike are sorted among themselves, and told apart again in the answer."""
    curves = ls.instances.random_bandit("mixed", 3, 5, seed=4).curves
    bandit = ls.Bandit([curve for curve, _ in product(curves, range(2))])
    best = listed(bandit)
    found = search_average(bandit, of(bandit), PLENTY, Clock(None))
    assert found.mean == pytest.approx(best.value, abs=CLOSE)
    assert found.proven


def test_the_end_of_a_schedule_is_bounded_from_any_start():
    """What m rounds leave at least is no more than what they really leave, from any start."""
    bandit = ls.instances.random_bandit("satiating", 3, 4, seed=2)
    short = of(bandit)
    average = search_average(bandit, short, PLENTY, Clock(None))
    search = shortfall_walks._Search(bandit, 100, bandit.start(), average, short, PLENTY)
    ends = search.ends(Clock(None))
    rng = np.random.default_rng(0)
    for m, _ in product((1, 2, 5, END_ROUNDS), range(10)):
        start = rng.choice([-3, -2, -1, 1, 2, 3, 4], size=3)
        plan = ls.plan_block(bandit, m, start=start)
        other = shortfall_walks._Search(bandit, m, start, average, short, PLENTY)
        assert ends[m] <= other.height - plan.value / short.unit + 1e-9
