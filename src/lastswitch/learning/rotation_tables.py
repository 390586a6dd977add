"""From what was seen to what is believed: the tables of RotationUCB.

Everything seen is kept per (arm, raw state): streaks to -16, rests to a deep maximum. The planner's
table is shallower. Its last cells pool everything deeper, and an arm's table deepens when the data
ask for it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastswitch._kernels import jit
from lastswitch.learning.rotation_price import best_cycle

#: Streak states kept apart in memory.
STREAKS = 16
#: Rests from here on borrow from their neighbours (see :func:`pooled`).
_LONE_RESTS = 8
_NEIGHBOURS = 2
_BORROWED = 2.0
#: A fraction of a success granted to every cell seen, so that one unlucky zero does not bury it.
_GRANTED = 0.2
#: Cells added when an arm's table deepens.
_DEEPER = 4
#: A tail must have been seen this often before it can ask for more depth.
_TAIL_SEEN = 3.0
#: How unlikely (in nats) a raw state must be under its tail's mean for the tail to be split.
_UNLIKE = 2.0


@jit(makes_arrays=True)
def settle(
    counts: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    pending: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Count plays whose reward is still out as if they had paid the mean so far (1/2 if none)."""
    n, s, q = counts.copy(), sums.copy(), squares.copy()
    for arm in range(n.shape[0]):
        for state in range(n.shape[1]):
            out = pending[arm, state]
            if out > 0.0:
                seen = counts[arm, state]
                n[arm, state] += out
                s[arm, state] += out * (sums[arm, state] / seen if seen > 0.0 else 0.5)
                q[arm, state] += out * (squares[arm, state] / seen if seen > 0.0 else 0.5)
    return n, s, q


@jit(makes_arrays=True)
def gathered(
    n: NDArray[np.float64],
    s: NDArray[np.float64],
    q: NDArray[np.float64],
    raw_streaks: int,
    streaks: int,
    depths: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return counts, sums and squares per (arm, cell), stacked.

    The last streak cell and the last rest cell pool what is deeper.
    """
    n_arms, raw = n.shape
    table = np.zeros((3, n_arms, streaks + depths.max()))
    for arm in range(n_arms):
        last_rest = streaks + depths[arm] - 1
        for state in range(raw):
            if state < raw_streaks:
                cell = min(state, streaks - 1)
            else:
                cell = min(streaks + state - raw_streaks, last_rest)
            table[0, arm, cell] += n[arm, state]
            table[1, arm, cell] += s[arm, state]
            table[2, arm, cell] += q[arm, state]
    return table


@jit(makes_arrays=True)
def pooled(
    n: NDArray[np.float64],
    s: NDArray[np.float64],
    q: NDArray[np.float64],
    raw_streaks: int,
    streaks: int,
    depths: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return what :func:`gathered` does, with a little help for indices that judge cells singly.

    A rest beyond the first few borrows up to two observations from the rests around it: curves
    that end early then cost little, and one that has a surprise deep down still shows it. A cell
    seen at all is granted a fraction of a success.
    """
    table = gathered(n, s, q, raw_streaks, streaks, depths)
    n_arms, raw = n.shape
    for arm in range(n_arms):
        last_rest = streaks + depths[arm] - 1
        for cell in range(streaks + _LONE_RESTS, last_rest + 1):
            middle = raw_streaks + cell - streaks
            near_n, near_s, near_q = 0.0, 0.0, 0.0
            for state in range(middle - _NEIGHBOURS, min(middle + _NEIGHBOURS + 1, raw)):
                if state != middle:
                    near_n += n[arm, state]
                    near_s += s[arm, state]
                    near_q += q[arm, state]
            if near_n > 0.0:
                share = min(_BORROWED, near_n) / near_n
                table[0, arm, cell] += share * near_n
                table[1, arm, cell] += share * near_s
                table[2, arm, cell] += share * near_q
        for cell in range(last_rest + 1):
            if table[0, arm, cell] > 0.0:
                for k in range(3):
                    table[k, arm, cell] += _GRANTED
    return table


@jit
def wants_depth(
    n: NDArray[np.float64],
    s: NDArray[np.float64],
    first: int,
    at_once: bool,
) -> bool:
    """Tell whether one arm's tail, the raw states from ``first`` on, should be looked at closer.

    It should if some state in it pays unlike the others; or ``at_once``, when it was seen at all.
    """
    seen, paid = 0.0, 0.0
    for state in range(first, n.size):
        seen += n[state]
        paid += s[state]
    if seen < _TAIL_SEEN:
        return False
    if at_once:
        return True
    mean = paid / seen
    if mean <= 0.0 or mean >= 1.0:
        return False
    for state in range(first, n.size):
        if n[state] > 0.0:
            here = min(max(s[state] / n[state], 0.0), 1.0)
            surprise = 0.0
            if here > 0.0:
                surprise += here * math.log(here / mean)
            if here < 1.0:
                surprise += (1.0 - here) * math.log((1.0 - here) / (1.0 - mean))
            if n[state] * surprise > _UNLIKE:
                return True
    return False


@jit(makes_arrays=True)
def asking_depth(
    values: NDArray[np.float64],
    streaks: int,
    depths: NDArray[np.int64],
    most: int,
    price: float,
    n: NDArray[np.float64],
    s: NDArray[np.float64],
    at_once: bool,
) -> NDArray[np.bool_]:
    """Tell which arms' tables should be deeper, and may be: see :func:`wants_depth`.

    At once where the best cycle waits for the tail, too.
    """
    asked = np.zeros(depths.size, np.bool_)
    for arm in range(depths.size):
        depth = depths[arm]
        if depth < most:
            rest = best_cycle(values[arm], streaks, depth, price)[2]
            hurry = at_once or rest == depth
            asked[arm] = wants_depth(n[arm], s[arm], STREAKS + depth - 1, hurry)
    return asked


@jit(makes_arrays=True)
def due(
    counts: NDArray[np.float64],
    n: NDArray[np.float64],
    limits: NDArray[np.float64],
    nearly: float,
) -> NDArray[np.bool_]:
    """Tell of which arms some state was seen, or played, about as often as the limits say."""
    found = np.zeros(n.shape[0], np.bool_)
    for arm in range(n.shape[0]):
        for state in range(n.shape[1]):
            told, played = counts[arm, state], n[arm, state]
            if (told > 0.0 and told >= nearly * limits[0, arm, state]) or (
                played > 0.0 and played >= nearly * limits[1, arm, state]
            ):
                found[arm] = True
    return found


@jit
def note_made(
    counts: NDArray[np.float64],
    n: NDArray[np.float64],
    s: NDArray[np.float64],
    made: NDArray[np.bool_],
    growth: float,
    limits: NDArray[np.float64],
    basis: NDArray[np.float64],
) -> None:
    """Note of the arms whose tables were made how much was seen, and when to look again."""
    for arm in range(n.shape[0]):
        if made[arm]:
            for state in range(n.shape[1]):
                limits[0, arm, state] = growth * counts[arm, state]
                limits[1, arm, state] = growth * n[arm, state]
                basis[0, arm, state] = n[arm, state]
                basis[1, arm, state] = s[arm, state] / max(n[arm, state], 1.0)


def deeper(depth: int, most: int) -> int:
    """Return the next depth of a table, at most ``most``.

    Examples
    --------
    >>> deeper(24, 64), deeper(63, 64)
    (28, 64)
    """
    return min(most, depth + _DEEPER)
