"""The widening beam under rules: partial schedules, round by round, the most promising kept.

As for plain blocks, with two differences. A node is known by the states of the arms *and* of the
monitors, so that what the rules remember is exact. And a round may play several arms: the sets of
arms are tried in increasing order, each branch left as soon as what it already loses against the
prices is too much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._kernels import inner, jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.beam import _state_keys
from lastswitch.planning.machines import KeyArray, Machines
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.prices import Heard, Prices
from lastswitch.planning.selection import kth_largest

#: Entries of the cursor: round, next node to expand, nodes in this round, candidates for the next.
ROUND, NODE, NODES, CANDIDATES = 0, 1, 2, 3
#: Entries of the ledger: best bound dropped for lack of width; bound a candidate has to beat to be
#: worth anything; bound it has to beat to be among the best of its round; what rounding may do.
DROPPED, FLOOR, CUT, BLUR = 0, 1, 2, 3
#: Candidates gathered per place in the beam before the worst are dropped.
ROOM = 4


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


class Ways(NamedTuple):
    """How each node came about: from which node, by which arcs of the arms at which places."""

    parent: StateArray
    taken: StateArray
    place: StateArray


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


class Beam:
    """One pass over the rounds with a fixed width, in resumable slices.

    Parameters
    ----------
    prices
        Machines, monitors and their potentials.
    twins
        A label per arm; arms with equal labels are next to each other and alike.
    width
        How many nodes go on from each round.
    blur
        What rounding may add to a sum.
    """

    def __init__(self, prices: Prices, twins: IntArray, width: int, blur: float) -> None:
        m, h = prices.machines, prices.heard
        n, d, monitors, most = len(m.root), m.length, len(h.root), h.most
        room = ROOM * width + 64
        self.machines, self.heard, self.twins = m, h, twins
        size = len(m.idle) + len(h.after)
        keys = _state_keys(1 << size.bit_length())
        self._guide = Guide(
            prices.worth, prices.memory, prices.cost, prices.price, prices.ahead(), keys, twins
        )
        self._nodes = Nodes(
            np.empty((2, width, n + monitors), np.int32),
            np.zeros((2, width)),
            np.full((2, width), np.inf),
        )
        self._nodes.states[0, 0, :n] = m.root
        self._nodes.states[0, 0, n:] = h.root
        self._ways = Ways(
            np.empty((d, width), np.int32),
            np.empty((d, width, most), np.int32),
            np.empty((d, width, most), np.int32),
        )
        self._found = Found(
            np.empty(room),
            np.empty(room),
            np.empty(room, np.uint64),
            np.empty(room, np.int32),
            np.empty((room, most), np.int32),
            np.empty((room, most), np.int32),
            np.full(1 << (2 * room).bit_length(), -1, np.int32),
        )
        self._scratch = Scratch(
            np.empty(n),
            np.empty(n + 1),
            np.empty(n + 1, np.int64),
            np.empty(most + 1),
            np.empty(most + 1, np.int64),
            np.empty(most, np.int32),
            np.zeros((most + 1, monitors), np.int64),
            np.empty((2, n + monitors), np.int32),
            np.empty(room),
        )
        self._cursor = np.array([0, 0, 1, 0])
        self._ledger = np.array([-np.inf, -np.inf, -np.inf, blur])

    @staticmethod
    def bytes_per_node(n_states: int, length: int, most: int) -> int:
        """Return how much memory one place in the beam takes."""
        return 8 * n_states + 32 + (4 + 8 * most) * length + ROOM * (36 + 8 * most + 16)

    def run(self, floor: float, budget: int) -> bool:
        """Expand nodes for about ``budget`` moves; return whether the last round was reached."""
        self._ledger[FLOOR] = floor
        return bool(
            advance(
                *(self.machines, self.heard, self._guide, self._nodes, self._ways, self._found),
                *(self._scratch, self._cursor, self._ledger, budget),
            )
        )

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""
        return float(self._ledger[DROPPED])

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        t, node, nodes, candidates = self._cursor
        ahead = self._nodes.bound[t % 2, node:nodes], self._found.bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete schedule; (-inf, -1) if none."""
        t, _, nodes, _ = self._cursor.tolist()
        if t < self.machines.length or nodes == 0:
            return -np.inf, -1
        n = len(self.machines.root)
        states = self._nodes.states[t % 2, :nodes, :n]
        total = self._nodes.value[t % 2, :nodes] + self._guide.worth[states].sum(axis=1)
        node = int(total.argmax())
        return float(total[node]), node

    def rounds(self, node: int) -> RoundsPlayed:
        """Return the machines that each round plays on the way to a complete schedule."""
        d, ways = self.machines.length, self._ways
        taken, place = [], []
        for t in range(d - 1, -1, -1):
            taken.append(ways.taken[t, node])
            place.append(ways.place[t, node])
            node = int(ways.parent[t, node])
        return self._identities(place[::-1], taken[::-1])

    def _identities(self, place: list[StateArray], taken: list[StateArray]) -> RoundsPlayed:
        """Return which machine was at the given places; twins change places on the way."""
        m, n = self.machines, len(self.machines.root)
        group = np.cumsum(np.append(0, np.diff(self.twins) != 0))
        state, names = m.root, np.arange(n)
        rounds = []
        for places, arcs in zip(place, taken, strict=True):
            played = places[places >= 0]
            rounds.append(tuple(sorted(names[played].tolist())))
            state = m.idle[state]
            state[played] = m.nxt[arcs[places >= 0]]
            order = np.lexsort((state, group))  # stable, as in `child_states`
            state, names = state[order], names[order]
        return tuple(rounds)


@jit
def advance(
    m: Machines,
    h: Heard,
    guide: Guide,
    nodes: Nodes,
    ways: Ways,
    found: Found,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    budget: int,
) -> bool:
    """Run the beam until the last round (True) or until about ``budget`` moves (False)."""
    d, width = ways.parent.shape
    t, node, n_nodes, count = cursor[ROUND], cursor[NODE], cursor[NODES], cursor[CANDIDATES]
    while t < d:
        if node == 0:
            found.table[:] = -1
        while node < n_nodes:
            if budget <= 0:
                cursor[ROUND], cursor[NODE], cursor[NODES] = t, node, n_nodes
                cursor[CANDIDATES] = count
                return False
            count, work = expand(m, h, guide, nodes, found, scratch, ledger, t, node, count, width)
            budget -= work
            node += 1
        if count > width:
            count = keep_best(count, width, found, scratch.bounds, ledger, False)
        for j in range(count):
            p = found.parent[j]
            here, there = nodes.states[t % 2, p], nodes.states[1 - t % 2, j]
            child_states(m, h, guide.twins, here, found.place[j], found.taken[j], there)
            nodes.value[1 - t % 2, j], nodes.bound[1 - t % 2, j] = found.value[j], found.bound[j]
            ways.parent[t, j] = p
            ways.taken[t, j], ways.place[t, j] = found.taken[j], found.place[j]
        ledger[CUT] = -np.inf
        t, n_nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[ROUND], cursor[NODES] = t, n_nodes
    return True


@inner
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


@inner
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
            found.parent[old], found.taken[old] = p, found.taken[c]
            found.place[old] = found.place[c]
            found.value[old], found.bound[old] = value, bound
            return count
        q = (q + 1) & (len(found.table) - 1)
    found.table[q] = c
    found.value[c], found.bound[c] = value, bound
    return count + 1


@inner
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


@inner
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


@inner
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
            found.taken[kept], found.place[kept] = found.taken[j], found.place[j]
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
