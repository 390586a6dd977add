r"""What an arm's states may pay by the kinds of curves there are, and what looking is worth.

**Posterior.** The pay of a state is known as far as :mod:`lastswitch.learning.rotation.kinds` says:
every kind of curve is weighed by how likely it makes all that was seen of the arm, so states share
what was seen of them in whatever way explains it. Changes are rarer beyond rest 4, or beyond 2 less
than the arms, which those that take turns have. Which kinds there are is learned from all arms:
beforehand each is as likely as the others' posteriors say, with as many votes as arms were seen
beside a few for how likely kinds are at all.

**Reservation index.** The value of a state is the :math:`U` at which paying :math:`U - m` for one
look, :math:`m` its mean, is just worth what the look may win,

.. math:: U - m = \frac{N}{1 + \kappa n} E[(\mu - U)_+].

:math:`N` is how many later plays would profit. A look teaches less the more was seen of the state
itself, which is what :math:`1 + \kappa n` says; that its neighbours are well known makes a look no
less telling, for what it tells is whether the state is like them. Pays are a distribution over
levels, so the right side is linear between two of them, and one walk down the levels finds the
solution.

The posterior alone would give up too soon on a state that is unlike its neighbours and was unlucky
when first seen. So with a small and fixed weight each state is also taken for itself. And short
rests, of which there are few, are worth 1 until they are seen; a longer one never seen is judged by
the others at once, because seeing each of many long rests costs many rounds.

Cells are those of :mod:`lastswitch.learning.rotation.price`.
"""

from __future__ import annotations

import math

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit, whole
from lastswitch.learning.rotation.kinds import (
    BEFOREHAND,
    CHAINS,
    IMPOSSIBLE,
    KINDS,
    RATES,
    backwards,
    forwards,
)
from lastswitch.learning.rotation.levels import LEVELS, WIDTHS, Room, lay_out
from lastswitch.learning.rotation.periods import log_periodic, pay_periodic

#: Changes are rarer, in proportion, beyond this rest, or beyond one that arms in turn have.
_EVEN_RESTS, _TURNS = 4, 2
#: Votes for the kinds as they are beforehand; every arm seen has one.
_ALIKE = 3.0
#: How fast a look teaches less as rewards accumulate (κ).
_TAUGHT = 0.23
#: The weight of a state taken for itself; it falls where changes do, on both of its sides.
_ALONE = 0.05
#: Kinds less likely than this are left out of what states pay.
_RARE = 5e-3
#: Rests up to this one are to be seen before they are judged.
_CURIOUS = 4
#: Later plays that profit from a look, per play so far and state seen.
PROFIT = 4.0


def even_rests(n_arms: int) -> int:
    """Return the rest beyond which changes become rarer."""
    return max(_EVEN_RESTS, n_arms - _TURNS)


@jit(inner=True)
def reservation(
    mean: float, wins: float, levels: FloatArray, shares: FloatArray, size: int
) -> float:
    """Return the U ≥ mean at which U - mean = wins · Σ shares (levels - U)₊.

    The levels rise. From the top, U is what it would be if only the levels so far were above it;
    once the next is not, it is right.
    """
    u, weight, paid = mean, 1.0, mean
    for k in range(size - 1, -1, -1):
        if levels[k] <= u:
            break
        weight += wins * shares[k]
        paid += wins * shares[k] * levels[k]
        u = paid / weight
    return u


def reservation_reference(
    mean: float, wins: float, levels: FloatArray, shares: FloatArray
) -> float:
    """Say what :func:`reservation` means, by bisection."""
    low, high = mean, 1.0
    for _ in range(60):
        u = 0.5 * (low + high)
        worth = wins * float(shares @ np.maximum(levels - u, 0.0)) > u - mean
        low, high = (u, high) if worth else (low, u)
    return low


