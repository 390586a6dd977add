r"""Which levels an arm's states may pay, and how likely each is of what a state paid.

What is believed of a curve lives on a few levels in (0, 1), each standing for the stretch around
it. Stretches are even at first, and halved wherever a state was seen so often that its mean is
known better than they are wide: a state seen a thousand times has its mean to within its own
error, and one hardly seen costs nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.jit import jit

#: Even stretches to begin with, and the most there may be.
_EVEN, MOST = 20, 160
#: Rows of the numbers by level.
LEVELS, WIDTHS = 4, 5
#: Stretches within so many deviations of a state's mean are at most one deviation wide.
_REACH = 2.5
#: Likelihoods below this share of a state's largest count as this: no pay is impossible.
_LEAST = -60.0


class Room(NamedTuple):
    """What the posterior of one arm is worked out in: places of the axis by levels."""

    #: Rewards and their sum by place, and the log of how likely each paid that by itself.
    by_place: FloatArray
    #: By chain and place: how likely the pay changes between the place before and this one.
    changes: FloatArray
    #: Levels, their widths, and four numbers more of each.
    by_level: FloatArray
    #: By chain and level: how much less likely a rise is one level further up, 1 by what all weigh.
    falls: FloatArray
    reach: FloatArray
    #: By place and level: how likely it paid what it did, 1 on average over all levels; and how
    #: likely if the level is any from this one on.
    likely: FloatArray
    higher: FloatArray
    pays: FloatArray
    ahead: FloatArray
    evidence: FloatArray


@jit(inner=True)
def lay_out(room: Room, places: int, rates: FloatArray) -> int:
    """Fill in the levels and all that follows from them alone; return how many they are.

    Rewards and their sum are there by place; ``rates`` are, of each chain, the rate at which the
    likelihood of rises falls off.
    """
    n, s, alone = room.by_place[0], room.by_place[1], room.by_place[2]
    levels, widths, likely, higher = (
        room.by_level[LEVELS],
        room.by_level[WIDTHS],
        room.likely,
        room.higher,
    )
    falls, reach = room.falls, room.reach
    mean, deviation, known = room.by_level[0], room.by_level[1], 0
    for state in range(places):
        centre = (1.0 + s[state]) / (2.0 + n[state])
        spread = math.sqrt(centre * (1.0 - centre) / (3.0 + n[state]))
        if spread < 1.0 / _EVEN:
            mean[known], deviation[known] = centre, spread
            known += 1
    lows, highs = (
        room.by_level[2],
        room.by_level[3],
    )  # stretches still to be looked at, topmost last
    for stretch in range(_EVEN):
        lows[stretch], highs[stretch] = 1.0 - (stretch + 1) / _EVEN, 1.0 - stretch / _EVEN
    left, size = _EVEN, 0
    while left > 0:
        left -= 1
        low, high = lows[left], highs[left]
        middle, width = 0.5 * (low + high), high - low
        halved = False  # where some state's mean is known better than the stretch says
        if size + left + 2 <= MOST:
            for k in range(known):
                near = _REACH * deviation[k] + 0.5 * width
                if width > deviation[k] and -near < middle - mean[k] < near:
                    halved = True
                    break
        if halved:
            lows[left], highs[left] = middle, high
            lows[left + 1], highs[left + 1] = low, middle
            left += 2
        else:
            levels[size], widths[size] = middle, width
            size += 1
    hit, miss = room.by_level[2], room.by_level[3]
    for k in range(size):
        hit[k], miss[k] = math.log(levels[k]), math.log1p(-levels[k])
    for state in range(places):
        here, most, total = likely[state], -math.inf, 0.0
        for k in range(size):
            here[k] = 1.0
            if n[state] > 0.0:
                here[k] = s[state] * hit[k] + (n[state] - s[state]) * miss[k]
                most = here[k] if here[k] > most else most
        for k in range(size if n[state] > 0.0 else 0):
            log = here[k] - most
            here[k] = math.exp(log if log > _LEAST else _LEAST)
            total += widths[k] * here[k]
        for k in range(size if n[state] > 0.0 else 0):
            here[k] /= total
    for chain in range(rates.size):
        rate, so_far = rates[chain], 0.0
        for k in range(size):
            falls[chain, k] = 1.0
            if k > 0 and rate > 0.0:
                falls[chain, k] = math.exp(rate * (levels[k - 1] - levels[k]))
        for k in range(size - 1, -1, -1):
            so_far += widths[k]
            reach[chain, k] = 1.0 / so_far
            so_far *= falls[chain, k]
    for place in range(places):
        seen, paid, so_far = n[place], s[place], 0.0
        alone[place] = 0.0
        if seen > 0.0:
            alone[place] = math.lgamma(1.0 + paid) + math.lgamma(1.0 + seen - paid)
            alone[place] -= math.lgamma(2.0 + seen)
        for k in range(size - 1, -1, -1):
            so_far += widths[k] * likely[place, k]
            higher[place, k] = so_far * reach[0, k] if seen > 0.0 else 1.0
    return size


def likelihoods_reference(
    n: FloatArray, s: FloatArray, levels: FloatArray, widths: FloatArray
) -> FloatArray:
    """Say what :func:`likelihoods` means, a state at a time."""
    rows = []
    for seen, paid in zip(n.tolist(), s.tolist(), strict=True):
        log = paid * np.log(levels) + (seen - paid) * np.log1p(-levels)
        likely = np.exp(np.maximum(log - log.max(), _LEAST))
        rows.append(likely / (widths @ likely))
    return np.array(rows)
