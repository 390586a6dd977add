r"""The search for a good cycle: a few of its arms are planned anew, again and again.

Where arms pay at one moment only, a cycle that no change of one place improves may be far from
good: to play an arm every fourth round instead of every sixth, all its plays have to move at once.
So some arms lose their plays, and one after the other takes the places that suit it best of those
that are free, at a price per play drawn anew each time; a dynamic program finds them. What is free
then goes to whoever adds most, and single places are changed as long as that pays. What comes of it
is kept unless it pays less. Such tries begin from nothing at every length up to a few dozen, and
go on where they have led furthest.

Cells are those of :mod:`lastswitch.learning.rotation_price`.
"""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit
from lastswitch.learning.rotation_cycle import cycle_pay

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


@jit(inner=True)
def _rested(row: FloatArray, streaks: int, depth: int, gap: int) -> float:
    """Return what an arm pays that was played ``gap`` rounds ago; right after a single play."""
    return float(row[0] if gap == 1 else row[streaks + min(gap - 1, depth) - 1])


@jit(inner=True)
def _run(row: FloatArray, streaks: int, first: int, plays: int) -> float:
    """Return what so many repeats pay, from the one after ``first`` others on."""
    total = 0.0
    for repeat in range(first, first + plays):
        total += row[min(repeat, streaks - 1)]
    return total


@jit
def added(
    row: FloatArray,
    streaks: int,
    depth: int,
    length: int,
    back: int,
    ahead: int,
    left: int,
    right: int,
) -> float:
    """Return how much more an arm earns in a turn of a cycle for one play more.

    It was played ``back`` rounds before and ``ahead`` rounds after, ``length`` if nowhere else;
    right before on end ``left`` times, and right after ``right`` times.
    """
    if left + right + 1 >= length:  # nobody else is played
        alone = length * row[streaks - 1]
        if length == 1:
            return float(alone)
        return float(alone - _rested(row, streaks, depth, 2) - _run(row, streaks, 0, length - 2))
    if back >= length:
        return _rested(row, streaks, depth, length)
    total = row[min(left, streaks) - 1] if left > 0 else _rested(row, streaks, depth, back)
    before = 1 if left > 0 else back
    if right > 0:
        total += _run(row, streaks, left, right) - _run(row, streaks, 0, right - 1)
        total -= _rested(row, streaks, depth, before + 1)
    else:
        total += _rested(row, streaks, depth, ahead)
        total -= _rested(row, streaks, depth, before + ahead)
    return float(total)


@jit(inner=True)
def _beside(place: int, step: int, length: int) -> int:
    """Return the place before (a step of -1) or after (1) another in a cycle."""
    place += step
    if place == length:
        return 0
    return place if place >= 0 else length - 1


@jit(inner=True)
def _gaps(cycle: IntArray, at: int, step: int, gaps: IntArray) -> None:
    """Fill in how far from ``at`` each arm is next played in that direction, once round if not."""
    length, place, left = cycle.size, at, gaps.size
    gaps[:] = length
    for gap in range(1, length):
        place = _beside(place, step, length)
        arm = cycle[place]
        if arm != _FREE and gaps[arm] == length:
            gaps[arm] = gap
            left -= 1
            if left == 0:
                break


@jit(inner=True)
def _on_end(cycle: IntArray, at: int, step: int, arm: int) -> int:
    """Return how often on end ``arm`` is played next to ``at`` in that direction."""
    length, place, plays = cycle.size, at, 0
    while plays < length - 1:
        place = _beside(place, step, length)
        if cycle[place] != arm:
            break
        plays += 1
    return plays


@jit
def fill_in(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    cycle: IntArray,
    back: IntArray,
    ahead: IntArray,
) -> None:
    """Give free places of ``cycle`` to whoever adds most, and change single places while it pays.

    ``back`` and ``ahead`` are room for one number per arm.
    """
    length, at, since = cycle.size, 0, 0
    while since < length:
        at = at + 1 if at + 1 < length else 0
        since += 1
        _gaps(cycle, at, -1, back)
        _gaps(cycle, at, 1, ahead)
        was, chosen, best = cycle[at], max(cycle[at], 0), -np.inf
        for arm in range(values.shape[0]):
            left = _on_end(cycle, at, -1, arm) if back[arm] == 1 else 0
            right = _on_end(cycle, at, 1, arm) if ahead[arm] == 1 else 0
            gaps = length, back[arm], ahead[arm], left, right
            more = added(values[arm], streaks, depths[arm], *gaps) + _EQUAL * (arm == was)
            if more > best:
                best, chosen = more, arm
        if chosen != was:
            cycle[at], since = chosen, 0


