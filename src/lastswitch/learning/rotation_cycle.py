r"""A short cycle to fall back on, so that looking ahead is never held below it.

The potentials of :mod:`lastswitch.learning.rotation_price` judge every arm as if slots were free:
a state in which many arms are about ready looks good, though only one of them can be played. A
search that ends in such potentials may keep seven arms in a loop in which they stand in each
other's way, where three of them alone would earn more, because letting the others go costs more
than it sees. A cycle played for ever has no such error. So one is kept, as good as
:mod:`lastswitch.learning.rotation_cycle_search` finds, and with :math:`\rho` its mean pay per
round, a joint state is worth

.. math:: V(x) = \max_k \Bigl(\sum_{t < L} r_t^{(k)} - L \rho + b_k\Bigr),

the most that entering it at one of its :math:`L` places earns above its mean: in the first turn,
and then by being at that place, whose *bias* :math:`b_k = r_k - \rho + b_{k + 1}` says how much
better than the mean what comes next is. A plan of :math:`H` rounds that ends in :math:`x'` is worth
its pay :math:`- H \rho + V(x')`. The best of the plans found and of the cycle itself is followed;
on tables that stand, what is earned is then at least :math:`\rho` a round.

Cells are those of :mod:`lastswitch.learning.rotation_price`.
"""

from __future__ import annotations

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit

_EQUAL = 1e-9
_NEVER = -1_000_000


@jit(inner=True)
def _cell_after(gap: int, run: int, streaks: int, depth: int) -> int:
    """Return the cell of an arm played ``gap`` rounds ago, then for the ``run``-th time on end."""
    return min(run, streaks) - 1 if gap == 1 else streaks + min(gap - 1, depth) - 1


@jit
def cycle_pay(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    cycle: IntArray,
    last: IntArray,
    run: IntArray,
) -> float:
    """Return what one round of ``cycle`` pays when it is played for ever.

    ``last`` and ``run`` are room for one number per arm.
    """
    length = cycle.size
    for t in range(length):
        last[cycle[t]] = _NEVER
    last[cycle[length - 1]], run[cycle[length - 1]] = -1, streaks  # right if it is alone
    total = 0.0
    for t in range(2 * length):
        arm = cycle[t if t < length else t - length]
        gap = t - last[arm]
        if t >= length:
            total += values[arm, _cell_after(gap, run[arm], streaks, depths[arm])]
        run[arm] = run[arm] + 1 if gap == 1 else 1
        last[arm] = t
    return total / length


@jit(makes_arrays=True)
def settled(
    values: FloatArray, streaks: int, depths: IntArray, cycle: IntArray, pay: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return by place of ``cycle``, played for ever at that pay: its bias, pay, and run before.

    Biases are up to a constant; the run is of plays on end, none where the arm has rested.
    """
    length, n_arms = cycle.size, values.shape[0]
    last, run = np.full(n_arms, _NEVER), np.empty(n_arms, np.int64)
    last[cycle[length - 1]], run[cycle[length - 1]] = -1, streaks
    bias, pays, runs = np.zeros(length + 1), np.empty(length), np.zeros(length, np.int64)
    for t in range(2 * length):
        arm = cycle[t if t < length else t - length]
        gap = t - last[arm]
        if t >= length:
            place = t - length
            pays[place] = values[arm, _cell_after(gap, run[arm], streaks, depths[arm])]
            bias[place + 1] = bias[place] - pays[place] + pay
            if gap == 1:
                runs[place] = run[arm]
        run[arm] = run[arm] + 1 if gap == 1 else 1
        last[arm] = t
    return bias[:length], pays, runs


@jit(makes_arrays=True)
def enter(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    cells: IntArray,
    cycle: IntArray,
    bias: FloatArray,
    pays: FloatArray,
    runs: IntArray,
) -> tuple[float, int]:
    """Return what entering ``cycle``, as it is :func:`settled`, earns, and the best place to.

    A turn differs from all later ones where an arm is first played, and in what follows on that
    play without a break: only these places are looked at.
    """
    length = cycle.size
    following, used = np.full(values.shape[0], -1), np.empty(length, np.int64)
    n_used = 0
    for place in range(length - 1, -1, -1):
        if following[cycle[place]] < 0:
            used[n_used] = cycle[place]
            n_used += 1
        following[cycle[place]] = length + place
    best, entry = -np.inf, 0
    for first in range(length - 1, -1, -1):
        following[cycle[first]] = first
        total = bias[first]
        for arm in used[:n_used]:
            place, cell, run = following[arm], cells[arm], 0
            t = place - first
            if place >= length:
                place -= length
            if t == 0 and cell < streaks:
                run = cell + 1
            elif t > 0:
                rest = t if cell < streaks else cell - streaks + 1 + t
                cell = streaks + min(rest, depths[arm]) - 1
            total += values[arm, cell] - pays[place]
            while True:
                place, run = place + 1 if place + 1 < length else 0, min(run + 1, streaks)
                if cycle[place] != arm or run == min(runs[place], streaks):
                    break
                total += values[arm, run - 1] - pays[place]
        if total > best - _EQUAL:
            best, entry = max(best, total), first
    return best, entry
