"""RotationUCB: optimistic planning from the actual state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lastswitch._checks import check_choice, check_positive, check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.checks import check_cells, check_counted, check_like
from lastswitch.learning.indices import INDICES
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.rotation_making import LOOK_AHEADS, OptimisticTables, Planned
from lastswitch.learning.rotation_pooling import STRENGTHS, add_own, check_own
from lastswitch.learning.rotation_prior import read_prior
from lastswitch.learning.rotation_tables import STREAKS
from lastswitch.learning.tracks import FARTHEST, Track

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit

Pooling = Literal["all", "none", "partial"]
IndexName = Literal["reservation", "kl-ucb", "ucb1", "empirical-bernstein", "thompson"]

#: Plans remembered between two makings of the tables.
_REMEMBERED = 50_000
#: With a memory, tables are made again after this part of it.
_FADED = 0.02


class RotationUCB(OptimisticTables, Policy):
    r"""Plays the best plan under optimistic curves, from the states the arms are in.

    The learner always knows every state, so it neither calibrates nor forgets: it keeps what each
    (arm, state) paid, believes of each the most that is plausible, plans some rounds ahead from
    where the arms stand, plays the first few of them and plans again. It needs no horizon and, on
    rewards in [0, 1], no tuning.

    - *Belief.* A posterior over kinds of curves, by which states share what was seen of them, and
      of each state the pay at which looking is just worth its price
      (:mod:`lastswitch.learning.rotation_belief`); a longer streak is never believed to pay more.
      Tables start ``depth`` rests deep, their last entry pooling what is deeper, and an arm's
      table deepens (up to ``max_depth``) once that tail was seen; with the other indices, when its
      best cycle waits for the tail or when the tail's states pay unlike each other. Tables are made
      again where what is believed of a state may have moved, and all of them whenever plays have
      grown by a tenth.
    - *Plan.* A beam search over ``lookahead`` rounds. What the arms' last states are worth is added
      at the end: with a price per slot, each arm alone has a best cycle, and being closer to it is
      worth more. This keeps a short plan from being short-sighted. What that worth gets wrong could
      hold a plan in a loop well below the best, so plans are measured by a good cycle, searched for
      whenever plays have grown by a quarter (:mod:`lastswitch.learning.rotation_cycle`): a plan
      must earn what going to that cycle would, or the cycle is played.
    - *Pace.* ``commitment`` plays are made before news is looked at; a plan made on tables that
      still stand is then followed on. With several subjects each plans one play at a time. Plays
      whose reward is still out count at once, at the mean so far, so that many subjects do not all
      try the same thing.

    **Guaranteed:** arms that are not allowed are never played; :meth:`bound` is at least what any
    schedule earns per round if no optimistic value is below the truth; with every index but
    Thompson's each state in the table is, in the long run, believed better the longer it is left
    unseen, so no belief is final. **Only observed:** the share of the optimum it earns
    (``benchmarks/learning.py``). Logarithmic regret is known for optimistic play of whole cycles
    (Ortner 2010); no such proof is claimed here, where exploration is smaller than that proof's.
    Structure deeper than ``max_depth`` is not seen, and rises along a streak are believed away.

    Parameters
    ----------
    n_arms
        Number of arms.
    index
        ``"reservation"``, see :mod:`lastswitch.learning.rotation_belief`; or one that judges each
        state by itself: ``"kl-ucb"``, ``"ucb1"``, ``"empirical-bernstein"`` or ``"thompson"``, see
        :mod:`lastswitch.learning.indices`.
    depth, max_depth
        Rests an arm's table starts with, and the most it may deepen to.
    streak_depth
        Streak states told apart; the last pools longer ones.
    lookahead
        Rounds planned ahead.
    width
        Plans kept per round of the search.
    commitment
        Plays made before news can change the plan, when there is one subject.
    alpha
        How much doubt the KL-UCB, UCB1 and Bernstein indices keep.
    memory
        Rounds after which a reward counts for 1/e: for curves that move. Without it nothing is
        forgotten.
    pooling
        What subjects share: ``"all"`` they see, ``"none"`` of it, or ``"partial"``, as much as
        their rewards say they are alike (:mod:`lastswitch.learning.rotation_pooling`). Other than
        ``"all"`` every plan is made on tables of the subject's own, about a millisecond each.
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
        "basis",
        "kinds",
        "tables",
        "made",
        "checked",
        "cycle",
        "latest",
        "faded",
        "strength",
        "stale",
    )

    def __init__(
        self,
        n_arms: int,
        *,
        index: IndexName = "reservation",
        depth: int = 24,
        max_depth: int = 64,
        streak_depth: int = 4,
        lookahead: int = 24,
        width: int = 24,
        commitment: int = 4,
        alpha: float = 0.4,
        memory: float | None = None,
        pooling: Pooling = "all",
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
        check_choice("pooling", pooling, ("all", "none", "partial"), PolicyError)
        self.pooling: Pooling = pooling
        self.memory = None if memory is None else check_positive("memory", memory)
        if self.memory is not None and pooling != "all":
            raise PolicyError(
                f"memory is not kept with pooling={pooling!r}: only what all subjects share fades; "
                'leave memory out, or pool "all".'
            )
        #: Whether subjects have tables of their own, or time makes them fade.
        self._apart = pooling != "all" or self.memory is not None
        self.commitment = check_whole("commitment", commitment, 1, PolicyError)
        if self.commitment > self.lookahead:
            raise PolicyError(
                f"commitment must not exceed the lookahead, got {commitment} > {lookahead}; "
                "no more can be played than was planned."
            )
        shape = (self.n_arms, STREAKS + self.max_depth)
        check_cells("its tables", math.prod(shape))
        check_cells("its search", self.width * (LOOK_AHEADS * self.lookahead + self.n_arms))
        self._empty()
        if self.prior is not None:
            self._absorb(self.prior)
        self._bind()

    @classmethod
    def for_bandit(
        cls,
        bandit: Bandit,
        *,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int = 0,
        **options: Any,
    ) -> RotationUCB:
        """Return a learner for what is known of ``bandit``: arms, rules, plays and silence.

        Its curves are not looked at. Where it has rules, or rounds that do not play one arm, that
        is a :class:`~lastswitch.learning.rotation_ruled.RuledRotationUCB`; ``options`` are the
        learner's own.

        Examples
        --------
        >>> import lastswitch as ls
        >>> pairs = ls.Bandit([ls.curves.step(2, 0.9)] * 3, plays=2)
        >>> len(ls.RotationUCB.for_bandit(pairs).ask_round())
        2
        """
        options |= {"initial": bandit.initial, "rewards": rewards, "seed": seed}
        if bandit.plain:
            return cls(bandit.n_arms, **options)
        from lastswitch.learning.rotation_ruled import RuledRotationUCB

        known = ("rules", "plays", "silence", "names", "groups")
        return RuledRotationUCB(
            bandit.n_arms, **{name: getattr(bandit, name) for name in known}, **options
        )

    # Asking.

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the plan, planning when none is left or a mask is given."""
        if allowed is not None and allowed == self._alive:
            allowed = None
        if self._apart:
            if self.pooling != "all":
                return self._choose_for(track, allowed)
            self._tick(track.now)
        at, block = track.at, track.block
        if (
            at < len(block)
            and allowed is None
            and ((len(self._tracks) == 1 and at % self.commitment) or self._stands(track))
        ):
            arm = block[at]
            track.at = at + 1
        else:
            arm = self._begin(track, allowed)
        rest = track.clock - track.last[arm]  # 0 in a streak
        if 0 < rest < self.max_depth:
            cell = self._rests[arm] + rest
        else:
            cell = self._cell(arm, track.tau(arm))
        out = self._out[cell] + 1.0
        self._out[cell] = out
        if self._seen[cell] + out >= self._limit_all[cell]:
            self._grown(cell)
        return arm

    def _choose_for(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of a plan on tables that are the subject's own."""
        if allowed is None and track.at < len(track.block):
            arm = track.block[track.at]
            track.at += 1
        else:
            self._make_tables_for(track.memory, list(self._tracks.values()))
            pace = self.commitment if self.pooling == "none" or len(self._tracks) == 1 else 1
            block = self._search(self._cells(track.state()), allowed)[:pace]
            track.block, track.at, arm = block if allowed is None else (), 1, block[0]
        self._out[self._cell(arm, track.tau(arm))] += 1.0
        return arm

    def _tick(self, now: int) -> None:
        """Note the round, and let the tables be made again when enough has faded to matter."""
        self.latest = max(self.latest, now)
        if self.latest - self.faded >= _FADED * (self.memory or 0.0):
            self.stale = True

    def _stands(self, track: Track) -> bool:
        """Tell whether the plan of ``track`` was made on tables that are still to be had."""
        if self.stale:
            self._refresh()
        return bool(track.memory == self.tables)

    def _begin(self, track: Track, allowed: Mask | None) -> int:
        """Let ``track`` have a plan, and return its first arm."""
        if self.stale:
            self._refresh()
        alone = allowed is None and len(self._tracks) == 1
        played = track.cache
        # A plan played to its end leads to the same next one every time.
        ended = alone and played is not None and track.at == len(track.block) > 0
        if ended and played.era == self._era and played.follows is not None:
            plan: Planned = played.follows
        else:
            plan = self._plan(track, allowed)
            if ended and played.era == self._era:
                played.follows = plan
        block = plan.arms
        if alone and len(block) > 1:
            track.block, track.cache = block, plan
            track.memory = self.tables if len(block) > self.commitment else None
        else:
            track.block, track.cache, track.memory = (), None, None
        track.at = 1
        return block[0]

    def _refresh(self) -> None:
        """Make the tables anew, and see what the cycle pays on them that plans are measured by."""
        self._make_tables()
        self._measure()

    def _plan(self, track: Track, allowed: Mask | None) -> Planned:
        """Return what to play next from where ``track`` stands."""
        cells = self._cells(track.state())
        key = (cells, allowed)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            plan = self._plans[key] = Planned(self._search(cells, allowed), self._era)
        return plan

    def _cells(self, state: list[int]) -> tuple[int, ...]:
        """Return the cell of the tables that each arm is in."""
        last = self.streak_depth - 1
        return tuple(
            [
                last + (tau if tau < depth else depth)
                if tau > 0
                else (min(-tau, last + 1) or 1) - 1
                for tau, depth in zip(state, self._depth_list, strict=True)
            ]
        )

    def _search(self, cells: tuple[int, ...], allowed: Mask | None) -> tuple[int, ...]:
        return tuple(self._ahead(np.array(cells), allowed, self.lookahead).tolist())

    # Learning.

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to what its (arm, state) has paid."""
        _, arm, tau, _ = pull
        cell = self._rests[arm] + tau if 0 < tau < self.max_depth else self._cell(arm, tau)
        out, seen, paid, squared, limit = self._books
        out[cell] -= 1.0
        count = seen[cell] + 1.0
        seen[cell] = count
        paid[cell] += reward
        squared[cell] += reward * reward
        if count >= limit[cell]:
            self._grown(cell)
        if self._apart and self.pooling != "all":  # mostly the flag alone, which is sooner seen
            track = self._tracks[pull.subject]
            track.memory = track.memory or []
            add_own(track.memory, cell, reward)

    def missed(self, pull: Pull, note: Any) -> None:
        """Forget a play whose reward will never come."""
        self._out[self._cell(pull.arm, pull.tau)] -= 1.0

    @property
    def bound(self) -> float:
        """The most any schedule could earn per round if the optimistic tables were true.

        The tables are those of the latest plan, so asking changes nothing; before any, it is 1.
        """
        return self._bound

    # Keeping.

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a subject whose own rewards cannot be what it was paid."""
        if self.pooling != "all" and track.memory is not None:
            check_own(track.memory, self.counts.size)

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen and believed."""
        # Files of before it was kept on what tables were made: they are soon made again.
        learned = {"basis": np.zeros_like(self.basis), **learned}
        if "hazards" in learned:  # files of before there were kinds of curves
            learned |= {"kinds": np.zeros_like(self.kinds), "stale": True, "made": 0.0}
            del learned["hazards"]
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
            ("tables", 0, FARTHEST),
            ("latest", 0, FARTHEST),
            ("faded", 0, FARTHEST),
            ("strength", 0, len(STRENGTHS) - 1),
        ):
            check_whole(name, learned[name], least, PolicyError, most)
        if self.values.min() < 0.0 or self.values.max() > 1.0 or self.limits.min() < 0.0:
            raise PolicyError("what is believed of a state must lie between 0 and 1.")
        if self.basis.min() < 0.0:
            raise PolicyError("what tables were made of must not be negative.")
        if self.kinds.min() < 0.0 or self.kinds.sum(axis=1).max() > 1.0 + 1e-9:
            raise PolicyError("how likely kinds of curves are must be shares of one.")
        known = self.cycle >= 0
        if (self.cycle >= self.n_arms).any() or (known[1:] > known[:-1]).any():
            raise PolicyError(f"cycle must be of arms below {self.n_arms}, got {self.cycle}.")
        self._bind()
        if not self.stale or self.limits.any():  # tables have been made
            self._price()
            if known.any():  # a search now would be one that was not made before it was saved
                self._measure(search=False)


def _index(name: str) -> IndexName:
    """Return ``name`` if it is an index."""
    check_choice("index", name, ("reservation", *INDICES, "thompson"), PolicyError)
    return name  # type: ignore[return-value]
