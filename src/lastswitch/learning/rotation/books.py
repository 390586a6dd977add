"""The books of a rotation learner: what was played and paid in every (arm, state).

Everything is kept per (arm, raw state): streaks to -16, then rests to a deep maximum, each with the
number of rewards, their sum, the sum of their squares, and the plays whose reward is still out. The
planner's tables are shallower: their last cells pool everything deeper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.errors import PolicyError
from lastswitch.learning.policy.checks import check_cells, check_counted
from lastswitch.learning.rotation.prior import Prior

#: Streak states kept apart in memory.
STREAKS = 16
#: The tables, in the order of files.
TABLES = ("counts", "sums", "squares", "pending")
#: Rests from here on borrow from their neighbours (see :func:`borrow`).
_LONE_RESTS = 8
_NEIGHBOURS = 2
_BORROWED = 2.0
#: A fraction of a success granted to every cell seen, so that one unlucky zero does not bury it.
_GRANTED = 0.2


class Seen(NamedTuple):
    """Counts, sums and squares per (arm, raw state), and how many plays and states these are."""

    n: FloatArray
    s: FloatArray
    q: FloatArray
    plays: float
    states: int


class Books:
    """What was played and paid in every (arm, state).

    Examples
    --------
    >>> books = Books(n_arms=2, max_depth=8)
    >>> cell = books.cell(1, 3)
    >>> books.out[cell] += 1.0
    >>> books.pay(cell, 0.5)
    >>> float(books.counts[1].sum()), float(books.pending.sum())
    (1.0, 0.0)
    """

    def __init__(self, n_arms: int, max_depth: int) -> None:
        self.max_depth = max_depth
        check_cells("its tables", n_arms * (STREAKS + max_depth))
        self.take(dict.fromkeys(TABLES, np.zeros((n_arms, STREAKS + max_depth))))
        #: The latest round of any subject, and the round up to which what was seen has faded.
        self.latest, self.faded = 0, 0

    def take(self, tables: Mapping[str, FloatArray]) -> None:
        """Hold these tables from now on."""
        self.counts, self.sums, self.squares, self.pending = (
            np.array(tables[name], dtype=float) for name in TABLES
        )
        # Flat views, whose single entries are read and written without NumPy's cost.
        self.seen, self.paid = flat(self.counts), flat(self.sums)
        self.squared, self.out = flat(self.squares), flat(self.pending)
        self._settled = np.empty((3, *self.counts.shape))

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def check(self) -> None:
        """Refuse tables that no plays leave."""
        check_counted(self.counts, self.sums)
        check_counted(self.counts, self.squares)
        check_counted(self.pending, np.zeros_like(self.pending))

    def cell(self, arm: int, tau: int) -> int:
        """Return where the raw state of ``arm`` is kept in the flat tables."""
        base = arm * (STREAKS + self.max_depth)
        if tau > 0:
            return base + STREAKS - 1 + (tau if tau < self.max_depth else self.max_depth)
        return base + (min(-tau, STREAKS) or 1) - 1

    def pay(self, cell: int, reward: float) -> None:
        """Enter the reward of a play that was out."""
        self.out[cell] -= 1.0
        self.seen[cell] += 1.0
        self.paid[cell] += reward
        self.squared[cell] += reward * reward

    def absorb(self, prior: Prior, rewards: tuple[float, float], first: int = 0) -> None:
        """Count the observations of a prior, of the arms from ``first`` on, as seen."""
        low, high = rewards
        streaks = np.minimum(np.arange(prior.streak_counts.shape[1]), STREAKS - 1)
        rests = STREAKS + np.minimum(np.arange(prior.rest_counts.shape[1]), self.max_depth - 1)
        for where, counts, sums in (
            (streaks, prior.streak_counts, prior.streak_sums),
            (rests, prior.rest_counts, prior.rest_sums),
        ):
            for column, state in enumerate(where.tolist()):
                n = counts[:, column]
                paid = np.clip((sums[:, column] - low * n) / (high - low), 0.0, n)
                self.counts[first:, state] += n
                self.sums[first:, state] += paid
                self.squares[first:, state] += paid  # as rewards of 0 or 1

    def grow(self) -> None:
        """Make room for one more arm."""
        check_cells("its tables", (len(self.counts) + 1) * self.counts.shape[1])
        self.take({name: with_row(table) for name, table in self.tables().items()})

    def fade(self, memory: float) -> None:
        """Let what was seen count for less, by how long ago it was: to 1/e in ``memory`` rounds."""
        kept = math.exp((self.faded - self.latest) / memory)
        for table in (self.counts, self.sums, self.squares):
            table *= kept
        self.faded = self.latest

    def add(self, news: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Add tables of the same depth and no more arms."""
        tables = {name: np.asarray(news[name], dtype=float) for name in TABLES}
        n_arms, states = self.counts.shape
        for table in tables.values():
            if table.ndim != 2 or len(table) > n_arms or table.shape[1] != states:
                raise PolicyError(
                    f"news of shape {table.shape} does not fit tables of {n_arms} arms and "
                    f"{states} states; they are of a learner of more arms, or another max_depth."
                )
        for name, table in tables.items():
            getattr(self, name)[: len(table)] += table

    def settle(self) -> Seen:
        """Count plays whose reward is still out as if they had paid the mean so far (1/2 if none).

        What is returned is written over by the next call.
        """
        n, s, q = self._settled
        plays, states = settle(self.counts, self.sums, self.squares, self.pending, n, s, q)
        return Seen(n, s, q, plays, states)


