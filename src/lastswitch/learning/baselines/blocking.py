"""Blocking bandits: an arm that was played pays nothing until its delay has passed."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

from lastswitch._utils.checks import check_list, check_whole, is_number
from lastswitch.errors import PolicyError
from lastswitch.learning.baselines.stateless import UCB1, playable
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.tracks import Track


class BlockingGreedy(Policy):
    """Plays the best arm whose delay has passed, knowing means and delays.

    The oracle greedy of Basu, Sen, Sanghavi & Shakkottai (2019), "Blocking bandits": at least
    1 - 1/e of the optimum when every arm pays its mean from its delay on and nothing before.

    Parameters
    ----------
    means
        What each arm pays once its delay has passed.
    delays
        Rounds from a play to the next that pays; 1 for an arm that is always ready.
    initial
        States every subject starts in.

    Examples
    --------
    >>> policy = BlockingGreedy(means=[0.9, 0.5, 0.1], delays=[3, 2, 1], initial=9)
    >>> [policy.ask().arm for _ in range(6)]
    [0, 1, 2, 0, 1, 2]
    """

    learns = False

    def __init__(
        self, means: Sequence[float], delays: Sequence[int], *, initial: int | Sequence[int] = 1
    ) -> None:
        self.means = [_mean(arm, mean) for arm, mean in enumerate(check_list("means", means))]
        super().__init__(len(self.means), initial=initial)
        self.delays = checked_delays(delays, self.n_arms)
        self._best_first = sorted(range(self.n_arms), key=lambda arm: -self.means[arm])

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the ready arm of largest mean, or the one soonest ready if none is."""
        now, last, delays = track.clock + 1, track.last, self.delays
        for arm in self._best_first:
            if now - last[arm] >= delays[arm] and (allowed is None or allowed[arm]):
                return arm
        soonest = soonest_ready(track, delays, allowed)
        return next(arm for arm in self._best_first if arm in soonest)


class BlockingUCB(UCB1):
    """Plays the arm of largest UCB1 index among those whose delay has passed.

    The learner of Basu, Sen, Sanghavi & Shakkottai (2019), "Blocking bandits". Assumes known
    delays, and one mean per arm once its delay has passed; its regret is logarithmic against
    1 - 1/e of the optimum. When no arm is ready it plays the one soonest ready and learns nothing.

    Parameters
    ----------
    n_arms
        Number of arms.
    delays
        Rounds from a play to the next that pays; 1 for an arm that is always ready.
    alpha
        Exploration; 2 in the original.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.

    Examples
    --------
    >>> policy = BlockingUCB(2, delays=[2, 1])
    >>> [policy.ask().arm for _ in range(4)]
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        n_arms: int,
        delays: Sequence[int],
        *,
        alpha: float = 2.0,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(n_arms, alpha=alpha, initial=initial, rewards=rewards)
        self.delays = checked_delays(delays, self.n_arms)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the ready arm with the largest index."""
        now, last, delays = track.clock + 1, track.last, self.delays
        ready = []  # a loop: a comprehension would cost a call every round
        for arm in range(self.n_arms) if allowed is None else playable(allowed):
            if now - last[arm] >= delays[arm]:
                ready.append(arm)
        track.note = bool(ready)
        return self._best(ready or soonest_ready(track, delays, allowed))

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Learn from plays that were ready."""
        if note:
            UCB1.learn(self, pull, reward, note)


def soonest_ready(track: Track, delays: Sequence[int], allowed: Mask | None) -> list[int]:
    """Return those of the allowed arms, none of which is ready, that are ready first.

    Examples
    --------
    >>> track = Track((1, 5))
    >>> track.play(1)
    5
    >>> soonest_ready(track, [4, 3], None)
    [0]
    """
    last, first = track.last, inf
    soonest: list[int] = []
    for arm in range(len(delays)) if allowed is None else playable(allowed):
        ready = last[arm] + delays[arm]
        if ready < first:
            first, soonest = ready, [arm]
        elif ready == first:
            soonest.append(arm)
    return soonest


def _mean(arm: int, value: float) -> float:
    """Return an arm's mean as a float."""
    if not (is_number(value) and isfinite(value)):
        raise PolicyError(f"means[{arm}] must be a number, got {value!r}.")
    return float(value)


def checked_delays(delays: Sequence[int], n_arms: int) -> list[int]:
    """Return delays as whole numbers, one per arm."""
    given = check_list("delays", delays)
    if len(given) != n_arms:
        raise PolicyError(f"delays needs one entry per arm ({n_arms}), got {given!r}.")
    return [check_whole(f"delays[{i}]", delay, 1, PolicyError) for i, delay in enumerate(given)]
