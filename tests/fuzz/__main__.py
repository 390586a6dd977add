"""``python -m fuzz [name ...] [--seconds 60] [--seed N]``: run checks until the time is over."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import traceback

import fuzz

parser = argparse.ArgumentParser(prog="fuzz", description=fuzz.__doc__)
parser.add_argument("names", nargs="*", help="checks or areas; all of them by default")
parser.add_argument("--seconds", type=float, default=60.0, help="for each check")
parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
parser.add_argument("--seed", type=int, help="run this seed only")
given = parser.parse_args()
names = [
    name
    for name in fuzz.checks()
    if not given.names or any(name == each or name.startswith(f"{each}.") for each in given.names)
]
if not names:
    parser.error(f"no check is named so; there are {', '.join(fuzz.checks())}")
failures = 0
for name in names:
    end, tried, failed = time.monotonic() + given.seconds, 0, 0
    for seed in [given.seed] if given.seed is not None else itertools.count(given.first):
        tried += 1
        try:
            fuzz.run(name, seed)
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
        if time.monotonic() >= end:
            break
    failures += failed
    print(f"{name}: {tried} tried, {failed} failed", flush=True)
sys.exit(failures > 0)
