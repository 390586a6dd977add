"""RotationUCB: optimistic planning from the actual state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from lastswitch._checks import check_choice, check_positive, check_whole
from lastswitch._kernels import announce
from lastswitch.errors import PolicyError
from lastswitch.learning.checks import check_cells, check_counted, check_like
from lastswitch.learning.indices import INDICES, Floats, exploration_level, thompson
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.rotation_lookahead import look_ahead, state_keys
from lastswitch.learning.rotation_price import best_cycle, price_slots
from lastswitch.learning.rotation_prior import Prior, read_prior
from lastswitch.learning.rotation_tables import STREAKS, deeper, pooled, settle, wants_depth
from lastswitch.learning.tracks import FARTHEST, Track

IndexName = Literal["kl-ucb", "ucb1", "empirical-bernstein", "thompson"]

#: Tables are made again when some state has been seen this much more often.
_GROWTH = 1.1
#: Plays after which the look-ahead is twice, three times, … as long, and how often it grows so.
_PLAYS_PER_LOOKAHEAD, _FARTHEST_REACH = 10_000, 20
#: Look-aheads that one planned round, or one block of them, pays for.
_EARNED = 4
#: Of what a longer look-ahead could be followed for, the part that is (one in so many).
_FOLLOWED = 3
#: Plans remembered between two makings of the tables.
_REMEMBERED = 50_000


class RotationUCB(Policy):
    r"""Plays the best plan under optimistic curves, from the states the arms are in.

    The learner always knows every state, so it neither calibrates nor forgets: it keeps what each
    (arm, state) paid, believes of each the most that is plausible, plans some rounds ahead from
    where the arms stand, plays the first few of them and plans again. It needs no horizon and, on
    rewards in [0, 1], no tuning.

    - *Belief.* An index per (arm, state), clipped to [0, 1]; a longer streak is never believed to
      pay more. Rests beyond the first few borrow a little from the rests beside them. Tables
      start ``depth`` rests deep, their last entry pooling what is deeper, and an arm's table
      deepens (up to ``max_depth``) when its best cycle waits for that tail or when the tail's
      states pay unlike each other.
    - *Plan.* A beam search over ``lookahead`` rounds. What the arms' last states are worth is added
      at the end: with a price per slot, each arm alone has a best cycle, and being closer to it is
      worth more. This keeps a short plan from being short-sighted. What that worth gets wrong can
      hold a plan in a cycle a little below the best, so the look-ahead grows with the plays (one
      ``lookahead`` for every 10,000, up to twenty), and a plan that looks farther is followed for
      longer, as long as the tables it was made on stand. It grows no faster than that pays for:
      a decision costs no more after ten million plays.
    - *Pace.* ``commitment`` plays are made before planning again; one, once there are several
      subjects. Plays whose reward is still out count at once, at the mean so far, so that many
      subjects do not all try the same thing.

    **Guaranteed:** arms that are not allowed are never played; :meth:`bound` is at least what any
    schedule earns per round if no optimistic value is below the truth; with the KL-UCB, UCB1 and
    Bernstein indices every state in the table is, in the long run, believed better the longer it
    is left unseen, so no belief is final. **Only observed:** the share of the optimum it earns
    (``benchmarks/learning.py``). Logarithmic regret is known for optimistic play of whole cycles
    (Ortner 2010); no such proof is claimed here, where exploration is smaller than that proof's.
    Structure deeper than ``max_depth`` is not seen, and rises along a streak are believed away.

    Parameters
    ----------
    n_arms
        Number of arms.
    index
        ``"kl-ucb"``, ``"ucb1"``, ``"empirical-bernstein"`` or ``"thompson"``, see
        :mod:`lastswitch.learning.indices`.
    depth, max_depth
        Rests an arm's table starts with, and the most it may deepen to.
    streak_depth
        Streak states told apart; the last pools longer ones.
    lookahead
        Rounds planned ahead, in the first 20,000 plays.
    width
        Plans kept per round of the search.
    commitment
        Plays made before planning again, when there is one subject.
    alpha
        How much doubt an index keeps.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.
    prior
        A :class:`~lastswitch.learning.rotation_prior.Prior`, or a fit of curves to logs: its
        counts are taken as if seen here. Its rewards are in the range of ``rewards``, and its
        rounds are the rounds of ``ask`` and ``advance``.
    seed
        Seeds the draws of Thompson sampling.

    Examples
    --------
    >>> import lastswitch as ls
    >>> radio = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)])
    >>> run = ls.simulate(radio, ls.RotationUCB(n_arms=2), horizon=2000, seed=0)
    >>> bool(run.mean_total > 0.95 * ls.optimal_total(radio, 2000).value)
    True
    """

    shared: ClassVar[tuple[str, ...]] = (
        "counts",
        "sums",
        "squares",
        "pending",
        "depths",
        "values",
        "limits",
        "reach",
        "credit",
        "tables",
        "stale",
    )

    def __init__(
        self,
        n_arms: int,
        *,
        index: IndexName = "kl-ucb",
        depth: int = 24,
        max_depth: int = 64,
        streak_depth: int = 4,
        lookahead: int = 24,
        width: int = 24,
        commitment: int = 4,
        alpha: float = 0.4,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        prior: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed)
        self.index, self.alpha = _index(index), check_positive("alpha", alpha)
        self.prior = None if prior is None else read_prior(prior, self.n_arms, self.rewards)
        self.depth = check_whole("depth", depth, 1, PolicyError)
        self.max_depth = max(self.depth, check_whole("max_depth", max_depth, 1, PolicyError))
        self.streak_depth = check_whole("streak_depth", streak_depth, 1, PolicyError, STREAKS)
        self.lookahead = check_whole("lookahead", lookahead, 1, PolicyError)
        self.width = check_whole("width", width, 1, PolicyError)
        self.commitment = check_whole("commitment", commitment, 1, PolicyError)
        if self.commitment > self.lookahead:
            raise PolicyError(
                f"commitment must not exceed the lookahead, got {commitment} > {lookahead}; "
                "no more can be played than was planned."
            )
        shape = (self.n_arms, STREAKS + self.max_depth)
        check_cells("its tables", math.prod(shape))
        check_cells("its search", self.width * (_FARTHEST_REACH * self.lookahead + self.n_arms))
        self.counts, self.sums = np.zeros(shape), np.zeros(shape)
        self.squares, self.pending = np.zeros(shape), np.zeros(shape)
        self.depths = np.full(self.n_arms, self.depth)
        self.values = np.ones((self.n_arms, self.streak_depth + self.depth))
        self.limits = np.zeros((2, *shape))
        #: How many look-aheads far to look, how many are paid for, and which tables these are.
        self.reach, self.credit, self.tables, self.stale = 1, 0, 0, True
        if self.prior is not None:
            self._absorb(self.prior)
        self._bind()

    # Asking.

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the plan, planning when none is left or a mask is given."""
        at, pace = track.at, self.commitment if len(self._tracks) == 1 else 1
        if allowed is None and at < len(track.block) and (at % pace or self._stands(track)):
            arm = track.block[at]
            track.at = at + 1
        else:
            block = self._plan(track, allowed, pace)
            track.block = block if allowed is None and len(block) > 1 else ()
            track.at, track.memory = 1, self.tables if len(block) > pace else None
            arm = block[0]
        cell = self._cell(arm, track.tau(arm))
        self._out[cell] += 1.0
        if self._seen[cell] + self._out[cell] >= self._limit_all[cell]:
            self.stale = True
        return arm

    def _stands(self, track: Track) -> bool:
        """Tell whether the plan of ``track`` was made on the present tables, and credit that."""
        if self.stale or track.memory != self.tables:
            return False
        self._earn()
        return True

    def _earn(self) -> None:
        """Count what a replanning may cost: what is not spent lets a later one look farther."""
        self.credit = min(self.credit + _EARNED, 4 * _FARTHEST_REACH)

    def _plan(self, track: Track, allowed: Mask | None, pace: int) -> tuple[int, ...]:
        """Return the arms to play next for ``track``, ``pace`` per look-ahead."""
        if self.stale:
            self._make_tables()
        self._earn()
        # Spent whether or not the plan is remembered, for a loaded policy remembers none.
        reach = min(self.reach, self.credit)
        self.credit -= reach
        last = self.streak_depth - 1
        cells = tuple(
            [
                last + (tau if tau < depth else depth)
                if tau > 0
                else (min(-tau, last + 1) or 1) - 1
                for tau, depth in zip(track.state(), self._depth_list, strict=True)
            ]
        )
        key = (cells, allowed, reach)
        block = self._plans.get(key)
        if block is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            block = self._plans[key] = self._search(cells, allowed, reach)
        return block[: max(pace, reach * pace // _FOLLOWED)]

    def _search(self, cells: tuple[int, ...], allowed: Mask | None, reach: int) -> tuple[int, ...]:
        plan = np.empty(reach * self.lookahead, np.int64)
        mask = np.ones(self.n_arms, np.bool_) if allowed is None else np.array(allowed)
        look_ahead(
            self.values,
            self._worth,
            self.streak_depth,
            self.depths,
            np.array(cells),
            mask,
            self._keys,
            self.width,
            plan,
        )
        return tuple(plan[: reach * self.commitment].tolist())

    # Learning.

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to what its (arm, state) has paid."""
        cell = self._cell(pull.arm, pull.tau)
        self._out[cell] -= 1.0
        count = self._seen[cell] + 1.0
        self._seen[cell] = count
        self._paid[cell] += reward
        self._squared[cell] += reward * reward
        if count >= self._limit_told[cell]:
            self.stale = True

    def missed(self, pull: Pull, note: Any) -> None:
        """Forget a play whose reward will never come."""
        self._out[self._cell(pull.arm, pull.tau)] -= 1.0

    def bound(self) -> float:
        """Return the most any schedule could earn per round if the optimistic tables were true.

        The tables are those of the latest plan, so asking changes nothing; before any, it is 1.
        """
        return self._bound

    def _make_tables(self) -> None:
        """Make the optimistic tables, deepening those that the data ask for."""
        announce("learning", look_ahead)
        n, s, q = settle(self.counts, self.sums, self.squares, self.pending)
        plays, seen = float(n.sum()), int(np.count_nonzero(n))
        self.reach = min(_FARTHEST_REACH, max(1, int(plays / _PLAYS_PER_LOOKAHEAD)))
        self.tables += 1
        while True:
            table = pooled(n, s, q, STREAKS, self.streak_depth, self.depths)
            self.values = self._believe(table, plays, seen)
            price = self._price()
            if not self._deepen(n, s, price):
                break
        self.limits = np.stack([_GROWTH * self.counts, _GROWTH * n])
        self.stale = False
        self._bind_limits()

    def _believe(self, table: Floats, plays: float, seen: int) -> Floats:
        """Return the optimistic value of each (arm, cell)."""
        counts, sums, squares = table
        if self.index == "thompson":
            values = thompson(counts, sums, squares, self.rng)
        else:
            level = exploration_level(counts, plays, seen, self.alpha)
            values = INDICES[self.index](counts, sums, squares, level)
        streak = values[:, : self.streak_depth]
        np.minimum.accumulate(streak, axis=1, out=streak)
        return values

    def _price(self) -> float:
        """Price the slots under the current values; return the price."""
        self._worth = np.zeros_like(self.values)
        self._keys = state_keys(self.n_arms, self.values.shape[1])
        price, self._bound = price_slots(self.values, self.streak_depth, self.depths, self._worth)
        self._depth_list = self.depths.tolist()
        self._plans.clear()
        return float(price)

    def _deepen(self, n: Floats, s: Floats, price: float) -> bool:
        """Deepen the tables of the arms whose data ask for it; tell whether any was."""
        asked = False
        for arm, depth in enumerate(self._depth_list):
            if depth < self.max_depth:
                rest = best_cycle(self.values[arm], self.streak_depth, depth, price)[2]
                if wants_depth(n[arm], s[arm], STREAKS + depth - 1, rest == depth):
                    self.depths[arm] = deeper(depth, self.max_depth)
                    asked = True
        return asked

    # Keeping.

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen and believed."""
        depths = learned["depths"]
        check_like("depths", depths, self.depths)
        if not ((depths >= self.depth).all() and (depths <= self.max_depth).all()):
            raise PolicyError(f"depths must lie between {self.depth} and {self.max_depth}.")
        cells = self.streak_depth + int(depths.max())
        self.values = np.ones((self.n_arms, cells))  # what `values` is to be like
        super().relearn(learned)
        check_counted(self.counts, self.sums)
        check_counted(self.counts, self.squares)
        check_counted(self.pending, np.zeros_like(self.pending))
        for name, least, most in (
            ("reach", 1, _FARTHEST_REACH),
            ("credit", 0, 4 * _FARTHEST_REACH),
            ("tables", 0, FARTHEST),
        ):
            check_whole(name, learned[name], least, PolicyError, most)
        if self.values.min() < 0.0 or self.values.max() > 1.0 or self.limits.min() < 0.0:
            raise PolicyError("what is believed of a state must lie between 0 and 1.")
        self._bind()
        if not self.stale or self.limits.any():  # tables have been made
            self._price()

    def _bind(self) -> None:
        """Make views through which single entries are read and written without NumPy's cost."""
        self._seen, self._paid = _view(self.counts), _view(self.sums)
        self._squared, self._out = _view(self.squares), _view(self.pending)
        self._plans: dict[tuple[tuple[int, ...], Mask | None, int], tuple[int, ...]] = {}
        self._depth_list = self.depths.tolist()
        self._bound = 1.0
        self._bind_limits()

    def _bind_limits(self) -> None:
        self._limit_told, self._limit_all = _view(self.limits[0]), _view(self.limits[1])

    def _cell(self, arm: int, tau: int) -> int:
        """Return where the raw state of ``arm`` is kept."""
        base = arm * (STREAKS + self.max_depth)
        if tau > 0:
            return base + STREAKS - 1 + (tau if tau < self.max_depth else self.max_depth)
        return base + (min(-tau, STREAKS) or 1) - 1

    def _absorb(self, prior: Prior) -> None:
        """Count the observations of a prior as seen."""
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
                self.counts[:, state] += n
                self.sums[:, state] += paid
                self.squares[:, state] += paid  # as rewards of 0 or 1


def _view(table: Floats) -> Any:
    """Return a flat view of ``table`` whose entries are plain floats."""
    return memoryview(table.reshape(-1))  # type: ignore[arg-type]


def _index(name: str) -> IndexName:
    """Return ``name`` if it is an index."""
    check_choice("index", name, (*INDICES, "thompson"), PolicyError)
    return name  # type: ignore[return-value]
