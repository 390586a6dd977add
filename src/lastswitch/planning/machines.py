"""The form the certified solver works on: minimal automata with any number of pull arcs.

A *machine* is one arm, or several arms taken together (their product, in which no two of them
take the same slot). All machines share one numbering of states, slot by slot from the last to the
first, in which no two states have the same future.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import BoolArray, FloatArray, IntArray
from lastswitch._kernels import jit, whole
from lastswitch.planning.automata import Automata, StateArray

KeyArray = NDArray[np.uint64]
#: Called between two slices of long work; it ends the work by raising.
Pause = Callable[[], None]
#: States looked at between two pauses: some hundredths of a second.
SLICE = 500_000
#: Entries of the cursor of `merge_states`: slots marked, slots left to merge (and the end), and
#: the states and arcs written.
MARKED, LEFT, STATES, ARCS = 0, 1, 2, 3

#: Odd constants with well-mixed bits, for hashing.
MIX_A, MIX_B, MIX_C = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
)


class Machines(NamedTuple):
    """Every machine of a problem in one set of arrays.

    States of slot ``t`` are ``lo[t] .. hi[t] - 1``, slots in order or in reverse. State ``s`` idles
    to ``idle[s]`` (-1: it may not) or takes one of the arcs ``arc[s] .. arc[s+1] - 1``, which lead
    to ``nxt``, pay ``gain`` and pull the machine's member ``who``. A state of the last slot ``d``
    is worth ``final[s - lo[d]]``. ``root`` holds the first state of each machine.
    """

    lo: IntArray
    hi: IntArray
    idle: StateArray
    arc: IntArray
    nxt: StateArray
    gain: FloatArray
    who: StateArray
    final: FloatArray
    root: StateArray

    @property
    def length(self) -> int:
        """How many slots there are."""
        return int(self.lo.shape[-1]) - 1

    @property
    def size(self) -> int:
        """How many states and arcs there are."""
        return len(self.idle) + len(self.nxt)

    @property
    def most_arcs(self) -> int:
        """How many arcs a state has at most."""
        if self.arc.base is _NUMBERS:  # one each
            return 1
        return int(np.maximum.reduce(self.arc[1:] - self.arc[:-1]))

    def sources(self) -> StateArray:
        """Return the state that each arc leaves; nobody may change it."""
        states = numbered(len(self.idle))
        if self.arc.base is _NUMBERS:
            return states
        return states.repeat(self.arc[1:] - self.arc[:-1])


#: The first numbers, of which all that begin with 0 and count up are a part; and as many zeros.
_NUMBERS, _SHORT, _ZEROS = (
    np.arange(20_001),
    np.arange(20_000, dtype=np.int32),
    np.zeros(20_000, np.int32),
)


def numbered(n: int) -> StateArray:
    """Return the numbers of ``n`` states, which nobody may change.

    Examples
    --------
    >>> numbered(3)
    array([0, 1, 2], dtype=int32)
    """
    return _SHORT[:n] if n <= len(_SHORT) else np.arange(n, dtype=np.int32)


def compact(automata: Automata, pause: Pause | None = None) -> Machines | None:
    """Return the minimal machines of some automata; None if no block is feasible.

    A rest curve that has flattened, a season that has wrapped and arms with equal curves all
    collapse here; states no block can reach, or no block can leave, are dropped.

    Examples
    --------
    >>> twice = Automata.of(offset=[0, 2, 4], idle=[2, 3, -1, -1], pull=[3, 2, -1, -1],
    ...                     pay=[0.5, 0.5, 0.0, 0.0], final=[0.0, 0.0], root=[0, 1])
    >>> len(compact(twice).idle)
    2
    """
    return minimal(as_machines(automata), pause)


def as_machines(automata: Automata) -> Machines:
    """Return the automata as machines, state by state: states alike and dead ends included.

    Prices and beams do not know arcs that lead to -1: they take these only if there are none.

    Examples
    --------
    >>> arm = Automata.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                   final=[0.0], root=[0])
    >>> as_machines(arm).length
    1
    """
    a, n = automata, len(automata.idle)
    few = n <= len(_ZEROS)
    return Machines(
        lo=a.offset[:-1],
        hi=a.offset[1:],
        idle=a.idle,
        arc=_NUMBERS[: n + 1] if few else np.arange(n + 1),
        nxt=a.pull,
        gain=a.pay if len(a.facts) else a.pay + 0.0,  # -0.0 becomes 0.0: equal pays, equal bits
        who=_ZEROS[:n] if few else np.zeros(n, np.int32),
        final=a.final if len(a.facts) else a.final + 0.0,
        root=a.root,
    )


def minimal(machines: Machines, pause: Pause | None = None) -> Machines | None:
    """Return equal machines without needless states; None if some machine cannot reach the end.

    Arcs that lead to -1 do not exist. The states of a slot may come in several ranges, ``lo`` and
    ``hi`` then having a row for each. Examples are those of :func:`compact`.
    """
    return _merged(machines, Hopeless(machines.gain, _NOTHING, _NOTHING, _NOTHING), -np.inf, pause)


def hopeful(
    machines: Machines, price: FloatArray, worth: FloatArray, slack: float, pause: Pause | None
) -> Machines | None:
    """Return the minimal machines without the arcs that only hopeless paths take.

    Those are the ones that fall short of their machine's best by ``-slack`` or more, at prices
    that every state is worth so much at.
    """
    m = machines._replace(idle=machines.idle.copy(), nxt=machines.nxt.copy())
    return _merged(m, Hopeless(m.gain, price, worth, np.empty(len(m.idle))), slack, pause)


def _merged(
    machines: Machines, hopeless: Hopeless, slack: float, pause: Pause | None
) -> Machines | None:
    """Return the minimal machines of what is left of these, which are changed if arcs go."""
    n, n_arcs, d = len(machines.idle), len(machines.nxt), machines.length
    lo, hi = machines.lo.reshape(-1, d + 1), machines.hi.reshape(-1, d + 1)
    # Pays are handed over as their bits, which can be hashed.
    old = machines._replace(
        lo=lo,
        hi=hi,
        gain=machines.gain.view(np.uint64),
        final=machines.final.view(np.uint64),
    )
    new = Machines(
        lo=np.empty(d + 1, np.int64),
        hi=np.empty(d + 1, np.int64),
        idle=np.empty(n, np.int32),
        arc=np.empty(n + 1, np.int64),
        nxt=np.empty(n_arcs, np.int32),
        gain=np.empty(n_arcs, np.uint64),
        who=np.empty(n_arcs, np.int32),
        final=np.empty(len(machines.final), np.uint64),
        root=machines.root,
    )
    size = 1 << int(2 * len(lo) * np.maximum.reduce(hi - lo, axis=None)).bit_length()
    book = Book(np.zeros(n, np.bool_), np.empty(n, np.int32), np.empty(size, np.int32))
    cursor = np.array([0, d + 1, 0, 0])
    while not merge_states(slack, SLICE, cursor, old, new, book, hopeless):
        if pause is not None:
            pause()
    root = book.label[machines.root]
    if np.minimum.reduce(root) < 0:
        return None
    _, _, count, arcs = cursor.tolist()
    return Machines(
        lo=new.lo,
        hi=new.hi,
        idle=new.idle[:count],
        arc=new.arc[: count + 1],
        nxt=new.nxt[:arcs],
        gain=new.gain[:arcs].view(np.float64),
        who=new.who[:arcs],
        final=new.final[: new.hi[d]].view(np.float64),
        root=root,
    )


class Book(NamedTuple):
    """What merging notes down: states some root reaches, each one's class, and a hash table."""

    seen: BoolArray
    label: StateArray
    table: StateArray