def flat(table: FloatArray) -> Any:
    """Return a flat view of ``table`` whose entries are plain floats."""
    return memoryview(table.reshape(-1))  # type: ignore[arg-type]


def with_row(table: FloatArray) -> FloatArray:
    """Return ``table`` with one more row, of zeros."""
    return np.vstack([table, np.zeros_like(table[:1])])


@jit
def settle(
    counts: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    pending: FloatArray,
    n: FloatArray,
    s: FloatArray,
    q: FloatArray,
) -> tuple[float, int]:
    """Fill in ``n``, ``s`` and ``q``; return how many plays and states: :meth:`Books.settle`."""
    plays, states = 0.0, 0
    for arm in range(n.shape[0]):
        for state in range(n.shape[1]):
            seen, out = counts[arm, state], pending[arm, state]
            paid, squared = sums[arm, state], squares[arm, state]
            if out > 0.0:
                paid += out * (sums[arm, state] / seen if seen > 0.0 else 0.5)
                squared += out * (squares[arm, state] / seen if seen > 0.0 else 0.5)
                seen += out
            n[arm, state], s[arm, state], q[arm, state] = seen, paid, squared
            plays += seen
            states += seen != 0.0
    return plays, states


def gathered(seen: Seen, streaks: int, depths: IntArray) -> FloatArray:
    """Return counts, sums and squares per (arm, cell), stacked.

    The last streak cell and the last rest cell pool what is deeper.
    """
    table = np.zeros((3, len(depths), streaks + int(depths.max())))
    gather(*seen[:3], streaks, depths, *table)
    return table


@jit
def gather(
    n: FloatArray,
    s: FloatArray,
    q: FloatArray,
    streaks: int,
    depths: IntArray,
    counts: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
) -> None:
    """Add to ``counts``, ``sums`` and ``squares`` per (arm, cell) what was seen per raw state."""
    for arm in range(n.shape[0]):
        last = streaks + depths[arm] - 1
        for state in range(n.shape[1]):
            if state < STREAKS:
                cell = state if state < streaks else streaks - 1
            else:
                cell = streaks + state - STREAKS
                cell = cell if cell < last else last
            counts[arm, cell] += n[arm, state]
            sums[arm, cell] += s[arm, state]
            squares[arm, cell] += q[arm, state]


def pooled(seen: Seen, streaks: int, depths: IntArray) -> FloatArray:
    """Return what :func:`gathered` does, with a little help for indices that judge cells singly.

    A rest beyond the first few borrows up to two observations from the rests around it: curves
    that end early then cost little, and one that has a surprise deep down still shows it. A cell
    seen at all is granted a fraction of a success.
    """
    table = gathered(seen, streaks, depths)
    borrow(*seen[:3], streaks, depths, table)
    return table


@jit
def borrow(
    n: FloatArray,
    s: FloatArray,
    q: FloatArray,
    streaks: int,
    depths: IntArray,
    table: FloatArray,
) -> None:
    """Add to ``table`` what cells borrow and are granted; see :func:`pooled`."""
    n_arms, raw = n.shape
    for arm in range(n_arms):
        last = streaks + depths[arm] - 1
        for cell in range(streaks + _LONE_RESTS, last + 1):
            middle = STREAKS + cell - streaks
            near_n, near_s, near_q = 0.0, 0.0, 0.0
            for state in range(middle - _NEIGHBOURS, middle + _NEIGHBOURS + 1):
                if state != middle and state < raw:
                    near_n += n[arm, state]
                    near_s += s[arm, state]
                    near_q += q[arm, state]
            if near_n > 0.0:
                share = (near_n if near_n < _BORROWED else _BORROWED) / near_n
                table[0, arm, cell] += share * near_n
                table[1, arm, cell] += share * near_s
                table[2, arm, cell] += share * near_q
        for cell in range(last + 1):
            if table[0, arm, cell] > 0.0:
                for k in range(3):
                    table[k, arm, cell] += _GRANTED
