"""A block in no time: the best pay in each slot, one slot at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lastswitch.planning.problem import BlockProblem


def greedy_block(problem: BlockProblem, prefix: Sequence[int] = ()) -> list[int]:
    """Extend ``prefix`` to a block that ``problem`` admits, taking the best pay in each slot.

    Examples
    --------
    >>> greedy_block(BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2), [0, 1])
    [0, 1, 0]
    """
    memory: list[int | None] = [None] * problem.n_arms
    block = list(prefix)
    for t in range(problem.length):
        if t == len(block):
            arms = admitted_arms(problem, block)
            pays = [problem._pay(arm, memory[arm], t) for arm in arms]
            block.append(arms[int(np.argmax(pays))])
        problem._step(memory, block[t], t)
    return block


def admitted_arms(problem: BlockProblem, prefix: Sequence[int]) -> list[int]:
    """Return the arms that can follow ``prefix`` in a block that ``problem`` admits.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]] * 2, [[0.1]] * 2, [[0] * 3] * 2, distinct_start=True)
    >>> admitted_arms(problem, [0])
    [1]
    """
    t = len(prefix)
    arms: list[int] = np.flatnonzero(problem.allowed[t]).tolist()
    if problem.distinct_start and t == 0 and problem.length > 1:
        return [arm for arm in arms if np.delete(problem.allowed[1], arm).any()]
    if problem.distinct_start and t == 1:
        return [arm for arm in arms if arm != prefix[0]]
    return arms
