"""Small blocks, in microseconds: depth-first search with one round of prices.

At the paper's own sizes (five arms, four slots) building minimal automata costs more than the
search itself, so the memories are used as they are spelt out.
"""

from __future__ import annotations

import numpy as np

from lastswitch._kernels import inner, jit
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import Parts, StateArray

#: Blocks this short, with this few arms, are tried here first; and any that are this few in all.
MOST_SLOTS, MOST_ARMS, MOST_BLOCKS = 8, 16, 5_000
#: Nodes after which the search gives up: the general solver will be faster.
MOST_NODES = 2_000
#: Price of a slot as a share of the best pay it offers: low enough that arms still claim it.
SHARE = 0.7


def solve_parts(parts: Parts, block: IntArray, rounding: float) -> float:
    """Write the best block of some automata into ``block``; return what `tiny_block` does.

    Examples
    --------
    >>> from lastswitch.planning.automata import block_tables, spelt_out
    >>> from lastswitch.planning.problem import BlockProblem
    >>> block = np.zeros(2, np.int64)
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.3]], [[0.5, 0.4]] * 2)
    >>> solve_parts(spelt_out(block_tables(problem)), block, rounding=1e-13), block
    (0.9, array([0, 1]))
    """
    n_arms, d = len(parts[-1]), len(block)
    return tiny_block(
        *parts,
        rounding,
        block,
        np.empty(len(parts[1])),
        np.zeros((2, d + 1)),
        np.empty((d, n_arms)),
        np.empty((d + 1, n_arms), np.int32),
        np.empty((d, n_arms), np.int64),
        np.zeros((3, d), np.int64),
    )


@jit
def tiny_block(
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
    rounding: float,
    block: IntArray,
    worth: FloatArray,
    sums: FloatArray,
    bounds: FloatArray,
    state: StateArray,
    arms: IntArray,
    where: IntArray,
) -> float:
    """Write the best block into ``block`` and return its value; NaN if the search gave up.

    The arms are given as the fields of :class:`Automata`. ``rounding`` is relative to the size of
    the pays: improvements below it are not looked for. The arrays after ``block`` are scratch.
    """
    K, d = len(root), len(block)
    ahead, earned = sums[0], sums[1]
    count, tried, path = where[0], where[1], where[2]
    size = potentials(offset, idle, pull, pay, final, worth, ahead)
    for i in range(K):
        state[0, i] = root[i]
    best = -np.inf
    t, nodes = 0, 0
    count[0] = -1  # not listed yet
    while t >= 0:
        if count[t] < 0:
            count[t] = children(
                state[t], idle, pull, pay, worth, earned[t], ahead[t + 1], arms[t], bounds[t]
            )
        beaten = best + rounding * size
        if tried[t] == count[t] or bounds[t, tried[t]] <= beaten:
            t -= 1  # children come best first: the rest is beaten too
            continue
        arm = arms[t, tried[t]]
        tried[t] += 1
        path[t] = arm
        earned[t + 1] = earned[t] + pay[state[t, arm]]
        if t + 1 == d:
            best = bounds[t, tried[t] - 1]
            for u in range(d):
                block[u] = path[u]
            continue
        nodes += 1
        if nodes > MOST_NODES:
            return np.nan
        for i in range(K):
            s = state[t, i]
            state[t + 1, i] = pull[s] if i == arm else idle[s]
        t += 1
        tried[t], count[t] = 0, -1
    return best


@inner
def potentials(
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    worth: FloatArray,
    ahead: FloatArray,
) -> float:
    """Fill the worth of every state and the prices ahead of every slot; return the pays' size."""
    d = len(offset) - 2
    size = 0.0
    for s in range(offset[d], offset[d + 1]):
        worth[s] = final[s - offset[d]]
        if abs(worth[s]) > size:
            size = abs(worth[s])
    for t in range(d - 1, -1, -1):
        top = -np.inf
        for s in range(offset[t], offset[t + 1]):
            if pull[s] >= 0:
                if pay[s] > top:
                    top = pay[s]
                if abs(pay[s]) > size:
                    size = abs(pay[s])
        price = SHARE * top
        ahead[t] = ahead[t + 1] + price
        for s in range(offset[t], offset[t + 1]):
            worth[s] = worth[idle[s]] if idle[s] >= 0 else -np.inf
            if pull[s] >= 0 and pay[s] - price + worth[pull[s]] > worth[s]:
                worth[s] = pay[s] - price + worth[pull[s]]
    return d * size


@inner
def children(
    state: StateArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    worth: FloatArray,
    earned: float,
    ahead: float,
    arms: IntArray,
    bounds: FloatArray,
) -> int:
    """List the arms that may take this slot, best bound first; return how many there are."""
    K = len(state)
    rest, forced, n_forced = earned + ahead, -1, 0
    for i in range(K):
        s = idle[state[i]]
        if s < 0 or worth[s] == -np.inf:
            forced = i
            n_forced += 1
        else:
            rest += worth[s]
    count = 0
    if n_forced > 1:
        return 0
    for i in range(K):
        s = state[i]
        if pull[s] < 0 or (n_forced == 1 and i != forced) or worth[pull[s]] == -np.inf:
            continue
        bound = rest + pay[s] + worth[pull[s]]
        if n_forced == 0:
            bound -= worth[idle[s]]
        j = count
        while j > 0 and bounds[j - 1] < bound:
            arms[j], bounds[j] = arms[j - 1], bounds[j - 1]
            j -= 1
        arms[j], bounds[j] = i, bound
        count += 1
    return count
