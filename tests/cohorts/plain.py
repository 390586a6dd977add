"""Backward induction in plain Python: the definition of a response, for any rules and plays.

From every standing, every choice of every round is looked at, and what was found for a joint state
(of all arms and all that rules remember) is kept. The ways of the package are tested against this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.cohorts.options import Step
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played, Respond, Response

#: The best that can be had from a joint state on: priced, and the round's choice (None: nothing).
_Best = tuple[float, tuple[int, ...] | None]


class Plain:
    """Responses by backward induction over dictionaries.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.1]), ls.curves.constant(0.4)])
    >>> problem = CohortProblem(bandit, 3)
    >>> rows = problem.standing([[1, 1]])
    >>> Plain(problem).at(rows, np.ones(1))(np.zeros((2, 3))).arms.ravel().tolist()
    [1, 0, 1]
    """

    def __init__(self, problem: CohortProblem) -> None:
        self.problem = problem
        least, most = problem.plays
        arms = range(problem.n_arms)
        self._choices = [
            choice
            for size in range(most, least - 1, -1)
            for choice in itertools.combinations(arms, size)
        ]

    def at(self, rows: IntArray, weight: FloatArray) -> Respond:
        """Return the function from prices to the responses of these standings."""
        return lambda price: self._respond(rows, price, weight)

    def _respond(self, rows: IntArray, price: FloatArray, weight: FloatArray) -> Response:
        problem = self.problem
        shape = (len(rows), problem.length, problem.plays[1])
        arms = np.full(shape, -1, np.int16)
        value, bound = np.empty(len(rows)), np.empty(len(rows))
        for number, row in enumerate(rows):
            search = _Search(Step(problem, row), self._choices, price, float(weight[number]))
            bound[number] = search.best(0, *search.step.start)[0]
            value[number] = search.walk(arms[number])
        return Response(arms, value, bound)


class _Search:
    """Backward induction from one standing."""

    def __init__(
        self, step: Step, choices: list[tuple[int, ...]], price: FloatArray, weight: float
    ) -> None:
        self.step, self._choices = step, choices
        self._price, self._weight = price, weight
        self._known: dict[Hashable, _Best] = {}

    def best(self, t: int, states: tuple[int, ...], memories: tuple[Hashable, ...]) -> _Best:
        """Return the best priced value from round ``t`` on, and what to play in it."""
        if t == self._price.shape[1]:
            return 0.0, ()
        key = (t, states, memories)
        if key not in self._known:
            found: _Best = (-math.inf, None)
            for choice in self._choices:
                moved = self.step(t, states, memories, choice)
                if moved is None:
                    continue
                paid = float(sum(self._price[arm, t] for arm in choice))
                total = self._weight * moved[0] - paid + self.best(t + 1, *moved[1])[0]
                if total > found[0]:
                    found = (total, choice)
            self._known[key] = found
        return self._known[key]

    def walk(self, out: Played) -> float:
        """Write the best plan into ``out``; return what it is worth without prices and weight."""
        joint, total = self.step.start, 0.0
        for t in range(len(out)):
            choice = self.best(t, *joint)[1]
            moved = None if choice is None else self.step(t, *joint, choice)
            if choice is None or moved is None:
                return -math.inf
            out[t, : len(choice)] = choice
            total, joint = total + moved[0], moved[1]
        return total
