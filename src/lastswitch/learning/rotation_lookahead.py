"""The look-ahead of :class:`~lastswitch.learning.rotation.RotationUCB`: a small beam search.

The block planner of :mod:`lastswitch.planning` proves what it finds; a learner that replans every
few rounds on tables that are guesses needs no proof, only the next few plays in some tens of
microseconds. So this is the beam alone: one joint state per node, equal states merged, ranked by
pay so far plus potentials (:mod:`lastswitch.learning.rotation_price`), which stand in for the
bounds. With a beam as wide as the set of reachable states it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import ONE, index, jit
from lastswitch._random import stream
from lastswitch.learning.rotation_cycle import enter, settled

#: Ends of plans from which the cycle is tried.
_LEAVES = 8
_EQUAL = 1e-9
#: Six bits of a key, by which most that are new are known to be.
KEY_BITS: Any = np.uint64(63)


@jit(makes_arrays=True)
def _idle(cell: int, streaks: int, depth: int) -> int:
    return streaks if cell < streaks else min(cell + 1, streaks + depth - 1)


@jit(makes_arrays=True)
def _played(cell: int, streaks: int) -> int:
    return min(cell + 1, streaks - 1) if cell < streaks else 0


@jit(inline=True)
def _keep(
    scores: NDArray[np.float64],
    keys: NDArray[np.uint64],
    parents: NDArray[np.int64],
    arms: NDArray[np.int64],
    size: int,
    score: float,
    key: np.uint64,
    parent: int,
    arm: int,
    new: bool,
) -> int:
    """Insert a child into the sorted beam, merging equal keys; return the beam's new size.

    ``new`` says that no child has this key.
    """
    place = beam = index(size)
    if not new:
        for other in range(beam):
            if keys[other] == key:
                place = other
                break
    if place < beam:
        if score <= scores[place]:
            return size
    elif size < scores.size:
        size += 1
    elif score > scores[beam - ONE]:
        place = beam - ONE
    else:
        return size
    while place >= ONE and scores[place - ONE] < score:
        above = place - ONE
        scores[place], keys[place] = scores[above], keys[above]
        parents[place], arms[place] = parents[above], arms[above]
        place = above
    scores[place], keys[place], parents[place], arms[place] = score, key, parent, arm
    return size


@jit(inner=True, makes_arrays=True)
def _moves(
    values: NDArray[np.float64],
    worth: NDArray[np.float64],
    streaks: int,
    depths: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    keys: NDArray[np.uint64],
) -> tuple[
    NDArray[np.uint64],
    NDArray[np.uint64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.uint64],
    NDArray[np.uint64],
    NDArray[np.float64],
]:
    """Return by place what follows: the places after, potentials, gains of playing, keys, pays."""
    n_arms, cells = values.shape
    idle_to, played_to = np.empty((2, n_arms * cells), np.uint64)
    idle_worth, gain, pay = np.empty((3, n_arms * cells))
    idle_key, gain_key = np.empty((2, n_arms * cells), np.uint64)
    for arm in range(n_arms):
        for cell in range(streaks + depths[arm]):
            place = arm * cells + cell
            idle, played = _idle(cell, streaks, depths[arm]), _played(cell, streaks)
            idle_to[place], played_to[place] = arm * cells + idle, arm * cells + played
            idle_worth[place], pay[place] = worth[arm, idle], values[arm, cell]
            gain[place] = values[arm, cell] + worth[arm, played] - worth[arm, idle]
            if not allowed[arm]:
                gain[place] = -np.inf
            idle_key[place] = keys[arm, idle]
            gain_key[place] = keys[arm, idle] ^ keys[arm, played]
    return idle_to, played_to, idle_worth, gain, idle_key, gain_key, pay


@jit(makes_arrays=True)
def look_ahead(
    values: NDArray[np.float64],
    worth: NDArray[np.float64],
    streaks: int,
    depths: NDArray[np.int64],
    start: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    keys: NDArray[np.uint64],
    width: int,
    cycle: NDArray[np.int64],
    pay: float,
    plan: NDArray[np.int64],
) -> float:
    """Fill ``plan`` with the best plays found from ``start``; return what they are worth.

    That is their pay plus potentials or, with a ``cycle`` to end in, plus what entering it earns
    above its pay; the cycle itself is then one of the plans.

    Parameters
    ----------
    values, worth
        Pay and potential of each (arm, cell).
    streaks, depths
        Streak cells of every arm, rest cells of each.
    start
        The cell each arm is in.
    allowed
        The arms that may be played, throughout the plan.
    keys
        Random 64-bit words per (arm, cell); a joint state is their exclusive or.
    width
        Nodes kept per round.
    cycle, pay
        A cycle, empty for none, and its pay per round.
    plan
        As long as the look-ahead.
    """
    n_arms, rounds = values.shape[0], plan.size
    moves = _moves(values, worth, streaks, depths, allowed, keys)
    idle_to, played_to, idle_worth, gain, idle_key, gain_key, paid = moves
    # A place names an arm and its cell in one number.
    places = np.empty((2, width * n_arms), np.uint64)
    pays = np.zeros((2, width))
    parent_of = np.empty((rounds, width), np.int64)
    arm_of = np.empty((rounds, width), np.int64)
    scores = np.empty(width)
    child_keys = np.empty(width, np.uint64)
    for arm in range(n_arms):
        places[0, arm] = arm * values.shape[1] + start[arm]
    size, now = 1, 0
    for t in range(rounds):
        parents, arms = parent_of[t], arm_of[t]
        here, after = places[now], places[1 - now]
        children, least, filled = 0, -np.inf, np.uint64(0)
        for node in range(size):
            rested, key = pays[now, node], np.uint64(0)
            first = index(node * n_arms)
            for at in range(first, first + index(n_arms)):
                place = here[at]
                rested += idle_worth[place]
                key ^= idle_key[place]
            for at in range(first, first + index(n_arms)):
                place = here[at]
                score = rested + gain[place]
                if score > least:
                    child = key ^ gain_key[place]
                    bit = ONE << (child & KEY_BITS)
                    played = int(np.int64(at - first))
                    children = _keep(
                        scores,
                        child_keys,
                        parents,
                        arms,
                        children,
                        score,
                        child,
                        node,
                        played,
                        not filled & bit,
                    )
                    filled |= bit
                    if children == width:
                        least = scores[width - 1]
        if children == 0:  # tables that are no numbers: play what may be played
            for at in range(n_arms):
                if allowed[at]:
                    plan[:] = at
            return -np.inf
        for node in range(children):
            parent, chosen = parents[node], index(arms[node])
            to, of = index(node * n_arms), index(parent * n_arms)
            for arm in range(index(n_arms)):
                after[to + arm] = idle_to[here[of + arm]]
            left = here[of + chosen]
            after[to + chosen] = played_to[left]
            pays[1 - now, node] = pays[now, parent] + paid[left]
        size, now = children, 1 - now
    node, best = 0, scores[0]
    if cycle.size > 0:
        bias, settled_pays, runs = settled(values, streaks, depths, cycle, pay)
        turn = cycle, bias, settled_pays, runs
        more, entry = enter(values, streaks, depths, start, *turn)
        node, best = -1, more + rounds * pay
        cells = np.empty(n_arms, np.int64)
        for leaf in range(min(size, _LEAVES)):
            for arm in range(n_arms):
                cells[arm] = places[now, leaf * n_arms + arm] - np.uint64(arm * values.shape[1])
            more, _ = enter(values, streaks, depths, cells, *turn)
            if pays[now, leaf] + more > best + _EQUAL:
                node, best = leaf, pays[now, leaf] + more
        if node < 0:
            for t in range(rounds):
                plan[t] = cycle[(entry + t) % cycle.size]
            return float(best)
    for t in range(rounds - 1, -1, -1):
        plan[t] = arm_of[t, node]
        node = parent_of[t, node]
    return float(best)


def look_ahead_reference(
    values: NDArray[np.float64],
    worth: NDArray[np.float64],
    streaks: int,
    depths: Sequence[int],
    start: Sequence[int],
    allowed: Sequence[bool],
    rounds: int,
) -> float:
    """Return the best pay plus potentials over all sequences, by trying each of them."""
    best = -np.inf
    arms = [arm for arm, free in enumerate(allowed) if free]
    for block in product(arms, repeat=rounds):
        cells, pay = list(start), 0.0
        for played in block:
            pay += values[played, cells[played]]
            for arm, cell in enumerate(cells):
                if cell < streaks:
                    cells[arm] = min(cell + 1, streaks - 1) if arm == played else streaks
                else:
                    cells[arm] = 0 if arm == played else min(cell + 1, streaks + depths[arm] - 1)
        best = max(best, pay + sum(worth[arm, cell] for arm, cell in enumerate(cells)))
    return float(best)


@cache
def state_keys(n_arms: int, cells: int) -> NDArray[np.uint64]:
    """Return the random words that name joint states, the same in every process.

    Two states with one key would be merged as if equal: a node lost, not an error, and at 64 bits
    not to be expected.
    """
    rng = stream(0, "rotation", "state keys")
    return rng.integers(0, 2**64, size=(n_arms, cells), dtype=np.uint64)
