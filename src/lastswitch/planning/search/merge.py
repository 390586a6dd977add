"""Merging machines, so that the bound knows what they cannot do together.

Prices alone let two arms use the same round half the time each. Their merge cannot, which tightens
the bound; it has a state for every pair of states, less those no better schedule can visit. An arm
merged with a shared automaton keeps what that remembers of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.planning.diagrams.diagram import Diagram
from lastswitch.planning.diagrams.minimise import Pause, minimal
from lastswitch.planning.diagrams.sharing import Joint
from lastswitch.planning.search.merge_kernel import (
    FEW_PLACES,
    ROUND,
    STEP,
    Labels,
    Moves,
    Pairs,
    pair_states,
)
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.trails import new_trail, regrets

#: Steps in which regrets are counted.
BINS = 64
#: Pairs looked at between two pauses: some hundredths of a second.
SLICE = 100_000


class TooLarge(Exception):  # noqa: N818 - for whoever asked for the merge, never for a caller
    """A merge has more states than it may have, or than the system has memory for."""


def merged(
    prices: Prices,
    one: int,
    other: int,
    joint: Joint | int,
    floor: float,
    room: tuple[int, int],
    pause: Pause | None = None,
    charge: FloatArray | None = None,
) -> Diagram | None:
    """Return the machines with ``one`` and ``other`` replaced by their merge, at ``one``'s place.

    ``joint`` has the labels of the merge; without shared automata it is how many members ``one``
    has, and member ``j`` of ``other`` becomes that plus ``j``. Pairs of states that only schedules
    worth at most ``floor`` visit are left out. None if that is all of them: nothing is worth more.
    A merge with more pairs to look at than the first ``room``, or to keep than the second, is
    :class:`TooLarge`. The ``charge`` is what all others lose, if both idle in a round (first row)
    and if one of the two is pulled there.
    """
    m = prices.diagram
    slack = floor - prices.bound + prices.worth[m.root[one]] + prices.worth[m.root[other]]
    least = np.full((2, m.length), slack)
    if charge is not None:
        least += charge
    try:
        labels = _labels(prices, joint, least)
        both = _paired(prices, one, other, labels, room, pause)
        return None if both is None else minimal(both, pause)
    except MemoryError:  # the system allows less than was asked for
        raise TooLarge from None


def _labels(prices: Prices, joint: Joint | int, least: FloatArray) -> Labels:
    """Return the labels of a merge as its kernel takes them."""
    if not isinstance(joint, int):
        sharing = joint.sharing.priced(prices.price)
        both = bool((joint.together[1:, 1:] >= 0).any())
        return Labels(joint.together, np.minimum(sharing.plays, 1), sharing.cost, least, both)
    n = int(prices.diagram.label.max()) + 1
    together = np.full((n + 1, n + 1), -1, np.int64)
    together[1:, 0], together[0, 1:] = np.arange(n), joint + np.arange(n)
    return Labels(together, prices.pulls, prices.cost, least, both=False)


def _paired(
    prices: Prices,
    one: int,
    other: int,
    labels: Labels,
    room: tuple[int, int],
    pause: Pause | None,
) -> Diagram | None:
    """Return the machines with the merge, in which states may be alike; None if it has none.

    When pairs are listed, what is ahead of them is known as if both went on alone. Together they
    are worth less: only what stays then, round by round from the last one, is written down.
    """
    m, (listed, kept) = prices.diagram, room
    n, d = len(m.idle), m.length
    most = 1 + 2 * m.most_arcs + labels.both * m.most_arcs**2  # steps of a pair
    pairs = _first_pair(int(m.root[one]), int(m.root[other]), d, listed, most)
    empty = m.idle[:0], m.arc[:0], m.nxt[:0], m.gain[:0], m.label[:0]
    steps = _fill(prices, labels, pairs, Moves(*empty, pairs.begin[:0]), pause)
    ends = slice(pairs.begin[d], pairs.begin[d + 1])
    worth = m.final[pairs.left[ends] - m.lo[d]] + m.final[pairs.right[ends] - m.lo[d]]
    pairs.reached[ends], pairs.left[ends] = worth, np.arange(len(worth))
    states = len(worth) + min(kept, int(pairs.begin[d]))
    longer, moves = _with_room(m, states, min(4 * kept, steps) + most)
    _fill(prices, labels, pairs, moves, pause)
    if pairs.left[0] < 0:
        return None
    count = int(pairs.left[0]) + 1
    arcs = int(moves.arc[count])
    root = m.root.copy()
    root[one] = n + count - 1
    return Diagram(
        lo=np.stack([m.lo, n + moves.begin[1:]]),
        hi=np.stack([m.hi, n + moves.begin[:-1]]),
        idle=longer.idle[: n + count],
        arc=longer.arc[: n + count + 1],
        nxt=longer.nxt[:arcs],
        gain=longer.gain[:arcs],
        label=longer.label[:arcs],
        final=np.concatenate([m.final, worth]),
        root=np.delete(root, other),
    )


def _first_pair(left: int, right: int, d: int, room: int, most: int) -> Pairs:
    """Return a list of pairs with the first one only."""
    pairs = Pairs(
        begin=np.zeros(d + 2, np.int64),
        left=np.empty(room, np.int32),
        right=np.empty(room, np.int32),
        reached=np.empty(room),
        step=np.zeros(d + 1, np.int64),
        steps=np.empty(4 * room + most, np.int32),
        table=np.empty(max(int(FEW_PLACES), 1 << (4 * room).bit_length()), np.int32),
    )
    pairs.left[0], pairs.right[0], pairs.reached[0], pairs.begin[1] = left, right, 0.0, 1
    return pairs


def _with_room(m: Diagram, states: int, arcs: int) -> tuple[Diagram, Moves]:
    """Return the machines with room for so many states and arcs more, and that room."""
    n, n_arcs = len(m.idle), len(m.nxt)
    longer = m._replace(
        idle=_longer(m.idle, states),
        arc=_longer(m.arc, states),
        nxt=_longer(m.nxt, arcs),
        gain=_longer(m.gain, arcs),
        label=_longer(m.label, arcs),
    )
    own = longer.idle[n:], longer.arc[n:], longer.nxt[n_arcs:]
    begin = np.zeros(m.length + 2, np.int64)
    return longer, Moves(*own, longer.gain[n_arcs:], longer.label[n_arcs:], begin)


def _fill(
    prices: Prices,
    labels: Labels,
    pairs: Pairs,
    moves: Moves,
    pause: Pause | None,
) -> int:
    """List all pairs and return their steps; or, if there is room, write down what stays."""
    m, d = prices.diagram, prices.diagram.length
    cursor = np.array([0, 0, 0, 0, 1, 0])
    if len(moves.idle) > 0:
        last = pairs.begin[d + 1] - pairs.begin[d]
        moves.idle[:last], moves.arc[: last + 1], moves.begin[d] = -1, len(m.nxt), last
        cursor[:5] = d - 1, pairs.begin[d - 1], pairs.step[d - 1], 0, last
    while not pair_states(m, prices.worth, labels, pairs, moves, cursor, SLICE):
        if pause is not None:
            pause()
    if 0 <= cursor[ROUND] < d:
        raise TooLarge
    return int(cursor[STEP])


def pairs(
    usage: FloatArray, members: list[list[int]], params: SearchParams = DEFAULT
) -> list[tuple[int, int]]:
    """Return pairs of machines (by their first arm), those that share most usage first."""
    few = _foremost(usage, params)
    overlap = np.triu(usage[few] @ usage[few].T, 1)
    one, other = (overlap > params.pair_overlap).nonzero()
    order = np.argsort(-overlap[one, other], kind="stable")[: len(usage)].tolist()
    heads = [members[machine][0] for machine in few]
    return [(heads[one[k]], heads[other[k]]) for k in order]


def _foremost(usage: FloatArray, params: SearchParams) -> IntArray:
    """Return the machines with most usage, of which there are not too many to compare."""
    few = np.arange(len(usage))
    if len(few) > params.most_rivals:
        few = np.sort(np.argsort(-usage.sum(axis=1), kind="stable")[: params.most_rivals])
    return few


def rivals(
    prices: Prices,
    cluster: int | None,
    floor: float,
    limit: int,
    params: SearchParams = DEFAULT,
    speaks: BoolArray | None = None,
) -> tuple[int, int, int] | None:
    """Return the two machines whose merge promises most, and how many states to make room for.

    That is much that they disagree about, for few states more: rounds that both use; or, where
    machine ``i`` ``speaks[i, j]`` to the automaton ``j``, rounds in which that hears nothing. With
    a ``cluster`` that machine is the first of the two. None if no merge is worth its size.
    """
    usage, n = prices.usage, len(prices.diagram.root)
    few = _foremost(usage, params)
    if speaks is not None:
        few = np.arange(n)
    if cluster is None:
        overlap = np.triu(_overlap(usage, few, few, speaks), 1)
        one, other = (few[axis] for axis in overlap.nonzero())
        overlap = overlap[overlap.nonzero()]
        first = np.argsort(-overlap, kind="stable")[: params.first_pairs]
    else:
        other = few[few != cluster]
        one = np.full_like(other, cluster)
        overlap = _overlap(usage, one[:1], other, speaks)[0]
        first = np.argsort(-overlap, kind="stable")[: params.next_arms]
    counts: dict[int, FloatArray] = {}
    trail = new_trail(prices.diagram)
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


def _overlap(
    usage: FloatArray, one: IntArray, other: IntArray, speaks: BoolArray | None
) -> FloatArray:
    """Return how much machines disagree, in rounds: one of the first, one of the others."""
    overlap: FloatArray = usage[one] @ usage[other].T
    if speaks is not None:
        silent, heard = usage.sum(axis=1)[:, None], usage @ usage.T
        unheard = np.where(speaks, silent - heard, 0.0)  # of what i says, where j hears nothing
        automata = np.atleast_1d(speaks.any(axis=0))
        mixed = (automata[:, None] | automata)[np.ix_(one, other)]
        overlap = np.where(mixed, (unheard + unheard.T)[np.ix_(one, other)], overlap)
    return overlap


def estimated(one: FloatArray, other: FloatArray) -> float:
    """Return about how many states a merge has, from how many states have which regret.

    Examples
    --------
    Two rounds, regrets below one half of the slack and above: of the pairs those whose regrets are
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
