"""Periodic policies from the frequency program, with randomised offsets."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Any, ClassVar

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_whole, is_number
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.baselines.filling import Tables, least_lost
from lastswitch.learning.baselines.frequency_program import round_program, solve_program
from lastswitch.learning.estimates import Estimates
from lastswitch.learning.policy import ONE_PLAY, Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_cells, check_counted, check_like
from lastswitch.learning.policy.tracks import FARTHEST, Track
from lastswitch.model.bandit import Bandit


class _Rounded(Policy):
    """Follows one pattern per arm, each at its own offset, in virtual states.

    An arm's virtual state goes round its pattern whether or not it is really played; in a round
    the candidates (arms whose pattern says play) compete by what they would pay in their virtual
    state. Where pay never falls with rest, a candidate that was passed over pays at least that.
    """

    #: Per arm: rest, run, offset, and what each play of the run pays. Empty until known.
    schedule: list[list[Any]]
    #: What it was made for.
    _tables: Tables

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was learned, if its schedule can be followed."""
        schedule = learned["schedule"]
        if len(schedule) != self.n_arms and (schedule or not self.learns):
            raise PolicyError(f"a schedule needs a pattern for each of the {self.n_arms} arms.")
        for rest, run, offset, pays in schedule:
            for number in (rest, run, offset):
                check_whole("a pattern", number, 0, PolicyError)
            if rest + run < 1 or len(pays) < run or not all(map(is_number, pays)):
                raise PolicyError(f"a pattern of {rest} and {run} rounds with {pays!r:.60}.")
        for name in self.shared:
            if name != "schedule":
                check_like(name, learned[name], getattr(self, name))
            setattr(self, name, learned[name])

    def _follow(self, track: Track, allowed: Mask | None) -> int:
        best, value = -1, -inf
        for arm, (rest, run, offset, pays) in enumerate(self.schedule):
            phase = (track.clock + offset) % (rest + run)
            if phase < run and pays[phase] > value and (allowed is None or allowed[arm]):
                best, value = arm, pays[phase]
        return best if best >= 0 else self._fill(track, allowed)

    def _follow_round(self, track: Track, allowed: Mask | None, floor: float) -> list[int]:
        """Return the candidates that pay most, and more than ``floor``, as many as may play.

        A round that must play more than there are candidates takes those with most time to their
        next turn besides.
        """
        least, most = self.plays
        offers = []
        for arm, (rest, run, offset, pays) in enumerate(self.schedule):
            phase = (track.clock + offset) % (rest + run)
            if phase < run and pays[phase] > floor and (allowed is None or allowed[arm]):
                offers.append((-pays[phase], arm))
        arms = [arm for _, arm in sorted(offers)][:most]
        while len(arms) < least:
            free = [
                (allowed is None or allowed[arm]) and arm not in arms for arm in range(self.n_arms)
            ]
            arms.append(self._fill(track, tuple(free)))
        return arms

    def _fill(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm to play when none is a candidate; the papers let such a round go by."""
        turns = [
            (rest + run - (track.clock + offset) % (rest + run) if run else 0, pays)
            for rest, run, offset, pays in self.schedule
        ]
        return least_lost(self._tables, track.state(), turns, allowed)

    def _commit(
        self, rest: FloatArray, streak: FloatArray, runs: int, silence: float = 0.0
    ) -> float:
        """Solve and round the program; return its value."""
        self._tables = Tables(rest, streak)
        program = solve_program(rest, streak, runs, self.plays[1], silence)
        schedule = []
        for arm, (pattern, offset) in enumerate(round_program(program, self.rng)):
            first = rest[arm, pattern.rest - 1] if pattern.rest else streak[arm, -1]
            last = streak.shape[1] - 1
            repeats = [streak[arm, min(k, last)] for k in range(pattern.run - 1)]
            schedule.append([*pattern, offset, [float(pay) for pay in [first, *repeats]]])
        self.schedule = schedule
        return program.value


class FrequencyPolicy(_Rounded):
    """Plays the rounded frequency program of known curves.

    Papadigenopoulos, Caramanis & Shakkottai (2022), "Non-stationary bandits under recharging
    payoffs", for ``runs=1``: at least 1 - k^k/(e^k k!) of the optimum in expectation over the
    offsets (1 - 1/e for one play a round), for curves that never fall with rest and streaks that
    are constant. Foussoul, Goyal, Papadigenopoulos & Zeevi (2023), "Last switch dependent bandits
    with monotone payoff functions", for longer ``runs``: (1 - 1/runs) times that for curves
    nondecreasing in τ. As in the papers: the program, its rounding, the virtual states, and, on a
    bandit with ``plays=(0, k)``, that a place stays empty when no arm is a candidate for it. Not as
    there: silence may pay something, rules are not looked at, and on a bandit that must play the
    arm is played whose next turn loses least by it. With an arm to spare, one that loses nothing
    (it always pays the same, nothing perhaps), the guarantee is the same.

    Parameters
    ----------
    bandit
        The curves.
    runs
        Longest run of a pattern.
    depth
        Longest rest of a pattern.
    initial
        States every subject starts in; the bandit's own by default.
    seed
        Seeds the patterns and offsets.

    Examples
    --------
    >>> import lastswitch as ls
    >>> policy = FrequencyPolicy(ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)]))
    >>> sum(policy.ask().arm == 0 for _ in range(30))
    10
    >>> round(policy.bound, 3)
    0.5
    """

    shared: ClassVar[tuple[str, ...]] = ("schedule", "bound")
    learns = False

    def __init__(
        self,
        bandit: Bandit,
        *,
        runs: int = 1,
        depth: int = 24,
        initial: int | Sequence[int] | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(bandit, Bandit):
            raise InputTypeError(
                f"FrequencyPolicy needs the Bandit it plans for, got {type(bandit).__name__}."
            )
        start = bandit.initial if initial is None else initial
        super().__init__(bandit.n_arms, initial=start, seed=seed, plays=bandit.plays)
        self.runs = check_whole("runs", runs, 1, PolicyError)
        self.depth = check_whole("depth", depth, 1, PolicyError)
        check_cells("the program", self.n_arms * self.runs * self.depth)
        self.bandit = bandit
        self._silence = bandit.silence if self.plays[0] < self.plays[1] else 0.0
        #: The program's value: no policy with runs and rests this short averages more.
        self.bound = self._commit(*bandit.tables(depth, runs), runs, self._silence)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the candidate that pays most in its virtual state."""
        if self.plays != ONE_PLAY:
            raise self._plays_rounds()
        return self._follow(track, allowed)

    def choose_round(self, track: Track, allowed: Mask | None) -> list[int]:
        """Return the candidates that pay most in their virtual states, and more than silence."""
        return self._follow_round(track, allowed, self._silence)


