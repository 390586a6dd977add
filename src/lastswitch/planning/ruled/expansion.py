"""How one node of the beam under rules is expanded, and which candidates go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._kernels import bare_inner
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import KeyArray, Machines
from lastswitch.planning.ruled.prices import Heard
from lastswitch.planning.selection import kth_largest

#: Entries of the ledger: best bound dropped for lack of width; bound a candidate has to beat to be
#: worth anything; bound it has to beat to be among the best of its round; what rounding may do.
DROPPED, FLOOR, CUT, BLUR = 0, 1, 2, 3


class Guide(NamedTuple):
    """What a beam is led by: the prices' potentials, a key per state, and which arms are alike."""

    worth: FloatArray
    memory: FloatArray
    cost: FloatArray
    price: FloatArray
    ahead: FloatArray
    keys: KeyArray
    twins: IntArray


class Nodes(NamedTuple):
    """The nodes of this round and the next in turn (first axis): states, value and bound."""

    states: StateArray
    value: FloatArray
    bound: FloatArray


class Found(NamedTuple):
    """Candidates for the next round, as nodes that are not written out yet; and by their hash."""

    value: FloatArray
    bound: FloatArray
    key: KeyArray
    parent: StateArray
    taken: StateArray
    place: StateArray
    table: StateArray


class Scratch(NamedTuple):
    """Room for one expansion: losses by arm, the set being tried, and two nodes to compare."""

    idle_loss: FloatArray
    before: FloatArray
    must: IntArray
    loss: FloatArray
    at: IntArray
    chosen: StateArray
    events: IntArray
    pair: StateArray
    bounds: FloatArray


@bare_inner
def expand(
    m: Machines,
    h: Heard,
    guide: Guide,
    nodes: Nodes,
    found: Found,
    scratch: Scratch,
    ledger: FloatArray,
    t: int,
    p: int,
    count: int,
    width: int,
) -> tuple[int, int]:
    """Add the children of node ``p`` to the candidates; return how many these are, and the work.

    Machines are looked at in order; on each level of the search one more is pulled. ``before[i]``
    is what the machines before ``i`` lose by idling, ``must[i]`` how many of them may not.
    """
    state, twins, worth = nodes.states[t % 2, p], guide.twins, guide.worth
    n, work = len(twins), len(state)
    before, must, loss, at = scratch.before, scratch.must, scratch.loss, scratch.at
    total = nodes.value[t % 2, p] + guide.ahead[t]
    before[0], must[0] = 0.0, 0
    for i in range(n):
        s = state[i]
        total += worth[s]
        before[i + 1], must[i + 1] = before[i], must[i]
        if m.idle[s] < 0:
            must[i + 1] += 1
        else:
            before[i + 1] += worth[s] - worth[m.idle[s]]
    for k in range(n, len(state)):
        total += guide.memory[state[k]]
    total = min(total, nodes.bound[t % 2, p]) + ledger[BLUR]
    level = 0
    loss[0], at[0] = 0.0, -1  # `at`: the machine last pulled, and where the level above stands
    if h.least == 0:
        count = offer(m, h, guide, nodes, found, scratch, ledger, t, p, level, count, width)
    cursor = 0
    while level >= 0:
        work += 1
        first, pulled, lost, s = at[level] + 1, -1, 0.0, state[0]
        while cursor < n and level < h.most:
            # Those skipped on this level idle; one that may not ends the level.
            if must[cursor] > must[first]:
                cursor = n
                break
            lost = loss[level] + before[cursor] - before[first]
            if total - lost <= max(ledger[FLOOR], ledger[CUT]):
                if total - lost > ledger[FLOOR] and total - lost > ledger[DROPPED]:
                    ledger[DROPPED] = total - lost
                cursor = n
                break
            s = state[cursor]
            alike = cursor > first and twins[cursor] == twins[cursor - 1]
            if m.arc[s] < m.arc[s + 1] and not (alike and state[cursor - 1] == s):
                pulled = cursor
                break
            cursor += 1
        if pulled < 0:
            cursor = at[level] + 1  # go on, on the level above, behind what it pulled
            level -= 1
            continue
        a = m.arc[s]
        gain = m.gain[a] - guide.cost[m.who[a], t] + worth[m.nxt[a]]
        scratch.chosen[level] = a
        for k in range(len(h.root)):
            scratch.events[level + 1, k] = scratch.events[level, k] + h.watch[m.who[a], k]
        level += 1
        loss[level] = lost + worth[s] - gain
        at[level] = pulled
        if level >= h.least:
            count = offer(m, h, guide, nodes, found, scratch, ledger, t, p, level, count, width)
        cursor = pulled + 1
        work += len(h.root)
    return count, work


