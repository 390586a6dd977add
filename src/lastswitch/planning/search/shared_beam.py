"""The widening beam where machines share automata, or a round plays several arms or none.

As :mod:`~lastswitch.planning.search.beam`, with two differences. A node is known by the states of
the machines *and* of the automata they share, so that what rules remember is exact. And several
machines may move in a round: the sets of moves are tried in increasing order, each branch left as
soon as what it already loses against the prices is too much.
"""

from __future__ import annotations

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit, whole
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.sharing import Machine, Sharing
from lastswitch.planning.search.beam import state_keys
from lastswitch.planning.search.expansion import (
    FEW_PLACES,
    PLACES,
    Backpointers,
    Completion,
    Nodes,
    Scratch,
    child_states,
    expand,
    place_anew,
    room_for,
)
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.selection import CUT, DROPPED, FLOOR, Candidates, keep_best

#: Entries of the cursor: round, next node to expand, nodes in this round, candidates for the next;
#: then the places of the hash table in use, and the moves looked at so far.
ROUND, NODE, NODES, CANDIDATES, SPENT = 0, 1, 2, 3, 5
#: What a move looked at costs in states swept.
MOVE_WORK = 8


class SharedBeam:
    """One pass over the rounds with a fixed width, in resumable slices.

    Parameters
    ----------
    prices
        The machines and what they share, at their prices.
    machines
        What the machines are made of: those with arms, then automata alone.
    alike
        A label per machine with arms; those with equal labels are next to each other and alike.
    width
        How many nodes go on from each round.
    blur
        What rounding may add to a sum.
    params
        How many candidates to gather.
    """

    def __init__(
        self,
        prices: Prices,
        machines: list[Machine],
        alike: IntArray,
        width: int,
        blur: float,
        params: SearchParams = DEFAULT,
    ) -> None:
        m, sharing = prices.diagram, prices.sharing
        assert sharing is not None
        n, d = len(m.root), m.length
        depth, room = most_moves(machines, sharing), params.beam_room * width + 64
        self.diagram, self.sharing, self._machines, self._alike = m, sharing, machines, alike
        self.width = width
        owner = np.full(len(sharing.first), -1)
        for number, machine in enumerate(machines[: sharing.n_arms]):
            owner[machine.inside] = number
        self._completion = Completion(
            *(prices.worth, sharing.ahead(prices.price)),
            state_keys(1 << len(m.idle).bit_length()),
            *(alike, owner),
        )
        self._nodes = Nodes(
            np.empty((2, width, n), np.int32), np.zeros((2, width)), np.full((2, width), np.inf)
        )
        self._nodes.states[0, 0] = m.root
        self._back = Backpointers(
            np.empty((d, width), np.int32), *np.empty((2, d, width, depth), np.int32)
        )
        self._found = Candidates(
            value=np.empty(room),
            bound=np.empty(room),
            key=np.empty(room, np.uint64),
            parent=np.empty(room, np.int32),
            taken=np.empty(room * depth, np.int32),
            place=np.empty(room * depth, np.int32),
            table=np.empty(max(FEW_PLACES, 1 << (2 * room).bit_length()), np.int32),
        )
        self._scratch = room_for(n, len(sharing.first), depth, room)
        self._cursor = np.array([0, 0, 1, 0, 0, 0])
        self._ledger = np.array([-np.inf, -np.inf, -np.inf, 0.0, -np.inf, blur])

    @staticmethod
    def bytes_per_node(
        n_machines: int, length: int, depth: int, params: SearchParams = DEFAULT
    ) -> int:
        """Return how much memory one place in the beam takes."""
        candidates = params.beam_room * (36 + 8 * depth + 16)
        return 8 * n_machines + 32 + (4 + 8 * depth) * length + candidates

    def run(self, floor: float, budget: int) -> bool:
        """Expand nodes for about ``budget`` moves; return whether the last round was reached."""
        self._ledger[FLOOR] = floor
        return bool(
            advance(
                *(self.diagram, self.sharing, self._completion, self._nodes, self._back),
                *(self._found, self._scratch, self._cursor, self._ledger, budget),
            )
        )

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""
        return float(self._ledger[DROPPED])

    @property
    def work(self) -> int:
        """What this pass costs, in states swept: moves looked at so far, each of them so many."""
        return MOVE_WORK * int(self._cursor[SPENT])

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet: dropped, or on the way."""
        t, node, nodes, candidates = self._cursor[:4]
        ahead = self._nodes.bound[t % 2, node:nodes], self._found.bound[:candidates]
        return max([self.dropped, *(float(part.max()) for part in ahead if len(part))])

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete schedule; (-inf, -1) if none."""
        t, _, nodes = self._cursor[:3].tolist()
        if t < self.diagram.length or nodes == 0:
            return -np.inf, -1
        states = self._nodes.states[t % 2, :nodes]
        total = self._nodes.value[t % 2, :nodes] + self._completion.worth[states].sum(axis=1)
        node = int(total.argmax())
        return float(total[node]), node

    def rounds(self, node: int) -> tuple[tuple[int, ...], ...]:
        """Return the arms that each round plays on the way to a complete schedule."""
        d, back, n = self.diagram.length, self._back, self.sharing.n_arms
        way = [node] * d
        for t in range(d - 1, 0, -1):
            way[t - 1] = back.parent.item(t, way[t])
        places, arcs = back.place[np.arange(d), way], back.taken[np.arange(d), way]
        machines = places if len(set(self._alike.tolist())) == n else self._moved(places, arcs)
        rounds = zip(machines.tolist(), arcs.tolist(), strict=True)
        return tuple(self._arms(*moves) for moves in rounds)

    def _moved(self, places: StateArray, arcs: StateArray) -> StateArray:
        """Return which machines were at these places (-1: none) by round.

        Symmetric ones change places on the way, as in `child_states`.
        """
        m, n = self.diagram, self.sharing.n_arms
        group = np.cumsum(np.append(0, np.diff(self._alike) != 0))
        state, names, machines = m.root[:n], np.arange(n), np.full_like(places, -1)
        for place, taken, at in zip(places, arcs, machines, strict=True):
            moving = place >= 0
            at[moving] = names[place[moving]]
            state = m.idle[state]
            state[place[moving]] = m.nxt[taken[moving]]
            order = np.lexsort((state, group))
            state, names = state[order], names[order]
        return machines

    def _arms(self, machines: list[int], arcs: list[int]) -> tuple[int, ...]:
        """Return the arms that machines pull by these arcs; -1 is no machine."""
        arms: list[int] = []
        for number, arc in zip(machines, arcs, strict=True):
            if number >= 0:
                machine, label = self._machines[number], self.diagram.label.item(arc)
                arms += [machine.members[member] for member in machine.pulled[label]]
        return tuple(sorted(arms))


