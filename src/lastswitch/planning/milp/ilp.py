"""The paper's integer program (Laforgue et al., 2022, Section 3 and Appendix B), through HiGHS.

The programs themselves, and what had to be settled in them, are in
:mod:`lastswitch.planning.milp.programs`.
"""

from __future__ import annotations

import time

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.model.states import moved
from lastswitch.planning.greedy import greedy_block, plain_bound
from lastswitch.planning.milp.highs import Model
from lastswitch.planning.milp.programs import FIRST, REPEATED, RESTED, Form, Program, build_program
from lastswitch.planning.plan import Solution, Tell
from lastswitch.planning.problem import BlockProblem


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    warm: Solution | None = None,
    form: Form | None = None,
) -> Solution:
    """Solve the integer program to optimality, or until ``gap`` or ``time_limit``.

    Parameters
    ----------
    problem
        What to plan.
    gap, time_limit, progress, warm
        As for every solver, see :mod:`lastswitch.planning.solve`.
    form
        ``"core"`` (delays; streaks of constant pay), ``"general"`` or ``"arc-flow"`` (the same
        variables with the binding constraints only, which HiGHS solves fastest). By default the
        core form where it applies and the general form elsewhere.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solution = solve(problem, form="general")
    >>> np.asarray(solution.block).tolist(), round(solution.bound, 6)
    ([0, 1, 0], 0.9)
    """
    began = time.perf_counter()
    program = build_program(problem, form)
    block = _known_block(problem, warm)
    model = Model(program, integer=True)
    spent = time.perf_counter() - began  # writing a large program down takes its time, too
    ended = model.optimise(
        variables_of(program, block),
        gap=gap,
        time_limit=None if time_limit is None else max(time_limit - spent, 0.0),
        known=(problem.value(block), plain_bound(problem)),
        progress=progress,
    )
    if ended.variables is not None:
        block = max(block, block_of(program, ended.variables), key=problem.value)
    return Solution(block, ended.bound)


def block_of(program: Program, variables: FloatArray) -> list[int]:
    """Return the block whose pulls ``variables`` name."""
    d = int(program.slot.max()) + 1
    pulled = np.zeros((d, int(program.arm.max()) + 1))
    np.add.at(pulled, (program.slot, program.arm), variables)
    return [int(arm) for arm in pulled.argmax(axis=1)]


def variables_of(program: Program, block: list[int]) -> FloatArray:
    """Return the variables that name the pulls of ``block``."""
    kind, slot, index, _ = program.columns
    core = not (kind == REPEATED).any()
    column = {key: c for c, key in enumerate(zip(kind, slot, index, strict=True))}
    beyond = (int(program.arm.max()) + 1) * len(kind)  # where the slots' own variables begin
    variables = np.zeros(beyond + (beyond // len(kind)) * len(block))
    states: dict[int, int] = {}  # of the arms pulled so far
    for t, arm in enumerate(block):
        tau = states.get(arm, 0)
        if tau == 0:
            key = (FIRST, t, 0)
        elif core:
            key = (RESTED, t, max(tau, 0) + 1)
        else:
            key = (RESTED, t, tau) if tau > 0 else (REPEATED, t, -tau)
        states = {i: moved(state, i == arm) for i, state in ({arm: 0} | states).items()}
        variables[arm * len(kind) + column[key]] = 1.0
        variables[beyond + arm * len(block) + t] = 1.0
    return variables[: len(program.cost)]


def _known_block(problem: BlockProblem, warm: Solution | None) -> list[int]:
    """Return a block to start from: the better of a greedy one and the warm start's."""
    greedy = greedy_block(problem)
    if warm is None:
        return greedy
    return max(greedy, list(warm.block), key=problem.value)
