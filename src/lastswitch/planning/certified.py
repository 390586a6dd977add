"""The certified solver: Lagrangian bound and widening beam, always a block *and* a bound.

Prices on the rounds decouple the arms (:mod:`~lastswitch.planning.search.prices`); arcs that cannot
improve on the incumbent are deleted (:mod:`~lastswitch.planning.search.opportunity`); a beam over
the rounds (:mod:`~lastswitch.planning.search.beam`), ranked by value plus bound, finds blocks and,
once nothing with a better bound is left, proves the best one optimal. It widens until then, or
until it is within the gap, out of time, or out of memory
(:mod:`~lastswitch.planning.search.search`). Small blocks have a search of their own
(:mod:`~lastswitch.planning.search.tiny`).
"""

from __future__ import annotations

import math
import time

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.progress import Progress
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.build import block_model, count_states, plain_model
from lastswitch.planning.diagrams.diagram import Model
from lastswitch.planning.diagrams.shared import without_pays
from lastswitch.planning.greedy import greedy_block, plain_bound
from lastswitch.planning.plan import Solution, Tell
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.search import stages
from lastswitch.planning.search.incumbent import ROUNDING
from lastswitch.planning.search.neighbourhood import Schedule
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.search import Search
from lastswitch.planning.search.tiny import solve_tiny


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
        block, value = solve_tiny(plain_model(problem), ROUNDING, params)
        if value == value:  # else it gave up
            return Solution(block, value, loading=loading)
    loading += stages.seconds_of(stages.ready_to_build)
    began = time.perf_counter()
    states, seconds = count_states(problem), math.inf if time_limit is None else time_limit
    if states > min(params.most_states, params.states_per_second * seconds):
        return Solution(greedy_block(problem), plain_bound(problem), loading=loading)
    model = block_model(problem)
    if time_limit is not None:
        time_limit -= time.perf_counter() - began

    def report(now: Progress) -> None:
        assert progress is not None
        progress(now.seconds, now.value, now.bound)

    found = solve_model(
        model,
        gap=gap,
        clock=Clock(time_limit, None if progress is None else report),
        start=None if warm is None else np.asarray(warm.block),
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
    few = n_arms <= params.tiny_arms and length <= params.tiny_rounds
    return few or n_arms**length <= params.tiny_blocks


def solve_small(model: Model, beat: float) -> Solution | None:
    """Find the best block worth more than ``beat`` in microseconds; None if it takes longer.

    The block of the answer is empty if there is none, and its bound then what was to beat.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.diagram import Diagram
    >>> arm = Diagram.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                  final=[0.0], root=[0])
    >>> model = Model(arm, np.arange(1))
    >>> solve_small(model, beat=0.25).block, solve_small(model, beat=0.75).bound
    (array([0]), 0.75)
    """
    if not is_small(model.n_arms, model.length):
        return None
    loading = stages.seconds_of(stages.ready_to_be_tiny)
    block, value = solve_tiny(model, ROUNDING, beat=beat)
    if value != value:
        return None
    return Solution(block[: len(block) if value > beat else 0], value, loading=loading)


def solve_model(
    model: Model,
    *,
    gap: float = 0.0,
    clock: Clock | None = None,
    start: Schedule | None = None,
    prices: FloatArray | None = None,
    beat: float = -np.inf,
    params: SearchParams | None = None,
) -> Solution:
    """Find the best schedule of a model, and a bound on the best value.

    Ctrl-C stops it like a time limit, once it has found any schedule.

    Parameters
    ----------
    model
        The arms, and the automata they share.
    gap
        Stop once (bound - value) <= gap * |value|.
    clock
        Stop when it says so, compiling not counted; never before some block is found, or the beam
        has passed once. It is told of progress.
    start
        A schedule to start from; ignored where it is not feasible.
    prices
        Dual prices to start from, such as those of a similar problem.
    beat
        Only schedules worth more are looked for; the bound holds for what is worth more, and is at
        least this.
    params
        The constants of the search.

    Returns
    -------
    A solution whose block is empty if nothing was found. With shared automata it has the arms of
    every round, and a bound of minus infinity proves that there is no schedule.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.diagram import Diagram
    >>> arm = Diagram.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
    ...                  final=[0.0], root=[0])
    >>> model = Model(arm, np.arange(1))
    >>> solve_model(model).bound
    0.5
    >>> solve_model(model, beat=0.75).block, solve_model(model, beat=0.75).bound
    (array([], dtype=int64), 0.75)
    """
    clock = clock or Clock(None)
    if model.shared is not None:
        clock.forgive(stages.seconds_of(stages.ready_to_share))
    search = Search(model, gap, clock, beat, params or DEFAULT)
    if start is not None and len(start) == model.length:
        search.best.offer(start)
    return _searched(search, prices)


def feasible(model: Model, clock: Clock | None = None) -> Solution:
    """Find any schedule of arms with shared automata, or that there is none, whatever it pays.

    Without pays diagrams shrink to what the rules remember, and a negative bound is a proof.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> from lastswitch.planning.diagrams.shared import ruled_model
    >>> from lastswitch.planning.ruled_problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> feasible(ruled_model(RuledProblem(block, rules=[r.never([0, 1], [1])]))).infeasible
    True
    """
    clock = clock or Clock(None)
    clock.forgive(stages.seconds_of(stages.ready_to_share))
    return _searched(Search(without_pays(model), 0.0, clock, any_will_do=True), None)


def _searched(search: Search, prices: FloatArray | None) -> Solution:
    """Run a search, until Ctrl-C at most, and return what it found."""
    best, interrupted = search.best, False
    try:
        search.run(prices)
    except KeyboardInterrupt:
        if not best.answered:
            raise
        interrupted = True
    block = np.empty(0, np.int64) if best.schedule is None else best.schedule
    forgiven = search.clock.forgiven
    return Solution(block, best.reported_bound(), best.price, interrupted, forgiven)
