"""One round of one subject by its definition: what a choice pays, what rules say, what then."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from lastswitch._arrays import IntArray
from lastswitch.cohorts.problem import CohortProblem
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
