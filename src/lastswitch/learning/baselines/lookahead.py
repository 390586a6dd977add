"""d-step lookahead for recovering bandits, with a plain posterior per (arm, delay)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import log, sqrt
from typing import Any, Literal

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import check_choice, check_positive, check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_cells, check_counted
from lastswitch.learning.policy.tracks import Track

#: More sequences than this would take longer to score than anyone waits.
_MOST_SEQUENCES = 100_000


class Lookahead(Policy):
    """Every ``steps`` rounds plays the sequence whose pay could be largest, or whose draw is.

    Pike-Burke & Grünewälder (2019), "Recovering bandits": d-step lookahead UCB and Thompson
    sampling. Theirs has a Gaussian process per arm over z, the rounds since its last play; here
    each (arm, z) has its own Gaussian posterior, so nothing is assumed of the curves beyond their
    being flat from ``depth`` on and streaks being constant.

    Parameters
    ----------
    n_arms
        Number of arms.
    steps
        Rounds looked ahead and played, the paper's d; all n_arms ** steps sequences are scored.
    depth
        Delays told apart, the paper's Z.
    method
        ``"ucb"``: Σ mean + √(2 log((t + d - 1)² K^d Z)) · √(variance of the sum);
        ``"thompson"``: Σ of draws from the posteriors.
    noise, spread
        Standard deviations of a reward, and of the prior around 1/2.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.
    seed
        Seeds the draws.

    Examples
    --------
    >>> policy = Lookahead(2, steps=2, depth=5)
    >>> for _ in range(200):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, float(pull.arm == 0 and pull.tau == 1))
    >>> sorted(policy.ask().arm for _ in range(2))
    [0, 1]
    """

    shared = ("counts", "sums")

    def __init__(
        self,
        n_arms: int,
        *,
        steps: int = 2,
        depth: int = 30,
        method: Literal["ucb", "thompson"] = "ucb",
        noise: float = 0.5,
        spread: float = 0.5,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed)
        steps = check_whole("steps", steps, 1, PolicyError, 17)
        depth = check_whole("depth", depth, 1, PolicyError)
        check_cells("its table", self.n_arms * depth)
        check_choice("method", method, ("ucb", "thompson"), PolicyError)
        if self.n_arms**steps > _MOST_SEQUENCES:
            raise PolicyError(
                f"{n_arms} arms ahead {steps} steps are {self.n_arms**steps} sequences to score "
                f"each time; take fewer steps (at most {_MOST_SEQUENCES} sequences)."
            )
        self.steps, self.depth, self.method = steps, depth, method
        self.noise, self.spread = check_positive("noise", noise), check_positive("spread", spread)
        self.counts = np.zeros((self.n_arms, depth))
        self.sums = np.zeros((self.n_arms, depth))
        self._sequences = np.array(list(product(range(self.n_arms), repeat=steps)))
        self._gaps = _gaps(self._sequences)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next play of the sequence, choosing one when none is left."""
        if allowed is not None or track.at >= len(track.block):
            track.block = self._best(track, allowed)
            track.at = 0
        arm = track.block[track.at]
        track.at += 1
        if allowed is not None:
            track.block = ()
        return int(arm)

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to its (arm, delay)."""
        delay = min(waited(pull.tau), self.depth) - 1
        self.counts[pull.arm, delay] += 1.0
        self.sums[pull.arm, delay] += reward

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen."""
        super().relearn(learned)
        check_counted(self.counts, self.sums)

    def _best(self, track: Track, allowed: Mask | None) -> list[int]:
        """Return the sequence of largest score."""
        delays = np.array([waited(tau) for tau in track.state()])
        arms = self._sequences
        since = np.where(self._gaps > 0, self._gaps, delays[arms] + np.arange(self.steps)[None, :])
        columns = np.minimum(since, self.depth) - 1
        mean, variance = self._posterior()
        if self.method == "thompson":
            drawn = mean + np.sqrt(variance) * self.rng.standard_normal(mean.shape)
            score = drawn[arms, columns].sum(axis=1)
        else:
            spread = _variance_of_sum(variance[arms, columns], arms * self.depth + columns)
            turns = (self.n_asked + self.steps) ** 2 * len(arms) * self.depth
            score = mean[arms, columns].sum(axis=1) + sqrt(2.0 * log(turns)) * np.sqrt(spread)
        if allowed is not None:
            score = np.where(np.array(allowed)[arms].all(axis=1), score, -np.inf)
        return [int(arm) for arm in arms[int(np.argmax(score))]]

    def _posterior(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of each (arm, delay): Gaussian prior, Gaussian noise."""
        weight = (self.noise / self.spread) ** 2
        total = self.counts + weight
        return (self.sums + 0.5 * weight) / total, self.noise**2 / total


def _gaps(sequences: IntArray) -> IntArray:
    """Return, slot by slot, the rounds since the same arm was last in the sequence; 0 if never."""
    gaps = np.zeros_like(sequences)
    for later in range(sequences.shape[1]):
        for earlier in range(later):
            same = sequences[:, later] == sequences[:, earlier]
            gaps[same, later] = later - earlier
    return gaps


def _variance_of_sum(variance: FloatArray, entry: IntArray) -> FloatArray:
    """Return the variance of each row's sum: equal entries move together, others do not."""
    total = variance.sum(axis=1)
    for later in range(entry.shape[1]):
        for earlier in range(later):
            same = entry[:, later] == entry[:, earlier]
            total = total + 2.0 * np.where(same, variance[:, later], 0.0)
    return np.asarray(total)


def waited(tau: int) -> int:
    """Return the delay of state ``tau``: rounds from the last play to now.

    Examples
    --------
    >>> waited(-3), waited(1), waited(4)
    (1, 2, 5)
    """
    return tau + 1 if tau > 0 else 1
