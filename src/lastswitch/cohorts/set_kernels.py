"""Kernels that share out sets of rounds between two parts. A set is a number, one bit a round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit

Ids = NDArray[np.int32]
#: Arms by round, -1 for none.
Played = NDArray[np.int16]


@jit
def joined(left: FloatArray, right: FloatArray, at: Ids, cost: FloatArray, out: FloatArray) -> None:
    """Write what two parts are worth together, for every set of rounds they may share.

    Row ``k`` has the parts ``left[at[k, 0]]`` and ``right[at[k, 1]]`` and costs ``cost[at[k, 2]]``.
    """
    for k in range(len(at)):
        a, b, c = left[at[k, 0]], right[at[k, 1]], cost[at[k, 2]]
        for whole in range(out.shape[1]):
            best = -np.inf
            if c[whole] < np.inf:
                s = whole
                while True:
                    total = a[s] + b[whole ^ s]
                    best = total if total > best else best
                    if s == 0:
                        break
                    s = (s - 1) & whole
                best -= c[whole]
            out[k, whole] = best


@jit
def best_within(table: FloatArray, length: int) -> None:
    """Turn what a set is worth into what the best of its subsets is."""
    for k in range(len(table)):
        row = table[k]
        for t in range(length):
            bit = 1 << t
            for s in range(len(row)):
                if s & bit and row[s ^ bit] > row[s]:
                    row[s] = row[s ^ bit]


@jit
def best_shares(
    left: FloatArray, right: FloatArray, at: Ids, best: FloatArray, share: IntArray
) -> None:
    """Write for each row the best share of the left part, the right one having all the rest."""
    full = left.shape[1] - 1
    for k in range(len(at)):
        a, b = left[at[k, 0]], right[at[k, 1]]
        top, chosen = -np.inf, 0
        for s in range(full + 1):
            total = a[s] + b[full - s]
            if total > top:
                top, chosen = total, s
        best[k], share[k] = top, chosen


@jit
def best_wholes(
    left: FloatArray,
    right: FloatArray,
    at: Ids,
    cost: FloatArray,
    every: bool,
    best: FloatArray,
    whole: IntArray,
) -> None:
    """Write for each row the best set of rounds to play in; all of them if ``every`` is asked."""
    full = left.shape[1] - 1
    for k in range(len(at)):
        a, b, c = left[at[k, 0]], right[at[k, 1]], cost[at[k, 2]]
        top, chosen = -np.inf, full
        for u in range(full if every else 0, full + 1):
            if c[u] < np.inf:
                s = u
                while True:
                    total = a[s] + b[u ^ s] - c[u]
                    if total > top:
                        top, chosen = total, u
                    if s == 0:
                        break
                    s = (s - 1) & u
        best[k], whole[k] = top, chosen


@jit
def split(left: FloatArray, right: FloatArray, at: Ids, whole: IntArray, share: IntArray) -> None:
    """Write for each row the best share of the left part in the rounds ``whole``."""
    for k in range(len(at)):
        a, b, u = left[at[k, 0]], right[at[k, 1]], whole[k]
        top, chosen, s = -np.inf, 0, u
        while True:
            total = a[s] + b[u ^ s]
            if total > top:
                top, chosen = total, s
            if s == 0:
                break
            s = (s - 1) & u
        share[k] = chosen


@jit
def best_subset(table: FloatArray, ids: Ids, within: IntArray, chosen: IntArray) -> None:
    """Write for each row the best subset of ``within`` in ``table[ids]``."""
    for k in range(len(ids)):
        row, u = table[ids[k]], within[k]
        top, s = -np.inf, u
        chosen[k] = 0
        while True:
            if row[s] >= top:  # of equal ones the smallest
                top, chosen[k] = row[s], s
            if s == 0:
                break
            s = (s - 1) & u


@jit
def taken(
    own: FloatArray, at: Ids, rounds: IntArray, arm: int, arms: Played, value: FloatArray
) -> None:
    """Write an arm into the rounds it takes, and add what they are worth."""
    for k in range(len(at)):
        s = rounds[k]
        value[k] += own[at[k], s]
        t = 0
        while s:
            if s & 1:
                arms[k, t] = arm
            s >>= 1
            t += 1
