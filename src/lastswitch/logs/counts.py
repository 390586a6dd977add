"""Counting: events, rewards and their squares for every subject, arm and state.

What a subject did in one state of one arm is a *cell*, and cells are all that is ever taken from a
log: comparisons within subjects need them, and everything else is a sum of them. Subjects are
known by number only. They are dealt at random into groups; the differences between groups carry
everything that makes the events of one subject alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_whole
from lastswitch._utils.extras import load_extra
from lastswitch.errors import LogError

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table


#: Groups the subjects are dealt into. More give steadier intervals and larger results.
GROUPS = 200
#: Cells held at most; a larger log is compared within as many of its subjects as that allows.
MOST_CELLS = 10_000_000
#: Arms that one fit compares, states of one arm, and states of all arms.
MOST_ARMS, MOST_STATES, MOST_TABLE = 20_000, 20_000, 4_000_000
#: Rounds of a stretch: a log of one subject is compared within stretches of this length.
STRETCH = 20


def sum_by(place: NDArray[np.int64], values: FloatArray, size: int) -> FloatArray:
    """Return the sum of ``values`` at each of ``size`` places.

    Examples
    --------
    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(place, values, minlength=size).astype(np.float64)


def check_tables(n_arms: int, rest: int, streak: int) -> None:
    """Refuse more arms, or deeper tables, than a fit can hold.

    Examples
    --------
    >>> check_tables(300_000, rest=60, streak=20)
    Traceback (most recent call last):
    lastswitch.errors.LogError: the log has 300,000 different arms, and a fit compares 20,000 at ...
    """
    check_whole("max_rest", rest, 1, LogError, most=MOST_STATES)
    check_whole("max_streak", streak, 1, LogError, most=MOST_STATES)
    if n_arms > MOST_ARMS:
        raise LogError(
            f"the log has {n_arms:,} different arms, and a fit compares {MOST_ARMS:,} at most; "
            "does the arm column hold what is played, or a number of the event? Keep the arms "
            "that matter, or give groups of them one name."
        )
    if (states := n_arms * (1 + rest + streak)) > MOST_TABLE:
        raise LogError(
            f"{n_arms:,} arms with {rest:,} rests and {streak:,} streaks make {states:,} states, "
            f"more than {MOST_TABLE:,}; lower max_rest, or keep the arms that matter."
        )


class Tally(NamedTuple):
    """How many rewards, their sum and the sum of their squares; arrays of one shape."""

    events: FloatArray
    total: FloatArray
    squares: FloatArray


