"""Run every benchmark in turn, each in a process of its own: ``python -m benchmarks [--quick]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run all benchmarks; return how many failed."""
    folder = Path(__file__).parent
    names = sorted(path.stem for path in folder.glob("[a-z]*.py") if path.stem not in NOT_RUN)
    failed = 0
    for name in names:
        print(f"\n== benchmarks.{name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]]
        failed += subprocess.run(command, cwd=folder.parent, check=False).returncode != 0
    return failed


#: Modules of this folder that measure nothing themselves.
NOT_RUN = {"page"}

if __name__ == "__main__":
    sys.exit(main())
