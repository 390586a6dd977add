"""The look-ahead under rules: a beam over rounds of none, one or several plays.

As :mod:`lastswitch.learning.rotation.lookahead`, but a round plays a *choice*, a set of arms, and a
node also holds what every counter of the rules remembers. Broken hard rules end a way, broken soft
ones cost, an empty place pays silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import ONE, jit
from lastswitch.learning.rotation.lookahead import KEY_BITS, Moves, Outlook, Words, keep


class Choices(NamedTuple):
    """The rounds that may be played, and the rules' counters as tables.

    A counter's tables are by (state, event), one counter after the other: where each begins, how
    many events it has, the state after, and violations.
    """

    #: By choice: the arms it plays, and what its empty places pay.
    arms: BoolArray
    empty: FloatArray
    #: By choice and counter: the event that it is to the counter.
    events: IntArray
    first: IntArray
    n_events: IntArray
    after: IntArray
    wrong: IntArray
    #: What a violation of each counter costs; infinite if it may not happen.
    costs: FloatArray


class RoundNodes(NamedTuple):
    """The nodes of a beam: those of a round and of the next, and who led to whom."""

    places: IntArray
    states: IntArray
    pays: FloatArray
    #: By round: each node's parent, and what was chosen.
    parents: IntArray
    chosen: IntArray
    #: Of the children so far, best first.
    scores: FloatArray
    keys: Words


def plan_rounds(
    moves: Moves,
    outlook: Outlook,
    choices: Choices,
    start: IntArray,
    memory: IntArray,
    free: BoolArray,
    width: int,
    rounds: int,
) -> IntArray:
    """Return the best choices found, for as many rounds as there are any.

    ``start`` is the cell of each arm, ``memory`` what each counter remembers, and ``free`` are the
    choices that may be made in the first round.
    """
    n_arms, plan = len(start), np.empty(rounds, np.int64)
    parents, chosen = np.empty((2, rounds, width), np.int64)
    children = np.empty(width), np.empty(width, np.uint64)
    places, states = np.empty((2, width, n_arms), int), np.empty((2, width, len(memory)), int)
    places[0, 0] = np.arange(n_arms) * (len(outlook.pays) // n_arms) + start
    states[0, 0] = memory
    nodes = RoundNodes(places, states, np.zeros((2, width)), parents, chosen, *children)
    reached = look_ahead_rounds(moves, outlook, choices, free, nodes, plan)
    return plan[:reached]


@jit(inner=True)
def _mixed(counter: int, state: int) -> np.uint64:
    """Return a word that names the state of a counter."""
    word = np.uint64(counter + 1) * np.uint64(0x9E3779B97F4A7C15)
    word ^= np.uint64(state + 1) * np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(30)
    word *= np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit
def look_ahead_rounds(
    moves: Moves,
    outlook: Outlook,
    rules: Choices,
    free: BoolArray,
    nodes: RoundNodes,
    plan: IntArray,
) -> int:
    """Fill ``plan``; return for how many rounds there are any choices. See :func:`plan_rounds`."""
    idle, played, idle_key, gain_key = moves.idle, moves.played, moves.idle_key, moves.gain_key
    paid, idle_worth, gain = outlook.pays, outlook.idle_worth, outlook.gain
    choices, empty, events, costs = rules.arms, rules.empty, rules.events, rules.costs
    first, n_events, after, wrong = rules.first, rules.n_events, rules.after, rules.wrong
    places, states, pays = nodes.places, nodes.states, nodes.pays
    parent_of, choice_of, scores, child_keys = nodes.parents, nodes.chosen, nodes.scores, nodes.keys
    n_arms, n_counters, width = choices.shape[1], first.size, scores.size
    size, now, reached = 1, 0, 0
    for t in range(plan.size):
        parents, chosen = parent_of[t], choice_of[t]
        children, filled = 0, np.uint64(0)
        for node in range(size):
            rested, key = pays[now, node], np.uint64(0)
            for arm in range(n_arms):
                rested += idle_worth[places[now, node, arm]]
                key ^= idle_key[places[now, node, arm]]
            for choice in range(choices.shape[0]):
                if t == 0 and not free[choice]:
                    continue
                score, child = rested + empty[choice], key
                for arm in range(n_arms):
                    if choices[choice, arm]:
                        score += gain[places[now, node, arm]]
                        child ^= gain_key[places[now, node, arm]]
                if children == width and score <= scores[width - 1]:
                    continue
                for k in range(n_counters):
                    entry = first[k] + states[now, node, k] * n_events[k] + events[choice, k]
                    if wrong[entry] > 0:
                        score -= wrong[entry] * costs[k]
                    child ^= _mixed(k, after[entry])
                if score > -np.inf and (children < width or score > scores[width - 1]):
                    bit = ONE << (child & KEY_BITS)
                    children = keep(
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
                place = places[now, parent, arm]
                if choices[choice, arm]:
                    pay += paid[place]
                    places[1 - now, node, arm] = played[place]
                else:
                    places[1 - now, node, arm] = idle[place]
            for k in range(n_counters):
                entry = first[k] + states[now, parent, k] * n_events[k] + events[choice, k]
                if wrong[entry] > 0:
                    pay -= wrong[entry] * costs[k]
                states[1 - now, node, k] = after[entry]
            pays[1 - now, node] = pay
        size, now, reached = children, 1 - now, t + 1
    node = 0
    for t in range(reached - 1, -1, -1):
        plan[t] = choice_of[t, node]
        node = parent_of[t, node]
    return reached


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
                again = min(cell + 1, streaks - 1) if cell < streaks else 0
                rested = min(cell + 1, streaks + depths[arm] - 1)
                if arm in choices[choice]:
                    pay += values[arm, cell]
                    cells[arm] = again
                else:
                    cells[arm] = streaks if cell < streaks else rested
        else:
            best = max(best, pay + sum(worth[arm, cell] for arm, cell in enumerate(cells)))
    return float(best)