def most_moves(machines: list[Machine], sharing: Sharing) -> int:
    """Return how many machines with arms may move in a round: pulled, or with an automaton."""
    with_automata = sum(bool(machine.inside.any()) for machine in machines[: sharing.n_arms])
    return max(1, min(sharing.n_arms, sharing.most + with_automata))


@jit
def advance(
    m: Diagram,
    h: Sharing,
    completion: Completion,
    nodes: Nodes,
    back: Backpointers,
    found: Candidates,
    scratch: Scratch,
    cursor: IntArray,
    ledger: FloatArray,
    budget: int,
) -> bool:
    """Run the beam until the last round (True) or until about ``budget`` moves (False)."""
    d, width = back.parent.shape
    depth = back.taken.shape[2]
    t, node, n_nodes, count = cursor[ROUND], cursor[NODE], cursor[NODES], cursor[CANDIDATES]
    while t < d:
        if node == 0:
            cursor[PLACES] = place_anew(found, whole(0), whole(FEW_PLACES))
        while node < n_nodes:
            if budget <= 0:
                cursor[ROUND], cursor[NODE], cursor[NODES] = t, node, n_nodes
                cursor[CANDIDATES] = count
                return False
            count, work = expand(
                m, h, completion, nodes, found, scratch, cursor, ledger, t, node, count, width
            )
            budget -= work
            cursor[SPENT] += work
            node += 1
        if count > width:
            count = keep_best(count, width, whole(0), found, scratch.bounds, ledger)
        for j in range(count):
            p = found.parent[j]
            here, there = nodes.states[t % 2, p], nodes.states[1 - t % 2, j]
            child_states(m, h, completion.alike, here, found, j, scratch.event, there)
            nodes.value[1 - t % 2, j], nodes.bound[1 - t % 2, j] = found.value[j], found.bound[j]
            back.parent[t, j] = p
            for x in range(depth):
                back.taken[t, j, x] = found.taken[j * depth + x]
                back.place[t, j, x] = found.place[j * depth + x]
        ledger[CUT] = -np.inf
        t, n_nodes = t + 1 if count > 0 else d, count
        node, count = 0, 0
    cursor[ROUND], cursor[NODES] = t, n_nodes
    return True
