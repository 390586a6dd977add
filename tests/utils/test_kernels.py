"""The one way this package compiles: what it leaves out, and that no kernel leaves its arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from lastswitch._utils import jit as _kernels
from lastswitch._utils.jit import jit


def doubled(numbers: Any) -> float:
    """Add numbers up, twice."""
    total = 0.0
    for k in range(len(numbers)):
        total += inlined(numbers, k) + called(numbers, k)
    return total


@jit(inline=True)
def inlined(numbers: Any, k: int) -> float:
    """Return a number, in the caller's loop."""
    return float(numbers[k])


@jit(inner=True)
def called(numbers: Any, k: int) -> float:
    """Return a number, by a call."""
    return float(numbers[k - len(numbers)])


@pytest.mark.parametrize("makes_arrays", [False, True])
def test_kernels_that_call_and_copy_others(makes_arrays: bool) -> None:
    """A place before the first counts from the end, as everywhere in Python."""
    numbers = np.arange(5.0)
    assert jit(makes_arrays=makes_arrays)(doubled)(numbers) == 20.0


def test_options_that_numba_does_not_have_are_left_out() -> None:
    """Undocumented ones are asked for by name; kernels without any of them do the same."""
    assert _kernels._PLAIN == {"_nrt": False}
    assert _kernels._understood(_nrt=False, no_such_option=1) == {"_nrt": False}
    plain = {"nogil": True, "error_model": "numpy"}
    assert numba.njit(**plain)(doubled)(np.arange(5.0)) == 20.0


PLANS = """
import numpy as np
import lastswitch as ls
from lastswitch import rules
from lastswitch.model.families import random_bandit

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
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "LASTSWITCH_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", PLANS], env=checked, capture_output=True, text=True, timeout=300
    )
    assert ran.stdout == "inside\n", ran.stderr
