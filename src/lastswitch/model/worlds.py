"""Worlds that are no Last Switch Dependent bandits: what a learner meets when the model is wrong.

Each pays by something that the switch states do not show: a level of satiation, a count of recent
or of all plays, another arm's plays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.random import stream
from lastswitch.errors import BanditError
from lastswitch.model.states import moved

if TYPE_CHECKING:
    from lastswitch.experiments.simulation import AsksAndTells

#: Ways to play that the oracle keeps per round.
_WIDTH = 64
#: What a world remembers.
State = Any


@dataclass(frozen=True)
class Played:
    """What a policy played in a world, and what that paid.

    Attributes
    ----------
    arms, rewards
        The arm of every round, and what was told.
    means
        What each play paid on average, given all before it.

    Examples
    --------
    >>> import lastswitch as ls
    >>> ls.instances.misspecified("rotting").play(ls.FixedCycle([0, 1], 3), 4).arms.tolist()
    [0, 1, 0, 1]
    """

    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def mean_total(self) -> float:
        """The reward expected of these plays."""
        return float(self.means.sum())


@dataclass(frozen=True, eq=False)
class World:
    """Arms whose pay hangs on more than when each was last switched.

    Parameters
    ----------
    name, about
        What it is called, and which paper's setting it is.
    n_arms
        How many arms it has.
    start
        What it remembers before the first round.
    mean
        What an arm pays on average, by (memory, arm).
    after
        What it remembers after a play, by (memory, arm).
    best
        The most any policy can expect of so many rounds, where that is known.

    Examples
    --------
    >>> import lastswitch as ls
    >>> world = ls.instances.misspecified("rebounding")
    >>> run = world.play(ls.FixedCycle([0, 1, 2, 3]), horizon=100, seed=0)
    >>> 0.5 < run.mean_total / world.oracle(100) <= 1.0
    True
    """

    name: str
    about: str
    n_arms: int
    start: State
    mean: Callable[[State, int], float]
    after: Callable[[State, int], State]
    best: Callable[[int], float] | None = None

    def play(self, policy: AsksAndTells, horizon: int, seed: int = 0) -> Played:
        """Play a policy for so many rounds; rewards are 0 or 1.

        Parameters
        ----------
        policy
            Anything with ``ask`` and ``tell`` that plays one arm a round.
        horizon
            Rounds to play.
        seed
            Names the noise.
        """
        check_whole("horizon", horizon, 1, BanditError)
        draws = stream(seed, "noise").random(horizon)
        arms, means = np.empty(horizon, np.int64), np.empty(horizon)
        state = self.start
        for t, draw in enumerate(draws.tolist()):
            pull = policy.ask()
            means[t] = mean = self.mean(state, pull.arm)
            policy.tell(pull.id, float(draw < mean))
            state, arms[t] = self.after(state, pull.arm), pull.arm
        return Played(arms, (draws < means).astype(float), means)

    def oracle(self, horizon: int, lookahead: int = 12) -> float:
        """Return what who knows the world earns: the best there is, or a good look-ahead.

        Where the best is not known it is earned by one who sees the world's memory, looks
        ``lookahead`` rounds ahead with a beam of some dozen ways, plays the first round and looks
        again: at most the best, and near it where memories are short.
        """
        check_whole("horizon", horizon, 1, BanditError)
        check_whole("lookahead", lookahead, 1, BanditError)
        if self.best is not None:
            return self.best(horizon)
        total, state = 0.0, self.start
        seen: dict[Hashable, int] = {}
        for t in range(horizon):
            key = (state, min(lookahead, horizon - t))
            if key not in seen:
                seen[key] = self._first(*key)
            total += self.mean(state, seen[key])
            state = self.after(state, seen[key])
        return total

    def _first(self, state: State, rounds: int) -> int:
        """Return the first arm of the best way found."""
        ways = [(0.0, arm, state, arm) for arm in range(self.n_arms)]
        for t in range(rounds):
            merged: dict[Hashable, tuple[float, int, State]] = {}
            for pay, first, before, arm in ways:
                total, after = pay + self.mean(before, arm), self.after(before, arm)
                if after not in merged or merged[after][0] < total:
                    merged[after] = (total, first, after)
            kept = sorted(merged.values(), key=lambda way: -way[0])[:_WIDTH]
            if t + 1 == rounds:
                return kept[0][1]
            ways = [(p, first, s, arm) for p, first, s in kept for arm in range(self.n_arms)]
        raise AssertionError("no rounds")


def rebounding() -> World:
    """Return four arms that satiate with every play and rebound with time.

    The setting of Leqi, Kılınç-Karzan, Lipton & Montgomery (2021): an arm's satiation s becomes
    γ(s + 1) with a play and γs without, and it pays b - λs. So a second play soon after a first
    pays less than the state says, and a rest counts for less after many plays.

    Examples
    --------
    >>> world = rebounding()
    >>> once = world.after(world.start, 0)
    >>> world.mean(world.start, 0) > world.mean(once, 0) < world.mean(world.after(once, 1), 0)
    True
    """
    base, keeps, weighs = (0.9, 0.8, 0.7, 0.5), (0.8, 0.7, 0.6, 0.2), (0.2, 0.25, 0.3, 0.2)

    def after(state: tuple[float, ...], arm: int) -> tuple[float, ...]:
        # Rounded, so that levels come again and the oracle can remember what it did.
        return tuple(
            round(keep * (level + (i == arm)), 9)
            for i, (keep, level) in enumerate(zip(keeps, state, strict=True))
        )

    def mean(state: tuple[float, ...], arm: int) -> float:
        return max(0.0, base[arm] - weighs[arm] * state[arm])

    about = "satiation that rebounds (Leqi et al. 2021)"
    return World("rebounding", about, 4, (0.0,) * 4, mean, after)


def tallying(window: int = 6) -> World:
    """Return three arms that pay by how often they were played in the last few rounds.

    The setting of Malik, Li & Singh (2022), "Complete policy regret bounds for tallying bandits",
    and near that of Warlop, Lazaric & Mary (2018): whether those plays were in a row or spread out
    makes no difference there, and here is all the states show.

    Examples
    --------
    >>> world = tallying()
    >>> state = world.start
    >>> for arm in (0, 1, 0, 2):
    ...     state = world.after(state, arm)
    >>> world.mean(state, 0) < world.mean(state, 1)  # two plays of arm 0, one of arm 1
    True
    """
    check_whole("window", window, 1, BanditError)
    pays = ((0.95, 0.8, 0.4, 0.2, 0.1), (0.8, 0.75, 0.6, 0.3, 0.2), (0.5,))

    def mean(state: tuple[int, ...], arm: int) -> float:
        return pays[arm][min(state.count(arm), len(pays[arm]) - 1)]

    def after(state: tuple[int, ...], arm: int) -> tuple[int, ...]:
        return (*state, arm)[-window:]

    return World("tallying", "counts of recent plays (Malik et al. 2022)", 3, (), mean, after)


def rotting() -> World:
    """Return three arms that wear out with every play, for good.

    Rested rotting (Heidari, Kearns & Roth 2016; Seznec et al. 2020): rest does not help. The best
    is to play the arm that pays most now.

    Examples
    --------
    >>> world = rotting()
    >>> round(world.oracle(3), 3)
    2.833
    """
    tops, floors, halves = (0.95, 0.8, 0.6), (0.1, 0.3, 0.45), (150.0, 600.0, 3000.0)

    def mean(state: tuple[int, ...], arm: int) -> float:
        return floors[arm] + (tops[arm] - floors[arm]) * halves[arm] / (halves[arm] + state[arm])

    def best(horizon: int) -> float:
        each = [[mean((n,) * 3, arm) for n in range(horizon)] for arm in range(3)]
        return float(np.sort(np.concatenate(each))[-horizon:].sum())

    about = "wear for good (rested rotting, Heidari et al. 2016)"
    return World("rotting", about, 3, (0, 0, 0), mean, _counted, best)


def rising() -> World:
    """Return three arms that improve with every play, the best of them slowly.

    Rested rising (Heidari, Kearns & Roth 2016; Metelli et al. 2022): what pays best in the end pays
    least at first. The best is to play one arm throughout, for rises that slow down.

    Examples
    --------
    >>> rising().oracle(10) < 10 * rising().oracle(10_000) / 10_000
    True
    """
    starts, tops, halves = (0.5, 0.3, 0.1), (0.55, 0.7, 0.9), (20.0, 200.0, 600.0)

    def mean(state: tuple[int, ...], arm: int) -> float:
        share = state[arm] / (halves[arm] + state[arm])
        return starts[arm] + (tops[arm] - starts[arm]) * share

    def best(horizon: int) -> float:
        return max(sum(mean((n,) * 3, arm) for n in range(horizon)) for arm in range(3))

    about = "skill that grows with plays (rested rising, Metelli et al. 2022)"
    return World("rising", about, 3, (0, 0, 0), mean, _counted, best)


def kindred() -> World:
    """Return four arms of two kinds: playing one tires its kin as well.

    Two songs of one singer, two subject lines of one offer. A learner that takes arms for strangers
    sees an arm at rest pay as one in a streak. With its kin in a group and a rule such as
    ``apart(group, 3)`` it would be told.

    Examples
    --------
    >>> world = kindred()
    >>> state = world.after(world.start, 0)
    >>> world.mean(state, 1) < world.mean(state, 2)
    True
    """
    tops = (0.9, 0.8, 0.7, 0.6)

    def mean(state: tuple[int, ...], arm: int) -> float:
        rest = state[arm // 2]  # the kind's own switch state
        return tops[arm] * (0.15 if rest < 0 else min(1.0, 0.4 + 0.2 * rest))

    def after(state: tuple[int, ...], arm: int) -> tuple[int, ...]:
        # Beyond three rounds of rest, and one of a streak, nothing changes.
        return tuple(max(-1, min(moved(s, kind == arm // 2), 3)) for kind, s in enumerate(state))

    return World("kindred", "arms that tire each other", 4, (1, 1), mean, after)


def _counted(state: tuple[int, ...], arm: int) -> tuple[int, ...]:
    """Return lifetime plays after another of ``arm``."""
    return tuple(n + (i == arm) for i, n in enumerate(state))


_WORLDS: Mapping[str, Callable[[], World]] = {
    "rebounding": rebounding,
    "tallying": tallying,
    "rotting": rotting,
    "rising": rising,
    "kindred": kindred,
}
#: The worlds there are, and what each is.
MISSPECIFIED: Mapping[str, str] = MappingProxyType(
    {name: make().about for name, make in _WORLDS.items()}
)


def misspecified(name: str) -> World:
    """Return a world that breaks the model: a name of ``MISSPECIFIED``.

    ``"rebounding"``, ``"tallying"``, ``"rotting"``, ``"rising"`` or ``"kindred"``. They are no
    bandits: :meth:`World.play` simulates a policy in them, :meth:`World.oracle` says what who knows
    them earns.

    Examples
    --------
    >>> import lastswitch as ls
    >>> world = ls.instances.misspecified("kindred")
    >>> run = world.play(ls.RotationUCB(world.n_arms), horizon=2000, seed=0)
    >>> bool(run.mean_total > 0.7 * world.oracle(2000))
    True
    """
    check_choice("a misspecified world", name, tuple(_WORLDS), BanditError)
    return _WORLDS[name]()
