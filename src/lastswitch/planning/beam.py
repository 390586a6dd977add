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

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.beam_kernel import SLOT, WIDTH, Guide, Nodes, Ways, advance
from lastswitch.planning.machines import MIX_A, MIX_B, KeyArray, Machines
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.selection import BEST, DROPPED, FLOOR, Found


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
        keys = state_keys(1 << len(machines.idle).bit_length())
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
def state_keys(n: int) -> KeyArray:
    """Return a random-looking key for each of ``n`` states; a node's key is their sum."""
    keys = np.arange(1, n + 1, dtype=np.uint64) * MIX_A
    keys = (keys ^ (keys >> np.uint64(30))) * MIX_B
    return keys ^ (keys >> np.uint64(27))
