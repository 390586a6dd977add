"""Searching for the best cycle of a given length, with a bound on all of them.

Order the arms; every cycle of two arms or more belongs to the first arm it uses, cut at the start
of one of that arm's runs (:mod:`lastswitch.planning.diagrams.cycle`). So each arm in turn leads,
the arms before it are not used, and the certified solver does the rest, told of the best cycle so
far, so that it looks for better ones only.

Of many arms most can be left out at once. Let a pull cost λ, the price of the frequency bound
(:mod:`~lastswitch.planning.optima.frequency`): a cycle that uses arm i pays no more than the bound
less what the arm loses by having to play at least once in so many rounds. So a first cycle is
planned with the arms that lose least, and every arm that loses more than it leaves to gain is
dropped.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.progress import Progress
from lastswitch.model.blocks import cycle_reward
from lastswitch.model.packed import pack
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock, OutOfTime, interrupts
from lastswitch.planning.optima.frequency import frequencies
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.terminal import Terminal

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

#: A first cycle is scouted for when length times arms exceed the first of these numbers: within
#: which gap, in how many blocks, in what share of the time left and in how many seconds.
SCOUT_FROM = 200
SCOUT_GAP, SCOUT_BLOCKS, SCOUT_SHARE, SCOUT_SECONDS = 0.01, 3, 0.4, 1.0
#: Arms beyond the length that a first cycle is planned with.
SCOUT_MORE = 4
#: States of automata that can be searched in a second; more are not begun when time is short.
STATES_PER_SECOND = 2e6
#: Up to so many arms the ceiling of a share gets prices of its own.
CLOSELY = 64


class Cycle(NamedTuple):
    """A cycle, what one turn of it pays, and what none of its length can exceed."""

    block: tuple[int, ...]
    value: float
    bound: float
    interrupted: bool = False


def search_cycle(
    bandit: Bandit, length: int, *, gap: float, clock: Clock, arms: list[int] | None = None
) -> Cycle:
    """Return the best cycle of ``length`` rounds found within the time; never without one."""
    search = _Search(bandit, length, gap, clock, arms or list(range(bandit.n_arms)))
    search.run()
    return Cycle(tuple(search.block), search.value, search.bound, search.interrupted)


class _Search:
    """One search for a cycle: the best so far, what none can exceed, and the clock.

    Arms are told apart by their place in ``arms``, the bandit's arms that may be used.
    """

    def __init__(
        self, bandit: Bandit, length: int, gap: float, clock: Clock, arms: list[int]
    ) -> None:
        self.bandit, self.length, self.gap, self.clock, self.arms = bandit, length, gap, clock, arms
        self.curves = tuple(bandit.curves[arm] for arm in arms)
        self.frequency = frequencies(self.curves)
        self.block = [0] * length
        self.value = -math.inf
        self.bound = length * self.frequency.most
        self.interrupted = False
        steady = pack(self.curves).pays(np.array([[-1 << 60]]))[:, 0]  # in an endless streak
        self.offer([int(steady.argmax())] * length)

    def run(self) -> None:
        """Search until proven, good enough, out of time or interrupted by Ctrl-C."""
        if self.length == 1 or len(self.arms) == 1:
            self.bound = self.value
            return
        try:
            with interrupts():
                self.search()
        except KeyboardInterrupt:
            self.interrupted = True
        if self.interrupted:
            self.clock.stop()  # whoever asked for this cycle has to come to an end too
        self.bound = max(self.bound, self.value)

    def search(self) -> None:
        """Bound all cycles, find a first one, drop the arms that cannot improve on it, search."""
        self.take_turns()
        self.lower(self.length * self.frequency.least(self.clock))
        reach = self.reaches()
        if self.length * len(self.arms) > SCOUT_FROM and not self.good_enough(self.bound):
            self.scout(reach)
        kept = self.kept(reach)
        few = kept[: self.length + SCOUT_MORE]
        if len(few) < len(kept) and self.too_many(kept):
            self.search_shares(few)
            kept = self.kept(reach)
        # A cycle of kept arms only, or one that uses an arm left out.
        left_out = np.delete(reach, kept).max(initial=0.0)
        shares = self.search_shares(kept) if kept else self.value
        self.lower(max(self.value, shares, float(left_out)))

    def kept(self, reach: FloatArray) -> list[int]:
        """Return the arms that a better cycle may use, those that can reach most first."""
        order = np.argsort(-reach, kind="stable")
        kept: list[int] = order[reach[order] > self.wanted].tolist()
        return kept

    def too_many(self, users: list[int]) -> bool:
        """Tell whether the automata of these arms are too large for the time left."""
        kinds = np.unique(self.frequency.kind_of[users])
        states = int(self.frequency.sizes[kinds].sum())
        return self.length**2 * states > STATES_PER_SECOND * self.clock.left

    def lower(self, bound: float) -> None:
        """Take note of a bound on all cycles."""
        self.bound = min(self.bound, bound)
        self.clock.tell(self.value, self.bound)

    @property
    def wanted(self) -> float:
        """What a cycle must be worth more than to be looked for."""
        return self.value + max(self.gap * self.value, rounding(self.value))

    def good_enough(self, bound: float) -> bool:
        """Tell whether cycles worth at most ``bound`` need not be looked for."""
        return bound <= self.wanted

    def reaches(self) -> FloatArray:
        """Return, for each arm, what no cycle that uses it can exceed."""
        price, most, gains = self.frequency.best_price()
        used = np.full(len(gains), np.inf)
        with suppress(OutOfTime):  # of kinds not looked at the bound is all that is known
            self.frequency.used(price, self.length, used, self.clock)
        reach: FloatArray = np.minimum(self.length * (most - gains) + used, self.bound)
        return reach.take(self.frequency.kind_of)

    def search_shares(self, kept: list[int]) -> float:
        """Search every arm's share of the cycles of ``kept``; return a bound on all of them."""
        bound = self.value
        kinds = self.ordered_kinds(kept)
        for k in range(len(kinds)):
            users = [arm for members in kinds[k:] for arm in members]
            ceiling = self.ceiling(users)
            if self.good_enough(ceiling):
                return max(bound, ceiling)  # as for any later share: it uses fewer arms
            if self.interrupted or self.clock.over or self.too_many(users):
                return max(bound, ceiling)
            share = min(self.solve_share(users), ceiling)
            bound = max(bound, share)
            if self.interrupted or not self.good_enough(share):
                # Stopped by the clock, by Ctrl-C or by memory: the next would not fare better.
                rest = [arm for members in kinds[k + 1 :] for arm in members]
                return max(bound, self.ceiling(rest)) if rest else bound
        return bound

    def ceiling(self, users: list[int]) -> float:
        """Return the frequency bound on cycles of these arms, from the prices tried so far."""
        kinds = self.frequency.kind_of[users]
        counts = np.bincount(kinds, minlength=len(self.frequency.kinds))
        known = self.length * self.frequency.known(counts)
        if self.good_enough(known) or len(users) > CLOSELY:
            return known
        closely = frequencies(tuple(self.curves[arm] for arm in users))
        return min(known, self.length * closely.least(self.clock))

    def offer(self, block: list[int]) -> None:
        """Make ``block`` the best cycle so far if it is."""
        arms = [self.arms[arm] for arm in block]
        value = cycle_reward(self.bandit, arms)
        if value > self.value:
            self.block, self.value = arms, value

    def take_turns(self) -> None:
        """Offer cycles in which a few arms take turns: a fair answer in no time."""
        most = min(self.length, len(self.arms))
        sizes = [n for n in range(2, most + 1) if self.length % n == 0 or n == len(self.arms)]
        if not sizes:
            return
        pays = pack(self.curves).pays(np.array([sizes]) - 1)
        for few, order in zip(sizes, np.argsort(-pays, axis=0, kind="stable").T, strict=True):
            self.offer((order[:few].tolist() * self.length)[: self.length])

    def scout(self, reach: FloatArray) -> None:
        """Find a first cycle by planning blocks, each valued as if the last one came again.

        The first block earns nothing on first pulls. From then on a block is planned with, at its
        end, what the first pulls of the block before would pay after it. Only the arms that can
        reach most take part.
        """
        from lastswitch.model.bandit import Bandit
        from lastswitch.planning.certified import solve

        users = np.argsort(-reach, kind="stable")[: self.length + SCOUT_MORE].tolist()
        few = Bandit([self.curves[arm] for arm in users])
        until = self.clock.part(SCOUT_SHARE, most=SCOUT_SECONDS)
        problem = BlockProblem.from_bandit(few, self.length, "unknown")
        for _ in range(SCOUT_BLOCKS):
            found = solve(problem, gap=SCOUT_GAP, time_limit=until.limit)
            until.forgive(found.loading)
            block = np.asarray(found.block).tolist()
            self.offer([users[arm] for arm in block])
            if found.interrupted:
                raise KeyboardInterrupt  # the search as a whole was meant
            if until.over or self.good_enough(self.bound):
                return
            problem = followed_by(few, block)

    def ordered_kinds(self, kept: list[int]) -> list[list[int]]:
        """Return the arms by kind (likes together), the kind hardest to miss first.

        Of likes, only the first ever leads: a cycle without it can swap it in.
        """
        gains = self.frequency.best_price()[2]
        kinds: dict[int, list[int]] = {}
        for arm, kind in zip(kept, self.frequency.kind_of[kept].tolist(), strict=True):
            kinds.setdefault(kind, []).append(arm)
        order = sorted(kinds, key=lambda kind: -len(kinds[kind]) * gains[kind])
        return [kinds[kind] for kind in order]

    def solve_share(self, users: list[int]) -> float:
        """Search the cycles of ``users`` that use the first of them; return a bound on them."""
        from lastswitch.planning.certified import solve_model, solve_small
        from lastswitch.planning.diagrams.cycle import cycle_model

        kinds = self.frequency.kind_of[users].tolist()
        model = cycle_model([self.frequency.kinds[kind] for kind in kinds], self.length)

        def report(now: Progress) -> None:
            self.clock.tell(self.value, self.bound)

        # The best cycle so far is of another share, or cut elsewhere: no block of this model, but
        # what a block has to beat.
        found = solve_small(model, self.value)
        if found is None:
            clock = Clock(self.clock.limit, report)
            found = solve_model(model, gap=self.gap, clock=clock, beat=self.value)
        self.clock.forgive(found.loading)
        self.interrupted |= found.interrupted
        if len(found.block):
            self.offer([users[arm] for arm in np.asarray(found.block).tolist()])
        return found.bound


def followed_by(bandit: Bandit, block: list[int]) -> BlockProblem:
    """Return the problem of a block after which ``block`` comes again."""
    length = len(block)
    problem = BlockProblem.from_bandit(bandit, length, "unknown")
    idle = np.arange(1, length + 1)
    rest, streak = [], []
    for arm, curve in enumerate(bandit.curves):
        first = block.index(arm) if arm in block else length // 2
        rest.append(curve(idle + first))
        streak.append([curve(first or -1)])
    end = Terminal(np.array(rest), np.array(streak), np.zeros(bandit.n_arms))
    return BlockProblem(problem.rest, problem.streak, problem.first, terminal=end)
