"""How far a sweep is: a bar with the time left, for whoever wants one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Called with how many tasks are done and how many there are.
Report: TypeAlias = Callable[[int, int], None]


@contextmanager
def reporting(progress: bool | Report, what: str) -> Iterator[Report]:
    """Yield the function to report progress to: a bar, the caller's own, or nobody.

    The bar goes to standard error, and only to a terminal.

    Examples
    --------
    >>> with reporting(lambda done, total: print(done, "of", total), "tasks") as report:
    ...     report(1, 2)
    1 of 2
    """
    if callable(progress):
        yield progress
    elif progress:
        yield from _bar(what)
    else:
        yield lambda done, total: None


def _bar(what: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
