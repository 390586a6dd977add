"""What taken places are worth to an arm, and cost by a rule; one digit for each round."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.diagrams.arm_states import ArmStates
from lastswitch.rules.automata.counters import Counter


def arm_table(
    machine: ArmStates, states: IntArray, places: int, length: int, silence: float
) -> FloatArray:
    """Return by state and taken places what the plays of an arm pay beyond silence.

    An arm takes one place of a round at most; more are worth minus infinity.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> from lastswitch.planning.diagrams.arm_states import arm_states
    >>> machine = arm_states(Curve([0.5, 0.9], [0.1]))
    >>> arm_table(machine, np.array([machine.at(1)]), 1, 2, 0.0).tolist()
    [[0.0, 0.5, 0.9, 0.6]]
    """
    pay, pull, idle = (np.array(x) for x in (machine.pay, machine.on_pull, machine.on_idle))
    now, total = states[:, None], np.zeros((len(states), 1))
    for _ in range(length):
        never = [np.full(total.shape, -np.inf)] * (places - 1)
        total = np.hstack([total, total + (pay[now] - silence), *never])
        now = np.hstack([idle[now], pull[now], *[now] * (places - 1)])
    return total


def counter_costs(counter: Counter, letter: int, places: int, length: int) -> FloatArray:
    """Return what a rule costs by taken places; infinity: it is broken.

    Examples
    --------
    >>> from lastswitch.rules.automata.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [counter] = counters_of(apart(0, 2, cost=0.5), 2, 1, ())
    >>> counter_costs(counter, 1, 1, 2).tolist()
    [0.0, 0.0, 0.0, 0.5]
    """
    price = math.inf if counter.cost is None else counter.cost
    now: list[Hashable] = [counter.start]
    total, events = np.zeros(1), [letter * plays for plays in range(places + 1)]
    for t in range(length):
        moves = {state: [counter.step(t, state, event) for event in events] for state in set(now)}
        steps = [[moves[state][k] for state in now] for k in range(places + 1)]
        costs = [np.array([price * wrong if wrong else 0.0 for _, wrong in step]) for step in steps]
        total = np.concatenate([total + cost for cost in costs])
        now = [state for step in steps for state, _ in step]
    return total


def place_sums(price: FloatArray, places: int) -> FloatArray:
    """Return by taken places the sum of their prices.

    Examples
    --------
    >>> place_sums(np.array([1.0, 4.0]), 1).tolist()
    [0.0, 1.0, 4.0, 5.0]
    """
    total = np.zeros(1)
    for each in price:
        total = np.concatenate([total + plays * each for plays in range(places + 1)])
    return total


def too_few(least: int, places: int, length: int) -> FloatArray:
    """Return by taken places what it costs that some round has fewer than ``least``: infinity.

    Examples
    --------
    >>> too_few(1, 1, 2).tolist()
    [inf, inf, inf, 0.0]
    """
    total = np.zeros(1)
    for _ in range(length):
        parts = [total + (0.0 if plays >= least else np.inf) for plays in range(places + 1)]
        total = np.concatenate(parts)
    return total
