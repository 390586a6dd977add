"""The one way in: ``plan_block`` turns a bandit or a problem into a Plan.

A solver is a module of this package with one function::

    solve(problem, *, gap, time_limit, progress, warm) -> Solution

- ``gap`` (>= 0): it may stop once (bound - value) <= gap * |value|.
- ``time_limit`` (seconds or None): it returns its best block and a true bound about then.
- ``progress`` (or None): called now and then with (seconds so far, best value, bound).
- ``warm`` (a Solution or None): an earlier plan of a similar problem, as far as it fits this one;
  its block and prices may be used as a start, never trusted as a result.
- On ``KeyboardInterrupt`` it returns its best block so far and a true bound, if it has any.

The ``Solution`` holds the block, the bound and, if there are any, prices; ``plan_block`` evaluates
the block itself, so a solver's arithmetic is never the reported value.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_choice, check_limits
from lastswitch._utils.progress import Progress, Report, reporter
from lastswitch.errors import InputTypeError, PlanError
from lastswitch.model.bandit import Bandit, options_of
from lastswitch.model.states import Start
from lastswitch.planning.certificate import rounding
from lastswitch.planning.greedy import plain_bound
from lastswitch.planning.optima.long_blocks import walked
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.playing import start_after
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.warm import block_start

if TYPE_CHECKING:
    from lastswitch.planning.ruled_problem import RuledProblem
    from lastswitch.rules import Rule

#: Solver name -> the module that has it, imported on use.
SOLVERS = {
    "certified": "lastswitch.planning.certified",
    "ilp": "lastswitch.planning.milp.ilp",
    "relaxation": "lastswitch.planning.milp.relaxation",
    "brute-force": "lastswitch.planning.brute_force",
}

#: What solvers that go through HiGHS take for equal, relative to the largest number.
ACCURACY = {"ilp": 1e-9, "relaxation": 1e-9}
#: So many times that, relative to what a schedule collects, is an error to own up to.
VISIBLE = 10


def plan_block(
    bandit: Bandit | BlockProblem | RuledProblem,
    length: int | None = None,
    *,
    start: Start = "initial",
    history: Iterable[object] | None = None,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    allowed: ArrayLike | None = None,
    distinct_start: bool = False,
    solver: str = "certified",
    gap: float = 0.0,
    time_limit: float | None = None,
    warm: Plan | None = None,
    progress: bool | Report | None = None,
) -> Plan:
    """Plan one block: the arms to play, what that is worth, and a bound on the best possible.

    Parameters
    ----------
    bandit
        A bandit, with ``length`` and the options below, or a ready :class:`BlockProblem` or
        :class:`~lastswitch.planning.ruled_problem.RuledProblem`.
    length
        How many rounds to plan.
    start
        Where the arms stand: ``"initial"`` (as the bandit says), a state vector, or
        ``"unknown"``: then the first pull of each arm counts for nothing, the calibrated
        objective of Laforgue et al. (2022), Eq. (8).
    history
        The rounds before, the latest last: each an arm (by name or number), several, or None for
        silence. They move the initial state, and rules whose windows reach back see them; a
        ``start`` alone says nothing about those.
    rules
        What the schedule must respect, made with :mod:`lastswitch.rules`; the bandit's own by
        default.
    plays
        How many different arms a round plays: a number, or a range such as (0, 1); the bandit's
        own by default.
    silence
        What an empty place pays; the bandit's own by default.
    allowed
        Which arms may play: a table (length, K) of True and False, slot by slot; or, for every
        slot alike, one True or False per arm, or a list of arms by number.
    distinct_start
        The first two slots go to different arms.
    solver
        ``"certified"`` (exact, fast), ``"ilp"`` (the paper's integer program, exact),
        ``"relaxation"`` (the paper's Algorithm 2) or ``"brute-force"``.
    gap
        Stop once the block is within this share of the best possible, such as 0.01.
    time_limit
        Stop after about this many seconds with the best block so far and its bound.
    warm
        A plan of a similar problem of as many rounds, to start from: as far as it fits, arms
        being known by their names. It is never trusted.
    progress
        ``True`` for a bar, or a function called now and then with a
        :class:`~lastswitch.Progress`: seconds, value and bound so far.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.Curve([0.4], [0.4])])
    >>> plan = plan_block(bandit, 6, start=[1, 1])
    >>> plan.block, round(plan.value, 3), plan.optimal
    ((1, 0, 1, 1, 0, 1), 3.4, True)
    """
    problem, names = _problem(
        bandit, length, start, allowed, distinct_start, (history, rules, plays, silence)
    )
    check_choice("solver", solver, SOLVERS, PlanError)
    check_limits(gap, time_limit)
    if warm is not None and not isinstance(warm, Plan):
        raise InputTypeError(f"warm must be an earlier Plan, got {type(warm).__name__}.")
    if warm is not None and len(warm.rounds) != problem.length:
        raise PlanError(
            f"warm plans {len(warm.rounds)} slots and this problem has {problem.length}; "
            "warm starts need the same length."
        )
    module = importlib.import_module(SOLVERS[solver])
    began = time.perf_counter()
    with reporter(progress, "planning") as report:

        def tell(seconds: float, value: float, bound: float) -> None:
            report(Progress(seconds, value=value, bound=bound))

        listened = None if progress is None or progress is False else tell
        if not isinstance(problem, BlockProblem):
            from lastswitch.planning.ruled_solve import plan_ruled

            return plan_ruled(
                *(problem, solver), gap=gap, time_limit=time_limit, warm=warm, progress=report
            )
        solution: Solution | None = None
        if solver == "certified" and names and history is None:
            assert isinstance(bandit, Bandit)
            solution = walked(bandit, problem, start, time_limit)
        if solution is None:
            known = None if warm is None else block_start(warm, problem, names)
            left = None if time_limit is None else time_limit - (time.perf_counter() - began)
            solution = module.solve(
                problem, gap=gap, time_limit=left, progress=listened, warm=known
            )
    seconds = time.perf_counter() - began - solution.loading
    return plan_of(problem, solution, solver=solver, seconds=seconds, names=names)


def plan_of(
    problem: BlockProblem,
    solution: Solution,
    *,
    solver: str,
    seconds: float,
    names: tuple[str, ...] = (),
    repeats: bool = False,
) -> Plan:
    """Return the Plan of a solver's answer, its block evaluated by the problem's definition.

    Examples
    --------
    >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.5] * 3])
    >>> plan_of(problem, Solution([0, 0, 0], 0.7), solver="by hand", seconds=0.0).value
    0.7
    """
    block = np.asarray(solution.block)
    value, size = problem.worth(block)
    bound, accuracy = solution.bound, ACCURACY.get(solver, 0.0)
    # A proven block has no other bound. Another cycle starts in another state.
    if not repeats and (bound > value or accuracy):
        free = plain_bound(problem)
        if accuracy:
            error = accuracy * problem.length * problem.scale
            visible = VISIBLE * accuracy * (size or abs(free))
            bound = owned_up(value, bound, error, visible, free)
        bound = min(bound, free)
    if value > bound and value - bound <= rounding(value, bound, size):
        bound = value  # the two are the same sum in a different order
    return Plan(
        block=tuple(block.tolist()),
        value=value,
        bound=bound,
        solver=solver,
        seconds=seconds,
        names=names,
        problem=problem,
        repeats=repeats,
        prices=solution.prices,
    )


def owned_up(value: float, bound: float, error: float, visible: float, free: float) -> float:
    """Return a bound that holds although its solver calls equal what differs by ``error``.

    That is rounding in the largest number of the problem. Where the schedule collects much smaller
    ones it is ``visible``, and is owned up to. A ``bound`` that is off by more is none, and the
    ``free`` one, made without that solver, holds in its place.

    Examples
    --------
    >>> owned_up(1.0, 1.0, 1e-9, 1e-7, 3.0), owned_up(1.0, 1.0, 0.25, 1e-7, 3.0)
    (1.0, 1.25)
    >>> owned_up(1.0, 0.5, 0.25, 1e-7, 3.0)
    3.0
    """
    if value > bound + max(error, visible):
        return free
    return max(bound + error if error > visible else bound, value)


def _problem(
    bandit: Bandit | BlockProblem | RuledProblem,
    length: int | None,
    start: Start,
    allowed: ArrayLike | None,
    distinct_start: bool,
    ruled: tuple[Any, Any, Any, Any],
) -> tuple[BlockProblem | RuledProblem, tuple[str, ...]]:
    """Return the problem to solve and the arms' names, if they have any."""
    if not isinstance(bandit, Bandit):
        given = length is not None or allowed is not None or distinct_start
        given |= any(option is not None for option in ruled)
        given |= not (isinstance(start, str) and start == "initial")
        return _as_it_is(bandit, given), ()
    if length is None:
        raise PlanError("length is missing: say how many rounds to plan, such as length=12.")
    history = ruled[0]
    rules, plays, silence = options_of(bandit, *ruled[1:])
    if not rules and plays == (1, 1):
        start = start_after(bandit, start, history)
        problem = BlockProblem.from_bandit(bandit, length, start, allowed, distinct_start)
        return problem, tuple(bandit.names)
    from lastswitch.planning.ruled_problem import RuledProblem

    full = RuledProblem.from_bandit(
        bandit,
        length,
        start=start,
        history=history,
        rules=rules,
        plays=plays,
        silence=silence,
        allowed=allowed,
        distinct_start=distinct_start,
    )
    return full, tuple(bandit.names)


def _as_it_is(problem: BlockProblem | RuledProblem, given: bool) -> BlockProblem | RuledProblem:
    """Return a ready problem; refuse what is none, or options ``given`` beside it."""
    if not isinstance(problem, BlockProblem):
        from lastswitch.planning.ruled_problem import RuledProblem

        if not isinstance(problem, RuledProblem):
            raise InputTypeError(
                f"plan_block needs a Bandit or a BlockProblem, got {type(problem).__name__}."
            )
    if given:
        raise PlanError(
            "length, start, allowed, rules and the like are part of a BlockProblem already; "
            "give them when building it."
        )
    return problem
