"""How one node of the beam under rules is expanded, and which candidates go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import ONE, index, jit, whole
from lastswitch.planning.automata import StateArray
from lastswitch.planning.beam_kernel import Nodes
from lastswitch.planning.machines import KeyArray, Machines
from lastswitch.planning.ruled.prices import Heard
from lastswitch.planning.selection import CUT, DROPPED, FLOOR, Found, kth_largest

#: The entry of the ledger after those of :mod:`~lastswitch.planning.selection` that says what
#: rounding may do, and the entry of the cursor that says how many places of the table are in use.
BLUR, PLACES = 3, 4
#: Places of the table to begin a round with.
FEW_PLACES = 256


class Guide(NamedTuple):
    """What a beam is led by: the prices' potentials, a key per state, and which arms are alike."""

    worth: FloatArray
    memory: FloatArray
    cost: FloatArray
    price: FloatArray
    ahead: FloatArray
    keys: KeyArray
    twins: IntArray


class Scratch(NamedTuple):
    """Room for one expansion.

    By machine: what those before it lose by idling, and how many of them may not. By how many
    machines are pulled: what that loses, which was pulled last, by which arc, value, worth and key
    of what it leaves, and what the monitors hear. Then two nodes to compare, and bounds.
    """

    before: FloatArray
    must: IntArray
    loss: FloatArray
    at: IntArray
    chosen: StateArray
    value: FloatArray
    rest: FloatArray
    key: KeyArray
    events: IntArray
    pair: StateArray
    bounds: FloatArray


def room_for(n: int, monitors: int, most: int, room: int) -> Scratch:
    """Return the room to expand nodes of so many machines and monitors, plays and candidates."""
    return Scratch(
        before=np.empty(n + 1),
        must=np.empty(n + 1, np.int64),
        loss=np.empty(most + 1),
        at=np.empty(most + 1, np.int64),
        chosen=np.empty(most, np.int32),
        value=np.empty(most + 1),
        rest=np.empty(most + 1),
        key=np.empty(most + 1, np.uint64),
        events=np.zeros((most + 1, monitors), np.int64),
        pair=np.empty((2, n + monitors), np.int32),
        bounds=np.empty(room),
    )


@jit(inline=True)
def expand(
    m: Machines,
    h: Heard,
    guide: Guide,
    nodes: Nodes,
    found: Found,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    t: int,
    p: int,
    count: int,
    width: int,
) -> tuple[int, int]:
    """Add the children of node ``p`` to the candidates; return how many these are, and the work.

    Machines are looked at in order; on each level of the search one more is pulled.
    """
    state, twins, worth = nodes.states[t % 2, p], guide.twins, guide.worth
    n, work = index(len(twins)), len(state)
    before, must, loss, at = scratch.before, scratch.must, scratch.loss, scratch.at
    total = all_idle(m, h, guide, nodes, scratch, t, p) + ledger[BLUR]
    level, i, fits = 0, index(0), h.least == 0
    while level >= 0:
        if fits:
            count = offer(
                m, h, guide, nodes, found, scratch, cursor, ledger, t, p, level, count, width
            )
            fits = False
        work += 1
        # `at`: the machine last pulled, and where the level above stands.
        first, pulled, lost = index(at[level] + 1), n, 0.0
        while i < n and level < h.most:
            # Those skipped on this level idle; one that may not ends the level.
            if must[i] > must[first]:
                i = n
                break
            lost = loss[level] + before[i] - before[first]
            if total - lost <= max(ledger[FLOOR], ledger[CUT]):
                if total - lost > ledger[FLOOR] and total - lost > ledger[DROPPED]:
                    ledger[DROPPED] = total - lost
                i = n
                break
            s = index(state[i])
            alike = i > first and twins[i] == twins[i - ONE]
            if m.arc[s] < m.arc[s + ONE] and not (alike and state[i - ONE] == state[i]):
                pulled = i
                break
            i += ONE
        if pulled == n:
            i = index(at[level] + 1)  # go on, on the level above, behind what it pulled
            level -= 1
            continue
        s = index(state[pulled])
        pull(m, h, guide, scratch, t, level, s)
        loss[level + 1] = lost + worth[s] - loss[level + 1]
        level += 1
        at[level] = whole(pulled)
        i = pulled + ONE
        work += len(h.root)
        # All others idle: what that leaves at the prices is no less than what monitors leave.
        left = total - loss[level] - before[n] + before[i]
        fits = level >= h.least and left > ledger[FLOOR]
    return count, work


