"""The rotation learner: books, tables made of them, and plans on these from where subjects stand.

It knows nothing of subjects' names, of ids and of files: a caller hands in a track to decide for,
and says what was played and what it paid, in any order. :class:`~lastswitch.learning.RotationUCB`
is the policy that does so; a service that keeps its subjects in a database does it too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch._utils.checks import check_whole
from lastswitch._utils.jit import announce, compiling
from lastswitch._utils.random import stream
from lastswitch.errors import PolicyError
from lastswitch.learning.policy.checks import check_like
from lastswitch.learning.policy.tracks import FARTHEST, Mask, Track
from lastswitch.learning.rotation.books import TABLES, Books
from lastswitch.learning.rotation.cycle import Settled
from lastswitch.learning.rotation.cycle_search import CLOSED, LONGEST, search_cycle
from lastswitch.learning.rotation.lookahead import Beam, Moves, Outlook, look_ahead
from lastswitch.learning.rotation.pooling import (
    MOST_WEIGHED,
    STRENGTHS,
    add_own,
    check_own,
    likeliest_strength,
    mixed,
    own_tables,
)
from lastswitch.learning.rotation.prior import Prior, read_prior, with_arm
from lastswitch.learning.rotation.rounds import plan_rounds
from lastswitch.learning.rotation.rules import Arms, Met, RuleBook
from lastswitch.learning.rotation.tables import GROWTH, Tables
from lastswitch.rules.automata.endless import Memory

#: Plans remembered between two makings of the tables.
_REMEMBERED = 50_000
#: With a memory, tables are made again after this part of it.
_FADED = 0.02
#: A better cycle is searched for when plays have grown so much.
_SOUGHT = 1.25
#: Random numbers for that, which are used again when there are no more.
_NOISE = 4_000
#: How many look-aheads long the plan is in which a cycle is searched for.
LOOK_AHEADS = 2
#: Where subjects are kept elsewhere.
_NOBODY: dict[Any, Track] = {}
#: How many times wider the beam becomes, and how wide at most, where all its plans end early.
_WIDER, _WIDEST = 4, 400


@dataclass(frozen=True)
class Options:
    """What a rotation learner is built with; see :class:`~lastswitch.learning.RotationUCB`."""

    index: str
    depth: int
    max_depth: int
    streak_depth: int
    lookahead: int
    width: int
    commitment: int
    alpha: float
    memory: float | None
    pooling: str
    rewards: tuple[float, float]


class Planned:
    """The arms of a plan, of which era it is, and what is planned to follow it, once known.

    Plans of one era are made on the same tables and measured by the same cycle.
    """

    __slots__ = ("arms", "era", "follows")

    def __init__(self, arms: tuple[int, ...], era: int) -> None:
        self.arms, self.era = arms, era
        self.follows: Planned | None = None


class Rotation:
    """Learns what arms pay in every state, and plans on that.

    Parameters
    ----------
    n_arms
        Number of arms.
    options
        How it learns and plans.
    prior
        What was seen elsewhere.
    rules
        The rules it keeps, where rounds have such, or do not play one arm.
    rng
        What Thompson sampling draws from.

    Examples
    --------
    >>> from lastswitch.learning import RotationUCB
    >>> learner, track = RotationUCB(2).learner, Track((1, 1))
    >>> arm = learner.decide(track)
    >>> tau = track.play(arm)
    >>> learner.played(arm, tau)
    >>> learner.paid(arm, tau, 0.75)
    >>> float(learner.books.counts.sum()), float(learner.books.pending.sum())
    (1.0, 0.0)
    """

    def __init__(
        self,
        n_arms: int,
        options: Options,
        prior: Prior | None = None,
        rules: RuleBook | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.n_arms, self.options, self.prior, self.rules = n_arms, options, prior, rules
        self.rng = rng
        places, floor, self._idle_pay = 1.0, -1.0, 0.0
        if rules is not None:
            places, (least, most) = rules.places(), rules.plays
            floor = rules.silence if least < most else -1.0
            self._idle_pay = (most - places) * rules.silence
        self.books = Books(n_arms, options.max_depth)
        if prior is not None:
            self.books.absorb(prior, options.rewards)
        self.tables = Tables(
            n_arms,
            options.index,
            options.alpha,
            options.depth,
            options.max_depth,
            options.streak_depth,
            places,
            floor,
        )
        #: The cycle that plans are measured by, -1 behind its end; plays when it was searched for.
        self.cycle, self.checked = np.full(LONGEST, -1), 0.0
        #: How much others' rewards count for a subject, as a place among `STRENGTHS`.
        self.strength = 0 if options.pooling == "none" else len(STRENGTHS) - 1
        #: Which arms may be played at all, once some are retired.
        self.alive: Mask | None = None
        self._era = 0
        self._no_cycle = Settled.of(*self.tables.planned, self.cycle[:0])
        self._plans: dict[tuple[tuple[int, ...], Mask | None], Planned] = {}
        self._round_plans: dict[Any, list[int]] = {}
        self._moves: Moves | None = None
        self._priced: Outlook | None = None
        self._moved_by: tuple[int, list[int]] = (0, [])
        self._bind()

    @property
    def bound(self) -> float:
        """The most any schedule could earn per round if the optimistic tables were true."""
        return self.tables.bound + self._idle_pay

    # What happened.

    def played(self, arm: int, tau: int) -> None:
        """Count a play whose reward is still out, at the mean so far."""
        books, tables = self.books, self.tables
        cell = self._rests[arm] + tau if 0 < tau < books.max_depth else books.cell(arm, tau)
        out = books.out[cell] + 1.0
        books.out[cell] = out
        if books.seen[cell] + out >= tables.limit_all[cell]:
            self._grown(cell)

    def paid(self, arm: int, tau: int, reward: float, track: Track | None = None) -> None:
        """Learn the reward, from 0 to 1, of a play counted before, by the subject of ``track``."""
        books = self.books
        cell = self._rests[arm] + tau if 0 < tau < books.max_depth else books.cell(arm, tau)
        books.pay(cell, reward)
        if books.seen[cell] >= self.tables.limit_told[cell]:
            self._grown(cell)
        if track is not None and self.options.pooling != "all":
            track.memory = track.memory or []
            add_own(track.memory, cell, reward)

    def missed(self, arm: int, tau: int) -> None:
        """Forget a play counted before, whose reward will never come."""
        self.books.out[self.books.cell(arm, tau)] -= 1.0

    def news(self) -> dict[str, list[list[float]]]:
        """Return what happened since the learner was made, its prior left out.

        That is all there is to know of it: what it believes and plans follows.
        """
        before = Books(self.n_arms, self.options.max_depth)
        if self.prior is not None:
            before.absorb(self.prior, self.options.rewards)
        now, then = self.books.tables(), before.tables()
        return {name: np.maximum(now[name] - then[name], 0.0).tolist() for name in TABLES}

    def hear(self, news: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Add what a learner of the same depth and no more arms has seen.

        Examples
        --------
        >>> from lastswitch.learning import RotationUCB
        >>> one, more = RotationUCB(1).learner, RotationUCB(2).learner
        >>> one.played(0, 1)
        >>> more.hear(one.news())
        >>> more.books.pending.sum(axis=1).tolist()
        [1.0, 0.0]
        """
        self.books.add(news)
        self.tables.stale = True

    def grow(self, prior: Any) -> None:
        """Take up one more arm, of which ``prior`` may say something."""
        given = None if prior is None else read_prior(prior, 1, self.options.rewards)
        if self.prior is not None:  # one row more, so that the arguments still go together
            self.prior = with_arm(self.prior)
        self.books.grow()
        if given is not None:
            self.books.absorb(given, self.options.rewards, self.n_arms)
        self.tables.grow()
        self.n_arms += 1
        if self.alive is not None:
            self.alive = (*self.alive, True)
        self._bind()

    def retire(self, arm: int) -> None:
        """Believe nothing more of ``arm``, so that no plan waits for it."""
        alive = self.alive or (True,) * self.n_arms
        self.alive = (*alive[:arm], False, *alive[arm + 1 :])
        self.tables.retired = [k for k, there in enumerate(self.alive) if not there]
        self.tables.restart()

    # Deciding.

    def decide(
        self, track: Track, allowed: Mask | None = None, tracks: Mapping[Any, Track] = _NOBODY
    ) -> int:
        """Return the arm to play for ``track``, counting nothing: it may never be played.

        ``tracks`` are those of all subjects, if they are kept here. The track keeps what is left of
        its plan.
        """
        options, alone = self.options, len(tracks) == 1
        if allowed is not None and allowed == self.alive:
            allowed = None
        if options.pooling != "all":
            return self._decide_apart(track, allowed, tracks)
        if options.memory is not None:
            self._tick(track.now)
        at, block = track.at, track.block
        if (
            at < len(block)
            and allowed is None
            and ((alone and at % options.commitment) or self._stands(track))
        ):
            track.at = at + 1
            return block[at]
        return self._begin(track, allowed, alone)

    def _decide_apart(self, track: Track, allowed: Mask | None, tracks: Mapping[Any, Track]) -> int:
        """Return the next arm of a plan on tables that are the subject's own."""
        if allowed is None and track.at < len(track.block):
            track.at += 1
            return track.block[track.at - 1]
        self._make_apart(track.memory, list(tracks.values()))
        alone = self.options.pooling == "none" or len(tracks) == 1
        pace = self.options.commitment if alone else 1
        block = self._search(self.tables.cells(track.state()), allowed)[:pace]
        track.block, track.at = block if allowed is None else (), 1
        return block[0]

    def _begin(self, track: Track, allowed: Mask | None, alone: bool) -> int:
        """Let ``track`` have a plan, and return its first arm."""
        if self.tables.stale:
            self.refresh()
        alone = alone and allowed is None
        before = track.cache
        # A plan played to its end leads to the same next one every time.
        ended = alone and before is not None and track.at == len(track.block) > 0
        if ended and before.era == self._era and before.follows is not None:
            plan: Planned = before.follows
        else:
            plan = self._plan(track, allowed)
            if ended and before.era == self._era:
                before.follows = plan
        block = plan.arms
        if alone and len(block) > 1:
            track.block, track.cache = block, plan
            long = len(block) > self.options.commitment
            track.memory = self.tables.tables if long else None
        else:
            track.block, track.cache, track.memory = (), None, None
        track.at = 1
        return block[0]

    def _stands(self, track: Track) -> bool:
        """Tell whether the plan of ``track`` was made on tables that are still to be had."""
        if self.tables.stale:
            self.refresh()
        return bool(track.memory == self.tables.tables)

    def _plan(self, track: Track, allowed: Mask | None) -> Planned:
        """Return what to play next from where ``track`` stands."""
        cells = self.tables.cells(track.state())
        key = (cells, allowed)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            plan = self._plans[key] = Planned(self._search(cells, allowed), self._era)
        return plan

    def _search(self, cells: tuple[int, ...], allowed: Mask | None) -> tuple[int, ...]:
        return tuple(self._ahead(np.array(cells), allowed, self.options.lookahead).tolist())

    def _ahead(self, cells: IntArray, allowed: Mask | None, rounds: int) -> IntArray:
        """Return the best plays found from ``cells``, so many rounds of them."""
        free = self.alive if allowed is None else allowed
        mask = None if free is None else np.array(free)
        cycle, tables = self._cycle if free is None else self._no_cycle, self.tables
        moves, outlook = self._outlook()
        return self._beam.plan(tables.planned, moves, outlook, cells, mask, cycle, rounds)[0]

    # Deciding under rules.

    def decide_round(
        self, track: Track, allowed: Mask | None, tracks: Mapping[Any, Track] = _NOBODY
    ) -> Arms:
        """Return the arms of the next round of the plan, planning where none is left.

        As :meth:`decide`, for a learner that has rules.
        """
        rules = self._ruled()
        met = rules.met(track.began)
        held, plan = met.recall(track)
        if allowed is not None:
            met.check_allowed(held, allowed)
        if self.options.memory is not None:
            self._tick(track.now)
        pace = self.options.commitment if len(tracks) == 1 else 1
        if allowed is not None or not plan or not met.endless.safe(held, plan[0]):
            plan = self._planned_rounds(track.state(), met, held, allowed)[:pace]
        track.memory = [track.clock, list(held), plan]
        return met.endless.choices[plan[0]]

    def played_round(self, track: Track, arms: Arms) -> None:
        """Count the plays of a round that ``track`` is about to play, and tell the rules."""
        track.memory = self._ruled().met(track.began).play(track, arms)
        for arm in arms:
            self.played(arm, track.tau(arm))

    def next_round(
        self,
        state: Sequence[int],
        number: int,
        past: Sequence[Arms],
        allowed: Mask | None = None,
        plays: int | None = None,
    ) -> Arms | None:
        """Return the arms that round ``number`` plays after the rounds ``past``, the latest last.

        Nothing is counted: it may never be played. None if ``allowed`` and ``plays``, how many arms
        it is to play, leave nothing from which all hard rules can be kept.
        """
        met, held = self._ruled().recalled(number, past)
        if allowed is None and plays is None:
            return met.endless.choices[self._planned_rounds(state, met, held, None)[0]]
        free = met.kept(held, met.free(allowed, plays))
        if not free.any():
            return None
        if self.tables.stale:
            self.refresh()
        plan = self._ahead_rounds(self.tables.cells(state), met, held, free)
        return met.endless.choices[(plan or np.flatnonzero(free).tolist())[0]]

    def ways(
        self,
        number: int,
        past: Sequence[Arms],
        allowed: Mask | None = None,
        plays: int | None = None,
    ) -> list[Arms]:
        """Return every round that may be played; see :meth:`next_round`."""
        met, held = self._ruled().recalled(number, past)
        free = met.kept(held, met.free(allowed, plays))
        return [met.endless.choices[choice] for choice in np.flatnonzero(free).tolist()]

    def _ruled(self) -> RuleBook:
        if self.rules is None:
            raise PolicyError("a learner without rules plays one arm a round; see decide().")
        return self.rules

    def _planned_rounds(
        self, state: Sequence[int], met: Met, held: Memory, allowed: Mask | None
    ) -> list[int]:
        """Return the choices to make next, the first of which is safe."""
        if self.tables.stale:
            self.refresh()
        cells = self.tables.cells(state)
        key = (id(met), cells, held, allowed)
        plan = self._round_plans.get(key)
        if plan is None:
            if len(self._round_plans) >= _REMEMBERED:
                self._round_plans.clear()
            free = met.free(allowed)
            plan = self._ahead_rounds(cells, met, held, free)
            if not plan or not met.endless.safe(held, plan[0]):
                free = met.kept(held, free)
                lasting = met.endless.lasting(held)
                plan = self._ahead_rounds(cells, met, held, free) if lasting else []
                plan = plan or np.flatnonzero(free)[:1].tolist()
            self._round_plans[key] = plan
        return plan

    def _ahead_rounds(
        self, cells: tuple[int, ...], met: Met, held: Memory, free: BoolArray
    ) -> list[int]:
        """Return the first plays of the best plan found, as many as are committed to.

        Plays from which the rules cannot be kept may promise most, and crowd out all others; then
        every plan ends early, and a wider beam has room for those that go on.
        """
        rounds, width = self.options.lookahead, self.options.width
        start = np.array(cells), np.array(held, np.int64)
        while True:
            plan = plan_rounds(*self._outlook(), met.choices, *start, free, width, rounds)
            if plan.size in (0, rounds) or width >= _WIDEST:
                kept: list[int] = plan[: self.options.commitment].tolist()
                return kept
            width = min(_WIDER * width, _WIDEST)

    # Making tables.

    def refresh(self) -> None:
        """Make the tables anew, and see what the cycle pays on them that plans are measured by."""
        with compiling():
            announce("learning", look_ahead)
            if self.options.memory is not None and self.books.latest != self.books.faded:
                self.books.fade(self.options.memory)
                self.tables.made = 0.0
            if self.tables.make(self.books, self.rng):
                self._drop_plans()
            if self.rules is None:
                self._measure()

    def _make_apart(self, own: list[Any] | None, tracks: Sequence[Track]) -> None:
        """Make the tables of a subject that was paid ``own``, of the subjects on ``tracks``."""
        announce("learning", look_ahead)
        books, tables = self.books, self.tables
        seen = books.settle()
        shape = seen.n.shape
        if self.options.pooling == "partial" and seen.plays >= GROWTH * tables.made:
            tables.made = seen.plays
            each = max(1, math.ceil(len(tracks) / MOST_WEIGHED))
            subjects = [own_tables(track.memory, shape) for track in tracks[::each]]
            self.strength = likeliest_strength(subjects, (books.counts, books.sums))
        n, s = mixed(own_tables(own, shape), (seen.n, seen.s), STRENGTHS[self.strength])
        # What is believed of another subject, even if it is nearly the same, has no part in it.
        tables.kinds[:], tables.worth = 0.0, tables.values[:0]
        own_seen = seen._replace(n=n, s=s, q=s, plays=float(n.sum()), states=int((n > 0.0).sum()))
        tables.tabulate(own_seen, np.ones(self.n_arms, np.bool_), self.rng)
        self._drop_plans()

    def _grown(self, cell: int) -> None:
        """Hear that a state was seen so much more often."""
        if self.options.memory is None:
            self.tables.grown(cell, self.books)
        else:
            self.tables.stale = True

    def _tick(self, now: int) -> None:
        """Note the round, and let the tables be made again when enough has faded to matter."""
        books = self.books
        books.latest = max(books.latest, now)
        if books.latest - books.faded >= _FADED * (self.options.memory or 0.0):
            self.tables.stale = True

    def _measure(self, *, search: bool = True) -> None:
        """Know what the cycle that plans are measured by pays; search for a better one at times."""
        tables, known = self.tables, self.cycle[self.cycle >= 0]
        self._cycle = self._no_cycle
        if self.alive is not None:  # an arm that is retired would serve as a pause
            return
        settled = Settled.of(*tables.planned, known)
        sought = known.size == 0 or self.options.memory is not None
        if search and (sought or tables.made >= _SOUGHT * self.checked):
            self.checked = max(tables.made, 1.0)
            if known.size == 0 or settled.pay < tables.bound - CLOSED:
                rested = np.full(self.n_arms, self.options.streak_depth)
                plan = self._ahead(rested, None, LOOK_AHEADS * self.options.lookahead)
                noise = stream(0, "rotation", "cycle", int(tables.made)).random(_NOISE)
                prices = tables.slot_price, tables.bound
                known, _ = search_cycle(tables.planned, known, plan, *prices, noise)
                settled = Settled.of(*tables.planned, known)
                self.cycle[:] = -1
                self.cycle[: known.size] = known
                self._drop_plans()
        self._cycle = settled

    def _drop_plans(self) -> None:
        """Forget the plans, which were made on other tables or by another cycle."""
        self._plans.clear()
        self._round_plans.clear()
        self._priced = None
        self._era += 1

    def _outlook(self) -> tuple[Moves, Outlook]:
        """Return what plans are made on."""
        tables = self.tables
        if self._priced is None:
            cells = tables.values.shape[1]
            if self._moves is None or self._moved_by != (cells, tables.depth_list):
                self._moves = Moves.of(tables.streak_depth, tables.depths, cells)
                self._moved_by = (cells, tables.depth_list)
            self._priced = Outlook.of(self._moves, tables.values, tables.worth)
        assert self._moves is not None
        return self._moves, self._priced

    def _bind(self) -> None:
        """Make what is worked out from what is learned."""
        #: Where each arm's rests begin, for those who cannot wait for :meth:`Books.cell`.
        self._rests = [self.books.cell(arm, 1) - 1 for arm in range(self.n_arms)]
        self._drop_plans()
        self._moves = None
        options = self.options
        self._beam = Beam(self.n_arms, options.width, LOOK_AHEADS * options.lookahead)
        self._cycle = self._no_cycle

    # Keeping.

    def learned(self) -> dict[str, Any]:
        """Return what was seen and believed, as JSON-able values and arrays."""
        books, tables = self.books, self.tables
        return {
            **books.tables(),
            **{name: getattr(tables, name) for name in tables.shared},
            "checked": self.checked,
            "cycle": self.cycle,
            "latest": books.latest,
            "faded": books.faded,
            "strength": self.strength,
        }

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what :meth:`learned` returned, if it can be what such a learner learns."""
        books, tables, rows = self.books, self.tables, self.n_arms
        # Files of before it was kept on what tables were made: they are soon made again.
        learned = {"basis": np.zeros_like(tables.basis), **learned}
        if "hazards" in learned:  # files of before there were kinds of curves
            learned |= {"kinds": np.zeros_like(tables.kinds), "stale": True, "made": 0.0}
        tables.check_depths(learned["depths"])
        cells = tables.streak_depth + int(learned["depths"].max())
        model = self.learned() | {"values": np.ones((rows, cells))}
        for name, like in model.items():
            check_like(name, learned[name], like)
        for name, most in (
            ("tables", FARTHEST),
            ("latest", FARTHEST),
            ("faded", FARTHEST),
            ("strength", len(STRENGTHS) - 1),
        ):
            check_whole(name, learned[name], 0, PolicyError, most)
        cycle = learned["cycle"]
        known = cycle >= 0
        if (cycle >= rows).any() or (known[1:] > known[:-1]).any():
            raise PolicyError(f"cycle must be of arms below {rows}, got {cycle}.")
        books.take(learned)
        books.check()
        books.latest, books.faded = learned["latest"], learned["faded"]
        for name in tables.shared:
            setattr(tables, name, learned[name])
        tables.check()
        tables.bind()
        self.cycle, self.checked, self.strength = cycle, learned["checked"], learned["strength"]
        self._bind()
        if not tables.stale or tables.limits.any():  # tables have been made
            tables.price()
            if known.any():  # a search now would be one that was not made before it was saved
                self._measure(search=False)

    def check_track(self, track: Track) -> None:
        """Refuse a subject whose memory cannot be what this learner left there."""
        if self.rules is not None:
            self.rules.check_track(track)
        elif self.options.pooling != "all" and track.memory is not None:
            check_own(track.memory, self.books.counts.size)
