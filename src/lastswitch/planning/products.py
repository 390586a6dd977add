"""Taking two machines together, so that the bound knows they cannot share a slot.

Prices alone let two arms claim the same slot half the time each. Their product cannot, which
tightens the bound; it has a state for every pair of states, less those no better block can visit.
"""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import MIX_A, MIX_B, Machines, minimal
from lastswitch.planning.prices import Prices


def merged(
    prices: Prices, one: int, other: int, members: int, floor: float, limit: int
) -> Machines | None:
    """Return the machines with ``one`` and ``other`` replaced by their product, at ``one``'s place.

    Member ``j`` of ``other`` becomes member ``members + j``. Pairs of states that only blocks
    worth at most ``floor`` visit are left out. None if the product has more than ``limit`` states.
    """
    m = prices.machines
    d = m.length
    begin = np.zeros(d + 2, np.int64)
    left, right = np.empty(limit, np.int32), np.empty(limit, np.int32)
    most_arcs = 4 * limit
    idle, arc = np.empty(limit, np.int32), np.zeros(limit + 1, np.int64)
    nxt, who = np.empty(most_arcs, np.int32), np.empty(most_arcs, np.int32)
    gain = np.empty(most_arcs)
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    old = (m.idle, m.arc, m.nxt, m.gain, m.who)
    pairs = (begin, left, right, idle, arc, nxt, gain, who)
    which = (prices.price, prices.worth, int(m.root[one]), int(m.root[other]), members, slack)
    scratch = (np.empty(limit), np.full(1 << (2 * limit).bit_length(), -1, np.int32))
    count = pair_states(*(old + which + pairs + scratch))
    if count < 0:
        return None
    n, n_arcs = len(m.idle) + count, len(m.nxt) + int(arc[count])
    root = m.root.copy()
    ends = len(m.final) + int(begin[d + 1] - begin[d])
    slots = (np.empty(d + 1, np.int64), np.empty(d + 1, np.int64))
    states = (np.empty(n, np.int32), np.zeros(n + 1, np.int64))
    arcs = (np.empty(n_arcs, np.int32), np.empty(n_arcs), np.empty(n_arcs, np.int32))
    whole = slots + states + arcs + (np.empty(ends), root)
    interleave(*((m.lo, m.hi) + old + (m.final,) + pairs + whole))  # noqa: RUF005 - keeps types
    both = Machines(*whole)
    root[one] = both.hi[0] - 1  # the product's root is the last state of slot 0
    return minimal(both._replace(root=np.delete(root, other)))


@jit
def pair_states(
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    who: StateArray,
    price: FloatArray,
    worth: FloatArray,
    one: int,
    other: int,
    members: int,
    slack: float,
    begin: IntArray,
    left: StateArray,
    right: StateArray,
    p_idle: StateArray,
    p_arc: IntArray,
    p_nxt: StateArray,
    p_gain: FloatArray,
    p_who: StateArray,
    reached: FloatArray,
    table: StateArray,
) -> int:
    """List the pairs of states reachable from two roots; return how many, -1 if too many.

    ``reached`` is the best way into a pair at the prices; a pair is worth listing only if that
    plus both states' worth beats ``slack``.
    """
    d = len(price)
    mask = len(table) - 1
    left[0], right[0], reached[0] = one, other, 0.0
    count, arcs = 1, 0
    begin[0], begin[1] = 0, 1
    for t in range(d):
        for x in range(begin[t], begin[t + 1]):
            u, v = left[x], right[x]
            p_idle[x] = -1
            p_arc[x] = arcs
            # Moves: both idle (-1), then the arcs of one, then those of the other.
            n_one, n_other = arc[u + 1] - arc[u], arc[v + 1] - arc[v]
            for move in range(-1, n_one + n_other):
                after_u, after_v, way, a = idle[u], idle[v], reached[x], -1
                if 0 <= move < n_one:
                    a = arc[u] + move
                    after_u = nxt[a]
                elif move >= n_one:
                    a = arc[v] + move - n_one
                    after_v = nxt[a]
                if after_u < 0 or after_v < 0:
                    continue
                if a >= 0:
                    way += gain[a] - price[t]
                if way + worth[after_u] + worth[after_v] <= slack:
                    continue
                key = np.uint64(after_u) * MIX_A + np.uint64(after_v) * MIX_B
                key = (key ^ (key >> np.uint64(31))) * MIX_A
                place = np.int64(key >> np.uint64(24)) & mask
                while True:
                    y = table[place]
                    if y < begin[t + 1]:  # empty, or left from an earlier slot
                        if count == len(left) or arcs == len(p_nxt):
                            return -1
                        y = count
                        table[place] = y
                        left[y], right[y], reached[y] = after_u, after_v, way
                        count += 1
                        break
                    if left[y] == after_u and right[y] == after_v:
                        reached[y] = max(reached[y], way)
                        break
                    place = (place + 1) & mask
                if a < 0:
                    p_idle[x] = y
                    continue
                if arcs == len(p_nxt):
                    return -1
                p_nxt[arcs], p_gain[arcs] = y, gain[a]
                p_who[arcs] = who[a] if move < n_one else members + who[a]
                arcs += 1
        begin[t + 2] = count
    for x in range(begin[d], count):
        p_idle[x] = -1
        p_arc[x] = arcs
    p_arc[count] = arcs
    return count


@jit
def interleave(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    who: StateArray,
    final: FloatArray,
    begin: IntArray,
    left: StateArray,
    right: StateArray,
    p_idle: StateArray,
    p_arc: IntArray,
    p_nxt: StateArray,
    p_gain: FloatArray,
    p_who: StateArray,
    new_lo: IntArray,
    new_hi: IntArray,
    new_idle: StateArray,
    new_arc: IntArray,
    new_nxt: StateArray,
    new_gain: FloatArray,
    new_who: StateArray,
    new_final: FloatArray,
    root: StateArray,
) -> None:
    """Write, slot by slot, the old states and after them the pairs; move ``root`` along."""
    d = len(lo) - 1
    at, arcs = 0, 0
    for t in range(d + 1):
        new_lo[t] = at
        at += hi[t] - lo[t] + begin[t + 1] - begin[t]
        new_hi[t] = at
    for t in range(d + 1):
        # Where a state of the next slot goes: old ones by `shift`, pairs by `p_shift`.
        shift, p_shift = 0, 0
        if t < d:
            shift = new_lo[t + 1] - lo[t + 1]
            p_shift = new_lo[t + 1] + hi[t + 1] - lo[t + 1] - begin[t + 1]
        at = new_lo[t]
        for s in range(lo[t], hi[t]):
            if t == d:
                new_final[at - new_lo[d]] = final[s - lo[d]]
            new_idle[at] = idle[s] + shift if idle[s] >= 0 else -1
            for a in range(arc[s], arc[s + 1]):
                new_nxt[arcs], new_gain[arcs], new_who[arcs] = nxt[a] + shift, gain[a], who[a]
                arcs += 1
            at += 1
            new_arc[at] = arcs
        for x in range(begin[t], begin[t + 1]):
            if t == d:
                new_final[at - new_lo[d]] = final[left[x] - lo[d]] + final[right[x] - lo[d]]
            new_idle[at] = p_idle[x] + p_shift if p_idle[x] >= 0 else -1
            for a in range(p_arc[x], p_arc[x + 1]):
                new_nxt[arcs] = p_nxt[a] + p_shift
                new_gain[arcs], new_who[arcs] = p_gain[a], p_who[a]
                arcs += 1
            at += 1
            new_arc[at] = arcs
    for i in range(len(root)):
        root[i] += new_lo[0] - lo[0]
