"""Taking machines together, so that the bound knows they cannot share a slot.

Prices alone let two arms claim the same slot half the time each. Their product cannot, which
tightens the bound; it has a state for every pair of states, less those no better block can visit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import ONE, bare, bare_inner, hot, index
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import MIX_A, MIX_B, Machines, Pause, minimal
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.prices import Prices

#: Steps in which regrets are counted.
BINS = 64
#: Entries of the cursor of `pair_states`: slot, next pair, pairs and arcs so far, and the places of
#: the table in use.
SLOT, NEXT, STATES, ARCS, PLACES = 0, 1, 2, 3, 4
#: Places of the table to begin a slot with. (Of a plain integer's value Numba would make a type.)
FEW_PLACES: Any = np.int64(1024)
#: Pairs looked at between two pauses: some hundredths of a second.
SLICE = 100_000


class TooLarge(Exception):  # noqa: N818 - for whoever asked for the product, never for a caller
    """A product has more states than it may have."""


class Pairs(NamedTuple):
    """The states of a product: where each slot begins, both members, and the best way into each.

    ``table`` finds a pair of the next slot by its hash, in so many of its places that they are few
    enough for a cache and still mostly empty.
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
    charge: FloatArray | None = None,
) -> Machines | None:
    """Return the machines with ``one`` and ``other`` replaced by their product, at ``one``'s place.

    Member ``j`` of ``other`` becomes member ``members + j``. Pairs of states that only blocks
    worth at most ``floor`` visit are left out. None if that is all of them: no block is worth more.
    A product of more than ``limit`` states is :class:`TooLarge`. The ``charge`` is what all others
    lose, if both idle in a slot (first row) and if one of the two is pulled there.
    """
    m = prices.machines
    n, n_arcs, d = len(m.idle), len(m.nxt), m.length
    pairs = Pairs(
        begin=np.zeros(d + 2, np.int64),
        left=np.empty(limit, np.int32),
        right=np.empty(limit, np.int32),
        reached=np.empty(limit),
        table=np.empty(max(int(FEW_PLACES), 1 << (4 * limit).bit_length()), np.int32),
    )
    # The pairs are written behind the states and arcs there are.
    idle, arc = _longer(m.idle, limit), _longer(m.arc[:-1], limit + 1)
    nxt, gain, who = (_longer(part, 4 * limit) for part in (m.nxt, m.gain, m.who))
    moves = Moves(idle[n:], arc[n:], nxt[n_arcs:], gain[n_arcs:], who[n_arcs:])
    pairs.left[0], pairs.right[0] = m.root[one], m.root[other]
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    least = np.full((2, d), slack)
    if charge is not None:
        least += charge
    pairs.reached[0], pairs.begin[1] = 0.0, 1
    cursor = np.array([0, 0, 1, 0, 0])
    while not pair_states(
        m, prices.price, prices.worth, members, least, pairs, moves, cursor, SLICE
    ):
        if pause is not None:
            pause()
    if cursor[SLOT] < d:
        raise TooLarge
    count = int(cursor[STATES])
    arcs = int(arc[n + count])
    root = m.root.copy()
    root[one] = n
    ends = slice(pairs.begin[d], count)
    final = m.final[pairs.left[ends] - m.lo[d]] + m.final[pairs.right[ends] - m.lo[d]]
    delete_pairs(prices.price, final, least, pairs, moves, n, n_arcs, np.empty(count))
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


def pairs(
    claims: FloatArray, members: list[list[int]], params: SearchParams = DEFAULT
) -> list[tuple[int, int]]:
    """Return pairs of machines (by their first arm), those that share most claims first."""
    few = _foremost(claims, params)
    overlap = np.triu(claims[few] @ claims[few].T, 1)
    one, other = (overlap > params.pair_overlap).nonzero()
    order = np.argsort(-overlap[one, other], kind="stable")[: len(claims)].tolist()
    heads = [members[machine][0] for machine in few]
    return [(heads[one[k]], heads[other[k]]) for k in order]


def _foremost(claims: FloatArray, params: SearchParams) -> IntArray:
    """Return the machines with most claims, of which there are not too many to compare."""
    few = np.arange(len(claims))
    if len(few) > params.most_rivals:
        few = np.sort(np.argsort(-claims.sum(axis=1), kind="stable")[: params.most_rivals])
    return few


