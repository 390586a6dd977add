"""One run of the certified solver: what is tried, and in which order.

Most problems are soon over: subgradient prices, a beam that widens a few times, arms that use the
same rounds merged in pairs. For what is then still open the prices are moved by a bundle method,
better schedules come from planning parts anew, and the bound from one merge that takes in machine
after machine, while arcs that no better schedule can use are deleted. With a time limit the same is
tried for a lower target, too: that nothing is much better than the incumbent. With very many arms
that comes first.

The answer is a schedule and a bound; or, under rules, no schedule and a bound of minus infinity,
the proof that none exists; or, out of time, no schedule and some bound: unknown.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.errors import ProblemError
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.diagrams.shared import without_pays
from lastswitch.planning.search import merge, stages
from lastswitch.planning.search.incumbent import Incumbent, plain_bound
from lastswitch.planning.search.neighbourhood import Neighbourhoods
from lastswitch.planning.search.params import DEFAULT, SearchParams
from lastswitch.planning.search.perturbation import Perturbation
from lastswitch.planning.search.prices import Prices, best_pays
from lastswitch.planning.search.relaxation import AnyBeam, Relaxation, single_arms

#: What a state of a merge costs in states swept.
PAIR_WORK = 30
#: Bytes that a pair of states takes while a merge is made of them, and that a state of it takes.
PAIR_BYTES, STATE_BYTES = 36, 200
#: With no schedule to aim at, aim this share below the bound, and again after so many steps; a
#: bundle, whose steps find their own size, farther below.
TARGET, BUNDLE_TARGET, TARGET_STEPS = 0.03, 0.5, 20
#: Beyond this many states and arcs of shared automata and arms the steps of a bundle are too few.
MOST_BUNDLED, LARGE_STEPS = 200_000, 240


class Done(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """The search is over: proven, good enough, or out of time."""


class Reached(Exception):  # noqa: N818 - a way out of nested loops, never seen by a caller
    """Nothing is better than the target."""


class Search:
    """A search; after :meth:`run`, its incumbent is what it found.

    Parameters
    ----------
    model
        The arms, and the automata they share.
    gap
        Good enough: (bound - value) <= gap * |value|.
    clock
        How long there is, and whom to tell.
    beat
        Only schedules worth more than this are looked for.
    params
        The constants of the search.
    any_will_do
        Stop at the first schedule; all are worth nothing.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.build import block_model
    >>> search = Search(block_model(stages.EXAMPLE), 0.0, Clock(None))
    >>> search.run()
    >>> search.best.value, search.best.bound
    (0.5, 0.5)
    """

    def __init__(
        self,
        model: Model,
        gap: float,
        clock: Clock,
        beat: float = -math.inf,
        params: SearchParams = DEFAULT,
        *,
        any_will_do: bool = False,
    ) -> None:
        self.model, self.clock, self.params = model, clock, params
        self.best = Incumbent(model, gap, beat)
        self.any_will_do = any_will_do
        self.work = 0  # states swept and nodes expanded: a clock that ticks alike everywhere
        self.main: Relaxation | None = None
        self.guide = np.empty(0), np.empty((0, 0))
        self._free = False  # whether nothing is forbidden
        self._plain = False  # whether the machines may have states that no schedule visits
        self._seeded = False  # whether the beam has passed once

    def run(self, price: FloatArray | None = None) -> None:
        """Search until proven, good enough, or out of time or memory."""
        with contextlib.suppress(Done):
            self._run(price)
        if self.best.bound == math.inf and self.model.shared is None:  # stopped before any prices
            self.best.lower(plain_bound(self.model))

    @functools.cached_property
    def large(self) -> bool:
        """Whether the problem has so many rounds and arms that a proof is mostly out of reach."""
        return self.model.n_arms * self.model.length > self.params.large

    def _run(self, price: FloatArray | None) -> None:
        """Begin with what proves most problems, and go on with what proves the others."""
        params = self.params
        relaxation, width = self._begin(price)
        single, d = None, relaxation.diagram.length
        if self.model.shared is not None:
            return self._go_on(*self._widen(relaxation, width))
        while width * d**3 < params.hard_from:
            relaxation.prices.slow_down(params.more_theta)
            self._descend(relaxation, params.more_steps)
            if width * d * len(relaxation.machines) >= params.pair_from:
                single = single or relaxation.copy()
                self._pair(relaxation, int(params.pair_size * width * d))
            self._pass(relaxation, width)
            width *= params.widen
        self._go_on(single or relaxation, width)

    def _widen(self, relaxation: Relaxation, width: int) -> tuple[Relaxation, int]:
        """Return what shared automata begin with: prices of a bundle, and passes as they are cheap.

        These prove most problems, and many at once: so the bundle begins with few steps, each of
        which takes longer than the one before.
        """
        self._load(stages.ready_to_grow_shared)
        params, easy = self.params, self.params.shared_hard_from
        if relaxation.diagram.size > MOST_BUNDLED:
            self._look_for_any()
            self._descend(relaxation, LARGE_STEPS)
        else:
            relaxation = self.main = relaxation.bundled()
            self._descend(relaxation, params.shared_steps[0])
        self._beam(relaxation, params.seed_width)
        self._look_for_any()
        self._reduce(relaxation)
        work = 0
        while work < easy[1]:
            self.guide = relaxation.prices.price.copy(), relaxation.arm_usage()
            if work > easy[0]:
                self.plan_anew(relaxation)
            work = self._pass(relaxation, width)
            width *= params.widen
        return relaxation, width

    def _go_on(self, relaxation: Relaxation, width: int) -> None:
        """Better prices, better schedules and a growing merge, then a wider beam, for ever."""
        params, d, clock, best = self.params, relaxation.diagram.length, self.clock, self.best
        if self.model.shared is None:
            self._load(stages.ready_to_grow)
            relaxation = self.main = relaxation.bundled()
            self._descend(relaxation, params.bundle_steps)
            self._reduce(relaxation)
        self.guide = relaxation.prices.price.copy(), relaxation.arm_usage()
        self.plan_anew(relaxation)
        most = min(params.merge_most, params.most_memory // PAIR_BYTES)
        if self.large and clock.limited:
            self._pass(relaxation, width)
            self._close_in(relaxation, most, params.close_gap)
        elif clock.limited and self.model.n_arms * d > params.close_size:
            self._reduce(relaxation)
            self._grow(relaxation, params.close_after)
            self._close_in(relaxation, most, params.close_gap)
        least, tried = params.grow_from[self.large], None
        while True:
            self._reduce(relaxation)
            work = width // params.widen * d * len(relaxation.machines)
            limit = min(most, int(params.merge_size * work))
            if work >= least and tried != (limit, best.value):
                tried = limit, best.value
                self._grow(relaxation, limit)
                if self.left() < params.merge_left * limit:  # no time for such a merge again
                    self._close_in(relaxation, limit, params.target_gap)
            widest = self._widest(relaxation)
            if width >= widest and clock.limited:  # all that is left to try
                self._close_in(relaxation, most, params.target_gap)
            if self.left() < min(width, widest) * d * len(relaxation.machines):
                self.perturb(relaxation, 1.0)
            self._pass(relaxation, width)
            width *= params.widen
            self.plan_anew(relaxation)

    def _close_in(self, relaxation: Relaxation, most: int, until: float) -> None:
        """Better the schedule and lower the bound in turn, where a proof is mostly out of reach.

        Merges prove that nothing is much better than the incumbent: each time a share of the gap
        is left, as long as there is time for that, and until the gap is small.
        """
        params, large, best = self.params, self.large, self.best
        limit, spent = params.close_from[large], 0
        while best.answered and best.bound - best.value > until * abs(best.value):
            known = best.value, best.bound
            self.perturb(relaxation, params.close_perturbation[large])
            share = (spent / max(self.left(), 1.0)) ** params.target_pace  # what there is time for
            if share > params.target_most:
                self.perturb(relaxation, 1.0)
            self._reduce(relaxation)
            share = max(params.target_share[large], share)
            before = self.work
            target = best.value + share * (best.bound - best.value)
            self._prove_target(relaxation, target, min(limit, most))
            spent, limit = self.work - before, 2 * limit
            if known == (best.value, best.bound):
                return

    def _pass(self, relaxation: Relaxation, width: int) -> int:
        """Run a beam as wide as memory allows, and delete what it showed to be hopeless.

        Return how much work the beam was.
        """
        widest = self._widest(relaxation)
        if self.model.shared is not None:  # letters have prices, too, which takes more steps
            wide = width > self.params.narrow * self.params.widen
            self._descend(relaxation, self.params.shared_steps[wide])
        work = self._beam(relaxation, min(width, widest)).work
        if width >= widest:
            if not self.best.answered and self.model.shared is None:
                raise ProblemError("no block was found that gives every round to one arm.")
            raise Done
        self._reduce(relaxation)
        return work

    def _widest(self, relaxation: Relaxation) -> int:
        """Return how wide a beam memory allows."""
        return max(1, self.params.most_memory // relaxation.bytes_per_node())

    def _diagram(self) -> tuple[Diagram, FloatArray, float]:
        """Return the machines to begin with, the best pay of each round, and the best end.

        They are minimal, unless it may be over sooner than that.
        """
        model, arms = self.model, self.model.arms
        if len(arms.idle) > self.params.states_per_second * self.clock.left:
            self.clock.deadline = -math.inf  # no time for this many: a greedy answer
        self.check()
        if model.shared is None and model.length * model.n_arms <= self.params.large:
            facts = model.facts if len(model.facts) else arms.survey()
            if facts[-1] == 0.0:  # nothing is forbidden, so there are no dead ends
                self._plain = self._free = True
                self._load(stages.ready_to_hurry)
                self.best.measure(arms, facts.item(-2))
                return arms, facts[:-3], facts.item(-3)
        self._load(stages.ready_to_share if model.shared else stages.ready_to_widen)
        diagram = compact(model, self.check)
        if diagram is None:
            self._none("some arm can neither idle nor be pulled to the end of the block.")
        self.best.measure(diagram)
        return diagram, best_pays(diagram), float(diagram.final.max())

    def _sharpen(self) -> None:
        """Measure again, where it matters, without the pays of states that no block visits."""
        if self._plain and self.best.answered and self.best.blurred:
            diagram = compact(self.model)
            if diagram is not None:
                self.best.measure(diagram)
        self._plain &= not self.best.answered

    def _first(self, price: FloatArray | None) -> Relaxation:
        """Return the machines at some prices, at those given if they fit."""
        diagram, best, end = self._diagram()
        params, shared, alike = self.params, self.model.shared, self.model.alike.copy()
        labels = alike.tolist()
        order = list(range(len(labels)))
        if sorted(labels) != labels:  # symmetric arms next to each other, as the beam wants them
            order = np.argsort(alike, kind="stable").tolist()
            alike = alike[order]
            root = np.concatenate([diagram.root[order], diagram.root[len(order) :]])
            diagram = diagram._replace(root=root)
        self._sharpen()
        if shared is None:
            machines, sharing, columns = single_arms(order), None, len(best)
        else:
            machines, sharing = shared.machines(), shared.sharing(self.model.length)
            machines = [machines[arm] for arm in order] + machines[len(order) :]
            columns = sharing.n_prices
        fits = price is not None and len(price) == columns
        if not fits and shared is None:
            # With more arms than rounds, everyone claims too much at less than the best pay.
            price = best * (params.first_share if len(machines) <= len(best) else 1.0)
        prices = Prices(diagram, price if fits or shared is None else None, None, params, sharing)
        relaxation = self.main = Relaxation(prices, machines, alike)
        if shared is None:  # the best pay of each round, the best end of each arm
            self.lower(relaxation, float(np.add.reduce(best)) + len(machines) * end)
        self._adopt(relaxation)
        if fits:
            prices.slow_down(params.warm_theta)
        return relaxation

    def _begin(self, price: FloatArray | None) -> tuple[Relaxation, int]:
        """Return the machines at good prices, a first incumbent found on the way, and a width."""
        relaxation, params = self._first(price), self.params
        if self._free:
            return relaxation, self._hurry(relaxation)
        self._beam(relaxation, params.seed_width)
        # A better incumbent makes better steps.
        for steps in params.steps if self.model.shared is None else params.shared_first_steps:
            self._descend(relaxation, steps)
            self._beam(relaxation, params.seed_width)
            self._reduce(relaxation)
        return relaxation, params.narrow

    def _hurry(self, relaxation: Relaxation) -> int:
        """Do the same, and the first passes, with few deletions or none: it may be over.

        Return the next width.
        """
        params = self.params
        large = relaxation.diagram.size >= params.reduce_from
        beam = self._beam(relaxation, params.seed_width)
        for more, steps in enumerate(params.steps, 1 - len(params.steps)):
            self._descend(relaxation, steps)
            if more or large:  # else the first pass is next, and finds as much
                self._beam(relaxation, params.seed_width, again=beam)
        if large:
            self._load(stages.ready_to_widen)
            self._reduce(relaxation)
        width, nodes = params.narrow, relaxation.diagram.length * len(relaxation.machines)
        for _ in range(2):
            relaxation.prices.slow_down(params.more_theta)
            self._descend(relaxation, params.more_steps)
            self._beam(relaxation, width)
            width *= params.widen
            if width * nodes >= params.pair_from:
                break
        self._load(stages.ready_to_widen)
        self._reduce(relaxation)
        return width

    def _look_for_any(self) -> None:
        """Find a first schedule without looking at pays, or prove that there is none.

        Good prices lead a beam to one more often; so this is for where they do not.
        """
        if self.best.answered or self.any_will_do:
            return
        model = without_pays(self.model)
        search = Search(model, 0.0, self.clock, params=self.params, any_will_do=True)
        search.run()
        if search.best.schedule is not None:
            self.best.offer(search.best.schedule)
        elif search.best.bound == -math.inf:
            self._none("")
        self.check()

    def _adopt(self, relaxation: Relaxation) -> None:
        """Make these the prices to report, and take note of their bound."""
        self.best.price = relaxation.prices.price
        self.lower(relaxation, relaxation.prices.bound)
        self.check(relaxation)

    def _descend(self, relaxation: Relaxation, steps: int) -> None:
        """Improve the prices, looking at the clock now and then."""
        prices, best = relaxation.prices, self.best
        at_once = max(1, 4 * self.params.slice // relaxation.sweep)
        if not best.answered:
            at_once = min(at_once, TARGET_STEPS)
        self.work += steps * relaxation.sweep
        while steps > 0 and not prices.exhausted:
            target = max(best.value, relaxation.target)
            if self.any_will_do:
                target = prices.bound - 1.0
            elif not best.answered:  # nothing to aim at yet: something a little lower
                size = float(np.abs(prices.price[: self.model.length]).sum())
                share = BUNDLE_TARGET if relaxation.is_bundled else TARGET
                target = prices.bound - share * max(abs(prices.bound), size)
            prices.descend(target, min(steps, at_once))
            self.lower(relaxation, prices.bound)
            self.check(relaxation)
            steps -= at_once

    def _reduce(self, relaxation: Relaxation, less: float | None = None) -> None:
        """Delete the arcs that cannot improve on the incumbent.

        Does nothing if the bound and the incumbent are about those of the last time, the distance
        between the two not having shrunk to ``less`` of what it was.
        """
        best, again = self.best, self.params.reduce_again
        if not best.answered and self.model.shared is not None:
            return
        slack = relaxation.prices.bound - self.floor_of(relaxation)
        if slack > (again if less is None else less) * relaxation.slack:
            return
        relaxation.slack = slack
        floor = self.give_up(relaxation)
        diagram = relaxation.reduced(floor, self.check, self._blur(relaxation))
        if diagram is None:
            self.nothing_left(relaxation)
        if best.blurred:
            best.measure(diagram)
        elif self.model.shared is None and diagram.size > again * relaxation.diagram.size:
            return
        relaxation.exchange(diagram)
        self._adopt(relaxation)

    def _blur(self, relaxation: Relaxation) -> float | None:
        """Return the rounding with which opportunity costs count; None: they do not."""
        counts = self.params.opportunity and self.best.answered and relaxation.is_bundled
        if self.model.shared is not None:
            counts = counts and self.work >= self.params.opportunity_from
        return self.best.rounding if counts else None

    def _pair(self, relaxation: Relaxation, limit: int) -> None:
        """Merge machines that use the same rounds in pairs, of ``limit`` states in all.

        Less than growing one merge does, but in no time.
        """
        params = self.params
        self._load(stages.ready_to_pair)
        limit = min(limit, int(params.pair_growth * len(relaxation.diagram.idle)))
        taken, failed = set(), 0
        members = [machine.members for machine in relaxation.machines]
        for arm, rival in merge.pairs(relaxation.prices.usage, members, params):
            if arm in taken or rival in taken:
                continue
            heads = [machine.members[0] for machine in relaxation.machines]
            try:
                before = len(relaxation.diagram.idle)
                self._merge(relaxation, heads.index(arm), heads.index(rival), limit)
            except merge.TooLarge:
                failed += 1
                if failed == params.pair_tries:
                    break
                continue
            taken |= {arm, rival}
            limit -= max(0, len(relaxation.diagram.idle) - before)
        if taken:
            relaxation.prices.restart(params.pair_theta)
            self._descend(relaxation, params.pair_steps)
            self._reduce(relaxation, math.inf)

    def _merge(self, relaxation: Relaxation, one: int, other: int, limit: int) -> None:
        """Put the merge of two machines in their place."""
        room = limit, self.params.most_memory // STATE_BYTES
        floor, blur = self.give_up(relaxation), self._blur(relaxation)
        diagram = relaxation.merged(one, other, floor, room, self.check, blur)
        if diagram is None:
            self.nothing_left(relaxation)
        self.work += PAIR_WORK * len(diagram.idle)
        if len(relaxation.machines) == 1:
            diagram = relaxation.finished(self.check)
            if diagram is None:
                self.nothing_left(relaxation)
            relaxation.exchange(diagram)
            self.lower(relaxation, relaxation.prices.bound)
            self._beam(relaxation, 1)
        self._adopt(relaxation)

    def _grow(self, relaxation: Relaxation, limit: int) -> None:
        """Take one machine after the other into a merge, as long as ``limit`` pairs will do."""
        params = self.params
        while len(relaxation.machines) > 1 and not relaxation.grown:
            value = self.best.value
            # Most targets take so long that the next one should know of a better schedule.
            targeting = relaxation.target > -math.inf and not self.large
            self.perturb(relaxation, params.close_perturbation[self.large] if targeting else None)
            if self.best.value > value:
                self._reduce(relaxation)
            floor = self.floor_of(relaxation)
            limit = int(min(limit, self.left() / params.merge_left))
            rivals = relaxation.rivals(floor, limit)
            if rivals is None:
                return
            before = relaxation.state()
            try:
                self._merge(relaxation, *rivals)
            except merge.TooLarge:
                self.check()
                return
            self._shrink(relaxation)
            if self.model.shared is not None and relaxation.outgrew(
                before, self.floor_of(relaxation)
            ):
                relaxation.restore(before)
                return

    def _shrink(self, relaxation: Relaxation) -> None:
        """Improve the prices after a merge, deleting arcs as soon as that is worth it."""
        params = self.params
        for _ in range(params.merge_rounds[len(relaxation.prices.worth) > params.merge_large]):
            self._descend(relaxation, params.merge_steps)
            self._reduce(relaxation, params.merge_reduce)
            if relaxation.prices.exhausted:
                break
        states = len(relaxation.prices.worth)
        if relaxation.target > self.best.floor:  # what is left may lead to schedules below it
            self._beam(relaxation, params.free_width, self.best.floor)
        if states > params.merge_beam and not self.large:
            d, n = relaxation.diagram.length, len(relaxation.machines)
            share = min(max((params.wide_rounds / d) ** 4 / n, params.merge_width), 1.0)
            self._beam(relaxation, params.narrow + int(share * states))
            self._reduce(relaxation, params.merge_reduce)

    def _prove_target(self, relaxation: Relaxation, target: float, limit: int) -> None:
        """Prove that nothing is better than the target: smaller merges do than for a proof.

        What is deleted on the way holds above the target alone, so it is done on a copy. That
        serves for a higher target, too, where this one is too low for merges within the limit.
        """
        best = self.best
        if best.blurred or not best.answered:
            return
        gap = best.bound - target
        copy = relaxation.bundled(target)
        with contextlib.suppress(Reached):
            while best.bound - copy.target > self.params.target_least * gap:
                self._reduce(copy, math.inf)
                self._grow(copy, limit)
                copy.target += 0.5 * (best.bound - copy.target)

    def _load(self, ready: Callable[[], None]) -> None:
        """Compile or load what easy problems do not need; that costs no time of the caller's."""
        self.clock.forgive(stages.seconds_of(ready))

    def _beam(
        self,
        relaxation: Relaxation,
        width: int,
        floor: float | None = None,
        again: AnyBeam | None = None,
    ) -> AnyBeam:
        """Run one pass of the beam, above the relaxation's floor or another; take what it finds.

        The beam may be given from a pass over the same machines that was as wide.
        """
        beam, best = relaxation.beam(width, self.best.rounding, again), self.best
        floor = self.give_up(relaxation) if floor is None else floor
        while not beam.run(floor, self.params.slice):
            self.lower(relaxation, beam.open_bound())
            self.check(relaxation)
        self._seeded = True
        self.work += beam.work
        value, node = beam.best()
        if value > best.value:
            best.offer(relaxation.schedule(beam, node), value)
        elif not best.answered and beam.dropped == -math.inf:
            self._none("no block gives every round to exactly one arm.")
        self._sharpen()
        self.lower(relaxation, beam.dropped)
        self.check(relaxation)
        return beam

    def plan_anew(self, relaxation: Relaxation) -> None:
        """Plan parts of the schedule anew, until that has failed again and again.

        At most as much work as everything before: where the incumbent is the best schedule, all of
        this is in vain. If it was, it goes on with larger parts when it is called again.
        """
        best = self.best
        if best.schedule is None or best.blurred or self.any_will_do:
            return
        before, failures, most = best.value, 0, 2 * self.work
        around, (price, usage) = self._around, self.guide
        while failures < around.patience and self.work < most:
            better, work = around.improved(best.schedule, price, usage, best.rounding)
            self.work += around.try_work + work
            failures += 1
            if better is not None:
                value = best.value
                best.offer(better)
                failures = 0 if best.value > value else failures
            self.check(relaxation)
        if best.value == before:
            around.widen()

    def perturb(self, relaxation: Relaxation, share: float | None = None) -> None:
        """Look for better schedules a few steps away, with a share of all work.

        By default the usual one, which is nothing at first: most problems are proven sooner than
        this gets anywhere. One that has been in vain for long gets less, unless it gets all there
        is.
        """
        best, params = self.best, self.params
        if best.schedule is None or best.blurred or self.any_will_do:
            return
        if share is None:
            late = self.work >= params.perturbation_from[self.large]
            share = params.perturbation_share[self.large] if late else 0.0
        steps, (price, usage) = self._perturbation, self.guide
        least = share if share == 1.0 else min(share, params.perturbation_stalled)
        while steps.work < (least if steps.stalled else share) * (self.work + steps.work):
            better = steps.better(best.schedule, best.value, price, usage, best.rounding)
            if better is not None:
                best.offer(better)
            self.check(relaxation)

    @functools.cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods(self.model, self.params)

    @functools.cached_property
    def _perturbation(self) -> Perturbation:
        return Perturbation(self.model, self.params)

    def floor_of(self, relaxation: Relaxation) -> float:
        """Return what a schedule of this relaxation has to beat to be worth finding."""
        return max(self.best.floor, relaxation.target)

    def give_up(self, relaxation: Relaxation) -> float:
        """Return that, and remember that schedules up to it are no longer looked for."""
        floor = self.floor_of(relaxation)
        relaxation.settled = max(relaxation.settled, floor)
        return floor

    def lower(self, relaxation: Relaxation, bound: float) -> None:
        """Take note of a bound on every schedule that the relaxation has not given up."""
        self.best.lower(max(bound, relaxation.settled))
        # Without pays a schedule would be worth 0.
        if self.any_will_do and not self.best.answered and self.best.bound < -1e-9:
            self._none("")

    def check(self, relaxation: Relaxation | None = None) -> None:
        """Stop if there is nothing left to find, or no time to find it; report progress."""
        best, clock, shared = self.best, self.clock, self.model.shared
        if not best.answered:
            if not clock.over:
                return
            if shared is not None:
                if self._seeded:
                    raise Done
                return
            block = self.model.arms.greedy()
            if block is None:
                return  # no answer yet: go on, whatever the clock says
            best.offer(block)
        clock.tell(best.value, best.bound)
        settled = -math.inf if self.main is None else self.main.settled
        over = clock.over and (shared is None or self._seeded)
        if best.bound <= max(best.floor, settled) or over or self.any_will_do:
            raise Done
        if relaxation is not None and best.bound <= relaxation.settled:
            raise Reached

    def left(self) -> float:
        """Return how much work there is still time for, at the pace so far."""
        clock = self.clock
        return clock.left * self.work / clock.spent if clock.limited else math.inf

    def _none(self, message: str) -> NoReturn:
        """Take note that there is no schedule at all; of arms alone that is an error."""
        if self.model.shared is None:
            raise ProblemError(message)
        self.best.bound = self.best.value
        raise Done

    def nothing_left(self, relaxation: Relaxation) -> NoReturn:
        """Take note that no schedule beats what the relaxation has given up, and stop."""
        self.lower(relaxation, -math.inf)
        raise Done if relaxation.target <= self.best.floor else Reached
