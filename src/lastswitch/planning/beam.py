"""The widening beam: partial blocks, slot by slot, the most promising kept.

A *node* is a partial block, known by the state it leaves every machine in and by the value it has
earned. Its bound is that value plus what the machines could still earn at the current prices.
Nodes in equal states are merged (only the better value can matter); nodes whose bound does not
beat the incumbent are dropped; and of the others the best ``width`` go on. The best bound ever
dropped for lack of width is remembered: if the incumbent reaches it, it is optimal.
"""

from __future__ import annotations

import functools

import numpy as np

from lastswitch._kernels import ONE, index, inner, jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import MIX_A, MIX_B, KeyArray, Machines

#: Entries of the cursor: slot, next node to expand, nodes in this slot, candidates for the next,
#: places of the hash table in use, and how many children a node may have.
SLOT, NODE, NODES, CANDIDATES, PLACES, CHILDREN = 0, 1, 2, 3, 4, 5
#: Entries of the ledger: best bound dropped for lack of width; bound a candidate has to beat to be
#: worth anything; bound it has to beat to be among the best of its slot.
DROPPED, FLOOR, CUT = 0, 1, 2
#: Candidates gathered per place in the beam before the worst are dropped.
ROOM = 4


class Beam:
    """One pass over the slots with a fixed width, in resumable slices.

    Parameters
    ----------
    machines
        The machines of the problem.
    twins
        A label per machine; machines with equal labels are next to each other and alike.
    width
        How many nodes go on from each slot.
    """

    def __init__(self, machines: Machines, twins: IntArray, width: int) -> None:
        n, d = len(machines.root), machines.length
        most = n * int((machines.arc[1:] - machines.arc[:-1]).max())
        room = ROOM * width + most
        self.machines, self.twins, self.width = machines, twins, width
        self.states = np.empty((2, width, n), np.int32)
        self.value, self.bound = np.zeros((2, width)), np.zeros((2, width))
        self.states[0, 0], self.bound[0, 0] = machines.root, np.inf
        self.parent, self.taken = np.empty((d, width), np.int32), np.empty((d, width), np.int32)
        self.place = np.empty((d, width), np.int32)
        self.c_value, self.c_bound = np.empty(room), np.empty(room)
        self.c_key = np.empty(room, np.uint64)
        self.c_parent, self.c_taken = np.empty(room, np.int32), np.empty(room, np.int32)
        self.c_place = np.empty(room, np.int32)
        self.table = np.empty(1 << (2 * room).bit_length(), np.int32)
        self.scratch = np.empty(room)
        self.pair = np.empty((2, n), np.int32)
        self.cursor, self.ledger = np.array([0, 0, 1, 0, 1, most]), np.full(3, -np.inf)
        self.keys = _state_keys(1 << len(machines.idle).bit_length())

    @staticmethod
    def bytes_per_node(n_machines: int, length: int) -> int:
        """Return how much memory one place in the beam takes."""
        return 8 * n_machines + 32 + 12 * length + ROOM * (44 + 16)

    def run(self, worth: FloatArray, ahead: FloatArray, floor: float, budget: int) -> bool:
        """Expand about ``budget`` children; return whether the end of the block was reached.

        ``ahead[t]`` is the sum of the prices from slot ``t`` on; a candidate must beat ``floor``.
        """
        m = self.machines
        self.ledger[FLOOR] = floor
        problem = (m.idle, m.arc, m.nxt, m.gain, self.twins, worth, ahead, self.keys, budget)
        nodes = (self.cursor, self.ledger, self.states, self.value, self.bound)
        history = (self.parent, self.taken, self.place)
        candidates = (self.c_value, self.c_bound, self.c_key, self.c_parent, self.c_taken)
        more = (self.c_place, self.table, self.scratch, self.pair)
        return bool(advance(*(problem + nodes + history + candidates + more)))

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""
        return float(self.ledger[DROPPED])

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        slot, node, nodes, candidates = self.cursor[:4]
        ahead = self.bound[slot % 2, node:nodes], self.c_bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self, worth: FloatArray) -> tuple[float, int]:
        """Return the value and the node of the best complete block; (-inf, -1) if none did it."""
        slot, _, nodes = self.cursor[:3].tolist()
        if slot < self.machines.length or nodes == 0:
            return -np.inf, -1
        side = slot % 2
        total = self.value[side, :nodes] + worth[self.states[side, :nodes]].sum(axis=1)
        node = int(total.argmax())
        return float(total[node]), node

    def way_to(self, node: int) -> tuple[IntArray, IntArray]:
        """Return how a complete block was filled, as (machine, member) per slot."""
        d = self.machines.length
        place, taken = [0] * d, [0] * d
        for t in range(d - 1, -1, -1):
            place[t], taken[t] = self.place.item(t, node), self.taken.item(t, node)
            node = self.parent.item(t, node)
        arcs = np.array(taken)
        return self._identities(np.array(place), arcs), self.machines.who[arcs].astype(np.int64)

    def _identities(self, place: IntArray, taken: IntArray) -> IntArray:
        """Return which machine was at the given places; twins change places on the way."""
        m, n = self.machines, len(self.machines.root)
        if len(set(self.twins.tolist())) == n:
            return place
        group = np.cumsum(np.append(0, np.diff(self.twins) != 0))
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


