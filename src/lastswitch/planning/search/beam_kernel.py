"""One pass of the beam, compiled: see :mod:`~lastswitch.planning.search.beam`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import ONE, index, jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import KeyArray
from lastswitch.planning.search.selection import (
    BEST,
    COMPARED,
    CUT,
    DROPPED,
    FLOOR,
    Candidates,
    keep_best,
)

#: Entries of the cursor: round (-1: begin), next node to expand (in the end the best one), nodes in
#: this round, candidates for the next, places of the hash table in use, how many children a node
#: may have, the work of expanding it, and the width.
ROUND, NODE, NODES, CANDIDATES, PLACES, CHILDREN, WORK, WIDTH = 0, 1, 2, 3, 4, 5, 6, 7


class Completion(NamedTuple):
    """What a beam is led by: worth and key by state, prices by round and ahead, who is alike."""

    worth: FloatArray
    price: FloatArray
    ahead: FloatArray
    keys: KeyArray
    alike: IntArray


class Nodes(NamedTuple):
    """The nodes of this round and the next, one after the other: states, value and bound.

    Nodes of even rounds are numbered from 0 on, those of odd ones from the width on.
    """

    states: StateArray
    value: FloatArray
    bound: FloatArray


class Backpointers(NamedTuple):
    """How each node of each round came about: from which node, by which arc, at which place.

    Slot by round, as many as the beam is wide.
    """

    parent: StateArray
    taken: StateArray
    place: StateArray


@jit
def advance(budget: int, *parts: Any) -> bool:
    """Run the beam until the end of the block (True) or until ``budget`` children (False).

    The ``parts`` are those of machines, a completion, nodes, ways and what is found, then scratch
    space for bounds and for a pair of nodes, the cursor and the ledger.
    """
    m, completion, nodes = Diagram(*parts[:9]), Completion(*parts[9:14]), Nodes(*parts[14:17])
    back, found = Backpointers(*parts[17:20]), Candidates(*parts[20:27])
    scratch, pair, cursor, ledger = parts[27:]
    d, width, room = len(completion.price), cursor[WIDTH], len(found.bound)
    t, node, n_nodes = cursor[ROUND], cursor[NODE], cursor[NODES]
    count, places, children = cursor[CANDIDATES], cursor[PLACES], cursor[CHILDREN]
    if t < 0:
        t, node, n_nodes, count = 0, 0, 1, 0
        completion.ahead[d] = 0.0
        for u in range(d, 0, -1):
            completion.ahead[u - 1] = completion.ahead[u] + completion.price[u - 1]
        for i in range(len(m.root)):
            nodes.states[i] = m.root[i]
        nodes.value[0] = 0.0
        nodes.bound[0] = np.inf
        ledger[DROPPED] = -np.inf
        ledger[CUT] = -np.inf
    while t < d:
        here, there = (t & 1) * width, (1 - (t & 1)) * width
        if node == 0:  # a table of twice the children this round may have, or all of it
            places = 1
            while places < 2 * children * n_nodes and places < len(found.table):
                places *= 2
            for q in range(places):
                found.table[q] = -1
        while True:
            over = node == n_nodes
            if count + children > room or (over and count > width):
                budget -= count
                count = keep_best(count, width, 0 if over else places, found, scratch, ledger)
            if over:
                break
            if budget <= 0:
                cursor[ROUND] = t
                cursor[NODE] = node
                cursor[NODES] = n_nodes
                cursor[CANDIDATES] = count
                cursor[PLACES] = places
                return False
            budget -= cursor[WORK]
            ledger[COMPARED] = 0.0
            p = here + node
            count = expand(m, completion, nodes, found, pair, ledger, t, p, count, places)
            budget -= whole(ledger[COMPARED])
            node += 1
        write_out(m, completion.alike, nodes, back, found, t * width, there, count)
        budget -= count * len(completion.alike)
        ledger[CUT] = -np.inf
        t, n_nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[ROUND] = t
    cursor[NODES] = n_nodes
    ledger[BEST] = -np.inf
    here = (d & 1) * width
    for node in range(here, here + n_nodes):
        total = nodes.value[node]
        for i in range(len(completion.alike)):
            total += completion.worth[nodes.states[node * len(completion.alike) + i]]
        if total > ledger[BEST]:
            ledger[BEST] = total
            cursor[NODE] = node
    return True


@jit(inline=True)
def expand(
    m: Diagram,
    completion: Completion,
    nodes: Nodes,
    found: Candidates,
    pair: StateArray,
    ledger: FloatArray,
    t: int,
    p: int,
    count: int,
    places: int,
) -> int:
    """Add the children of node ``p``, in round ``t``, to the candidates; return their number."""
    alike, worth, keys = completion.alike, completion.worth, completion.keys
    begin, earned, most = index(p * len(alike)), nodes.value[p], nodes.bound[p]
    # What all machines idling would leave; a machine that cannot idle is forced.
    rest, key, forced, n_forced = completion.ahead[t + 1], np.uint64(0), -1, 0
    for i in range(len(alike)):
        after = m.idle[index(nodes.states[begin + index(i)])]
        if after < 0:
            forced = i
            n_forced += 1
        else:
            rest += worth[index(after)]
            key += keys[index(after)]
    if n_forced > 1:
        return count
    twin, state = -1, index(0)
    for i in range(len(alike)):
        s = index(nodes.states[begin + index(i)])
        like = (alike[i] == twin) & (s == state)  # its twin in this state has these children
        twin, state = alike[i], s
        if like | ((n_forced == 1) & (i != forced)):
            continue
        back, unkey = 0.0, np.uint64(0)
        if n_forced == 0:
            idle = index(m.idle[s])
            back, unkey = worth[idle], keys[idle]
        for a in range(index(m.arc[s]), index(m.arc[s + ONE])):
            v, after = earned + m.gain[a], index(m.nxt[a])
            b = v + (rest - back + worth[after])
            b = b if b < most else most
            if b <= ledger[FLOOR]:
                continue
            if b <= ledger[CUT]:
                if b > ledger[DROPPED]:
                    ledger[DROPPED] = b
                continue
            k = key - unkey + keys[after]
            q = look_up(m, alike, nodes.states, found, pair, ledger, places, k, p, i, whole(a))
            old = found.table[q]
            c = index(old if old >= 0 else count)
            if old < 0:
                found.table[q] = count
                count += 1
            elif v <= found.value[c]:
                continue
            found.value[c] = v
            found.bound[c] = b
            found.key[c] = k
            found.parent[c] = p
            found.taken[c] = a
            found.place[c] = i
    return count


@jit(inline=True)
def look_up(
    m: Diagram,
    alike: IntArray,
    states: StateArray,
    found: Candidates,
    pair: StateArray,
    ledger: FloatArray,
    places: int,
    k: np.uint64,
    p: int,
    i: int,
    a: int,
) -> np.uint64:
    """Return where in the table a child (parent, place, arc) is, or is to be put: that is empty."""
    last = index(places) - ONE
    q: np.uint64 = (k >> np.uint64(20)) & last
    while found.table[q] >= 0:
        c = index(found.table[q])
        if found.key[c] == k:
            ledger[COMPARED] += len(alike)
            q_p, q_i, q_a = whole(found.parent[c]), whole(found.place[c]), whole(found.taken[c])
            if same_children(m, alike, states, q_p, q_i, q_a, p, i, a, pair):
                break
        q = (q + ONE) & last
    return q


@jit(inner=True)
def same_children(
    m: Diagram,
    alike: IntArray,
    states: StateArray,
    p: int,
    i: int,
    a: int,
    other_p: int,
    other_i: int,
    other_a: int,
    pair: StateArray,
) -> bool:
    """Tell whether two candidates (parent, place, arc) leave all machines in equal states."""
    n, same = len(alike), True
    for j in range(n):
        one = m.nxt[index(a)] if j == i else m.idle[index(states[index(p * n + j)])]
        two = index(states[index(other_p * n + j)])
        other = m.nxt[index(other_a)] if j == other_i else m.idle[two]
        same &= one == other
    if same:
        return True
    # Keys are equal, so this is rare but for alike in another order.
    child_states(m, alike, states, p, i, a, pair, whole(0))
    child_states(m, alike, states, other_p, other_i, other_a, pair, n)
    same = True
    for j in range(n):
        same &= pair[j] == pair[n + j]
    return same


@jit(inner=True)
def child_states(
    m: Diagram,
    alike: IntArray,
    states: StateArray,
    p: int,
    place: int,
    taken: int,
    out: StateArray,
    begin: int,
) -> None:
    """Write the states of a node after the machine at ``place`` took arc ``taken``.

    They begin at ``begin``; those of alike are in sorted order. (All whole numbers given are of
    one kind: for each other kind it would be compiled anew.)
    """
    for i in range(len(alike)):
        s = m.nxt[taken] if i == place else m.idle[index(states[index(p * len(alike) + i)])]
        j = i
        while j > 0 and alike[j - 1] == alike[i] and out[begin + j - 1] > s:
            out[begin + j] = out[begin + j - 1]
            j -= 1
        out[begin + j] = s


@jit(inline=True)
def write_out(
    m: Diagram,
    alike: IntArray,
    nodes: Nodes,
    back: Backpointers,
    found: Candidates,
    way: int,
    node: int,
    count: int,
) -> None:
    """Write the candidates out as nodes of the next round, and how they came about."""
    for j in range(count):
        p, taken, place = whole(found.parent[j]), whole(found.taken[j]), whole(found.place[j])
        to = (node + j) * len(alike)
        child_states(m, alike, nodes.states, p, place, taken, nodes.states, to)
        nodes.value[node + j] = found.value[j]
        nodes.bound[node + j] = found.bound[j]
        back.parent[way + j] = p
        back.taken[way + j] = taken
        back.place[way + j] = place
