"""Better schedules by planning a part anew: some arms in all rounds, or all arms in some rounds.

Everything else stays as it is, which leaves small machines: an arm whose play stays may not idle
there, and one that stays silent may not be pulled. Monitors hear all as ever. What is left is
solved by prices, deletions and one narrow beam, whose floor is the schedule there is.
"""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import BoolArray, FloatArray, IntArray
from lastswitch._kernels import jit
from lastswitch._random import stream
from lastswitch.planning.automata import Automata, StateArray
from lastswitch.planning.machines import Machines, as_machines, minimal
from lastswitch.planning.neighbourhood import number
from lastswitch.planning.ruled.beam import Beam
from lastswitch.planning.ruled.bundle import Bundle
from lastswitch.planning.ruled.compiled import Compiled
from lastswitch.planning.ruled.fixing import fixed
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.prices import Heard

#: Plays to free at a time, at most and as shares of all; steps, and the width of the beam.
PLAYS, SHARES, STEPS, WIDTH = 30, (0.3, 0.5, 0.7), 25, 50
#: Tries in vain, for each arm, after which it is enough.
TRIES = 2
#: What a try, and a move of the beam, cost in states swept.
TRY_WORK, MOVE_WORK = 200_000, 8
#: How many more plays are freed at a time where it was in vain.
MORE = 1.25
#: States that the arms may have to be planned anew.
MOST_STATES = 1_000_000


class Neighbourhoods:
    """Choices of what to plan anew around a schedule, one after the other.

    Parameters
    ----------
    problem
        Arms and monitors.
    """

    def __init__(self, problem: Compiled) -> None:
        self.problem = problem
        self._rng = stream(0, "ruled neighbourhoods")
        self._turn, self._plays = 0, PLAYS
        self.patience = TRIES * problem.n_arms
        self.work = 0  # states swept and moves looked at so far
        n = len(problem.automata.idle)
        room = min(n, MOST_STATES)
        self._label, self._origin = np.zeros(n, np.int32), np.empty(room, np.int32)
        self._idle, self._pull = np.empty(room, np.int32), np.empty(room, np.int32)

    def widen(self) -> None:
        """Free more plays at a time from here on, and try more often."""
        self._plays = int(MORE * self._plays)
        self.patience *= 2

    def improved(
        self, rounds: RoundsPlayed, heard: Heard, price: FloatArray, floor: float, rounding: float
    ) -> RoundsPlayed | None:
        """Try one neighbourhood; return a schedule worth more than ``floor`` if one is found."""
        plays = played(rounds, self.problem.n_arms)
        machines = self.freed(plays, self._chosen(plays))
        self.work += TRY_WORK
        if machines is None:
            return None
        self.work += STEPS * (machines.size + heard.after.size)
        prices = Bundle(machines, heard, price)
        prices.descend(floor, STEPS)
        if prices.bound <= floor:
            return None
        left = fixed(prices, floor)
        if left is None:
            return None
        prices = Bundle(*left, prices.price)
        beam = Beam(prices, np.arange(self.problem.n_arms), WIDTH, rounding)
        beam.run(floor, 1 << 60)
        self.work += MOVE_WORK * beam.spent
        value, node = beam.best()
        return beam.rounds(node) if value > floor else None

    def _chosen(self, plays: BoolArray) -> BoolArray:
        """Return which arms are planned anew in which rounds."""
        d, n_arms = plays.shape
        self._turn += 1
        share = SHARES[self._turn // 3 % len(SHARES)]
        free = np.zeros((d, n_arms), np.bool_)
        if self._turn % 3 == 0:  # rounds side by side
            size = min(d, max(2, int(d * min(share, self._plays / max(1, plays.sum())))))
            begin = int(self._rng.integers(d - size + 1))
            free[begin : begin + size] = True
            return free
        held = plays.sum(axis=0)
        order = self._rng.permutation(n_arms)
        if self._turn % 3 == 1:  # those around a round first
            away = np.abs(np.arange(d) - self._rng.integers(d))[:, None] + np.where(plays, 0, d)
            order = np.argsort(away.min(axis=0), kind="stable")
        most = max(2, min(self._plays, share * held.sum()))
        order = order[np.cumsum(held[order]) <= most]
        idle = np.flatnonzero(held == 0)
        free[:, order] = True
        free[:, self._rng.permutation(idle)[:2]] = True
        return free

    def freed(self, plays: BoolArray, free: BoolArray) -> Machines | None:
        """Return the arms as machines, free to differ from ``plays`` only where they may.

        Both are tables (rounds, arms). None if there are too many states.
        """
        a, owner = self.problem.automata, self.problem.owner
        offset, root = np.zeros(a.length + 2, np.int64), np.empty(a.n_arms, np.int32)
        moves = np.stack([free | ~plays, free | plays])
        room = offset, self._idle, self._pull, root, self._origin, self._label
        count = loosen(a.idle, a.pull, a.root, owner, moves, *room)
        if count < 0:
            return None
        states = self._origin[:count]
        part = Automata(
            offset=offset,
            idle=self._idle[:count],
            pull=self._pull[:count],
            pay=a.pay[states],
            final=a.final[states[offset[-2] :] - a.offset[-2]],
            root=root,
            twins=np.arange(a.n_arms),
        )
        who = self.problem.kinds[owner[states]].astype(np.int32)
        return minimal(as_machines(part)._replace(who=who))


def played(rounds: RoundsPlayed, n_arms: int) -> BoolArray:
    """Return which round plays which arm.

    Examples
    --------
    >>> played(((0,), (), (0, 1)), 2).tolist()
    [[True, False], [False, False], [True, True]]
    """
    plays = np.zeros((len(rounds), n_arms), np.bool_)
    for t, arms in enumerate(rounds):
        plays[t, list(arms)] = True
    return plays


@jit
def loosen(
    old_idle: StateArray,
    old_pull: StateArray,
    old_root: StateArray,
    owner: StateArray,
    moves: BoolArray,
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    root: StateArray,
    origin: StateArray,
    label: StateArray,
) -> int:
    """List the states that moves of their rounds and arms lead to; return how many, -1: no room."""
    d, room = moves.shape[1], len(origin)
    count = 0
    for i in range(len(old_root)):
        root[i] = number(origin, label, old_root[i], 0, count)
        count = max(count, root[i] + 1)
        if count > room:
            return -1
    offset[0], offset[1] = 0, count
    for t in range(d):
        begin = count
        for x in range(offset[t], offset[t + 1]):
            s = origin[x]
            i = owner[s]
            idle[x] = number(origin, label, old_idle[s] if moves[0, t, i] else -1, begin, count)
            count = max(count, idle[x] + 1)
            if count > room:
                return -1
            pull[x] = number(origin, label, old_pull[s] if moves[1, t, i] else -1, begin, count)
            count = max(count, pull[x] + 1)
            if count > room:
                return -1
        offset[t + 2] = count
    for x in range(offset[d], count):
        idle[x], pull[x] = -1, -1
    return int(count)
