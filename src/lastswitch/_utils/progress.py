"""How far a long call is: one value, for whoever wants to know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from lastswitch.errors import InputTypeError


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long call is.

    Parameters
    ----------
    seconds
        Since it began.
    done, total
        Parts finished, and parts there are; None where that is not known.
    value, bound
        The best found so far and what nothing can exceed; NaN where there is no such thing.

    Examples
    --------
    >>> Progress(seconds=1.5, value=3.0, bound=3.2).gap
    0.2
    """

    seconds: float
    done: int | None = None
    total: int | None = None
    value: float = math.nan
    bound: float = math.nan

    @property
    def gap(self) -> float:
        """How far the best found so far can be from the best possible."""
        return round(self.bound - self.value, 12)


#: Called now and then during a long call.
Report: TypeAlias = Callable[[Progress], object]


@contextmanager
def reporter(progress: bool | Report | None, what: str = "working") -> Iterator[Report]:
    """Yield the function to report to: a bar called ``what``, the caller's own, or nobody.

    The bar goes to standard error, and only to a terminal.

    Examples
    --------
    >>> with reporter(lambda now: print(now.done, "of", now.total)) as report:
    ...     _ = report(Progress(0.1, done=1, total=2))
    1 of 2
    """
    if progress is None or progress is False:
        yield _nobody
    elif progress is True:
        yield from _bar(what)
    elif callable(progress):
        yield progress
    else:
        raise InputTypeError(
            f"progress must be None, True or a function of one Progress, got {progress!r}."
        )


def _nobody(now: Progress) -> None:
    """Report to no one."""


def _bar(what: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nobody
        return
    with Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=None, state="")
        yield lambda now: bar.update(
            task, completed=now.done or 0, total=now.total, state=_state(now)
        )


def _state(now: Progress) -> str:
    """Return what the bar says beside itself.

    Examples
    --------
    >>> _state(Progress(1.0, 3, 10)), _state(Progress(1.0, value=3.0, bound=3.2))
    ('3/10', 'value 3.0000, at most 3.2000')
    """
    parts = []
    if now.done is not None:
        parts.append(f"{now.done:,}" + ("" if now.total is None else f"/{now.total:,}"))
    if not math.isnan(now.value):
        best = f"value {now.value:.4f}"
        parts.append(best if math.isnan(now.bound) else f"{best}, at most {now.bound:.4f}")
    return "  ".join(parts)
