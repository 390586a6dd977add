"""Purely periodic policies: every arm has one period, and comes round in it for ever."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf, log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_whole
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.baselines.filling import Tables, least_lost
from lastswitch.learning.baselines.frequency_program import solve_program
from lastswitch.learning.estimates import Estimates
from lastswitch.learning.policy import ONE_PLAY, Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_counted, check_like
from lastswitch.learning.policy.tracks import Track
from lastswitch.model.bandit import Bandit

#: Periods are these times powers of two.
FAMILIES = (1, 3, 5, 7)
_ROUNDING = 1e-6


class Turn(NamedTuple):
    """An arm's period and the round in which it comes first; period 0: never."""

    period: int
    offset: int


def doubled(period: int, family: int) -> int:
    """Return the smallest of ``family``, 2 ``family``, 4 ``family``, … that is no less.

    Examples
    --------
    >>> doubled(5, 1), doubled(5, 3), doubled(3, 3)
    (8, 6, 3)
    """
    found = family
    while found < period:
        found *= 2
    return found


def fitted(periods: Sequence[int], places: int) -> list[Turn]:
    """Return offsets with which no more than ``places`` arms ever meet in a round.

    For periods of one family (each divides the longer ones) whose frequencies sum to at most
    ``places``: taken by length, each finds a round of its period that has a place left. Those that
    find none (the frequencies sum to more) get none.

    Examples
    --------
    >>> fitted([2, 4, 4], places=1)
    [Turn(period=2, offset=0), Turn(period=4, offset=1), Turn(period=4, offset=3)]
    """
    turns = [Turn(0, 0)] * len(periods)
    longest = max(periods, default=0)
    taken = np.zeros(max(longest, 1), np.int64)
    for arm in sorted(range(len(periods)), key=lambda i: (periods[i], i)):
        period = periods[arm]
        for offset in range(period):
            if (taken[offset::period] < places).all():
                taken[offset::period] += 1
                turns[arm] = Turn(period, offset)
                break
    return turns


def periodic_plan(rest: FloatArray, again: FloatArray, places: int) -> tuple[list[Turn], float]:
    """Return a period and an offset for each arm, and the bound of the frequency program.

    ``rest`` is what arms pay by rounds of rest, ``again`` what they pay right after a play.

    Examples
    --------
    >>> turns, bound = periodic_plan(np.array([[0.0, 1.0]] * 3), np.zeros(3), places=1)
    >>> [turn.period for turn in turns], bound
    ([3, 3, 3], 1.0)
    """
    program = solve_program(rest, again[:, None], 1, places)
    # Of an arm that the program shares between two periods, or plays for a part of the time, a
    # longer one surely fits.
    wanted = [
        max(*(p.rest + 1 for p, _ in options), ceil(1.0 / sum(x for _, x in options) - _ROUNDING))
        if options
        else 0
        for options in program.patterns
    ]
    best: tuple[float, list[Turn]] = (-1.0, [Turn(0, 0)] * len(wanted))
    for family in FAMILIES:
        arms = [arm for arm, period in enumerate(wanted) if period]
        turns = [Turn(0, 0)] * len(wanted)
        found = fitted([doubled(wanted[arm], family) for arm in arms], places)
        for arm, turn in zip(arms, found, strict=True):
            turns[arm] = turn
        rate = sum(_rate(rest[arm], again[arm], turn.period) for arm, turn in enumerate(turns))
        best = max(best, (rate, turns), key=lambda each: each[0])
    return best[1], program.value


def _rate(rest: FloatArray, again: float, period: int) -> float:
    """Return what an arm earns per round when it comes every ``period`` rounds."""
    if period == 0:
        return 0.0
    return float(again if period == 1 else rest[min(period - 1, len(rest)) - 1]) / period


