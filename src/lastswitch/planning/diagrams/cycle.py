"""The arms of a cycle as automata: blocks that end where they began.

A cycle pays the same wherever it is cut, so it may be cut where a run of some arm begins: that arm
takes round 0 but not the last one, and no run wraps around. What each of the other pulls pays, the
arm knows from its own past in the block; only its first pull depends on how the block ends, so it
is paid there, to an automaton that remembers the round of the first pull.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch.planning.diagrams.arm_states import ArmStates
from lastswitch.planning.diagrams.diagram import Model, as_it_comes


def cycle_model(machines: list[ArmStates], length: int) -> Model:
    """Return arms whose blocks are the cycles that start with a run of the first one.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> from lastswitch.planning.diagrams.arm_states import arm_states
    >>> machines = [arm_states(Curve([0, 0.9], [0])), arm_states(Curve([0.3], [0.3]))]
    >>> cycle_model(machines, 3).value([0, 1, 1])
    1.5
    """
    lead, *others = machines
    shared = {machine.behaviour: _follower_part(machine, length) for machine in others}
    parts = [_leader_part(lead, length), *shared.values()]
    begins = np.cumsum([0, *(part[0].shape[1] for part in parts)])
    width = int(begins[-1])
    shape = length + 1, width
    idle, pull = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
    pay, final = np.zeros(shape), np.zeros(width)
    after = np.arange(1, length + 1)[:, None] * width  # where the states of the next round begin
    for begin, (part_idle, part_pull, part_pay, part_final) in zip(begins, parts, strict=False):
        states = slice(begin, begin + part_idle.shape[1])
        idle[:-1, states] = np.where(part_idle < 0, -1, part_idle + (after + begin))
        pull[:-1, states] = np.where(part_pull < 0, -1, part_pull + (after + begin))
        pay[:-1, states] = part_pay
        final[states] = part_final
    place = {behaviour: int(begins[1 + k]) for k, behaviour in enumerate(shared)}
    roots = [0, *(place[machine.behaviour] for machine in others)]
    arms = as_it_comes(
        *(np.arange(length + 2) * width, idle.ravel(), pull.ravel(), pay.ravel() + 0.0),
        *(final + 0.0, np.array(roots, dtype=np.int32)),
    )
    return Model(arms, alike=np.array(roots))  # equal roots, equal arms


#: Idle and pull moves and pays by (round, state), -1 for no move; worth at the end.
_Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def _leader_part(machine: ArmStates, d: int) -> _Part:
    """Return the arm that starts the cycle: pulled in round 0, not in the last.

    State 0 is the beginning, the others are the arm's own.
    """
    n = len(machine)
    idle, pull, pay = np.full((d, n + 1), -1), np.full((d, n + 1), -1), np.zeros((d, n + 1))
    pull[0, 0] = 1 + machine.at(-1)
    idle[:, 1:] = 1 + np.array(machine.on_idle)
    pull[:-1, 1:] = 1 + np.array(machine.on_pull)
    pay[:, 1:] = machine.pay
    return idle, pull, pay, np.array([0.0, *machine.pay])


def _follower_part(machine: ArmStates, d: int) -> _Part:
    """Return an arm that may enter in any round but the first.

    State 0 is before its first pull; state 1 + (f - 1)·n + s says that was in round f, and that
    the arm is now in state s. The cycle closed, it rests f more rounds before that first pull.
    """
    n, entries = len(machine), np.arange(1, d)
    on_idle, pays = np.array(machine.on_idle), np.array(machine.pay)
    size = 1 + (d - 1) * n
    idle, pull, pay = np.zeros((d, size), int), np.full((d, size), -1), np.zeros((d, size))
    group = 1 + (entries - 1) * n
    pull[entries, 0] = group + machine.at(-1)
    idle[:, 1:] = (group[:, None] + on_idle).ravel()
    pull[:, 1:] = (group[:, None] + np.array(machine.on_pull)).ravel()
    pay[:, 1:] = np.broadcast_to(pays, (d - 1, n)).ravel()
    final = np.zeros(size)
    rested = np.arange(n)
    for begin in group.tolist():
        rested = on_idle[rested]
        final[begin : begin + n] = pays[rested]
    return idle, pull, pay, final
