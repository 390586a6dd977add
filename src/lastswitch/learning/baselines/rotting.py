"""RAW-UCB: a learner for rewards that only ever fall with the number of plays."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import Any

import numpy as np

from lastswitch._utils.checks import check_positive
from lastswitch.errors import PolicyError
from lastswitch.learning.baselines.stateless import least_asked, playable
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.tracks import Track

#: Windows kept per arm: of 1, 2, 4, …, 2^47 rewards.
_LEVELS = 48


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
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.

    Examples
    --------
    >>> policy = RAWUCB(2)
    >>> for play in range(60):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 0.5 if pull.arm else float(play < 20))
    >>> policy.ask().arm
    1
    """

    shared = ("asked", "told", "windows", "halves")

    def __init__(
        self,
        n_arms: int,
        *,
        alpha: float = 1.4,
        sigma: float = 0.5,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        from lastswitch._utils.jit import announce
        from lastswitch.learning.baselines.rotting_index import largest_index

        super().__init__(n_arms, initial=initial, rewards=rewards)
        announce("rotting", largest_index)
        self.alpha, self.sigma = check_positive("alpha", alpha), check_positive("sigma", sigma)
        self.asked = [0] * self.n_arms
        self.told = [0] * self.n_arms
        # Per arm, window j: the mean of its last full turn of 2^j rewards (infinite before it),
        # and the sum of the first half of the turn being filled.
        self.windows = np.full((self.n_arms, _LEVELS), inf)
        self.halves = np.zeros((self.n_arms, _LEVELS))
        self._largest = largest_index
        self._bind()

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest index; one never told comes first."""
        mask = None if allowed is None else np.array(allowed)
        root = self.sigma * sqrt(2.0 * self.alpha * log(self.n_asked + 1))
        arm = self._largest(self.windows, root, mask)
        if not self.told[arm]:
            arms = range(self.n_arms) if allowed is None else playable(allowed)
            arm = least_asked(self.told, self.asked, arms)
        self.asked[arm] += 1
        return arm

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Pour the reward into the windows of its arm; full ones pour on into the next."""
        turns = self.told[pull.arm] + 1
        self.told[pull.arm] = turns
        place, total, size = pull.arm * _LEVELS, reward, 1.0
        while True:
            self._means[place] = total / size
            if turns & 1:  # the next window's turn is half full
                self._firsts[place] = total
                break
            total += self._firsts[place]
            turns >>= 1
            place += 1
            size += size

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was told."""
        super().relearn(learned)
        told = max(self.told)
        if not (min(*self.asked, *self.told) >= 0 and told < 2 ** (_LEVELS - 1)):
            raise PolicyError(f"no arm can have been told {told} rewards.")
        self._bind()

    def _bind(self) -> None:
        """Make views through which windows are moved without NumPy's cost."""
        self._means: Any = memoryview(self.windows.reshape(-1))  # type: ignore[arg-type]
        self._firsts: Any = memoryview(self.halves.reshape(-1))  # type: ignore[arg-type]
