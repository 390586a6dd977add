"""The look-ahead of a rotation learner: a small beam search.

The block planner of :mod:`lastswitch.planning` proves what it finds; a learner that replans every
few rounds on tables that are guesses needs no proof, only the next few plays in some tens of
microseconds. So this is the beam alone: one joint state per node, equal states merged, ranked by
pay so far plus potentials (:mod:`lastswitch.learning.rotation.price`), which stand in for the
bounds. With a beam as wide as the set of reachable states it is exact.

Cells are those of :mod:`lastswitch.learning.rotation.price`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import ONE, index, jit, whole
from lastswitch._utils.random import stream
from lastswitch.learning.rotation.cycle import Settled, enter

#: Ends of plans from which the cycle is tried.
_LEAVES = 8
_EQUAL = 1e-9
#: Six bits of a key, by which most that are new are known to be.
KEY_BITS: Any = np.uint64(63)

Words = NDArray[np.uint64]


class Moves(NamedTuple):
    """What an idle round and a play do to each cell, by *place*: an arm's number and its cell's."""

    idle: IntArray
    played: IntArray
    #: Random words: a joint state's key is the exclusive or of its cells'. By how much an idle
    #: round changes it, and a play in place of that.
    idle_key: Words
    gain_key: Words

    @classmethod
    def of(cls, streaks: int, depths: IntArray, cells: int) -> Moves:
        """Return the moves of arms with so many streak cells, and rest cells each."""
        arms, cell = np.arange(len(depths))[:, None], np.arange(cells)[None, :]
        rested = np.minimum(cell + 1, streaks + depths[:, None] - 1)
        idle = arms * cells + np.where(cell < streaks, streaks, rested)
        again = np.minimum(cell + 1, streaks - 1)
        played = arms * cells + np.where(cell < streaks, again, 0)
        keys = state_keys(len(depths), cells).ravel()
        after = idle.ravel(), played.ravel()
        return cls(*after, keys[after[0]], keys[after[0]] ^ keys[after[1]])


class Outlook(NamedTuple):
    """What a plan is made on, by place."""

    #: What an arm pays, what it is worth after an idle round, and what a play adds to that.
    pays: FloatArray
    idle_worth: FloatArray
    gain: FloatArray

    @classmethod
    def of(cls, moves: Moves, values: FloatArray, worth: FloatArray) -> Outlook:
        """Return the outlook of values and potentials by (arm, cell)."""
        pays, potentials = values.ravel(), worth.ravel()
        idle = potentials[moves.idle]
        return cls(pays, idle, pays + potentials[moves.played] - idle)


class Nodes(NamedTuple):
    """The nodes of a beam: those of a round and of the next, and who led to whom."""

    places: IntArray
    pays: FloatArray
    #: By round: each node's parent, and what was played.
    parents: IntArray
    played: IntArray
    #: Of the children so far, best first.
    scores: FloatArray
    keys: Words
    #: Three numbers per arm.
    room: IntArray


class Beam:
    """Room for a beam, used again by every search of the same size."""

    def __init__(self, n_arms: int, width: int, rounds: int) -> None:
        parents, played = np.empty((2, rounds, width), np.int64)
        places, pays = np.empty((2, width * n_arms), np.int64), np.empty((2, width))
        children = np.empty(width), np.empty(width, np.uint64)
        room = np.empty((3, n_arms), np.int64)
        self.nodes = Nodes(places, pays, parents, played, *children, room)

    def plan(
        self,
        tables: tuple[FloatArray, int, IntArray],
        moves: Moves,
        outlook: Outlook,
        start: IntArray,
        allowed: BoolArray | None,
        cycle: Settled,
        rounds: int,
    ) -> tuple[IntArray, float]:
        """Return the best plays found from the cells ``start``, and what they are worth.

        That is their pay plus potentials or, with a cycle to end in, plus what entering it earns
        above its pay; the cycle itself is then one of the plans. Arms not allowed are not played
        throughout the plan. ``tables`` are values, streaks and depths.
        """
        plan = np.zeros(rounds, np.int64)
        if allowed is not None:
            free = np.repeat(allowed, len(outlook.gain) // len(start))
            outlook = outlook._replace(gain=np.where(free, outlook.gain, -np.inf))
            plan[:] = np.flatnonzero(allowed)[0]
        worth = look_ahead(moves, outlook, *tables, start, cycle, self.nodes, plan)
        return plan, worth


@jit(inline=True)
def keep(
    scores: FloatArray,
    keys: Words,
    parents: IntArray,
    arms: IntArray,
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


@jit
def look_ahead(
    moves: Moves,
    outlook: Outlook,
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    start: IntArray,
    settled: Settled,
    nodes: Nodes,
    plan: IntArray,
) -> float:
    """Fill ``plan``, if any is found, and return what it is worth; see :meth:`Beam.plan`."""
    idle, played, idle_key, gain_key = moves.idle, moves.played, moves.idle_key, moves.gain_key
    paid, idle_worth, gain = outlook.pays, outlook.idle_worth, outlook.gain
    places, pays, parent_of, arm_of = nodes.places, nodes.pays, nodes.parents, nodes.played
    scores, child_keys, cycle = nodes.scores, nodes.keys, settled.cycle
    (n_arms, n_cells), rounds, width = values.shape, plan.size, scores.size
    for arm in range(n_arms):
        places[0, arm] = arm * n_cells + start[arm]
    pays[0, 0] = 0.0
    size, now = 1, 0
    for t in range(rounds):
        parents, arms = parent_of[t], arm_of[t]
        here, after = places[now], places[1 - now]
        children, least, filled = 0, -np.inf, np.uint64(0)
        for node in range(size):
            rested, key = pays[now, node], np.uint64(0)
            first = index(node * n_arms)
            for at in range(first, first + index(n_arms)):
                place = index(here[at])
                rested += idle_worth[place]
                key ^= idle_key[place]
            for at in range(first, first + index(n_arms)):
                place = index(here[at])
                score = rested + gain[place]
                if score > least:
                    child = key ^ gain_key[place]
                    bit = ONE << (child & KEY_BITS)
                    children = keep(
                        scores,
                        child_keys,
                        parents,
                        arms,
                        children,
                        score,
                        child,
                        node,
                        whole(at - first),
                        not filled & bit,
                    )
                    filled |= bit
                    if children == width:
                        least = scores[width - 1]
        if children == 0:  # tables that are no numbers
            return -np.inf
        for node in range(children):
            parent, chosen = parents[node], index(arms[node])
            to, of = index(node * n_arms), index(parent * n_arms)
            for arm in range(index(n_arms)):
                after[to + arm] = idle[index(here[of + arm])]
            left = index(here[of + chosen])
            after[to + chosen] = played[left]
            pays[1 - now, node] = pays[now, parent] + paid[left]
        size, now = children, 1 - now
    node, best = 0, scores[0]
    if cycle.size > 0:
        cells, following, used = nodes.room[0], nodes.room[1], nodes.room[2]
        node, best, entry = -1, -np.inf, 0
        for leaf in range(
            -1, size if size < _LEAVES else _LEAVES
        ):  # first the cycle from the start
            for arm in range(n_arms):
                cells[arm] = start[arm]
                if leaf >= 0:
                    cells[arm] = places[now, leaf * n_arms + arm] - arm * n_cells
            more, where = enter(values, streaks, depths, cells, settled, following, used)
            if leaf < 0:
                best, entry = more + rounds * settled.pay, where
            elif pays[now, leaf] + more > best + _EQUAL:
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
def state_keys(n_arms: int, cells: int) -> Words:
    """Return the random words that name joint states, the same in every process.

    Two states with one key would be merged as if equal: a node lost, not an error, and at 64 bits
    not to be expected.
    """
    rng = stream(0, "rotation", "state keys")
    return rng.integers(0, 2**64, size=(n_arms, cells), dtype=np.uint64)
