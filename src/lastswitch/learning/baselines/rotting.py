"""RAW-UCB: a learner for rewards that only ever fall with the number of plays."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import Any

from lastswitch._checks import check_positive
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.tracks import Track


class RAWUCB(Policy):
    """Plays the arm whose most pessimistic window of recent rewards is most promising.

    Seznec, Ménard, Lazaric & Valko (2020), "A single algorithm for both restless and rested
    rotting bandits", in its efficient form: an arm's index is the least, over windows of
    1, 2, 4, … rewards, of the window's mean + √(2 α σ² log t / window). A window's mean is that of
    its last full turn, so an arm needs memory and time logarithmic in its plays.

    Assumes rewards that never rise again. Under recovery it abandons what only needed a rest.

    Parameters
    ----------
    n_arms
        Number of arms.
    alpha
        Exploration; the paper's experiments use 1.4.
    sigma
        Sub-Gaussian scale of the noise; 1/2 for rewards in [0, 1].
    initial
        States every subject starts in.

    Examples
    --------
    >>> policy = RAWUCB(2)
    >>> for play in range(60):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 0.5 if pull.arm else float(play < 20))
    >>> policy.ask().arm
    1
    """

    shared = ("asked", "windows", "filling")

    def __init__(
        self,
        n_arms: int,
        *,
        alpha: float = 1.4,
        sigma: float = 0.5,
        initial: int | Sequence[int] = 1,
    ) -> None:
        super().__init__(n_arms, initial=initial)
        self.alpha, self.sigma = check_positive("alpha", alpha), check_positive("sigma", sigma)
        self.asked = [0] * self.n_arms
        # Per arm, window j: the mean of its last full turn of 2^j rewards, and the sum and size
        # of the turn being filled.
        self.windows: list[list[float]] = [[] for _ in range(self.n_arms)]
        self.filling: list[list[list[float]]] = [[[0.0, 0.0]] for _ in range(self.n_arms)]

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest index; one never told comes first."""
        doubt = 2.0 * self.alpha * self.sigma**2 * log(len(self._rewards) + 1)
        best, value = -1, -inf
        for arm in range(self.n_arms):
            if allowed is None or allowed[arm]:
                index = self._index(arm, doubt)
                if index > value or (index == value == inf and self.asked[arm] < self.asked[best]):
                    best, value = arm, index
        self.asked[best] += 1
        return best

    def _index(self, arm: int, doubt: float) -> float:
        size, least = 1.0, inf
        for mean in self.windows[arm]:
            least = min(least, mean + sqrt(doubt / size))
            size *= 2.0
        return least

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Pour the reward into every window of its arm."""
        windows, filling = self.windows[pull.arm], self.filling[pull.arm]
        size = 1.0
        for level, turn in enumerate(filling):
            turn[0] += reward
            turn[1] += 1.0
            if turn[1] == size:
                total, turn[0], turn[1] = turn[0], 0.0, 0.0
                if level == len(windows):  # the first full turn half-fills the next window
                    windows.append(total / size)
                    filling.append([total, size])
                    break
                windows[level] = total / size
            size *= 2.0
