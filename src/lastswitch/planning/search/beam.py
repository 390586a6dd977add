"""The widening beam: partial blocks, round by round, the most promising kept.

One arm is played in every round; :mod:`~lastswitch.planning.search.shared_beam` has the others.

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

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import MIX_A, MIX_B, KeyArray
from lastswitch.planning.search.beam_kernel import (
    ROUND,
    WIDTH,
    Backpointers,
    Completion,
    Nodes,
    advance,
)
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.selection import BEST, DROPPED, FLOOR, Candidates


class Beam:
    """One pass over the rounds with a fixed width, in resumable slices.

    Parameters
    ----------
    diagram
        The machines of the problem.
    alike
        A label per machine; machines with equal labels are next to each other and alike.
    width
        How many nodes go on from each round, at most.
    worth, price
        The cost-to-go of each state at the prices, and the prices, by round.
    params
        How many candidates to gather.
    """

    def __init__(
        self,
        diagram: Diagram,
        alike: IntArray,
        width: int,
        worth: FloatArray,
        price: FloatArray,
        params: SearchParams = DEFAULT,
    ) -> None:
        n, d = len(diagram.root), len(price)
        most = n * diagram.most_arcs
        room = params.beam_room * width + most
        self.diagram, self._alike = diagram, len(set(alike.tolist())) < n
        keys = state_keys(1 << len(diagram.idle).bit_length())
        self.completion = Completion(worth, price, np.empty(d + 1), keys, alike)
        self.nodes = Nodes(
            np.empty(2 * width * n, np.int32), np.empty(2 * width), np.empty(2 * width)
        )
        self.backpointers = Backpointers(*np.empty((3, d * width), np.int32))
        self.found = Candidates(
            value=np.empty(room),
            bound=np.empty(room),
            key=np.empty(room, np.uint64),
            parent=np.empty(room, np.int32),
            taken=np.empty(room, np.int32),
            place=np.empty(room, np.int32),
            table=np.empty(1 << (2 * room).bit_length(), np.int32),
        )
        self.scratch, self.pair = np.empty(room), np.empty(2 * n, np.int32)
        # Nodes of alike are compared in sorted order, which takes its time.
        work = n * (1 + n // 2) if self._alike else n
        self.cursor, self.ledger = np.array([-1, 0, 0, 0, 0, most, work, width]), np.empty(5)

    @staticmethod
    def bytes_per_node(n_machines: int, length: int, params: SearchParams = DEFAULT) -> int:
        """Return how much memory one place in the beam takes."""
        return 8 * n_machines + 32 + 12 * length + params.beam_room * (44 + 16)

    def start(self) -> None:
        """Begin another pass: at the prices and the worth that are now in their arrays."""
        self.cursor[ROUND] = -1

    def run(self, floor: float, budget: int) -> bool:
        """Expand about ``budget`` children; return whether the end of the block was reached.

        A candidate must beat ``floor``.
        """
        self.ledger[FLOOR] = floor
        over: bool = advance(
            *(
                budget,
                *self.diagram,
                *self.completion,
                *self.nodes,
                *self.backpointers,
                *self.found,
            ),
            *(self.scratch, self.pair, self.cursor, self.ledger),
        )
        return over

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""
        return self.ledger.item(DROPPED)

    @property
    def work(self) -> int:
        """What a pass costs, in states swept."""
        width: int = self.cursor.item(WIDTH)
        return width * self.diagram.length * len(self.diagram.root)

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        t, node, nodes, candidates = self.cursor[:4].tolist()
        here = t % 2 * self.cursor.item(WIDTH)
        ahead = self.nodes.bound[here + node : here + nodes], self.found.bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete block; (-inf, -1) if none did it."""
        t, node, nodes = self.cursor[:3].tolist()
        if t < len(self.completion.price) or nodes == 0:
            return -math.inf, -1
        return self.ledger.item(BEST), node

    def way_to(self, node: int) -> tuple[StateArray, StateArray]:
        """Return how a complete block was filled, as (machine, member) per round."""
        d, width, parent = (
            len(self.completion.price),
            self.cursor.item(WIDTH),
            self.backpointers.parent.item,
        )
        ways = [node] * d
        for t in range(d - 1, -1, -1):
            ways[t] = way = t * width + node % width
            node = parent(way)
        place, taken = self.backpointers.place[ways], self.backpointers.taken[ways]
        return self._identities(place, taken), self.diagram.label[taken]

    def _identities(self, place: StateArray, taken: StateArray) -> StateArray:
        """Return which machine was at the given places; alike change places on the way."""
        m, n = self.diagram, len(self.diagram.root)
        if not self._alike:
            return place
        group = np.cumsum(np.append(0, np.diff(self.completion.alike) != 0))
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
