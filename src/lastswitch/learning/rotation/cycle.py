r"""A short cycle to fall back on, so that looking ahead is never held below it.

The potentials of :mod:`lastswitch.learning.rotation.price` judge every arm as if slots were free:
a state in which many arms are about ready looks good, though only one of them can be played. A
search that ends in such potentials may keep seven arms in a loop in which they stand in each
other's way, where three of them alone would earn more, because letting the others go costs more
than it sees. A cycle played for ever has no such error. So one is kept, as good as
:mod:`lastswitch.learning.rotation.cycle_search` finds, and with :math:`\rho` its mean pay per
round, a joint state is worth

.. math:: V(x) = \max_k \Bigl(\sum_{t < L} r_t^{(k)} - L \rho + b_k\Bigr),

the most that entering it at one of its :math:`L` places earns above its mean: in the first turn,
and then by being at that place, whose *bias* :math:`b_k = r_k - \rho + b_{k + 1}` says how much
better than the mean what comes next is. A plan of :math:`H` rounds that ends in :math:`x'` is worth
its pay :math:`- H \rho + V(x')`. The best of the plans found and of the cycle itself is followed;
on tables that stand, what is earned is then at least :math:`\rho` a round.

Cells are those of :mod:`lastswitch.learning.rotation.price`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit

_EQUAL = 1e-9
_NEVER = -1_000_000


class Settled(NamedTuple):
    """A cycle played for ever: what a round of it pays and, by place, what :func:`settle` says."""

    cycle: IntArray
    pay: float
    bias: FloatArray
    pays: FloatArray
    runs: IntArray

    @classmethod
    def of(cls, values: FloatArray, streaks: int, depths: IntArray, cycle: IntArray) -> Settled:
        """Settle ``cycle``, which may be empty: that is none."""
        length, n_arms = cycle.size, len(values)
        bias, pays, runs = np.zeros(length + 1), np.empty(length), np.zeros(length, np.int64)
        pay = 0.0
        if length:
            last, run = np.empty((2, n_arms), np.int64)
            pay = settle(values, streaks, depths, cycle, last, run, bias, pays, runs)
        return cls(cycle, pay, bias, pays, runs)


@jit
def settle(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    cycle: IntArray,
    last: IntArray,
    run: IntArray,
    bias: FloatArray,
    pays: FloatArray,
    runs: IntArray,
) -> float:
    """Fill in by place of ``cycle``, played for ever: its bias, pay, and run before.

    Biases are up to a constant; the run is of plays on end, none where the arm has rested. Returns
    what a round pays. ``last`` and ``run`` are room for one number per arm.
    """
    length, total = cycle.size, 0.0
    for t in range(length):
        last[cycle[t]] = _NEVER
    last[cycle[length - 1]], run[cycle[length - 1]] = -1, streaks  # right if it is alone
    for t in range(2 * length):
        place = t if t < length else t - length
        arm = cycle[place]
        gap = t - last[arm]
        if t >= length:
            cell = run[arm] - 1
            if gap > 1:
                cell = streaks + (gap - 1 if gap <= depths[arm] else depths[arm]) - 1
            pays[place] = values[arm, cell]
            total += pays[place]
            runs[place] = run[arm] if gap == 1 else 0
        if gap > 1:
            run[arm] = 1
        elif run[arm] < streaks:
            run[arm] += 1
        last[arm] = t
    pay, bias[0] = total / length, 0.0
    for place in range(length):
        bias[place + 1] = bias[place] - pays[place] + pay
    return pay


@jit(inner=True)
def enter(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    cells: IntArray,
    settled: Settled,
    following: IntArray,
    used: IntArray,
) -> tuple[float, int]:
    """Return what entering a cycle earns, and the best place to do so.

    A turn differs from all later ones where an arm is first played, and in what follows on that
    play without a break: only these places are looked at. ``following`` and ``used`` are room for
    one number per arm.
    """
    cycle, bias, pays, runs = settled.cycle, settled.bias, settled.pays, settled.runs
    length, n_used = cycle.size, 0
    for arm in range(following.size):
        following[arm] = -1
    for place in range(length - 1, -1, -1):
        if following[cycle[place]] < 0:
            used[n_used] = cycle[place]
            n_used += 1
        following[cycle[place]] = length + place
    best, entry = -np.inf, 0
    for first in range(length - 1, -1, -1):
        following[cycle[first]] = first
        total = bias[first]
        for k in range(n_used):
            arm = used[k]
            place, cell, run = following[arm], cells[arm], 0
            t = place - first
            if place >= length:
                place -= length
            if t == 0 and cell < streaks:
                run = cell + 1
            elif t > 0:
                rest = t if cell < streaks else cell - streaks + 1 + t
                cell = streaks + (rest if rest < depths[arm] else depths[arm]) - 1
            total += values[arm, cell] - pays[place]
            while True:
                place = place + 1 if place + 1 < length else 0
                run = run + 1 if run < streaks else streaks
                if cycle[place] != arm or run == runs[place]:
                    break
                total += values[arm, run - 1] - pays[place]
        if total > best - _EQUAL:
            best, entry = total if total > best else best, first
    return best, entry