class ExploreThenCommit(_Rounded):
    """Samples every (arm, state) some times, then plays the rounded frequency program.

    The learner of Foussoul, Goyal, Papadigenopoulos & Zeevi (2023) and, with ``runs=1``, a simple
    one for Papadigenopoulos et al. (2022). Assumes a known horizon and curves nondecreasing in τ;
    its regret is Õ(T^{2/3}) against its share of the optimum (see :class:`FrequencyPolicy`).

    Parameters
    ----------
    n_arms
        Number of arms.
    horizon
        Rounds there will be: exploration takes about T^{2/3} of them.
    runs, depth
        Longest run and rest of a pattern.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.
    seed
        Seeds the patterns and offsets.
    plays
        How many arms a round plays: 1, or, as in the paper, ``(0, k)``. Then as many arms as a
        round may play are explored side by side, resting in silence.

    Examples
    --------
    >>> policy = ExploreThenCommit(2, horizon=1000, depth=3)
    >>> policy.samples  # of every (arm, state), before it commits
    5
    """

    shared: ClassVar[tuple[str, ...]] = ("schedule", "counts", "sums", "next")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        runs: int = 1,
        depth: int = 12,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int = 0,
        plays: int | tuple[int, int] = 1,
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed, plays=plays)
        if self.plays != ONE_PLAY and self.plays[0] > 0:
            raise PolicyError(
                f"it explores in silence: plays must be 1 or (0, most), got {plays!r}."
            )
        self.horizon = check_whole("horizon", horizon, 1, PolicyError, FARTHEST)
        self.runs = check_whole("runs", runs, 1, PolicyError)
        self.depth = check_whole("depth", depth, 1, PolicyError)
        check_cells("its exploration", self.n_arms * (self.depth**2 + self.runs))
        # A pass visits every rest of every arm, and its streaks, in about n_arms * depth rounds
        # per rest; T^{2/3} rounds of exploration balance its cost and what it teaches.
        self.plan = _exploration(self.n_arms, depth, runs)
        if self.plays != ONE_PLAY:
            self.rounds = _side_by_side(self.n_arms, depth, runs, self.plays[1])
            self.plan = [len(arms) for arms in self.rounds]
        self.samples = ceil(horizon ** (2 / 3) / len(self.plan))
        self.schedule = []
        self.next = 0
        self._seen = Estimates(self.n_arms, depth, runs)
        self.counts, self.sums = self._seen.counts, self._seen.sums

    def choose_round(self, track: Track, allowed: Mask | None) -> list[int]:
        """Return the next arms to explore, or the candidates that pay most."""
        if not self.schedule and self.next >= self.samples * len(self.plan):
            self._learned()
        if self.schedule:
            return self._follow_round(track, allowed, 0.0)
        arms = self.rounds[self.next % len(self.plan)]
        self.next += 1
        return [arm for arm in arms if allowed is None or allowed[arm]]

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm to explore, or the candidate that pays most."""
        if self.plays != ONE_PLAY:
            raise self._plays_rounds()
        if not self.schedule and self.next >= self.samples * len(self.plan):
            self._learned()
        if self.schedule:
            return self._follow(track, allowed)
        arm = self.plan[self.next % len(self.plan)]
        self.next += 1
        if allowed is not None and not allowed[arm]:
            return allowed.index(True)
        return arm

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to its (arm, state), until it has committed to what was seen."""
        if not self.schedule:
            self._seen.add(pull.arm, pull.tau, reward)

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen."""
        super().relearn(learned)
        check_counted(self.counts, self.sums)
        check_whole("next", self.next, 0, PolicyError)
        self._seen.counts, self._seen.sums = self.counts, self.sums
        self._tables = Tables(*self._means())

    def _learned(self) -> None:
        """Commit to the program of the means seen."""
        self._commit(*self._means(), self.runs)

    def _means(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean seen of each arm by rest, and by streak."""
        counts = np.maximum(1, np.array(self.counts)).reshape(self.n_arms, -1)
        means = np.clip(np.array(self.sums).reshape(self.n_arms, -1) / counts, 0.0, 1.0)
        return means[:, : self.depth], means[:, self.depth :]


def _exploration(n_arms: int, depth: int, runs: int) -> list[int]:
    """Return a block that visits every arm after every rest and in every streak.

    To rest an arm for τ rounds something else must be played: the next arm, in streaks. So a pass
    over τ shows each arm after a rest of τ and another arm in a streak as long.
    """
    plan = []
    for arm in range(n_arms):
        other = (arm + 1) % n_arms
        for tau in range(1, depth + 1):
            plan += [arm, *[other] * tau]
        plan += [arm] * (runs + 1)
    return plan


def _side_by_side(n_arms: int, depth: int, runs: int, most: int) -> list[tuple[int, ...]]:
    """Return rounds that visit every arm after every rest and in every streak, ``most`` at once.

    Examples
    --------
    >>> _side_by_side(3, depth=1, runs=1, most=2)
    [(0, 1), (), (0, 1), (0, 1), (), (2,), (), (2,), (2,), ()]
    """
    rounds: list[tuple[int, ...]] = []
    for first in range(0, n_arms, most):
        arms = tuple(range(first, min(first + most, n_arms)))
        for tau in range(1, depth + 1):
            rounds += [arms, *[()] * tau]
        rounds += [arms] * (runs + 1) + [()]
    return rounds
