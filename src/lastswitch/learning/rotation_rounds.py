"""The look-ahead of RotationUCB under rules: a beam over rounds of none, one or several plays.

As :mod:`lastswitch.learning.rotation_lookahead`, but a round plays a *choice*, a set of arms, and a
node also holds what every counter of the rules remembers. Broken hard rules end a way, broken soft
ones cost, an empty place pays silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import ONE, jit
from lastswitch.learning.rotation_lookahead import KEY_BITS, _idle, _keep, _played
from lastswitch.learning.rotation_price import best_cycle, potentials

_BISECTIONS = 30


@jit(makes_arrays=True)
def _mixed(counter: int, state: int) -> np.uint64:
    """Return a word that names the state of a counter."""
    word = np.uint64(counter + 1) * np.uint64(0x9E3779B97F4A7C15)
    word ^= np.uint64(state + 1) * np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(30)
    word *= np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit(makes_arrays=True)
def look_ahead_rounds(
    values: FloatArray,
    worth: FloatArray,
    streaks: int,
    depths: IntArray,
    start: IntArray,
    choices: NDArray[np.bool_],
    free: NDArray[np.bool_],
    empty: FloatArray,
    memory: IntArray,
    events: IntArray,
    first: IntArray,
    n_events: IntArray,
    after: IntArray,
    wrong: IntArray,
    costs: FloatArray,
    keys: NDArray[np.uint64],
    width: int,
    plan: IntArray,
) -> int:
    """Fill ``plan`` with the best choices found; return for how many rounds there are any.

    Parameters
    ----------
    values, worth, streaks, depths, start, keys, width, plan
        As in ``look_ahead``.
    choices, empty
        By choice: the arms it plays, and what its empty places pay.
    free
        The choices that may be made in the first round.
    memory
        What each counter remembers.
    events
        By choice and counter: the event that it hears.
    first, n_events, after, wrong
        The counters' tables by (state, event), one after the other: where each begins, how many
        events it has, the state after, and violations.
    costs
        What a violation of each counter costs; infinite if it may not happen.
    """
    n_arms, rounds, n_counters = values.shape[0], plan.size, memory.size
    cells = np.empty((2, width, n_arms), np.int64)
    states = np.empty((2, width, n_counters), np.int64)
    pays = np.zeros((2, width))
    parent_of = np.empty((rounds, width), np.int64)
    choice_of = np.empty((rounds, width), np.int64)
    scores = np.empty(width)
    child_keys = np.empty(width, np.uint64)
    cells[0, 0] = start
    states[0, 0] = memory
    size, now, reached = 1, 0, 0
    for t in range(rounds):
        parents, chosen = parent_of[t], choice_of[t]
        children, filled = 0, np.uint64(0)
        for node in range(size):
            rested, key = pays[now, node], np.uint64(0)
            for arm in range(n_arms):
                idle = _idle(cells[now, node, arm], streaks, depths[arm])
                rested += worth[arm, idle]
                key ^= keys[arm, idle]
            for choice in range(choices.shape[0]):
                if t == 0 and not free[choice]:
                    continue
                score, child = rested + empty[choice], key
                for arm in range(n_arms):
                    if choices[choice, arm]:
                        cell = cells[now, node, arm]
                        idle, played = _idle(cell, streaks, depths[arm]), _played(cell, streaks)
                        score += values[arm, cell] + worth[arm, played] - worth[arm, idle]
                        child ^= keys[arm, idle] ^ keys[arm, played]
                if children == width and score <= scores[width - 1]:
                    continue
                for k in range(n_counters):
                    place = first[k] + states[now, node, k] * n_events[k] + events[choice, k]
                    if wrong[place] > 0:
                        score -= wrong[place] * costs[k]
                    child ^= _mixed(k, after[place])
                if score > -np.inf and (children < width or score > scores[width - 1]):
                    bit = ONE << (child & KEY_BITS)
                    children = _keep(
                        scores,
                        child_keys,
                        parents,
                        chosen,
                        children,
                        score,
                        child,
                        node,
                        choice,
                        not filled & bit,
                    )
                    filled |= bit
        if children == 0:
            break
        for node in range(children):
            parent, choice = parents[node], chosen[node]
            pay = pays[now, parent] + empty[choice]
            for arm in range(n_arms):
                cell = cells[now, parent, arm]
                if choices[choice, arm]:
                    pay += values[arm, cell]
                    cells[1 - now, node, arm] = _played(cell, streaks)
                else:
                    cells[1 - now, node, arm] = _idle(cell, streaks, depths[arm])
            for k in range(n_counters):
                place = first[k] + states[now, parent, k] * n_events[k] + events[choice, k]
                if wrong[place] > 0:
                    pay -= wrong[place] * costs[k]
                states[1 - now, node, k] = after[place]
            pays[1 - now, node] = pay
        size, now, reached = children, 1 - now, t + 1
    node = 0
    for t in range(reached - 1, -1, -1):
        plan[t] = choice_of[t, node]
        node = parent_of[t, node]
    return reached


@jit(makes_arrays=True)
def price_places(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    places: float,
    floor: float,
    out: FloatArray,
) -> tuple[float, float]:
    """Fill ``out`` with all arms' potentials; return the price of a place and Σ g_i.

    As ``price_slots``, for so many places a round and a price of at least ``floor``, what a place
    pays when it stays empty.
    """
    low, high = floor, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        frequency = 0.0
        for arm in range(values.shape[0]):
            frequency += best_cycle(values[arm], streaks, depths[arm], middle)[1]
        if frequency > places:
            low = middle
        else:
            high = middle
    gains = 0.0
    for arm in range(values.shape[0]):
        gains += potentials(values[arm], streaks, depths[arm], high, out[arm])
    return high, gains


def look_ahead_rounds_reference(
    values: FloatArray,
    worth: FloatArray,
    streaks: int,
    depths: Sequence[int],
    start: Sequence[int],
    choices: Sequence[Sequence[int]],
    empty: Sequence[float],
    step: object,
    memory: tuple[int, ...],
    rounds: int,
) -> float:
    """Return the best pay plus potentials over all ways to play, by trying each of them.

    ``step(memory, choice)`` gives the memory after, hard violations, and what soft ones cost.
    """
    best = -np.inf
    for way in product(range(len(choices)), repeat=rounds):
        cells, held, pay = list(start), memory, 0.0
        for choice in way:
            held, hard, cost = step(held, choice)  # type: ignore[operator]
            if hard:
                break
            pay += empty[choice] - cost
            for arm, cell in enumerate(cells):
                if arm in choices[choice]:
                    pay += values[arm, cell]
                    cells[arm] = int(_played(cell, streaks))
                else:
                    cells[arm] = int(_idle(cell, streaks, depths[arm]))
        else:
            best = max(best, pay + sum(worth[arm, cell] for arm, cell in enumerate(cells)))
    return float(best)
