"""Counters spelt out as tables: what they may remember in each round, and how that moves.

Steps are plain Python, so each is taken once: for every state and every kind of round, however many
rounds of the kind there are (:func:`explored`). Which states each round can have, and which of them
have the same future, is left to kernels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.errors import RuleError
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.diagram import StateArray
from lastswitch.planning.diagrams.minimise import MIX_A, MIX_B, KeyArray
from lastswitch.rules.automata.counters import Counter

#: States a counter may have over all rounds.
MOST_STATES = 300_000


class Table(NamedTuple):
    """A counter's states and moves, round by round.

    States of round ``t`` are ``offset[t] .. offset[t+1] - 1``. Event ``e`` moves state ``s`` to
    ``after[s, e]`` (-1: forbidden) and pays ``pay[s, e]``.
    """

    offset: IntArray
    after: IntArray
    pay: FloatArray

    @property
    def root(self) -> int:
        """The state before round 0."""
        return 0


class Steps(NamedTuple):
    """All steps of a counter, the state it begins in being 0.

    In a round ``t`` event ``e`` moves state ``s`` to ``after[kind[t], s, e]`` (-1: forbidden) and
    pays ``pay[kind[t], s, e]``; states that no round of the kind can have move nowhere.
    """

    kind: IntArray
    after: StateArray
    pay: FloatArray


def tabulated(
    counters: Sequence[Counter],
    events: Sequence[Sequence[int]],
    length: int,
    clock: Clock | None = None,
) -> Table:
    """Return the joint table of some counters; ``events[e]`` is what each hears of event ``e``.

    States of equal future are taken together, and there are none without a future.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.

    Examples
    --------
    >>> from lastswitch.rules.automata.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [counter] = counters_of(apart(0, 3), 3, 1, ())
    >>> tabulated([counter], [(0,), (1,)], 3).offset.tolist()
    [0, 1, 3, 5, 6]
    """
    kind, after, pay = explored(counters, events, length, clock)
    _, n_states, n_events = after.shape
    offset = np.zeros(length + 2, np.int64)
    room = min(n_states * length + 1, MOST_STATES) + 1
    reached = np.empty(room, np.int32)
    count = reach(kind, after, offset, reached, np.full(n_states, -1, np.int32))
    if count > MOST_STATES:
        raise _too_much(counters, length)
    widest = int((offset[1:] - offset[:-1]).max())
    begin, to = np.zeros(length + 2, np.int64), np.empty((count + 1, n_events), np.int64)
    gain = np.empty((count + 1, n_events), np.uint64)
    label = np.empty((2, n_states), np.int32)
    table = np.full(1 << (2 * widest).bit_length(), -1, np.int32)
    classes = merge(
        kind, after, pay.view(np.uint64), offset, reached, begin, to, gain, label, table
    )
    if label[0, 0] < 0:
        return _dead(length, n_events)
    # Classes are written from the last round back; the table has them from the first on.
    sizes = begin[1:] - begin[:-1]
    offset[1:] = np.cumsum(sizes[::-1])
    shift = np.repeat(offset[1:], sizes[::-1])[:, None]
    order = np.arange(classes) + np.repeat(begin[-2::-1] - offset[:-1], sizes[::-1])
    to = to[order]
    return Table(offset, np.where(to >= 0, to + shift, -1), gain[order].view(np.float64))


def explored(
    counters: Sequence[Counter],
    events: Sequence[Sequence[int]],
    length: int,
    clock: Clock | None = None,
) -> Steps:
    """Return the joint steps of some counters, in each kind of round from all states so far."""
    kinds: dict[Hashable, int] = {}
    phases = (
        zip(*(counter.phases for counter in counters), strict=True) if counters else [()] * length
    )
    kind = [kinds.setdefault(phase, len(kinds)) for phase in phases]
    states: list[Hashable] = [tuple(counter.start for counter in counters)]
    number = {states[0]: 0}
    after: list[list[list[int]]] = [[] for _ in kinds]
    pay: list[list[list[float]]] = [[] for _ in kinds]
    for t, k in enumerate(kind):
        for state in states[len(after[k]) :]:
            if clock is not None:  # a step takes up to milliseconds, a look at the clock none
                clock.check()
            targets, pays = _moves(counters, t, state, events)
            for target in targets:
                if target is not None and target not in number:
                    number[target] = len(states)
                    states.append(target)
            after[k].append([-1 if target is None else number[target] for target in targets])
            pay[k].append(pays)
        if len(states) > MOST_STATES:
            raise _too_much(counters, length)
    steps = Steps(
        np.array(kind, np.int64),
        np.full((len(kinds), len(states), len(events)), -1, np.int32),
        np.zeros((len(kinds), len(states), len(events))),
    )
    for k, rows in enumerate(after):
        steps.after[k, : len(rows)], steps.pay[k, : len(rows)] = rows, pay[k]
    return steps


def _moves(
    counters: Sequence[Counter], t: int, state: Hashable, events: Sequence[Sequence[int]]
) -> tuple[list[Hashable | None], list[float]]:
    """Return the joint state after each event (None: it is forbidden) and what that pays."""
    targets: list[Hashable | None] = []
    pays = []
    for event in events:
        target, worth = [], 0.0
        for counter, memory, heard in zip(counters, state, event, strict=True):  # type: ignore[call-overload]
            following, wrong = counter.step(t, memory, heard)
            if wrong and (counter.cost is None or (counter.closed and following == ())):
                break
            worth -= wrong * (counter.cost or 0.0)
            target.append(following)
        forbidden = len(target) < len(counters)
        targets.append(None if forbidden else tuple(target))
        pays.append(0.0 if forbidden else worth)
    return targets, pays


def _too_much(counters: Sequence[Counter], length: int) -> RuleError:
    return RuleError(
        f"{counters[0].rule!r} has too much to remember over {length} rounds (more than "
        f"{MOST_STATES} states): ask for periods (every=) instead of sliding windows "
        "(within=), or for shorter windows."
    )


def _dead(length: int, n_events: int) -> Table:
    """Return the table of a counter that nothing can please."""
    n = length + 1
    return Table(np.arange(n + 1), np.full((n, n_events), -1), np.zeros((n, n_events)))


@jit
def reach(
    kind: IntArray, after: StateArray, offset: IntArray, reached: StateArray, seen: StateArray
) -> int:
    """List the states that each round can have; return how many there are in all.

    Without room for them, one more than there is room for. ``seen`` holds the last round each
    state was found for, -1 for none.
    """
    room, count = len(reached), 1
    reached[0], offset[0], offset[1] = 0, 0, 1
    for t in range(len(kind)):
        for x in range(offset[t], offset[t + 1]):
            for e in range(after.shape[2]):
                s = after[kind[t], reached[x], e]
                if s < 0 or seen[s] == t:
                    continue
                seen[s] = t
                if count == room:
                    return room + 1
                reached[count] = s
                count += 1
        offset[t + 2] = count
    return count


@jit
def merge(
    kind: IntArray,
    after: StateArray,
    pay: KeyArray,
    offset: IntArray,
    reached: StateArray,
    begin: IntArray,
    to: IntArray,
    gain: KeyArray,
    label: StateArray,
    table: StateArray,
) -> int:
    """Write down the states of each round that differ in their future; return how many they are.

    From the last round back: those of round ``t`` are rows ``begin[d - t] .. begin[d - t + 1] - 1``
    of ``to``, the class each event leads to within the next round, and of ``gain``, its pay (as
    bits, which can be hashed). ``label[t % 2]`` becomes the class of each state, -1 for one that
    has no future.
    """
    d, n_events, mask = len(kind), after.shape[2], len(table) - 1
    for x in range(offset[d], offset[d + 1]):
        label[d % 2, reached[x]] = 0
    for e in range(n_events):
        to[0, e], gain[0, e] = -1, np.uint64(0)
    begin[0], begin[1] = 0, 1
    count = 1
    for t in range(d - 1, -1, -1):
        first = count
        for x in range(offset[t], offset[t + 1]):
            s, key, ways = reached[x], np.uint64(0), 0
            for e in range(n_events):  # written down as class `count`, which it is if it is new
                target = after[kind[t], s, e]
                goal = label[(t + 1) % 2, target] if target >= 0 else np.int32(-1)
                to[count, e] = goal
                gain[count, e] = pay[kind[t], s, e] if goal >= 0 else np.uint64(0)
                ways += 1 if goal >= 0 else 0
                key ^= gain[count, e] * MIX_A + np.uint64(goal + 1)
                key = (key ^ (key >> np.uint64(29))) * MIX_B
            label[t % 2, s] = -1
            if ways == 0:
                continue
            place = np.int64(key >> np.uint64(24)) & mask
            while table[place] >= first:
                other, unlike = table[place], 0
                for e in range(n_events):
                    if to[other, e] != to[count, e] or gain[other, e] != gain[count, e]:
                        unlike += 1
                if unlike == 0:
                    break
                place = (place + 1) & mask
            if table[place] < first:
                table[place] = count
                count += 1
            label[t % 2, s] = table[place] - first
        begin[d - t + 1] = count
    return count


def tabulated_reference(
    counters: Sequence[Counter], events: Sequence[Sequence[int]], length: int
) -> Table:
    """Return what :func:`tabulated` does, every state of every round stepped on its own."""
    start: Hashable = tuple(counter.start for counter in counters)
    layers: list[dict[Hashable, tuple[list[Hashable | None], list[float]]]] = []
    now: dict[Hashable, None] = {start: None}
    for t in range(length):
        layers.append({state: _moves(counters, t, state, events) for state in now})
        now = dict.fromkeys(x for to, _ in layers[t].values() for x in to if x is not None)
    nowhere = (-1,) * len(events), (0.0,) * len(events)
    label = dict.fromkeys(now, 0)
    rounds = [[nowhere]]
    for layer in reversed(layers):
        classes: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
        before = {}
        for state, (targets, pays) in layer.items():
            to = tuple(-1 if x is None else label[x] for x in targets)
            gains = tuple(pay if x >= 0 else 0.0 for x, pay in zip(to, pays, strict=True))
            alive = max(to) >= 0
            before[state] = classes.setdefault((to, gains), len(classes)) if alive else -1
        rounds.insert(0, list(classes))
        label = before
    if label[start] < 0:
        return _dead(length, len(events))
    offset = np.cumsum([0, *map(len, rounds)])
    after = [
        [x + offset[t + 1] if x >= 0 else -1 for x in to]
        for t, classes_of in enumerate(rounds)
        for to, _ in classes_of
    ]
    return Table(offset, np.array(after), np.array([pay for part in rounds for _, pay in part]))
