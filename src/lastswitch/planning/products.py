"""Taking machines together, so that the bound knows they cannot share a slot.

Prices alone let two arms claim the same slot half the time each. Their product cannot, which
tightens the bound; it has a state for every pair of states, less those no better block can visit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.following import new_trail, regrets
from lastswitch.planning.machines import Machines, Pause, minimal
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.prices import Prices
from lastswitch.planning.product_kernel import FEW_PLACES, SLOT, Moves, Pairs, pair_states

#: Steps in which regrets are counted.
BINS = 64
#: Pairs looked at between two pauses: some hundredths of a second.
SLICE = 100_000


class TooLarge(Exception):  # noqa: N818 - for whoever asked for the product, never for a caller
    """A product has more states than it may have, or than the system has memory for."""


def merged(
    prices: Prices,
    one: int,
    other: int,
    members: int,
    floor: float,
    room: tuple[int, int],
    pause: Pause | None = None,
    charge: FloatArray | None = None,
) -> Machines | None:
    """Return the machines with ``one`` and ``other`` replaced by their product, at ``one``'s place.

    Member ``j`` of ``other`` becomes member ``members + j``. Pairs of states that only blocks
    worth at most ``floor`` visit are left out. None if that is all of them: no block is worth more.
    A product with more pairs to look at than the first ``room``, or to keep than the second, is
    :class:`TooLarge`. The ``charge`` is what all others lose, if both idle in a slot (first row)
    and if one of the two is pulled there.
    """
    m = prices.machines
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    least = np.full((2, m.length), slack)
    if charge is not None:
        least += charge
    try:
        both = _product(prices, one, other, members, least, room, pause)
        return None if both is None else minimal(both, pause)
    except MemoryError:  # the system allows less than was asked for
        raise TooLarge from None


def _product(
    prices: Prices,
    one: int,
    other: int,
    members: int,
    least: FloatArray,
    room: tuple[int, int],
    pause: Pause | None,
) -> Machines | None:
    """Return the machines with the product, in which states may be alike; None if it has none.

    When pairs are listed, what is ahead of them is known as if both went on alone. Together they
    are worth less: only what stays then, slot by slot from the last one, is written down.
    """
    m, (listed, kept) = prices.machines, room
    n, d = len(m.idle), m.length
    pairs = _first_pair(int(m.root[one]), int(m.root[other]), d, listed)
    empty = m.idle[:0], m.arc[:0], m.nxt[:0], m.gain[:0], m.who[:0]
    _fill(prices, members, least, pairs, Moves(*empty, pairs.begin[:0]), pause)
    ends = slice(pairs.begin[d], pairs.begin[d + 1])
    worth = m.final[pairs.left[ends] - m.lo[d]] + m.final[pairs.right[ends] - m.lo[d]]
    pairs.reached[ends], pairs.left[ends] = worth, np.arange(len(worth))
    longer, moves = _with_room(m, len(worth) + min(kept, int(pairs.begin[d])))
    _fill(prices, members, least, pairs, moves, pause)
    if pairs.left[0] < 0:
        return None
    count = int(pairs.left[0]) + 1
    arcs = int(moves.arc[count])
    root = m.root.copy()
    root[one] = n + count - 1
    return Machines(
        lo=np.stack([m.lo, n + moves.begin[1:]]),
        hi=np.stack([m.hi, n + moves.begin[:-1]]),
        idle=longer.idle[: n + count],
        arc=longer.arc[: n + count + 1],
        nxt=longer.nxt[:arcs],
        gain=longer.gain[:arcs],
        who=longer.who[:arcs],
        final=np.concatenate([m.final, worth]),
        root=np.delete(root, other),
    )


def _first_pair(left: int, right: int, d: int, room: int) -> Pairs:
    """Return a list of pairs with the first one only."""
    pairs = Pairs(
        begin=np.zeros(d + 2, np.int64),
        left=np.empty(room, np.int32),
        right=np.empty(room, np.int32),
        reached=np.empty(room),
        step=np.zeros(d + 1, np.int64),
        steps=np.empty(4 * room, np.int32),
        table=np.empty(max(int(FEW_PLACES), 1 << (4 * room).bit_length()), np.int32),
    )
    pairs.left[0], pairs.right[0], pairs.reached[0], pairs.begin[1] = left, right, 0.0, 1
    return pairs


def _with_room(m: Machines, states: int) -> tuple[Machines, Moves]:
    """Return the machines with room for so many states more, and that room."""
    n, n_arcs = len(m.idle), len(m.nxt)
    longer = m._replace(
        idle=_longer(m.idle, states),
        arc=_longer(m.arc, states),
        nxt=_longer(m.nxt, 4 * states),
        gain=_longer(m.gain, 4 * states),
        who=_longer(m.who, 4 * states),
    )
    own = longer.idle[n:], longer.arc[n:], longer.nxt[n_arcs:]
    begin = np.zeros(m.length + 2, np.int64)
    return longer, Moves(*own, longer.gain[n_arcs:], longer.who[n_arcs:], begin)


def _fill(
    prices: Prices,
    members: int,
    least: FloatArray,
    pairs: Pairs,
    moves: Moves,
    pause: Pause | None,
) -> None:
    """List all pairs or, if there is room for moves, write down what stays."""
    m, d = prices.machines, prices.machines.length
    cursor = np.array([0, 0, 0, 0, 1, 0])
    if len(moves.idle) > 0:
        last = pairs.begin[d + 1] - pairs.begin[d]
        moves.idle[:last], moves.arc[: last + 1], moves.begin[d] = -1, len(m.nxt), last
        cursor[:5] = d - 1, pairs.begin[d - 1], pairs.step[d - 1], 0, last
    while not pair_states(
        m, prices.price, prices.worth, members, least, pairs, moves, cursor, SLICE
    ):
        if pause is not None:
            pause()
    if 0 <= cursor[SLOT] < d:
        raise TooLarge


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
    trail = new_trail(prices.machines)
    best, chosen = 0.0, None
    for i, j, shared in zip(
        one[first].tolist(), other[first].tolist(), overlap[first].tolist(), strict=True
    ):
        if shared < params.least_overlap and n > params.few_machines:
            continue
        for machine in (i, j):
            if machine not in counts:
                counts[machine] = regrets(prices, machine, prices.bound - floor, trail, BINS)
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


def _longer(part: NDArray[Any], room: int) -> NDArray[Any]:
    """Return a copy of ``part`` with room for more at its end."""
    longer = np.empty(len(part) + room, part.dtype)
    longer[: len(part)] = part
    return longer
