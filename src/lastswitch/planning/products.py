"""Taking two machines together, so that the bound knows they cannot share a slot.

Prices alone let two arms claim the same slot half the time each. Their product cannot, which
tightens the bound; it has a state for every pair of states, less those no better block can visit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import bare, hot
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import MIX_A, MIX_B, Machines, Pause, minimal
from lastswitch.planning.prices import Prices


class Pairs(NamedTuple):
    """The states of a product: where each slot begins, both members, and the best way into each.

    ``table`` finds a pair by its hash.
    """

    begin: IntArray
    left: StateArray
    right: StateArray
    reached: FloatArray
    table: StateArray


class Moves(NamedTuple):
    """The moves of a product, as in :class:`Machines`."""

    idle: StateArray
    arc: IntArray
    nxt: StateArray
    gain: FloatArray
    who: StateArray


def merged(
    prices: Prices,
    one: int,
    other: int,
    members: int,
    floor: float,
    limit: int,
    pause: Pause | None = None,
) -> Machines | None:
    """Return the machines with ``one`` and ``other`` replaced by their product, at ``one``'s place.

    Member ``j`` of ``other`` becomes member ``members + j``. Pairs of states that only blocks
    worth at most ``floor`` visit are left out. None if the product has more than ``limit`` states.
    """
    m = prices.machines
    n, n_arcs, d = len(m.idle), len(m.nxt), m.length
    pairs = Pairs(
        begin=np.zeros(d + 2, np.int64),
        left=np.empty(limit, np.int32),
        right=np.empty(limit, np.int32),
        reached=np.empty(limit),
        table=np.full(1 << (2 * limit).bit_length(), -1, np.int32),
    )
    # The pairs are written behind the states and arcs there are.
    idle, arc = _longer(m.idle, limit), _longer(m.arc[:-1], limit + 1)
    nxt, gain, who = (_longer(part, 4 * limit) for part in (m.nxt, m.gain, m.who))
    moves = Moves(idle[n:], arc[n:], nxt[n_arcs:], gain[n_arcs:], who[n_arcs:])
    pairs.left[0], pairs.right[0] = m.root[one], m.root[other]
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    count = pair_states(m, prices.price, prices.worth, members, slack, pairs, moves)
    if count < 0:
        return None
    arcs = int(arc[n + count])
    root = m.root.copy()
    root[one] = n
    ends = slice(pairs.begin[d], count)
    final = m.final[pairs.left[ends] - m.lo[d]] + m.final[pairs.right[ends] - m.lo[d]]
    both = Machines(
        lo=np.stack([m.lo, n + pairs.begin[:-1]]),
        hi=np.stack([m.hi, n + pairs.begin[1:]]),
        idle=idle[: n + count],
        arc=arc[: n + count + 1],
        nxt=nxt[:arcs],
        gain=gain[:arcs],
        who=who[:arcs],
        final=np.concatenate([m.final, final]),
        root=np.delete(root, other),
    )
    return minimal(both, pause)


def _longer(part: NDArray[Any], room: int) -> NDArray[Any]:
    """Return a copy of ``part`` with room for more at its end."""
    longer = np.empty(len(part) + room, part.dtype)
    longer[: len(part)] = part
    return longer


@bare
def pair_states(
    m: Machines,
    price: FloatArray,
    worth: FloatArray,
    members: int,
    slack: float,
    pairs: Pairs,
    moves: Moves,
) -> int:
    """List the pairs of states reachable from the first one; return how many, -1 if too many.

    They are numbered behind the states there are, and so are their arcs.
    ``reached`` is the best way into a pair at the prices; a pair is worth listing only if that
    plus both states' worth beats ``slack``.
    """
    d, n, n_arcs = len(price), len(m.idle), len(m.nxt)
    begin = pairs.begin
    pairs.reached[0] = 0.0
    count, arcs = 1, 0
    begin[0], begin[1] = 0, 1
    for t in range(d):
        for x in range(begin[t], begin[t + 1]):
            u, v = pairs.left[x], pairs.right[x]
            moves.idle[x], moves.arc[x] = -1, n_arcs + arcs
            # Moves: both idle (-1), then the arcs of one, then those of the other.
            n_one, n_other = m.arc[u + 1] - m.arc[u], m.arc[v + 1] - m.arc[v]
            for move in range(-1, n_one + n_other):
                after_u, after_v, way, a = m.idle[u], m.idle[v], pairs.reached[x], -1
                if 0 <= move < n_one:
                    a = m.arc[u] + move
                    after_u = m.nxt[a]
                elif move >= n_one:
                    a = m.arc[v] + move - n_one
                    after_v = m.nxt[a]
                if after_u < 0 or after_v < 0:
                    continue
                if a >= 0:
                    way += m.gain[a] - price[t]
                if way + worth[after_u] + worth[after_v] <= slack:
                    continue
                y = pair(pairs, after_u, after_v, way, begin[t + 1], count)
                if y == len(pairs.left) or (a >= 0 and arcs == len(moves.nxt)):
                    return -1
                count = max(count, y + 1)
                if a < 0:
                    moves.idle[x] = n + y
                    continue
                moves.nxt[arcs], moves.gain[arcs] = n + y, m.gain[a]
                moves.who[arcs] = m.who[a] if move < n_one else members + m.who[a]
                arcs += 1
        begin[t + 2] = count
    for x in range(begin[d], count):
        moves.idle[x], moves.arc[x] = -1, n_arcs + arcs
    moves.arc[count] = n_arcs + arcs
    return count


@hot
def pair(pairs: Pairs, u: int, v: int, way: float, begin: int, count: int) -> int:
    """Return the number of a pair of states of the slot from ``begin`` on: ``count`` if new.

    A pair for which there is no room is not written down.
    """
    mask = len(pairs.table) - 1
    key = np.uint64(u) * MIX_A + np.uint64(v) * MIX_B
    key = (key ^ (key >> np.uint64(31))) * MIX_A
    place = np.int64(key >> np.uint64(24)) & mask
    while pairs.table[place] >= begin:  # else empty, or left from an earlier slot
        y = pairs.table[place]
        if pairs.left[y] == u and pairs.right[y] == v:
            if way > pairs.reached[y]:
                pairs.reached[y] = way
            return int(y)
        place = (place + 1) & mask
    if count < len(pairs.left):
        pairs.table[place] = count
        pairs.left[count], pairs.right[count], pairs.reached[count] = u, v, way
    return count
