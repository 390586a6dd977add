"""The joint states of a bandit as a graph, with arms that behave alike merged by symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.arm_states import ArmStates, arm_states

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

UNLIMITED = np.iinfo(np.int64).max
#: Moves of arms between two looks at the clock: some hundredths of a second.
SLICE = 5_000_000
#: Moves of arms that listing the plays of a single state may take; of so many arms that it takes
#: more, no graph fits in memory but by a rare symmetry.
MOST_PER_STATE = 4 * SLICE
_MAX_ARM_STATES = np.iinfo(np.int16).max


@dataclass(frozen=True)
class Arms:
    """The arms of a bandit sorted into groups that behave alike.

    ``order`` lists the arms group by group; group g is ``order[groups[g]:groups[g + 1]]`` and its
    canonical states are ``offset[g]:offset[g + 1]`` of the flat tables ``pay``, ``on_pull``,
    ``on_idle`` (whose moves are counted from the group's first state).
    """

    machines: tuple[ArmStates, ...]
    order: tuple[int, ...]
    groups: NDArray[np.int64]
    offset: NDArray[np.int64]
    pay: NDArray[np.float64]
    on_pull: NDArray[np.int16]
    on_idle: NDArray[np.int16]

    def sorted(self, states: Sequence[int]) -> NDArray[np.int16]:
        """Return the joint state of canonical arm ``states`` (in the bandit's own order)."""
        vector = np.array([states[arm] for arm in self.order], dtype=np.int16)
        for low, high in zip(self.groups[:-1], self.groups[1:], strict=True):
            vector[low:high].sort()
        return vector

    def unsorted(self, vector: NDArray[np.int16]) -> list[int]:
        """Return canonical arm states (in the bandit's own order) that make up ``vector``."""
        states = [0] * len(self.order)
        for arm, state in zip(self.order, vector.tolist(), strict=True):
            states[arm] = state
        return states

    def play(self, states: list[int], labels: Sequence[int]) -> list[int]:
        """Return arms that play the edges labelled ``labels``, moving ``states`` in place.

        Only arms that have a twin are followed: for the others the label names the arm, and
        their entries of ``states`` are left as they are. A state of -1 is not known, and its arm
        never played.
        """
        twins = self._twins()
        watched = [arm for members in twins.values() for arm in members]
        group_of = np.searchsorted(self.offset, np.asarray(labels), side="right") - 1
        firsts: list[int] = np.array(self.order)[self.groups[group_of]].tolist()
        if not watched:
            return firsts
        played = []
        for label, group, first in zip(labels, group_of.tolist(), firsts, strict=True):
            arm = first
            if group in twins:
                wanted = label - int(self.offset[group])
                arm = next(twin for twin in twins[group] if states[twin] == wanted)
            played.append(arm)
            for k in watched:
                machine, state = self.machines[k], states[k]
                if state >= 0:
                    states[k] = machine.on_pull[state] if k == arm else machine.on_idle[state]
        return played

    def _twins(self) -> dict[int, tuple[int, ...]]:
        """Return the groups whose members must be told apart by their states."""
        members = {
            group: self.order[low:high]
            for group, (low, high) in enumerate(zip(self.groups, self.groups[1:], strict=False))
        }
        return {
            group: arms
            for group, arms in members.items()
            if len(arms) > 1 and len(self.machines[arms[0]]) > 1
        }


@dataclass(frozen=True)
class JointGraph:
    """Joint states reachable from ``arms.sorted(origin)`` (state 0) and the plays between them."""

    arms: Arms
    origin: list[int]
    states: NDArray[np.int16]
    first: NDArray[np.int64]
    target: NDArray[np.int32]
    label: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def edges(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """What every kernel takes: first edge per state, targets, labels, pay per label."""
        return self.first, self.target, self.label, self.arms.pay


def group_arms(bandit: Bandit) -> Arms | None:
    """Sort the arms of ``bandit`` into groups; None if a curve has too many states to number."""
    machines = tuple(arm_states(curve) for curve in bandit.curves)
    if max(len(machine) for machine in machines) > _MAX_ARM_STATES:
        return None
    kinds: dict[object, list[int]] = {}
    for arm, machine in enumerate(machines):
        kinds.setdefault(machine.behaviour, []).append(arm)
    members = list(kinds.values())
    leaders = [machines[arms[0]] for arms in members]
    return Arms(
        machines=machines,
        order=tuple(arm for arms in members for arm in arms),
        groups=np.cumsum([0, *(len(arms) for arms in members)]),
        offset=np.cumsum([0, *(len(leader) for leader in leaders)]),
        pay=np.concatenate([leader.pay for leader in leaders]),
        on_pull=np.concatenate([leader.on_pull for leader in leaders]).astype(np.int16),
        on_idle=np.concatenate([leader.on_idle for leader in leaders]).astype(np.int16),
    )


def joint_graph(
    arms: Arms,
    origin: list[int],
    max_states: int,
    max_depth: int = UNLIMITED,
    clock: Clock | None = None,
) -> JointGraph | None:
    """List what is reachable from ``origin``; None if that is too much.

    That is: more than ``max_states`` states, or so many arms that one state alone takes too long.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
    """
    from lastswitch._utils.jit import announce
    from lastswitch.planning.optima.mean_cycle import expand, index_states

    n_arms, room = len(arms.order), 1024
    if n_arms * min(n_arms, len(arms.pay)) > MOST_PER_STATE:
        return None
    announce("optimum", expand)
    states = np.empty((room, n_arms), dtype=np.int16)
    states[0] = arms.sorted(origin)
    first, target = np.zeros(room + 1, dtype=np.int64), np.empty(room * n_arms, dtype=np.int32)
    label, progress = target.copy(), np.array([1, 0, 0, 0, 1])
    table = empty_index(room)
    index_states(table, states, 1)
    tables = (arms.groups, arms.offset, arms.on_pull, arms.on_idle, max_depth)
    slice_ = max(1, SLICE // (n_arms * min(n_arms, len(arms.pay))))
    while not expand(*tables, states, first, target, label, table, progress, slice_):
        if clock is not None:
            clock.check()
            clock.tell(np.nan, np.nan)
        if progress[0] > max_states:
            return None
        if progress[0] + n_arms <= room and progress[1] + n_arms <= len(target):
            continue  # it was the slice that ended
        more = min(room, max_states + n_arms - room)
        if more <= 0:
            return None
        room += more
        states, first = with_room(states, more), with_room(first, more)
        target, label = (with_room(edges, more * n_arms) for edges in (target, label))
        table = empty_index(room)
        index_states(table, states, progress[0])
    if progress[0] > max_states:
        return None
    count, edges, expanded = progress[:3].tolist()
    first = first[: count + 1]
    first[expanded:] = edges  # states of the last round have no edges
    return JointGraph(arms, origin, states[:count], first, target[:edges], label[:edges])


def empty_index(room: int) -> NDArray[np.int32]:
    """Return an empty hash table for ``room`` states."""
    return np.full(1 << (4 * room - 1).bit_length(), -1, dtype=np.int32)


def with_room(array: NDArray[Any], more: int) -> NDArray[Any]:
    """Return ``array`` with ``more`` entries at its end."""
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), dtype=array.dtype)])


