"""The widening beam: partial blocks, slot by slot, the most promising kept.

A *node* is a partial block, known by the state it leaves every machine in and by the value it has
earned. Its bound is that value plus what the machines could still earn at the current prices.
Nodes in equal states are merged (only the better value can matter); nodes whose bound does not
beat the incumbent are dropped; and of the others the best ``width`` go on. The best bound ever
dropped for lack of width is remembered: if the incumbent reaches it, it is optimal.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import bare, bare_inner, hot, whole
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import MIX_A, MIX_B, KeyArray, Machines
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.selection import BEST, COMPARED, CUT, DROPPED, FLOOR, Found, keep_best

#: Entries of the cursor: slot (-1: begin), next node to expand (in the end the best one), nodes in
#: this slot, candidates for the next, places of the hash table in use, how many children a node may
#: have, the work of expanding it, and the width.
SLOT, NODE, NODES, CANDIDATES, PLACES, CHILDREN, WORK, WIDTH = 0, 1, 2, 3, 4, 5, 6, 7


class Guide(NamedTuple):
    """What a beam is led by: worth and key by state, prices by slot and ahead, likes by machine."""

    worth: FloatArray
    price: FloatArray
    ahead: FloatArray
    keys: KeyArray
    twins: IntArray


class Nodes(NamedTuple):
    """The nodes of this slot and the next, one after the other: states, value and bound.

    Nodes of even slots are numbered from 0 on, those of odd ones from the width on.
    """

    states: StateArray
    value: FloatArray
    bound: FloatArray


class Ways(NamedTuple):
    """How each node of each slot came about: from which node, by which arc, at which place.

    Slot by slot, as many as the beam is wide.
    """

    parent: StateArray
    taken: StateArray
    place: StateArray


class Beam:
    """One pass over the slots with a fixed width, in resumable slices.

    Parameters
    ----------
    machines
        The machines of the problem.
    twins
        A label per machine; machines with equal labels are next to each other and alike.
    width
        How many nodes go on from each slot, at most.
    worth, price
        What each state is worth at the prices, and the prices, by slot.
    params
        How many candidates to gather.
    """

    def __init__(
        self,
        machines: Machines,
        twins: IntArray,
        width: int,
        worth: FloatArray,
        price: FloatArray,
        params: SearchParams = DEFAULT,
    ) -> None:
        n, d = len(machines.root), len(price)
        most = n * machines.most_arcs
        room = params.beam_room * width + most
        self.machines, self._alike = machines, len(set(twins.tolist())) < n
        keys = _state_keys(1 << len(machines.idle).bit_length())
        self.guide = Guide(worth, price, np.empty(d + 1), keys, twins)
        self.nodes = Nodes(
            np.empty(2 * width * n, np.int32), np.empty(2 * width), np.empty(2 * width)
        )
        self.ways = Ways(*np.empty((3, d * width), np.int32))
        self.found = Found(
            value=np.empty(room),
            bound=np.empty(room),
            key=np.empty(room, np.uint64),
            parent=np.empty(room, np.int32),
            taken=np.empty(room, np.int32),
            place=np.empty(room, np.int32),
            table=np.empty(1 << (2 * room).bit_length(), np.int32),
        )
        self.scratch, self.pair = np.empty(room), np.empty(2 * n, np.int32)
        # Nodes of twins are compared in sorted order, which takes its time.
        work = n * (1 + n // 2) if self._alike else n
        self.cursor, self.ledger = np.array([-1, 0, 0, 0, 0, most, work, width]), np.empty(5)

    @staticmethod
    def bytes_per_node(n_machines: int, length: int, params: SearchParams = DEFAULT) -> int:
        """Return how much memory one place in the beam takes."""
        return 8 * n_machines + 32 + 12 * length + params.beam_room * (44 + 16)

    def start(self) -> None:
        """Begin another pass: at the prices and the worth that are now in their arrays."""
        self.cursor[SLOT] = -1

    def run(self, floor: float, budget: int) -> bool:
        """Expand about ``budget`` children; return whether the end of the block was reached.

        A candidate must beat ``floor``.
        """
        self.ledger[FLOOR] = floor
        over: bool = advance(
            *(budget, *self.machines, *self.guide, *self.nodes, *self.ways, *self.found),
            *(self.scratch, self.pair, self.cursor, self.ledger),
        )
        return over

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""
        return self.ledger.item(DROPPED)

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        slot, node, nodes, candidates = self.cursor[:4].tolist()
        here = slot % 2 * self.cursor.item(WIDTH)
        ahead = self.nodes.bound[here + node : here + nodes], self.found.bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete block; (-inf, -1) if none did it."""
        slot, node, nodes = self.cursor[:3].tolist()
        if slot < len(self.guide.price) or nodes == 0:
            return -math.inf, -1
        return self.ledger.item(BEST), node

    def way_to(self, node: int) -> tuple[StateArray, StateArray]:
        """Return how a complete block was filled, as (machine, member) per slot."""
        d, width, parent = len(self.guide.price), self.cursor.item(WIDTH), self.ways.parent.item
        ways = [node] * d
        for t in range(d - 1, -1, -1):
            ways[t] = way = t * width + node % width
            node = parent(way)
        place, taken = self.ways.place[ways], self.ways.taken[ways]
        return self._identities(place, taken), self.machines.who[taken]

    def _identities(self, place: StateArray, taken: StateArray) -> StateArray:
        """Return which machine was at the given places; twins change places on the way."""
        m, n = self.machines, len(self.machines.root)
        if not self._alike:
            return place
        group = np.cumsum(np.append(0, np.diff(self.guide.twins) != 0))
        state, names, machine = m.root, np.arange(n), np.empty_like(place)
        for t in range(len(place)):
            machine[t] = names[place[t]]
            state = m.idle[state]
            state[place[t]] = m.nxt[taken[t]]
            order = np.lexsort((state, group))  # stable, as in `child_states`
            state, names = state[order], names[order]
        return machine


