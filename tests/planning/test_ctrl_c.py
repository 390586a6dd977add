"""Ctrl-C among very many arms: a real interrupt, sent to a process that is at work."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

#: Plans without a limit; every report of progress is a line, and so is the answer.
PROGRAM = """
import signal, sys
import numpy as np
import lastswitch as ls

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
size = int(sys.argv[1])
rests = np.sort(rng.random((size, 12)), axis=1)
if sys.argv[2] in ("average", "total"):  # rising curves would be solved too soon
    rests = np.where(np.arange(12) == rng.integers(4, 11, (size, 1)), rests[:, 6:7], 0.1)
bandit = ls.Bandit([ls.Curve(rest, [0.1, 0.0]) for rest in rests])
calls = {
    "cycle": lambda **options: ls.plan_cycle(bandit, 12, **options),
    "best": lambda **options: ls.best_cycle(bandit, 12, **options),
    "average": lambda **options: ls.optimal_average(bandit, max_states=10**9, **options),
    "total": lambda **options: ls.optimal_total(bandit, 1000, max_states=10**9, **options),
}
found = calls[sys.argv[2]](progress=lambda now: print("at work", flush=True))
print("answer", found.optimal, 0 < found.value <= found.bound)
"""
#: Seconds after which an answer is given up: an interrupt that goes unheard is never answered.
GIVE_UP = 120
#: Reports of progress after which another interrupt is sent.
PATIENCE = 30


@pytest.mark.parametrize("call", ["cycle", "best", "average", "total"])
@pytest.mark.parametrize("n_arms", [300, 10_000])
def test_an_interrupt_is_answered_with_the_best_so_far(n_arms, call):
    """The call returns what it has, under a true bound, and the program goes on."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(n_arms), call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    watchdog = threading.Timer(GIVE_UP, child.kill)
    watchdog.start()
    lines: list[str] = []
    try:
        for line in child.stdout:
            # Python drops an interrupt that falls into a destructor, of which loading kernels has
            # many; a person would press the keys again.
            if len(lines) % PATIENCE == 0:
                child.send_signal(signal.SIGINT)
            lines.append(line)
        errors = child.stderr.read()
        child.wait()
    finally:
        watchdog.cancel()
        child.kill()  # nothing, once it has ended
        child.stdout.close()
        child.stderr.close()
    assert lines[0] == "at work\n", errors
    assert lines[-1] == "answer False True\n", errors
    assert child.returncode == 0
