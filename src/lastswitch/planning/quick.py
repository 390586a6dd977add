"""The first round of a search in one compiled call: what most problems need no more than.

Prices, a narrow beam, better prices, and so on, as :class:`~lastswitch.planning.search.Search`
does for problems that need deletions or a look at the clock in between. Between two kernels of a
fraction of a millisecond each, Python would take longer than they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import bare, hot
from lastswitch.planning.automata import StateArray
from lastswitch.planning.beam import (
    CANDIDATES,
    NODE,
    NODES,
    SLOT,
    WIDTH,
    Beam,
    Guide,
    Nodes,
    Ways,
    advance,
)
from lastswitch.planning.machines import Machines
from lastswitch.planning.prices import BEST, THETA, Descent, Pace, Prices, descend
from lastswitch.planning.selection import CUT, DROPPED, FLOOR, Found

#: Entries of the record: best value, bound on every block, and how close is close enough: what sums
#: may differ by, and as a share of the value.
VALUE, BOUND, ROUNDING, GAP = 0, 1, 2, 3
#: More work than any beam takes. (Of a plain integer's value Numba would make a type.)
AT_ONCE: Any = np.int64(1 << 60)


def first_round(
    prices: Prices, beam: Beam, schedule: FloatArray, record: FloatArray
) -> tuple[IntArray, IntArray] | None:
    """Go through the schedule until proven; return how the best block is filled, if one is new.

    Each row of the schedule has the largest step size, how many steps to take, and the width of
    the beam after them. ``record`` is described above, and brought up to date.
    """
    d, before = prices.machines.length, record[VALUE]
    place, taken = np.empty(d, np.int64), np.empty(d, np.int64)
    go_through(
        *(prices.machines, prices.descent, prices.pace, beam.guide, beam.nodes, beam.ways),
        *(beam.found, beam.scratch, beam.pair, beam.cursor, beam.ledger),
        *(schedule, record, place, taken),
    )
    return beam.named(place, taken) if record[VALUE] > before else None


@bare
def go_through(
    m: Machines,
    descent: Descent,
    pace: Pace,
    guide: Guide,
    nodes: Nodes,
    ways: Ways,
    found: Found,
    scratch: FloatArray,
    pair: StateArray,
    cursor: IntArray,
    ledger: FloatArray,
    schedule: FloatArray,
    record: FloatArray,
    place: IntArray,
    taken: IntArray,
) -> None:
    """Take the steps and run the beams of the schedule; write down the way to the best block."""
    price, memo = descent.price, descent.memo
    for row in range(len(schedule)):
        memo[THETA] = min(memo[THETA], schedule[row, 0])
        if schedule[row, 1] > 0.0:
            target = record[VALUE]
            if target == -np.inf:  # nothing to aim at yet: something a little lower
                size = 0.0
                for t in range(len(price)):
                    size += abs(price[t])
                target = memo[BEST] - 0.1 * max(abs(memo[BEST]), size)
            descend(m, descent, pace, target, int(schedule[row, 1]))
        if lowered(record, memo[BEST]):
            return
        for t in range(len(price) - 1, -1, -1):
            guide.ahead[t] = guide.ahead[t + 1] + price[t]
        for i in range(len(m.root)):
            nodes.states[0, 0, i] = m.root[i]
        nodes.value[0, 0], nodes.bound[0, 0] = 0.0, np.inf
        cursor[SLOT], cursor[NODE], cursor[NODES], cursor[CANDIDATES] = 0, 0, 1, 0
        cursor[WIDTH] = int(schedule[row, 2])
        ledger[DROPPED], ledger[CUT] = -np.inf, -np.inf
        ledger[FLOOR] = record[VALUE]
        advance(m, guide, nodes, ways, found, scratch, pair, cursor, ledger, AT_ONCE)
        trace(guide, nodes, ways, cursor, record, place, taken)
        if lowered(record, ledger[DROPPED]):
            return


@hot
def lowered(record: FloatArray, bound: float) -> bool:
    """Take note of a bound on what is better than the best; tell whether it is close enough."""
    record[BOUND] = min(record[BOUND], max(bound, record[VALUE]))
    enough = max(record[ROUNDING], record[GAP] * abs(record[VALUE]))
    return bool(record[BOUND] <= record[VALUE] + enough)


@hot
def trace(
    guide: Guide,
    nodes: Nodes,
    ways: Ways,
    cursor: IntArray,
    record: FloatArray,
    place: IntArray,
    taken: IntArray,
) -> None:
    """Write down the way to the best complete block, if it is better than the best so far."""
    d = len(place)
    side, best = d % 2, -1
    for node in range(cursor[NODES]):
        total = nodes.value[side, node]
        for i in range(nodes.states.shape[2]):
            total += guide.worth[nodes.states[side, node, i]]
        if total > record[VALUE]:
            record[VALUE], best = total, node
    if best >= 0:
        for t in range(d - 1, -1, -1):
            place[t], taken[t] = ways.place[t, best], ways.taken[t, best]
            best = ways.parent[t, best]