def rivals(
    prices: Prices, cluster: int | None, floor: float, limit: int, params: SearchParams = DEFAULT
) -> tuple[int, int, int] | None:
    """Return the two machines whose product promises most, and how many states to make room for.

    That is much overlap in what they claim, for few states more. With a ``cluster`` that machine
    is the first of the two. None if no product is worth its size.
    """
    claims, n = prices.claims, len(prices.machines.root)
    few = _foremost(claims, params)
    if cluster is None:
        overlap = np.triu(claims[few] @ claims[few].T, 1)
        one, other = (few[axis] for axis in overlap.nonzero())
        overlap = overlap[overlap.nonzero()]
        first = np.argsort(-overlap, kind="stable")[: params.first_pairs]
    else:
        other = few[few != cluster]
        one = np.full_like(other, cluster)
        overlap = claims[other] @ claims[cluster]
        first = np.argsort(-overlap, kind="stable")[: params.next_arms]
    counts: dict[int, FloatArray] = {}
    best, chosen = 0.0, None
    for i, j, shared in zip(
        one[first].tolist(), other[first].tolist(), overlap[first].tolist(), strict=True
    ):
        if shared < params.least_overlap and n > params.few_machines:
            continue
        for machine in (i, j):
            if machine not in counts:
                counts[machine] = regrets(prices, machine, prices.bound - floor)
        size = estimated(counts[i], counts[j])
        if size > params.grow_over * limit:
            continue
        larger = max(counts[i].sum(), counts[j].sum())
        score = (shared + 1e-9) / math.sqrt(max(size / larger, 1e-9))
        if score > best:
            room = int(min(limit, params.room * size + params.least_room))
            best, chosen = score, (i, j, room)
    return chosen


def estimated(one: FloatArray, other: FloatArray) -> float:
    """Return about how many states a product has, from how many states have which regret.

    Examples
    --------
    Two slots, regrets below one half of the slack and above: of the pairs those whose regrets are
    within it together.

    >>> estimated(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 3.0]]))
    10.0
    """
    return float((one[:, ::-1] * other.cumsum(axis=1)).sum())


def regrets(prices: Prices, machine: int, slack: float) -> FloatArray:
    """Return how many states of a machine there are per slot and regret, up to ``slack``."""
    m = prices.machines
    counts = np.zeros((m.length + 1, BINS))
    reached = np.full(len(m.idle), -np.inf)
    root = int(m.root[machine])
    reached[root] = -prices.worth[root]
    countregrets(m, prices.price, prices.worth, slack, reached, counts)
    return counts


def _longer(part: NDArray[Any], room: int) -> NDArray[Any]:
    """Return a copy of ``part`` with room for more at its end."""
    longer = np.empty(len(part) + room, part.dtype)
    longer[: len(part)] = part
    return longer


@bare
def countregrets(
    m: Machines,
    price: FloatArray,
    worth: FloatArray,
    slack: float,
    reached: FloatArray,
    counts: FloatArray,
) -> None:
    """Count the states on paths that fall short of the best by less than ``slack``, by how much.

    ``reached[s]`` is the best way into a state less the best path; minus infinity where there is
    none.
    """
    d, bins = len(price), counts.shape[1]
    for t in range(d + 1):
        for s in range(m.lo[t], m.hi[t]):
            regret = -(reached[s] + worth[s])
            if not regret < slack:
                continue
            counts[t, max(0, min(int(bins * (regret / slack)), bins - 1))] += 1.0
            if t == d:
                continue
            if m.idle[s] >= 0:
                reached[m.idle[s]] = max(reached[m.idle[s]], reached[s])
            for a in range(m.arc[s], m.arc[s + 1]):
                way = reached[s] + m.gain[a] - price[t]
                reached[m.nxt[a]] = max(reached[m.nxt[a]], way)


