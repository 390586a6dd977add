"""The candidates of a beam's next slot, and which of them go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import ONE, bare_inner, index
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import KeyArray

#: Entries of the ledger: best bound dropped for lack of width; bound a candidate has to beat to be
#: worth anything; bound it has to beat to be among the best of its slot; work of comparing
#: candidates with equal keys, state by state; in the end, the best value.
DROPPED, FLOOR, CUT, COMPARED, BEST = 0, 1, 2, 3, 4


class Found(NamedTuple):
    """Candidates for the next slot, as nodes that are not written out yet; and by their hash."""

    value: FloatArray
    bound: FloatArray
    key: KeyArray
    parent: StateArray
    taken: StateArray
    place: StateArray
    table: StateArray


@bare_inner
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
                values[i], values[j] = values[j], values[i]
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


@bare_inner
def keep_best(
    n: int, width: int, places: int, found: Found, scratch: FloatArray, ledger: FloatArray
) -> np.int64:
    """Keep the ``width`` candidates of largest bound and remember the best bound dropped.

    The table then holds those that are left, in ``places`` places (none: it is not needed again).
    """
    for j in range(index(n)):
        scratch[j] = found.bound[j]
    cut = kth_largest(scratch, n, width)
    ledger[CUT] = cut
    level = width  # how many candidates exactly at the cut may stay
    for j in range(index(n)):
        level -= found.bound[j] > cut
    kept = index(0)
    for j in range(index(n)):
        b = found.bound[j]
        if b > cut or (b == cut and level > 0):
            level -= b == cut
            found.value[kept], found.bound[kept] = found.value[j], b
            found.key[kept], found.parent[kept] = found.key[j], found.parent[j]
            found.taken[kept], found.place[kept] = found.taken[j], found.place[j]
            kept += ONE
        elif b > ledger[DROPPED]:
            ledger[DROPPED] = b
    for q in range(index(places)):
        found.table[q] = -1
    mask = index(places) - ONE
    for j in range(kept if places > 0 else index(0)):
        spot = (found.key[j] >> np.uint64(20)) & mask
        while found.table[spot] >= 0:
            spot = (spot + ONE) & mask
        found.table[spot] = j
    return np.int64(kept)
