"""How many streams of events there are: of one key, and of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from lastswitch.service.problems import Problem


class Streams:
    """Counts streams, and refuses one too many.

    Parameters
    ----------
    of_one, of_all
        How many there may be of one key, and of all.

    Examples
    --------
    >>> streams = Streams(1, 2)
    >>> with streams.one_more("ann"):
    ...     streams.check("bob")
    ...     try:
    ...         streams.check("ann")
    ...     except Problem as problem:
    ...         print(problem)
    a key watches up to 1 streams of events at once; close one.
    """

    def __init__(self, of_one: int, of_all: int) -> None:
        self._of_one, self._of_all = of_one, of_all
        self._open: Counter[str] = Counter()

    def check(self, key: str) -> None:
        """Refuse a stream of a key that has as many as it may."""
        if self._open[key] >= self._of_one:
            words = f"a key watches up to {self._of_one} streams of events at once; close one."
            raise Problem(429, "streams", words, retry_after=5)
        if self._open.total() >= self._of_all:
            raise Problem(429, "streams", "too many watch; try again in a moment.", retry_after=5)

    @contextmanager
    def one_more(self, key: str) -> Iterator[None]:
        """Count a stream while it is open."""
        self.check(key)
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            self._open += Counter()  # forget who has none
