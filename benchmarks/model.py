"""The model's speed: rounds per second of a fixed sequence, and what importing costs.

Run as ``python -m benchmarks.model [--quick]``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from time import process_time

import numpy as np

from lastswitch import Bandit
from lastswitch._utils.random import stream
from lastswitch.model import block_reference as _block_reference
from lastswitch.model.blocks import block_pays
from lastswitch.model.instances import five_arms, random_bandit

#: What the kernel must do on one core, in rounds per second.
FLOOR = 10e6
#: What importing the package may cost, in imports of NumPy.
IMPORT_CEILING = 2.5


def main() -> int:
    """Print both tables; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and repeats")
    quick = parser.parse_args().quick
    slowest = simulate(rounds=1_000_000 if quick else 5_000_000, repeats=3 if quick else 7)
    ratio = imports(repeats=5 if quick else 15)
    return int(slowest < FLOOR or ratio > IMPORT_CEILING)


def simulate(rounds: int, repeats: int) -> float:
    """Time the compiled pass against the plain reference; return the slowest rate seen."""
    cases = {
        "five-arms, its best cycle": (five_arms(), np.array([1, 0, 2, 2, 0, 2, 2, 0, 2])),
        **{
            f"{family}, {n_arms} arms, at random": (
                random_bandit(family, n_arms, 12, seed=0),
                stream(0, "block", family).integers(0, n_arms, 997),
            )
            for family, n_arms in (("mixed", 20), ("satiating", 3), ("seasonal", 100))
        },
    }
    print(f"{'a fixed sequence':<32}{'kernel':>14}{'reference':>14}{'ratio':>8}")
    slowest = np.inf
    for name, (bandit, cycle) in cases.items():
        block = np.resize(cycle, rounds)
        block_pays(bandit, block[:10])  # compiled before the clock starts
        fast = rounds / min(_seconds(block_pays, bandit, block) for _ in range(repeats))
        slow = _reference_rate(bandit, block)
        print(f"{name:<32}{fast / 1e6:>10.1f} M/s{slow / 1e6:>10.3f} M/s{fast / slow:>7.0f}×")
        slowest = min(slowest, fast)
    print(f"slowest: {slowest / 1e6:.1f} million rounds per second (bar: {FLOOR / 1e6:.0f})")
    return slowest


def _reference_rate(bandit: Bandit, block: np.ndarray, rounds: int = 5_000) -> float:
    """Return the rounds per second of the plain reference, which must agree with the kernel."""
    start = process_time()
    pays = _block_reference.pays_of_block(bandit, block[:rounds].tolist(), bandit.initial)
    seconds = process_time() - start
    if not np.array_equal(pays, block_pays(bandit, block[:rounds])):
        raise AssertionError("the kernel and the reference disagree")
    return rounds / seconds


def _seconds(function, *arguments) -> float:
    start = process_time()
    function(*arguments)
    return process_time() - start


def imports(repeats: int) -> float:
    """Time ``import lastswitch`` against ``import numpy`` in turn; return the ratio."""
    modules = ("numpy", "lastswitch")
    seconds = dict.fromkeys(modules, np.inf)
    for _ in range(repeats):
        for module in modules:  # side by side, so that a busy machine slows both
            seconds[module] = min(seconds[module], _import_seconds(module))
    ratio = seconds["lastswitch"] / seconds["numpy"]
    print(
        f"\nimport numpy {seconds['numpy'] * 1e3:.0f} ms, "
        f"import lastswitch {seconds['lastswitch'] * 1e3:.0f} ms: "
        f"ratio {ratio:.2f} (bar: {IMPORT_CEILING})"
    )
    return ratio


def _import_seconds(module: str) -> float:
    code = (
        "from time import perf_counter; start = perf_counter(); "
        f"import {module}; print(perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
