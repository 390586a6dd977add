"""The form the certified solver works on: minimal automata with any number of pull arcs.

A *machine* is one arm, or several arms taken together (their product, in which no two of them
take the same slot). All machines share one numbering of states, slot by slot from the last to the
first, in which no two states have the same future.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit
from lastswitch.planning._tables import BoolArray, FloatArray, IntArray
from lastswitch.planning.automata import Automata, StateArray

KeyArray = NDArray[np.uint64]

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


def compact(automata: Automata) -> Machines | None:
    """Return the minimal machines of some automata; None if no block is feasible.

    A rest curve that has flattened, a season that has wrapped and arms with equal curves all
    collapse here; states no block can reach, or no block can leave, are dropped.

    Examples
    --------
    >>> twice = Automata(offset=[0, 2, 4], idle=[2, 3, -1, -1], pull=[3, 2, -1, -1],
    ...                  pay=[0.5, 0.5, 0.0, 0.0], final=[0.0, 0.0], root=[0, 1])
    >>> len(compact(twice).idle)
    2
    """
    return minimal(as_machines(automata))


def as_machines(automata: Automata) -> Machines:
    """Return the automata as machines, state by state: states alike and dead ends included.

    Prices and beams do not know arcs that lead to -1: they take these only if there are none.

    Examples
    --------
    >>> arm = Automata(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                final=[0.0], root=[0])
    >>> as_machines(arm).length
    1
    """
    a = automata
    n = len(a.idle)
    return Machines(
        lo=a.offset[:-1],
        hi=a.offset[1:],
        idle=a.idle,
        arc=np.arange(n + 1),
        nxt=a.pull,
        gain=a.pay + 0.0,  # -0.0 becomes 0.0: equal pays, equal bits
        who=np.zeros(n, np.int32),
        final=a.final + 0.0,
        root=a.root,
    )


def minimal(machines: Machines) -> Machines | None:
    """Return equal machines without needless states; None if some machine cannot reach the end.

    Arcs that lead to -1 do not exist. The states of a slot may come in several ranges, ``lo`` and
    ``hi`` then having a row for each. Examples are those of :func:`compact`.
    """
    m = machines
    n, n_arcs, d = len(m.idle), len(m.nxt), m.length
    old_lo, old_hi = m.lo.reshape(-1, d + 1), m.hi.reshape(-1, d + 1)
    seen = np.zeros(n, np.bool_)
    label = np.full(n, -1, np.int32)
    size = 1 << int(2 * len(old_lo) * (old_hi - old_lo).max()).bit_length()
    table = np.full(size, -1, np.int32)
    lo, hi = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    idle, arc = np.empty(n, np.int32), np.zeros(n + 1, np.int64)
    nxt, who = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    gain, final = np.empty(n_arcs), np.empty(len(m.final))
    bits, ends = m.gain.view(np.uint64), m.final.view(np.uint64)
    count, arcs = merge_states(
        *(old_lo, old_hi, m.idle, m.arc, m.nxt, bits, m.who, ends, m.root, seen, label, table),
        *(lo, hi, idle, arc, nxt, gain.view(np.uint64), who, final.view(np.uint64)),
    )
    root = label[m.root]
    if root.min() < 0:
        return None
    return Machines(
        lo=lo,
        hi=hi,
        idle=idle[:count],
        arc=arc[: count + 1],
        nxt=nxt[:arcs],
        gain=gain[:arcs],
        who=who[:arcs],
        final=final[: hi[d]],
        root=root,
    )


@jit
def merge_states(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: KeyArray,
    who: StateArray,
    final: KeyArray,
    root: StateArray,
    seen: BoolArray,
    label: StateArray,
    table: StateArray,
    new_lo: IntArray,
    new_hi: IntArray,
    new_idle: StateArray,
    new_arc: IntArray,
    new_nxt: StateArray,
    new_gain: KeyArray,
    new_who: StateArray,
    new_final: KeyArray,
) -> tuple[int, int]:
    """Write the minimal machines into the ``new`` arrays; return how many states and arcs.

    First the states some path from a root visits are marked in ``seen``. Then, from the last slot
    backwards, each of them is written down in terms of the classes it leads to
    and looked up in a hash table, whose hits are compared in full. ``label`` becomes the class of
    each old state, -1 for states that are unreachable or dead ends. Pays are compared by their
    bits.
    """
    d = lo.shape[1] - 1
    for s in root:
        seen[s] = True
    for t in range(d):
        for part in range(len(lo)):
            for s in range(lo[part, t], hi[part, t]):
                if seen[s]:
                    if idle[s] >= 0:
                        seen[idle[s]] = True
                    for a in range(arc[s], arc[s + 1]):
                        if nxt[a] >= 0:
                            seen[nxt[a]] = True
    mask = len(table) - 1
    count, arcs = 0, 0
    for t in range(d, -1, -1):
        begin = count
        new_lo[t] = begin
        rank = 0  # of the state in its slot
        for part in range(len(lo)):
            for s in range(lo[part, t], hi[part, t]):
                rank += 1
                if not seen[s]:
                    continue
                # Write the state down as class `count`; it counts only if it turns out to be new.
                end = arcs
                after = np.int32(-1)
                if t == d:
                    new_final[count] = final[rank - 1]
                    key = final[rank - 1] * MIX_A
                else:
                    if idle[s] >= 0:
                        after = label[idle[s]]
                    key = np.uint64(after + 1) * MIX_B
                    for a in range(arc[s], arc[s + 1]):
                        goal = label[nxt[a]] if nxt[a] >= 0 else np.int32(-1)
                        if goal < 0:
                            continue
                        new_nxt[end], new_gain[end], new_who[end] = goal, gain[a], who[a]
                        key ^= gain[a] * MIX_A + np.uint64(goal + 1) * MIX_C
                        key = (key ^ (key >> np.uint64(29))) * MIX_B + np.uint64(who[a])
                        end += 1
                    if after < 0 and end == arcs:
                        continue
                new_idle[count] = after
                key = (key ^ (key >> np.uint64(32))) * MIX_A
                place = np.int64(key >> np.uint64(24)) & mask
                while True:
                    if table[place] < begin:  # empty, or left from a later slot
                        table[place] = count
                        label[s] = count
                        arcs = end
                        count += 1
                        new_arc[count] = arcs
                        break
                    c = table[place]
                    x, y = new_arc[c], arcs
                    same = new_idle[c] == after and new_arc[c + 1] - x == end - arcs
                    if t == d:
                        same = new_final[c] == new_final[count]
                    while same and y < end:
                        same = new_nxt[x] == new_nxt[y] and new_gain[x] == new_gain[y]
                        same &= new_who[x] == new_who[y]
                        x, y = x + 1, y + 1
                    if same:
                        label[s] = c
                        break
                    place = (place + 1) & mask
        new_hi[t] = count
    return count, arcs