@functools.lru_cache(maxsize=4)
def _state_keys(n: int) -> KeyArray:
    """Return a random-looking key for each of ``n`` states; a node's key is their sum."""
    keys = np.arange(1, n + 1, dtype=np.uint64) * MIX_A
    keys = (keys ^ (keys >> np.uint64(30))) * MIX_B
    return keys ^ (keys >> np.uint64(27))


@bare
def advance(budget: int, *parts: Any) -> bool:
    """Run the beam until the end of the block (True) or until ``budget`` children (False).

    The ``parts`` are those of machines, a guide, nodes, ways and what is found, then scratch
    space for bounds and for a pair of nodes, the cursor and the ledger.
    """
    m, guide, nodes = Machines(*parts[:9]), Guide(*parts[9:14]), Nodes(*parts[14:17])
    ways, found = Ways(*parts[17:20]), Found(*parts[20:27])
    scratch, pair, cursor, ledger = parts[27:]
    d, width, room = len(guide.price), cursor[WIDTH], len(found.bound)
    t, node, n_nodes = cursor[SLOT], cursor[NODE], cursor[NODES]
    count, places, children = cursor[CANDIDATES], cursor[PLACES], cursor[CHILDREN]
    if t < 0:
        t, node, n_nodes, count = 0, 0, 1, 0
        guide.ahead[d] = 0.0
        for u in range(d, 0, -1):
            guide.ahead[u - 1] = guide.ahead[u] + guide.price[u - 1]
        for i in range(len(m.root)):
            nodes.states[i] = m.root[i]
        nodes.value[0] = 0.0
        nodes.bound[0] = np.inf
        ledger[DROPPED] = -np.inf
        ledger[CUT] = -np.inf
    while t < d:
        here, there = (t & 1) * width, (1 - (t & 1)) * width
        if node == 0:  # a table of twice the children this slot may have, or all of it
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
                cursor[SLOT] = t
                cursor[NODE] = node
                cursor[NODES] = n_nodes
                cursor[CANDIDATES] = count
                cursor[PLACES] = places
                return False
            budget -= cursor[WORK]
            ledger[COMPARED] = 0.0
            p = here + node
            count = expand(m, guide, nodes, found, pair, ledger, t, p, count, places)
            budget -= whole(ledger[COMPARED])
            node += 1
        write_out(m, guide.twins, nodes, ways, found, t * width, there, count)
        budget -= count * len(guide.twins)
        ledger[CUT] = -np.inf
        t, n_nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[SLOT] = t
    cursor[NODES] = n_nodes
    ledger[BEST] = -np.inf
    here = (d & 1) * width
    for node in range(here, here + n_nodes):
        total = nodes.value[node]
        for i in range(len(guide.twins)):
            total += guide.worth[nodes.states[node * len(guide.twins) + i]]
        if total > ledger[BEST]:
            ledger[BEST] = total
            cursor[NODE] = node
    return True


