"""Kernels that share out the places of all rounds between two parts.

How many places of each round are taken is one number, a digit for each round (so with one place, a
set of rounds). ``below`` lists, for each such number, those that take no more in any round:
``below.some[below.first[u]:below.first[u + 1]]``; what they leave is the difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import index, jit

Ids = NDArray[np.int32]
#: Arms by round and place, -1 for none.
Played = NDArray[np.int16]


class Below(NamedTuple):
    """For each number of taken places, all that take no more in any round, the least first."""

    first: IntArray
    some: Ids


def all_below(places: int, length: int) -> Below:
    """Return what lies below each number of taken places.

    Examples
    --------
    >>> below = all_below(1, 2)
    >>> below.some[below.first[3] : below.first[4]].tolist()
    [0, 1, 2, 3]
    """
    lists = [np.zeros(1, np.int64)]
    for t in range(length):
        steps = [k * (places + 1) ** t for k in range(places + 1)]
        lists = [
            np.concatenate([low + step for step in steps[: k + 1]])
            for k in range(places + 1)
            for low in lists
        ]
    first = np.concatenate([[0], np.cumsum([len(x) for x in lists])])
    return Below(first, np.concatenate(lists).astype(np.int32))


@jit(makes_arrays=True)
def joined(
    left: FloatArray, right: FloatArray, at: Ids, cost: FloatArray, below: Below, out: FloatArray
) -> None:
    """Write what two parts are worth together, for all places they may share.

    Row ``k`` has the parts ``left[at[k, 0]]`` and ``right[at[k, 1]]`` and costs ``cost[at[k, 2]]``.
    """
    for k in range(len(at)):
        a, b, c = left[at[k, 0]], right[at[k, 1]], cost[at[k, 2]]
        for whole in range(out.shape[1]):
            best = -np.inf
            if c[whole] < np.inf:
                for x in range(below.first[whole], below.first[whole + 1]):
                    s = below.some[x]
                    total = a[index(s)] + b[index(whole - s)]
                    best = total if total > best else best
                best -= c[whole]
            out[k, whole] = best


@jit(makes_arrays=True)
def best_within(table: FloatArray, places: int, length: int) -> None:
    """Turn what so many places are worth into what the best use of no more of them is."""
    for k in range(len(table)):
        row, step = table[k], 1
        for _ in range(length):
            for begin in range(0, len(row), step * (places + 1)):
                for s in range(begin + step, begin + step * (places + 1)):
                    less = row[index(s - step)]
                    row[index(s)] = less if less > row[index(s)] else row[index(s)]
            step *= places + 1


@jit(makes_arrays=True)
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


@jit(makes_arrays=True)
def best_wholes(
    left: FloatArray,
    right: FloatArray,
    at: Ids,
    cost: FloatArray,
    below: Below,
    best: FloatArray,
    whole: IntArray,
) -> None:
    """Write for each row the best places to take at all; infinite costs forbid some."""
    for k in range(len(at)):
        a, b, c = left[at[k, 0]], right[at[k, 1]], cost[at[k, 2]]
        top, chosen = -np.inf, 0
        for u in range(left.shape[1]):
            if c[u] < np.inf:
                for x in range(below.first[u], below.first[u + 1]):
                    s = below.some[x]
                    total = a[s] + b[u - s] - c[u]
                    if total > top:
                        top, chosen = total, u
        best[k], whole[k] = top, chosen


@jit(makes_arrays=True)
def split(
    left: FloatArray, right: FloatArray, at: Ids, below: Below, whole: IntArray, share: IntArray
) -> None:
    """Write for each row the best share of the left part in the places ``whole``."""
    for k in range(len(at)):
        a, b, u = left[at[k, 0]], right[at[k, 1]], whole[k]
        top, chosen = -np.inf, 0
        for x in range(below.first[u], below.first[u + 1]):
            s = below.some[x]
            total = a[s] + b[u - s]
            if total > top:
                top, chosen = total, s
        share[k] = chosen


@jit(makes_arrays=True)
def best_subset(
    table: FloatArray, at: Ids, below: Below, within: IntArray, chosen: IntArray
) -> None:
    """Write for each row the best share of the right part in the places ``within``."""
    for k in range(len(at)):
        row, u = table[at[k, 1]], within[k]
        top, best = -np.inf, 0
        for x in range(below.first[u], below.first[u + 1]):
            s = below.some[x]
            if row[s] > top:
                top, best = row[s], s
        chosen[k] = best


@jit(makes_arrays=True)
def taken(
    own: FloatArray, at: Ids, rounds: IntArray, arm: int, arms: Played, value: FloatArray
) -> None:
    """Write an arm into free places of the rounds it takes, and add what they are worth."""
    places = arms.shape[2]
    for k in range(len(at)):
        s = rounds[k]
        value[k] += own[at[k], s]
        t = 0
        while s:
            if s % (places + 1):
                place = 0
                while arms[k, t, place] >= 0:
                    place += 1
                arms[k, t, place] = arm
            s //= places + 1
            t += 1