@jit(inline=True)
def all_idle(
    m: Machines, h: Heard, guide: Guide, nodes: Nodes, scratch: Scratch, t: int, p: int
) -> float:
    """Note what all machines idling loses and leaves; return a bound on all children of a node."""
    state, worth, n = nodes.states[t % 2, p], guide.worth, len(guide.twins)
    before, must = scratch.before, scratch.must
    rest, key, value = 0.0, np.uint64(0), nodes.value[t % 2, p]
    total = value + guide.ahead[t]
    before[0], must[0] = 0.0, 0
    for i in range(n):
        s = index(state[i])
        after = m.idle[s]
        total += worth[s]
        before[i + 1], must[i + 1] = before[i], must[i]
        if after < 0:
            must[i + 1] += 1
        else:
            left = worth[index(after)]
            before[i + 1] += worth[s] - left
            rest += left
            key += guide.keys[index(after)]
    for k in range(n, len(state)):
        total += guide.memory[index(state[k])]
    scratch.loss[0], scratch.at[0] = 0.0, -1
    scratch.value[0], scratch.rest[0], scratch.key[0] = value, rest + guide.ahead[t + 1], key
    return float(min(total, nodes.bound[t % 2, p]))


@jit(inline=True)
def pull(
    m: Machines, h: Heard, guide: Guide, scratch: Scratch, t: int, level: int, state: np.uint64
) -> None:
    """Pull one machine more than on ``level``; its loss on the next is what it leaves, priced."""
    worth, keys, up = guide.worth, guide.keys, level + 1
    a, idle = index(m.arc[state]), m.idle[state]
    after, who = index(m.nxt[a]), index(m.who[a])
    back, unkey = 0.0, np.uint64(0)
    if idle >= 0:
        back, unkey = worth[index(idle)], keys[index(idle)]
    scratch.chosen[level] = whole(a)
    scratch.value[up] = scratch.value[level] + m.gain[a]
    scratch.rest[up] = scratch.rest[level] + (worth[after] - back)
    scratch.key[up] = scratch.key[level] - unkey + keys[after]
    scratch.loss[up] = m.gain[a] - guide.cost[t, who] + worth[after]
    for k in range(len(h.root)):
        scratch.events[up, k] = scratch.events[level, k] + h.watch[who, k]


@jit(inline=True)
def offer(
    m: Machines,
    h: Heard,
    guide: Guide,
    nodes: Nodes,
    found: Found,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    t: int,
    p: int,
    level: int,
    count: int,
    width: int,
) -> int:
    """Make the set of arms being tried a candidate if it may be one; return how many there are."""
    state, n, at = nodes.states[t % 2, p], len(guide.twins), scratch.at
    if scratch.must[n] > scratch.must[at[level] + 1]:
        return count  # someone behind must be pulled too
    value = scratch.value[level] + (h.most - level) * h.silence
    rest, key = scratch.rest[level], scratch.key[level]
    shift = len(m.idle)
    for k in range(len(h.root)):
        s, e = index(state[n + k]), index(scratch.events[level, k])
        after = h.after[s, e]
        if after < 0:
            return count
        value += h.pay[s, e]
        rest += guide.memory[after]
        key += guide.keys[shift + after]
    bound = min(value + rest, nodes.bound[t % 2, p])
    if bound <= ledger[FLOOR]:
        return count
    if bound <= ledger[CUT]:
        ledger[DROPPED] = max(ledger[DROPPED], bound)
        return count
    if count == len(found.value):
        count = keep_best(count, width, found, scratch.bounds, ledger)
        place_anew(found, count, cursor[PLACES])
        if bound <= ledger[CUT]:
            ledger[DROPPED] = max(ledger[DROPPED], bound)
            return count
    c = count  # written behind the others; it stays there only if it is new
    found.parent[c], found.key[c] = p, key
    for x in range(h.most):
        found.taken[c, x] = scratch.chosen[x] if x < level else -1
        found.place[c, x] = at[x + 1] if x < level else -1
    if 3 * count > cursor[PLACES] and cursor[PLACES] < len(found.table):
        cursor[PLACES] = place_anew(found, count, 8 * cursor[PLACES])
    mask = index(cursor[PLACES] - 1)
    q = (key >> np.uint64(20)) & mask
    while found.table[q] >= 0:
        old = found.table[q]
        if found.key[old] == key and same(m, h, guide.twins, nodes, found, scratch, t, old, c):
            if value > found.value[old]:
                found.parent[old], found.value[old], found.bound[old] = p, value, bound
                copy_moves(found, c, old)
            return count
        q = (q + ONE) & mask
    found.table[q] = c
    found.value[c], found.bound[c] = value, bound
    return count + 1


