"""Learners that take arms as they are, whatever was played before: UCB1 and Thompson sampling."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import Any

from lastswitch._checks import check_positive
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.tracks import Track

#: Draws made at once from a posterior: one call costs little more than one draw, and what a
#: reward makes stale is thrown away.
_DRAWS = 12


class UCB1(Policy):
    r"""Plays the arm with the largest mean + √(α log t / n), blind to states.

    Auer, Cesa-Bianchi & Fischer (2002). Assumes stationary rewards in [0, 1], where its regret
    is logarithmic; under fatigue it converges to nothing in particular.

    Parameters
    ----------
    n_arms
        Number of arms.
    alpha
        Exploration; 2 in the original.
    initial
        States every subject starts in.

    Examples
    --------
    >>> policy = UCB1(2)
    >>> for _ in range(50):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, float(pull.arm == 1))
    >>> policy.counts
    [4, 46]
    """

    shared = ("asked", "counts", "sums")

    def __init__(
        self, n_arms: int, *, alpha: float = 2.0, initial: int | Sequence[int] = 1
    ) -> None:
        super().__init__(n_arms, initial=initial)
        self.alpha = check_positive("alpha", alpha)
        self.asked = [0] * self.n_arms
        self.counts = [0] * self.n_arms
        self.sums = [0.0] * self.n_arms

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest index; one never told comes first."""
        arm = self._best(allowed)
        self.asked[arm] += 1
        return arm

    def _best(self, allowed: Mask | None) -> int:
        doubt = self.alpha * log(len(self._rewards) + 1)
        best, value, sums = 0, -inf, self.sums
        for arm, n in enumerate(self.counts):
            if allowed is None or allowed[arm]:
                if not n:
                    return self._least_asked(allowed)
                index = sums[arm] / n + sqrt(doubt / n)
                if index > value:
                    best, value = arm, index
        return best

    def _least_asked(self, allowed: Mask | None) -> int:
        """Return, of the arms not told yet, the one asked least."""
        new = [
            arm for arm, n in enumerate(self.counts) if not n and (allowed is None or allowed[arm])
        ]
        return min(new, key=self.asked.__getitem__)

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to the arm's own."""
        self.counts[pull.arm] += 1
        self.sums[pull.arm] += reward


class ThompsonSampling(Policy):
    """Plays the arm whose draw from its Beta posterior is largest, blind to states.

    Thompson (1933); uniform prior, rewards in [0, 1], those strictly between count as a fraction
    of a success. Assumes stationary rewards.

    Parameters
    ----------
    n_arms
        Number of arms.
    initial
        States every subject starts in.
    seed
        Seeds the draws.

    Examples
    --------
    >>> policy = ThompsonSampling(2, seed=0)
    >>> for _ in range(50):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, float(pull.arm == 1))
    >>> policy.successes[1] > 40
    True
    """

    shared = ("successes", "failures", "draws")

    def __init__(self, n_arms: int, *, initial: int | Sequence[int] = 1, seed: int = 0) -> None:
        super().__init__(n_arms, initial=initial, seed=seed)
        self.successes = [1.0] * self.n_arms
        self.failures = [1.0] * self.n_arms
        self.draws: list[list[float]] = [[] for _ in range(self.n_arms)]  # not used yet

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest draw."""
        best, value = -1, -inf
        for arm, draws in enumerate(self.draws):
            if not draws:
                draws = self._draw(arm)
            draw = draws.pop()
            if draw > value and (allowed is None or allowed[arm]):
                best, value = arm, draw
        return best

    def _draw(self, arm: int) -> list[float]:
        """Draw afresh from the posterior of ``arm``."""
        assert self.rng is not None  # a seed is always given
        draws: list[float] = self.rng.beta(self.successes[arm], self.failures[arm], _DRAWS).tolist()
        self.draws[arm] = draws
        return draws

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Move the arm's posterior."""
        success = min(max(reward, 0.0), 1.0)
        self.successes[pull.arm] += success
        self.failures[pull.arm] += 1.0 - success
        self.draws[pull.arm].clear()
