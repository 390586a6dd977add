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
    new = (begin, left, right, idle, arc, nxt, gain, who)
    which = (prices.price, prices.worth, int(m.root[one]), int(m.root[other]), members, slack)
    scratch = (np.empty(limit), np.full(1 << (2 * limit).bit_length(), -1, np.int32))
    count = pair_states(*(old + which + new + scratch))
    if count < 0:
        return None
    arcs = int(arc[count])
    pairs = Machines(
        lo=begin[:-1],
        hi=begin[1:],
        idle=idle[:count],
        arc=arc[: count + 1],
        nxt=nxt[:arcs],
        gain=gain[:arcs],
        who=who[:arcs],
        final=m.final[left[begin[d] : count]] + m.final[right[begin[d] : count]],
        root=np.zeros(1, np.int32),
    )
    both = together(m, pairs)
    root = both.root[:-1].copy()
    root[one] = both.root[-1]
    return minimal(both._replace(root=np.delete(root, other)))


def together(one: Machines, other: Machines) -> Machines:
    """Return the machines of both, their states numbered slot by slot.

    Examples
    --------
    >>> from lastswitch.planning.automata import Automata
    >>> from lastswitch.planning.machines import compact
    >>> arm = compact(Automata(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                        final=[0.0], root=[0]))
    >>> together(arm, arm).root
    array([2, 3], dtype=int32)
    """
    n, d = len(one.idle), one.length
    slots = [np.empty(len(m.idle), np.int16) for m in (one, other)]
    for slot, m in zip(slots, (one, other), strict=True):
        for t in range(d + 1):
            slot[m.lo[t] : m.hi[t]] = d - t
    order = np.argsort(np.concatenate(slots), kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)

    def renumbered(old: StateArray, shift: int) -> StateArray:
        return np.where(old < 0, np.int32(-1), place[old + shift])

    counts = np.concatenate([np.diff(one.arc), np.diff(other.arc)])
    arc = np.append(0, np.cumsum(counts[order]))
    begin = np.concatenate([one.arc[:-1], other.arc[:-1] + len(one.nxt)])
    arcs = np.repeat((begin[order] - arc[:-1]), counts[order]) + np.arange(arc[-1])
    hi = np.cumsum((one.hi - one.lo + other.hi - other.lo)[::-1])[::-1]
    return Machines(
        lo=np.append(hi[1:], 0),
        hi=hi.copy(),
        idle=np.concatenate([renumbered(one.idle, 0), renumbered(other.idle, n)])[order],
        arc=arc,
        nxt=np.concatenate([renumbered(one.nxt, 0), renumbered(other.nxt, n)])[arcs],
        gain=np.concatenate([one.gain, other.gain])[arcs],
        who=np.concatenate([one.who, other.who])[arcs],
        final=np.concatenate([one.final, other.final]),
        root=np.concatenate([place[one.root], place[other.root + n]]),
    )


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
                        if way > reached[y]:
                            reached[y] = way
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
