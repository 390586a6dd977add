"""The best cycle of a given length: argmax r(B | τ_B), the paper's B*_double, with a certificate.

A cycle pays the same wherever it is cut, so it may be cut where a run of some arm begins. Order
the arms; every cycle of two arms or more belongs to the first arm it uses, cut at the start of
one of that arm's runs. So for each arm in turn: it takes slot 0 but not the last one, the arms
before it are not used, and no run wraps around. What each of the other pulls pays, the arm knows
from its own past in the block; only its first pull depends on how the block ends, so it is paid
there, to an automaton that remembers the slot of the first pull.

The certified solver does the rest, told of the best cycle so far, so that it looks for better ones
only.

Of many arms most can be left out at once. Let a pull cost λ, the price of the frequency bound
(:mod:`lastswitch.planning.frequency`): a cycle that uses arm i pays no more than the bound less
what the arm loses by having to play at least once in so many rounds. So a first cycle is planned
with the arms that lose least, and every arm that loses more than it leaves to gain is dropped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._arrays import IntArray
from lastswitch._checks import check_bandit, check_limits
from lastswitch._progress import Report
from lastswitch.blocks import cycle_reward
from lastswitch.errors import PlanError
from lastswitch.planning._tables import checked_length
from lastswitch.planning.arm_states import ArmStates, arm_states
from lastswitch.planning.certificate import rounding
from lastswitch.planning.clock import Clock, running
from lastswitch.planning.frequency import Frequencies, frequencies
from lastswitch.planning.joint_states import shortest_period
from lastswitch.planning.plan import Plan, Solution
from lastswitch.planning.problem import BlockProblem, Terminal
from lastswitch.planning.solve import plan_of
from lastswitch.states import as_allowed, as_array, state_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastswitch.bandit import Bandit
    from lastswitch.planning.automata import Automata
    from lastswitch.rules import Rule

#: A first cycle is scouted for when length times arms exceed the first of these numbers: within
#: which gap, in how many blocks, in what share of the time left and in how many seconds.
SCOUT_FROM = 200
SCOUT_GAP, SCOUT_BLOCKS, SCOUT_SHARE, SCOUT_SECONDS = 0.01, 3, 0.4, 1.0
#: Arms beyond the length that a first cycle is planned with.
SCOUT_MORE = 4
#: States of automata that can be searched in a second; more are not begun when time is short.
STATES_PER_SECOND = 2e6
#: Up to so many arms the ceiling of a share gets prices of its own.
CLOSELY = 64


def plan_cycle(
    bandit: Bandit,
    length: int,
    *,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    allowed: ArrayLike | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Plan:
    """Plan the cycle of ``length`` rounds that pays most when repeated for ever.

    Parameters
    ----------
    bandit
        The bandit; its start plays no part.
    length
        Rounds of one turn.
    rules, plays, silence
        What every turn must respect, how many arms a round plays, and what an empty place pays;
        the bandit's own by default. Windows of rules go across the seam.
    allowed
        Which arms may play: one True or False per arm, or a list of arms by number. A table for
        every slot is refused: a cycle has no first slot.
    gap
        Stop once the cycle is within this share of the best of its length.
    time_limit
        Stop after about this many seconds with the best cycle so far and its bound; Ctrl-C stops
        it as well.
    progress
        ``True`` for a bar, or a function called now and then with a
        :class:`~lastswitch.Progress`: seconds, value and bound so far.

    Examples
    --------
    >>> from lastswitch.instances import five_arms
    >>> plan = plan_cycle(five_arms(), 9)
    >>> round(plan.value, 6), round(plan.per_round, 6), plan.optimal
    (4.56, 0.506667, True)
    """
    rounds = checked_length(length)
    check_bandit("plan_cycle", bandit)
    check_limits(gap, time_limit)
    arms = _allowed(bandit, allowed)
    with running(time_limit, progress, "planning a cycle") as clock:
        if not (bandit.plain and rules is None and plays is None):
            from lastswitch.planning.ruled.solve import plan_ruled_cycle

            options = (rules, plays, silence)
            return plan_ruled_cycle(bandit, rounds, arms, options, gap=gap, clock=clock)
        found = search_cycle(bandit, rounds, gap=gap, clock=clock, arms=arms)
        return _plan(bandit, found, clock)


def best_cycle(
    bandit: Bandit,
    max_length: int,
    *,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    allowed: ArrayLike | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: bool | Report | None = None,
) -> Plan:
    """Plan the cycle of at most ``max_length`` rounds with the best average.

    The plan is one turn of that cycle, in the same unit as :func:`plan_cycle`'s: ``value`` and
    ``bound`` count a turn of its own length, ``per_round`` is the average. A cycle of n rounds is
    also one of 2n, so only lengths above half the limit are planned; under rules, which may count
    a turn's plays, all lengths that the rules' periods divide.

    Examples
    --------
    >>> from lastswitch.instances import five_arms
    >>> best = best_cycle(five_arms(), 8)  # the best of all takes nine rounds
    >>> len(best.block), round(best.per_round, 6), best.optimal
    (6, 0.418333, True)
    """
    limit = checked_length(max_length)
    check_bandit("best_cycle", bandit)
    check_limits(gap, time_limit)
    arms = _allowed(bandit, allowed)
    with running(time_limit, progress, "planning cycles") as clock:
        if not (bandit.plain and rules is None and plays is None):
            from lastswitch.planning.ruled.solve import best_ruled_cycle

            options = (rules, plays, silence)
            return best_ruled_cycle(bandit, limit, arms, options, gap=gap, clock=clock)
        return _plan(bandit, _best_cycle(bandit, limit, gap, clock, arms), clock)


def _best_cycle(bandit: Bandit, limit: int, gap: float, clock: Clock, arms: list[int]) -> Cycle:
    """Return the cycle of at most ``limit`` rounds with the best average found in time."""
    best, bound = Cycle((arms[0],), -math.inf, math.inf), -math.inf
    ceiling = _frequencies(bandit, arms).least(clock)
    for length in range(limit, limit // 2, -1):
        part = clock.part(1 / (length - limit // 2))
        found = search_cycle(bandit, length, gap=gap, clock=part, arms=arms)
        bound = max(bound, found.bound / length)
        if found.value * len(best.block) > best.value * length:
            best = found
        mean = best.value / len(best.block)
        if ceiling <= mean + rounding(mean):
            break
        if found.interrupted or clock.over:
            bound = max(bound, ceiling)  # of the lengths not looked at
            break
    block = tuple(shortest_period(list(best.block)))
    value = cycle_reward(bandit, block)
    most = max(min(bound, ceiling) * len(block), value)
    return Cycle(block, value, most)


class Cycle(NamedTuple):
    """A cycle, what one turn of it pays, and what none of its length can exceed."""

    block: tuple[int, ...]
    value: float
    bound: float
    interrupted: bool = False


def search_cycle(
    bandit: Bandit, length: int, *, gap: float, clock: Clock, arms: list[int] | None = None
) -> Cycle:
    """Return the best cycle of ``length`` rounds found within the time; never without one."""
    search = _Search(bandit, length, gap, clock, arms or list(range(bandit.n_arms)))
    search.run()
    return Cycle(tuple(search.block), search.value, search.bound, search.interrupted)


def _plan(bandit: Bandit, found: Cycle, clock: Clock) -> Plan:
    """Return the plan of a cycle: the problem of one turn that starts where the cycle settles."""
    start = settled_state(bandit, list(found.block))
    return plan_of(
        BlockProblem.from_bandit(bandit, len(found.block), start),
        Solution(found.block, found.bound),
        solver="certified",
        seconds=clock.seconds,
        names=tuple(bandit.names),
        repeats=True,
    )


def _allowed(bandit: Bandit, allowed: ArrayLike | None) -> list[int]:
    """Return the arms a cycle may use."""
    if allowed is None:
        return list(range(bandit.n_arms))
    if as_array(allowed).ndim > 1:
        raise PlanError(
            "a cycle has no first slot, so allowed cannot be a table by slot; give one True or "
            "False per arm, or plan a few turns as one block: plan_block(bandit, 3 * length, "
            "allowed=np.tile(mask, (3, 1)))."
        )
    arms: list[int] = np.flatnonzero(as_allowed(allowed, bandit.n_arms, PlanError)).tolist()
    return arms


def _frequencies(bandit: Bandit, arms: list[int]) -> Frequencies:
    return frequencies(tuple(bandit.curves[arm] for arm in arms))


def settled_state(bandit: Bandit, cycle: list[int]) -> IntArray:
    """Return τ_B, the state in which every turn of the endlessly repeated cycle starts.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> settled_state(Bandit([Curve([1], [0.5, 0])] * 2), [0, 1, 1]).tolist()
    [2, -2]
    """
    state = state_after(np.ones(bandit.n_arms, dtype=np.int64), cycle)
    if len(set(cycle)) == 1:  # the streak never ends, so it pays what the longest pays
        state[cycle[0]] = -len(bandit.curves[cycle[0]].streak)
    return state


class _Search:
    """One search for a cycle: the best so far, what none can exceed, and the clock."""

    def __init__(
        self, bandit: Bandit, length: int, gap: float, clock: Clock, arms: list[int]
    ) -> None:
        self.bandit, self.length, self.gap, self.clock, self.arms = bandit, length, gap, clock, arms
        self.machines = {arm: arm_states(bandit.curves[arm]) for arm in arms}
        self.steady = max(arms, key=lambda arm: bandit.curves[arm].streak[-1])
        self.block = [self.steady] * length
        self.value = cycle_reward(bandit, self.block)
        self.bound = length * max(max(machine.pay) for machine in self.machines.values())
        self.interrupted = False

    def run(self) -> None:
        """Search until proven, good enough, out of time or interrupted by Ctrl-C."""
        if self.length == 1 or len(self.arms) == 1:
            self.bound = self.value
            return
        try:
            self.search()
        except KeyboardInterrupt:
            self.interrupted = True
        self.bound = max(self.bound, self.value)

    def search(self) -> None:
        """Bound all cycles, find a first one, drop the arms that cannot improve on it, search."""
        self.take_turns()
        frequency = _frequencies(self.bandit, self.arms)
        self.lower(self.length * frequency.least(self.clock))
        reach = self.reaches(frequency)
        if self.length * len(self.arms) > SCOUT_FROM and not self.good_enough(self.bound):
            self.scout(reach)
        kept = self.kept(reach)
        few = kept[: self.length + SCOUT_MORE]
        if len(few) < len(kept) and self.too_many(kept):
            self.search_shares(few, frequency)
            kept = self.kept(reach)
        # A cycle of kept arms only, or one that uses an arm left out.
        left_out = max((reach[arm] for arm in self.arms if self.good_enough(reach[arm])), default=0)
        shares = self.search_shares(kept, frequency) if kept else self.value
        self.lower(max(self.value, shares, left_out))

    def kept(self, reach: dict[int, float]) -> list[int]:
        """Return the arms that a better cycle may use, those that can reach most first."""
        kept = [arm for arm in self.arms if not self.good_enough(reach[arm])]
        return sorted(kept, key=lambda arm: -reach[arm])

    def too_many(self, users: list[int]) -> bool:
        """Tell whether the automata of these arms are too large for the time left."""
        kinds = {self.machines[arm].behaviour: len(self.machines[arm]) for arm in users}
        return self.length**2 * sum(kinds.values()) > STATES_PER_SECOND * self.clock.left

    def lower(self, bound: float) -> None:
        """Take note of a bound on all cycles."""
        self.bound = min(self.bound, bound)
        self.clock.tell(self.value, self.bound)

    def good_enough(self, bound: float) -> bool:
        """Tell whether cycles worth at most ``bound`` need not be looked for."""
        return bound <= self.value + max(self.gap * self.value, rounding(self.value))

    def reaches(self, frequency: Frequencies) -> dict[int, float]:
        """Return, for each arm, what no cycle that uses it can exceed."""
        from lastswitch.planning.backward import best_used_total

        price, most, gains = frequency.best_price()
        reach = np.empty(len(gains))
        for k, machine in enumerate(frequency.kinds):
            moves = np.array(machine.on_pull), np.array(machine.on_idle)
            pay = np.array(machine.pay) - price
            # Cut after the first pull of a run, which comes last.
            used = best_used_total(pay, *moves, machine.at(-1), self.length)
            reach[k] = self.length * (most - gains[k]) + used
        reach = np.minimum(reach, self.bound)
        return dict(zip(self.arms, reach[frequency.kind_of].tolist(), strict=True))

    def search_shares(self, kept: list[int], frequency: Frequencies) -> float:
        """Search every arm's share of the cycles of ``kept``; return a bound on all of them."""
        bound = self.value
        kinds = self.ordered_kinds(kept, frequency)
        for k in range(len(kinds)):
            users = [arm for members in kinds[k:] for arm in members]
            ceiling = self.ceiling(users)
            if self.good_enough(ceiling):
                return max(bound, ceiling)  # as for any later share: it uses fewer arms
            if self.interrupted or self.clock.over or self.too_many(users):
                return max(bound, ceiling)
            share = min(self.solve_share(users), ceiling)
            bound = max(bound, share)
            if self.interrupted or not self.good_enough(share):
                # Stopped by the clock, by Ctrl-C or by memory: the next would not fare better.
                rest = [arm for members in kinds[k + 1 :] for arm in members]
                return max(bound, self.ceiling(rest)) if rest else bound
        return bound

    def ceiling(self, users: list[int]) -> float:
        """Return the frequency bound on cycles of these arms, from the prices tried so far."""
        frequency = _frequencies(self.bandit, self.arms)
        place = dict(zip(self.arms, frequency.kind_of.tolist(), strict=True))
        counts = np.bincount([place[arm] for arm in users], minlength=len(frequency.kinds))
        known = self.length * frequency.known(counts)
        if self.good_enough(known) or len(users) > CLOSELY:
            return known
        return min(known, self.length * _frequencies(self.bandit, users).least(self.clock))

    def offer(self, block: list[int]) -> None:
        """Make ``block`` the best cycle so far if it is."""
        value = cycle_reward(self.bandit, block)
        if value > self.value:
            self.block, self.value = block, value

    def take_turns(self) -> None:
        """Offer cycles in which a few arms take turns: a fair answer in no time."""
        for few in range(2, min(self.length, len(self.arms)) + 1):
            if self.length % few == 0 or few == len(self.arms):
                pays = {arm: self.bandit.curves[arm](few - 1) for arm in self.arms}
                best = sorted(self.arms, key=lambda arm: -pays[arm])[:few]
                self.offer((best * self.length)[: self.length])

    def scout(self, reach: dict[int, float]) -> None:
        """Find a first cycle by planning blocks, each valued as if the last one came again.

        The first block earns nothing on first pulls. From then on a block is planned with, at its
        end, what the first pulls of the block before would pay after it. Only the arms that can
        reach most take part.
        """
        from lastswitch.bandit import Bandit
        from lastswitch.planning.certified import solve

        users = sorted(self.arms, key=lambda arm: -reach[arm])[: self.length + SCOUT_MORE]
        few = Bandit([self.bandit.curves[arm] for arm in users])
        until = self.clock.part(SCOUT_SHARE, most=SCOUT_SECONDS)
        problem = BlockProblem.from_bandit(few, self.length, "unknown")
        for _ in range(SCOUT_BLOCKS):
            found = solve(problem, gap=SCOUT_GAP, time_limit=until.limit)
            block = [int(arm) for arm in found.block]
            self.offer([users[arm] for arm in block])
            if found.interrupted:
                raise KeyboardInterrupt  # the search as a whole was meant
            if until.over or self.good_enough(self.bound):
                return
            problem = followed_by(few, block)

    def ordered_kinds(self, kept: list[int], frequency: Frequencies) -> list[list[int]]:
        """Return the arms by kind (likes together), the kind hardest to miss first.

        Of likes, only the first ever leads: a cycle without it can swap it in.
        """
        gains = frequency.best_price()[2]
        kind_of = dict(zip(self.arms, frequency.kind_of.tolist(), strict=True))
        kinds: dict[int, list[int]] = {}
        for arm in kept:
            kinds.setdefault(kind_of[arm], []).append(arm)
        order = sorted(kinds, key=lambda kind: -len(kinds[kind]) * gains[kind])
        return [kinds[kind] for kind in order]

    def solve_share(self, users: list[int]) -> float:
        """Search the cycles of ``users`` that use the first of them; return a bound on them."""
        from lastswitch.planning.certified import solve_automata

        automata = cycle_automata([self.machines[arm] for arm in users], self.length)

        def tell(seconds: float, value: float, bound: float) -> None:
            self.clock.tell(self.value, self.bound)

        # The best cycle so far is of another share, or cut elsewhere: no block of these automata,
        # but what a block has to beat.
        found = solve_automata(
            automata,
            gap=self.gap,
            time_limit=self.clock.limit,
            progress=tell,
            beat=self.value,
        )
        self.interrupted |= found.interrupted
        if len(found.block):
            self.offer([users[arm] for arm in found.block])
        return found.bound


