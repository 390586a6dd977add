"""All that the subjects of a small cohort can do with its budgets, for an answer without a gap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.response import Played
from lastswitch.rules.automata.counters import Counter

#: The states of all arms, and of all counters.
Joint = tuple[tuple[int, ...], tuple[Hashable, ...]]


def counters_at(problem: CohortProblem, row: IntArray) -> tuple[Counter, ...]:
    """Return the counters of all rules at a standing."""
    columns = zip(problem.memories, problem.memory_columns(), strict=True)
    return tuple(
        counter for memory, where in columns for counter in memory.counters(row[where].tolist())
    )


class Step:
    """One round from a standing or from where its rounds lead: what a choice pays, and what then.

    Parameters
    ----------
    problem
        Curves and rules.
    row
        The standing; ``start`` is its joint state: those of all arms, and of all counters.
    """

    def __init__(self, problem: CohortProblem, row: IntArray) -> None:
        self.problem = problem
        self._counters = counters_at(problem, row)
        taus = row[: problem.n_arms].tolist()
        self.start: Joint = (
            tuple(machine.at(tau) for machine, tau in zip(problem.machines, taus, strict=True)),
            tuple(counter.start for counter in self._counters),
        )

    def __call__(
        self,
        t: int,
        states: tuple[int, ...],
        memories: tuple[Hashable, ...],
        choice: tuple[int, ...],
    ) -> tuple[float, Joint] | None:
        """Return what the arms of ``choice`` pay in round ``t``, and where that leads.

        None if a rule forbids it.
        """
        machines = self.problem.machines
        pay = self.problem.silence * (self.problem.plays[1] - len(choice))
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
        return pay, (moved, tuple(later))


def plan_worth(problem: CohortProblem, row: IntArray, rounds: Sequence[Sequence[int]]) -> float:
    """Return what a plan is worth at a standing, by its definition; minus infinity: forbidden.

    Examples
    --------
    >>> import lastswitch as ls
    >>> problem = CohortProblem(ls.Bandit([ls.Curve([0.2, 0.9], [0.1])], plays=(0, 1)), 2)
    >>> plan_worth(problem, problem.standing([[1]])[0], [(), (0,)])
    0.9
    """
    step, total = Step(problem, row), 0.0
    joint = step.start
    for t, played in enumerate(rounds):
        moved = step(t, *joint, tuple(played))
        if moved is None:
            return -math.inf
        total, joint = total + moved[0], moved[1]
    return total


#: By joint state and use so far, the best value and the plan that has it.
_Found = dict[tuple[Joint, tuple[int, ...]], tuple[float, tuple[tuple[int, ...], ...]]]
_END: Joint = ((), ())


class Options(NamedTuple):
    """For every use of the budgets that a standing can make, a best plan and what it is worth."""

    arms: Played
    value: FloatArray
    use: IntArray


def all_options(problem: CohortProblem, row: IntArray, most: int) -> Options | None:
    """Return what a standing can do; None if that is more than ``most`` at some round.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.cohorts.budgets import Budget
    >>> bandit = ls.Bandit([ls.curves.constant(0.5)], plays=(0, 1))
    >>> problem = CohortProblem(bandit, 2, budgets=[Budget(0, 3, per="all")])
    >>> found = all_options(problem, problem.standing([[1]])[0], 100)
    >>> found.use.ravel().tolist(), found.value.tolist()
    ([2, 1, 0], [1.0, 0.5, 0.0])
    """
    step = Step(problem, row)
    least, places = problem.plays
    counted = problem.rows.counts
    choices = [
        choice
        for size in range(places, least - 1, -1)
        for choice in itertools.combinations(range(problem.n_arms), size)
    ]
    now: _Found = {(step.start, (0,) * len(problem.rows)): (0.0, ())}
    for t in range(problem.length):
        uses = [counted[:, list(choice), t].sum(axis=1).tolist() for choice in choices]
        later: _Found = {}
        for (joint, use), (value, plan) in now.items():
            for choice, more in zip(choices, uses, strict=True):
                moved = step(t, *joint, choice)
                if moved is None:
                    continue
                after = moved[1] if t + 1 < problem.length else _END
                key = after, tuple(a + b for a, b in zip(use, more, strict=True))
                if key not in later or value + moved[0] > later[key][0]:
                    later[key] = value + moved[0], (*plan, choice)
            if len(later) > most:
                return None
        now = later
    arms = np.full((len(now), problem.length, places), -1, np.int16)
    for n, (_, plan) in enumerate(now.values()):
        for t, choice in enumerate(plan):
            arms[n, t, : len(choice)] = choice
    uses_made = np.array([use for _, use in now], np.int64).reshape(len(now), len(problem.rows))
    return Options(arms, np.array([value for value, _ in now.values()]), uses_made)
