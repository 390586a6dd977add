"""Large neighbourhoods: better schedules by planning a part of one anew.

In a problem of arms alone a few arms keep their rounds, and share them out again: everyone else's
rounds are rounds in which these arms idle, so the part is a small problem of the same kind. With
shared automata everything outside the part stays as it is: an arm whose play stays may not idle
there, and one that stays silent may not be pulled; automata hear all as ever. Either is solved by
prices, deletions and one narrow beam, whose floor is what the part is worth now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit, whole
from lastswitch._utils.random import stream
from lastswitch.planning.diagrams.diagram import (
    Diagram,
    Model,
    StateArray,
    as_it_comes,
    joined,
)
from lastswitch.planning.diagrams.minimise import minimal
from lastswitch.planning.diagrams.sharing import Sharing
from lastswitch.planning.search.bundle import Bundle
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.relaxation import Relaxation, single_arms

if TYPE_CHECKING:
    from lastswitch.planning.playing import RoundsPlayed

Schedule: TypeAlias = "IntArray | RoundsPlayed"

#: What a try costs in states swept, besides the work it counts; and with shared automata.
TRY_WORK, SHARED_TRY_WORK = 60_000, 200_000


class Part(NamedTuple):
    """Arms on the rounds they hold, as a problem of their own, and what they earn there now.

    With shared automata these are all arms and all rounds.
    """

    arms: IntArray
    rounds: IntArray
    model: Model
    earned: float


class Neighbourhoods:
    """Choices of what to plan anew around a schedule, one after the other.

    Parameters
    ----------
    model
        All arms, and the automata they share.
    params
        The constants of the search.
    """

    def __init__(self, model: Model, params: SearchParams = DEFAULT) -> None:
        self.model, self.params = model, params
        self._rng = stream(0, "neighbourhoods")
        self._turn = 0
        self._plays, self._arms = params.free_rounds, params.free_arms
        self.patience = params.free_tries * model.n_arms
        n = len(model.arms.idle)
        room = min(n, params.free_states)
        self._origin, self._label = np.empty(room, np.int32), np.zeros(n, np.int32)
        self._tables = (np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room))
        self._automata: Diagram | None = None
        self._sharing: Sharing | None = None
        self.try_work = TRY_WORK
        if model.shared is not None:
            self.try_work = SHARED_TRY_WORK
            self._sharing = model.shared.sharing(model.length)
            if len(model.shared):
                self._automata = minimal(model.shared.diagram)

    def widen(self) -> None:
        """Choose more from here on, and try more often."""
        more = self.params.free_more
        self._plays, self._arms = int(more * self._plays), int(more * self._arms)
        self.patience *= 2

    def improved(
        self, schedule: Schedule, price: FloatArray, usage: FloatArray, rounding: float
    ) -> tuple[Schedule | None, int]:
        """Try one neighbourhood; return a better schedule, if there is one, and the work it took.

        ``usage`` is how much of each round each arm wants; improvements up to ``rounding`` are
        none.
        """
        part = self._freed(schedule, usage)
        if part is None:
            return None, len(self._origin)
        return self._filled(schedule, part, price, part.earned + rounding, rounding)

    def perturbed(
        self, schedule: Schedule, price: FloatArray, usage: FloatArray, rounding: float
    ) -> tuple[Schedule | None, int]:
        """Return another schedule, if there is one nearly as good, and the work it took.

        It is the best of a neighbourhood in which a few plays must not stay.
        """
        few = int(self._rng.integers(1, self.params.perturbed_plays + 1))
        part = self._freed(schedule, usage, few)
        if part is None:
            return None, len(self._origin)
        floor = part.earned - self.params.perturbed_loss * abs(part.earned)
        return self._filled(schedule, part, price, floor, rounding)

    def _filled(
        self, schedule: Schedule, part: Part, price: FloatArray, floor: float, rounding: float
    ) -> tuple[Schedule | None, int]:
        """Return the schedule with a part of it filled again, if that is worth over ``floor``."""
        steps, width = self.params.free_steps, self.params.free_width
        arms, rounds, model, _ = part
        whole_, sharing = model.arms, self._sharing
        if self._automata is not None:
            whole_ = joined(whole_, self._automata)
        diagram = minimal(whole_)
        if diagram is None:
            return None, len(model.arms.idle)
        work = steps * diagram.size
        if sharing is None:
            price, machines = price[rounds], single_arms(arms.tolist())
        else:
            assert model.shared is not None
            machines = model.shared.machines()
        prices = Bundle(diagram, price, params=self.params, sharing=sharing)
        prices.descend(floor, steps)
        if prices.bound <= floor:
            return None, work
        relaxation = Relaxation(prices, machines, model.alike)
        if sharing is not None:
            diagram = relaxation.reduced(floor, None, None)
            if diagram is None:
                return None, work
            relaxation.exchange(diagram)
        beam = relaxation.beam(width, rounding)
        beam.run(floor, 1 << 60)
        work += beam.work
        value, node = beam.best()
        if value <= floor:
            return None, work
        found = relaxation.schedule(beam, node)
        if sharing is None:
            assert isinstance(schedule, np.ndarray)
            other = schedule.copy()
            other[rounds] = found
            return other, work
        return found, work

    def _chosen(self, plays: BoolArray, usage: FloatArray) -> BoolArray:
        """Return which arms are planned anew in which rounds.

        In turn: arms around a round, arms whose usage and plays differ, any arms; as many as hold
        the wanted number of plays, and two that hold none. With shared automata also all arms in
        some rounds side by side.
        """
        d, n_arms = plays.shape
        held, total = plays.sum(axis=0), int(plays.sum())
        holds = held.tolist()
        self._turn += 1
        kinds = 3 if self._sharing is None else 4
        kind, shares = self._turn % kinds, self.params.free_shares
        share = shares[self._turn // kinds % len(shares)]
        most = max(2, min(self._plays, int(total * share)))
        free = np.zeros((d, n_arms), np.bool_)
        if kind == 3:
            size = min(d, max(2, int(d * min(share, self._plays / max(1, total)))))
            begin = int(self._rng.integers(d - size + 1))
            free[begin : begin + size] = True
            return free
        if kind == 0:
            order = self._rng.permutation(n_arms).tolist()
        elif kind == 1:
            away = np.abs(np.arange(d) - self._rng.integers(d))[:, None] + np.where(plays, 0, d)
            order = np.argsort(away.min(axis=0), kind="stable").tolist()
        else:
            unlike = np.abs(usage - plays.T).sum(axis=1)
            order = np.argsort(-unlike * self._rng.random(n_arms), kind="stable").tolist()
        chosen: list[int] = []
        freed = 0
        for arm in order:
            if 0 < holds[arm] <= most - freed and len(chosen) < self._arms:
                chosen.append(arm)
                freed += holds[arm]
        others = np.flatnonzero(held == 0)
        if len(others):
            want = usage[others].sum(axis=1) + 0.1 * self._rng.random(len(others))
            chosen += others[np.argsort(-want)[:2]].tolist()
        free[:, chosen] = True
        return free

    def _freed(self, schedule: Schedule, usage: FloatArray, barred: int = 0) -> Part | None:
        """Return a part of a schedule, in which so many plays may not stay.

        None if that is nothing, or too much.
        """
        plays = played(schedule, self.model.n_arms)
        free = self._chosen(plays, usage)
        if self.model.shared is None:
            assert isinstance(schedule, np.ndarray)
            part = self.held(schedule, np.flatnonzero(free[0]))
            if part is None:
                return None
            for number in self._rng.permutation(len(part.rounds))[:barred].tolist():
                bar(
                    part.model.arms,
                    int((part.arms == schedule[part.rounds[number]]).argmax()),
                    number,
                )
            return part
        moves = np.stack([free | ~plays, free | plays])
        if barred:
            rounds, arms = np.nonzero(free & plays)
            if len(rounds) == 0:
                return None
            few = self._rng.permutation(len(rounds))[:barred]
            moves[1, rounds[few], arms[few]] = False
        arms_left = self.loosened(moves)
        if arms_left is None:
            return None
        everyone, always = np.arange(self.model.n_arms), np.arange(self.model.length)
        model = self.model._replace(arms=arms_left, alike=everyone)
        return Part(everyone, always, model, self.model.value(schedule))

    def held(self, block: IntArray, arms: IntArray) -> Part | None:
        """Return some arms on the rounds they hold in a block."""
        taken = np.zeros(self.model.n_arms, np.bool_)
        taken[arms] = True
        rounds = np.flatnonzero(taken[block])
        if len(arms) < 2 or len(rounds) < 2:
            return None
        # Symmetric arms next to each other, as the beam wants them.
        arms = arms[np.argsort(self.model.alike[arms], kind="stable")]
        a, (idle, pull, pay) = self.model.arms, self._tables
        offset, root = np.zeros(len(rounds) + 2, np.int64), np.empty(len(arms), np.int32)
        earned = free(
            *(a.lo, a.idle, a.nxt, a.gain, a.final, a.root, block, arms, rounds),
            *(offset, idle, pull, pay, root, self._origin, self._label),
        )
        if np.isnan(earned):
            return None
        n, end = int(offset[-1]), int(offset[-2])
        part = as_it_comes(offset, idle[:n], pull[:n], pay[:n], pay[end:n].copy(), root)
        return Part(arms, rounds, Model(part, self.model.alike[arms]), earned)

    def loosened(self, moves: BoolArray) -> Diagram | None:
        """Return the arms with the moves they may make: table (idle or pull, round, arm).

        None if there are too many states.
        """
        a, shared = self.model.arms, self.model.shared
        assert shared is not None
        offset, root = np.zeros(a.length + 2, np.int64), np.empty(len(a.root), np.int32)
        idle, pull, _ = self._tables
        room = offset, idle, pull, root, self._origin, self._label
        count = loosen(a.idle, a.nxt, a.root, shared.owner, moves, *room)
        if count < 0:
            return None
        states = self._origin[:count]
        final = a.final[states[offset[-2] :] - a.lo[-1]]
        return as_it_comes(
            *(offset, idle[:count], pull[:count], a.gain[states], final, root, a.label[states])
        )


def played(schedule: Schedule, n_arms: int) -> BoolArray:
    """Return which round plays which arm.

    Examples
    --------
    >>> played(((0,), (), (0, 1)), 2).tolist()
    [[True, False], [False, False], [True, True]]
    """
    if isinstance(schedule, np.ndarray):
        plays: BoolArray = schedule[:, None] == np.arange(n_arms)
        return plays
    plays = np.zeros((len(schedule), n_arms), np.bool_)
    for t, arms in enumerate(schedule):
        plays[t, list(arms)] = True
    return plays


def bar(diagram: Diagram, arm: int, round_: int) -> None:
    """Forbid an arm to be pulled in a round, whatever it did before."""
    states = diagram.root[arm : arm + 1]
    for _ in range(round_):
        states = np.unique(np.concatenate([diagram.idle[states], diagram.nxt[states]]))
        states = states[states >= 0]
    diagram.nxt[states] = -1


@jit
def free(
    old_lo: IntArray,
    old_idle: StateArray,
    old_pull: StateArray,
    old_pay: FloatArray,
    final: FloatArray,
    old_root: StateArray,
    block: IntArray,
    arms: IntArray,
    rounds: IntArray,
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    root: StateArray,
    origin: StateArray,
    label: StateArray,
) -> float:
    """Write the arms' automata on the free rounds; return what they earn in ``block``.

    NaN if there is no room. At the end ``pay`` holds what the last states are worth.
    """
    d, n_rounds = len(block), len(rounds)
    earned = 0.0
    for k in range(len(arms)):
        s = old_root[arms[k]]
        for t in range(d):
            if block[t] == arms[k]:
                earned += old_pay[s]
                s = old_pull[s]
            else:
                s = old_idle[s]
        earned += final[s - old_lo[d]]
    none = count = whole(0)
    for k in range(len(arms)):
        s = rested(old_idle, old_root[arms[k]], none, rounds[0])
        root[k] = number(origin, label, s, none, count)
        if root[k] == len(origin):
            return np.nan
        count += root[k] == count
    offset[0], offset[1] = 0, count
    for j in range(n_rounds):
        until = rounds[j + 1] if j + 1 < n_rounds else d
        begin = count
        for x in range(offset[j], offset[j + 1]):
            s = origin[x]
            pay[x] = old_pay[s]
            after = rested(old_idle, old_idle[s], rounds[j] + 1, until)
            idle[x] = number(origin, label, after, begin, count)
            count += idle[x] == count
            after = rested(old_idle, old_pull[s], rounds[j] + 1, until)
            pull[x] = number(origin, label, after, begin, count)
            count += pull[x] == count
            if count > len(origin):
                return np.nan
        offset[j + 2] = count
    for x in range(offset[n_rounds], count):
        idle[x], pull[x], pay[x] = -1, -1, final[origin[x] - old_lo[d]]
    return earned


@jit(inner=True)
def rested(idle: StateArray, s: int, t: int, until: int) -> int:
    """Return the state after idling from round ``t`` to ``until``; -1 if that is not allowed."""
    while t < until and s >= 0:
        s = idle[s]
        t += 1
    return s


@jit(inner=True)
def number(origin: StateArray, label: StateArray, s: int, begin: int, count: int) -> int:
    """Return the new number of state ``s`` in the round that begins at ``begin``: -1 for -1.

    A label counts only if the state it names agrees, so labels need no clearing. Without room for
    another state the number is one too large.
    """
    if s < 0:
        return -1
    x = label[s]
    if begin <= x < count and origin[x] == s:
        found: int = whole(x)
        return found
    if count < len(origin):
        origin[count], label[s] = s, count
    return count


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
    none = count = whole(0)
    for i in range(len(old_root)):
        root[i] = number(origin, label, whole(old_root[i]), none, count)
        count += root[i] == count
        if count > room:
            return -1
    offset[0], offset[1] = 0, count
    for t in range(d):
        begin = count
        for x in range(offset[t], offset[t + 1]):
            s = origin[x]
            i = owner[s]
            after = whole(old_idle[s] if moves[0, t, i] else -1)
            idle[x] = number(origin, label, after, begin, count)
            count += idle[x] == count
            if count > room:
                return -1
            after = whole(old_pull[s] if moves[1, t, i] else -1)
            pull[x] = number(origin, label, after, begin, count)
            count += pull[x] == count
            if count > room:
                return -1
        offset[t + 2] = count
    for x in range(offset[d], count):
        idle[x], pull[x] = -1, -1
    return int(count)
