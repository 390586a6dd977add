"""Arms with the counters that hear one of them only, as one automaton each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.errors import RuleError
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.diagram import Diagram, Model, StateArray, as_it_comes
from lastswitch.planning.diagrams.minimise import MIX_A
from lastswitch.planning.diagrams.tables import Table, tabulated
from lastswitch.rules.automata.counters import Counter

#: Room for this many states of arms and counters for each of the arms alone, to begin with.
ROOM = 4
#: With more states of arms and counters than this, memory runs out before an answer does.
MOST_STATES = 30_000_000


class Factors(NamedTuple):
    """What is multiplied: arms, and the tables of their counters behind one another.

    State ``c`` of a counter moves to ``heard[c, 0]`` when its arm idles and to ``heard[c, 1]`` when
    it is pulled (-1: forbidden), which pays ``heard_pay[c]``. An arm begins in ``root``, its
    counters in ``heard_root``.
    """

    idle: StateArray
    pull: StateArray
    pay: FloatArray
    root: StateArray
    heard: IntArray
    heard_pay: FloatArray
    heard_root: IntArray


def folded(
    model: Model,
    counters: Sequence[Sequence[Counter]],
    allowed: BoolArray,
    kinds: IntArray,
    clock: Clock | None = None,
) -> tuple[Diagram, IntArray, StateArray]:
    """Return arms multiplied by their own counters, which are alike, and the arm of each state.

    What the mask forbids is left out. Arms of different kinds are not alike.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
    """
    arms = model.arms
    d, n_arms = model.length, model.n_arms
    factors = _factors(arms, counters, clock)
    room = int(ROOM * len(arms.idle)) + 1
    while True:
        offset, states = np.empty(d + 2, np.int64), np.empty((3, room), np.int32)
        moves, pay = np.empty((2, room), np.int32), np.empty(room)
        table = np.full(1 << (2 * room).bit_length(), -1, np.int32)
        count = fold(factors, allowed, offset, states, moves, pay, table)
        if count >= 0:
            break
        if room > MOST_STATES:
            rule = next(own[0].rule for own in counters if own)
            raise RuleError(
                f"{rule!r} and others have too much to remember over {d} rounds (more than "
                f"{MOST_STATES:,} states of arms and rules): ask for periods (every=) instead of "
                "sliding windows (within=), or for shorter windows."
            )
        if clock is not None:
            clock.check()
        room *= 4
    label: dict[object, int] = {}
    alike = [
        label.setdefault((int(model.alike[i]), int(kinds[i]), _likeness(counters[i])), i)
        for i in range(n_arms)
    ]
    final = arms.final[states[1, offset[d] : count] - arms.lo[-1]]
    diagram = as_it_comes(
        *(offset, moves[0, :count], moves[1, :count], pay[:count] + 0.0, final),
        np.arange(n_arms, dtype=np.int32),
    )
    return diagram, np.array(alike), states[0, :count]


def _likeness(counters: Sequence[Counter]) -> tuple[object, ...]:
    return tuple(counter.key for counter in counters)


def _arm_tables(
    counters: Sequence[Sequence[Counter]], length: int, clock: Clock | None
) -> tuple[list[Table], IntArray]:
    """Return the joint table of each arm's counters, different ones once, and which is whose."""
    tables: list[Table] = []
    known: dict[object, int] = {}
    table_of = []
    for own in counters:
        letters = [next(iter(counter.letters.values())) for counter in own]
        like = (_likeness(own), tuple(letters))
        if like not in known:
            known[like] = len(tables)
            tables.append(tabulated(own, [[0] * len(own), letters], length, clock))
        table_of.append(known[like])
    return tables, np.array(table_of)


