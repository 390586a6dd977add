"""The kernels of the rotation learner as plain functions of tables, for tests."""

from functools import cache

import numba
import numpy as np

from lastswitch.learning.rotation import belief, cycle_search, levels, lookahead, price
from lastswitch.learning.rotation.cycle import Settled
from lastswitch.learning.rotation.cycle import enter as _enter
from lastswitch.learning.rotation.kinds import BEFOREHAND, KINDS, RATES, room_for


@cache
def reached(kernel):
    """Return a way from Python into a kernel that only other kernels call."""

    @numba.njit(_nrt=False, error_model="numpy")  # as kernels are
    def way_in(*given):
        return kernel(*given)

    return way_in


def scratch(values, rows=2):
    """Return room for some numbers per arm."""
    return np.empty((rows, len(values)), np.int64)


# What arms' states are worth.


def price_slots(values, streaks, depths, out):
    """Fill in potentials; return the price of a slot and the bound."""
    rests = np.empty(len(values), np.int64)
    return price.price_places(values, streaks, depths, 1.0, -1.0, out, rests)


def best_cycle(row, streaks, depth, at):
    """Return the gain, frequency, rest and run of an arm's best cycle at a price."""
    return reached(price.best_cycle)(row, streaks, depth, at)


def potentials(row, streaks, depth, at, out):
    """Fill in an arm's potentials at a price; return its gain."""
    gain, _, rest, _ = best_cycle(row, streaks, depth, at)
    reached(price.potentials)(row, streaks, depth, at, gain, rest, out)
    return gain


# Plans and cycles.


def look_ahead(values, worth, streaks, depths, start, allowed, width, cycle, plan):
    """Fill in the best plan found; return what it is worth."""
    moves = lookahead.Moves.of(streaks, np.asarray(depths), values.shape[1])
    outlook = lookahead.Outlook.of(moves, np.ascontiguousarray(values), worth)
    beam = lookahead.Beam(len(values), width, plan.size)
    turn = Settled.of(values, streaks, depths, cycle)
    tables = values, streaks, depths
    plan[:], found = beam.plan(tables, moves, outlook, start, allowed, turn, plan.size)
    return found


def enter(values, streaks, depths, cells, cycle):
    """Return what entering a cycle earns, and where."""
    settled = Settled.of(values, streaks, depths, cycle)
    return reached(_enter)(values, streaks, depths, cells, settled, *scratch(values))


def cycle_pay(values, streaks, depths, cycle):
    """Return what a round of a cycle pays, played for ever."""
    again, rested, _ = cycle_search.Pays.of(values, streaks, depths)
    kernel = reached(cycle_search.cycle_pay)
    return kernel(again, rested, cycle, cycle.size, *scratch(values))


def improved(values, streaks, depths, start):
    """Return a cycle no change of one place improves, and its pay."""
    return cycle_search.improved(cycle_search.Pays.of(values, streaks, depths), start)


def added(values, streaks, depths, arm, *places):
    """Return how much more an arm earns for one play more."""
    rows = (table[arm] for table in cycle_search.Pays.of(values, streaks, depths))
    return reached(cycle_search.added)(*rows, *places)


def fill_in(values, streaks, depths, cycle):
    """Give free places to whoever adds most."""
    pays = cycle_search.Pays.of(values, streaks, depths)
    reached(cycle_search.fill_in)(*pays, cycle, cycle.size, scratch(values))


def respond(values, streaks, depths, arm, at, cycle, first):
    """Let an arm take the free places that suit it best at a price; return what it earns."""
    rested = cycle_search.Pays.of(values, streaks, depths).rested[arm]
    room = np.empty(cycle.size + 1), np.empty(cycle.size + 1, np.int64)
    given = rested, int(depths[arm]), at, cycle, cycle.size, arm, first
    return reached(cycle_search.respond)(*given, *room)


def plan_anew(values, streaks, depths, at, cycle, tries, noise, drawn):
    """Plan a few arms of a cycle anew; return its pay, and what was drawn."""
    pays, found = cycle_search.Pays.of(values, streaks, depths), np.empty(1)
    cycles, row = np.zeros((1, cycle_search.LONGEST), np.int64), np.zeros(1, np.int64)
    cycles[0, : cycle.size] = cycle
    kept = cycles, np.array([cycle.size]), found
    room = cycle_search.Room.of(len(values))
    drawn = cycle_search.plan_anew(pays, depths, at, row, *kept, tries, noise, drawn, room)
    cycle[:] = cycles[0, : cycle.size]
    return found[0], drawn


# What is believed.


def laid_out(n, s):
    """Return the levels of what was seen by place, their widths, and how likely each made it."""
    room = room_for(n.size, 1, 4)
    room.by_place[:2] = n, s
    size = reached(levels.lay_out)(room, n.size, RATES)
    rows = room.by_level[[levels.LEVELS, levels.WIDTHS], :size]
    return *rows, room.likely[:, :size]


def believed(n, s, streaks, profit=1.0, kinds=BEFOREHAND, even=4):
    """Return the index and mean of each cell, how likely kinds are, and pays by place and level.

    ``kinds`` is how likely each is beforehand.
    """
    room, arms = room_for(n.size, streaks, even), 2
    counts, sums = np.zeros((2, arms, n.size))
    counts[0], sums[0] = n, s
    known = np.vstack([np.zeros(len(KINDS)), 1e300 * kinds])  # many votes, all alike
    values, means = np.ones((arms, n.size)), np.full(n.size, np.nan)
    again, depths = np.array([True, False]), np.full(arms, n.size - streaks)
    table = counts, sums, streaks, depths, even, profit, again, known
    belief.believe_arms(*table, values, means, room)
    return values[0], means, known[0], room.pays
