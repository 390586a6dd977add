"""A number of each subject's own: the same on every engine, in every process, for ever.

It decides who of several subjects that stand alike gets which plan, so it must come from the
name alone: FNV-1a over its bytes, and a last step that spreads it over all 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import IntArray
from lastswitch._kernels import jit
from lastswitch.cohorts.roster import text_buffers

_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def keys_of(subject: Any) -> NDArray[np.uint64]:
    """Return the key of every name in an Arrow array of text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> keys = keys_of(pa.array(["ann", "bob", "ann"]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1]), int(keys[0]) == plain_key("ann")
    (True, False, True)
    """
    offsets, data = text_buffers(subject)
    keys = np.empty(len(offsets) - 1, np.uint64)
    _fill(offsets, data, keys)
    return keys


def plain_key(name: str) -> int:
    """Return the key of one name, by definition."""
    key = int(_BASIS)
    for byte in name.encode():
        key = (key ^ byte) * int(_PRIME) % 2**64
    key = (key ^ key >> 32) * int(_MIX) % 2**64
    return key ^ key >> 32


@jit(makes_arrays=True)
def _fill(offsets: IntArray, data: NDArray[np.uint8], keys: NDArray[np.uint64]) -> None:
    for row in range(len(keys)):
        key = _BASIS
        for at in range(offsets[row], offsets[row + 1]):
            key = (key ^ np.uint64(data[at])) * _PRIME
        key = (key ^ (key >> _HALF)) * _MIX
        keys[row] = key ^ (key >> _HALF)