@hot
def expand(
    m: Machines,
    guide: Guide,
    nodes: Nodes,
    found: Found,
    pair: StateArray,
    ledger: FloatArray,
    t: int,
    p: int,
    count: int,
    places: int,
) -> int:
    """Add the children of node ``p``, in slot ``t``, to the candidates; return their number."""
    twins, worth, keys = guide.twins, guide.worth, guide.keys
    begin, earned, most = p * len(twins), nodes.value[p], nodes.bound[p]
    # What all machines idling would leave; a machine that cannot idle is forced.
    rest, key, forced, n_forced = guide.ahead[t + 1], np.uint64(0), -1, 0
    for i in range(len(twins)):
        after = m.idle[nodes.states[begin + i]]
        if after < 0:
            forced = i
            n_forced += 1
        else:
            rest += worth[after]
            key += keys[after]
    if n_forced > 1:
        return count
    twin, state = -1, -1
    for i in range(len(twins)):
        s = nodes.states[begin + i]
        like = (twins[i] == twin) & (s == state)  # its twin in this state has these children
        twin, state = twins[i], s
        if like | ((n_forced == 1) & (i != forced)):
            continue
        back, unkey = 0.0, np.uint64(0)
        if n_forced == 0:
            back, unkey = worth[m.idle[s]], keys[m.idle[s]]
        for a in range(m.arc[s], m.arc[s + 1]):
            v, after = earned + m.gain[a], m.nxt[a]
            b = v + (rest - back + worth[after])
            b = b if b < most else most
            if b <= ledger[FLOOR]:
                continue
            if b <= ledger[CUT]:
                if b > ledger[DROPPED]:
                    ledger[DROPPED] = b
                continue
            k = key - unkey + keys[after]
            q = look_up(m, twins, nodes.states, found, pair, ledger, places, k, p, i, a)
            c = found.table[q]
            if c < 0:
                c = count
                found.table[q] = c
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


@hot
def look_up(
    m: Machines,
    twins: IntArray,
    states: StateArray,
    found: Found,
    pair: StateArray,
    ledger: FloatArray,
    places: int,
    k: np.uint64,
    p: int,
    i: int,
    a: int,
) -> int:
    """Return where in the table a child (parent, place, arc) is, or is to be put: that is empty."""
    q: int = whole(k >> np.uint64(20)) & (places - 1)
    while found.table[q] >= 0:
        c = found.table[q]
        if found.key[c] == k:
            ledger[COMPARED] = ledger[COMPARED] + len(twins)
            q_p, q_i, q_a = whole(found.parent[c]), whole(found.place[c]), whole(found.taken[c])
            if same_children(m, twins, states, q_p, q_i, q_a, p, i, a, pair):
                break
        q = (q + 1) & (places - 1)
    return q


@bare_inner
def same_children(
    m: Machines,
    twins: IntArray,
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
    n, same = len(twins), True
    for j in range(n):
        one = m.nxt[a] if j == i else m.idle[states[p * n + j]]
        other = m.nxt[other_a] if j == other_i else m.idle[states[other_p * n + j]]
        same &= one == other
    if same:
        return True
    # Keys are equal, so this is rare but for twins in another order.
    child_states(m, twins, states, p, i, a, pair, whole(0))
    child_states(m, twins, states, other_p, other_i, other_a, pair, n)
    same = True
    for j in range(n):
        same &= pair[j] == pair[n + j]
    return same


@bare_inner
def child_states(
    m: Machines,
    twins: IntArray,
    states: StateArray,
    p: int,
    place: int,
    taken: int,
    out: StateArray,
    begin: int,
) -> None:
    """Write the states of a node after the machine at ``place`` took arc ``taken``.

    They begin at ``begin``; those of twins are in sorted order.
    """
    for i in range(len(twins)):
        s = m.nxt[taken] if i == place else m.idle[states[p * len(twins) + i]]
        j = i
        while j > 0 and twins[j - 1] == twins[i] and out[begin + j - 1] > s:
            out[begin + j] = out[begin + j - 1]
            j -= 1
        out[begin + j] = s


@hot
def write_out(
    m: Machines,
    twins: IntArray,
    nodes: Nodes,
    ways: Ways,
    found: Found,
    way: int,
    node: int,
    count: int,
) -> None:
    """Write the candidates out as nodes of the next slot, and how they came about."""
    for j in range(count):
        p, taken, place = whole(found.parent[j]), whole(found.taken[j]), whole(found.place[j])
        to = (node + j) * len(twins)
        child_states(m, twins, nodes.states, p, place, taken, nodes.states, to)
        nodes.value[node + j] = found.value[j]
        nodes.bound[node + j] = found.bound[j]
        ways.parent[way + j] = p
        ways.taken[way + j] = taken
        ways.place[way + j] = place