class _Periodic(Policy):
    """Plays every arm in its turn."""

    #: Per arm: its period and its offset.
    turns: list[list[int]]

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was learned, if its turns can be followed."""
        turns = learned["turns"]
        whole = [number for turn in turns for number in turn]
        if len(turns) != self.n_arms or not all(type(n) is int and n >= 0 for n in whole):
            raise PolicyError(f"turns must be a period and an offset for {self.n_arms} arms.")
        for name in self.shared:
            if name != "turns":
                check_like(name, learned[name], getattr(self, name))
            setattr(self, name, learned[name])

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm whose turn it is, or the one whose turn comes next."""
        if self.plays != ONE_PLAY:
            raise self._plays_rounds()
        return next(iter(self.choose_round(track, allowed)))

    def choose_round(self, track: Track, allowed: Mask | None) -> list[int]:
        """Return the arms whose turn it is, and others where more must play."""
        least, most = self.plays
        waits = [
            (offset - track.clock) % period if period else inf for period, offset in self.turns
        ]
        free = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        arms = [arm for arm in free if not waits[arm]][:most]
        while len(arms) < least:
            left = [arm for arm in free if arm not in arms]
            arms.append(self._filler(track, waits, left))
        return arms

    def _filler(self, track: Track, waits: Sequence[float], free: Sequence[int]) -> int:
        """Return the arm to play out of its turn: one without turns, or whose turn comes next."""
        return min(free, key=lambda arm: (waits[arm] < inf, waits[arm]))


class PurelyPeriodic(_Periodic):
    """Plays every arm with a period of its own, knowing the curves.

    Simchi-Levi, Zheng & Zhu (2021), "Dynamic planning and learning under recovering rewards": up to
    K plays a round, pays that recover with idle time. As in the paper: each arm has one period; the
    periods come from a relaxation in which only their frequencies must sum to K at most; they are
    lengthened into a family of an odd number times powers of two, in which offsets always exist.
    Lengthening to the next such period costs an arm at most half, so at least half of the
    relaxation is earned on curves that never fall (if it gives each arm one period). Not as there:
    of four families the best is taken for all arms, where the paper mixes families to reach
    1 - O(1/√K), and on a bandit whose rounds may not be silent a round without a turn plays the arm
    whose next turn loses least by it. Streaks longer than one and rules are not looked at.

    Parameters
    ----------
    bandit
        The curves, and how many arms a round plays.
    depth
        Longest rest of an arm.
    initial
        States every subject starts in; the bandit's own by default.

    Examples
    --------
    >>> import lastswitch as ls
    >>> policy = PurelyPeriodic(ls.instances.k_monotone(3, plays=2))
    >>> [len(policy.ask_round()) for _ in range(4)], policy.bound
    ([2, 2, 2, 0], 1.5)
    """

    shared: ClassVar[tuple[str, ...]] = ("turns",)
    learns = False

    def __init__(
        self, bandit: Bandit, *, depth: int = 24, initial: int | Sequence[int] | None = None
    ) -> None:
        if not isinstance(bandit, Bandit):
            raise InputTypeError(
                f"PurelyPeriodic needs the Bandit it plans for, got {type(bandit).__name__}."
            )
        start = bandit.initial if initial is None else initial
        super().__init__(bandit.n_arms, initial=start, plays=bandit.plays)
        self.bandit, self.depth = bandit, check_whole("depth", depth, 1, PolicyError)
        rest, streak = bandit.tables(self.depth, 1)
        turns, self.bound = periodic_plan(rest, streak[:, 0], self.plays[1])
        self.turns = [list(turn) for turn in turns]
        self._tables = Tables(rest, streak)

    def _filler(self, track: Track, waits: Sequence[float], free: Sequence[int]) -> int:
        """Return the arm that loses least by a play out of its turn."""
        turns = [
            (0, ()) if period == 0 else (int(wait), (self._tables.pay(arm, period - 1 or -1),))
            for arm, (wait, (period, _)) in enumerate(zip(waits, self.turns, strict=True))
        ]
        mask = tuple(arm in free for arm in range(self.n_arms))
        return least_lost(self._tables, track.state(), turns, mask)


