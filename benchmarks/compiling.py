"""What a first call compiles, in processor seconds: ``python -m benchmarks.compiling``.

A block is planned, or a learner asked and told for some rounds, in a new process that finds nothing
compiled, and in another that finds everything: the difference is what compiling takes.
``--against FOLDER`` does the same with another checkout of this project, turn by turn. ``--quick``
for one turn, kept nowhere.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from benchmarks._table import keep, print_table

HERE = Path(__file__).parent.parent
#: Blocks of which each needs more of the search than the one before: family, arms, rounds, seed.
BLOCKS = {
    "prices and beams": ("uniform", 5, 20, 1),
    "deletions and pairs of arms": ("step", 10, 20, 1),
    "growing products": ("spike", 10, 40, 2),
}
#: Learners, by the options of their bandit.
LEARNERS = {"a learner's first 300 rounds": (), "those of one under rules": ("rules",)}
TURNS = 5
PLAN = """
import sys, time
from benchmarks._problems import problem
from lastswitch.planning import plan_block
family, *numbers = sys.argv[1:]
case = problem(family, *map(int, numbers))
began = time.process_time()
plan_block(case, time_limit=60.0)
print(time.process_time() - began)
"""
LEARN = """
import sys, time
import lastswitch as ls
from lastswitch import rules as r
ruled = {"rules": [r.at_most(0, 2, within=7)], "plays": (0, 2)} if sys.argv[1:] else {}
curves = [ls.curves.step(rest, 0.9 - 0.1 * rest) for rest in range(1, 6)]
policy = ls.RotationUCB.for_bandit(ls.Bandit(curves, **ruled))
began = time.process_time()
for _ in range(300):
    for pull in policy.ask_round():
        policy.tell(pull.id, float(pull.tau > pull.arm))
print(time.process_time() - began)
"""


def compiling(checkout: Path, script: str, given: tuple[Any, ...]) -> float:
    """Return how many seconds longer a script takes when nothing has been compiled."""
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds(checkout, script, given, cache)
        return cold - seconds(checkout, script, given, cache)


def seconds(checkout: Path, script: str, given: tuple[Any, ...], cache: str) -> float:
    """Run a script in a new process; return the processor seconds that it prints."""
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (checkout, checkout / "src")))}
    ran = subprocess.run(
        [sys.executable, "-c", script, *map(str, given)],
        env=os.environ | paths | {"NUMBA_CACHE_DIR": cache},
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return float(ran.stdout)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout to compare with")
    parser.add_argument("--quick", action="store_true", help="one turn, kept nowhere")
    options = parser.parse_args()
    checkouts = {"seconds": HERE}
    if options.against is not None:
        other = options.against.resolve()
        version = tomllib.loads((other / "pyproject.toml").read_text())["project"]["version"]
        checkouts[f"seconds of version {version}"] = other
    calls: dict[str, tuple[str, tuple[Any, ...]]] = {
        **{needs: (PLAN, block) for needs, block in BLOCKS.items()},
        **{needs: (LEARN, given) for needs, given in LEARNERS.items()},
    }
    least: dict[str, dict[str, float]] = {needs: {} for needs in calls}
    for _ in range(1 if options.quick else TURNS):
        for needs, call in calls.items():
            for name, checkout in checkouts.items():
                took = compiling(checkout, *call)
                least[needs][name] = min(took, least[needs].get(name, took))
    rows: list[dict[str, Any]] = [{"needed": needs, **least[needs]} for needs in calls]
    print_table("compiling", rows)
    if not options.quick:
        about = (
            "Processor seconds that a first block, or a learner's first rounds, take longer when "
            f"nothing has been compiled: the least of {TURNS} turns, each in processes of its own. "
            "Later ones, of this process and all others, find what is on disk."
        )
        keep("compiling", "What a first call compiles", about, {"blocks": rows})


if __name__ == "__main__":
    main()