@bare_inner
def offer(
    m: Machines,
    h: Heard,
    guide: Guide,
    nodes: Nodes,
    found: Found,
    scratch: Scratch,
    ledger: FloatArray,
    t: int,
    p: int,
    level: int,
    count: int,
    width: int,
) -> int:
    """Make the set of arms being tried a candidate if it may be one; return how many there are."""
    state, n = nodes.states[t % 2, p], len(guide.twins)
    at, chosen, worth, keys = scratch.at, scratch.chosen, guide.worth, guide.keys
    if scratch.must[n] > scratch.must[at[level] + 1]:
        return count  # someone behind must be pulled too
    value, rest, key = nodes.value[t % 2, p], guide.ahead[t + 1], np.uint64(0)
    value += (h.most - level) * h.silence
    j = 1
    for i in range(n):
        if j <= level and at[j] == i:
            a = chosen[j - 1]
            value += m.gain[a]
            after = m.nxt[a]
            j += 1
        else:
            after = m.idle[state[i]]
        rest += worth[after]
        key += keys[after]
    shift = len(m.idle)
    for k in range(len(h.root)):
        e = scratch.events[level, k]
        after = h.after[state[n + k], e]
        if after < 0:
            return count
        value += h.pay[state[n + k], e]
        rest += guide.memory[after]
        key += keys[shift + after]
    bound = min(value + rest, nodes.bound[t % 2, p])
    if bound <= ledger[FLOOR]:
        return count
    if bound <= ledger[CUT]:
        ledger[DROPPED] = max(ledger[DROPPED], bound)
        return count
    if count == len(found.value):
        count = keep_best(count, width, found, scratch.bounds, ledger, True)
        if bound <= ledger[CUT]:
            ledger[DROPPED] = max(ledger[DROPPED], bound)
            return count
    c = count  # written behind the others; it stays there only if it is new
    found.parent[c], found.key[c] = p, key
    for x in range(h.most):
        found.taken[c, x] = chosen[x] if x < level else -1
        found.place[c, x] = at[x + 1] if x < level else -1
    q = np.int64(key >> np.uint64(20)) & (len(found.table) - 1)
    while found.table[q] >= 0:
        old = found.table[q]
        if found.key[old] == key and same(m, h, guide.twins, nodes, found, scratch, t, old, c):
            if value <= found.value[old]:
                return count
            found.parent[old], found.value[old], found.bound[old] = p, value, bound
            copy_moves(found, c, old)
            return count
        q = (q + 1) & (len(found.table) - 1)
    found.table[q] = c
    found.value[c], found.bound[c] = value, bound
    return count + 1


@bare_inner
def copy_moves(found: Found, one: int, other: int) -> None:
    """Make the moves of candidate ``other`` those of ``one``."""
    for x in range(found.taken.shape[1]):
        found.taken[other, x], found.place[other, x] = found.taken[one, x], found.place[one, x]


@bare_inner
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


@bare_inner
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
            s = m.nxt[taken[x]]
            x += 1
        else:
            s = m.idle[states[i]]
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


@bare_inner
def keep_best(
    n: int, width: int, found: Found, bounds: FloatArray, ledger: FloatArray, again: bool
) -> int:
    """Keep the ``width`` candidates of largest bound and remember the best bound dropped.

    ``again``: more candidates will come, so that the table must know those that are left.
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
    if again:
        found.table[:] = -1
        mask = len(found.table) - 1
        for j in range(kept):
            q = np.int64(found.key[j] >> np.uint64(20)) & mask
            while found.table[q] >= 0:
                q = (q + 1) & mask
            found.table[q] = j
    return kept