@jit
def respond(
    row: FloatArray,
    streaks: int,
    depth: int,
    price: float,
    cycle: IntArray,
    arm: int,
    first: int,
    best: FloatArray,
    origin: IntArray,
) -> float:
    """Let ``arm`` take the free places that suit it best, the one at ``first`` among them.

    A play costs the ``price``; if nothing is earned above that, none is taken. Repeats count as
    the first of them. ``best`` and ``origin`` are room for one number more than there are places.
    """
    length = cycle.size
    best[0] = 0.0
    for place in range(1, length + 1):
        best[place] = _FAR
        if cycle[(first + place) % length] != _FREE:
            continue
        for before in range(max(0, place - depth - 1), place):
            earned = best[before] + _rested(row, streaks, depth, place - before) - price
            if earned > best[place]:
                best[place], origin[place] = earned, before
    place = length if best[length] > 0.0 else 0
    while place > 0:
        place = origin[place]
        cycle[(first + place) % length] = arm
    return float(best[length])


@jit(makes_arrays=True)
def plan_anew(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    price: float,
    cycle: IntArray,
    tries: int,
    noise: FloatArray,
    drawn: int,
) -> tuple[float, int]:
    """Plan a few arms of ``cycle`` anew, so many times; return its pay, and what was ``drawn``.

    A cycle that is free all over is planned from nothing, at first. ``noise`` are uniform numbers,
    of which as many are drawn as are needed, in turn.
    """
    n_arms, length = values.shape[0], cycle.size
    last, run, back, ahead, order = np.empty((5, n_arms), np.int64)
    best, origin, trial = np.empty(length + 1), np.empty(length + 1, np.int64), cycle.copy()
    most = -1.0
    if cycle[0] != _FREE:
        most = cycle_pay(values, streaks, depths, cycle, last, run)
    order[:] = np.arange(n_arms)
    for _ in range(tries):
        trial[:] = cycle
        few = n_arms if most < 0.0 else min(n_arms, 1 + int(_ANEW * noise[drawn % noise.size]))
        cost = _DEAR * price * noise[(drawn + 1) % noise.size]
        drawn += 2
        for k in range(few):
            other = k + int((n_arms - k) * noise[(drawn + k) % noise.size])
            order[k], order[other] = order[other], order[k]
            for place in range(length):
                if trial[place] == order[k]:
                    trial[place] = _FREE
        drawn += few
        for arm in order[:few]:
            first = int(length * noise[drawn % noise.size])
            drawn += 1
            for _ in range(length):  # the next that is free
                if trial[first] == _FREE:
                    break
                first = first + 1 if first + 1 < length else 0
            if trial[first] == _FREE:
                table = values[arm], streaks, depths[arm]
                respond(*table, cost, trial, arm, first, best, origin)
        fill_in(values, streaks, depths, trial, back, ahead)
        pay = cycle_pay(values, streaks, depths, trial, last, run)
        if pay > most - _EQUAL:  # to move between cycles that are alike helps
            cycle[:], most = trial, pay
    return most, drawn


