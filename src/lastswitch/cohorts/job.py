"""The work on one part, the same wherever it is done: who stands where, and what they play."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit
from lastswitch.cohorts.problem import CohortProblem, distinct_rows
from lastswitch.cohorts.roster import Roster, roster_of, text_buffers
from lastswitch.cohorts.rows import Tally, table_of, tally_of
from lastswitch.cohorts.solving import Solution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastswitch.calendars.calendar import Calendar


class Census(NamedTuple):
    """Different standings and weights, and how many subjects have each."""

    rows: IntArray
    weights: FloatArray
    counts: IntArray


class Found(NamedTuple):
    """Some subjects by where they stand, their keys and their weights."""

    standings: IntArray
    key: NDArray[np.uint64]
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Job:
    """Everything the work on a part needs besides the part itself.

    ``lookback`` and ``known`` are as in :func:`~lastswitch.cohorts.roster.roster_of`; the
    ``solution`` is there once prices are known.
    """

    problem: CohortProblem
    calendar: Calendar | None = None
    known: int | None = 0
    solution: Solution | None = None

    @cached_property
    def lookback(self) -> int:
        """How many rounds before the plan its rules look at."""
        return max([0, *(memory.reach for memory in self.problem.memories)])

    def solved(self, solution: Solution) -> Job:
        """Return the job with its prices."""
        return replace(self, solution=solution)

    def roster(self, part: Any) -> Roster:
        """Return the subjects of a part, an Arrow table."""
        return roster_of(part, self.problem.bandit, self.lookback, self.known)

    def census(self, roster: Roster) -> Census:
        """Return who stands where in a part."""
        standings = self.problem.standing(roster.tau, roster.recent)
        return joined([Census(standings, roster.weight, np.ones(len(roster), np.int64))])

    def pending(self, roster: Roster) -> Found:
        """Return the subjects of a part whose keys must be known before anyone is planned."""
        assert self.solution is not None
        standings = self.problem.standing(roster.tau, roster.recent)
        wanted = self.solution.pending[:, : standings.shape[1]]  # of any weight: more do no harm
        _, _, which = distinct_rows(np.vstack([wanted, standings]))
        there = np.isin(which[len(wanted) :], which[: len(wanted)])
        chosen = np.flatnonzero(there)
        names = roster.subject.take(chosen)
        return Found(standings[chosen], keys_of(names), roster.weight[chosen])

    def plan(self, roster: Roster) -> tuple[Any, Tally]:
        """Return the plays of a part as an Arrow table, and its tally."""
        assert self.solution is not None
        standings = self.problem.standing(roster.tau, roster.recent)
        batch = self.solution.plans(standings, keys_of(roster.subject), roster.weight)
        table = table_of(self.problem, roster, batch, self.calendar)
        return table, tally_of(self.problem, roster, batch)


def joined(parts: Iterable[Census]) -> Census:
    """Return the census of several together.

    Examples
    --------
    >>> one = Census(np.array([[1, 2]]), np.array([1.0]), np.array([3]))
    >>> joined([one, one]).counts.tolist()
    [6]
    """
    rows, weights, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    levels, level = np.unique(weights, return_inverse=True)
    found, _, which = distinct_rows(np.hstack([rows, level.reshape(-1, 1)]))
    total = np.bincount(which, weights=counts, minlength=len(found)).astype(np.int64)
    return Census(found[:, :-1], levels[found[:, -1]], total)


_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def keys_of(subject: Any) -> NDArray[np.uint64]:
    """Return the key of every name in an Arrow array of text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> keys = keys_of(pa.array(["ann", "bob", "ann"]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1]), int(keys[0]) == plain_key("ann")
    (True, False, True)
    """
    offsets, data = text_buffers(subject)
    keys = np.empty(len(offsets) - 1, np.uint64)
    _fill(offsets, data, keys)
    return keys


def plain_key(name: str) -> int:
    """Return the key of one name, by definition."""
    key = int(_BASIS)
    for byte in name.encode():
        key = (key ^ byte) * int(_PRIME) % 2**64
    key = (key ^ key >> 32) * int(_MIX) % 2**64
    return key ^ key >> 32


@jit(makes_arrays=True)
def _fill(offsets: IntArray, data: NDArray[np.uint8], keys: NDArray[np.uint64]) -> None:
    for row in range(len(keys)):
        key = _BASIS
        for at in range(offsets[row], offsets[row + 1]):
            key = (key ^ np.uint64(data[at])) * _PRIME
        key = (key ^ (key >> _HALF)) * _MIX
        keys[row] = key ^ (key >> _HALF)
