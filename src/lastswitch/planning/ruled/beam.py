"""The widening beam under rules: partial schedules, round by round, the most promising kept.

As for plain blocks, with two differences. A node is known by the states of the arms *and* of the
monitors, so that what the rules remember is exact. And a round may play several arms: the sets of
arms are tried in increasing order, each branch left as soon as what it already loses against the
prices is too much.
"""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit
from lastswitch.planning.automata import StateArray
from lastswitch.planning.beam import state_keys
from lastswitch.planning.beam_kernel import Nodes, Ways
from lastswitch.planning.machines import Machines
from lastswitch.planning.ruled.expansion import (
    FEW_PLACES,
    PLACES,
    Guide,
    Scratch,
    child_states,
    expand,
    keep_best,
    place_anew,
    room_for,
)
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.prices import Heard, Prices
from lastswitch.planning.selection import CUT, DROPPED, FLOOR, Found

#: Entries of the cursor: round, next node to expand, nodes in this round, candidates for the next;
#: then the places of the hash table in use, and the moves looked at so far.
ROUND, NODE, NODES, CANDIDATES, SPENT = 0, 1, 2, 3, 5
#: Candidates gathered per place in the beam before the worst are dropped.
ROOM = 4


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
        keys = state_keys(1 << size.bit_length())
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
            np.empty(max(FEW_PLACES, 1 << (2 * room).bit_length()), np.int32),
        )
        self._scratch = room_for(n, monitors, most, room)
        self._cursor = np.array([0, 0, 1, 0, 0, 0])
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

    @property
    def spent(self) -> int:
        """How many moves were looked at so far."""
        return int(self._cursor[SPENT])

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        t, node, nodes, candidates = self._cursor[:4]
        ahead = self._nodes.bound[t % 2, node:nodes], self._found.bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete schedule; (-inf, -1) if none."""
        t, _, nodes = self._cursor[:3].tolist()
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
        way = [node] * d
        for t in range(d - 1, 0, -1):
            way[t - 1] = ways.parent.item(t, way[t])
        place, taken = ways.place[np.arange(d), way], ways.taken[np.arange(d), way]
        if len(set(self.twins.tolist())) < len(self.twins):
            return self._identities(place, taken)
        return tuple(tuple(i for i in places if i >= 0) for places in place.tolist())

    def _identities(self, place: StateArray, taken: StateArray) -> RoundsPlayed:
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
            cursor[PLACES] = place_anew(found, 0, FEW_PLACES)
        while node < n_nodes:
            if budget <= 0:
                cursor[ROUND], cursor[NODE], cursor[NODES] = t, node, n_nodes
                cursor[CANDIDATES] = count
                return False
            count, work = expand(
                m, h, guide, nodes, found, scratch, cursor, ledger, t, node, count, width
            )
            budget -= work
            cursor[SPENT] += work
            node += 1
        if count > width:
            count = keep_best(count, width, found, scratch.bounds, ledger)
        for j in range(count):
            p = found.parent[j]
            here, there = nodes.states[t % 2, p], nodes.states[1 - t % 2, j]
            child_states(m, h, guide.twins, here, found.place[j], found.taken[j], there)
            nodes.value[1 - t % 2, j], nodes.bound[1 - t % 2, j] = found.value[j], found.bound[j]
            ways.parent[t, j] = p
            for x in range(found.taken.shape[1]):
                ways.taken[t, j, x], ways.place[t, j, x] = found.taken[j, x], found.place[j, x]
        ledger[CUT] = -np.inf
        t, n_nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[ROUND], cursor[NODES] = t, n_nodes
    return True
