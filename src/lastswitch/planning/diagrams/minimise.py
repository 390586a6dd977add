"""Minimal diagrams: no two states have the same future, and none is without one.

On the way arcs may be deleted that only hopeless paths take (reduced-cost fixing).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, Model, StateArray

KeyArray = NDArray[np.uint64]
#: Called between two slices of long work; it ends the work by raising.
Pause = Callable[[], None]
#: States looked at between two pauses: some hundredths of a second.
SLICE = 500_000
#: Entries of the cursor of `merge_states`: rounds marked, rounds left to merge (and the end), and
#: the states and arcs written.
MARKED, LEFT, STATES, ARCS = 0, 1, 2, 3

#: Odd constants with well-mixed bits, for hashing.
MIX_A, MIX_B, MIX_C = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
)


def compact(model: Model, pause: Pause | None = None) -> Diagram | None:
    """Return the minimal diagram of a model; None if no schedule is feasible.

    A rest curve that has flattened, a season that has wrapped and arms with equal curves all
    collapse here; states no schedule can reach, or none can leave, are dropped.

    Examples
    --------
    >>> twice = Diagram.of(offset=[0, 2, 4], idle=[2, 3, -1, -1], pull=[3, 2, -1, -1],
    ...                    pay=[0.5, 0.5, 0.0, 0.0], final=[0.0, 0.0], root=[0, 1])
    >>> len(compact(Model(twice, np.arange(2))).idle)
    2
    """
    diagram = model.arms if model.shared is None else model.shared.beside(model.arms)
    return minimal(diagram, pause)


def minimal(diagram: Diagram, pause: Pause | None = None) -> Diagram | None:
    """Return an equal diagram without needless states; None if some machine cannot reach the end.

    Arcs that lead to -1 do not exist. The states of a round may come in several ranges, ``lo`` and
    ``hi`` then having a row for each. Examples are those of :func:`compact`.
    """
    return _merged(diagram, Fixing(diagram.gain, _FREE, _NOTHING, _NOTHING), -np.inf, pause)


def fixed(
    diagram: Diagram, cost: FloatArray, worth: FloatArray, slack: float, pause: Pause | None
) -> Diagram | None:
    """Return the minimal diagram without the arcs that only hopeless paths take.

    Those are the ones that fall short of their machine's best by ``-slack`` or more, where an arc
    costs what is said by round and label (one column: whatever the label), and every state's
    cost-to-go is ``worth``.
    """
    m = diagram._replace(idle=diagram.idle.copy(), nxt=diagram.nxt.copy())
    return _merged(m, Fixing(m.gain, cost, worth, np.empty(len(m.idle))), slack, pause)


def _merged(diagram: Diagram, fixing: Fixing, slack: float, pause: Pause | None) -> Diagram | None:
    """Return the minimal diagram of what is left of these, which are changed if arcs go."""
    n, n_arcs, d = len(diagram.idle), len(diagram.nxt), diagram.length
    lo, hi = diagram.lo.reshape(-1, d + 1), diagram.hi.reshape(-1, d + 1)
    # Pays are handed over as their bits, which can be hashed.
    old = diagram._replace(
        lo=lo,
        hi=hi,
        gain=diagram.gain.view(np.uint64),
        final=diagram.final.view(np.uint64),
    )
    new = Diagram(
        lo=np.empty(d + 1, np.int64),
        hi=np.empty(d + 1, np.int64),
        idle=np.empty(n, np.int32),
        arc=np.empty(n + 1, np.int64),
        nxt=np.empty(n_arcs, np.int32),
        gain=np.empty(n_arcs, np.uint64),
        label=np.empty(n_arcs, np.int32),
        final=np.empty(len(diagram.final), np.uint64),
        root=diagram.root,
    )
    size = 1 << int(2 * len(lo) * np.maximum.reduce(hi - lo, axis=None)).bit_length()
    book = Book(np.zeros(n, np.bool_), np.empty(n, np.int32), np.empty(size, np.int32))
    cursor = np.array([0, d + 1, 0, 0])
    while not merge_states(slack, SLICE, cursor, old, new, book, fixing):
        if pause is not None:
            pause()
    root = book.label[diagram.root]
    if np.minimum.reduce(root) < 0:
        return None
    _, _, count, arcs = cursor.tolist()
    return Diagram(
        lo=new.lo,
        hi=new.hi,
        idle=new.idle[:count],
        arc=new.arc[: count + 1],
        nxt=new.nxt[:arcs],
        gain=new.gain[:arcs].view(np.float64),
        label=new.label[:arcs],
        final=new.final[: new.hi[d]].view(np.float64),
        root=root,
    )


class Book(NamedTuple):
    """What merging notes down: states some root reaches, each one's class, and a hash table."""

    seen: BoolArray
    label: StateArray
    table: StateArray


class Fixing(NamedTuple):
    """What tells hopeless arcs: their pays, their cost by round and label, and the cost-to-go.

    ``reached[s]`` becomes the best way into a state, relative to the best path of the machine it
    belongs to (the largest over the diagram that share it). Without prices no arc is fixing.
    """

    gain: FloatArray
    cost: FloatArray
    worth: FloatArray
    reached: FloatArray


_NOTHING, _FREE = np.empty(0), np.empty((0, 1))


