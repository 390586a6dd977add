r"""The search for a good cycle: a few of its arms are planned anew, again and again.

Where arms pay at one moment only, a cycle that no change of one place improves may be far from
good: to play an arm every fourth round instead of every sixth, all its plays have to move at once.
So some arms lose their plays, and one after the other takes the places that suit it best of those
that are free, at a price per play drawn anew each time; a dynamic program finds them. What is free
then goes to whoever adds most, and single places are changed as long as that pays. What comes of it
is kept unless it pays less. Such tries begin from nothing at every length up to a few dozen, and
go on where they have led furthest.

Cells are those of :mod:`lastswitch.learning.rotation.price`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit, whole

#: Cycles are at most so long; from nothing they are tried up to this length.
LONGEST, _LONG = 48, 24
#: All cycles of a length up to this are tried if they are so few.
_SHORT, _FEW = 4, 3_000
#: Tries per length are one for each arm, or fewer if with all arms they are more than this. With
#: so many of the cycles they led to, these times as many are made.
_TRIES, _KEPT, _MORE = 100, 4, 4
#: Arms that are planned anew at most.
_ANEW = 4
#: A play costs up to this share of the price of a slot.
_DEAR = 1.1
_EQUAL = 1e-9
#: A cycle that pays this close to a bound on all schedules need not be bettered.
CLOSED = 1e-4
_FREE = -1
_FAR = -1e18


class Pays(NamedTuple):
    """What arms pay in cycles."""

    #: By arm and repeat, from the first on; the last is of all later ones.
    again: FloatArray
    #: By arm and how many rounds ago it was played, once; of one round that is the first repeat.
    rested: FloatArray
    #: By arm: what so many repeats pay together.
    repeats: FloatArray

    @classmethod
    def of(cls, values: FloatArray, streaks: int, depths: IntArray) -> Pays:
        """Return the pays of optimistic values by (arm, cell)."""
        gaps = np.arange(LONGEST + 2)
        rested = values[:, [0, 0]]
        if len(gaps) > 2:
            cells = streaks - 1 + np.minimum(gaps[2:] - 1, depths[:, None])
            rested = np.hstack([rested, np.take_along_axis(values, cells, axis=1)])
        again = np.ascontiguousarray(values[:, :streaks])
        each = again[:, np.minimum(gaps[1:] - 1, streaks - 1)]
        repeats = np.hstack([np.zeros((len(values), 1)), np.cumsum(each, axis=1)])
        return cls(again, rested, repeats)


class Room(NamedTuple):
    """What cycles are planned in: five numbers per arm, and some per place."""

    by_arm: IntArray
    best: FloatArray
    places: IntArray

    @classmethod
    def of(cls, n_arms: int) -> Room:
        """Make room for so many arms."""
        best, places = np.empty(LONGEST + 1), np.empty((2, LONGEST + 1), np.int64)
        return cls(np.empty((5, n_arms), np.int64), best, places)


@jit(inner=True)
def cycle_pay(
    again: FloatArray,
    rested: FloatArray,
    cycle: IntArray,
    length: int,
    last: IntArray,
    run: IntArray,
) -> float:
    """Return what a round pays of the first ``length`` places of ``cycle``, played for ever.

    ``last`` and ``run`` are room for one number per arm.
    """
    streaks, total = again.shape[1], 0.0
    for t in range(length):
        last[cycle[t]] = -length
    last[cycle[length - 1]], run[cycle[length - 1]] = -1, streaks  # right if it is alone
    for turn in range(2):
        for place in range(length):
            arm = cycle[place]
            gap = turn * length + place - last[arm]
            if gap > 1:
                total += rested[arm, gap] if turn == 1 else 0.0
                run[arm] = 1
            else:
                total += again[arm, run[arm] - 1] if turn == 1 else 0.0
                if run[arm] < streaks:
                    run[arm] += 1
            last[arm] = turn * length + place
    return float(total / length)


@jit(inner=True)
def added(
    again: FloatArray,
    rested: FloatArray,
    repeats: FloatArray,
    length: int,
    back: int,
    ahead: int,
    left: int,
    right: int,
) -> float:
    """Return how much more an arm, whose pays these are, earns in a turn for one play more.

    It was played ``back`` rounds before and ``ahead`` rounds after, ``length`` if nowhere else;
    right before on end ``left`` times, and right after ``right`` times.
    """
    streaks = again.size
    if left + right + 1 >= length:  # nobody else is played
        alone = length * again[streaks - 1]
        return float(alone if length == 1 else alone - rested[2] - repeats[length - 2])
    if back >= length:
        return float(rested[length])
    total, before = rested[back], back
    if left > 0:
        total, before = again[(left if left < streaks else streaks) - 1], 1
    if right > 0:
        total += (repeats[left + right] - repeats[left]) - repeats[right - 1]
        return float(total - rested[before + 1])
    return float(total + rested[ahead] - rested[before + ahead])


@jit(inner=True)
def fill_in(
    again: FloatArray,
    rested: FloatArray,
    repeats: FloatArray,
    cycle: IntArray,
    length: int,
    gaps: IntArray,
) -> None:
    """Give free places of ``cycle`` to whoever adds most, and change single places while it pays.

    ``gaps`` is room for two numbers per arm.
    """
    n_arms, at, since, left, right = again.shape[0], 0, 0, 0, 0
    while since < length:
        at = at + 1 if at + 1 < length else 0
        since += 1
        for side in range(2):  # how far each arm is played before and after, once round if not
            for arm in range(n_arms):
                gaps[side, arm] = length
            place, open_, on_end, run, neighbour = at, n_arms, True, 0, _FREE
            for gap in range(1, length):
                place += 2 * side - 1
                place = 0 if place == length else length - 1 if place < 0 else place
                arm = cycle[place]
                neighbour = arm if gap == 1 else neighbour
                on_end = on_end and arm == neighbour
                run += on_end
                if arm != _FREE and gaps[side, arm] == length:
                    gaps[side, arm] = gap
                    open_ -= 1
                if open_ == 0 and not on_end:
                    break
            left, right = (run, 0) if side == 0 else (left, run)
        was, chosen, best = cycle[at], 0, -np.inf
        for arm in range(n_arms):
            back, ahead = gaps[0, arm], gaps[1, arm]
            ends = left if back == 1 else 0, right if ahead == 1 else 0
            more = added(again[arm], rested[arm], repeats[arm], length, back, ahead, *ends)
            if arm == was:
                more += _EQUAL
            if more > best:
                best, chosen = more, arm
        if chosen != was:
            cycle[at], since = chosen, 0


@jit(inner=True)
def respond(
    rested: FloatArray,
    depth: int,
    price: float,
    cycle: IntArray,
    length: int,
    arm: int,
    first: int,
    best: FloatArray,
    origin: IntArray,
) -> float:
    """Let ``arm`` take the free places that suit it best, the one at ``first`` among them.

    A play costs the ``price``; if nothing is earned above that, none is taken. Repeats count as
    the first of them. ``best`` and ``origin`` are room for one number more than there are places.
    """
    best[0] = 0.0
    for place in range(1, length + 1):
        best[place] = _FAR
        if cycle[(first + place) % length] != _FREE:
            continue
        for gap in range(place if place <= depth else depth + 1, 0, -1):
            earned = best[place - gap] + rested[gap] - price
            if earned > best[place]:
                best[place], origin[place] = earned, place - gap
    place = length if best[length] > 0.0 else 0
    while place > 0:
        place = origin[place]
        cycle[(first + place) % length] = arm
    return float(best[length])


@jit
def plan_anew(
    pays: Pays,
    depths: IntArray,
    price: float,
    rows: IntArray,
    cycles: IntArray,
    lengths: IntArray,
    found: FloatArray,
    tries: int,
    noise: FloatArray,
    drawn: int,
    room: Room,
) -> int:
    """Plan a few arms of the cycles ``rows`` anew, so many times; return what was ``drawn``.

    ``cycles`` and what they pay, ``found``, are changed in place, by row. A cycle that is free all
    over is planned from nothing, at first. ``noise`` are uniform numbers, of which as many are
    drawn as are needed, in turn.
    """
    again, rested, repeats, n_arms = pays.again, pays.rested, pays.repeats, pays.again.shape[0]
    last, run, order, gaps = room.by_arm[0], room.by_arm[1], room.by_arm[2], room.by_arm[3:5]
    best, origin, trial = room.best, room.places[0], room.places[1]
    for which in range(rows.size):
        row = rows[which]
        cycle, length, most = cycles[row], lengths[row], -1.0
        if cycle[0] != _FREE:
            most = cycle_pay(again, rested, cycle, length, last, run)
        for arm in range(n_arms):
            order[arm] = arm
        for _ in range(tries):
            for place in range(length):
                trial[place] = cycle[place]
            few = n_arms
            if most >= 0.0:
                few = 1 + whole(_ANEW * noise[drawn % noise.size])
                few = few if few < n_arms else n_arms
            cost = _DEAR * price * noise[(drawn + 1) % noise.size]
            drawn += 2
            for k in range(few):
                other = k + whole((n_arms - k) * noise[(drawn + k) % noise.size])
                arm = order[other]
                order[k], order[other] = arm, order[k]
                for place in range(length):
                    if trial[place] == arm:
                        trial[place] = _FREE
            drawn += few
            for k in range(few):
                arm = order[k]
                first = whole(length * noise[drawn % noise.size])
                drawn += 1
                for _ in range(length):  # the next that is free
                    if trial[first] == _FREE:
                        break
                    first = first + 1 if first + 1 < length else 0
                if trial[first] == _FREE:
                    gap_pays, depth = rested[arm], depths[arm]
                    respond(gap_pays, depth, cost, trial, length, arm, first, best, origin)
            fill_in(again, rested, repeats, trial, length, gaps)
            pay = cycle_pay(again, rested, trial, length, last, run)
            if pay > most - _EQUAL:  # to move between cycles that are alike helps
                most = pay
                for place in range(length):
                    cycle[place] = trial[place]
        found[row] = most
    return drawn


@jit
def best_end(again: FloatArray, rested: FloatArray, plan: IntArray, room: IntArray) -> int:
    """Return how long the end of ``plan`` is that is best as a cycle.

    ``room`` is for two numbers per arm.
    """
    found, most = 1, -1.0
    for length in range(1, (plan.size if plan.size < LONGEST else LONGEST) + 1):
        end = plan[plan.size - length :]
        pay = cycle_pay(again, rested, end, length, room[0], room[1])
        if pay > most + _EQUAL:
            found, most = length, pay
    return found


@jit
def improve(
    again: FloatArray, rested: FloatArray, cycle: IntArray, length: int, room: IntArray
) -> tuple[int, float]:
    """Change single places of ``cycle`` while that pays; return its length and its pay.

    A change replaces an arm, leaves a place out or puts one in. ``cycle`` is one place longer than
    it may become; ``room`` is for two numbers per arm.
    """
    n_arms, last, run = again.shape[0], room[0], room[1]
    best = cycle_pay(again, rested, cycle, length, last, run)
    at, since = 0, 0
    while since < length:  # until a turn has passed without a change
        at = at + 1 if at + 1 < length else 0
        since += 1
        was, chosen = cycle[at], cycle[at]
        for arm in range(n_arms):
            if arm == was:
                continue
            cycle[at] = arm
            pay = cycle_pay(again, rested, cycle, length, last, run)
            if pay > best + _EQUAL:
                best, chosen, since = pay, arm, 0
        cycle[at] = chosen
        if length > 1:
            was = cycle[at]
            for place in range(at, length - 1):
                cycle[place] = cycle[place + 1]
            pay = cycle_pay(again, rested, cycle, length - 1, last, run)
            if pay > best + _EQUAL:
                best, since = pay, 0
                length -= 1
                at = at if at < length else length - 1
                continue
            for place in range(length - 1, at, -1):
                cycle[place] = cycle[place - 1]
            cycle[at] = was
        if length < LONGEST:
            for place in range(length, at, -1):
                cycle[place] = cycle[place - 1]
            chosen = _FREE
            for arm in range(n_arms):
                cycle[at] = arm
                pay = cycle_pay(again, rested, cycle, length + 1, last, run)
                if pay > best + _EQUAL:
                    best, chosen, since = pay, arm, 0
            if chosen >= 0:
                cycle[at] = chosen
                length += 1
            else:
                for place in range(at, length):
                    cycle[place] = cycle[place + 1]
    return length, best


@jit
def best_of_length(
    again: FloatArray,
    rested: FloatArray,
    length: int,
    cycle: IntArray,
    best: IntArray,
    room: IntArray,
) -> None:
    """Fill in ``best`` of all cycles of ``length``; ``cycle`` and ``room`` are room for trying."""
    n_arms, most, tried = again.shape[0], -1.0, 1
    for place in range(length):
        cycle[place] = 0
        tried *= n_arms
    for _ in range(tried):
        pay = cycle_pay(again, rested, cycle, length, room[0], room[1])
        if pay > most:
            most = pay
            for place in range(length):
                best[place] = cycle[place]
        place = 0  # count on
        while place < length and cycle[place] == n_arms - 1:
            cycle[place] = 0
            place += 1
        if place < length:
            cycle[place] += 1


def search_cycle(
    tables: tuple[FloatArray, int, IntArray],
    known: IntArray,
    plan: IntArray,
    price: float,
    bound: float,
    noise: FloatArray,
) -> tuple[IntArray, float]:
    """Return the best cycle found and its pay.

    The search starts from the cycle ``known``, from the end of ``plan`` that is best as a cycle,
    from the best cycle of each short length, and from nothing. It ends where the ``bound`` says
    that there is nothing better. ``tables`` are values, streaks and depths; ``price`` and ``noise``
    are those of :func:`plan_anew`.
    """
    pays, n_arms = Pays.of(*tables), len(tables[0])
    room = np.empty((2, n_arms), np.int64)
    best, most = improved(pays, plan[plan.size - best_end(*pays[:2], plan, room) :])

    def better(start: IntArray) -> tuple[IntArray, float]:
        other, pay = improved(pays, start)
        return (other, pay) if pay > most + _EQUAL else (best, most)

    if known.size > 0 and most < bound - CLOSED:
        best, most = better(known)
    for length in range(1, _SHORT + 1):
        if n_arms**length > _FEW or most >= bound - CLOSED:
            break
        top, trial = np.zeros((2, length), np.int64)
        best_of_length(*pays[:2], length, trial, top, room)
        best, most = better(top)
    if most < bound - CLOSED:
        best, most = better(_anew(pays, tables[2], best, price, noise))
    return best, most


def improved(pays: Pays, start: IntArray) -> tuple[IntArray, float]:
    """Return a cycle no change of one place improves, from ``start``, and its pay."""
    cycle, room = np.empty(LONGEST + 1, np.int64), np.empty((2, len(pays.again)), np.int64)
    cycle[: start.size] = start
    length, pay = improve(*pays[:2], cycle, start.size, room)
    return cycle[:length].copy(), pay


def _anew(
    pays: Pays, depths: IntArray, known: IntArray, price: float, noise: FloatArray
) -> IntArray:
    """Return the best of the cycles of all lengths, and of the one known, planned anew."""
    n_arms = len(depths)
    tries = max(1, min(n_arms, _TRIES // n_arms))
    cycles, found = np.full((_LONG, LONGEST), _FREE), np.empty(_LONG)
    lengths = np.arange(1, _LONG + 1)
    lengths[0] = known.size  # in place of the shortest
    cycles[0, : known.size] = known
    kept = cycles, lengths, found
    room = Room.of(n_arms)
    drawn = plan_anew(pays, depths, price, np.arange(_LONG), *kept, tries, noise, 0, room)
    rows = np.argsort(-found, kind="stable")[:_KEPT]
    plan_anew(pays, depths, price, rows, *kept, _MORE * tries, noise, drawn, room)
    row = rows[np.argmax(found[rows])]
    return cycles[row, : lengths[row]] if found[row] > -1.0 else known
