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

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit
from lastswitch._random import stream


@jit
def _idle(cell: int, streaks: int, depth: int) -> int:
    return streaks if cell < streaks else min(cell + 1, streaks + depth - 1)


@jit
def _played(cell: int, streaks: int) -> int:
    return min(cell + 1, streaks - 1) if cell < streaks else 0


@jit
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
) -> int:
    """Insert a child into the sorted beam, merging equal keys; return the beam's new size."""
    place = -1
    for other in range(size):
        if keys[other] == key:
            place = other
            break
    if place >= 0:
        if score <= scores[place]:
            return size
    elif size < scores.size:
        place = size
        size += 1
    elif score > scores[size - 1]:
        place = size - 1
    else:
        return size
    while place > 0 and scores[place - 1] < score:
        scores[place], keys[place] = scores[place - 1], keys[place - 1]
        parents[place], arms[place] = parents[place - 1], arms[place - 1]
        place -= 1
    scores[place], keys[place], parents[place], arms[place] = score, key, parent, arm
    return size


@jit
def look_ahead(
    values: NDArray[np.float64],
    worth: NDArray[np.float64],
    streaks: int,
    depths: NDArray[np.int64],
    start: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    keys: NDArray[np.uint64],
    width: int,
    plan: NDArray[np.int64],
) -> float:
    """Fill ``plan`` with the best plays found from ``start``; return their pay plus potentials.

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
    plan
        As long as the look-ahead.
    """
    n_arms, rounds = values.shape[0], plan.size
    cells = np.empty((2, width, n_arms), np.int64)
    pays = np.zeros((2, width))
    parent_of = np.empty((rounds, width), np.int64)
    arm_of = np.empty((rounds, width), np.int64)
    scores = np.empty(width)
    child_keys = np.empty(width, np.uint64)
    cells[0, 0] = start
    size, now = 1, 0
    for t in range(rounds):
        parents, arms = parent_of[t], arm_of[t]
        children = 0
        for node in range(size):
            rested, key = pays[now, node], np.uint64(0)
            for arm in range(n_arms):
                idle = _idle(cells[now, node, arm], streaks, depths[arm])
                rested += worth[arm, idle]
                key ^= keys[arm, idle]
            for arm in range(n_arms):
                if not allowed[arm]:
                    continue
                cell = cells[now, node, arm]
                idle, played = _idle(cell, streaks, depths[arm]), _played(cell, streaks)
                score = rested + values[arm, cell] + worth[arm, played] - worth[arm, idle]
                if children < width or score > scores[width - 1]:
                    child = key ^ keys[arm, idle] ^ keys[arm, played]
                    children = _keep(
                        scores, child_keys, parents, arms, children, score, child, node, arm
                    )
        for node in range(children):
            parent = parents[node]
            for arm in range(n_arms):
                cell = cells[now, parent, arm]
                if arm == arms[node]:
                    pays[1 - now, node] = pays[now, parent] + values[arm, cell]
                    cells[1 - now, node, arm] = _played(cell, streaks)
                else:
                    cells[1 - now, node, arm] = _idle(cell, streaks, depths[arm])
        size, now = children, 1 - now
    node = 0
    for t in range(rounds - 1, -1, -1):
        plan[t] = arm_of[t, node]
        node = parent_of[t, node]
    return float(scores[0])


@jit
def followed(
    values: NDArray[np.float64],
    worth: NDArray[np.float64],
    streaks: int,
    depths: NDArray[np.int64],
    start: NDArray[np.int64],
    keys: NDArray[np.uint64],
    width: int,
    lookahead: int,
    commitment: int,
    rounds: int,
) -> float:
    """Return what ``rounds`` of planning, playing ``commitment`` rounds and planning anew earn.

    That is the pay if the tables were true, plus the potentials of the last state.
    """
    cells, plan = start.copy(), np.empty(lookahead, np.int64)
    allowed = np.ones(cells.size, np.bool_)
    pay = 0.0
    for t in range(rounds):
        at = t % commitment
        if at == 0:
            look_ahead(values, worth, streaks, depths, cells, allowed, keys, width, plan)
        for arm in range(cells.size):
            if arm == plan[at]:
                pay += values[arm, cells[arm]]
                cells[arm] = _played(cells[arm], streaks)
            else:
                cells[arm] = _idle(cells[arm], streaks, depths[arm])
    for arm in range(cells.size):
        pay += worth[arm, cells[arm]]
    return pay


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