@bare
def pair_states(
    m: Machines,
    price: FloatArray,
    worth: FloatArray,
    members: int,
    least: FloatArray,
    pairs: Pairs,
    moves: Moves,
    cursor: IntArray,
    budget: int,
) -> bool:
    """List the pairs of states reachable from the first one; return whether that is done.

    Done or given up: if they are too many, the cursor's slot is not the last. After ``budget``
    pairs it is neither, and may go on.
    Pairs are numbered behind the states there are, and so are their arcs.
    ``reached`` is the best way into a pair at the prices; a pair is worth listing only if that
    plus both states' worth beats the ``least`` of the slot, for both idling or for a pull.
    """
    d, n, n_arcs = len(price), len(m.idle), len(m.nxt)
    begin = pairs.begin
    t, x, count, arcs = cursor[SLOT], cursor[NEXT], cursor[STATES], cursor[ARCS]
    places = cursor[PLACES]
    while t < d:
        least_idle, least_pull = least[0, t], least[1, t]
        if x == begin[t]:
            places = place_anew(pairs, begin[t + 1], count, FEW_PLACES)
        while x < begin[t + 1] and budget > 0:
            budget -= 1
            if 3 * (count - begin[t + 1]) > places:
                places = place_anew(pairs, begin[t + 1], count, 8 * places)
            u, v, way = index(pairs.left[x]), index(pairs.right[x]), pairs.reached[x]
            moves.idle[x], moves.arc[x] = -1, n_arcs + arcs
            rest_u, rest_v = m.idle[u], m.idle[v]
            worth_u = worth[index(rest_u)] if rest_u >= 0 else -np.inf
            worth_v = worth[index(rest_v)] if rest_v >= 0 else -np.inf
            if way + worth_u + worth_v > least_idle:
                y = pair(pairs, rest_u, rest_v, way, count, places - 1)
                count = max(count, y + 1)
                moves.idle[x] = n + y
            # Then the arcs of one, the other idling, and the other way round.
            for side in range(2):
                rest, other = (rest_v, worth_v) if side == 0 else (rest_u, worth_u)
                s, add = (u, 0) if side == 0 else (v, members)
                if rest < 0:
                    continue
                for a in range(index(m.arc[s]), index(m.arc[s + ONE])):
                    after, then = m.nxt[a], way + (m.gain[a] - price[t])
                    if then + worth[index(after)] + other <= least_pull:
                        continue
                    left, right = (after, rest) if side == 0 else (rest, after)
                    y = pair(pairs, left, right, then, count, places - 1)
                    count = max(count, y + 1)
                    if count > len(pairs.left) or arcs == len(moves.nxt):
                        return True
                    moves.nxt[arcs], moves.gain[arcs] = n + y, m.gain[a]
                    moves.who[arcs] = m.who[a] + add
                    arcs += 1
            if count > len(pairs.left):
                return True
            x += 1
        cursor[NEXT], cursor[STATES], cursor[ARCS], cursor[PLACES] = x, count, arcs, places
        if x < begin[t + 1]:
            return False
        begin[t + 2] = count
        t += 1
        cursor[SLOT] = t
    for x in range(begin[d], count):
        moves.idle[x], moves.arc[x] = -1, n_arcs + arcs
    moves.arc[count] = n_arcs + arcs
    return True


@bare
def delete_pairs(
    price: FloatArray,
    final: FloatArray,
    least: FloatArray,
    pairs: Pairs,
    moves: Moves,
    n: int,
    n_arcs: int,
    worth: FloatArray,
) -> None:
    """Set to -1 every move of a pair that no way worth more than ``least`` takes.

    When pairs are listed, what is ahead of them is known as if both went on alone; together they
    are worth less. ``final`` is what the last pairs are worth, ``worth`` room for that of all. New
    states and arcs are numbered from ``n`` and ``n_arcs`` on.
    """
    d, begin = len(price), pairs.begin
    for x in range(len(final)):
        worth[begin[d] + x] = final[x]
    for t in range(d - 1, -1, -1):
        for x in range(index(begin[t]), index(begin[t + 1])):
            way, best = pairs.reached[x], -np.inf
            if moves.idle[x] >= 0:
                best = worth[index(moves.idle[x] - n)]
                if way + best <= least[0, t]:
                    moves.idle[x], best = -1, -np.inf
            for a in range(index(moves.arc[x] - n_arcs), index(moves.arc[x + ONE] - n_arcs)):
                then = moves.gain[a] - price[t] + worth[index(moves.nxt[a] - n)]
                if way + then <= least[1, t]:
                    moves.nxt[a] = -1
                elif then > best:
                    best = then
            worth[x] = best


@bare_inner
def place_anew(pairs: Pairs, begin: int, count: int, places: int) -> int:
    """Put the pairs from ``begin`` on into a table of ``places`` places, or of all there are."""
    places = min(places, len(pairs.table))
    for place in range(places):
        pairs.table[place] = -1
    for y in range(begin, count):
        spot = place_of(pairs.left[y], pairs.right[y]) & (places - 1)
        while pairs.table[spot] >= 0:
            spot = (spot + 1) & (places - 1)
        pairs.table[spot] = y
    return places


@hot
def place_of(u: int, v: int) -> np.int64:
    """Return a number that looks random, by which a pair is found."""
    key = np.uint64(u) * MIX_A + np.uint64(v) * MIX_B
    key = (key ^ (key >> np.uint64(31))) * MIX_A
    return np.int64(key >> np.uint64(24))


@bare_inner
def pair(pairs: Pairs, u: int, v: int, way: float, count: int, mask: int) -> int:
    """Return the number of a pair of states of the next slot: ``count`` if new.

    A pair for which there is no room is not written down.
    """
    place = place_of(u, v) & mask
    while pairs.table[place] >= 0:
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
