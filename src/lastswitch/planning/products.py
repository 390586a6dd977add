"""Taking two machines together, so that the bound knows they cannot share a slot.

Prices alone let two arms claim the same slot half the time each. Their product cannot, which
tightens the bound; it has a state for every pair of states, less those no better block can visit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    n, n_arcs, d = len(m.idle), len(m.nxt), m.length
    begin = np.zeros(d + 2, np.int64)
    left, right = np.empty(limit, np.int32), np.empty(limit, np.int32)
    # The pairs are written behind the states and arcs there are.
    idle, arc = _longer(m.idle, limit), _longer(m.arc[:-1], limit + 1)
    nxt, gain, who = (_longer(part, 4 * limit) for part in (m.nxt, m.gain, m.who))
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    old = (m.idle, m.arc, m.nxt, m.gain, m.who)
    new = (begin, left, right, idle[n:], arc[n:], nxt[n_arcs:], gain[n_arcs:], who[n_arcs:])
    which = (prices.price, prices.worth, int(m.root[one]), int(m.root[other]), members, slack)
    scratch = (np.empty(limit), np.full(1 << (2 * limit).bit_length(), -1, np.int32))
    count = pair_states(*(old + which + new + scratch))
    if count < 0:
        return None
    arcs = int(arc[n + count])
    root = m.root.copy()
    root[one] = n
    ends = slice(begin[d], count)
    both = Machines(
        lo=np.stack([m.lo, n + begin[:-1]]),
        hi=np.stack([m.hi, n + begin[1:]]),
        idle=idle[: n + count],
        arc=arc[: n + count + 1],
        nxt=nxt[:arcs],
        gain=gain[:arcs],
        who=who[:arcs],
        final=np.concatenate(
            [m.final, m.final[left[ends] - m.lo[d]] + m.final[right[ends] - m.lo[d]]]
        ),
        root=np.delete(root, other),
    )
    return minimal(both)


def _longer(part: NDArray[Any], room: int) -> NDArray[Any]:
    """Return a copy of ``part`` with room for more at its end."""
    longer = np.empty(len(part) + room, part.dtype)
    longer[: len(part)] = part
    return longer


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

    They are numbered behind the states there are, and so are their arcs.
    ``reached`` is the best way into a pair at the prices; a pair is worth listing only if that
    plus both states' worth beats ``slack``.
    """
    d, n, n_arcs = len(price), len(idle), len(nxt)
    mask = len(table) - 1
    left[0], right[0], reached[0] = one, other, 0.0
    count, arcs = 1, 0
    begin[0], begin[1] = 0, 1
    for t in range(d):
        for x in range(begin[t], begin[t + 1]):
            u, v = left[x], right[x]
            p_idle[x] = -1
            p_arc[x] = n_arcs + arcs
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
                    p_idle[x] = n + y
                    continue
                if arcs == len(p_nxt):
                    return -1
                p_nxt[arcs], p_gain[arcs] = n + y, gain[a]
                p_who[arcs] = who[a] if move < n_one else members + who[a]
                arcs += 1
        begin[t + 2] = count
    for x in range(begin[d], count):
        p_idle[x] = -1
        p_arc[x] = n_arcs + arcs
    p_arc[count] = n_arcs + arcs
    return count
