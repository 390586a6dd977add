"""The optimistic tables of a rotation learner: what each (arm, cell) is believed to pay at most.

The last cells of an arm's table pool everything deeper, and it deepens when the data ask for it.
Tables are made again where what is believed of a state may have moved, and all of them whenever
plays have grown by a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.errors import PolicyError
from lastswitch.learning.policy.checks import check_like
from lastswitch.learning.rotation.belief import PROFIT, believe_arms, even_rests
from lastswitch.learning.rotation.books import (
    STREAKS,
    Books,
    Seen,
    flat,
    gathered,
    pooled,
    with_row,
)
from lastswitch.learning.rotation.indices import INDICES, exploration_level, thompson
from lastswitch.learning.rotation.kinds import KINDS, room_for
from lastswitch.learning.rotation.levels import Room
from lastswitch.learning.rotation.price import price_places

#: Tables may be made again when some state was seen this much more often, and all are when all
#: states together were.
GROWTH = 1.1
#: Then those of other arms are made again too that are about as far.
_NEARLY = 0.95
#: Tables that would change by no more than this are left as they are, and plans on them stand.
_SLIGHT = 5e-3
#: Cells added when an arm's table deepens.
_DEEPER = 4
#: A tail must have been seen this often before it can ask for more depth.
_TAIL_SEEN = 3.0
#: How unlikely (in nats) a raw state must be under its tail's mean for the tail to be split.
_UNLIKE = 2.0


class Tables:
    """Optimistic values of each (arm, cell), and what follows from them: prices and potentials.

    Parameters
    ----------
    n_arms
        Number of arms.
    index, alpha, depth, max_depth, streak_depth
        As in :class:`~lastswitch.learning.RotationUCB`.
    places, floor
        How many plays a round may have on average, and the least that one is worth.
    """

    #: What of it is learned.
    shared = ("depths", "values", "limits", "basis", "kinds", "tables", "made", "stale")

    def __init__(
        self,
        n_arms: int,
        index: str,
        alpha: float,
        depth: int,
        max_depth: int,
        streak_depth: int,
        places: float,
        floor: float,
    ) -> None:
        self.index, self.alpha = index, alpha
        self.depth, self.max_depth, self.streak_depth = depth, max_depth, streak_depth
        self.places, self.floor = places, floor
        shape = (n_arms, STREAKS + max_depth)
        self.depths = np.full(n_arms, depth)
        self.values = np.ones((n_arms, streak_depth + depth))
        #: Of each state, how often it may be told of, and played, before the tables are made again.
        self.limits = np.zeros((2, *shape))
        #: Of each state, when the tables of its arm were made: plays, and their mean.
        self.basis = np.zeros((2, *shape))
        #: How likely each arm's curve is of each kind, as its rewards and other arms say.
        self.kinds = np.zeros((n_arms, len(KINDS)))
        #: Which tables these are, whether they are outdated, and plays when all arms' were made.
        self.tables, self.stale, self.made = 0, True, 0.0
        #: Arms of which nothing is believed.
        self.retired: list[int] = []
        self.bind()

    @property
    def planned(self) -> tuple[FloatArray, int, IntArray]:
        """What plans are made on: values, streak cells of every arm, rest cells of each."""
        return self.values, self.streak_depth, self.depths

    def bind(self) -> None:
        """Make views through which single entries are read and written without NumPy's cost."""
        self.depth_list: list[int] = self.depths.tolist()
        self.worth, self.slot_price, self.bound = self.values[:0], 0.0, 1.0
        #: Of each arm: how long its best cycle rests, and how often its last cell was seen.
        self._rests = np.zeros(len(self.depths), np.int64)
        self._tails = np.zeros(len(self.depths))
        self.limit_told, self.limit_all = flat(self.limits[0]), flat(self.limits[1])
        self._then, self._mean = flat(self.basis[0]), flat(self.basis[1])
        self._room: Room | None = None

    def grow(self) -> None:
        """Make room for one more arm."""
        self.depths = np.append(self.depths, self.depth)
        self.values = np.vstack([self.values, np.ones(self.values.shape[1])])
        self.limits = np.stack([with_row(table) for table in self.limits])
        self.basis = np.stack([with_row(table) for table in self.basis])
        self.kinds = with_row(self.kinds)
        self.restart()
        self.bind()

    def restart(self) -> None:
        """Have the tables of all arms made again."""
        self.made, self.stale = 0.0, True

    def cells(self, state: Sequence[int]) -> tuple[int, ...]:
        """Return the cell that each arm is in."""
        last = self.streak_depth - 1
        return tuple(
            [
                last + (tau if tau < depth else depth)
                if tau > 0
                else (min(-tau, last + 1) or 1) - 1
                for tau, depth in zip(state, self.depth_list, strict=True)
            ]
        )

    # Making them.

    def make(self, books: Books, rng: np.random.Generator | None) -> bool:
        """Make the tables, deepening those that the data ask for; return whether they changed."""
        seen, before = books.settle(), self.tables
        again: BoolArray = np.ones(len(self.depths), np.bool_)
        if self.index == "reservation" and seen.plays < GROWTH * self.made:
            again = due(books.counts, seen.n, self.limits)
        made = self.tabulate(seen, again, rng)
        if made.all():
            self.made = seen.plays
        self.note_made(books.counts, seen, made)
        self.stale = False
        return self.tables != before

    def grown(self, cell: int, books: Books) -> None:
        """Hear that a state was seen so much more often; have tables made again if it matters.

        It does if what is believed of the state would by now be more than slightly different: its
        mean has moved, or much of its doubt is gone. Doubt of states that are not seen grows with
        all plays, so with those all tables are made again.
        """
        then, mean = self._then[cell], self._mean[cell]
        if self.index == "reservation" and then > 0.0:
            seen, now = books.seen[cell], books.seen[cell] + books.out[cell]
            moved = abs(books.paid[cell] / seen - mean) if seen > 0.0 else 0.0
            doubt = abs(self.value(*divmod(cell, books.counts.shape[1])) - mean)
            slight = moved + (now / then - 1.0) * doubt <= _SLIGHT
            if slight and np.add.reduce(books.counts, axis=None) < GROWTH * self.made:
                self.limit_told[cell], self.limit_all[cell] = GROWTH * seen, GROWTH * now
                return
        self.stale = True

    def value(self, arm: int, state: int) -> float:
        """Return what is believed of a raw state of ``arm``: of streaks first, then of rests."""
        last = self.streak_depth - 1
        if state < STREAKS:
            return float(self.values[arm, min(state, last)])
        return float(self.values[arm, last + min(state - STREAKS + 1, self.depth_list[arm])])

    def tabulate(self, seen: Seen, again: BoolArray, rng: np.random.Generator | None) -> BoolArray:
        """Make the tables of the arms ``again``, deepening where asked; return which were made."""
        made, anew = again, self.worth.size == 0
        while again.any():
            values = self._believe(seen, again, rng)
            if anew or _unlike(values, self.values):
                self.values = values
                self.tables += 1
                self.price()
            again, anew = self._deepen(seen), True
            made = made | again
        return made

    def price(self) -> None:
        """Price the places of a round under the current values."""
        self.worth = np.zeros_like(self.values)
        self.slot_price, self.bound = price_places(
            *self.planned, self.places, self.floor, self.worth, self._rests
        )
        self.depth_list = self.depths.tolist()

    def _believe(self, seen: Seen, again: BoolArray, rng: np.random.Generator | None) -> FloatArray:
        """Return the optimistic value of each (arm, cell), made anew for the arms ``again``."""
        streaks = self.streak_depth
        values: FloatArray
        if self.index == "reservation":
            counts, sums, _ = gathered(seen, streaks, self.depths)
            self._tails = counts[np.arange(len(counts)), streaks + self.depths - 1]
            values = np.ones_like(counts)
            values[:, : self.values.shape[1]] = self.values
            cells, even = values.shape[1], even_rests(len(counts))
            room = self._room
            if room is None or room.by_place.shape[1] != cells:
                room = self._room = room_for(cells, streaks, even)
            profit = PROFIT * seen.plays / max(1, seen.states)
            table = counts, sums, streaks, self.depths, even, profit, again, self.kinds
            believe_arms(*table, values, np.empty(cells), room)
        else:
            counts, sums, squares = pooled(seen, streaks, self.depths)
            if self.index == "thompson":
                assert rng is not None
                values = thompson(counts, sums, squares, rng)
            else:
                level = exploration_level(counts, seen.plays, seen.states, self.alpha)
                values = INDICES[self.index](counts, sums, squares, level)
        if self.retired:
            values[self.retired] = 0.0
        streak = values[:, :streaks]
        np.minimum.accumulate(streak, axis=1, out=streak)
        return values

    def _deepen(self, seen: Seen) -> BoolArray:
        """Deepen the tables of the arms whose data ask for it; return which were."""
        # Where rests never seen are judged by others, telling more of them apart costs little: a
        # peak behind the table's end is not taken for the tail's first rest. Where each counts as
        # the best there is, it costs a look at each.
        if self.index == "reservation":
            asked = (self.depths < self.max_depth) & (self._tails >= _TAIL_SEEN)
        else:
            asked = asking_depth(self.depths, self.max_depth, seen, self._rests == self.depths)
        for arm in np.flatnonzero(asked).tolist() if asked.any() else ():
            self.depths[arm] = min(self.max_depth, self.depth_list[arm] + _DEEPER)
        return asked

    def note_made(self, counts: FloatArray, seen: Seen, made: BoolArray) -> None:
        """Note of the arms whose tables were made how much was seen, and when to look again."""
        rows: Any = slice(None) if made.all() else made
        n = seen.n[rows]
        self.limits[0][rows] = GROWTH * counts[rows]
        self.limits[1][rows] = GROWTH * n
        self.basis[0][rows] = n
        self.basis[1][rows] = seen.s[rows] / np.maximum(n, 1.0)

    # Keeping.

    def check(self) -> None:
        """Refuse what no learner of these settings believes."""
        if self.values.min() < 0.0 or self.values.max() > 1.0 or self.limits.min() < 0.0:
            raise PolicyError("what is believed of a state must lie between 0 and 1.")
        if self.basis.min() < 0.0:
            raise PolicyError("what tables were made of must not be negative.")
        if self.kinds.min() < 0.0 or self.kinds.sum(axis=1).max() > 1.0 + 1e-9:
            raise PolicyError("how likely kinds of curves are must be shares of one.")

    def check_depths(self, depths: IntArray) -> None:
        """Refuse depths that no table of these settings has."""
        check_like("depths", depths, self.depths)
        if not ((depths >= self.depth).all() and (depths <= self.max_depth).all()):
            raise PolicyError(f"depths must lie between {self.depth} and {self.max_depth}.")