def followed_by(bandit: Bandit, block: list[int]) -> BlockProblem:
    """Return the problem of a block after which ``block`` comes again."""
    length = len(block)
    problem = BlockProblem.from_bandit(bandit, length, "unknown")
    idle = np.arange(1, length + 1)
    rest, streak = [], []
    for arm, curve in enumerate(bandit.curves):
        first = block.index(arm) if arm in block else length // 2
        rest.append(curve(idle + first))
        streak.append([curve(first or -1)])
    end = Terminal(np.array(rest), np.array(streak), np.zeros(bandit.n_arms))
    return BlockProblem(problem.rest, problem.streak, problem.first, terminal=end)


def cycle_automata(machines: list[ArmStates], length: int) -> Automata:
    """Return arms whose blocks are the cycles that start with a run of the first one.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> machines = [arm_states(Curve([0, 0.9], [0])), arm_states(Curve([0.3], [0.3]))]
    >>> cycle_automata(machines, 3).value([0, 1, 1])
    1.5
    """
    from lastswitch.planning.automata import Automata

    lead, *others = machines
    shared = {machine.behaviour: _follower_part(machine, length) for machine in others}
    parts = [_leader_part(lead, length), *shared.values()]
    begins = np.cumsum([0, *(part[0].shape[1] for part in parts)])
    width = int(begins[-1])
    N = (length + 1) * width
    idle, pull = np.full(N, -1, dtype=np.int32), np.full(N, -1, dtype=np.int32)
    pay, final = np.zeros(N), np.zeros(width)
    for begin, (part_idle, part_pull, part_pay, part_final) in zip(begins, parts, strict=False):
        size = part_idle.shape[1]
        slots = np.arange(length)[:, None]
        cells = slots * width + begin + np.arange(size)
        base = (slots + 1) * width + begin
        idle[cells] = np.where(part_idle < 0, -1, part_idle + base)
        pull[cells] = np.where(part_pull < 0, -1, part_pull + base)
        pay[cells] = part_pay
        final[begin : begin + size] = part_final
    place = {behaviour: int(begins[1 + k]) for k, behaviour in enumerate(shared)}
    roots = [0, *(place[machine.behaviour] for machine in others)]
    return Automata(
        offset=np.arange(0, N + width, width),
        idle=idle,
        pull=pull,
        pay=pay,
        final=final,
        root=np.array(roots, dtype=np.int32),
        twins=np.array(roots),  # equal roots, equal arms
    )


