"""The certified solver: Lagrangian bound and widening beam, always a block *and* a bound.

Prices on the slots decouple the arms (:mod:`~lastswitch.planning.prices`); arcs that cannot
improve on the incumbent are deleted (:mod:`~lastswitch.planning.fixing`); a beam over the slots
(:mod:`~lastswitch.planning.beam`), ranked by value plus bound, finds blocks and, once nothing with
a better bound is left, proves the best one optimal. It widens until then, or until it is within
the gap, out of time, or out of memory (:mod:`~lastswitch.planning.search`). Small blocks have a
search of their own (:mod:`~lastswitch.planning.tiny`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lastswitch._kernels import announce
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import (
    Automata,
    BlockTables,
    block_tables,
    spelt_out,
    table_automata,
)
from lastswitch.planning.beam import advance
from lastswitch.planning.plan import Plan, Solution, Tell
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.search import ROUNDING, Search
from lastswitch.planning.tiny import MOST_ARMS, MOST_BLOCKS, MOST_SLOTS, solve_parts


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    warm: Plan | None = None,
) -> Solution:
    """Solve a block problem, exactly unless ``gap`` or ``time_limit`` stop it earlier.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solve(problem).block
    array([0, 1, 0])
    """
    tables = block_tables(problem)
    small = solve_tiny(tables)
    if small is not None:
        return small
    return solve_automata(
        table_automata(*tables),
        gap=gap,
        time_limit=time_limit,
        progress=progress,
        start_block=None if warm is None else warm.block,
        prices=None if warm is None else warm.prices,
    )


def solve_tiny(tables: BlockTables) -> Solution | None:
    """Solve a small problem by depth-first search; None if it is not small, or not easy.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solve_tiny(block_tables(problem)).bound
    0.9
    """
    n_arms, length = tables.first.shape
    few = n_arms**length <= MOST_BLOCKS
    if not few and (n_arms > MOST_ARMS or length > MOST_SLOTS):
        return None
    announce("planning", advance)
    block = np.zeros(length, np.int64)
    value = solve_parts(spelt_out(tables), block, ROUNDING)
    return None if value != value else Solution(block, value)  # NaN: it gave up


def solve_automata(
    automata: Automata,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    start_block: Sequence[int] | IntArray | None = None,
    prices: FloatArray | None = None,
) -> Solution:
    """Find the best way to give every slot to one arm, and a bound on the best value.

    Ctrl-C stops it like a time limit, once it has found any block.

    Parameters
    ----------
    automata
        The arms.
    gap
        Stop once (bound - value) <= gap * |value|.
    time_limit
        Stop after about this many seconds; never before some block is found.
    progress
        Called now and then with (seconds so far, best value, bound).
    start_block
        A block to start from; ignored where it is not feasible.
    prices
        Prices of the slots to start from, such as those of a similar problem.

    Examples
    --------
    >>> arm = Automata(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                final=[0.0], root=[0])
    >>> solve_automata(arm).bound
    0.5
    """
    announce("planning", advance)
    search = Search(automata, gap, time_limit, progress)
    if start_block is not None and len(start_block) == automata.length:
        search.offer(np.asarray(start_block))
    interrupted = False
    try:
        search.run(prices)
    except KeyboardInterrupt:
        if search.block is None:
            raise
        interrupted = True
    assert search.block is not None  # a search without a block goes on, or has raised
    return Solution(search.block, search.reported_bound(), search.price, interrupted)