class Hopeless(NamedTuple):
    """What tells hopeless arcs: their pays, the prices by slot, and by state what it is worth.

    ``reached[s]`` becomes the best way into a state, relative to the best path of the machine it
    belongs to (the largest over the machines that share it). Without prices no arc is hopeless.
    """

    gain: FloatArray
    price: FloatArray
    worth: FloatArray
    reached: FloatArray


_NOTHING = np.empty(0)


@jit
def merge_states(
    slack: float,
    budget: int,
    cursor: IntArray,
    old: Machines,
    new: Machines,
    book: Book,
    hopeless: Hopeless,
) -> bool:
    """Write the minimal machines into ``new``; return whether that is done within ``budget``.

    First the states some path from a root visits are marked as seen, and hopeless arcs are set to
    -1. Then, from the last slot backwards, each of them is written down in terms of the classes it
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
            if len(hopeless.price) > 0:
                hopeless.reached[s] = -hopeless.worth[s]
    while cursor[MARKED] < d:
        if budget <= 0:
            return False
        budget -= mark(old, book.seen, hopeless, slack, cursor[MARKED])
        cursor[MARKED] += 1
    while cursor[LEFT] > 0:
        if budget <= 0:
            return False
        cursor[LEFT] -= 1
        budget -= merge_slot(old, new, book, cursor, cursor[LEFT])
    return True


@jit(inner=True)
def mark(old: Machines, seen: BoolArray, hopeless: Hopeless, slack: float, t: int) -> int:
    """Mark what the marked states of slot ``t`` lead to by arcs that are not hopeless.

    Return how many states were looked at.
    """
    looked, cost = 0, hopeless.price[t] if len(hopeless.price) > 0 else 0.0
    for part in range(len(old.lo)):
        for s in range(old.lo[part, t], old.hi[part, t]):
            if not seen[s]:
                continue
            if not leads_on(old.idle[s], hopeless, seen, slack, s, 0.0):
                old.idle[s] = -1
            for a in range(old.arc[s], old.arc[s + 1]):
                if not leads_on(old.nxt[a], hopeless, seen, slack, s, hopeless.gain[a] - cost):
                    old.nxt[a] = -1
        looked += old.hi[part, t] - old.lo[part, t]
    return looked


@jit(inner=True)
def leads_on(
    after: np.int32, hopeless: Hopeless, seen: BoolArray, slack: float, s: int, earned: float
) -> bool:
    """Mark the state ``after`` as seen from ``s``; return whether it exists and is not hopeless."""
    if after < 0:
        return False
    if len(hopeless.price) > 0:
        way = hopeless.reached[s] + earned
        if way + hopeless.worth[after] <= slack:
            return False
        if not seen[after] or way > hopeless.reached[after]:
            hopeless.reached[after] = way
    seen[after] = True
    return True


@jit(inner=True)
def merge_slot(old: Machines, new: Machines, book: Book, cursor: IntArray, t: int) -> int:
    """Write the classes of slot ``t``; return how many states were looked at."""
    d = old.lo.shape[1] - 1
    mask = len(book.table) - 1
    begin = cursor[STATES]
    new.lo[t] = begin
    rank = 0  # of the state in its slot
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
            # What an earlier (later in time) slot left in the table is as good as nothing.
            while book.table[place] >= begin:
                if same_class(new, book.table[place], count, arcs, end, t == d):
                    break
                place = (place + 1) & mask
            if book.table[place] < begin:
                book.table[place] = count
                cursor[STATES], cursor[ARCS] = count + 1, end
                new.arc[count + 1] = end
            book.label[s] = book.table[place]
    new.hi[t] = cursor[STATES]
    return rank


@jit(inline=True)
def write_down(
    old: Machines, new: Machines, label: StateArray, s: int, count: int, arcs: int
) -> tuple[int, np.uint64]:
    """Write state ``s`` as class ``count``; return where its arcs end, and its key."""
    if old.idle[s] >= 0:
        new.idle[count] = label[old.idle[s]]
    key = np.uint64(new.idle[count] + 1) * MIX_B
    for a in range(old.arc[s], old.arc[s + 1]):
        goal = label[old.nxt[a]] if old.nxt[a] >= 0 else np.int32(-1)
        if goal < 0:
            continue
        new.nxt[arcs], new.gain[arcs], new.who[arcs] = goal, old.gain[a], old.who[a]
        key ^= old.gain[a] * MIX_A + np.uint64(goal + 1) * MIX_C
        key = (key ^ (key >> np.uint64(29))) * MIX_B + np.uint64(old.who[a])
        arcs += 1
    return arcs, key


@jit(inline=True)
def same_class(new: Machines, c: int, count: int, arcs: int, end: int, last: bool) -> bool:
    """Tell whether class ``c`` is what is written down as ``count``, its arcs ``arcs .. end``."""
    if last:
        return bool(new.final[c] == new.final[count])
    x = new.arc[c]
    if new.idle[c] != new.idle[count] or new.arc[c + 1] - x != end - arcs:
        return False
    for y in range(arcs, end):
        if new.nxt[x] != new.nxt[y] or new.gain[x] != new.gain[y] or new.who[x] != new.who[y]:
            return False
        x += 1
    return True
