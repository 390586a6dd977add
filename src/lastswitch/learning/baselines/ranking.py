"""Ranking policies: cycle through the best few arms, where pay hangs on the delay alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt
from typing import Any, ClassVar

from lastswitch._utils.checks import check_list, check_whole
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_like
from lastswitch.learning.policy.tracks import FARTHEST, Track
from lastswitch.model.bandit import Bandit


def ranking_values(bandit: Bandit, order: Sequence[int]) -> list[float]:
    """Return g(1), …, g(K): what cycling through the first m arms of ``order`` earns per round.

    Cella & Cesa-Bianchi (2020): g(m) is the mean, over the first m arms, of their pays at delay m.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.9], [0.2]), ls.Curve([0.7], [0.1])])
    >>> [round(value, 2) for value in ranking_values(bandit, [0, 1])]  # alone: a streak
    [0.2, 0.8]
    """
    values = []
    for m in range(1, len(order) + 1):
        tau = m - 1 or -len(bandit.curves[order[0]].streak)
        values.append(sum(bandit.mean(arm, tau) for arm in order[:m]) / m)
    return values


class RankingPolicy(Policy):
    """Cycles through the m best arms, m chosen knowing the curves.

    The benchmark of Cella & Cesa-Bianchi (2020), "Stochastic bandits with delay-dependent payoffs":
    arms in order of what they pay fully rested, and of the policies "cycle through the first m" the
    best. As in the paper: the class of policies and their values g(m). It is within a constant of
    the optimum for their pays, which are a baseline less a discount that fades with the delay.

    Parameters
    ----------
    bandit
        The curves.
    initial
        States every subject starts in; the bandit's own by default.

    Examples
    --------
    >>> import lastswitch as ls
    >>> policy = RankingPolicy(ls.Bandit([ls.curves.step(1, p) for p in (0.5, 0.9, 0.8)]))
    >>> [policy.ask().arm for _ in range(4)], policy.m
    ([1, 2, 1, 2], 2)
    """

    learns = False

    def __init__(self, bandit: Bandit, *, initial: int | Sequence[int] | None = None) -> None:
        if not isinstance(bandit, Bandit):
            raise InputTypeError(
                f"RankingPolicy needs the Bandit it ranks, got {type(bandit).__name__}."
            )
        super().__init__(bandit.n_arms, initial=bandit.initial if initial is None else initial)
        self.bandit = bandit
        rested = [bandit.mean(arm, len(curve.rest)) for arm, curve in enumerate(bandit.curves)]
        self.order = sorted(range(self.n_arms), key=lambda arm: -rested[arm])
        values = ranking_values(bandit, self.order)
        #: How many arms are cycled through, and what that earns per round.
        self.m = max(range(1, self.n_arms + 1), key=lambda m: values[m - 1])
        self.value = values[self.m - 1]

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the ranking."""
        return _next_of(self.order[: self.m], track, allowed)

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a place beyond the ranking."""
        check_whole("the place in the ranking", track.at, 0, PolicyError, self.n_arms - 1)


class RankingElimination(Policy):
    """Learns how many of the best arms to cycle through, with few switches.

    After Cella & Cesa-Bianchi (2020). First all arms are cycled through, to put them in order; then
    the policies π_m, "cycle through the first m", are run in stages of about T^(1 - 2^-s) rounds,
    shared among those left, and those that earn clearly less than the best are dropped; the last
    is kept. As in the paper: the policies, stages that make O(K ln ln T) switches, and that the
    first cycle of every turn of a policy teaches nothing, its delays being left over from the one
    before. Not as there: the order comes from one pass of ``sorting`` cycles over all arms, and
    the constants of the elimination are ours (Hoeffding's bound at level 1/T).

    Parameters
    ----------
    n_arms
        Number of arms.
    horizon
        Rounds there will be.
    sorting
        Cycles over all arms to put them in order; by default about T^(1/2) rounds of them.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.

    Examples
    --------
    >>> policy = RankingElimination(3, horizon=900)
    >>> [policy.ask().arm for _ in range(4)], policy.sorting
    ([0, 1, 2, 0], 10)
    """

    shared: ClassVar[tuple[str, ...]] = (
        *("played", "seen", "paid", "order", "left"),
        *("turn", "stage", "turns", "earned", "heard"),
    )

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        sorting: int | None = None,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards)
        self.horizon = check_whole("horizon", horizon, 1, PolicyError, FARTHEST)
        default = ceil(sqrt(self.horizon) / self.n_arms)
        self.sorting = default if sorting is None else check_whole("sorting", sorting, 1)
        #: Plays so far, by arm what the first ones paid, and the order found.
        self.played = 0
        self.seen, self.paid = [0] * self.n_arms, [0.0] * self.n_arms
        self.order: list[int] = []
        #: The policies left (their m), which one is on, and for how many plays yet.
        self.left = list(range(1, self.n_arms + 1))
        self.stage, self.turn, self.turns = 0, 0, 0
        #: By m: plays that taught, and what they paid.
        self.heard, self.earned = [0] * (self.n_arms + 1), [0.0] * (self.n_arms + 1)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm to sort, or of the policy that is on."""
        self.played += 1
        if self.played <= self.sorting * self.n_arms:
            track.note = 0
            return _next_of(list(range(self.n_arms)), track, allowed)
        if self.turns == 0:
            self._next_turn()
            track.at = 0
        m = self.left[self.turn]
        track.note = m if self._length(m) - self.turns >= m else -1  # its first cycle is left out
        self.turns -= 1
        return _next_of(self.order[:m], track, allowed)

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to its arm while sorting, then to its policy."""
        if note == 0:
            self.seen[pull.arm] += 1
            self.paid[pull.arm] += reward
        elif note > 0:
            self.heard[note] += 1
            self.earned[note] += reward

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was heard, if it can be."""
        for name in ("order", "left"):
            arms = check_list(name, learned[name], "of whole numbers")
            if not all(type(arm) is int and 0 <= arm <= self.n_arms for arm in arms):
                raise PolicyError(f"{name} must be whole numbers up to {self.n_arms}.")
        for name in self.shared:
            if name not in ("order", "left"):
                check_like(name, learned[name], getattr(self, name))
        if not learned["left"] or not 0 <= learned["turn"] < len(learned["left"]):
            raise PolicyError("some policy must be left, and on.")
        for name in self.shared:
            setattr(self, name, learned[name])

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a place beyond the arms, or a note of no policy."""
        check_whole("the place in the ranking", track.at, 0, PolicyError, self.n_arms - 1)
        for note in notes:
            check_whole("a note", note, -1, PolicyError, self.n_arms)

    def _next_turn(self) -> None:
        """Let the next policy have its turn; after the last of a stage drop what is clearly worse.

        The order is found when the first turn begins.
        """
        if not self.order:
            means = [p / max(n, 1) for n, p in zip(self.seen, self.paid, strict=True)]
            self.order = sorted(range(self.n_arms), key=lambda arm: -means[arm])
            self.stage = 1
        elif self.turn + 1 < len(self.left):
            self.turn += 1
        else:
            self._drop()
            self.turn, self.stage = 0, min(self.stage + 1, 60)
        self.turns = self._length(self.left[self.turn])

    def _length(self, m: int) -> int:
        """Return how many plays a turn of π_m has in this stage: its first cycle and whole ones."""
        rounds = float(self.horizon) ** (1.0 - 2.0 ** float(-self.stage)) / self.n_arms
        return int(m * (1 + ceil(rounds / m)))

    def _drop(self) -> None:
        """Keep the policies that may be the best."""
        level = log(2.0 * self.n_arms * max(self.horizon, 2)) / 2.0
        bounds = {}
        for m in self.left:
            n = max(self.heard[m], 1)
            mean, doubt = self.earned[m] / n, sqrt(level / n)
            bounds[m] = (mean - doubt, mean + doubt)
        best = max(low for low, _ in bounds.values())
        self.left = [m for m in self.left if bounds[m][1] >= best]


def _next_of(arms: list[int], track: Track, allowed: Mask | None) -> int:
    """Return the next of ``arms`` that is allowed, or the first arm that is."""
    for step in range(len(arms)):
        at = (track.at + step) % len(arms)
        if allowed is None or allowed[arms[at]]:
            track.at = (at + 1) % len(arms)
            return arms[at]
    return allowed.index(True) if allowed is not None else arms[0]
