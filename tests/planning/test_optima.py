"""True optima against plain definitions, and against every value the paper fixes."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import gcd
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import PlanError, StateError
from lastswitch.model.instances import example_1, example_2, five_arms, two_arms
from lastswitch.planning.optima import walks
from lastswitch.planning.optima.frequency import Frequencies
from planning.interrupting import CtrlC
from planning.optima_reference import best_cycle_mean, best_total, joint_graph, maximum_cycle_mean
from strategies import bandits, states


def average_of(bandit, cycle):
    """Return what the endlessly repeated cycle pays per round."""
    return ls.cycle_reward(bandit, cycle) / len(cycle)


@pytest.mark.parametrize(
    ("bandit", "average"),
    [
        (five_arms(), Fraction(456, 900)),
        (two_arms(), Fraction(1, 2)),
        (example_1(0.1), Fraction(1, 2)),
        (ls.instances.pinwheel([2, 4, 8, 8]), Fraction(1)),
        (ls.instances.pinwheel([3, 3, 6, 6]), Fraction(1)),
        (ls.instances.pinwheel([2, 3, 4]), Fraction(1)),
        (ls.instances.pinwheel([2, 3]), Fraction(3, 4)),
        (ls.instances.pinwheel([2, 3, 5]), Fraction(7, 8)),
        (ls.instances.pinwheel([2, 3, 6]), Fraction(7, 8)),
        (ls.instances.pinwheel([3, 4, 4, 6]), Fraction(8, 9)),
    ],
)
def test_known_averages_come_out_as_fractions(bandit, average):
    """Every value known in closed form is found exactly, with a cycle that earns it."""
    best = ls.optimal_average(bandit)
    assert best.optimal
    assert best.fraction == average
    assert best.bound == best.value == pytest.approx(average_of(bandit, best.block), abs=1e-12)


@pytest.mark.parametrize("n_arms", [2, 3, 4])
def test_example_2_can_always_pay_one(n_arms):
    """Example 2's arms can be played at full pay for ever."""
    assert ls.optimal_average(example_2(n_arms)).fraction == 1


@given(bandits(max_arms=3, max_rest=3, max_streak=2))
@settings(max_examples=60)
def test_average_equals_karp_on_unmerged_states(bandit):
    """Merging states and arms, and iterating policies, change nothing of the best mean."""
    graph = joint_graph(bandit, bandit.start())
    begin = next(iter(graph))
    expected = float(maximum_cycle_mean(graph, begin)) if len(graph) <= 60 else None
    best = ls.optimal_average(bandit)
    assert best.optimal
    assert average_of(bandit, best.block) == pytest.approx(best.value, abs=1e-12)
    if expected is not None:
        assert best.value == pytest.approx(expected, abs=1e-9)


@given(bandits(max_arms=3))
@settings(max_examples=15)
def test_no_short_cycle_beats_the_average(bandit):
    """Enumerating cycles never finds a better one."""
    assert best_cycle_mean(bandit, 5) <= ls.optimal_average(bandit).value + 1e-9


@given(bandits(max_arms=3))
@settings(max_examples=25)
def test_total_equals_the_best_of_all_sequences(bandit):
    """Backward induction finds what trying every sequence finds, and its sequence pays it."""
    horizon = 6
    best = ls.optimal_total(bandit, horizon)
    assert best.optimal
    assert best.value == pytest.approx(best_total(bandit, horizon, bandit.start()), abs=1e-9)
    assert len(best.block) == horizon
    assert ls.block_reward(bandit, best.block) == pytest.approx(best.value, abs=1e-9)


def test_total_works_out_its_choices_again_between_kept_values():
    """Whatever the spacing of kept values, the walk is a best one."""
    bandit = five_arms()
    totals = [ls.optimal_total(bandit, horizon).fraction for horizon in range(1, 60)]
    paid = [ls.block_reward(bandit, ls.optimal_total(bandit, t).block) for t in range(1, 60)]
    assert [float(total) for total in totals] == pytest.approx(paid, abs=1e-9)
    # One more round never pays less, nor more than one.
    assert all(0 <= b - a <= 1 for a, b in pairwise(totals))


