"""Curves that repeat: what was seen of an arm if rests a period apart pay the same.

Streaks are one group, which has one pay, and so is every place in the period.
"""

from __future__ import annotations

import math

from lastswitch._utils.jit import jit
from lastswitch.learning.rotation.levels import WIDTHS, Room


@jit(inner=True)
def log_periodic(room: Room, streaks: int, places: int, period: int) -> float:
    """Return the log-likelihood of what was seen if rests a period apart pay the same.

    It is compared with what each state says by itself, and so is a sum over groups in
    which several were seen.
    """
    n, s, alone, total = room.by_place[0], room.by_place[1], room.by_place[2], 0.0
    for group in range(-1, period):
        first, last, apart = 0, streaks, 1
        if group >= 0:
            first, last, apart = streaks + group, places, period
        states, count, paid, apiece = 0, 0.0, 0.0, 0.0
        for place in range(first, last, apart):
            if n[place] > 0.0:
                states += 1
                count += n[place]
                paid += s[place]
                apiece += alone[place]
        if states > 1:
            log = math.lgamma(1.0 + paid) + math.lgamma(1.0 + count - paid)
            total += log - math.lgamma(2.0 + count) - apiece
    return total


@jit(inner=True)
def pay_periodic(
    weight: float, room: Room, size: int, streaks: int, places: int, period: int
) -> None:
    """Add to the room's pays what states pay if rests a period apart pay the same, weighed."""
    n, widths, share = room.by_place[0], room.by_level[WIDTHS], room.by_level[0]
    likely, pays = room.likely, room.pays
    for group in range(-1, period):
        first, last, apart = 0, streaks, 1
        if group >= 0:
            first, last, apart = streaks + group, places, period
        for k in range(size):
            share[k] = widths[k]
        for place in range(first, last, apart):
            if n[place] > 0.0:
                total = 0.0
                for k in range(size):
                    share[k] *= likely[place, k]
                    total += share[k]
                for k in range(size):
                    share[k] /= total
        for place in range(first, last, apart):
            for k in range(size):
                pays[place, k] += weight * share[k]
