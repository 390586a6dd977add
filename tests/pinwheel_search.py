"""Plain searches that decide small pinwheel instances, to check everything else against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

State = tuple[int, ...]


def can_pack(periods: list[int]) -> bool:
    """Tell whether each task can be served at least once in any ``periods[i]`` rounds, for ever."""

    def moves(left: State) -> Iterable[State]:
        for served in range(len(left)):
            after = tuple(
                period if task == served else remaining - 1
                for task, (period, remaining) in enumerate(zip(periods, left, strict=True))
            )
            if min(after) > 0:
                yield after

    return _lives_for_ever(product(*(range(1, period + 1) for period in periods)), moves)


def can_cover(periods: list[int]) -> bool:
    """Tell whether every round can have a task, each at most once in any ``periods[i]`` rounds."""

    def moves(wait: State) -> Iterable[State]:
        for served in range(len(wait)):
            if wait[served] == 0:
                yield tuple(
                    period - 1 if task == served else max(remaining - 1, 0)
                    for task, (period, remaining) in enumerate(zip(periods, wait, strict=True))
                )

    return _lives_for_ever(product(*map(range, periods)), moves)


def _lives_for_ever(states: Iterable[State], moves: Callable[[State], Iterable[State]]) -> bool:
    """Tell whether some state never runs out of moves, by removing those that do."""
    alive = set(states)
    while True:
        dead = {state for state in alive if not any(after in alive for after in moves(state))}
        if not dead:
            return bool(alive)
        alive -= dead
