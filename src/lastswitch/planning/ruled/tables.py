"""Counters spelt out as tables: what they may remember in each round, and how that moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.errors import RuleError
from lastswitch.planning.ruled.counters import Counter

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


def tabulated(counters: Sequence[Counter], events: Sequence[Sequence[int]], length: int) -> Table:
    """Return the joint table of some counters; ``events[e]`` is what each hears of event ``e``.

    Examples
    --------
    >>> from lastswitch.planning.ruled.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [counter] = counters_of(apart(0, 3), 3, 1, ())
    >>> tabulated([counter], [(0,), (1,)], 3).offset.tolist()
    [0, 1, 3, 5, 6]
    """
    now: dict[Hashable, int] = {tuple(counter.start for counter in counters): 0}
    offset, after, pay = [0, 1], [], []
    steady = all(counter.steady for counter in counters)
    known: dict[Hashable, tuple[list[Hashable | None], list[float]]] = {}
    for t in range(length):
        begin, later = offset[-1], {}  # type: int, dict[Hashable, int]
        if not steady:
            known = {}
        for state in now:
            if state not in known:
                known[state] = _moves(counters, t, state, events)
            targets, pays = known[state]
            row = [-1 if x is None else begin + later.setdefault(x, len(later)) for x in targets]
            after.append(row)
            pay.append(pays)
        now = later
        offset.append(begin + len(now))
        if offset[-1] > MOST_STATES:
            rule = counters[0].rule
            raise RuleError(
                f"{rule!r} has too much to remember over {length} rounds (more than "
                f"{MOST_STATES} states): ask for periods (every=) instead of sliding windows "
                "(within=), or for shorter windows."
            )
    after += [[-1] * len(events)] * len(now)
    pay += [[0.0] * len(events)] * len(now)
    return _merged(Table(np.array(offset), np.array(after, np.int64), np.array(pay, np.float64)))


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


def _merged(table: Table) -> Table:
    """Return the table with states of equal future taken together, and none without a future."""
    offset, after, pay = table
    length = len(offset) - 2
    label = np.zeros(len(after), np.int64)  # within the round; -1: a dead end
    rows: list[tuple[IntArray, FloatArray]] = [(after[:0], pay[:0])] * (length + 1)
    size = after.shape[1]
    rows[length] = np.full((1, size), -1), np.zeros((1, size))
    for t in range(length - 1, -1, -1):
        here = slice(offset[t], offset[t + 1])
        to = np.where(after[here] >= 0, label[after[here]], -1)
        gain = np.where(to >= 0, pay[here], 0.0)
        alive = to.max(axis=1) >= 0
        raw = np.hstack([to, gain.view(np.int64)]).tobytes()
        width = 16 * to.shape[1]
        classes: dict[bytes, int] = {}
        first = []
        for x in np.flatnonzero(alive).tolist():
            key = raw[x * width : (x + 1) * width]
            if key not in classes:
                classes[key] = len(classes)
                first.append(x)
            label[offset[t] + x] = classes[key]
        label[here][~alive] = -1
        rows[t] = to[first], gain[first]
    return _numbered(rows, int(label[0]))


def _numbered(rows: list[tuple[IntArray, FloatArray]], root: int) -> Table:
    """Return rows of moves (targets within the next round) as a table with the root first."""
    if root < 0:
        size = rows[0][0].shape[1]
        dead = np.arange(len(rows) + 1)
        return Table(dead, np.full((len(rows), size), -1), np.zeros((len(rows), size)))
    order = np.arange(len(rows[0][0]))
    order[[0, root]] = root, 0
    rows[0] = rows[0][0][order[:1]], rows[0][1][order[:1]]
    offset = np.cumsum([0, *(len(to) for to, _ in rows)])
    after = [np.where(to >= 0, to + offset[t + 1], -1) for t, (to, _) in enumerate(rows)]
    return Table(offset, np.concatenate(after), np.concatenate([gain for _, gain in rows]))
