"""The best average of many arms, without listing their joint states.

Let a pull cost λ, and let arm i alone average at most g_i with bias h_i
(:mod:`lastswitch.planning.frequency`). Then a round of any schedule *falls short* of the frequency
bound L = λ + Σ g_i by what its moves do: an arm that goes from s to s' falls short by
g_i + h_i(s) - h_i(s') less what it earns, which is never negative, and the average of a cycle is L
less its mean shortfall. Of ten arms, most joint states can only be reached by falling short by
much.

To prove that no cycle averages more than L - δ, follow debts: what a schedule fell short by so far
less δ a round. A cycle whose mean shortfall is below δ has a round from which on its debt is never
positive again (where its debt is largest). So it is enough to follow the joint states reached with
a negative debt, each with the least: if they come to an end, there is no such cycle, and if a
state is reached from itself with a lower debt, here is one. The round it begins with may find the
arms anywhere: an arm not pulled so far is in a node of its own, which knows how long it has idled
and charges what this costs at least, from whatever state.

This is label correcting for a negative cycle (Cherkassky and Goldberg, 1999), with Lagrangian
reduced costs in place of lengths; the half-way point between what is earned and what is proven is
tried in turn with the whole, so that a bound is there if the whole takes too long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.blocks import cycle_reward
from lastswitch.planning.arm_states import ArmStates
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock
from lastswitch.planning.frequency import Frequencies
from lastswitch.planning.joint_states import Arms, empty_index, lift_turns, with_room

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.planning.shortfall_kernel import Labels, Limits, Moves

#: Nodes of one arm, numbered in 16 bits.
MOST_NODES = np.iinfo(np.int16).max
#: Numbers that differ by less are the same: sums of few pays of about 1.
SAME = 1e-14
#: Arms moved between two looks at the clock: some hundredths of a second.
SLICE = 200_000
#: Joint states to follow before half a proof is tried instead of the whole; then so many times as
#: many.
FEW_STATES, MORE = 20_000, 4
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


@dataclass(frozen=True)
class Shortfalls:
    """What every move of every arm falls short by, at one price.

    Numbers are in ``unit`` (a power of 2 near the largest pay). Group g has the nodes
    ``begins[g]:begins[g + 1]``: its canonical states, then those of an arm not pulled so far;
    ``fresh[g]`` is the one to begin with, its first ``sizes[g]`` are the states.
    """

    arms: Arms
    unit: float
    price: float
    most: float
    begins: IntArray
    sizes: IntArray
    fresh: IntArray
    gains: FloatArray
    bias: tuple[FloatArray, ...]
    moves: Moves

    def group_of(self, nodes: IntArray) -> IntArray:
        """Return the group each node is one of."""
        return np.searchsorted(self.begins, nodes, side="right") - 1

    def play(self, nodes: IntArray) -> list[int]:
        """Return arms that play these nodes, from where nothing is known of any arm."""
        arms, at = [], self.moves.at.tolist()
        groups = self.arms.groups.tolist()
        here = _anywhere(self).tolist()
        for node, group in zip(nodes.tolist(), self.group_of(nodes).tolist(), strict=True):
            members = range(groups[group], groups[group + 1])
            place = next((k for k in members if at[k] + here[k] == node), members[0])
            here = self.moves.idle[self.moves.at + here].tolist()
            here[place] = int(self.moves.goal[self.moves.ways[node]])
            arms.append(self.arms.order[place])
        return arms


def shortfalls(arms: Arms, frequency: Frequencies) -> Shortfalls | None:
    """Return the shortfalls at the best price known; None if an arm has too many nodes."""
    from lastswitch.planning.shortfall_kernel import Moves

    price, _, _ = frequency.best_price()
    gains, _, bias = frequency.alone(price)
    unit = frequency.unit
    parts = [part / unit for part in np.split(bias, frequency.begins[1:-1])]
    nodes = [
        _nodes(machine, price / unit, gain / unit, h, unit)
        for machine, gain, h in zip(frequency.kinds, gains, parts, strict=True)
    ]
    begins = np.cumsum([0, *(len(each.idle) for each in nodes)])
    if max(len(each.idle) for each in nodes) > MOST_NODES:
        return None
    ways = [way for each in nodes for way in each.ways]
    return Shortfalls(
        arms=arms,
        unit=unit,
        price=price,
        most=price + math.fsum(frequency.counts * gains),
        begins=begins,
        sizes=frequency.sizes,
        fresh=np.array([each.fresh for each in nodes]),
        gains=gains / unit,
        bias=tuple(parts),
        moves=Moves(
            groups=arms.groups,
            at=np.repeat(begins[:-1], np.diff(arms.groups)),
            idle=np.concatenate([each.idle for each in nodes]).astype(np.int16),
            idle_short=np.concatenate([each.idle_short for each in nodes]),
            ways=np.cumsum([0, *(len(way) for way in ways)]),
            goal=np.array([goal for way in ways for goal in way], dtype=np.int16),
            goal_short=np.array([short for way in ways for short in way.values()]),
        ),
    )


class _Nodes(NamedTuple):
    """The nodes of one kind of arm; ``ways`` are goals of a pull with their shortfall."""

    idle: IntArray
    idle_short: FloatArray
    ways: list[dict[int, float]]
    fresh: int


def _nodes(machine: ArmStates, price: float, gain: float, h: FloatArray, unit: float) -> _Nodes:
    """Return a machine's states as nodes, and those of an arm that has idled from wherever.

    After idling a rounds from the best start for what comes, an arm may be in any of several
    states; its node charges the least of their shortfalls, and a pull what its start then costs
    more. Once all starts have led round the machine's cycle of idling, the nodes repeat.
    """
    pull, idle = np.array(machine.on_pull), np.array(machine.on_idle)
    idle_short = gain + h - h[idle]
    pull_short = gain + h - (np.array(machine.pay) / unit - price) - h[pull]
    goes, shorts = idle.tolist(), idle_short.tolist()
    ways = [{int(goal): float(short)} for goal, short in zip(pull, pull_short, strict=True)]
    before, period = _idling(idle)
    n, owed = len(machine), dict.fromkeys(range(len(machine)), 0.0)
    past: list[dict[int, float]] = []
    while len(owed) > 1 and _place(owed, past) is None and len(past) < before + period:
        past.append(owed)
        ways.append(_least((int(pull[s]), owed[s] + float(pull_short[s])) for s in owed))
        after = _least((int(idle[s]), owed[s] + float(idle_short[s])) for s in owed)
        least = min(after.values())
        owed = {state: short - least for state, short in after.items()}
        goes.append(n + len(past))
        shorts.append(least)
    known, place = next(iter(owed)), _place(owed, past)
    if past:
        goes[-1] = known if len(owed) == 1 else n + (before if place is None else place)
    return _Nodes(np.array(goes), np.array(shorts), ways, n if past else known)


def _place(owed: dict[int, float], past: list[dict[int, float]]) -> int | None:
    """Return where ``past`` has the same states with the same numbers, up to rounding."""
    for place, other in enumerate(past):
        if owed.keys() == other.keys() and all(abs(owed[s] - other[s]) < SAME for s in owed):
            return place
    return None


def _least(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Return the least number of each key."""
    least: dict[int, float] = {}
    for key, number in pairs:
        least[key] = min(number, least.get(key, math.inf))
    return least


