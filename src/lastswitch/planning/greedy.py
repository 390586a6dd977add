"""A block and a bound in no time: the best pay in each slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.problem import BlockProblem


def greedy_block(problem: BlockProblem, prefix: Sequence[int] = ()) -> list[int]:
    """Extend ``prefix`` to a block that ``problem`` admits, taking the best pay in each slot.

    Examples
    --------
    >>> greedy_block(BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2), [0, 1])
    [0, 1, 0]
    """
    return completed(problem, [*prefix, *[None] * (problem.length - len(prefix))])


def completed(problem: BlockProblem, wanted: Sequence[int | None]) -> list[int]:
    """Return the block of the arms ``wanted`` by slot, the best pay where there is none.

    An arm that is not admitted is not taken.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2, distinct_start=True)
    >>> completed(problem, [1, 1, None])
    [1, 0, 1]
    """
    memory: list[int | None] = [None] * problem.n_arms
    block: list[int] = []
    for t, arm in enumerate(wanted):
        arms = admitted_arms(problem, block)
        if arm is None or arm not in arms:
            pays = [problem._pay(other, memory[other], t) for other in arms]
            arm = arms[int(np.argmax(pays))]
        block.append(arm)
        problem._step(memory, arm, t)
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


def plain_bound(problem: BlockProblem) -> float:
    """Return a bound in no time: the best pay any allowed arm could get in each slot.

    Examples
    --------
    >>> plain_bound(BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2))
    1.1
    """
    offers = np.where(problem.allowed, best_offers(problem), -np.inf)
    return float(offers.max(axis=1).sum()) + best_end(problem)


def best_offers(problem: BlockProblem) -> FloatArray:
    """Return the best pay each arm could get in each slot (d, K), from any state it may be in.

    Examples
    --------
    >>> best_offers(BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2))
    array([[0. , 0. ],
           [0.1, 0.2],
           [0.9, 0.2]])
    """
    tables = [problem.first]
    for t_from, table in ((1, problem.streak), (2, problem.rest)):
        if problem.length > t_from:
            slots = np.arange(problem.length) - t_from
            # A run from before the block may be as long as it likes.
            ahead = np.maximum.accumulate(table, axis=1)
            if t_from == 1 and problem.run.any():
                ahead = np.broadcast_to(table.max(axis=1, keepdims=True), table.shape)
            reached = ahead[:, np.clip(slots, 0, table.shape[1] - 1)]
            tables.append(np.where(slots >= 0, reached, -np.inf))
    offers: FloatArray = np.max(tables, axis=0).T
    return offers


def best_end(problem: BlockProblem) -> float:
    """Return the most that the memories left at the end can be worth.

    Examples
    --------
    >>> best_end(BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2))
    0.0
    """
    end = problem.terminal
    if end is None:
        return 0.0
    ends = [end.rest.max(axis=1), end.streak.max(axis=1), end.unplayed]
    return float(np.max(ends, axis=0).sum())
