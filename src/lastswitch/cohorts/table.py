"""The standings whose plans are not just the response to the prices, and who there plays what."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.cohorts.response import Played
from lastswitch.errors import PlanError

Keys = NDArray[np.uint64]
_LAST = np.uint64(np.iinfo(np.uint64).max)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Table:
    """Plans by standing; those of standing ``s`` are ``first[s]:first[s + 1]``.

    The last two columns of a row are the levels its subjects' weights lie at or between.

    Parameters
    ----------
    rows
        (d, columns): the standings, all different.
    first
        (d + 1,)
    arms, value
        (P, length, places) and (P,): the plans, and what each is worth.
    worth
        (P,): the same times the average weight of the standing's subjects.
    number
        (P,): how many subjects have each.
    upto
        (P,): a subject has the first plan of its standing whose ``upto`` is not below its key.
    settled
        Whether ``upto`` is known where it matters.
    """

    rows: IntArray
    first: IntArray
    arms: Played
    value: FloatArray
    worth: FloatArray
    number: IntArray
    upto: Keys
    settled: bool

    def __post_init__(self) -> None:
        salt, found = 0, np.zeros(0, np.uint64)
        while True:  # two rows of one hash are less likely than a broken disk, but not impossible
            found = _hashed(self.rows, salt)
            order = np.argsort(found, kind="stable")
            if not (np.diff(found[order]) == 0).any():
                break
            salt += 1
        object.__setattr__(self, "_salt", salt)
        object.__setattr__(self, "_hashes", found[order])
        object.__setattr__(self, "_order", order)

    @classmethod
    def of(
        cls,
        rows: IntArray,
        first: IntArray,
        plans: tuple[Played, FloatArray, FloatArray],
        number: IntArray,
    ) -> Table:
        """Return the table of plans (arms, value, worth) that so many subjects have.

        Plans of nobody are left out.
        """
        some = number > 0
        owner = np.repeat(np.arange(len(rows)), np.diff(first))[some]
        arms, value, worth = plans
        begins = np.searchsorted(owner, np.arange(len(rows) + 1))
        upto = np.full(len(owner), _LAST)
        alone = len(owner) == len(rows)
        return cls(rows, begins, arms[some], value[some], worth[some], number[some], upto, alone)

    @classmethod
    def empty(cls, columns: int, like: Played) -> Table:
        """Return the table of no standing; plans are shaped ``like`` these."""
        none = np.zeros(0, np.int64)
        plans = like[:0], np.zeros(0), np.zeros(0)
        return cls.of(none.reshape(0, columns), np.zeros(1, np.int64), plans, none)

    def find(self, rows: IntArray) -> IntArray:
        """Return which standing of the table each row is; -1 for none."""
        if not len(self.rows):
            return np.full(len(rows), -1)
        hashes: Keys = self._hashes  # type: ignore[attr-defined]
        order: IntArray = self._order  # type: ignore[attr-defined]
        place = np.searchsorted(hashes, _hashed(rows, self._salt))  # type: ignore[attr-defined]
        found = order[np.minimum(place, len(hashes) - 1)]
        return np.where((self.rows[found] == rows).all(axis=1), found, -1)

    @property
    def shared(self) -> BoolArray:
        """(d,): which standings have several plans."""
        several: BoolArray = np.diff(self.first) > 1
        return several

    @property
    def between(self) -> BoolArray:
        """(d,): which standings have subjects of different weights: those between two levels."""
        apart: BoolArray = self.rows[:, -2] != self.rows[:, -1]
        return apart

    def chosen(self, standing: IntArray, key: Keys) -> IntArray:
        """Return the plan of each subject at these standings of the table."""
        plan = self.first[standing]
        for _ in range(int(np.diff(self.first).max(initial=1)) - 1):
            last = plan + 1 >= self.first[standing + 1]
            plan = np.where(last | (key <= self.upto[plan]), plan, plan + 1)
        return plan

    def settle(self, standing: IntArray, key: Keys) -> Table:
        """Return the table that knows the keys of all subjects at its shared standings.

        In each the subjects of smallest keys have the first plan, and so on.
        """
        shared = self.shared
        here = standing >= 0
        here[here] = shared[standing[here]]
        standing, key = standing[here], key[here]
        order = np.lexsort((key, standing))
        standing, key = standing[order], key[order]
        twice = (np.diff(standing) == 0) & (np.diff(key) == 0)
        if twice.any():
            raise PlanError(
                f"two subjects that stand alike have the key {key[int(np.argmax(twice))]}; give "
                "every subject a key of its own."
            )
        begins = np.searchsorted(standing, np.arange(len(self.rows) + 1))
        expected = np.add.reduceat(np.append(self.number, 0), self.first[:-1])
        wrong = shared & (np.diff(begins) != expected)
        if wrong.any():
            s = int(np.argmax(wrong))
            raise PlanError(
                f"a standing was solved for {expected[s]:,} subjects and has "
                f"{begins[s + 1] - begins[s]:,}; solve for the cohort that is planned."
            )
        upto = self.upto.copy()
        owner = np.repeat(np.arange(len(self.rows)), np.diff(self.first))
        before = np.cumsum(self.number) - self.number
        through = np.cumsum(self.number) - before[self.first[owner]]  # subjects up to this plan
        last = np.arange(len(owner)) + 1 == self.first[owner + 1]
        inner = np.flatnonzero(~last)
        upto[inner] = key[begins[owner[inner]] + through[inner] - 1]
        return replace(self, upto=upto, settled=True)


def _hashed(rows: IntArray, salt: int) -> Keys:
    """Return a hash of each row."""
    total = np.full(len(rows), np.uint64(salt))
    for column in rows.T:
        total ^= column.astype(np.uint64) + _MIX + (total << np.uint64(6)) + (total >> np.uint64(2))
        total *= _MIX
        total ^= total >> np.uint64(29)
    return total