def _idling(idle: IntArray) -> tuple[int, int]:
    """Return after how many rounds every state is on the cycle of idling, and its length."""
    here, before = np.unique(idle), 1
    if len(here) == len(idle):
        return 0, len(idle)
    while len(np.unique(idle[here])) < len(here):
        here, before = np.unique(idle[here]), before + 1
    return before, len(here)


class Followed:
    """Joint states followed from ``origin`` as far as ``limits`` go, at most ``room`` of them.

    ``cycle`` is a state on a cycle that lowers its own debt, or None.
    """

    def __init__(self, short: Shortfalls, origin: NDArray[np.int16], limits: Limits) -> None:
        from lastswitch.planning.mean_cycle import index_states
        from lastswitch.planning.shortfall_kernel import Labels

        self.short, self.limits = short, limits
        self.cycle: int | None = None
        room = 1024
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

    def run(self, most: int, clock: Clock) -> bool:
        """Follow until nothing is left or a cycle is found (True), or beyond ``most`` states.

        Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
        """
        from lastswitch.planning.shortfall_kernel import DONE, FULL, spread

        slice_ = max(1, SLICE // len(self.short.moves.at))
        while True:
            clock.check()
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
        """Double the room."""
        from lastswitch.planning.mean_cycle import index_states

        old, (count, head, _, _) = self.labels, self.cursor.tolist()
        room = len(old.debt)
        parts = {
            name: with_room(getattr(old, name), room)
            for name in ("states", "debt", "parent", "node", "queued")
        }
        self.cursor[1] = 0
        queue = with_room(np.roll(old.queue, -head), room)
        self.labels = old._replace(**parts, queue=queue, table=empty_index(2 * room))
        index_states(self.labels.table, self.labels.states, count)

    @property
    def deepest(self) -> float:
        """How far below 0 any debt is."""
        return float(-self.labels.debt[: len(self)].min())

    def block(self) -> tuple[int, ...]:
        """Return the arms of the cycle found."""
        short, labels, state = self.short, self.labels, self.cycle
        played = []
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
        arms = self.short.play(self.labels.node[states[-2::-1]])
        ends = ((length, int(np.argmin(debt[length:] - debt[:-length]))) for length in
                range(1, min(len(arms), LONGEST_TURN) + 1))
        return [tuple(arms[begin : begin + length]) for length, begin in ends]


def search_average(bandit: Bandit, short: Shortfalls, limit: int, clock: Clock) -> Average:
    """Return the best cycle found with at most ``limit`` joint states, and a bound on all.

    Out of time, or on Ctrl-C, what is known by then.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch.planning.frequency import frequencies
    >>> from lastswitch.planning.joint_states import group_arms
    >>> bandit = ls.instances.pinwheel([2, 3, 5])
    >>> short = shortfalls(group_arms(bandit), frequencies(bandit.curves))
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
        followed = Followed(short, _anywhere(short), _negative(short, target))
        if not followed.run(most, clock):
            return self.improved(followed.turns()) or None
        if followed.cycle is None:
            bound = min(found.bound, target + self.margin)
            self.found = found._replace(
                bound=bound, deepest=followed.deepest * short.unit, states=len(followed)
            )
        elif not self.improved([followed.block()]):
            return None  # better by rounding only
        clock.tell(self.found.mean, self.found.bound)
        return followed.cycle is not None

    def improved(self, blocks: list[tuple[int, ...]]) -> bool:
        """Take the best of these cycles if it is the best so far; tell whether it is."""
        best = max(blocks, key=lambda block: _mean(self.bandit, block))
        mean = _mean(self.bandit, best)
        if mean <= self.found.mean:
            return False
        self.found = self.found._replace(block=best, mean=mean)
        return True


def _anywhere(short: Shortfalls) -> NDArray[np.int16]:
    """Return the joint state in which nothing is known of any arm."""
    return np.repeat(short.fresh, np.diff(short.arms.groups)).astype(np.int16)


def _negative(short: Shortfalls, target: float) -> Limits:
    """Return what follows negative debts, for cycles that average more than ``target``."""
    from lastswitch.planning.shortfall_kernel import EPSILON, Limits

    nothing = np.empty((0, 0)), np.empty(0)
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