@jit(makes_arrays=True)
def improved(
    values: FloatArray, streaks: int, depths: IntArray, start: IntArray
) -> tuple[IntArray, float]:
    """Return a cycle no change of one place improves, from ``start``, and its pay.

    A change replaces an arm, leaves a place out or puts one in.
    """
    n_arms = values.shape[0]
    last, run = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
    room = np.empty(LONGEST + 1, np.int64)
    room[: start.size] = start
    length = start.size
    best = cycle_pay(values, streaks, depths, room[:length], last, run)
    at, since = 0, 0
    while since < length:  # until a turn has passed without a change
        at = at + 1 if at + 1 < length else 0
        since += 1
        was, chosen = room[at], room[at]
        for arm in range(n_arms):
            if arm == was:
                continue
            room[at] = arm
            pay = cycle_pay(values, streaks, depths, room[:length], last, run)
            if pay > best + _EQUAL:
                best, chosen, since = pay, arm, 0
        room[at] = chosen
        if length > 1:
            was = room[at]
            room[at : length - 1] = room[at + 1 : length].copy()
            pay = cycle_pay(values, streaks, depths, room[: length - 1], last, run)
            if pay > best + _EQUAL:
                best, since = pay, 0
                length -= 1
                at = min(at, length - 1)
                continue
            room[at + 1 : length] = room[at : length - 1].copy()
            room[at] = was
        if length < LONGEST:
            room[at + 1 : length + 1] = room[at:length].copy()
            chosen = -1
            for arm in range(n_arms):
                room[at] = arm
                pay = cycle_pay(values, streaks, depths, room[: length + 1], last, run)
                if pay > best + _EQUAL:
                    best, chosen, since = pay, arm, 0
            if chosen >= 0:
                room[at] = chosen
                length += 1
            else:
                room[at:length] = room[at + 1 : length + 1].copy()
    return room[:length].copy(), best


@jit(inner=True, makes_arrays=True)
def _best_of_length(values: FloatArray, streaks: int, depths: IntArray, length: int) -> IntArray:
    """Return the best of all cycles of ``length``."""
    n_arms = values.shape[0]
    last, run = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
    cycle = np.zeros(length, np.int64)
    best, most = cycle.copy(), -1.0
    for _ in range(n_arms**length):
        pay = cycle_pay(values, streaks, depths, cycle, last, run)
        if pay > most:
            best[:], most = cycle, pay
        place = 0  # count on
        while place < length and cycle[place] == n_arms - 1:
            cycle[place] = 0
            place += 1
        if place < length:
            cycle[place] += 1
    return best


@jit(makes_arrays=True)
def search_cycle(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    known: IntArray,
    plan: IntArray,
    price: float,
    bound: float,
    noise: FloatArray,
) -> tuple[IntArray, float]:
    """Return the best cycle found and its pay.

    The search starts from the cycle ``known``, from the end of ``plan`` that is best as a cycle,
    from the best cycle of each short length, and from nothing. It ends where the ``bound`` says
    that there is nothing better. ``price`` and ``noise`` are those of :func:`plan_anew`.
    """
    n_arms = values.shape[0]
    last, run = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
    found, pays = 1, -1.0
    for length in range(1, min(LONGEST, plan.size) + 1):
        pay = cycle_pay(values, streaks, depths, plan[plan.size - length :], last, run)
        if pay > pays + _EQUAL:
            found, pays = length, pay
    best, most = improved(values, streaks, depths, plan[plan.size - found :])
    if known.size > 0 and most < bound - CLOSED:
        other, pay = improved(values, streaks, depths, known)
        if pay > most + _EQUAL:
            best, most = other, pay
    for length in range(1, _SHORT + 1):
        if n_arms**length > _FEW or most >= bound - CLOSED:
            break
        top = _best_of_length(values, streaks, depths, length)
        other, pay = improved(values, streaks, depths, top)
        if pay > most + _EQUAL:
            best, most = other, pay
    if most < bound - CLOSED:
        other, pay = _anew(values, streaks, depths, best, price, noise)
        if pay > most + _EQUAL:
            best, most = other, pay
    return best, most


@jit(inner=True, makes_arrays=True)
def _anew(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    known: IntArray,
    price: float,
    noise: FloatArray,
) -> tuple[IntArray, float]:
    """Return the best of the cycles of all lengths, and of the one known, planned anew."""
    n_arms, drawn = values.shape[0], 0
    tries = max(1, min(n_arms, _TRIES // n_arms))
    cycles, pays = np.full((_LONG, LONGEST), _FREE), np.empty(_LONG)
    lengths = np.arange(1, _LONG + 1)
    lengths[0] = known.size  # in place of the shortest
    cycles[0, : known.size] = known
    table = values, streaks, depths, price
    for which in range(_LONG):
        cycle = cycles[which, : lengths[which]]
        pays[which], drawn = plan_anew(*table, cycle, tries, noise, drawn)
    best, most = known, -1.0
    for which in np.argsort(-pays)[:_KEPT]:
        cycle = cycles[which, : lengths[which]]
        pay, drawn = plan_anew(*table, cycle, _MORE * tries, noise, drawn)
        if pay > most:
            best, most = cycle, pay
    return improved(values, streaks, depths, best)
