"""What every set of rounds is worth to an arm, and costs by a rule. A set has one bit a round."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.arm_states import ArmStates
from lastswitch.planning.ruled.counters import Counter


def arm_table(machine: ArmStates, states: IntArray, length: int, silence: float) -> FloatArray:
    """Return by state and set of rounds what the plays of an arm pay beyond silence.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> from lastswitch.planning.arm_states import arm_states
    >>> machine = arm_states(Curve([0.5, 0.9], [0.1]))
    >>> arm_table(machine, np.array([machine.at(1)]), 2, 0.0).tolist()
    [[0.0, 0.5, 0.9, 0.6]]
    """
    pay, pull, idle = (np.array(x) for x in (machine.pay, machine.on_pull, machine.on_idle))
    now, total = states[:, None], np.zeros((len(states), 1))
    for _ in range(length):
        total = np.hstack([total, total + (pay[now] - silence)])
        now = np.hstack([idle[now], pull[now]])
    return total


def counter_costs(counter: Counter, letter: int, length: int) -> FloatArray:
    """Return what a rule costs if just these rounds play, for all sets; infinity: it is broken.

    Examples
    --------
    >>> from lastswitch.planning.ruled.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [counter] = counters_of(apart(0, 2, cost=0.5), 2, 1, ())
    >>> counter_costs(counter, 1, 2).tolist()
    [0.0, 0.0, 0.0, 0.5]
    """
    price = math.inf if counter.cost is None else counter.cost
    now: list[Hashable] = [counter.start]
    total = np.zeros(1)
    for t in range(length):
        moves = {
            state: [counter.step(t, state, event) for event in (0, letter)] for state in set(now)
        }
        steps = [[moves[state][k] for state in now] for k in (0, 1)]
        costs = [np.array([price * wrong if wrong else 0.0 for _, wrong in step]) for step in steps]
        total = np.concatenate([total + costs[0], total + costs[1]])
        now = [state for step in steps for state, _ in step]
    return total


def set_sums(price: FloatArray) -> FloatArray:
    """Return for every set of rounds the sum of their prices.

    Examples
    --------
    >>> set_sums(np.array([1.0, 4.0])).tolist()
    [0.0, 1.0, 4.0, 5.0]
    """
    total = np.zeros(1)
    for each in price:
        total = np.concatenate([total, total + each])
    return total
