"""Better blocks by planning a few arms anew: they keep their slots, and share them out again.

The slots some arms hold in a block, and these arms alone, are a small planning problem: everyone
else's slots are slots in which these arms idle. It is solved by prices, deletions and one narrow
beam, whose floor is what the arms earn now.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit, whole
from lastswitch._random import stream
from lastswitch.planning.automata import Automata, StateArray
from lastswitch.planning.beam import Beam
from lastswitch.planning.bundle import Bundle
from lastswitch.planning.machines import compact
from lastswitch.planning.params import DEFAULT, SearchParams

#: What a try costs in states swept, besides the work it counts.
TRY_WORK = 60_000


class Part(NamedTuple):
    """Some arms, the slots they hold, their automata on these, and what they earn there now."""

    arms: IntArray
    slots: IntArray
    automata: Automata
    earned: float


class Neighbourhoods:
    """Choices of arms around a block, one after the other, and what comes of them.

    Parameters
    ----------
    automata
        All arms.
    params
        The constants of the search.
    """

    def __init__(self, automata: Automata, params: SearchParams = DEFAULT) -> None:
        self.automata, self.params = automata, params
        self._rng = stream(0, "neighbourhoods")
        self._turn = 0
        self._slots, self._arms = params.free_slots, params.free_arms
        self.patience = params.free_tries * automata.n_arms
        room = min(len(automata.idle), params.free_states)
        self._origin, self._label = np.empty(room, np.int32), np.zeros(len(automata.idle), np.int32)
        self._tables = (np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room))

    def widen(self) -> None:
        """Choose more arms from here on, and try more often."""
        more = self.params.free_more
        self._slots, self._arms = int(more * self._slots), int(more * self._arms)
        self.patience *= 2

    def improved(
        self, block: IntArray, price: FloatArray, claims: FloatArray, rounding: float
    ) -> tuple[IntArray | None, int]:
        """Try one neighbourhood; return a better block, if there is one, and the work it took.

        ``claims`` is how much of each slot each arm wants; improvements up to ``rounding`` are
        none.
        """
        part = self._freed(block, claims)
        if part is None:
            return None, len(self._origin)
        return self._filled(block, part, price, part.earned + rounding)

    def shaken(
        self, block: IntArray, price: FloatArray, claims: FloatArray
    ) -> tuple[IntArray | None, int]:
        """Return another block, if there is one nearly as good, and the work it took.

        It is the best of a neighbourhood in which a few slots must not keep their arms.
        """
        part = self._freed(block, claims)
        if part is None:
            return None, len(self._origin)
        few = self._rng.integers(1, self.params.shake_slots + 1)
        for slot in self._rng.permutation(len(part.slots))[:few].tolist():
            bar(part.automata, int((part.arms == block[part.slots[slot]]).argmax()), slot)
        floor = part.earned - self.params.shake_loss * abs(part.earned)
        return self._filled(block, part, price, floor)

    def _filled(
        self, block: IntArray, part: Part, price: FloatArray, floor: float
    ) -> tuple[IntArray | None, int]:
        """Return the block with its slots shared out again, if that earns more than ``floor``."""
        arms, slots = part.arms, part.slots
        steps, width = self.params.free_steps, self.params.free_width
        machines = compact(part.automata)
        if machines is None:
            return None, len(part.automata.idle)
        work = steps * machines.size
        prices = Bundle(machines, price[slots], params=self.params)
        prices.descend(floor, steps)
        if prices.bound <= floor:
            return None, work
        beam = Beam(
            *(machines, self.automata.twins[arms], width, prices.worth, prices.price, self.params)
        )
        beam.run(floor, 1 << 40)
        work += width * len(slots) * len(arms)
        value, node = beam.best()
        if value <= floor:
            return None, work
        other = block.copy()
        other[slots] = arms[beam.way_to(node)[0]]
        return other, work

    def _chosen(self, block: IntArray, claims: FloatArray) -> IntArray:
        """Return the arms to plan anew: at random, around a slot, or where claims and block differ.

        As many as hold the wanted number of slots; and two that hold none.
        """
        n_arms, d = claims.shape
        held = np.bincount(block, minlength=n_arms)
        holds = held.tolist()
        self._turn += 1
        if self._turn % 3 == 0:
            order = self._rng.permutation(n_arms).tolist()
        elif self._turn % 3 == 1:
            near = np.argsort(np.abs(np.arange(d) - self._rng.integers(d)), kind="stable")
            order = list(dict.fromkeys(block[near].tolist()))
        else:
            takes = block == np.arange(n_arms)[:, None]
            unlike = np.abs(claims - takes).sum(axis=1)
            order = np.argsort(-unlike * self._rng.random(n_arms), kind="stable").tolist()
        shares = self.params.free_shares
        target = max(2, min(self._slots, int(d * shares[self._turn // 3 % len(shares)])))
        chosen: list[int] = []
        free = 0
        for arm in order:
            if 0 < holds[arm] <= target - free and len(chosen) < self._arms:
                chosen.append(arm)
                free += holds[arm]
        others = np.flatnonzero(held == 0)
        if len(others):
            want = claims[others].sum(axis=1) + 0.1 * self._rng.random(len(others))
            chosen += others[np.argsort(-want)[:2]].tolist()
        return np.array(sorted(chosen), np.int64)

    def _freed(self, block: IntArray, claims: FloatArray) -> Part | None:
        """Return some arms on the slots they hold; None if that is nothing, or too much."""
        arms = self._chosen(block, claims)
        taken = np.zeros(len(claims), np.bool_)
        taken[arms] = True
        slots = np.flatnonzero(taken[block])
        if len(arms) < 2 or len(slots) < 2:
            return None
        # Twins next to each other, as the beam wants them.
        arms = arms[np.argsort(self.automata.twins[arms], kind="stable")]
        a, (idle, pull, pay) = self.automata, self._tables
        offset, root = np.zeros(len(slots) + 2, np.int64), np.empty(len(arms), np.int32)
        earned = free(
            *(a.offset, a.idle, a.pull, a.pay, a.final, a.root, block, arms, slots),
            *(offset, idle, pull, pay, root, self._origin, self._label),
        )
        if np.isnan(earned):
            return None
        n, end = int(offset[-1]), int(offset[-2])
        automata = Automata(
            offset=offset,
            idle=idle[:n],
            pull=pull[:n],
            pay=pay[:n],
            final=pay[end:n].copy(),
            root=root,
            twins=a.twins[arms],
        )
        return Part(arms, slots, automata, earned)


def bar(automata: Automata, arm: int, slot: int) -> None:
    """Forbid an arm to be pulled in a slot, whatever it did before."""
    states = automata.root[arm : arm + 1]
    for _ in range(slot):
        states = np.unique(np.concatenate([automata.idle[states], automata.pull[states]]))
        states = states[states >= 0]
    automata.pull[states] = -1


@jit
def free(
    old_offset: IntArray,
    old_idle: StateArray,
    old_pull: StateArray,
    old_pay: FloatArray,
    final: FloatArray,
    old_root: StateArray,
    block: IntArray,
    arms: IntArray,
    slots: IntArray,
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    root: StateArray,
    origin: StateArray,
    label: StateArray,
) -> float:
    """Write the arms' automata on the free slots; return what they earn in ``block``.

    NaN if there is no room. At the end ``pay`` holds what the last states are worth.
    """
    d, n_slots = len(block), len(slots)
    earned = 0.0
    for k in range(len(arms)):
        s = old_root[arms[k]]
        for t in range(d):
            if block[t] == arms[k]:
                earned += old_pay[s]
                s = old_pull[s]
            else:
                s = old_idle[s]
        earned += final[s - old_offset[d]]
    none = count = whole(0)
    for k in range(len(arms)):
        s = rested(old_idle, old_root[arms[k]], none, slots[0])
        root[k] = number(origin, label, s, none, count)
        if root[k] == len(origin):
            return np.nan
        count += root[k] == count
    offset[0], offset[1] = 0, count
    for j in range(n_slots):
        until = slots[j + 1] if j + 1 < n_slots else d
        begin = count
        for x in range(offset[j], offset[j + 1]):
            s = origin[x]
            pay[x] = old_pay[s]
            after = rested(old_idle, old_idle[s], slots[j] + 1, until)
            idle[x] = number(origin, label, after, begin, count)
            count += idle[x] == count
            after = rested(old_idle, old_pull[s], slots[j] + 1, until)
            pull[x] = number(origin, label, after, begin, count)
            count += pull[x] == count
            if count > len(origin):
                return np.nan
        offset[j + 2] = count
    for x in range(offset[n_slots], count):
        idle[x], pull[x], pay[x] = -1, -1, final[origin[x] - old_offset[d]]
    return earned


@jit(inner=True)
def rested(idle: StateArray, s: int, t: int, until: int) -> int:
    """Return the state after idling from slot ``t`` to ``until``; -1 if that is not allowed."""
    while t < until and s >= 0:
        s = idle[s]
        t += 1
    return s


@jit(inner=True)
def number(origin: StateArray, label: StateArray, s: int, begin: int, count: int) -> int:
    """Return the new number of state ``s`` in the slot that begins at ``begin``: -1 for -1.

    A label counts only if the state it names agrees, so labels need no clearing. Without room for
    another state the number is one too large.
    """
    if s < 0:
        return -1
    x = label[s]
    if begin <= x < count and origin[x] == s:
        found: int = whole(x)
        return found
    if count < len(origin):
        origin[count], label[s] = s, count
    return count