def _factors(
    arms: Diagram, counters: Sequence[Sequence[Counter]], clock: Clock | None = None
) -> Factors:
    """Return the arms and the tables of their counters as kernels take them."""
    tables, table_of = _arm_tables(counters, arms.length, clock)
    begin = np.cumsum([0, *(len(table.after) for table in tables)])
    moves = [np.where(x.after >= 0, x.after + b, -1) for x, b in zip(tables, begin, strict=False)]
    return Factors(
        *(arms.idle, arms.nxt, arms.gain, arms.root),
        heard=np.concatenate(moves),
        heard_pay=np.concatenate([table.pay[:, 1] for table in tables]),
        heard_root=begin[table_of],
    )


@jit
def fold(
    factors: Factors,
    allowed: BoolArray,
    offset: IntArray,
    states: StateArray,
    moves: StateArray,
    gain: FloatArray,
    table: StateArray,
) -> int:
    """List the states of arms and counters that can be reached; return how many, -1: no room.

    ``states`` says the arm, its own state and its counters' of each; ``moves`` and ``gain`` where
    it gets by idling and by a pull, and what the pull pays.
    """
    idle, pull, pay, root, heard, heard_pay, heard_root = factors
    d, n_arms = allowed.shape
    room, mask, count = states.shape[1], len(table) - 1, n_arms
    if room < n_arms:
        return -1
    for i in range(n_arms):
        states[0, i], states[1, i], states[2, i] = i, root[i], heard_root[i]
    offset[0], offset[1] = 0, n_arms
    for t in range(d):
        begin = offset[t + 1]
        for x in range(offset[t], begin):
            i, s, c = states[0, x], states[1, x], states[2, x]
            gain[x] = 0.0
            for pulled in range(2):
                moves[pulled, x] = -1
                own, other = pull[s] if pulled else idle[s], heard[c, pulled]
                if own < 0 or other < 0 or (pulled and not allowed[t, i]):
                    continue
                if pulled:
                    gain[x] = pay[s] + heard_pay[c]
                key = (np.uint64(own) << np.uint64(32)) + np.uint64(other)
                key = ((key * MIX_A) ^ np.uint64(i)) * MIX_A
                place = np.int64(key >> np.uint64(24)) & mask
                # What an earlier round left in the table is as good as nothing.
                while table[place] >= begin:
                    y = table[place]
                    if states[0, y] == i and states[1, y] == own and states[2, y] == other:
                        break
                    place = (place + 1) & mask
                if table[place] < begin:
                    if count == room:
                        return -1
                    table[place] = count
                    states[0, count], states[1, count], states[2, count] = i, own, other
                    count += 1
                moves[pulled, x] = table[place]
        offset[t + 2] = count
    for x in range(offset[d], count):
        moves[0, x], moves[1, x], gain[x] = -1, -1, 0.0
    return int(count)


def fold_reference(
    factors: Factors, allowed: BoolArray
) -> tuple[list[int], list[tuple[int, int, int]], list[tuple[int, int]], list[float]]:
    """Return what :func:`fold` fills: offset, states, moves and gain."""
    f = factors
    d, n_arms = allowed.shape
    states = [(i, int(f.root[i]), int(f.heard_root[i])) for i in range(n_arms)]
    offset, moves, gain = [0, n_arms], [], []
    for t in range(d):
        number: dict[tuple[int, int, int], int] = {}
        for i, s, c in states[offset[t] : offset[t + 1]]:
            after = [(i, int(f.idle[s]), int(f.heard[c, 0]))]
            after.append((i, int(f.pull[s]) if allowed[t, i] else -1, int(f.heard[c, 1])))
            for state in after:
                if min(state) >= 0 and state not in number:
                    number[state] = len(states)
                    states.append(state)
            moves.append((number.get(after[0], -1), number.get(after[1], -1)))
            gain.append(float(f.pay[s] + f.heard_pay[c]) if moves[-1][1] >= 0 else 0.0)
        offset.append(len(states))
    ends = len(states) - offset[d]
    return offset, states, moves + [(-1, -1)] * ends, gain + [0.0] * ends
