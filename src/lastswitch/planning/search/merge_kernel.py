"""The pairs of states that a merge of two machines is made of, in one kernel.

It goes through them twice: first to list them, by way of what both members are worth alone, and
then from the last round back, when what they are worth together is known, to write down what stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import MIX_A, MIX_B

#: Entries of the cursor of `pair_states`: round, next pair and its first step, and the places of
#: the table in use; then the states and arcs written.
ROUND, NEXT, STEP, PLACES, STATES, ARCS = 0, 1, 2, 3, 4, 5
#: Places of the table to begin a round with. (Of a plain integer's value Numba would make a type.)
FEW_PLACES: Any = np.int64(1024)


class Pairs(NamedTuple):
    """Pairs of states: where each round begins, both members, and the best way into each.

    ``steps`` are the pairs that each of them may go on to, one after the other, and ``step`` where
    those of a round begin. ``table`` finds a pair of the next round by its hash, in so many of its
    places that they are few enough for a cache and still mostly empty.

    When all are known, a pair's way gives place to what it is worth, and its first member to its
    number in the merge (-1: it is not in it).
    """

    begin: IntArray
    left: StateArray
    right: StateArray
    reached: FloatArray
    step: IntArray
    steps: StateArray
    table: StateArray


class Labels(NamedTuple):
    """What labels a merge has, and what they cost and lose.

    Two arcs taken together have the label ``together[a + 1, b + 1]`` (0: idle; -1: they do not go
    together); by round it costs ``cost``, and to be worth it takes more than ``least[move]``, the
    move being ``pulls[label]``. ``both`` says whether arcs may be taken together at all.
    """

    together: IntArray
    pulls: IntArray
    cost: FloatArray
    least: FloatArray
    both: bool


class Moves(NamedTuple):
    """The moves of a merge, as in :class:`Diagram`, rounds from the last one back.

    States of round ``t`` are those from ``begin[t + 1]`` to ``begin[t]``.
    """

    idle: StateArray
    arc: IntArray
    nxt: StateArray
    gain: FloatArray
    label: StateArray
    begin: IntArray


@jit
def pair_states(
    m: Diagram,
    worth: FloatArray,
    labels: Labels,
    pairs: Pairs,
    moves: Moves,
    cursor: IntArray,
    budget: int,
) -> bool:
    """Go through the pairs of states, round by round; return whether that is over.

    Over or given up: if there is no room, the cursor's round is one of the block. After ``budget``
    pairs it is neither, and may go on.

    Without room for moves this lists the pairs reachable from the first one, with the best way
    into each at the prices; a step is worth listing only if that plus both states' worth beats the
    least of its move. With room for moves it goes from the last round back and writes down the
    steps that beat it still, now that it is known what a pair is worth. States are numbered behind
    those there are, and so are arcs.
    """
    d, n, n_arcs, listing = len(labels.cost), len(m.idle), len(m.nxt), len(moves.idle) == 0
    left, right, reached, steps = pairs.left, pairs.right, pairs.reached, pairs.steps
    t, x, step, places = cursor[ROUND], cursor[NEXT], cursor[STEP], cursor[PLACES]
    count, arcs, alike = cursor[STATES], cursor[ARCS], labels.cost.shape[1] == 1
    while 0 <= t < d:
        end, cost = pairs.begin[t + 1], labels.cost[t, 0]
        least_idle, least = labels.least[0, t], labels.least[1, t]
        if x == pairs.begin[t]:
            places, pairs.step[t] = 0, step
        while x < end and budget > 0:
            budget -= 1
            if listing and 3 * (count - end) >= places:
                places = place_anew(pairs, end, count)
            u, v, way = left[x], right[x], reached[x]
            arcs_u, arcs_v = m.arc[u + 1] - m.arc[u], m.arc[v + 1] - m.arc[v]
            most = 1 + arcs_u + arcs_v
            if labels.both:
                most += arcs_u * arcs_v
            if most > (len(steps) - step if listing else len(moves.nxt) - arcs):
                return True
            rest_u, rest_v = m.idle[u], m.idle[v]
            worth_u = worth[rest_u] if rest_u >= 0 else -np.inf
            worth_v = worth[rest_v] if rest_v >= 0 else -np.inf
            best, idle = -np.inf, np.int64(-1)
            if way + worth_u + worth_v > least_idle:
                if listing:
                    steps[step] = pair(pairs, rest_u, rest_v, way, count, places - 1)
                    count += steps[step] == count
                else:
                    y = steps[step]
                    if left[y] >= 0 and way + reached[y] > least_idle:
                        best, idle = reached[y], n + left[y]
                step += 1
            # Then the arcs of one, the other idling, the other way round, and arcs of both.
            for side in range(3):
                if (side == 0 and rest_v < 0) or (side == 1 and rest_u < 0):
                    continue
                if side == 2 and not labels.both:
                    continue
                s, other = (v, worth_u) if side == 1 else (u, worth_v)
                for a in range(m.arc[s], m.arc[s + 1]):
                    after, one = m.nxt[a], m.label[a] + 1
                    b, last = whole(0), whole(1)
                    if side == 2:
                        b, last = m.arc[v], m.arc[v + 1]
                    while b < last:
                        rest, gain, label = rest_v, m.gain[a], labels.together[0, 0]
                        if side == 0:
                            label = labels.together[one, 0]
                        elif side == 1:
                            rest, label = rest_u, labels.together[0, one]
                        else:
                            label = labels.together[one, m.label[b] + 1]
                            rest, gain, other = m.nxt[b], gain + m.gain[b], worth[m.nxt[b]]
                        b += 1
                        if label < 0:
                            continue
                        if not alike:
                            cost = labels.cost[t, label]
                            least = labels.least[labels.pulls[label], t]
                        earned = gain - cost
                        if way + earned + worth[after] + other <= least:
                            continue
                        if listing:
                            goal_u, goal_v = (rest, after) if side == 1 else (after, rest)
                            steps[step] = pair(
                                pairs, goal_u, goal_v, way + earned, count, places - 1
                            )
                            count += steps[step] == count
                            step += 1
                            continue
                        y = steps[step]
                        step += 1
                        known, total = left[y], earned + reached[y]
                        if known < 0 or way + total <= least:
                            continue
                        if total > best:
                            best = total
                        moves.nxt[arcs], moves.gain[arcs] = n + known, gain
                        moves.label[arcs] = label
                        arcs += 1
            if count > len(left) or (count == len(moves.idle) and best > -np.inf):
                return True
            if not listing:
                reached[x], left[x] = best, -1
                if best > -np.inf:
                    moves.idle[count], moves.arc[count + 1], left[x] = idle, n_arcs + arcs, count
                    count += 1
            x += 1
        cursor[NEXT], cursor[STEP], cursor[PLACES] = x, step, places
        cursor[STATES], cursor[ARCS] = count, arcs
        if x < end:
            return False
        if listing:
            t += 1
            x, pairs.begin[t + 1] = end, count
        else:
            moves.begin[t] = count
            t -= 1
            x, step = (pairs.begin[t], pairs.step[t]) if t >= 0 else (0, 0)
        cursor[ROUND], cursor[NEXT], cursor[STEP] = t, x, step
    return True


@jit(inner=True)
def place_anew(pairs: Pairs, begin: int, end: int) -> int:
    """Put the pairs ``begin .. end`` into a table of as many places as they need; return these."""
    places: int = FEW_PLACES
    while places <= 3 * (end - begin):
        places *= 8
    if places > len(pairs.table):
        places = whole(len(pairs.table))
    for place in range(places):
        pairs.table[place] = -1
    for y in range(begin, end):
        spot = place_of(pairs.left[y], pairs.right[y]) & (places - 1)
        while pairs.table[spot] >= 0:
            spot = (spot + 1) & (places - 1)
        pairs.table[spot] = y
    return places


@jit(inline=True)
def place_of(u: int, v: int) -> np.int64:
    """Return a number that looks random, by which a pair is found."""
    key = np.uint64(u) * MIX_A + np.uint64(v) * MIX_B
    key = (key ^ (key >> np.uint64(31))) * MIX_A
    return np.int64(key >> np.uint64(24))


@jit(inner=True)
def pair(pairs: Pairs, u: int, v: int, way: float, count: int, mask: int) -> int:
    """Return the number of a pair of states of the next round: ``count`` if new.

    A pair for which there is no room is not written down.
    """
    place = place_of(u, v) & mask
    while pairs.table[place] >= 0:
        y = pairs.table[place]
        if pairs.left[y] == u and pairs.right[y] == v:
            if way > pairs.reached[y]:
                pairs.reached[y] = way
            found: int = whole(y)  # (`int` would be compiled first)
            return found
        place = (place + 1) & mask
    if count < len(pairs.left):
        pairs.table[place] = count
        pairs.left[count], pairs.right[count], pairs.reached[count] = u, v, way
    return count