class PeriodicUCB(_Periodic):
    """Learns purely periodic play: in phases, on upper confidence bounds.

    The learner of Simchi-Levi, Zheng & Zhu (2021): a phase begins with periods planned on the
    optimistic pay of every (arm, idle time) and keeps them to its end; an arm's first play of a
    phase, whose idle time is not its period, still teaches that idle time; no idle time is believed
    to pay more than a longer one. Not as there: phases double instead of having the one length that
    balances their bound, and one clock of phases serves all subjects.

    Parameters
    ----------
    n_arms
        Number of arms.
    plays
        How many arms a round plays.
    depth
        Idle times told apart.
    alpha
        How much doubt is kept.
    first
        Rounds of the first phase.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.

    Examples
    --------
    >>> policy = PeriodicUCB(4, plays=(0, 2))
    >>> len(policy.ask_round())
    2
    """

    shared: ClassVar[tuple[str, ...]] = ("turns", "counts", "sums", "phase", "left")

    def __init__(
        self,
        n_arms: int,
        *,
        plays: int | tuple[int, int] = 1,
        depth: int = 12,
        alpha: float = 0.5,
        first: int = 32,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, plays=plays)
        self.depth = check_whole("depth", depth, 1, PolicyError)
        self.first = check_whole("first", first, 1, PolicyError)
        self.alpha = float(alpha)
        self._seen = Estimates(self.n_arms, self.depth, 1)
        self.counts, self.sums = self._seen.counts, self._seen.sums
        self.phase, self.left = 0, 0
        self.turns = [[0, 0] for _ in range(self.n_arms)]

    def choose_round(self, track: Track, allowed: Mask | None) -> list[int]:
        """Return the arms whose turn it is, after planning where a phase begins."""
        if self.left == 0:
            self._begin()
        self.left -= 1
        return super().choose_round(track, allowed)

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to its (arm, idle time)."""
        self._seen.add(pull.arm, pull.tau, reward)

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen."""
        super().relearn(learned)
        check_counted(self.counts, self.sums)
        check_whole("phase", self.phase, 0, PolicyError, 60)
        check_whole("left", self.left, 0, PolicyError, self.first << 60)
        self._seen.counts, self._seen.sums = self.counts, self.sums

    def _begin(self) -> None:
        """Plan the periods of a phase."""
        counts = np.array(self.counts, float).reshape(self.n_arms, -1)
        sums = np.array(self.sums).reshape(self.n_arms, -1)
        doubt = np.sqrt(self.alpha * log(2.0 + counts.sum()) / np.maximum(counts, 1.0))
        upper = np.where(counts > 0, np.minimum(1.0, sums / np.maximum(counts, 1.0) + doubt), 1.0)
        # What pays never more than after a longer rest is not believed to.
        idle = np.column_stack([upper[:, self.depth], upper[:, : self.depth]])
        idle = np.minimum.accumulate(idle[:, ::-1], axis=1)[:, ::-1]
        turns, _ = periodic_plan(idle[:, 1:], idle[:, 0], self.plays[1])
        self.turns = [list(turn) for turn in turns]
        self.left = self.first << self.phase
        self.phase = min(self.phase + 1, 60)


def guarantee(places: int) -> float:
    """Return 1 - k^k/(e^k k!), the share that randomised offsets keep of the frequency program.

    Papadigenopoulos, Caramanis & Shakkottai (2022), for k plays a round.

    Examples
    --------
    >>> [round(guarantee(k), 3) for k in (1, 2, 10)]
    [0.632, 0.729, 0.875]
    """
    check_whole("places", places, 1, PolicyError)
    share = Fraction(1)
    for factor in range(1, places + 1):
        share *= Fraction(places, factor)
    return 1.0 - float(share) * float(np.exp(-places))
