"""The best average of many arms, without listing their joint states.

To prove that no cycle averages more than L - δ, the frequency bound less some allowance, follow
debts: what a schedule fell short by so far (:mod:`lastswitch.planning.optima.shortfall`) less δ a
round. A cycle whose mean shortfall is below δ has a round from which on its debt stays negative:
the one after its debt was largest. So it is enough to follow the joint states that are reached from
anywhere with a negative debt, each with the least. If they come to an end, there is no such cycle:
the least debts are potentials under which no move gains on δ. If a state is reached from itself
with a lower debt, here is one.

This is label correcting for a negative cycle (Cherkassky and Goldberg, 1999), with Lagrangian
reduced costs in place of lengths. Half the gap between what is earned and what is proven is tried
in turn with all of it, so that a better bound is there if all of it takes too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch.model.blocks import cycle_reward
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock
from lastswitch.planning.optima.joint_states import empty_index, lift_turns, with_room
from lastswitch.planning.optima.shortfall import Shortfalls

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.planning.optima.shortfall_kernel import Labels, Limits

#: Arms moved between two looks at the clock: some hundredths of a second.
SLICE = 200_000
#: Joint states to follow before half a proof is tried instead of the whole; then so many times as
#: many.
FEW_STATES, MORE = 20_000, 4
#: States to make room for at first.
FIRST_ROOM = 1 << 14
#: A cycle counts as better from here on, relative to the largest pay.
BETTER = 1e-12
#: What shares of the gap to aim at.
HALF, MOST = 0.5, 0.875
#: Rounds of the longest stretch that is tried as a cycle when a search has to stop.
LONGEST_TURN = 96
#: Rounds of the first cycle, which always plays what falls short least.
MOST_GREEDY = 2000


class Average(NamedTuple):
    """A cycle, its mean, what no cycle's exceeds, and how far below 0 any debt at that bound is."""

    block: tuple[int, ...]
    mean: float
    bound: float
    deepest: float
    states: int

    @property
    def proven(self) -> bool:
        """Whether no cycle has a larger mean, up to rounding."""
        return self.bound <= self.mean + rounding(self.mean)