@jit
def merge_states(
    slack: float,
    budget: int,
    cursor: IntArray,
    old: Diagram,
    new: Diagram,
    book: Book,
    fixing: Fixing,
) -> bool:
    """Write the minimal diagram into ``new``; return whether that is done within ``budget``.

    First the states some path from a root visits are marked as seen, and hopeless arcs are set to
    -1. Then, from the last round backwards, each of them is written down in terms of the classes it
    leads to and looked up in a hash table, whose hits are compared in full. Its label becomes its
    class, -1 for dead ends. ``old`` has a row of ranges for every part of its states.
    """
    d = old.lo.shape[1] - 1
    if cursor[MARKED] == 0:
        new.arc[0] = 0
        for place in range(len(book.table)):
            book.table[place] = -1
        for s in old.root:
            book.seen[s] = True
            if len(fixing.cost) > 0:
                fixing.reached[s] = -fixing.worth[s]
    while cursor[MARKED] < d:
        if budget <= 0:
            return False
        budget -= mark(old, book.seen, fixing, slack, cursor[MARKED])
        cursor[MARKED] += 1
    while cursor[LEFT] > 0:
        if budget <= 0:
            return False
        cursor[LEFT] -= 1
        budget -= merge_layer(old, new, book, cursor, cursor[LEFT])
    return True


@jit(inner=True)
def mark(old: Diagram, seen: BoolArray, fixing: Fixing, slack: float, t: int) -> int:
    """Mark what the marked states of round ``t`` lead to by arcs that are not fixing.

    Return how many states were looked at.
    """
    looked, alike = 0, fixing.cost.shape[1] == 1
    cost = fixing.cost[t, 0] if len(fixing.cost) > 0 else 0.0
    for part in range(len(old.lo)):
        for s in range(old.lo[part, t], old.hi[part, t]):
            if not seen[s]:
                continue
            if not leads_on(old.idle[s], fixing, seen, slack, s, 0.0):
                old.idle[s] = -1
            for a in range(old.arc[s], old.arc[s + 1]):
                if not alike:
                    cost = fixing.cost[t, old.label[a]]
                if not leads_on(old.nxt[a], fixing, seen, slack, s, fixing.gain[a] - cost):
                    old.nxt[a] = -1
        looked += old.hi[part, t] - old.lo[part, t]
    return looked


@jit(inner=True)
def leads_on(
    after: np.int32, fixing: Fixing, seen: BoolArray, slack: float, s: int, earned: float
) -> bool:
    """Mark the state ``after`` as seen from ``s``; return whether it exists and is not fixing."""
    if after < 0:
        return False
    if len(fixing.cost) > 0:
        way = fixing.reached[s] + earned
        if way + fixing.worth[after] <= slack:
            return False
        if not seen[after] or way > fixing.reached[after]:
            fixing.reached[after] = way
    seen[after] = True
    return True


@jit(inner=True)
def merge_layer(old: Diagram, new: Diagram, book: Book, cursor: IntArray, t: int) -> int:
    """Write the classes of round ``t``; return how many states were looked at."""
    d = old.lo.shape[1] - 1
    mask = len(book.table) - 1
    begin = cursor[STATES]
    new.lo[t] = begin
    rank = 0  # of the state in its round
    for part in range(len(old.lo)):
        for s in range(old.lo[part, t], old.hi[part, t]):
            rank += 1
            if not book.seen[s]:
                continue
            # Write the state down as class `count`; it counts only if it turns out to be new.
            count, arcs = cursor[STATES], cursor[ARCS]
            end = arcs
            new.idle[count] = -1
            if t == d:
                new.final[count] = old.final[rank - 1]
                key = new.final[count] * MIX_A
            else:
                end, key = write_down(old, new, book.label, s, count, arcs)
                if new.idle[count] < 0 and end == arcs:
                    book.label[s] = -1
                    continue
            key = (key ^ (key >> np.uint64(32))) * MIX_A
            place = whole(key >> np.uint64(24)) & mask
            # What an earlier (later in time) round left in the table is as good as nothing.
            known = book.table[place]
            while known >= begin:
                if same_class(new, known, count, arcs, end, t == d):
                    break
                place = (place + 1) & mask
                known = book.table[place]
            if known < begin:
                book.table[place] = known = count
                cursor[STATES], cursor[ARCS] = count + 1, end
                new.arc[count + 1] = end
            book.label[s] = known
    new.hi[t] = cursor[STATES]
    return rank


@jit(inline=True)
def write_down(
    old: Diagram, new: Diagram, label: StateArray, s: int, count: int, arcs: int
) -> tuple[int, np.uint64]:
    """Write state ``s`` as class ``count``; return where its arcs end, and its key."""
    rest = old.idle[s]
    if rest >= 0:
        rest = label[rest]
        new.idle[count] = rest
    key = np.uint64(rest + 1) * MIX_B
    for a in range(old.arc[s], old.arc[s + 1]):
        goal = old.nxt[a]
        if goal >= 0:
            goal = label[goal]
        if goal < 0:
            continue
        gain, said = old.gain[a], old.label[a]
        new.nxt[arcs], new.gain[arcs], new.label[arcs] = goal, gain, said
        key ^= gain * MIX_A + np.uint64(goal + 1) * MIX_C
        key = (key ^ (key >> np.uint64(29))) * MIX_B + np.uint64(said)
        arcs += 1
    return arcs, key


@jit(inline=True)
def same_class(new: Diagram, c: int, count: int, arcs: int, end: int, last: bool) -> bool:
    """Tell whether class ``c`` is what is written down as ``count``, its arcs ``arcs .. end``."""
    if last:
        return bool(new.final[c] == new.final[count])
    x = new.arc[c]
    if new.idle[c] != new.idle[count] or new.arc[c + 1] - x != end - arcs:
        return False
    for y in range(arcs, end):
        if new.nxt[x] != new.nxt[y] or new.gain[x] != new.gain[y] or new.label[x] != new.label[y]:
            return False
        x += 1
    return True
