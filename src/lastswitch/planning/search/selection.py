"""The candidates of a beam's next round, and which of them go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.jit import jit, whole
from lastswitch.planning.diagrams.diagram import StateArray
from lastswitch.planning.diagrams.minimise import KeyArray

#: Entries of the ledger: best bound dropped for lack of width; bound a candidate has to beat to be
#: worth anything; bound it has to beat to be among the best of its round; work of comparing
#: candidates with equal keys, state by state; in the end, the best value.
DROPPED, FLOOR, CUT, COMPARED, BEST = 0, 1, 2, 3, 4


class Candidates(NamedTuple):
    """Candidates for the next round, as nodes that are not written out yet; and by their hash.

    Each has as many entries in ``taken`` (arcs) and ``place`` (machines) as a node may move by.
    """

    value: FloatArray
    bound: FloatArray
    key: KeyArray
    parent: StateArray
    taken: StateArray
    place: StateArray
    table: StateArray


@jit(inner=True)
def kth_largest(values: FloatArray, n: int, k: int) -> float:
    """Return the ``k``-th largest of the first ``n`` values, reordering them (quickselect)."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                less = values[i]
                values[i] = values[j]
                values[j] = less
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    cut: float = values[k - 1]
    return cut


@jit(inner=True)
def keep_best(
    n: int, width: int, places: int, found: Candidates, scratch: FloatArray, ledger: FloatArray
) -> int:
    """Keep the ``width`` candidates of largest bound and remember the best bound dropped.

    The table then holds those that are left, in ``places`` places (none: it is not needed again).
    """
    for j in range(n):
        scratch[j] = found.bound[j]
    cut = kth_largest(scratch, n, width)
    ledger[CUT] = cut
    level = width  # how many candidates exactly at the cut may stay
    for j in range(n):
        level -= found.bound[j] > cut
    for q in range(places):
        found.table[q] = -1
    kept, moves = 0, len(found.taken) // len(found.value)
    for j in range(n):
        b = found.bound[j]
        if b > cut or (b == cut and level > 0):
            level -= b == cut
            key = found.key[j]
            found.value[kept] = found.value[j]
            found.bound[kept] = b
            found.key[kept] = key
            found.parent[kept] = found.parent[j]
            for x in range(moves):
                found.taken[kept * moves + x] = found.taken[j * moves + x]
                found.place[kept * moves + x] = found.place[j * moves + x]
            if places > 0:
                spot = whole(key >> np.uint64(20)) & (places - 1)
                while found.table[spot] >= 0:
                    spot = (spot + 1) & (places - 1)
                found.table[spot] = kept
            kept += 1
        elif b > ledger[DROPPED]:
            ledger[DROPPED] = b
    return kept
