"""Small blocks, in microseconds: depth-first search with one round of prices.

At the paper's own sizes (five arms, four rounds) building minimal diagrams costs more than the
search itself, so the arms are used as they come.
"""

from __future__ import annotations

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.planning.diagrams.diagram import Model, StateArray
from lastswitch.planning.search.params import DEFAULT, SearchParams

#: A gap below this share of the value, or of the smallest pay, is not to be seen.
VISIBLE = 1e-9


def solve_tiny(
    model: Model,
    rounding: float,
    params: SearchParams = DEFAULT,
    beat: float = -np.inf,
) -> tuple[IntArray, float]:
    """Return the best block and its value, which is NaN if the search gave up.

    Only blocks worth more than ``beat`` are looked for; without one that is the value, and the
    block means nothing.

    ``rounding`` is relative to the size of the pays: improvements below it are not looked for, and
    where they could be seen in the value the search gives up.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.build import plain_model
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.3]], [[0.5, 0.4]] * 2)
    >>> solve_tiny(plain_model(problem), rounding=1e-13)
    (array([0, 1]), 0.9)
    """
    lo, hi, idle, _, pull, pay, _, final, root = model.arms
    n_arms, d = len(root), len(lo) - 1
    block = np.zeros(d, np.int64)
    value: float = tiny_block(
        *(lo, hi, idle, pull, pay, final, root),
        *(block, rounding, beat, params.tiny_share, params.tiny_nodes),
        np.empty(len(idle)),
        np.zeros((2, d + 1)),
        np.empty((d, n_arms)),
        np.empty((d + 1, n_arms), np.int32),
        np.empty((d, n_arms), np.int64),
        np.zeros((3, d), np.int64),
    )
    return block, value


@jit
def tiny_block(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
    block: IntArray,
    rounding: float,
    beat: float,
    share: float,
    most_nodes: int,
    worth: FloatArray,
    sums: FloatArray,
    bounds: FloatArray,
    state: StateArray,
    arms: IntArray,
    where: IntArray,
) -> float:
    """Write the best block into ``block`` and return its value; NaN if the search gave up.

    If no block is worth more than ``beat``, that is returned and ``block`` is left as it was.

    The arms are given as the fields of a :class:`Diagram`, which are quicker to hand over than the
    tuple they are in. The arrays from ``worth`` on are scratch.
    """
    K, d = len(root), len(block)
    ahead, earned = sums[0], sums[1]
    count, tried, path = where[0], where[1], where[2]
    largest, smallest = potentials(lo, hi, idle, pull, pay, final, share, worth, ahead)
    rounding *= d * largest
    for i in range(K):
        state[0, i] = root[i]
    best = beat
    t, nodes = 0, 0
    count[0] = -1  # not listed yet
    while t >= 0:
        if count[t] < 0:
            count[t] = children(
                state[t], idle, pull, pay, worth, earned[t], ahead[t + 1], arms[t], bounds[t]
            )
        if tried[t] == count[t] or bounds[t, tried[t]] <= best + rounding:
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
        if nodes > most_nodes:
            return np.nan
        for i in range(K):
            s = state[t, i]
            state[t + 1, i] = pull[s] if i == arm else idle[s]
        t += 1
        tried[t], count[t] = 0, -1
    if rounding > VISIBLE * max(abs(best), smallest):
        return np.nan
    return best


@jit(inner=True)
def potentials(
    lo: IntArray,
    hi: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    share: float,
    worth: FloatArray,
    ahead: FloatArray,
) -> tuple[float, float]:
    """Fill the worth of every state and the prices ahead of every round.

    Returns the sizes of the largest pay and of the smallest that is not 0.
    """
    d = len(lo) - 1
    largest, smallest = 0.0, np.inf
    for s in range(lo[d], hi[d]):
        worth[s] = final[s - lo[d]]
        largest, smallest = sizes(worth[s], largest, smallest)
    for t in range(d - 1, -1, -1):
        top = -np.inf
        for s in range(lo[t], hi[t]):
            if pull[s] >= 0:
                top = max(top, pay[s])
                largest, smallest = sizes(pay[s], largest, smallest)
        price = share * top
        ahead[t] = ahead[t + 1] + price
        for s in range(lo[t], hi[t]):
            worth[s] = worth[idle[s]] if idle[s] >= 0 else -np.inf
            if pull[s] >= 0 and pay[s] - price + worth[pull[s]] > worth[s]:
                worth[s] = pay[s] - price + worth[pull[s]]
    return largest, smallest


@jit(inline=True)
def sizes(pay: float, largest: float, smallest: float) -> tuple[float, float]:
    """Return the largest and the smallest size so far, ``pay`` included; 0 is not counted."""
    size = abs(pay)
    return max(size, largest), smallest if size == 0.0 else min(size, smallest)


@jit(inner=True)
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
    """List the arms that may take this round, best bound first; return how many there are."""
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
