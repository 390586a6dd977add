"""One clock per call: how long it has run, whether it must stop, and whom to tell meanwhile.

Long kernels work in slices and look at the clock in between, so a limit holds whatever the size
of the problem, and Ctrl-C, which Python answers between two slices, is answered soon.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from lastswitch._utils.progress import Progress, Report, reporter

#: Seconds between two reports of progress.
TELL_EVERY = 0.1
#: Seconds for putting an answer together after Ctrl-C.
GRACE = 0.3


class OutOfTime(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The time is over; whoever catches this has a fallback."""


class Clock:
    """The time of one call.

    Parameters
    ----------
    time_limit
        Seconds from now, or None.
    report
        Whom to tell, or None.

    Examples
    --------
    >>> clock = Clock(None)
    >>> clock.over, clock.left
    (False, inf)
    """

    def __init__(self, time_limit: float | None, report: Report | None = None) -> None:
        self.began = self._told = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.forgiven = 0.0  # seconds that kernels were compiled or loaded, which nobody pays for
        self._report = report
        self._whole: Clock | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.began

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return not math.isinf(self.deadline)

    @property
    def spent(self) -> float:
        """Seconds since the call began, without those forgiven."""
        return self.seconds - self.forgiven

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(self.deadline - time.perf_counter(), 0.0)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.deadline

    def check(self) -> None:
        """Raise :class:`OutOfTime` if the time is over."""
        if self.over:
            raise OutOfTime

    def stop(self) -> None:
        """Bring the end of the whole call about, on Ctrl-C: just enough is left for an answer."""
        self.deadline = min(self.deadline, time.perf_counter() + GRACE)
        if self._whole is not None:
            self._whole.stop()

    def forgive(self, seconds: float) -> None:
        """Leave these out: kernels were compiled or loaded meanwhile."""
        self.deadline += seconds
        self.forgiven += seconds
        if self._whole is not None:
            self._whole.forgive(seconds)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Leave what is inside when the time is over, or on Ctrl-C, which ends the call soon.

        Examples
        --------
        >>> clock = Clock(60.0)
        >>> with clock.ending():
        ...     raise KeyboardInterrupt
        >>> clock.left < 1
        True
        """
        try:
            with interrupts():
                yield
        except OutOfTime:
            pass
        except KeyboardInterrupt:
            self.stop()

    def part(self, share: float, most: float = math.inf) -> Clock:
        """Return a clock for a share of the time left, with the same listener."""
        part = Clock(None, self._report)
        part.deadline = min(part.began + min(self.left * share, most), self.deadline)
        part.began, part._told, part._whole = self.began, self._told, self
        return part

    @property
    def limit(self) -> float | None:
        """What is left as a solver's time limit: None if there is none, and never 0."""
        return None if math.isinf(self.deadline) else max(self.left, 1e-3)

    def tell(self, value: float, bound: float) -> None:
        """Report the best value and bound so far, not more often than anyone can read."""
        now = time.perf_counter()
        if self._report is not None and now >= self._told + TELL_EVERY:
            self._told = now
            self._report(Progress(now - self.began, value=value, bound=bound))


@contextmanager
def interrupts() -> Iterator[None]:
    """Let Ctrl-C come as a KeyboardInterrupt, always.

    Python answers it between two of its own steps. A kernel that hands over arrays takes such
    steps on its way out, and what it finds there it wraps in a SystemError.

    Examples
    --------
    >>> try:
    ...     with interrupts():
    ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    try:
        yield
    except SystemError as error:
        reason: BaseException | None = error
        while reason is not None and not isinstance(reason, KeyboardInterrupt):
            reason = reason.__cause__ or reason.__context__
        if reason is None:
            raise
        raise KeyboardInterrupt from None


@contextmanager
def running(time_limit: float | None, progress: bool | Report | None, what: str) -> Iterator[Clock]:
    """Yield the clock of a call, its progress shown as asked for.

    Examples
    --------
    >>> with running(5.0, None, "planning") as clock:
    ...     clock.over
    False
    """
    if time_limit is not None:
        _ready()
    with reporter(progress, what) as report, interrupts():
        yield Clock(time_limit, None if progress is None or progress is False else report)


@lru_cache(maxsize=1)
def _ready() -> None:
    """Solve a small case of everything once: no limit pays for compiling or loading kernels."""
    from lastswitch.model.instances import pinwheel
    from lastswitch.planning.cycles import plan_cycle
    from lastswitch.planning.optima.totals import optimal_average, optimal_total, ready_to_search

    bandit = pinwheel([2, 3])  # its frequency bound proves nothing, so every kernel is called
    plan_cycle(bandit, 5)
    optimal_average(bandit)
    optimal_total(bandit, 12)
    ready_to_search(bandit, 60)
