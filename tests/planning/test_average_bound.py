"""The frequency bound: valid for any policy, and equal to the linear program it stands for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lastswitch as ls
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.arm_states import arm_states
from lastswitch.planning.optima.frequency import total_bound
from strategies import bandits


@given(bandits())
@settings(max_examples=30)
def test_no_policy_averages_more_than_the_bound(bandit):
    """The bound lies above the true optimum."""
    assert ls.optimal_average(bandit).value <= ls.average_bound(bandit) + 1e-9


@given(bandits())
@settings(max_examples=30)
def test_the_bound_is_the_linear_program_over_frequencies(bandit):
    """Minimising over prices gives the value of the linear program itself."""
    assert ls.average_bound(bandit) == pytest.approx(frequency_program(bandit), abs=1e-6)


def frequency_program(bandit):
    """Maximise pay over frequencies of (arm, state, pulled?) that each arm's moves conserve."""
    machines = [arm_states(curve) for curve in bandit.curves]
    sizes = [len(machine) for machine in machines]
    pay, equal, right = [], [], []
    for k, machine in enumerate(machines):
        n, before = sizes[k], 2 * sum(sizes[:k])
        pay += [*machine.pay, *[0.0] * n]
        for state in range(n):
            row = np.zeros(2 * sum(sizes))
            for u in range(n):
                row[before + u] += (u == state) - (machine.on_pull[u] == state)
                row[before + n + u] += (u == state) - (machine.on_idle[u] == state)
            equal.append(row)
            right.append(0.0)
        time = np.zeros(2 * sum(sizes))
        time[before : before + 2 * n] = 1
        equal.append(time)
        right.append(1.0)
    rounds = np.concatenate([[*np.ones(n), *np.zeros(n)] for n in sizes])
    result = linprog(-np.array(pay), A_eq=np.array([*equal, rounds]), b_eq=[*right, 1.0])
    return -result.fun


@given(bandits(), st.integers(1, 40), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_no_sequence_totals_more_than_the_bound(bandit, horizon, random):
    """Over a horizon, from any start, nothing pays more than the total bound."""
    bound = total_bound(bandit, horizon, bandit.start(), Clock(None))
    sequence = [random.randrange(bandit.n_arms) for _ in range(horizon)]
    assert ls.block_reward(bandit, sequence) <= bound + 1e-9
    assert ls.optimal_total(bandit, horizon).value <= bound + 1e-9


@pytest.mark.parametrize("streak", [[0.9, 0.2], [0.4]])
def test_a_lone_arm_is_bound_by_its_endless_streak(streak):
    """One arm must be played every round, so it averages what its streak ends at."""
    bandit = ls.Bandit([ls.Curve([1.0], streak)])
    assert ls.average_bound(bandit) == pytest.approx(streak[-1])


def test_the_bound_of_constant_arms_is_the_best_of_them():
    """Constant arms need no rest."""
    bandit = ls.Bandit([ls.Curve([p], [p]) for p in (0.2, 0.7, 0.5)])
    assert ls.average_bound(bandit) == pytest.approx(0.7)


def test_a_season_does_not_fall_behind_its_own_repetition():
    """A seasonal arm played every full period pays its peak that often."""
    bandit = ls.Bandit([ls.Curve([0, 0, 1], [0], tail="repeat"), ls.Curve([0], [0])])
    assert ls.average_bound(bandit) == pytest.approx(1 / 4)