#: Idle and pull moves and pays by (slot, state), -1 for a move that is not there; worth at the end.
_Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def _leader_part(machine: ArmStates, d: int) -> _Part:
    """Return the arm that starts the cycle: pulled in slot 0, not in the last.

    State 0 is the beginning, the others are the arm's own.
    """
    n = len(machine)
    idle, pull, pay = np.full((d, n + 1), -1), np.full((d, n + 1), -1), np.zeros((d, n + 1))
    pull[0, 0] = 1 + machine.at(-1)
    idle[:, 1:] = 1 + np.array(machine.on_idle)
    pull[:-1, 1:] = 1 + np.array(machine.on_pull)
    pay[:, 1:] = machine.pay
    return idle, pull, pay, np.array([0.0, *machine.pay])


def _follower_part(machine: ArmStates, d: int) -> _Part:
    """Return an arm that may enter in any slot but the first.

    State 0 is before its first pull; state 1 + (f - 1)·n + s says that was in slot f, and that
    the arm is now in state s. The cycle closed, it rests f more rounds before that first pull.
    """
    n, entries = len(machine), np.arange(1, d)
    size = 1 + (d - 1) * n
    idle, pull, pay = np.zeros((d, size), int), np.full((d, size), -1), np.zeros((d, size))
    group = 1 + (entries - 1) * n
    pull[entries, 0] = group + machine.at(-1)
    idle[:, 1:] = (group[:, None] + np.array(machine.on_idle)).ravel()
    pull[:, 1:] = (group[:, None] + np.array(machine.on_pull)).ravel()
    pay[:, 1:] = np.tile(machine.pay, d - 1)
    final = np.zeros(size)
    rested = np.arange(n)
    for f in entries:
        rested = np.array(machine.on_idle)[rested]
        final[1 + (f - 1) * n : 1 + f * n] = np.array(machine.pay)[rested]
    return idle, pull, pay, final
