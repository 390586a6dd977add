"""Plans of one standing after the other, each found and proven by the certified planner.

For problems that tables do not serve: rules that cross, or too many rounds. Prices are taken off
what every play pays, and the planner sees arms and rules as it always does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.cohorts.options import counters_at, plan_worth
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Respond, Response
from lastswitch.planning.certified import solve_model
from lastswitch.planning.diagrams.diagram import Model
from lastswitch.planning.diagrams.shared import assembled, plain_arms
from lastswitch.planning.playing import RoundsPlayed
from lastswitch.planning.ruled_problem import RuledProblem


class Certified:
    """Responses by one search for each standing.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.curves.constant(0.4)])
    >>> problem = CohortProblem(bandit, 3)
    >>> rows = problem.standing([[1, 1]])
    >>> Certified(problem).at(rows, np.ones(1))(np.zeros((2, 3))).arms.ravel().tolist()
    [1, 0, 1]
    """

    def __init__(self, problem: CohortProblem) -> None:
        self._problem = problem

    def at(self, rows: IntArray, weight: FloatArray) -> Respond:
        """Return the function from prices to the responses of these standings."""
        problem = self._problem

        def respond(price: FloatArray) -> Response:
            shape = (len(rows), problem.length, problem.plays[1])
            arms = np.full(shape, -1, np.int16)
            value, bound = np.full(len(rows), -np.inf), np.full(len(rows), -np.inf)
            for n, (row, each) in enumerate(zip(rows, weight.tolist(), strict=True)):
                # Nothing is kept from look to look: the answer must depend on this row alone.
                answer = solve_model(_compiled(problem, row, price, each))
                if answer.rounds is None:
                    continue
                for t, played in enumerate(answer.rounds):
                    arms[n, t, : len(played)] = sorted(played)
                value[n] = plan_worth(problem, row, answer.rounds)
                paid = _paid(answer.rounds, price)
                bound[n] = max(answer.bound, each * value[n] - paid)
            return Response(arms, value, bound)

        return respond


def _compiled(problem: CohortProblem, row: IntArray, price: FloatArray, weight: float) -> Model:
    """Return the planner's form of one standing at some prices."""
    ruled = RuledProblem.from_bandit(
        problem.bandit,
        problem.length,
        start=row[: problem.n_arms],
        rules=(),
        plays=problem.plays,
        silence=weight * problem.silence,
    )
    counters = [
        counter if counter.cost is None else replace(counter, cost=weight * counter.cost)
        for counter in counters_at(problem, row)
    ]
    arms = _priced(plain_arms(ruled), price, weight)
    return assembled(arms, counters, ruled.allowed, ruled.plays, ruled.silence)


def _priced(model: Model, price: FloatArray, weight: float) -> Model:
    """Return the arms at some prices; states of a round are listed arm by arm."""
    arms = model.arms
    pay, n_arms = weight * arms.gain, max(len(price), 2)  # one arm alone is listed twice
    for t in range(arms.length):
        begin, end = int(arms.lo[t]), int(arms.hi[t])
        owner = np.repeat(np.arange(n_arms), (end - begin) // n_arms)
        pay[begin:end] -= price[np.minimum(owner, len(price) - 1), t]
    alike: dict[object, int] = {}
    alike_arms = [
        alike.setdefault((int(twin), price[arm].tobytes()), arm)
        for arm, twin in enumerate(model.alike)
    ]
    return Model(arms._replace(gain=pay + 0.0), np.array(alike_arms, np.int64))


def _paid(rounds: RoundsPlayed, price: FloatArray) -> float:
    return float(sum(price[arm, t] for t, played in enumerate(rounds) for arm in played))