def recurrent_state(arms: Arms) -> list[int]:
    """Return a joint state that every joint state leads to.

    Playing all arms in turn, twice, leaves states that do not depend on where it began (a lone
    arm needs its whole streak). What can be reached from here is therefore one class in which
    every state leads to every other; any cycle of plays settles, from its second turn on, into
    pays that it also earns inside this class, so the best average lives here whatever the start.
    """
    last = len(arms.machines) - 1
    if last == 0:
        return [arms.machines[0].at(-len(arms.machines[0].streak) - 1)]
    return [machine.at(last - arm or -1) for arm, machine in enumerate(arms.machines)]


def lift_walk(graph: JointGraph, labels: Sequence[int]) -> list[int]:
    """Return the arms that play the edges labelled ``labels`` from the graph's origin."""
    return graph.arms.play(list(graph.origin), labels)


def lift_cycle(graph: JointGraph, state: int, labels: Sequence[int]) -> list[int]:
    """Return a cycle of arms whose turns, from joint state ``state``, play ``labels`` for ever.

    Merged arms may swap roles from one turn to the next, so the cycle of arms can be several
    turns of the cycle of joint states.
    """
    return lift_turns(graph.arms, graph.arms.unsorted(graph.states[state]), labels)


def lift_turns(arms: Arms, states: list[int], labels: Sequence[int]) -> list[int]:
    """Return a cycle of arms whose turns, from arm ``states``, play ``labels`` for ever."""
    seen: dict[tuple[int, ...], int] = {}
    turns: list[list[int]] = []
    while tuple(states) not in seen:
        seen[tuple(states)] = len(turns)
        turns.append(arms.play(states, labels))
    return shortest_period([arm for turn in turns[seen[tuple(states)] :] for arm in turn])


def shortest_period(word: list[int]) -> list[int]:
    """Return the shortest word whose repetition gives ``word``.

    Examples
    --------
    >>> shortest_period([0, 1, 0, 1])
    [0, 1]
    """
    for size in range(1, len(word) + 1):
        if len(word) % size == 0 and word == word[:size] * (len(word) // size):
            return word[:size]
    return word
