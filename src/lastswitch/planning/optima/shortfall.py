"""What every move of an arm falls short of the frequency bound by.

Let a pull cost λ, and let arm i alone average at most g_i with bias h_i
(:mod:`lastswitch.planning.optima.frequency`). Then a round of any schedule *falls short* of the
frequency bound L = λ + Σ g_i by what its moves do: an arm that goes from s to s' falls short by
g_i + h_i(s) - h_i(s') less what it earns, which is never negative, and the average of a cycle is L
less its mean shortfall. Of ten arms, most joint states can only be reached by falling short by
much: so a search for a better average (:mod:`lastswitch.planning.optima.shortfall_cycles`) or total
(:mod:`lastswitch.planning.optima.shortfall_walks`) meets few of them.

A cycle has no first round, so a search for one must be able to begin anywhere. An arm not pulled
so far is in a node of its own, which knows how long it has idled and charges what this costs at
least, from whatever state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.arm_states import ArmStates
from lastswitch.planning.optima.frequency import Frequencies
from lastswitch.planning.optima.joint_states import Arms

if TYPE_CHECKING:
    from lastswitch.planning.optima.shortfall_kernel import Moves

#: States of one arm; tables of nodes take the square of it.
MOST_STATES = 4096
#: Numbers that differ by less are the same: sums of few pays of about 1.
SAME = 1e-14


@dataclass(frozen=True)
class Shortfalls:
    """What every move of every arm falls short by, at one price.

    Numbers are in ``unit`` (a power of 2 near the largest pay). Group g has the nodes
    ``begins[g]:begins[g + 1]``: its canonical states, then those of an arm not pulled so far;
    ``fresh[g]`` is the one to begin with, its first ``sizes[g]`` are the states.
    """

    arms: Arms
    unit: float
    price: float
    most: float
    begins: IntArray
    sizes: IntArray
    fresh: IntArray
    gains: FloatArray
    bias: tuple[FloatArray, ...]
    moves: Moves

    def group_of(self, nodes: IntArray) -> IntArray:
        """Return the group each node is one of."""
        return np.searchsorted(self.begins, nodes, side="right") - 1

    def anywhere(self) -> NDArray[np.int16]:
        """Return the joint state in which nothing is known of any arm."""
        return np.repeat(self.fresh, np.diff(self.arms.groups)).astype(np.int16)

    def play(self, nodes: IntArray) -> list[int]:
        """Return arms that play these nodes, from where nothing is known of any arm."""
        arms, at = [], self.moves.at.tolist()
        groups = self.arms.groups.tolist()
        here = self.anywhere().tolist()
        for node, group in zip(nodes.tolist(), self.group_of(nodes).tolist(), strict=True):
            members = range(groups[group], groups[group + 1])
            place = next((k for k in members if at[k] + here[k] == node), members[0])
            here = self.moves.idle[self.moves.at + here].tolist()
            here[place] = int(self.moves.goal[self.moves.ways[node]])
            arms.append(self.arms.order[place])
        return arms


def shortfalls(arms: Arms, frequency: Frequencies, clock: Clock) -> Shortfalls | None:
    """Return the shortfalls at the best price known; None if an arm has too many states.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
    """
    from lastswitch.planning.optima.shortfall_kernel import Moves

    if int(frequency.sizes.max()) > MOST_STATES:
        return None
    price, _, _ = frequency.best_price()
    gains, _, bias = frequency.alone(price)
    unit = frequency.unit
    parts = [part / unit for part in np.split(bias, frequency.begins[1:-1])]
    nodes = []
    for machine, gain, h in zip(frequency.kinds, gains, parts, strict=True):
        clock.check()
        nodes.append(_nodes(machine, price / unit, gain / unit, h, unit))
    begins = np.cumsum([0, *(len(each.idle) for each in nodes)])
    ways = [way for each in nodes for way in each.ways]
    return Shortfalls(
        arms=arms,
        unit=unit,
        price=price,
        most=price + math.fsum(frequency.counts * gains),
        begins=begins,
        sizes=frequency.sizes,
        fresh=np.array([each.fresh for each in nodes]),
        gains=gains / unit,
        bias=tuple(parts),
        moves=Moves(
            groups=arms.groups,
            at=np.repeat(begins[:-1], np.diff(arms.groups)),
            idle=np.concatenate([each.idle for each in nodes]).astype(np.int16),
            idle_short=np.concatenate([each.idle_short for each in nodes]),
            ways=np.cumsum([0, *(len(way) for way in ways)]),
            goal=np.array([goal for way in ways for goal in way], dtype=np.int16),
            goal_short=np.array([short for way in ways for short in way.values()]),
        ),
    )


class _Nodes(NamedTuple):
    """The nodes of one kind of arm; ``ways`` are goals of a pull with their shortfall."""

    idle: IntArray
    idle_short: FloatArray
    ways: list[dict[int, float]]
    fresh: int


def _nodes(machine: ArmStates, price: float, gain: float, h: FloatArray, unit: float) -> _Nodes:
    """Return a machine's states as nodes, and those of an arm that has idled from wherever.

    After idling a rounds from the best start for what comes, an arm may be in any of several
    states; its node charges the least of their shortfalls, and a pull what its start then costs
    more. Once all starts have led round the machine's cycle of idling, the nodes repeat.
    """
    pull, idle = np.array(machine.on_pull), np.array(machine.on_idle)
    idle_short = gain + h - h[idle]
    pull_short = gain + h - (np.array(machine.pay) / unit - price) - h[pull]
    n, (before, period) = len(machine), _idling(idle)
    ways = [{goal: short} for goal, short in zip(pull.tolist(), pull_short.tolist(), strict=True)]
    goes, shorts, owed, last = idle.tolist(), idle_short.tolist(), np.zeros(n), None
    while np.isfinite(owed).sum() > 1 and not _same(owed, last) and len(goes) < n + before + period:
        goals = _least(pull, owed + pull_short)
        ways.append({goal: float(goals[goal]) for goal in np.flatnonzero(np.isfinite(goals))})
        after, last = _least(idle, owed + idle_short), owed
        shorts.append(float(after.min()))
        owed = after - after.min()
        goes.append(len(goes) + 1)
    known = int(np.argmin(owed))
    if len(goes) > n:
        lasting = len(goes) - 1 if _same(owed, last) else n + before
        goes[-1] = known if np.isfinite(owed).sum() == 1 else lasting
    return _Nodes(np.array(goes), np.array(shorts), ways, n if len(goes) > n else known)


def _same(owed: FloatArray, last: FloatArray | None) -> bool:
    """Tell whether two rounds of idling end alike, up to rounding."""
    if last is None:
        return False
    both = np.isfinite(owed)
    alike = np.array_equal(both, np.isfinite(last))
    return alike and bool((np.abs(owed[both] - last[both]) < SAME).all())


def _least(places: IntArray, numbers: FloatArray) -> FloatArray:
    """Return the least of the ``numbers`` at each place, infinity where there is none."""
    least = np.full(len(numbers), np.inf)
    np.minimum.at(least, places, numbers)
    return least


def _idling(idle: IntArray) -> tuple[int, int]:
    """Return after how many rounds every state is on the cycle of idling, and its length."""
    here, before = np.unique(idle), 1
    if len(here) == len(idle):
        return 0, len(idle)
    while len(np.unique(idle[here])) < len(here):
        here, before = np.unique(idle[here]), before + 1
    return before, len(here)