def due(counts: FloatArray, n: FloatArray, limits: FloatArray) -> BoolArray:
    """Tell of which arms some state was seen, or played, about as often as the limits say."""
    told = (counts >= _NEARLY * limits[0]) & (counts > 0.0)
    played = (n >= _NEARLY * limits[1]) & (n > 0.0)
    found: BoolArray = (told | played).any(axis=1)
    return found


def asking_depth(depths: IntArray, most: int, seen: Seen, hurry: BoolArray) -> BoolArray:
    """Tell which arms' tables should be deeper, and may be.

    An arm's should if its tail, the raw states its last cell pools, was seen a few times and either
    there is a ``hurry`` or some state in it pays unlike the others.
    """
    asked: BoolArray = depths < most
    if not asked.any():
        return asked
    tail = np.arange(seen.n.shape[1]) >= STREAKS - 1 + depths[:, None]
    n, s = np.where(tail, seen.n, 0.0), np.where(tail, seen.s, 0.0)
    total = n.sum(axis=1)
    asked = asked & (total >= _TAIL_SEEN)
    if (asked & ~hurry).any():
        mean = np.clip(s.sum(axis=1) / np.maximum(total, 1.0), 0.0, 1.0)[:, None]
        here = np.clip(s / np.maximum(n, 1e-300), 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = np.where(here > 0.0, here * np.log(here / mean), 0.0)
            misses = np.where(here < 1.0, (1.0 - here) * np.log((1.0 - here) / (1.0 - mean)), 0.0)
            inner = (mean > 0.0) & (mean < 1.0) & (n > 0.0)
            surprise = np.where(inner, n * (hits + misses), 0.0)
        asked &= hurry | (surprise > _UNLIKE).any(axis=1)
    return asked


def _unlike(values: FloatArray, others: FloatArray) -> bool:
    """Tell whether some value differs by more than slightly."""
    return values.shape != others.shape or bool(np.abs(values - others).max() > _SLIGHT)