@dataclass(frozen=True)
class Counts:
    """Events and rewards by subject, arm and state, sorted by arm, subject and state.

    A state is a *column*: 0 is "never played before", ``1..rest`` are rounds of rest, and
    ``rest + 1 .. rest + streak`` are plays in a row before. The last column of a side stands for
    it and everything beyond. Only cells with events are held.
    """

    names: tuple[str, ...]
    rest: int
    streak: int
    groups: int
    subject: NDArray[np.int64]
    arm: NDArray[np.int64]
    column: NDArray[np.int64]
    events: FloatArray
    total: FloatArray
    squares: FloatArray

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1 + self.rest + self.streak

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.names)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The group of every cell's subject. Subjects are numbered by hash: any deal is random."""
        return self.subject % self.groups

    @cached_property
    def pooled(self) -> Tally:
        """Sums over all subjects, shape (arms, columns)."""
        cell = self.arm * self.width + self.column
        return Tally(*(self._summed(cell, values) for values in self.sums))

    @property
    def sums(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three sums of every cell."""
        return self.events, self.total, self.squares

    def by_group(self, arm: int) -> Tally:
        """Return the sums of one arm, shape (groups, columns)."""
        mine = self.rows_of(arm)
        cell = self.group[mine] * self.width + self.column[mine]
        size, shape = self.groups * self.width, (self.groups, self.width)
        tables = [sum_by(cell, sums[mine], size) for sums in self.sums]
        return Tally(*(table.astype(np.float64).reshape(shape) for table in tables))

    def rows_of(self, arm: int) -> slice:
        """Return where the cells of one arm are."""
        low, high = np.searchsorted(self.arm, [arm, arm + 1])
        return slice(int(low), int(high))

    def of_groups(self, chosen: NDArray[np.bool_]) -> Counts:
        """Return the counts of the subjects in some groups only; all arms stay."""
        kept = chosen[self.group]
        return Counts(
            self.names,
            self.rest,
            self.streak,
            self.groups,
            self.subject[kept],
            self.arm[kept],
            self.column[kept],
            *(values[kept] for values in self.sums),
        )

    def centred(self) -> Counts:
        """Return the same cells with each reward taken against its subject's own mean in the log.

        What is left is what a play paid more or less than that subject was used to. Squares, which
        mean nothing then, are dropped.
        """
        size = int(self.subject.max(initial=-1)) + 1
        events = sum_by(self.subject, self.events, size)
        total = sum_by(self.subject, self.total, size)
        usual = np.divide(total, events, out=np.zeros(size), where=events > 0)
        beyond = self.total - self.events * usual[self.subject]
        return replace(self, total=beyond, squares=np.zeros_like(beyond))

    def _summed(self, cell: NDArray[np.int64], values: FloatArray) -> FloatArray:
        size = self.n_arms * self.width
        sums = sum_by(cell, values, size)
        return sums.reshape(self.n_arms, self.width)


class Census(NamedTuple):
    """What counting found besides the counts.

    ``tied`` are the pairs of consecutive events that have no order, among ``pairs``. ``share`` is
    the part of all subjects that the counts hold. ``silent`` are arms without a single reward.
    """

    counts: Counts
    plays: int
    merged: int
    tied: int
    pairs: int
    share: float
    silent: tuple[str, ...]


def count_states(
    states: Table, connection: Any, rest: int, streak: int, *, one: bool = False, rows: int = 0
) -> Census:
    """Count plays by subject, arm and state, in one pass of the engine.

    With ``one``, the log has no subjects: stretches of its rounds stand for them. A log of so many
    ``rows`` that its cells might be too many is counted first.
    """
    ibis = load_extra("ibis", "logs")
    who = (states["round"] / STRETCH).floor().cast("int64") if one else states.subject.hash()
    cells = (
        states.mutate(column=column_of(states, rest, streak), who=who)
        .group_by(["who", "arm", "column"])
        .aggregate(
            events=ibis._.reward.count(),
            total=ibis._.reward.sum(),
            squares=(ibis._.reward * ibis._.reward).sum(),
            merged=(ibis._.rewarded - 1).clip(lower=0).sum(),
            tied=ibis._.tied.cast("int64").sum(),
            plays=ibis._.count(),
        )
    )
    if rows <= MOST_CELLS:
        return _census(connection.to_pyarrow(cells), rest, streak, 1.0)
    names = ("events", "merged", "tied", "plays")
    sums = cells.aggregate(cells=cells.count(), **{name: cells[name].sum() for name in names})
    whole = connection.to_pyarrow(sums).to_pylist()[0]
    deal = -(-whole["cells"] // MOST_CELLS)
    dealt = cells.filter((cells.who % deal).abs() == 0) if deal > 1 else cells
    census = _census(connection.to_pyarrow(dealt), rest, streak, 1 / deal)
    return census._replace(
        plays=int(whole["events"]),
        merged=int(whole["merged"]),
        tied=int(whole["tied"]),
        pairs=int(whole["plays"]),
    )


def column_of(states: Table, rest: int, streak: int) -> Column:
    """Return the column of every play's state."""
    ibis = load_extra("ibis", "logs")
    return ibis.cases(
        (states["first"], 0),
        (states.tau > 0, ibis.least(states.tau, rest)),
        else_=rest + ibis.least(-states.tau, streak),
    ).cast("int64")


def _census(found: Any, rest: int, streak: int, share: float) -> Census:
    every = found["arm"].unique().to_pylist()
    coded = found["arm"].combine_chunks().dictionary_encode()
    if hasattr(coded, "combine_chunks"):
        coded = coded.combine_chunks()
    whole = {
        name: found[name].to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("who", "column", "events", "merged", "tied", "plays")
    }
    labels = coded.dictionary.to_pylist()
    check_tables(len(labels), rest, streak)
    code = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    heard = np.bincount(code, whole["events"], minlength=len(labels)) > 0
    names = arm_order([label for label, known in zip(labels, heard, strict=True) if known])
    rank = {name: place for place, name in enumerate(names)}
    arm = np.array([rank.get(label, -1) for label in labels], dtype=np.int64)[code]
    _, subject = np.unique(whole["who"], return_inverse=True)
    order = np.lexsort((whole["column"], subject, arm))
    kept = order[whole["events"][order] > 0]
    sums = [
        np.nan_to_num(found[name].to_numpy(zero_copy_only=False).astype(float))[kept]
        for name in ("total", "squares")
    ]
    counts = Counts(
        tuple(names),
        rest,
        streak,
        min(GROUPS, max(int(subject.max(initial=0)) + 1, 1)),
        subject.astype(np.int64)[kept],
        arm[kept],
        whole["column"][kept],
        whole["events"][kept].astype(float),
        *sums,
    )
    return Census(
        counts,
        int(whole["events"].sum()),
        int(whole["merged"].sum()),
        int(whole["tied"].sum()),
        int(whole["plays"].sum()),
        share,
        tuple(sorted(set(every) - set(names))),
    )


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