@inner
def child_states(
    states: StateArray,
    idle: StateArray,
    nxt: StateArray,
    twins: IntArray,
    place: np.int32,
    taken: np.int32,
    out: StateArray,
) -> None:
    """Write the states after the machine at ``place`` took arc ``taken``; twins in sorted order."""
    after = nxt[taken]
    for i in range(len(states)):
        s = after if i == place else idle[states[i]]
        j = i
        while j > 0 and twins[j - 1] == twins[i] and out[j - 1] > s:
            out[j] = out[j - 1]
            j -= 1
        out[j] = s


@inner
def same_children(
    states: StateArray,
    idle: StateArray,
    nxt: StateArray,
    twins: IntArray,
    p: np.int32,
    i: np.int32,
    a: np.int32,
    other_p: np.int32,
    other_i: np.int32,
    other_a: np.int32,
    pair: StateArray,
) -> bool:
    """Tell whether two candidates (parent, place, arc) leave all machines in equal states."""
    same, left, right = True, states[p], states[other_p]
    for j in range(len(twins)):
        one = nxt[a] if j == i else idle[left[j]]
        other = nxt[other_a] if j == other_i else idle[right[j]]
        same &= one == other
    if same:
        return True
    # Keys are equal, so this is rare but for twins in another order.
    child_states(left, idle, nxt, twins, i, a, pair[0])
    child_states(right, idle, nxt, twins, other_i, other_a, pair[1])
    same = True
    for j in range(len(twins)):
        same &= pair[0, j] == pair[1, j]
    return same


