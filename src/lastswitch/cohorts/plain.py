"""Backward induction in plain Python: the definition of a response, for any rules and plays.

From every standing, every choice of every round is looked at, and what was found for a joint state
(of all arms and all that rules remember) is kept. Faster ways are tested against this one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Respond, Response
from lastswitch.planning.ruled.counters import Counter

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
            states, memories, counters = self._root(row)
            search = _Search(problem, self._choices, counters, price, float(weight[number]))
            bound[number] = search.best(0, states, memories)[0]
            value[number] = search.walk(states, memories, arms[number])
        return Response(arms, value, bound)

    def _root(
        self, row: IntArray
    ) -> tuple[tuple[int, ...], tuple[Hashable, ...], tuple[Counter, ...]]:
        """Return the states of all arms and counters before the first round."""
        problem = self.problem
        states = tuple(
            machine.at(int(tau)) for machine, tau in zip(problem.machines, row, strict=False)
        )
        counters = tuple(
            counter
            for memory, where in zip(problem.memories, problem.memory_columns(), strict=True)
            for counter in memory.counters(row[where].tolist())
        )
        return states, tuple(counter.start for counter in counters), counters


class _Search:
    """Backward induction from one standing."""

    def __init__(
        self,
        problem: CohortProblem,
        choices: list[tuple[int, ...]],
        counters: tuple[Counter, ...],
        price: FloatArray,
        weight: float,
    ) -> None:
        self._problem, self._choices, self._counters = problem, choices, counters
        self._price, self._weight = price, weight
        self._known: dict[Hashable, _Best] = {}

    def best(self, t: int, states: tuple[int, ...], memories: tuple[Hashable, ...]) -> _Best:
        """Return the best priced value from round ``t`` on, and what to play in it."""
        if t == self._problem.length:
            return 0.0, ()
        key = (t, states, memories)
        if key not in self._known:
            found: _Best = (-math.inf, None)
            for choice in self._choices:
                step = self._step(t, states, memories, choice)
                if step is None:
                    continue
                pay, cost, after = step
                total = self._weight * pay - cost + self.best(t + 1, *after)[0]
                if total > found[0]:
                    found = (total, choice)
            self._known[key] = found
        return self._known[key]

    def walk(self, states: tuple[int, ...], memories: tuple[Hashable, ...], out: IntArray) -> float:
        """Write the best plan into ``out``; return what it is worth without prices and weight."""
        total = 0.0
        for t in range(self._problem.length):
            choice = self.best(t, states, memories)[1]
            step = None if choice is None else self._step(t, states, memories, choice)
            if choice is None or step is None:
                return -math.inf
            out[t, : len(choice)] = choice
            pay, _, (states, memories) = step
            total += pay
        return total

    def _step(
        self,
        t: int,
        states: tuple[int, ...],
        memories: tuple[Hashable, ...],
        choice: tuple[int, ...],
    ) -> tuple[float, float, tuple[tuple[int, ...], tuple[Hashable, ...]]] | None:
        """Return what a choice pays and costs, and where it leads; None if a rule forbids it."""
        machines, silence = self._problem.machines, self._problem.silence
        pay = silence * (self._problem.plays[1] - len(choice))
        pay += sum(machines[arm].pay[states[arm]] for arm in choice)
        later = []
        for counter, memory in zip(self._counters, memories, strict=True):
            event = sum(counter.letters.get(arm, 0) for arm in choice)
            following, wrong = counter.step(t, memory, event)
            if wrong and counter.cost is None:
                return None
            pay -= wrong * (counter.cost or 0.0)
            later.append(following)
        moved = tuple(
            machine.on_pull[s] if arm in choice else machine.on_idle[s]
            for arm, (machine, s) in enumerate(zip(machines, states, strict=True))
        )
        cost = float(sum(self._price[arm, t] for arm in choice))
        return pay, cost, (moved, tuple(later))
