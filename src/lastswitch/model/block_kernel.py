"""The compiled pass over a block: constant work per play, whatever the number of arms."""

from __future__ import annotations

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import jit


@jit(makes_arrays=True)
def entry(
    tau: int, rest_from: int, rest_size: int, streak_from: int, streak_size: int, repeats: bool
) -> int:
    """Return where in the packed values the pay of an arm in state ``tau`` stands.

    It takes one arm's numbers, not the arrays: arrays handed from one kernel to another are
    counted in and out at every call, which made a round fifteen times slower.
    """
    if tau <= 0:
        return streak_from + min(max(-tau, 1), streak_size) - 1
    if repeats:
        return rest_from + (tau - 1) % rest_size
    return rest_from + min(tau, rest_size) - 1


@jit(makes_arrays=True)
def pays_of_block(
    values: FloatArray,
    rest_from: IntArray,
    rest_size: IntArray,
    streak_from: IntArray,
    streak_size: IntArray,
    repeats: BoolArray,
    block: IntArray,
    start: IntArray,
) -> FloatArray:
    """Return what each play pays, touching only the arm that is played.

    An arm's state follows from the time it was last played, so no other arm need be moved: a
    rested arm was last played at a virtual time ``-start - 1``, one in a streak at time ``-1``.
    """
    last = -1 - np.maximum(start, 0)
    run, previous = 0, -1
    pays = np.empty(len(block), dtype=np.float64)
    for t in range(len(block)):
        arm = block[t]
        if arm == previous:
            tau = -run
        elif t == 0 and start[arm] <= 0:
            tau = min(start[arm], -1)
            run = -min(start[arm], 0)
        else:
            tau = t - last[arm] - 1
            run = 0
        at = entry(
            tau,
            rest_from[arm],
            rest_size[arm],
            streak_from[arm],
            streak_size[arm],
            repeats[arm],
        )
        pays[t] = values[at]
        run += 1
        last[arm] = t
        previous = arm
    return pays