@jit
def believe_arms(
    counts: FloatArray,
    sums: FloatArray,
    streaks: int,
    depths: IntArray,
    even: int,
    profit: float,
    again: BoolArray,
    kinds: FloatArray,
    values: FloatArray,
    means: FloatArray,
    room: Room,
) -> None:
    """Fill in the rows of the arms ``again``: the index of each cell, 1 where it is to be seen.

    Parameters
    ----------
    counts, sums
        Rewards and their sum by arm and cell.
    streaks, depths
        How many of the cells are streaks, and of each arm rests.
    even
        Changes become rarer beyond this rest.
    profit
        Later plays that would profit from a look at any one state; fewer do after a rest that is
        longer than arms in turn have, by as much as it is longer.
    again
        The arms whose rows are filled in.
    kinds
        How likely each kind is of each arm, nothing for an arm never seen; filled in too. What is
        there of the others is what is known beforehand.
    values, means
        What to fill in: the index, and the mean.
    room
        What the posterior of an arm is worked out in; of the last one it is left there.
    """
    arms, n, s = counts.shape[0], room.by_place[0], room.by_place[1]
    levels, widths = room.by_level[LEVELS], room.by_level[WIDTHS]
    likely, higher, pays, evidence = room.likely, room.higher, room.pays, room.evidence
    for arm in range(arms):
        if not again[arm]:
            continue
        places, own, seen = streaks + depths[arm], kinds[arm], False
        for place in range(places):  # of the axis; streaks are the other way round there
            cell = streaks - 1 - place if place < streaks else place
            count, paid = counts[arm, cell], sums[arm, cell]
            n[place], s[place] = count, 0.0 if paid < 0.0 else count if paid > count else paid
            seen |= count > 0.0
            values[arm, cell] = 1.0
        votes = 0.0
        for way in range(own.size):
            own[way] = 0.0
        for other in range(arms if seen else 0):
            for way in range(own.size):
                votes += kinds[other, way]
        for way in range(own.size if seen else 0):
            for other in range(arms):
                if other != arm:
                    own[way] += kinds[other, way]
            own[way] = (own[way] + _ALIKE * BEFOREHAND[way]) / (votes + _ALIKE)
        if not seen:
            continue
        size, found = lay_out(room, places, RATES), False
        last, most, total, kept = (
            0,
            -np.inf,
            0.0,
            0.0,
        )  # the last place seen: those behind tell nothing
        for place in range(places):
            last = place if n[place] > 0.0 else last
            for k in range(size):
                pays[place, k] = 0.0
        for way in range(own.size):
            if way < CHAINS:
                evidence[way] = forwards(way, size, room, whole(0), last + 1)
            else:
                evidence[way] = log_periodic(room, streaks, places, whole(KINDS[way, 1]))
            if own[way] == 0.0:
                evidence[way] = IMPOSSIBLE
            most = evidence[way] if evidence[way] > most else most
        for way in range(own.size):
            own[way] *= math.exp(evidence[way] - most)
            total += own[way]
        for way in range(own.size):
            own[way] /= total
            kept += own[way] if own[way] >= _RARE else 0.0
        for way in range(own.size):
            weight = own[way] / kept
            if own[way] >= _RARE and way < CHAINS:
                forwards(way, size, room, last + 1, places)
                backwards(way, weight, size, room, last + 1, places)
            elif own[way] >= _RARE:
                pay_periodic(weight, room, size, streaks, places, whole(KINDS[way, 1]))
        for place in range(places):
            cell = streaks - 1 - place if place < streaks else place
            rest = place - streaks + 1
            if n[place] == 0.0 and (rest <= _CURIOUS or not found):
                continue  # longer streaks than were ever seen tell nothing
            found = True
            rare = even / rest if rest > even else 1.0
            apart, few = _ALONE * (rare * rare), (rest + 1) / arms
            wins = profit / (few if few > 1.0 else 1.0) / (1.0 + _TAUGHT * n[place])
            mean = 0.0
            for k in range(size):
                mean += pays[place, k] * levels[k]
                higher[place, k] = pays[place, k] + apart * widths[k] * likely[place, k]
            means[cell] = mean
            values[arm, cell] = reservation(mean, wins, levels, higher[place], size)
