"""An earlier plan as a start: as far as it fits, never trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.greedy import completed
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.problem import BlockProblem

if TYPE_CHECKING:
    from lastswitch.planning.playing import RoundsPlayed
    from lastswitch.planning.ruled_problem import RuledProblem

#: Prices larger than this many times the largest pay would drown it in rounding.
MOST_PRICE = 100.0


def block_start(warm: Plan, problem: BlockProblem, names: Sequence[str]) -> Solution:
    """Return the block of an earlier plan, what does not fit planned anew, and its prices.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> block_start(Plan((0, 7, 1), 1.0, 1.0), problem, ()).block
    [0, 1, 1]
    """
    rounds = _known(warm, names, problem.n_arms)
    wanted = [
        next((arm for arm in arms if problem.allowed[t, arm]), None)
        for t, arms in enumerate(rounds)
    ]
    clash = problem.distinct_start and problem.length > 1 and wanted[0] == wanted[1]
    block = [arm for arm in wanted if arm is not None]
    if clash or len(block) < problem.length:
        block = completed(problem, wanted)
    return Solution(block, math.inf, usable(warm.prices, problem.scale, problem.length))


def schedule_start(warm: Plan, problem: RuledProblem) -> tuple[RoundsPlayed, FloatArray | None]:
    """Return the rounds of an earlier plan with the arms that may play there, and its prices.

    Rounds are filled up with the first arms allowed; the schedule may break rules.

    Examples
    --------
    >>> from lastswitch.planning.ruled_problem import RuledProblem
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> ready = RuledProblem(block, plays=(0, 1))
    >>> schedule_start(Plan((0, 7, 1), 1.0, 1.0), ready)[0]
    ((0,), (), (1,))
    """
    least, most = problem.plays
    start = []
    for t, arms in enumerate(_known(warm, problem.names, problem.n_arms)):
        kept = [arm for arm in arms if problem.allowed[t, arm]][:most]
        others = (arm for arm in np.flatnonzero(problem.allowed[t]).tolist() if arm not in kept)
        while len(kept) < least:
            kept.append(next(others))
        start.append(tuple(sorted(kept)))
    return tuple(start), usable(warm.prices, problem.scale, problem.length)


def usable(prices: FloatArray | None, scale: float, length: int) -> FloatArray | None:
    """Return prices to start from; None if sums of them and of pays would be wrong.

    Examples
    --------
    >>> usable(np.array([0.5, 0.25]), 1.0, 2), usable(np.array([0.5, np.inf]), 1.0, 2)
    (array([0.5 , 0.25]), None)
    """
    if prices is None or len(prices) < length:
        return None
    return prices if bool((np.abs(prices) <= MOST_PRICE * scale).all()) else None


def _known(warm: Plan, names: Sequence[str], n_arms: int) -> list[list[int]]:
    """Return the rounds of a plan with the arms a problem has: the same names, or else numbers."""
    number = {name: arm for arm, name in enumerate(names)}
    here = [number.get(name) if names else arm for arm, name in enumerate(warm.names)]
    rounds = [dict.fromkeys(here[arm] for arm in arms) for arms in warm.rounds]
    return [[arm for arm in arms if arm is not None and arm < n_arms] for arms in rounds]
