"""The certified solver: Lagrangian bound and widening beam, always a block *and* a bound.

Prices on the slots decouple the arms (:mod:`~lastswitch.planning.prices`); arcs that cannot
improve on the incumbent are deleted (:mod:`~lastswitch.planning.fixing`); a beam over the slots
(:mod:`~lastswitch.planning.beam`), ranked by value plus bound, finds blocks and, once nothing with
a better bound is left, proves the best one optimal. It widens until then, or until it is within
the gap, out of time, or out of memory (:mod:`~lastswitch.planning.search`). Small blocks have a
search of their own (:mod:`~lastswitch.planning.tiny`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning import stages
from lastswitch.planning.automata import Automata, block_automata, count_states, plain_automata
from lastswitch.planning.greedy import greedy_block, plain_bound
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.plan import Solution, Tell
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.record import ROUNDING
from lastswitch.planning.search import Search
from lastswitch.planning.tiny import solve_tiny


def solve(
    problem: BlockProblem,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    warm: Solution | None = None,
    params: SearchParams | None = None,
) -> Solution:
    """Solve a block problem, exactly unless ``gap`` or ``time_limit`` stop it earlier.

    Nothing is kept between two calls: a caller that plans again and again gives its last answer
    as ``warm`` and makes its problems with :meth:`BlockProblem.with_pays`.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> solve(problem).block
    array([0, 1, 0])
    """
    params = params or DEFAULT
    loading = 0.0  # no time limit pays for compiling
    n_arms, length = problem.first.shape
    if is_small(n_arms, length, params):
        loading = stages.seconds_of(stages.ready_to_be_tiny)
        block, value = solve_tiny(plain_automata(problem), ROUNDING, params)
        if value == value:  # else it gave up
            return Solution(block, value, loading=loading)
    loading += stages.seconds_of(stages.ready_to_build)
    began = time.perf_counter()
    states, seconds = count_states(problem), math.inf if time_limit is None else time_limit
    if states > min(params.most_states, params.states_per_second * seconds):
        return Solution(greedy_block(problem), plain_bound(problem), loading=loading)
    automata = block_automata(problem)
    if time_limit is not None:
        time_limit -= time.perf_counter() - began
    found = solve_automata(
        automata,
        gap=gap,
        time_limit=time_limit,
        progress=progress,
        start_block=None if warm is None else warm.block,
        prices=None if warm is None else warm.prices,
        params=params,
    )
    if time.perf_counter() - began - found.loading >= seconds:
        found = found._replace(bound=min(found.bound, plain_bound(problem)))
    return found._replace(loading=found.loading + loading)


def is_small(n_arms: int, length: int, params: SearchParams = DEFAULT) -> bool:
    """Tell whether blocks are so few that a depth-first search is tried first.

    Examples
    --------
    >>> is_small(5, 4), is_small(5, 20)
    (True, False)
    """
    few = n_arms <= params.tiny_arms and length <= params.tiny_slots
    return few or n_arms**length <= params.tiny_blocks


def solve_small(automata: Automata, beat: float) -> Solution | None:
    """Find the best way worth more than ``beat`` in microseconds; None if it takes longer.

    The block of the answer is empty if there is none, and its bound then what was to beat.

    Examples
    --------
    >>> arm = Automata.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                   final=[0.0], root=[0])
    >>> solve_small(arm, beat=0.25).block, solve_small(arm, beat=0.75).bound
    (array([0]), 0.75)
    """
    if not is_small(automata.n_arms, automata.length):
        return None
    loading = stages.seconds_of(stages.ready_to_be_tiny)
    block, value = solve_tiny(automata, ROUNDING, beat=beat)
    if value != value:
        return None
    return Solution(block[: len(block) if value > beat else 0], value, loading=loading)


def solve_automata(
    automata: Automata,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Tell | None = None,
    start_block: Sequence[int] | IntArray | None = None,
    prices: FloatArray | None = None,
    beat: float = -np.inf,
    params: SearchParams | None = None,
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
        Stop after about this many seconds, compiling not counted; never before some block is
        found.
    progress
        Called now and then with (seconds so far, best value, bound).
    start_block
        A block to start from; ignored where it is not feasible.
    prices
        Prices of the slots to start from, such as those of a similar problem.
    beat
        Only blocks worth more are looked for. The block of the answer is empty if none was found;
        its bound holds for what is worth more, and is at least this.
    params
        The constants of the search.

    Examples
    --------
    >>> arm = Automata.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                   final=[0.0], root=[0])
    >>> solve_automata(arm).bound
    0.5
    >>> solve_automata(arm, beat=0.75).block, solve_automata(arm, beat=0.75).bound
    (array([], dtype=int64), 0.75)
    """
    search = Search(automata, gap, time_limit, progress, beat, params or DEFAULT)
    if start_block is not None and len(start_block) == automata.length:
        search.offer(np.asarray(start_block))
    interrupted = False
    try:
        search.run(prices)
    except KeyboardInterrupt:
        if not search.answered:
            raise
        interrupted = True
    block = np.empty(0, np.int64) if search.block is None else search.block
    return Solution(block, search.reported_bound(), search.price, interrupted, search.loading)
