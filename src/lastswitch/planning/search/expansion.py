"""How one node of the beam is expanded where machines share automata."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import ONE, index, jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import KeyArray
from lastswitch.planning.diagrams.sharing import Sharing
from lastswitch.planning.search.selection import CUT, DROPPED, FLOOR, Candidates, keep_best

#: The entry of the ledger after those of :mod:`~lastswitch.planning.search.selection` that says
#: what rounding may do, and the entry of the cursor for the places of the table in use.
BLUR, PLACES = 5, 4
#: Places of the table to begin a round with.
FEW_PLACES = 256


class Completion(NamedTuple):
    """What a beam is led by: costs-to-go, prices ahead, a key per state, which arms are alike.

    ``owner[x]`` is the machine that automaton ``x`` is part of, -1 if it is alone.
    """

    worth: FloatArray
    ahead: FloatArray
    keys: KeyArray
    alike: IntArray
    owner: IntArray


class Nodes(NamedTuple):
    """The nodes of this round and the next: states, value and bound."""

    states: StateArray
    value: FloatArray
    bound: FloatArray


class Backpointers(NamedTuple):
    """How each node of each round came about: from which node, by which arcs of which machines."""

    parent: StateArray
    taken: StateArray
    place: StateArray


class Scratch(NamedTuple):
    """Room for one expansion.

    By machine: what those before it lose by idling, and how many of them may not. By how many
    machines have moved: what that loses, which moved last, by which arc, value, cost-to-go and key
    of what it leaves, the arms played, and the events so far. Then the events of a candidate, two
    nodes to compare, and bounds.
    """

    before: FloatArray
    must: IntArray
    loss: FloatArray
    at: IntArray
    chosen: StateArray
    value: FloatArray
    rest: FloatArray
    key: KeyArray
    plays: IntArray
    events: IntArray
    event: IntArray
    pair: StateArray
    bounds: FloatArray


def room_for(n: int, automata: int, depth: int, room: int) -> Scratch:
    """Return the room to expand nodes of so many machines, automata, moves and candidates."""
    return Scratch(
        before=np.empty(n + 1),
        must=np.empty(n + 1, np.int64),
        loss=np.empty(depth + 1),
        at=np.empty(depth + 1, np.int64),
        chosen=np.empty(depth, np.int32),
        value=np.empty(depth + 1),
        rest=np.empty(depth + 1),
        key=np.empty(depth + 1, np.uint64),
        plays=np.zeros(depth + 1, np.int64),
        events=np.zeros((depth + 1, automata), np.int64),
        event=np.zeros(automata, np.int64),
        pair=np.empty((2, n), np.int32),
        bounds=np.empty(room),
    )


@jit(inline=True)
def expand(
    m: Diagram,
    h: Sharing,
    completion: Completion,
    nodes: Nodes,
    found: Candidates,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    t: int,
    p: int,
    count: int,
    width: int,
) -> tuple[int, int]:
    """Add the children of node ``p`` to the candidates; return how many these are, and the work.

    Machines are looked at in order; on each level of the search one more moves.
    """
    state, alike, worth = nodes.states[t % 2, p], completion.alike, completion.worth
    n, depth, work = h.n_arms, len(scratch.chosen), len(state)
    before, must, loss, at = scratch.before, scratch.must, scratch.loss, scratch.at
    most, floor = nodes.bound[t % 2, p], ledger[FLOOR]
    total = all_idle(m, h, completion, scratch, state, nodes.value[t % 2, p], t)
    total = (total if total < most else most) + ledger[BLUR]
    level, i, arc, fits = 0, 0, whole(-1), h.least == 0
    while level >= 0:
        if fits:
            count = offer(
                m,
                h,
                completion,
                nodes,
                found,
                scratch,
                cursor,
                ledger,
                state,
                most,
                t,
                p,
                level,
                count,
                width,
            )
            fits = False
        work += 1
        # `at`: the machine that moved last, and where the level above stands.
        first, moved, lost = at[level] + 1, False, 0.0
        before_first, must_first = before[first], must[first]
        room = h.most - scratch.plays[level]
        while i < n and level < depth:
            # Those skipped on this level idle; one that may not ends the level.
            if must[i] > must_first:
                break
            lost = loss[level] + before[i] - before_first
            left = total - lost
            if left <= floor:
                break
            if left <= ledger[CUT]:
                if left > ledger[DROPPED]:
                    ledger[DROPPED] = left
                break
            s = state[i]
            end = m.arc[s + 1]
            if arc < 0:
                arc = m.arc[s]
                if i > first and alike[i] == alike[i - 1] and state[i - 1] == s:
                    arc = end  # its symmetric arm in this state has these children
            while arc < end and h.plays[m.label[arc]] > room:
                arc += 1
            if arc < end:
                moved = True
                break
            i, arc = i + 1, whole(-1)
        if not moved:
            if level > 0:  # go on, on the level above, behind what it took
                i, arc = at[level], whole(scratch.chosen[level - 1]) + 1
            level -= 1
            continue
        move(m, h, completion, scratch, t, level, state[i], arc)
        loss[level + 1] = lost + worth[state[i]] - loss[level + 1]
        level += 1
        at[level] = i
        i, arc = i + 1, whole(-1)
        work += len(h.first)
        # All others idle: what that leaves at the prices is no less than what automata leave.
        left = total - loss[level] - before[n] + before[i]
        fits = scratch.plays[level] >= h.least and left > floor
    return count, work


@jit(inline=True)
def all_idle(
    m: Diagram,
    h: Sharing,
    completion: Completion,
    scratch: Scratch,
    state: StateArray,
    value: float,
    t: int,
) -> float:
    """Note what all machines idling loses and leaves; return a bound on all children of a node."""
    worth, before, must = completion.worth, scratch.before, scratch.must
    rest, key, lost, forced = 0.0, np.uint64(0), 0.0, 0
    total: float = value + completion.ahead[t]
    before[0], must[0] = 0.0, 0
    for i in range(len(state)):
        s = index(state[i])
        after, here = m.idle[s], worth[s]
        total += here
        if i >= h.n_arms:
            continue
        if after < 0:
            forced += 1
        else:
            left = worth[index(after)]
            lost += here - left
            rest += left
            key += completion.keys[index(after)]
        before[i + 1], must[i + 1] = lost, forced
    scratch.loss[0], scratch.at[0] = 0.0, -1
    scratch.value[0], scratch.rest[0], scratch.key[0] = value, rest + completion.ahead[t + 1], key
    return total


@jit(inline=True)
def move(
    m: Diagram,
    h: Sharing,
    completion: Completion,
    scratch: Scratch,
    t: int,
    level: int,
    state: np.int32,
    arc: int,
) -> None:
    """Move one machine more than on ``level``; its loss on the next is what it leaves, priced."""
    worth, keys, up = completion.worth, completion.keys, level + 1
    here, taken = index(state), index(arc)
    idle, after, label = m.idle[here], index(m.nxt[taken]), index(m.label[taken])
    back, unkey = 0.0, np.uint64(0)
    if idle >= 0:
        back, unkey = worth[index(idle)], keys[index(idle)]
    gain, left = m.gain[taken], worth[after]
    scratch.chosen[level] = arc
    scratch.value[up] = scratch.value[level] + gain
    scratch.rest[up] = scratch.rest[level] + (left - back)
    scratch.key[up] = scratch.key[level] - unkey + keys[after]
    scratch.plays[up] = scratch.plays[level] + h.plays[label]
    scratch.loss[up] = gain - h.cost[t, label] + left
    for x in range(len(h.first)):
        scratch.events[up, x] = scratch.events[level, x] + h.heard[label, x]


@jit(inner=True)
def heard_arc(m: Diagram, h: Sharing, s: int, x: int, event: int) -> np.int64:
    """Return by which arc an automaton alone hears an event: -1 by idling, -2 not at all."""
    label, here = h.first[x] + event, index(s)
    if event == 0 and m.idle[here] >= 0:
        return np.int64(-1)
    for a in range(index(m.arc[here]), index(m.arc[here + ONE])):
        if m.label[a] == label:
            return np.int64(a)
    return np.int64(-2)


@jit(inline=True)
def offer(
    m: Diagram,
    h: Sharing,
    completion: Completion,
    nodes: Nodes,
    found: Candidates,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    state: StateArray,
    most: float,
    t: int,
    p: int,
    level: int,
    count: int,
    width: int,
) -> int:
    """Make the moves being tried a candidate if they may be one; return how many there are."""
    n, at, depth = h.n_arms, scratch.at, len(scratch.chosen)
    if scratch.must[n] > scratch.must[at[level] + 1]:
        return count  # someone behind must move too
    for x in range(len(h.first)):  # automata inside machines need what is heard
        if completion.owner[x] >= 0:
            need = whole(0)
            for moved in range(1, level + 1):
                if at[moved] == completion.owner[x]:
                    need = h.need[m.label[scratch.chosen[moved - 1]], x]
            if need != scratch.events[level, x]:
                return count
    value = scratch.value[level] + (h.most - scratch.plays[level]) * h.silence
    rest, key = scratch.rest[level], scratch.key[level]
    for k in range(len(h.alone)):
        s, x = state[n + k], h.alone[k]
        arc = heard_arc(m, h, s, x, scratch.events[level, x])
        if arc < -1:
            return count
        after = m.idle[index(s)]
        if arc >= 0:
            after = m.nxt[index(arc)]
            value += m.gain[index(arc)]
        rest += completion.worth[index(after)]
        key += completion.keys[index(after)]
    bound = value + rest
    bound = bound if bound < most else most
    if bound <= ledger[FLOOR]:
        return count
    if count == len(found.value) and bound > ledger[CUT]:
        count = keep_best(count, width, cursor[PLACES], found, scratch.bounds, ledger)
    if bound <= ledger[CUT]:
        if bound > ledger[DROPPED]:
            ledger[DROPPED] = bound
        return count
    c = count  # written behind the others; it stays there only if it is new
    found.parent[c], found.key[c] = p, key
    for x in range(depth):
        found.taken[c * depth + x] = scratch.chosen[x] if x < level else -1
        found.place[c * depth + x] = at[x + 1] if x < level else -1
    if 3 * count > cursor[PLACES] and cursor[PLACES] < len(found.table):
        cursor[PLACES] = place_anew(found, count, 8 * cursor[PLACES])
    mask = cursor[PLACES] - 1
    q = whole(key >> np.uint64(20)) & mask
    while found.table[q] >= 0:
        old = found.table[q]
        if found.key[old] == key and same(m, h, completion.alike, nodes, found, scratch, t, old, c):
            if value > found.value[old]:
                found.parent[old], found.value[old], found.bound[old] = p, value, bound
                for x in range(depth):
                    found.taken[old * depth + x] = found.taken[c * depth + x]
                    found.place[old * depth + x] = found.place[c * depth + x]
            return count
        q = (q + 1) & mask
    found.table[q] = c
    found.value[c], found.bound[c] = value, bound
    return count + 1


@jit(inner=True)
def same(
    m: Diagram,
    h: Sharing,
    alike: IntArray,
    nodes: Nodes,
    found: Candidates,
    scratch: Scratch,
    t: int,
    one: int,
    other: int,
) -> bool:
    """Tell whether two candidates leave all machines in equal states."""
    for x in range(2):
        c = one if x == 0 else other
        here = nodes.states[t % 2, found.parent[c]]
        child_states(m, h, alike, here, found, c, scratch.event, scratch.pair[x])
    equal = True
    for i in range(scratch.pair.shape[1]):
        equal &= scratch.pair[0, i] == scratch.pair[1, i]
    return equal


@jit(inner=True)
def child_states(
    m: Diagram,
    h: Sharing,
    alike: IntArray,
    states: StateArray,
    found: Candidates,
    c: int,
    event: IntArray,
    out: StateArray,
) -> None:
    """Write the states that candidate ``c`` leads to; those of symmetric arms are sorted."""
    n, x, depth = len(alike), whole(0), len(found.taken) // len(found.value)
    move = c * depth
    for k in range(len(event)):
        event[k] = 0
    for i in range(n):
        if x < depth and found.place[move + x] == i:
            arc = found.taken[move + x]
            s = m.nxt[arc]
            for k in range(len(event)):
                event[k] += h.heard[m.label[arc], k]
            x += 1
        else:
            s = m.idle[states[i]]
        j = i
        while j > 0 and alike[j - 1] == alike[i] and out[j - 1] > s:
            out[j] = out[j - 1]
            j -= 1
        out[j] = s
    for k in range(len(h.alone)):
        arc = heard_arc(m, h, states[n + k], h.alone[k], event[h.alone[k]])
        out[n + k] = m.idle[states[n + k]] if arc < 0 else m.nxt[arc]


@jit(inner=True)
def place_anew(found: Candidates, count: int, places: int) -> int:
    """Put the candidates into a table of ``places`` places, or of all there are."""
    if places > len(found.table):
        places = whole(len(found.table))
    mask = places - 1
    for q in range(places):
        found.table[q] = -1
    for j in range(count):
        spot = whole(found.key[j] >> np.uint64(20)) & mask
        while found.table[spot] >= 0:
            spot = (spot + 1) & mask
        found.table[spot] = j
    return places
