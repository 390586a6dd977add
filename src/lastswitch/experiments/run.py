"""What a simulation leaves: the :class:`Run`, play by play and round by round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastswitch.errors import ExperimentError
from lastswitch.rules.checking import violations

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.rules import Rule


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What was played and what it paid.

    ``arms``, ``taus``, ``rewards`` and ``means`` have one entry per play, ``earned``, ``expected``
    and ``rounds`` one per round. With several subjects the rounds are interleaved: subject ``s``
    had rounds ``s``, ``s + subjects``, ``s + 2 * subjects``, ... Where every round plays one arm,
    without rules, plays and rounds are the same.

    Attributes
    ----------
    bandit
        What was played on.
    arms, taus, rewards
        The arm of every play, the state it was in, and what it paid.
    subjects
        How many took turns.
    sizes
        Plays in each round; None: one.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([([0.5, 1.0], [0.0]), ([0.3], [0.3])], noise="none")
    >>> run = ls.simulate(bandit, ls.FixedCycle([0, 1]), horizon=6, seed=0)
    >>> run.arms.tolist(), run.taus.tolist()
    ([0, 1, 0, 1, 0, 1], [1, 2, 1, 1, 1, 1])
    >>> round(run.total, 2), run.switches, run.plays.tolist()
    (2.4, 5, [3, 3])

    Several plays a round and silence, which pays 0.1 for every empty place:

    >>> bandit = ls.Bandit(bandit.curves, noise="none", plays=(0, 2), silence=0.1)
    >>> run = ls.simulate(bandit, ls.FixedCycle([(0, 1), ()]), horizon=4, seed=0)
    >>> run.rounds
    [(0, 1), (), (0, 1), ()]
    >>> run.earned.tolist()
    [0.8, 0.2, 0.8, 0.2]
    """

    bandit: Bandit
    arms: NDArray[np.integer]
    taus: NDArray[np.integer]
    rewards: NDArray[np.float64]
    subjects: int = 1
    sizes: NDArray[np.integer] | None = None

    @property
    def horizon(self) -> int:
        """Rounds played by each subject."""
        return len(self.arms if self.sizes is None else self.sizes) // self.subjects

    @cached_property
    def rounds(self) -> list[tuple[int, ...]]:
        """The arms of every round, none where it was silent."""
        arms = self.arms.tolist()
        if self.sizes is None:
            return [(arm,) for arm in arms]
        ends = np.cumsum(self.sizes).tolist()
        return [tuple(arms[a:b]) for a, b in zip([0, *ends], ends, strict=False)]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each play paid on average, its mean reward in the state it was played in."""
        means = np.empty(len(self.arms))
        for arm, curve in enumerate(self.bandit.curves):
            here = np.flatnonzero(self.arms == arm)
            means[here] = curve(self.taus[here])
        return means

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """What broken soft rules cost, round by round."""
        costs = np.zeros(self.horizon * self.subjects)
        for rule in self.bandit.rules:
            if rule.cost is not None:
                for place, amount in self.broken(rule):
                    costs[place] += amount * rule.cost
        return costs

    @cached_property
    def earned(self) -> NDArray[np.float64]:
        """What each round earned: its rewards and its silence, less what soft rules cost.

        So its sum is the realised form of what ``optimal_total`` maximises.
        """
        return self._by_round(self.rewards)

    @cached_property
    def expected(self) -> NDArray[np.float64]:
        """What each round earned without the noise of the rewards."""
        return self._by_round(self.means)

    @property
    def total(self) -> float:
        """What was earned in all: see ``earned``."""
        return float(self.earned.sum())

    @property
    def mean_total(self) -> float:
        """What these plays are expected to earn: the total without the noise."""
        return float(self.expected.sum())

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """What was earned after each round."""
        return np.cumsum(self.earned)

    @cached_property
    def cumulative_means(self) -> NDArray[np.float64]:
        """What was expected to be earned after each round."""
        return np.cumsum(self.expected)

    @property
    def plays(self) -> NDArray[np.int64]:
        """How often each arm was played."""
        return np.bincount(self.arms, minlength=self.bandit.n_arms)

    @property
    def switches(self) -> int:
        """How often a subject's next round played other arms than its last."""
        if self.sizes is None:
            return int(np.count_nonzero(self.arms[self.subjects :] != self.arms[: -self.subjects]))
        return sum(map(lambda a, b: a != b, self.rounds, self.rounds[self.subjects :]))

    def states(self) -> dict[tuple[int, int], int]:
        """Count the plays of each ``(arm, tau)``, most played first.

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([([1.0], [0.0])], noise="none")
        >>> ls.simulate(bandit, ls.FixedCycle([0]), horizon=3, seed=0).states()
        {(0, -2): 1, (0, -1): 1, (0, 1): 1}
        """
        return by_state(self.visits)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """The states visited as three rows: arm, tau and how often, in order of arm and tau."""
        pairs = np.stack([self.arms.astype(np.int64), self.taus.astype(np.int64)])
        unique, counts = np.unique(pairs, axis=1, return_counts=True)
        return np.vstack([unique, counts[None, :]])

    def broken(self, rule: Rule) -> list[tuple[int, int]]:
        """Return where a rule was broken: places in ``rounds``, and by how much.

        Examples
        --------
        >>> import lastswitch as ls
        >>> from lastswitch import rules as r
        >>> bandit = ls.Bandit([([1.0], [0.5])], rules=[r.apart(0, 2, cost=0.1)])
        >>> ls.simulate(bandit, ls.FixedCycle([0]), horizon=3).broken(bandit.rules[0])
        [(1, 1), (2, 1)]
        """
        bound = rule.bound(self.bandit.names, self.bandit.groups)
        return sorted(
            (found.round * self.subjects + subject, found.amount)
            for subject in range(self.subjects)
            for found in violations(bound, self.rounds[subject :: self.subjects])
        )

    def check_rules(self) -> Run:
        """Return the run, if no hard rule of its bandit was broken in it."""
        for rule in self.bandit.rules:
            found = self.broken(rule) if rule.hard else []
            if found:
                t, subject = divmod(found[0][0], self.subjects)
                whose = "" if self.subjects == 1 else f" of subject {subject}"
                raise ExperimentError(f"the policy broke the rule {rule} in round {t}{whose}.")
        return self

    def _by_round(self, pays: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what rounds are worth whose plays are worth ``pays``."""
        if self.sizes is None:
            return pays - self.costs if self.bandit.rules else pays
        rounds = len(self.sizes)
        where = np.repeat(np.arange(rounds), self.sizes)
        worth = np.bincount(where, weights=pays, minlength=rounds)
        empty = self.bandit.plays[1] - self.sizes.astype(np.int64)
        return worth + self.bandit.silence * empty - self.costs

    def __repr__(self) -> str:
        return (
            f"Run({self.horizon} rounds, {self.bandit.n_arms} arms, total {self.total:g}, "
            f"{self.switches} switches)"
        )


def by_state(visits: NDArray[np.int64]) -> dict[tuple[int, int], int]:
    """Return visits, three rows of arm, tau and count, as counts by ``(arm, tau)``, most first.

    Examples
    --------
    >>> by_state(np.array([[0, 1], [1, -2], [3, 5]]))
    {(1, -2): 5, (0, 1): 3}
    """
    arms, taus, counts = visits.tolist()
    order = sorted(range(len(counts)), key=lambda k: (-counts[k], arms[k], taus[k]))
    return {(arms[k], taus[k]): counts[k] for k in order}
