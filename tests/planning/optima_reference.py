"""Plain definitions that the optima are checked against: slow, and never clever."""

from fractions import Fraction
from itertools import product

import numpy as np

import lastswitch as ls


def joint_graph(bandit, start):
    """Return {state: [(pay, next state)]} over truncated switch states, nothing merged."""

    def truncated(states):
        return tuple(
            _truncate(curve, int(tau)) for curve, tau in zip(bandit.curves, states, strict=True)
        )

    begin = truncated(start)
    graph, frontier = {}, [begin]
    while frontier:
        state = frontier.pop()
        if state in graph:
            continue
        graph[state] = [
            (
                Fraction(bandit.mean(arm, state[arm])),
                truncated(ls.states.transition(np.array(state), arm)),
            )
            for arm in range(bandit.n_arms)
        ]
        frontier.extend(after for _, after in graph[state])
    return graph


def _truncate(curve, tau):
    if tau < 0:
        return max(tau, -len(curve.streak))
    size = len(curve.rest)
    return (tau - 1) % size + 1 if curve.tail == "repeat" else min(tau, size)


def maximum_cycle_mean(graph, begin):
    """Karp's algorithm with exact fractions; every state is reachable from ``begin``."""
    n = len(graph)
    best = [{begin: Fraction(0)}]
    for _ in range(n):
        reached = {}
        for state, value in best[-1].items():
            for pay, after in graph[state]:
                if after not in reached or value + pay > reached[after]:
                    reached[after] = value + pay
        best.append(reached)
    return max(
        min((best[n][s] - best[k][s]) / (n - k) for k in range(n) if s in best[k]) for s in best[n]
    )


def best_total(bandit, horizon, start):
    """Return the best total over all sequences, by trying them."""
    return max(
        ls.block_reward(bandit, sequence, start)
        for sequence in product(range(bandit.n_arms), repeat=horizon)
    )


def best_cycle_mean(bandit, max_length):
    """Return the best mean over all cycles up to a length, by trying them."""
    return max(
        ls.cycle_reward(bandit, cycle) / length
        for length in range(1, max_length + 1)
        for cycle in product(range(bandit.n_arms), repeat=length)
    )
