"""Counting: events, rewards and their squares for every arm and state, by group of subjects.

Subjects are dealt at random into a fixed number of groups. The differences between groups then
carry everything that makes the events of one subject alike, so intervals and resampling over
subjects need the groups' sums only: their size does not grow with the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._extras import load_extra

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

Floats = NDArray[np.float64]

#: Groups the subjects are dealt into. More give steadier intervals and larger results.
GROUPS = 200


class Tally(NamedTuple):
    """How many rewards, their sum and the sum of their squares; arrays of one shape."""

    events: Floats
    total: Floats
    squares: Floats


@dataclass(frozen=True)
class Counts:
    """Events and rewards by group of subjects, arm and state.

    A state is a *column*: 0 is "never played before", ``1..rest`` are rounds of rest, and
    ``rest + 1 .. rest + streak`` are plays in a row before. The last column of a side stands for
    it and everything beyond. Only cells with events are held.
    """

    names: tuple[str, ...]
    rest: int
    streak: int
    groups: int
    group: NDArray[np.int64]
    arm: NDArray[np.int64]
    column: NDArray[np.int64]
    events: Floats
    total: Floats
    squares: Floats

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1 + self.rest + self.streak

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.names)

    @cached_property
    def pooled(self) -> Tally:
        """Sums over all groups, shape (arms, columns)."""
        cell = self.arm * self.width + self.column
        return Tally(*(self._summed(cell, values) for values in self._sums))

    def by_group(self, arm: int) -> Tally:
        """Return the sums of one arm, shape (groups, columns)."""
        mine = self._rows_of(arm)
        cell = self.group[mine] * self.width + self.column[mine]
        size, shape = self.groups * self.width, (self.groups, self.width)
        tables = [np.bincount(cell, sums[mine], minlength=size) for sums in self._sums]
        return Tally(*(table.astype(np.float64).reshape(shape) for table in tables))

    @property
    def _sums(self) -> tuple[Floats, Floats, Floats]:
        return self.events, self.total, self.squares

    def _summed(self, cell: NDArray[np.int64], values: Floats) -> Floats:
        size = self.n_arms * self.width
        sums = np.bincount(cell, values, minlength=size).astype(np.float64)
        return sums.reshape(self.n_arms, self.width)

    def _rows_of(self, arm: int) -> slice:
        """Cells are sorted by arm, so those of one arm are a slice."""
        low, high = np.searchsorted(self.arm, [arm, arm + 1])
        return slice(int(low), int(high))


class Census(NamedTuple):
    """What counting found besides the counts."""

    counts: Counts
    plays: int
    merged: int
    copies: int


def count_states(states: Table, connection: Any, rest: int, streak: int) -> Census:
    """Count plays by group of subjects, arm and state, in one pass of the engine."""
    ibis = load_extra("ibis", "logs")
    cells = (
        states.mutate(column=column_of(states, rest, streak), group=subject_group(states.subject))
        .group_by(["group", "arm", "column"])
        .aggregate(
            events=ibis._.reward.count(),
            total=ibis._.reward.sum(),
            squares=(ibis._.reward * ibis._.reward).sum(),
            plays=(~ibis._.copy).cast("int64").sum(),
            merged=(ibis._.events - 1).clip(lower=0).sum(),
            copies=ibis._.copies.sum(),
        )
    )
    found = connection.to_pyarrow(cells)
    return _census(found, rest, streak)


def column_of(states: Table, rest: int, streak: int) -> Column:
    """Return the column of every play's state; copies, which have none, are put in column 0."""
    ibis = load_extra("ibis", "logs")
    return ibis.cases(
        (states.first | states.copy, 0),
        (states.tau > 0, ibis.least(states.tau, rest)),
        else_=rest + ibis.least(-states.tau, streak),
    ).cast("int64")


def subject_group(subject: Column) -> Column:
    """Return the group each subject is dealt into, from 0 to ``GROUPS - 1``."""
    # Engines hash to signed numbers; the second remainder makes every group non-negative.
    return ((subject.hash() % GROUPS + GROUPS) % GROUPS).cast("int64")


def _census(found: Any, rest: int, streak: int) -> Census:
    names = arm_order(found["arm"].unique().to_pylist())
    codes = {name: code for code, name in enumerate(names)}
    arm = np.array([codes[name] for name in found["arm"].to_pylist()], dtype=np.int64)
    whole = {
        name: found[name].to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("group", "column", "events", "plays", "merged", "copies")
    }
    order = np.lexsort((whole["column"], whole["group"], arm))
    kept = order[whole["events"][order] > 0]
    sums = {
        name: np.nan_to_num(found[name].to_numpy(zero_copy_only=False).astype(float))[kept]
        for name in ("total", "squares")
    }
    counts = Counts(
        tuple(names),
        rest,
        streak,
        GROUPS,
        whole["group"][kept],
        arm[kept],
        whole["column"][kept],
        whole["events"][kept].astype(float),
        sums["total"],
        sums["squares"],
    )
    plays, merged, copies = (int(whole[name].sum()) for name in ("plays", "merged", "copies"))
    return Census(counts, plays, merged, copies)


def arm_order(names: list[str]) -> list[str]:
    """Return the arms in the order people expect: numbers by size, names by letter.

    Examples
    --------
    >>> arm_order(["10", "9"]), arm_order(["talk", "jazz"])
    (['9', '10'], ['jazz', 'talk'])
    """
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)