def test_total_of_example_1_is_half_the_horizon():
    """The optimum of Example 1 alternates, and spends an even horizon's last round on ε."""
    assert ls.optimal_total(example_1(0.01), 100).fraction == 50 + Fraction(1, 100)
    assert ls.optimal_total(example_1(0.01), 101).fraction == 51


def test_total_of_the_five_arms_is_near_the_average():
    """Over the paper's horizon the comparator is T times the average, up to a few rounds."""
    total = ls.optimal_total(five_arms(), 5112)
    assert total.optimal
    assert abs(total.fraction - 5112 * Fraction(456, 900)) < 5


def test_total_starts_where_it_is_told():
    """A start given replaces the bandit's own."""
    bandit = ls.Bandit([ls.Curve([0, 1], [0]), ls.Curve([0], [0])], initial=-1)
    assert ls.optimal_total(bandit, 1).value == 0
    assert ls.optimal_total(bandit, 1, start=[2, 1]).value == 1


def test_average_does_not_depend_on_the_start():
    """Whatever state the arms start in, the best average is the same."""
    curves = [ls.Curve([0.2, 0.9, 0.1], [0.3, 0.0], tail="repeat"), ls.Curve([0.5, 0.4], [0.1])]
    values = {ls.optimal_average(ls.Bandit(curves, initial=i)).fraction for i in (-3, -1, 1, 2, 9)}
    assert len(values) == 1


