"""A version of a rotation is tried out in a process of its own before it is stored.

Whatever it does there, take all memory, never end or crash, it does to that process alone: the
version is refused and nobody else hears of it. The process is kept for the next version, and ends
when nothing comes for a while, or when the one that started it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any

from lastswitch.errors import ServiceError
from lastswitch.service.rotation import Version, make_version

#: Seconds and bytes that making a decider may take, and seconds to wait for another's trial.
SECONDS, MEMORY, PATIENCE = 20.0, 2 << 30, 60.0
#: Seconds for the process to start, compiling kernels if need be, and to wait for more to do.
_STARTING, _IDLE = 300.0, 60.0
#: Small rotations that between them use what deciding is compiled of.
_ARMS = [{"name": name, "rest": [0.2, 0.5], "streak": [0.1]} for name in "ab"]
_RULES = [{"rule": "at_most", "who": "a", "plays": 1, "within": 2}]
_SMALL: tuple[dict[str, Any], ...] = (
    {"arms": _ARMS, "serve": {"decide": "learner"}},
    {"arms": _ARMS, "serve": {"decide": "learner"}, "rules": _RULES},
    {"arms": _ARMS, "serve": {"decide": "plan", "lookahead": 6}},
    {"arms": _ARMS, "serve": {"decide": "plan", "lookahead": 6}, "rules": _RULES},
    {"arms": _ARMS, "serve": {"decide": "cycle", "lookahead": 4}},
)


class Trial:
    """The process in which versions are tried out, started when it is needed."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        #: What the process says, line by line; None when it says no more.
        self._said: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def __call__(self, version: Version) -> None:
        """Refuse a version whose decider cannot be made, and decide once, in the time there is."""
        if not self._lock.acquire(timeout=PATIENCE):
            raise ServiceError("too many rotations are being made; try again in a moment.")
        try:
            self._refuse_broken(version)
        finally:
            self._lock.release()

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()

    def _refuse_broken(self, version: Version) -> None:
        given = [version.rotation, version.number, version.spec, version.arms]
        asked = json.dumps(given).encode() + b"\n"
        said = self._ask(asked)
        if said is None:
            ended = None if self._process is None else self._process.poll()
            self.end()
            why = f"it took more than {self._seconds:g} seconds"
            if ended is not None:
                why = f"it took more than {self._memory >> 20:,} MB"
                if ended < 0 and signal.Signals(-ended).name != "SIGKILL":
                    why = f"it crashed ({signal.Signals(-ended).name})"
            raise ServiceError(
                f"rotation {version.rotation} cannot be made: {why}; give it fewer arms, rules or "
                "rounds to look ahead."
            )
        if said["wrong"] is not None:
            raise ServiceError(f"rotation {version.rotation} cannot be made: {said['wrong']}")

    def _ask(self, asked: bytes) -> Any:
        """Return what the process says; None if it says nothing in time."""
        for _ in range(2):  # one that was idle may end as it is asked
            process = self._started()
            with contextlib.suppress(BrokenPipeError):
                _write(process, asked)
                said = self._line(process, self._seconds)
                if said is not None or process.poll() != 0:
                    return said
            self.end()
        return None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            command = [sys.executable, "-P", "-m", "lastswitch.service.trial", str(self._memory)]
            self._said = queue.SimpleQueue()
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for the service
                )
            except OSError as error:
                raise ServiceError(f"no process to try rotations out in: {error}.") from error
            listening = (self._process.stdout, self._said)
            threading.Thread(target=_listen, args=listening, daemon=True).start()
            if self._line(self._process, _STARTING) is None:
                self.end()
                raise ServiceError("the process to try rotations out in did not start.")
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> Any:
        """Return the next line, as JSON; None if the process ends, or takes too long."""
        try:
            said = self._said.get(timeout=seconds)
        except queue.Empty:
            return None
        if said is None:
            process.wait()
            return None
        return json.loads(said)


def _listen(out: IO[bytes], said: queue.SimpleQueue[bytes | None]) -> None:
    for line in out:
        said.put(line)
    said.put(None)


def _write(process: subprocess.Popen[bytes], asked: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(asked)
    process.stdin.flush()


try_out = Trial()
atexit.register(try_out.end)


# In the process.


def _wrong_with(*version: Any) -> str | None:
    """Return why a version's decider cannot be made, or None."""
    from lastswitch.service.deciders import Decider, warm

    try:
        warm(Decider(make_version(*version)), time.time())
    except MemoryError:
        os._exit(1)  # what is left of it may not suffice to say so
    except Exception as error:
        return str(error) or type(error).__name__
    return None


def _limit(memory: int) -> None:
    """Let this process take so much memory beyond what it has."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not everywhere
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + memory, taken + memory))


def _serve(memory: int) -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints does not answer
    for spec in _SMALL:
        _wrong_with("small", 1, spec)
    _limit(memory)
    answers: Any = {"wrong": None}
    while True:
        print(json.dumps(answers), file=out, flush=True)
        idle = threading.Timer(_IDLE, os._exit, (0,))
        idle.daemon = True
        idle.start()
        line = sys.stdin.readline()
        idle.cancel()
        if not line:
            return
        answers = {"wrong": _wrong_with(*json.loads(line))}


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
