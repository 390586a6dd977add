"""Kernels that make no array: brackets mean what they mean in Python, none reads outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastswitch import _kernels
from lastswitch._kernels import bare


def _bare_checked(function: Any) -> Any:
    """Compile as :func:`bare`, with every place checked."""
    return numba.njit(nogil=True, boundscheck=True, **_kernels._BARE)(function)


def rotate(vector: Any, matrix: Any, cube: Any, one: Any, two: Any, three: Any) -> float:
    """Read and write in all the ways kernels do."""
    total, row = 0.0, matrix[one]
    for k in range(len(row)):
        total += row[k] * vector[k]
    slab = cube[one, two]
    slab[0] += 1.0
    cube[one, two, three] -= vector[two]
    matrix[one, two], matrix[one, 0] = matrix[one, 0], matrix[one, two] + cube[0, 1, three]
    vector[1:] = total
    vector[0] += cube[one, two, three]
    vector[three] = vector[0] if vector[three] > 0.0 else 2.0 * vector[three]
    pair = one, two
    one = 2 - one
    total += matrix[pair] - 3.0 * matrix[one, two]
    return total + vector[three] + matrix[two, one]


compiled = bare(rotate)
places = st.integers(0, 2)


@given(one=places, two=places, three=places, seed=st.integers(0, 99))
@pytest.mark.parametrize("whole", [np.int64, np.int32, np.uint64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_brackets_mean_what_they_mean_in_python(
    layout: str, whole: Any, one: int, two: int, three: int, seed: int
) -> None:
    """Entries, rows and slices, of arrays whose entries follow each other or not."""

    def arrays() -> list[Any]:
        rng = np.random.default_rng(seed)
        given = [rng.normal(size=(3,) * axes) for axes in (1, 2, 3)]
        if layout == "F":
            return [np.asfortranarray(array) for array in given]
        if layout == "strided":
            return [np.repeat(array, 2, axis=0)[::2] for array in given]
        return given

    at = whole(one), whole(two), whole(three)
    plain, fast = arrays(), arrays()
    assert compiled(*fast, *at) == pytest.approx(rotate(*plain, *at), rel=1e-12)
    for mine, theirs in zip(fast, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_a_kernel_that_reads_outside_is_caught_when_places_are_checked() -> None:
    """The control of the next test: a place before the first, or behind the last, is an error."""

    def second(array: Any, place: int) -> float:
        return float(array[place, 1])

    def write(array: Any, place: int) -> None:
        array[place, 1] = 0.0

    matrix = np.arange(6.0).reshape(3, 2)
    assert _bare_checked(second)(matrix, 2) == 5.0
    for kernel in map(_bare_checked, (second, write)):
        for place in (-1, 3):
            with pytest.raises(IndexError, match="out of bounds"):
                kernel(matrix, place)


def test_what_must_not_be_written_is_not() -> None:
    """A kernel for arrays that are read only does not compile if it writes."""

    def write(array: Any, place: int) -> None:
        array[place] = 0.0

    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(numba.TypingError, match="readonly"):
        _bare_checked(write)(frozen, 1)
    assert frozen.min() == 1.0


PLANS = """
import numpy as np
import lastswitch as ls
from lastswitch import rules
from lastswitch.families import random_bandit

some = [rules.at_most(0, plays=3, every=7), rules.rest(1, 2)]
for family in ("spike", "step"):
    for arms, length, seed in ((2, 6, 1), (10, 20, 2), (10, 40, 3)):
        bandit = random_bandit(family, arms, length, seed)
        ruled = ls.Bandit(bandit.curves, rules=some, plays=(0, 2))
        for found in (
            ls.plan_block(bandit, length, start="unknown", time_limit=0.5),
            ls.plan_block(ruled, min(length, 12), time_limit=0.5),
        ):
            assert found.value <= found.bound
    bandit = random_bandit(family, 3, 6, 4)
    ls.optimal_average(bandit)
    ls.plan_cycle(bandit, 8)
print("inside")
"""


def test_no_kernel_reads_outside_its_arrays(tmp_path: Path) -> None:
    """Plans with rules and without, of blocks and cycles, with every place checked."""
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", PLANS], env=checked, capture_output=True, text=True, timeout=300
    )
    assert ran.stdout == "inside\n", ran.stderr