def test_pays_need_not_have_a_small_common_denominator():
    """Eighty fractions over different odd numbers are averaged exactly, like any others."""
    pays = sorted((n // 2) / n for n in range(999_001, 999_161, 2))
    best = ls.optimal_average(ls.Bandit([(pays, [0.0]), ([0.2], [0.1])]))
    assert best.optimal
    assert best.fraction == (Fraction(pays[0]).limit_denominator(10**6) + Fraction(1, 5)) / 2


def test_identical_arms_are_merged():
    """Ten equal arms list no more joint states than their multisets."""
    bandit = ls.Bandit([ls.Curve([0, 0, 1], [0])] * 10)
    best = ls.optimal_average(bandit)
    assert best.value == 1
    assert best.states < 20


@pytest.mark.parametrize(
    "periods",
    [
        periods
        for size in range(1, 6)
        for periods in combinations_with_replacement(range(1, 13), size)
        if sum(Fraction(1, period) for period in periods) == 1
    ],
    ids=str,
)
def test_dense_pinwheel_is_decided(periods):
    """A dense instance has average 1 exactly when its tasks tile time as residue classes."""
    best = ls.optimal_average(ls.instances.pinwheel(list(periods)))
    assert best.optimal
    assert (best.fraction == 1) == tiles(periods, ())


def tiles(periods, residues):
    """Tell whether disjoint residue classes with these moduli exist, given the first few."""
    if len(residues) == len(periods):
        return True
    modulus = periods[len(residues)]
    return any(
        all((r - s) % gcd(modulus, p) for s, p in zip(residues, periods, strict=False))
        and tiles(periods, (*residues, r))
        for r in range(modulus)
    )


@given(bandits(min_arms=2, max_arms=2, max_rest=4, max_streak=3))
@settings(max_examples=60)
def test_two_arms_have_a_cyclic_optimum(bandit):
    """Lemma 1: with two arms some cycle of one run each, or one endless run, is optimal."""
    one, other = bandit.curves
    # A period and a full table beyond the tables' depth, every run length's pay has been seen.
    runs = range(1, 4 + 12 + 1)
    best = max(curve.streak[-1] for curve in bandit.curves)
    for m in runs:
        for n in runs:
            best = max(best, (run_pay(one, n, m) + run_pay(other, m, n)) / (m + n))
    assert ls.optimal_average(bandit).value == pytest.approx(best, abs=1e-9)


def run_pay(curve, rest, length):
    """Return what ``length`` pulls in a row pay after ``rest`` rounds of rest."""
    return curve(rest) + sum(curve(-r) for r in range(1, length))


def test_a_graph_too_large_gives_a_bound_instead():
    """Beyond max_states the answer is a real cycle under a proven bound, and says so."""
    bandit = five_arms()
    best = ls.optimal_average(bandit, max_states=5, time_limit=1.0)
    truth = ls.optimal_average(bandit).value
    assert best.states == 0
    assert best.value == pytest.approx(average_of(bandit, best.block))
    assert best.value <= truth + 1e-9 <= best.bound + 2e-9
    assert best.optimal == (best.bound - best.value <= 1e-9 * best.bound)


def test_the_limit_on_joint_states_is_exact():
    """As many states as there are suffice, one fewer do not."""
    bandit = ls.Bandit([ls.Curve(np.linspace(0, 1, 10), [0.0])] * 2 + [ls.Curve([0.3], [0.3])])
    states = ls.optimal_average(bandit).states
    assert ls.optimal_average(bandit, max_states=states).states == states
    assert ls.optimal_average(bandit, max_states=states - 1, time_limit=0.5).states == 0
    with pytest.raises(PlanError, match="got 0"):
        ls.optimal_average(bandit, max_states=0)


@pytest.mark.parametrize("horizon", [9, 200])
def test_a_total_too_large_gives_a_bound_instead(horizon):
    """Beyond max_states the total is what a real sequence pays, under a proven bound."""
    bandit = five_arms()
    best = ls.optimal_total(bandit, horizon, max_states=5, time_limit=1.0)
    truth = ls.optimal_total(bandit, horizon).value
    assert best.states == 0
    assert ls.block_reward(bandit, best.block) == pytest.approx(best.value)
    assert best.value <= truth + 1e-9 <= best.bound + 2e-9


@given(bandits(max_arms=3, max_rest=3, max_streak=2), st.integers(30, 80))
@settings(max_examples=25)
def test_a_long_total_through_its_period_is_a_best_one(bandit, horizon):
    """Reusing the choices of one period gives the total that induction over all rounds gives."""
    plain = ls.optimal_total(bandit, horizon)
    with patch.object(walks, "SMALL_WORK", 0.0):
        settled = ls.optimal_total(bandit, horizon)
    assert settled.value == pytest.approx(plain.value, abs=1e-9)
    assert settled.bound >= plain.value - 1e-9
    assert settled.optimal


def test_a_total_too_long_for_induction_settles_into_the_best_cycle(monkeypatch):
    """When rounds times edges are too many, the walk and its bound come from the average."""
    bandit = five_arms()
    truth = ls.optimal_total(bandit, 500).value
    monkeypatch.setattr(walks, "SMALL_WORK", 1.0)
    monkeypatch.setattr(walks, "MAX_WORK", 1.0)
    best = ls.optimal_total(bandit, 500)
    assert ls.block_reward(bandit, best.block) == pytest.approx(best.value)
    assert truth - 5 < best.value <= truth + 1e-9 <= best.bound + 2e-9 < truth + 5


def test_a_very_long_total_is_exact():
    """Many rounds cost little more than a thousand."""
    best = ls.optimal_total(two_arms(), 200_000)
    assert best.optimal
    assert best.fraction == 100_000


@pytest.mark.parametrize("horizon", [0, -3, 2.5])
def test_a_horizon_must_be_a_number_of_rounds(horizon):
    """The message repeats the horizon."""
    with pytest.raises(PlanError, match=f"got {horizon}"):
        ls.optimal_total(five_arms(), horizon)


def test_a_start_of_another_size_is_refused():
    """A state vector must fit the bandit."""
    with pytest.raises(StateError, match="5 integer states, one per arm"):
        ls.optimal_total(five_arms(), 3, start=np.ones(2, dtype=int))


def test_an_optimum_cannot_contradict_its_bound():
    """A value above its bound is refused."""
    with pytest.raises(PlanError, match="the certificate is broken"):
        ls.planning.Optimum(value=0.5, bound=0.4, fraction=Fraction(1, 2))


def test_an_optimum_prints_what_it_knows():
    """The text says the fraction, and whether it is proven."""
    assert str(ls.optimal_average(two_arms())) == "best average: 0.5 = 1/2 (proven optimal)"
    found = ls.planning.Optimum(value=0.5, bound=0.6, fraction=Fraction(1, 2), horizon=3)
    assert "nothing can exceed 0.6" in str(found)
    assert found.gap == pytest.approx(0.2)


@pytest.mark.parametrize("arms", [(8, 8), (40, 10), (300, 10)])
def test_optima_out_of_time_are_under_true_bounds(arms):
    """Whatever the size, the answer is a schedule and a bound, and pays what it says."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(arms[1])), [0.0]) for _ in range(arms[0])])
    average = ls.optimal_average(bandit, time_limit=0.5)
    assert average.value == pytest.approx(average_of(bandit, average.block))
    assert 0.4 * average.bound < average.value <= average.bound
    assert average.bound <= ls.average_bound(bandit) * (1 + 1e-9)
    total = ls.optimal_total(bandit, 500, time_limit=0.5)
    assert total.value == pytest.approx(ls.block_reward(bandit, total.block))
    assert 0.4 * total.bound < total.value <= total.bound <= 500


@pytest.mark.parametrize("reports", [1, 8])
@pytest.mark.parametrize("horizon", [None, 20_000])
def test_ctrl_c_ends_a_search_for_an_optimum(horizon, reports):
    """An interrupt while states are listed leaves a schedule under a true bound."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(12)), [0.0]) for _ in range(12)])
    ctrl_c = CtrlC(reports)
    if horizon is None:
        best = ls.optimal_average(bandit, progress=ctrl_c)
    else:
        best = ls.optimal_total(bandit, horizon, progress=ctrl_c)
    assert len(ctrl_c.heard) >= reports
    assert best.states == 0
    assert 0 < best.value <= best.bound <= (horizon or 1)


def test_a_total_out_of_time_is_bounded_by_the_average():
    """What no policy can average, and each arm's head start: far below the best pay every round."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(12)), [0.0]) for _ in range(8)])
    best = ls.optimal_total(bandit, 5000, max_states=5, time_limit=1.0)
    average = ls.average_bound(bandit)
    assert best.value <= best.bound <= 5000 * average + 8
    assert average < 0.9 * max(curve.rest[-1] for curve in bandit.curves)


@given(bandits(max_arms=3, max_rest=3, max_streak=2), st.integers(1, 30), st.data())
@settings(max_examples=40)
def test_averages_and_head_starts_bound_every_total(bandit, horizon, data):
    """From any state, over any horizon, at any price of the frequency bound."""
    start = np.array(data.draw(states(bandit.n_arms)))
    frequency = Frequencies(bandit.curves)
    frequency.at(data.draw(st.floats(-1.0, 1.0)))
    best = ls.optimal_total(bandit, horizon, start)
    assert best.value <= frequency.total(start, horizon) + 1e-9
    assert frequency.total(start, horizon) <= horizon


def test_a_total_needs_a_start():
    """From an unknown start nothing is a total; zero is no state."""
    with pytest.raises(PlanError, match="where the arms start"):
        ls.optimal_total(two_arms(), 5, start="unknown")
    with pytest.raises(StateError, match="no arm is at 0"):
        ls.optimal_total(two_arms(), 5, start=[1, 0])


def test_a_search_cut_short_bounds_by_no_more_than_can_be_paid():
    """The choices it was left with bound badly; what arms pay alone bounds too."""
    bandit = ls.instances.pinwheel([2, 3, 7])
    with patch.multiple(walks, MAX_ITERATIONS=0, SMALL_WORK=0, MAX_TABLE_BYTES=0):
        best = ls.optimal_total(bandit, 10_000)
    assert best.value <= best.bound <= 10_000