@inner
def kth_largest(values: FloatArray, n: int, k: int) -> float:
    """Return the ``k``-th largest of the first ``n`` values, reordering them (quickselect)."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return float(values[k - 1])


@inner
def keep_best(
    n: int,
    width: int,
    ledger: FloatArray,
    c_value: FloatArray,
    c_bound: FloatArray,
    c_key: KeyArray,
    c_parent: StateArray,
    c_taken: StateArray,
    c_place: StateArray,
    table: StateArray,
    places: int,
    scratch: FloatArray,
) -> np.int64:
    """Keep the ``width`` candidates of largest bound and remember the best bound dropped.

    The table then holds those that are left, in ``places`` places (none: it is not needed again).
    """
    for j in range(index(n)):
        scratch[j] = c_bound[j]
    cut = kth_largest(scratch, n, width)
    ledger[CUT] = cut
    level = width  # how many candidates exactly at the cut may stay
    for j in range(index(n)):
        if c_bound[j] > cut:
            level -= 1
    kept = index(0)
    for j in range(index(n)):
        if c_bound[j] > cut or (c_bound[j] == cut and level > 0):
            if c_bound[j] == cut:
                level -= 1
            c_value[kept], c_bound[kept], c_key[kept] = c_value[j], c_bound[j], c_key[j]
            c_parent[kept], c_taken[kept], c_place[kept] = c_parent[j], c_taken[j], c_place[j]
            kept += ONE
        elif c_bound[j] > ledger[DROPPED]:
            ledger[DROPPED] = c_bound[j]
    for q in range(index(places)):
        table[q] = -1
    mask = index(places) - ONE
    for j in range(kept if places > 0 else index(0)):
        spot = (c_key[j] >> np.uint64(20)) & mask
        while table[spot] >= 0:
            spot = (spot + ONE) & mask
        table[spot] = j
    return np.int64(kept)


@jit
def advance(
    idle: StateArray,
    arc: IntArray,
    nxt: StateArray,
    gain: FloatArray,
    twins: IntArray,
    worth: FloatArray,
    ahead: FloatArray,
    keys: KeyArray,
    budget: int,
    cursor: IntArray,
    ledger: FloatArray,
    states: StateArray,
    value: FloatArray,
    bound: FloatArray,
    parent: StateArray,
    taken: StateArray,
    place: StateArray,
    c_value: FloatArray,
    c_bound: FloatArray,
    c_key: KeyArray,
    c_parent: StateArray,
    c_taken: StateArray,
    c_place: StateArray,
    table: StateArray,
    scratch: FloatArray,
    pair: StateArray,
) -> bool:
    """Run the beam until the end of the block (True) or until ``budget`` children (False)."""
    d, width = parent.shape
    n = index(states.shape[2])
    room = len(c_bound)
    floor = ledger[FLOOR]
    t, node, nodes = cursor[SLOT], cursor[NODE], cursor[NODES]
    count, places, most_children = cursor[CANDIDATES], cursor[PLACES], cursor[CHILDREN]
    while t < d:
        side = t % 2
        here, h_value, h_bound = states[side], value[side], bound[side]
        if node == 0:  # a table of twice the children this slot may have, or all of it
            places = 1
            while places < 2 * most_children * nodes and places < len(table):
                places *= 2
            for q in range(index(places)):
                table[q] = -1
        mask = index(places) - ONE
        while True:
            over = node == nodes
            if count + most_children > room or (over and count > width):
                if over:
                    places = 0
                count = keep_best(
                    *(count, width, ledger, c_value, c_bound, c_key),
                    *(c_parent, c_taken, c_place, table, places, scratch),
                )
            if over:
                break
            if budget <= 0:
                cursor[SLOT], cursor[NODE], cursor[NODES] = t, node, nodes
                cursor[CANDIDATES], cursor[PLACES] = count, places
                return False
            p = node
            node += 1
            budget -= len(twins)
            # What all machines idling would leave; a machine that cannot idle is forced.
            state, earned, most = here[p], h_value[p], h_bound[p]
            rest, key, forced, n_forced = ahead[t + 1], np.uint64(0), n, 0
            for i in range(n):
                after = idle[index(state[i])]
                if after < 0:
                    forced = i
                    n_forced += 1
                else:
                    rest += worth[index(after)]
                    key += keys[index(after)]
            if n_forced > 1:
                continue
            for i in range(n):
                if n_forced == 1 and i != forced:
                    continue
                s = index(state[i])
                begin, end = index(arc[s]), index(arc[s + ONE])
                if begin == end:
                    continue
                if i > index(0) and twins[i] == twins[i - ONE] and state[i] == state[i - ONE]:
                    continue  # its twin in the same state gives the same children
                back, unkey = 0.0, np.uint64(0)
                if n_forced == 0:
                    back, unkey = worth[index(idle[s])], keys[index(idle[s])]
                for a in range(begin, end):
                    v, after = earned + gain[a], nxt[a]
                    b = v + (rest - back + worth[index(after)])
                    if b > most:
                        b = most
                    if b <= floor:
                        continue
                    if b <= ledger[CUT]:
                        if b > ledger[DROPPED]:
                            ledger[DROPPED] = b
                        continue
                    k = key - unkey + keys[index(after)]
                    q = (k >> np.uint64(20)) & mask
                    merged = False
                    while table[q] >= 0:
                        c = index(table[q])
                        if c_key[c] == k and same_children(
                            *(here, idle, nxt, twins, c_parent[c], c_place[c], c_taken[c]),
                            *(np.int32(p), np.int32(i), np.int32(a), pair),
                        ):
                            if v > c_value[c]:
                                c_value[c], c_bound[c] = v, b
                                c_parent[c], c_taken[c], c_place[c] = p, a, i
                            merged = True
                            break
                        q = (q + ONE) & mask
                    if merged:
                        continue
                    table[q] = count
                    c_value[count], c_bound[count], c_key[count] = v, b, k
                    c_parent[count], c_taken[count], c_place[count] = p, a, i
                    count += 1
        for j in range(count):
            p = c_parent[j]
            child_states(here[p], idle, nxt, twins, c_place[j], c_taken[j], states[1 - side, j])
            value[1 - side, j], bound[1 - side, j] = c_value[j], c_bound[j]
            parent[t, j], taken[t, j], place[t, j] = p, c_taken[j], c_place[j]
        ledger[CUT] = -np.inf
        t, nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[SLOT], cursor[NODES] = t, nodes
    return True