class Followed:
    """Joint states followed from ``origin`` as far as ``limits`` go.

    ``cycle`` is a state on a cycle that lowers its own debt, or None.
    """

    def __init__(self, short: Shortfalls, origin: NDArray[np.int16], limits: Limits) -> None:
        from lastswitch.planning.optima.mean_cycle import index_states
        from lastswitch.planning.optima.shortfall_kernel import Labels

        self.short, self.limits = short, limits
        self.cycle: int | None = None
        room = FIRST_ROOM
        self.labels: Labels = Labels(
            states=np.empty((room, len(origin)), dtype=np.int16),
            debt=np.empty(room),
            parent=np.empty(room, dtype=np.int32),
            node=np.empty(room, dtype=np.int32),
            table=empty_index(room),
            queue=np.zeros(room, dtype=np.int32),
            queued=np.zeros(room, dtype=np.bool_),
            moved=np.empty(len(origin), dtype=np.int16),
        )
        self.labels.states[0], self.labels.debt[0], self.labels.parent[0] = origin, 0.0, -1
        self.labels.queued[0] = True
        index_states(self.labels.table, self.labels.states, 1)
        self.cursor = np.array([1, 0, 1, 0])

    def __len__(self) -> int:
        return int(self.cursor[0])

    def run(self, most: int, clock: Clock, known: tuple[float, float]) -> bool:
        """Follow until nothing is left or a cycle is found (True), or beyond ``most`` states.

        ``known`` are the value and bound so far, for whoever listens.
        Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
        """
        from lastswitch.planning.optima.shortfall_kernel import DONE, FULL, spread

        slice_ = max(1, SLICE // len(self.short.moves.at))
        while True:
            clock.check()
            clock.tell(*known)
            found = int(spread(self.short.moves, self.limits, self.labels, self.cursor, slice_))
            if found == DONE:
                return True
            if found >= 0:
                self.cycle = found
                return True
            if len(self) > most:
                return False
            if found == FULL:
                self._grow()

    def _grow(self) -> None:
        """Make room for so many states more."""
        from lastswitch.planning.optima.mean_cycle import index_states

        old, (count, head, _, _) = self.labels, self.cursor.tolist()
        room = (MORE - 1) * len(old.debt)
        parts = {
            name: with_room(getattr(old, name), room)
            for name in ("states", "debt", "parent", "node", "queued")
        }
        self.cursor[1] = 0
        queue = with_room(np.roll(old.queue, -head), room)
        self.labels = old._replace(**parts, queue=queue, table=empty_index(len(old.debt) + room))
        index_states(self.labels.table, self.labels.states, count)

    @property
    def deepest(self) -> float:
        """How far below 0 any debt is."""
        return float(-self.labels.debt[: len(self)].min())

    def block(self) -> tuple[int, ...]:
        """Return the arms of the cycle found."""
        short, labels, state = self.short, self.labels, self.cycle
        played: list[int] = []
        here = state
        while not played or here != state:
            played.append(int(labels.node[here]))
            here = int(labels.parent[here])
        nodes = np.array(played[::-1])
        group = short.group_of(nodes)
        # Arms not pulled before the cycle are not pulled on it either: their states do not matter.
        states = short.arms.unsorted(labels.states[state])
        sizes = short.sizes[np.repeat(np.arange(len(short.sizes)), np.diff(short.arms.groups))]
        known = dict(zip(short.arms.order, sizes.tolist(), strict=True))
        states = [s if s < known[arm] else -1 for arm, s in enumerate(states)]
        plays = nodes - short.begins[group] + short.arms.offset[group]
        return tuple(lift_turns(short.arms, states, plays.tolist()))

    def turns(self) -> list[tuple[int, ...]]:
        """Return stretches of the way to the least debt that might be repeated, one per length."""
        states = [int(self.labels.debt[: len(self)].argmin())]
        while self.labels.parent[states[-1]] >= 0:
            states.append(int(self.labels.parent[states[-1]]))
        debt = self.labels.debt[states[::-1]]
        arms = self.short.play(self.labels.node[states[-2::-1]].astype(np.int64))
        ends = (
            (length, int(np.argmin(debt[length:] - debt[:-length])))
            for length in range(1, min(len(arms), LONGEST_TURN) + 1)
        )
        return [tuple(arms[begin : begin + length]) for length, begin in ends]


def search_average(bandit: Bandit, short: Shortfalls, limit: int, clock: Clock) -> Average:
    """Return the best cycle found with at most ``limit`` joint states, and a bound on all.

    Out of time, or on Ctrl-C, what is known by then.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.planning.optima.frequency import frequencies
    >>> from lastswitch.planning.optima.joint_states import group_arms
    >>> from lastswitch.planning.optima.shortfall import shortfalls
    >>> bandit = ls.instances.pinwheel([2, 3, 5])
    >>> short = shortfalls(group_arms(bandit), frequencies(bandit.curves), Clock(None))
    >>> found = search_average(bandit, short, 1000, Clock(None))
    >>> found.mean, found.proven
    (0.875, True)
    """
    search = _Search(bandit, short, limit)
    with clock.ending():
        search.run(clock)
    return search.found


class _Search:
    """The best cycle so far, and what is proven of all."""

    def __init__(self, bandit: Bandit, short: Shortfalls, limit: int) -> None:
        self.bandit, self.short, self.limit = bandit, short, limit
        self.margin = (4 * BETTER / 10 + 1e-15 * bandit.n_arms) * short.unit
        block = _least_short(short)
        self.found = Average(block, _mean(bandit, block), short.most + self.margin, 0.0, 0)

    @property
    def done(self) -> bool:
        """Whether no search can tell more: proven, or as far as numbers of this size go."""
        near = 1.01 * (BETTER * self.short.unit + self.margin)
        return self.found.proven or self.found.bound <= self.found.mean + near

    def run(self, clock: Clock) -> None:
        """Try half of the gap, then all of it, following more and more states.

        The higher the target, the fewer there are: if even half is too much, most of the gap is
        not to be had yet, and with no more states to come less and less of it is tried.
        """
        few = min(FEW_STATES, self.limit)
        while not self.done:
            answer = self.better_than(HALF, few, clock)
            if answer is False and not self.done:
                answer = self.better_than(0.0, few, clock)
            elif answer is None:
                answer = self.better_than(MOST, few, clock)
            if answer is None and few == self.limit:
                return self.retreat(clock)
            if answer is None:
                few = min(MORE * few, self.limit)

    def retreat(self, clock: Clock) -> None:
        """Lower the bound as far as the states that may be followed allow."""
        for share in (HALF, MOST):
            answer: bool | None = False
            while answer is not None and not self.done:
                answer = self.better_than(share, self.limit, clock)

    def better_than(self, share: float, most: int, clock: Clock) -> bool | None:
        """Look for a cycle beyond this share of the gap: None if that takes too many states.

        Whether there is one, otherwise; then it is the best so far, or its absence the bound.
        """
        short, found = self.short, self.found
        target = found.mean + max(share * (found.bound - found.mean), BETTER * short.unit)
        followed = Followed(short, short.anywhere(), _negative(short, target))
        if not followed.run(most, clock, (found.mean, found.bound)):
            return self.improved(followed.turns()) or None
        if followed.cycle is None:
            bound = min(found.bound, target + self.margin)
            self.found = found._replace(
                bound=bound, deepest=followed.deepest * short.unit, states=len(followed)
            )
        elif not self.improved([followed.block()]):
            return None  # better by rounding only
        return followed.cycle is not None

    def improved(self, blocks: list[tuple[int, ...]]) -> bool:
        """Take the best of these cycles if it is the best so far; tell whether it is."""
        best = max(blocks, key=lambda block: _mean(self.bandit, block))
        mean = _mean(self.bandit, best)
        if mean <= self.found.mean:
            return False
        self.found = self.found._replace(block=best, mean=mean)
        return True


def _negative(short: Shortfalls, target: float) -> Limits:
    """Return what follows negative debts, for cycles that average more than ``target``."""
    from lastswitch.planning.optima.shortfall_kernel import EPSILON, Limits

    nothing = np.empty((0, 0)), np.empty(0), np.empty(0)
    return Limits((short.most - target) / short.unit, -EPSILON, *nothing, -EPSILON)


def _mean(bandit: Bandit, block: tuple[int, ...]) -> float:
    """Return what a cycle pays per round."""
    return cycle_reward(bandit, block) / len(block)


def _least_short(short: Shortfalls) -> tuple[int, ...]:
    """Return the cycle of always playing what falls short least, from the states numbered 0."""
    moves, here = short.moves, np.zeros(len(short.moves.at), dtype=np.int64)
    seen: dict[bytes, int] = {}
    played: list[int] = []
    while here.tobytes() not in seen and len(played) < MOST_GREEDY:
        seen[here.tobytes()] = len(played)
        nodes = moves.at + here
        ways = moves.ways[nodes]
        place = int(np.argmin(moves.goal_short[ways] - moves.idle_short[nodes]))
        here = moves.idle[nodes].astype(np.int64)
        here[place] = moves.goal[ways[place]]
        played.append(short.arms.order[place])
    return tuple(played[seen.get(here.tobytes(), 0) :])