@jit(inner=True)
def copy_moves(found: Found, one: int, other: int) -> None:
    """Make the moves of candidate ``other`` those of ``one``."""
    for x in range(found.taken.shape[1]):
        found.taken[other, x], found.place[other, x] = found.taken[one, x], found.place[one, x]


@jit(inner=True)
def same(
    m: Machines,
    h: Heard,
    twins: IntArray,
    nodes: Nodes,
    found: Found,
    scratch: Scratch,
    t: int,
    one: int,
    other: int,
) -> bool:
    """Tell whether two candidates leave all arms and monitors in equal states."""
    for x in range(2):
        c = one if x == 0 else other
        here = nodes.states[t % 2, found.parent[c]]
        child_states(m, h, twins, here, found.place[c], found.taken[c], scratch.pair[x])
    equal = True
    for i in range(scratch.pair.shape[1]):
        equal &= scratch.pair[0, i] == scratch.pair[1, i]
    return equal


@jit(inner=True)
def child_states(
    m: Machines,
    h: Heard,
    twins: IntArray,
    states: StateArray,
    place: StateArray,
    taken: StateArray,
    out: StateArray,
) -> None:
    """Write the states after the arms at ``place`` took the arcs ``taken``; twins sorted."""
    n, x = len(twins), 0
    for i in range(n):
        if x < len(place) and place[x] == i:
            s = m.nxt[index(taken[x])]
            x += 1
        else:
            s = m.idle[index(states[i])]
        j = i
        while j > 0 and twins[j - 1] == twins[i] and out[j - 1] > s:
            out[j] = out[j - 1]
            j -= 1
        out[j] = s
    for k in range(len(h.root)):
        e = 0
        for x in range(len(place)):
            if place[x] >= 0:
                e += h.watch[m.who[taken[x]], k]
        out[n + k] = h.after[states[n + k], e]


@jit(inner=True)
def keep_best(n: int, width: int, found: Found, bounds: FloatArray, ledger: FloatArray) -> int:
    """Keep the ``width`` candidates of largest bound and remember the best bound dropped.

    The table does not know them any more.
    """
    for j in range(n):
        bounds[j] = found.bound[j]
    cut = kth_largest(bounds, n, width)
    ledger[CUT] = cut
    level = width  # how many candidates exactly at the cut may stay
    for j in range(n):
        if found.bound[j] > cut:
            level -= 1
    kept = 0
    for j in range(n):
        if found.bound[j] > cut or (found.bound[j] == cut and level > 0):
            if found.bound[j] == cut:
                level -= 1
            found.value[kept], found.bound[kept] = found.value[j], found.bound[j]
            found.key[kept], found.parent[kept] = found.key[j], found.parent[j]
            copy_moves(found, j, kept)
            kept += 1
        else:
            ledger[DROPPED] = max(ledger[DROPPED], found.bound[j])
    return kept


@jit(inner=True)
def place_anew(found: Found, count: int, places: int) -> int:
    """Put the candidates into a table of ``places`` places, or of all there are."""
    places = min(places, len(found.table))
    mask = index(places - 1)
    for q in range(places):
        found.table[q] = -1
    for j in range(count):
        spot = (found.key[j] >> np.uint64(20)) & mask
        while found.table[spot] >= 0:
            spot = (spot + ONE) & mask
        found.table[spot] = j
    return places
