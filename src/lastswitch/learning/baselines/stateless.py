"""Learners that take arms as they are, whatever was played before: UCB1 and Thompson sampling."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import Any

import numpy as np

from lastswitch._utils.checks import check_positive, check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_counted
from lastswitch.learning.policy.tracks import Track


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
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.

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
        self,
        n_arms: int,
        *,
        alpha: float = 2.0,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards)
        self.alpha = check_positive("alpha", alpha)
        self.asked = [0] * self.n_arms
        self.counts = [0] * self.n_arms
        self.sums = [0.0] * self.n_arms
        self._bind()

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest index; one never told comes first."""
        return self._best(range(self.n_arms) if allowed is None else playable(allowed))

    def _best(self, arms: Sequence[int]) -> int:
        """Return which of ``arms`` to play, and count it as asked."""
        self._turn += 1
        root = sqrt(self.alpha * log(self._turn))
        best, value, read = -1, -inf, self._read
        for arm in arms:
            mean, width = read[arm]
            index = mean + root * width
            if index > value:
                best, value = arm, index
        if value == inf:
            best = least_asked(self.counts, self.asked, arms)
        self.asked[best] += 1
        return best

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to the arm's own."""
        arm = pull.arm
        n = self.counts[arm] = self.counts[arm] + 1
        total = self.sums[arm] = self.sums[arm] + reward
        self._read[arm] = (total / n, n**-0.5)

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was told."""
        super().relearn(learned)
        check_counted(self.counts, self.sums)
        check_counted(self.asked, [0] * self.n_arms)
        self._bind()

    def _bind(self) -> None:
        """Make what indices are read from: t, and each arm's mean (∞ if never told) and 1/√n."""
        self._turn = sum(self.asked)
        told = zip(self.counts, self.sums, strict=True)
        self._read = [(total / n, n**-0.5) if n else (inf, 0.0) for n, total in told]


class ThompsonSampling(Policy):
    """Plays the arm whose draw from its Beta posterior is largest, blind to states.

    Thompson (1933); uniform prior, rewards in [0, 1], those strictly between count as a fraction
    of a success. Assumes stationary rewards. The draws of one ask are independent of those of any
    other, given the posteriors (:mod:`lastswitch.learning.baselines.beta_draws`).

    Parameters
    ----------
    n_arms
        Number of arms.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.
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

    shared = ("posteriors", "numbers", "used")

    def __init__(
        self,
        n_arms: int,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        from lastswitch._utils.jit import announce
        from lastswitch.learning.baselines.beta_draws import largest_draw

        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed)
        announce("sampling", largest_draw)
        self._largest = largest_draw
        self.posteriors = np.ones((2, self.n_arms))
        # What draws are made of, ahead: one call for hundreds costs hardly more than for one.
        self.numbers = np.zeros((2, 512 + 4 * self.n_arms))
        self.used = self.numbers.shape[1]
        self._bind()

    @property
    def successes(self) -> list[float]:
        """The first parameter of each arm's posterior: 1 + its successes."""
        return list(self.posteriors[0].tolist())

    @property
    def failures(self) -> list[float]:
        """The second parameter of each arm's posterior: 1 + its failures."""
        return list(self.posteriors[1].tolist())

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm with the largest draw."""
        mask = None if allowed is None else np.array(allowed)
        arm, self.used = self._largest(self.posteriors, self.numbers, self.used, mask)
        while arm < 0:
            self.rng.standard_normal(out=self.numbers[0])
            self.rng.random(out=self.numbers[1])
            arm, self.used = self._largest(self.posteriors, self.numbers, 0, mask)
        return arm

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Move the arm's posterior."""
        self._entries[pull.arm] += reward
        self._entries[pull.arm + self.n_arms] += 1.0 - reward

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back the posteriors and what was drawn ahead."""
        super().relearn(learned)
        if self.posteriors.min() < 1.0:
            raise PolicyError("a posterior begins with one success and one failure.")
        check_whole("used", self.used, 0, PolicyError, self.numbers.shape[1])
        self._bind()

    def _bind(self) -> None:
        """Make a view through which posteriors are moved without NumPy's cost."""
        self._entries: Any = memoryview(self.posteriors.reshape(-1))  # type: ignore[arg-type]


def playable(allowed: Mask) -> list[int]:
    """Return the arms a mask allows.

    Examples
    --------
    >>> playable((True, False, True))
    [0, 2]
    """
    return [arm for arm, may in enumerate(allowed) if may]


def least_asked(counts: Sequence[int], asked: Sequence[int], arms: Sequence[int]) -> int:
    """Return, of the ``arms`` not told yet, the one asked least.

    Examples
    --------
    >>> least_asked(counts=[0, 2, 0], asked=[3, 2, 1], arms=[0, 1, 2])
    2
    """
    return min([arm for arm in arms if not counts[arm]], key=asked.__getitem__)
