"""Cycles under rules: every turn has the turns before it as its past.

Nothing is known of the state before a turn but that the turn itself leads back to it. So a counter
of a cycle remembers, for every state it may have begun in, where it would be now and how many
violations that would have taken; in the last round only the beginning counts that it has come back
to (*determinisation*). Arms do the same in closed form: only the first pull, or the run from round
0 on, depends on the turn before; it is paid for at the end.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.errors import RuleError
from lastswitch.planning.diagrams.arm_states import ArmStates, arm_states
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.rules.automata.counters import Counter

#: States the arms of a cycle may have in all.
MOST_STATES = 20_000_000


def turned(counter: Counter, length: int) -> Counter:
    """Return the counter of one turn of a cycle: it must end where it began.

    ``counter`` steps as it would in the middle of an endless repetition, and its ``begins`` are
    the states it may be in before round 0.

    Examples
    --------
    >>> from lastswitch.rules.automata.counters import counters_of
    >>> from lastswitch.rules import apart
    >>> [apart_3] = counters_of(apart(0, 3), 3, 1, (), repeats=True)
    >>> turn = turned(apart_3, 3)
    >>> state = turn.start
    >>> for t, event in enumerate([0, 1, 0]):  # once in three rounds is three rounds apart
    ...     state, wrong = turn.step(t, state, event)
    >>> wrong
    0
    """
    begins = counter.begins
    if len(begins) == 1:
        return counter

    def step(t: int, state: Hashable, event: int) -> tuple[Hashable, int]:
        ways: list[tuple[Hashable, Hashable, int]] = []
        for begin, now, owed in state:  # type: ignore[attr-defined]
            after, wrong = counter.step(t, now, event)
            if wrong and counter.cost is None:
                continue
            if t < length - 1:
                ways.append((begin, after, owed + wrong))
            elif begin == after and not ways:  # the beginning it has come back to
                ways.append((None, None, owed + wrong))
        if not ways:
            return (), 1
        paid = min(owed for _, _, owed in ways)
        return tuple((begin, now, owed - paid) for begin, now, owed in ways), paid

    return replace(
        counter,
        start=tuple((begin, begin, 0) for begin in begins),
        step=step,
        # With no way left a soft counter cannot go on either: it has come back to no beginning.
        key=("turn", counter.key, length),
        phases=tuple((phase, t == length - 1) for t, phase in enumerate(counter.phases)),
        closed=True,
    )


def cycle_arms(problem: RuledProblem) -> Model:
    """Return arms whose schedules are the turns of cycles.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0, 0.9], [0]), ls.Curve([0.3], [0.3])])
    >>> arms = cycle_arms(RuledProblem.from_bandit(bandit, 3, repeats=True))
    >>> arms.value([0, 1, 1])
    1.5
    """
    assert problem.curves is not None
    d = problem.length
    machines = [arm_states(curve) for curve in problem.curves]
    kinds = {machine.behaviour: machine for machine in machines}
    parts = {behaviour: _turn_part(machine, d) for behaviour, machine in kinds.items()}
    sizes = [parts[machine.behaviour][0].shape[1] for machine in machines]
    if sum(sizes) * (d + 1) > MOST_STATES:
        raise RuleError(
            f"a cycle of {d} rounds of {len(machines)} arms has too many states to plan under "
            "rules; plan shorter cycles, or blocks."
        )
    begins = np.cumsum([0, *sizes])
    width = int(begins[-1])
    idle, pull = np.full((d + 1, width), -1), np.full((d + 1, width), -1)
    pay, final = np.zeros((d + 1, width)), np.zeros(width)
    for machine, begin in zip(machines, begins, strict=False):
        part_idle, part_pull, part_pay, part_final = parts[machine.behaviour]
        here = slice(begin, begin + part_idle.shape[1])
        base = (np.arange(d)[:, None] + 1) * width + begin
        idle[:d, here] = np.where(part_idle < 0, -1, part_idle + base)
        pull[:d, here] = np.where(part_pull < 0, -1, part_pull + base)
        pay[:d, here] = part_pay
        final[here] = part_final
    alike = [list(kinds).index(machine.behaviour) for machine in machines]
    arms = Diagram.of(
        offset=np.arange(0, (d + 2) * width, width),
        idle=idle.ravel(),
        pull=pull.ravel(),
        pay=pay.ravel(),
        final=final,
        root=begins[:-1],
    )
    return Model(arms, np.array(alike))


def _turn_part(machine: ArmStates, d: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return one arm: idle and pull moves and pays by (round, state), and its worth at the end.

    State 0: not pulled yet. State 1: pulled in every round so far. Then, for f = 1 .. d-1, the
    arm's own states after a first pull in round f; then, for j = 1 .. d-1, those after a run of
    just the rounds 0 .. j-1. First pulls, and that run, are paid at the end.
    """
    n = len(machine)
    on_idle, on_pull = np.array(machine.on_idle), np.array(machine.on_pull)
    pays = np.array(machine.pay)
    groups = 2 + n * np.arange(2 * (d - 1))  # where the own states of each group begin
    size = 2 + n * 2 * (d - 1)
    idle, pull, pay = np.zeros((d, size), int), np.zeros((d, size), int), np.zeros((d, size))
    idle[:, 2:] = (groups[:, None] + on_idle).ravel()
    pull[:, 2:] = (groups[:, None] + on_pull).ravel()
    pay[:, 2:] = np.tile(pays, 2 * (d - 1))
    idle[:, 1], pull[:, 1] = -1, 1
    for t in range(1, d):
        pull[t, 0] = groups[t - 1] + machine.at(-1)
        idle[t, 1] = groups[d - 1 + t - 1] + machine.at(1)
    pull[0, 0] = 1
    final = np.zeros(size)
    final[1] = d * machine.pay[machine.streak[-1]]
    rested, run, owed = np.arange(n), np.arange(n), np.zeros(n)
    for k in range(1, d):
        rested = on_idle[rested]
        final[groups[k - 1] : groups[k - 1] + n] = pays[rested]
        owed, run = owed + pays[run], on_pull[run]
        final[groups[d - 1 + k - 1] : groups[d - 1 + k - 1] + n] = owed
    return idle, pull, pay, final
