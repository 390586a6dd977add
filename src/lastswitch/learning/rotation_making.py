"""What RotationUCB has seen, and the optimistic tables it makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import announce
from lastswitch._random import stream
from lastswitch.learning.checks import check_cells
from lastswitch.learning.indices import INDICES, exploration_level, thompson
from lastswitch.learning.policy import Mask
from lastswitch.learning.rotation_belief import PROFIT, believe_arms
from lastswitch.learning.rotation_cycle import cycle_pay
from lastswitch.learning.rotation_cycle_search import CLOSED, LONGEST, search_cycle
from lastswitch.learning.rotation_kinds import KINDS
from lastswitch.learning.rotation_lookahead import look_ahead, state_keys
from lastswitch.learning.rotation_pooling import (
    MOST_WEIGHED,
    STRENGTHS,
    likeliest_strength,
    mixed,
    own_tables,
)
from lastswitch.learning.rotation_price import price_slots
from lastswitch.learning.rotation_prior import Prior, read_prior
from lastswitch.learning.rotation_tables import (
    STREAKS,
    asking_depth,
    deeper,
    due,
    gathered,
    note_made,
    pooled,
    settle,
)
from lastswitch.learning.tracks import Track

#: Tables may be made again when some state was seen this much more often, and all are when all
#: states together were.
_GROWTH = 1.1
#: Then those of other arms are made again too that are about as far.
_NEARLY = 0.95
#: Tables that would change by no more than this are left as they are, and plans on them stand.
_SLIGHT = 5e-3
#: A better cycle is searched for when plays have grown so much.
_SOUGHT = 1.25
#: Random numbers for that, which are used again when there are no more.
_NOISE = 4_000
#: How many look-aheads long the plan is in which a cycle is searched for.
LOOK_AHEADS = 2


class Planned:
    """The arms of a plan, of which era it is, and what is planned to follow it, once known.

    Plans of one era are made on the same tables and measured by the same cycle.
    """

    __slots__ = ("arms", "era", "follows")

    def __init__(self, arms: tuple[int, ...], era: int) -> None:
        self.arms, self.era = arms, era
        self.follows: Planned | None = None


class OptimisticTables:
    """The part of :class:`~lastswitch.learning.RotationUCB` that turns rewards into tables."""

    n_arms: int
    index: str
    alpha: float
    rewards: tuple[float, float]
    depth: int
    max_depth: int
    streak_depth: int
    memory: float | None
    pooling: str
    prior: Prior | None
    retired: list[int]
    lookahead: int
    width: int
    rng: np.random.Generator
    _alive: Mask | None

    def _empty(self) -> None:
        """Start with nothing seen."""
        shape = (self.n_arms, STREAKS + self.max_depth)
        self.counts, self.sums = np.zeros(shape), np.zeros(shape)
        self.squares, self.pending = np.zeros(shape), np.zeros(shape)
        self.depths = np.full(self.n_arms, self.depth)
        self.values = np.ones((self.n_arms, self.streak_depth + self.depth))
        self.limits = np.zeros((2, *shape))
        #: Of each state, when the tables of its arm were made: plays, and their mean.
        self.basis = np.zeros((2, *shape))
        #: How likely each arm's curve is of each kind, as its rewards and other arms say.
        self.kinds = np.zeros((self.n_arms, len(KINDS)))
        #: Which tables these are, whether they are outdated.
        self.tables, self.stale = 0, True
        #: Plays when the tables of all arms were made, and when a cycle was last searched for.
        self.made, self.checked = 0.0, 0.0
        #: The cycle that plans are measured by, -1 behind its end.
        self.cycle = np.full(LONGEST, -1)
        #: The latest round of any subject, and the round up to which what was seen has faded.
        self.latest, self.faded = 0, 0
        #: How much others' rewards count for a subject, as a place among `STRENGTHS`.
        self.strength = 0 if self.pooling == "none" else len(STRENGTHS) - 1

    def grow(self, prior: Any) -> None:
        """Make room for one more arm, of which ``prior`` may say something."""
        given = None if prior is None else read_prior(prior, 1, self.rewards)
        check_cells("its tables", (self.n_arms + 1) * self.counts.shape[1])
        for name in ("counts", "sums", "squares", "pending"):
            table = getattr(self, name)
            setattr(self, name, np.vstack([table, np.zeros(table.shape[1])]))
        self.depths = np.append(self.depths, self.depth)
        self.values = np.vstack([self.values, np.ones(self.values.shape[1])])
        for name in ("limits", "basis"):
            tables = getattr(self, name)
            setattr(self, name, np.concatenate([tables, np.zeros_like(tables[:, :1])], axis=1))
        self.kinds = np.vstack([self.kinds, np.zeros(len(KINDS))])
        if self.prior is not None:  # one row more, so that the arguments still go together
            self.prior = Prior(*(np.vstack([table, 0.0 * table[:1]]) for table in self.prior))
        if given is not None:
            self._absorb(given, self.n_arms)
        self.made, self.stale = 0.0, True
        self._bind()

    def retiring(self, arm: int) -> None:
        """Believe nothing more of ``arm``, so that no plan waits for it."""
        self.made, self.stale = 0.0, True

    def _fade(self) -> None:
        """Let what was seen count for less, by how long ago it was."""
        if self.memory is None or self.latest == self.faded:
            return
        kept = math.exp((self.faded - self.latest) / self.memory)
        for table in (self.counts, self.sums, self.squares):
            table *= kept
        self.faded, self.made = self.latest, 0.0

    def _make_tables(self) -> None:
        """Make the optimistic tables, deepening those that the data ask for."""
        announce("learning", look_ahead)
        self._fade()
        n, s, q = settle(self.counts, self.sums, self.squares, self.pending)
        plays = float(n.sum())
        again: NDArray[np.bool_] = np.ones(self.n_arms, np.bool_)
        if self.index == "reservation" and plays < _GROWTH * self.made:
            again = due(self.counts, n, self.limits, _NEARLY)
        made = self._tabulate((n, s, q), again)
        if made.all():
            self.made = plays
        note_made(self.counts, n, s, made, _GROWTH, self.limits, self.basis)
        self.stale = False

    def _grown(self, cell: int) -> None:
        """Hear that a state was seen so much more often; have tables made again if it matters.

        It does if what is believed of the state would by now be more than slightly different: its
        mean has moved, or much of its doubt is gone. Doubt of states that are not seen grows with
        all plays, so with those all tables are made again.
        """
        then, mean = self._then[cell], self._mean[cell]
        if self.index == "reservation" and self.memory is None and then > 0.0:
            seen, now = self._seen[cell], self._seen[cell] + self._out[cell]
            moved = abs(self._paid[cell] / seen - mean) if seen > 0.0 else 0.0
            doubt = abs(self._value(cell) - mean)
            slight = moved + (now / then - 1.0) * doubt <= _SLIGHT
            if slight and np.add.reduce(self.counts, axis=None) < _GROWTH * self.made:
                self._limit_told[cell], self._limit_all[cell] = _GROWTH * seen, _GROWTH * now
                return
        self.stale = True

    def _value(self, cell: int) -> float:
        """Return what is believed of the raw state kept in ``cell``."""
        arm, state = divmod(cell, self.counts.shape[1])
        last = self.streak_depth - 1
        if state < STREAKS:
            return float(self.values[arm, min(state, last)])
        rest = min(state - STREAKS + 1, self._depth_list[arm])
        return float(self.values[arm, last + rest])

    def _measure(self, *, search: bool = True) -> None:
        """Know what the cycle that plans are measured by pays; search for a better one at times."""
        tables = self.values, self.streak_depth, self.depths
        known, self._cycle = self.cycle[self.cycle >= 0], self.cycle[:0]
        if self._alive is not None:  # an arm that is retired would serve as a pause
            return
        if known.size:
            self._cycle_pay = cycle_pay(*tables, known, *np.empty((2, self.n_arms), np.int64))
        if not search:
            self._cycle = known
            return
        if known.size == 0 or self.memory is not None or self.made >= _SOUGHT * self.checked:
            self.checked = max(self.made, 1.0)
            if known.size == 0 or self._cycle_pay < self._bound - CLOSED:
                rested = np.full(self.n_arms, self.streak_depth)
                plan = self._ahead(rested, None, LOOK_AHEADS * self.lookahead)
                noise = stream(0, "rotation", "cycle", int(self.made)).random(_NOISE)
                prices = self._slot_price, self._bound
                known, self._cycle_pay = search_cycle(*tables, known, plan, *prices, noise)
                self.cycle[:] = -1
                self.cycle[: known.size] = known
                self._drop_plans()
        self._cycle = known

    def _ahead(self, cells: IntArray, allowed: Mask | None, rounds: int) -> IntArray:
        """Return the best plays found from ``cells``, so many rounds of them."""
        plan = np.empty(rounds, np.int64)
        free = self._alive if allowed is None else allowed
        mask = np.ones(self.n_arms, np.bool_) if free is None else np.array(free)
        look_ahead(
            self.values,
            self._worth,
            self.streak_depth,
            self.depths,
            cells,
            mask,
            self._keys,
            self.width,
            self._cycle if free is None else self._cycle[:0],
            self._cycle_pay,
            plan,
        )
        return plan

    def _make_tables_for(self, own: list[Any] | None, tracks: Sequence[Track]) -> None:
        """Make the tables of a subject that was paid ``own``, of the subjects on ``tracks``."""
        announce("learning", look_ahead)
        n, s, _ = settle(self.counts, self.sums, self.squares, self.pending)
        plays = float(n.sum())
        if self.pooling == "partial" and plays >= _GROWTH * self.made:
            self.made = plays
            each = max(1, math.ceil(len(tracks) / MOST_WEIGHED))
            subjects = [own_tables(track.memory, n.shape) for track in tracks[::each]]
            self.strength = likeliest_strength(subjects, (self.counts, self.sums))
        n, s = mixed(own_tables(own, n.shape), (n, s), STRENGTHS[self.strength])
        # What is believed of another subject, even if it is nearly the same, has no part in it.
        self.kinds[:], self._worth = 0.0, self.values[:0]
        self._tabulate((n, s, s), np.ones(self.n_arms, np.bool_))

    def _tabulate(
        self, seen: tuple[FloatArray, FloatArray, FloatArray], again: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Make the tables of the arms ``again``, deepening where asked; return which were made."""
        made, anew = again, self._worth.size == 0
        while again.any():
            values = self._believe(seen, again)
            if anew or _unlike(values, self.values):
                self.values = values
                self.tables += 1
                self._price()
            again, anew = self._deepen(*seen[:2]), True
            made = made | again
        return made

    def _believe(
        self, seen: tuple[FloatArray, FloatArray, FloatArray], again: NDArray[np.bool_]
    ) -> FloatArray:
        """Return the optimistic value of each (arm, cell), made anew for the arms ``again``."""
        streaks = self.streak_depth
        plays, states = float(seen[0].sum()), int(np.count_nonzero(seen[0]))
        if self.index == "reservation":
            counts, sums, _ = gathered(*seen, STREAKS, streaks, self.depths)
            values: FloatArray = np.ones_like(counts)
            values[:, : self.values.shape[1]] = self.values
            profit = PROFIT * plays / max(1, states)
            believe_arms(counts, sums, streaks, self.depths, profit, again, self.kinds, values)
        else:
            counts, sums, squares = pooled(*seen, STREAKS, streaks, self.depths)
            if self.index == "thompson":
                values = thompson(counts, sums, squares, self.rng)
            else:
                level = exploration_level(counts, plays, states, self.alpha)
                values = INDICES[self.index](counts, sums, squares, level)
        if self.retired:
            values[self.retired] = 0.0
        streak = values[:, :streaks]
        np.minimum.accumulate(streak, axis=1, out=streak)
        return values

    def _price(self) -> None:
        """Price the slots under the current values."""
        self._worth = np.zeros_like(self.values)
        self._keys = state_keys(self.n_arms, self.values.shape[1])
        tables = self.values, self.streak_depth, self.depths
        self._slot_price, self._bound = price_slots(*tables, self._worth)
        self._depth_list = self.depths.tolist()
        self._drop_plans()

    def _drop_plans(self) -> None:
        """Forget the plans, which were made on other tables or by another cycle."""
        self._plans.clear()
        self._era += 1

    def _deepen(self, n: FloatArray, s: FloatArray) -> NDArray[np.bool_]:
        """Deepen the tables of the arms whose data ask for it; return which were."""
        tables = self.values, self.streak_depth, self.depths, self.max_depth
        # Where rests never seen are judged by others, telling more of them apart costs little: a
        # peak behind the table's end is not taken for the tail's first rest. Where each counts as
        # the best there is, it costs a look at each.
        at_once = self.index == "reservation"
        asked = asking_depth(*tables, self._slot_price, n, s, at_once)
        for arm in np.flatnonzero(asked).tolist() if asked.any() else ():
            self.depths[arm] = deeper(self._depth_list[arm], self.max_depth)
        return asked

    def _bind(self) -> None:
        """Make views through which single entries are read and written without NumPy's cost."""
        self._seen, self._paid = _view(self.counts), _view(self.sums)
        self._squared, self._out = _view(self.squares), _view(self.pending)
        #: Where each arm's rests begin, for those who cannot wait for :meth:`_cell`.
        self._rests = [self._cell(arm, 1) - 1 for arm in range(len(self.counts))]
        self._plans: dict[tuple[tuple[int, ...], Mask | None], Planned] = {}
        self._era = getattr(self, "_era", 0) + 1
        self._depth_list = self.depths.tolist()
        self._worth, self._slot_price, self._bound = self.values[:0], 0.0, 1.0
        self._cycle, self._cycle_pay = self.cycle[:0], 0.0
        self._bind_limits()

    def _bind_limits(self) -> None:
        self._limit_told, self._limit_all = _view(self.limits[0]), _view(self.limits[1])
        self._then, self._mean = _view(self.basis[0]), _view(self.basis[1])
        self._books = self._out, self._seen, self._paid, self._squared, self._limit_told

    def _cell(self, arm: int, tau: int) -> int:
        """Return where the raw state of ``arm`` is kept."""
        base = arm * (STREAKS + self.max_depth)
        if tau > 0:
            return base + STREAKS - 1 + (tau if tau < self.max_depth else self.max_depth)
        return base + (min(-tau, STREAKS) or 1) - 1

    def _absorb(self, prior: Prior, first: int = 0) -> None:
        """Count the observations of a prior, of the arms from ``first`` on, as seen."""
        low, high = self.rewards
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


def _unlike(values: FloatArray, others: FloatArray) -> bool:
    """Tell whether some value differs by more than slightly."""
    return values.shape != others.shape or bool(np.abs(values - others).max() > _SLIGHT)


def _view(table: FloatArray) -> Any:
    """Return a flat view of ``table`` whose entries are plain floats."""
    return memoryview(table.reshape(-1))  # type: ignore[arg-type]
