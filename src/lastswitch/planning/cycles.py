"""The best cycle of a given length: argmax r(B | τ_B), the paper's B*_double, with a certificate.

A cycle pays the same wherever it is cut, so it may be cut where a run of some arm begins. Order
the arms; every cycle of two arms or more belongs to the first arm it uses, cut at the start of
one of that arm's runs. So for each arm in turn: it takes slot 0 but not the last one, the arms
before it are not used, and no run wraps around. What each of the other pulls pays, the arm knows
from its own past in the block; only its first pull depends on how the block ends, so it is paid
there, to an automaton that remembers the slot of the first pull.

The certified solver does the rest, told of the best cycle so far, so that it looks for better ones
only.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastswitch._checks import check_bandit, check_limits
from lastswitch.blocks import cycle_reward
from lastswitch.planning._tables import checked_length
from lastswitch.planning.arm_states import ArmStates, arm_states
from lastswitch.planning.frequency import average_bound, curves_bound
from lastswitch.planning.joint_states import shortest_period
from lastswitch.planning.plan import Plan, Progress, Solution, rounding
from lastswitch.planning.problem import BlockProblem, Terminal
from lastswitch.planning.solve import plan_of
from lastswitch.states import States, state_after

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.planning.automata import Automata
    from lastswitch.planning.optima import Optimum

#: A first cycle is scouted for when length times arms exceed the first of these numbers: within
#: which gap, in how many blocks, in what share of the time left and in how many seconds.
SCOUT_FROM = 200
SCOUT_GAP, SCOUT_BLOCKS, SCOUT_SHARE, SCOUT_SECONDS = 0.01, 3, 0.2, 1.0


def plan_cycle(
    bandit: Bandit,
    length: int,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Plan the cycle of ``length`` rounds that pays most when repeated for ever.

    Parameters
    ----------
    bandit
        The bandit; its start plays no part.
    length
        Rounds of one turn.
    gap
        Stop once the cycle is within this share of the best of its length.
    time_limit
        Stop after about this many seconds with the best cycle so far and its bound.
    progress
        Called now and then with (seconds so far, best value, bound).

    Examples
    --------
    >>> from lastswitch.instances import five_arms
    >>> plan = plan_cycle(five_arms(), 9)
    >>> round(plan.value, 6), plan.optimal
    (4.56, True)
    """
    rounds = checked_length(length)
    check_bandit("plan_cycle", bandit)
    check_limits(gap, time_limit)
    search = _Search(bandit, rounds, gap, time_limit, progress)
    bound = search.run()
    problem = BlockProblem.from_bandit(bandit, rounds, settled_state(bandit, search.block))
    return plan_of(
        problem,
        Solution(search.block, bound),
        solver="certified",
        seconds=time.perf_counter() - search.began,
        names=tuple(bandit.names),
        cycle=True,
    )


def best_cycle(
    bandit: Bandit, max_length: int, *, gap: float = 0.0, time_limit: float | None = None
) -> Optimum:
    """Return the best average of any cycle of at most ``max_length`` rounds.

    A cycle of n rounds is also one of 2n, so only lengths above half the limit are planned.

    Examples
    --------
    >>> from lastswitch.instances import five_arms
    >>> best_cycle(five_arms(), 8).fraction  # the best of all takes nine rounds
    Fraction(251, 600)
    """
    from lastswitch.planning.optima import TOLERANCE, Optimum, cycle_fraction

    began = time.perf_counter()
    limit = checked_length(max_length)
    check_bandit("best_cycle", bandit)
    check_limits(gap, time_limit)
    deadline = math.inf if time_limit is None else began + time_limit
    ceiling = average_bound(bandit)
    best, best_mean, bound = [0], -math.inf, -math.inf
    for length in range(limit, limit // 2, -1):
        left = deadline - time.perf_counter()
        plan = plan_cycle(
            bandit,
            length,
            gap=gap,
            time_limit=None if math.isinf(left) else max(left / (length - limit // 2), 1e-3),
        )
        bound = max(bound, plan.bound / length)
        if plan.value / length > best_mean:
            best, best_mean = list(plan.block), plan.value / length
        if best_mean >= ceiling - TOLERANCE:
            break
    cycle = tuple(shortest_period(best))
    value: Fraction = cycle_fraction(bandit, cycle) / len(cycle)
    bound = max(min(bound, ceiling), float(value))
    return Optimum(
        value=float(value),
        bound=bound,
        exact=bound - float(value) <= TOLERANCE,
        fraction=value,
        cycle=cycle,
        seconds=time.perf_counter() - began,
    )


def settled_state(bandit: Bandit, cycle: list[int]) -> States:
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
    """One call of :func:`plan_cycle`: the best cycle so far, and the clock."""

    def __init__(
        self,
        bandit: Bandit,
        length: int,
        gap: float,
        time_limit: float | None,
        progress: Progress | None,
    ) -> None:
        self.bandit, self.length, self.gap, self.progress = bandit, length, gap, progress
        self.began = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.machines = [arm_states(curve) for curve in bandit.curves]
        ends = [curve.streak[-1] for curve in bandit.curves]
        self.block = [int(np.argmax(ends))] * length
        self.value = length * max(ends)

    def run(self) -> float:
        """Search, and return a bound on all cycles; Ctrl-C stops it like a time limit."""
        if self.length == 1 or self.bandit.n_arms == 1:
            return self.value
        try:
            return self.search_shares()
        except KeyboardInterrupt:
            return max(self.value, self.ceiling(list(range(self.bandit.n_arms))))

    def search_shares(self) -> float:
        """Search every arm's share of the cycles; return a bound on all of them."""
        bound = self.value
        if self.length * self.bandit.n_arms > SCOUT_FROM:
            self.scout()
        kinds, given_up = self.ordered_kinds(), False
        for k in range(len(kinds)):
            users = [arm for members in kinds[k:] for arm in members]
            ceiling = self.ceiling(users)
            if ceiling <= self.value + self.slack:
                break  # nor can any later share: it uses fewer arms
            if given_up or time.perf_counter() > self.deadline:
                return max(bound, ceiling)
            share = self.solve_share(users)
            bound = max(bound, min(share, ceiling))
            # Stopped by the clock, by Ctrl-C or by memory: the next share would not fare better.
            given_up = share > self.value * (1 + self.gap) + self.slack
        return max(bound, self.value)

    def offer(self, block: list[int]) -> None:
        """Make ``block`` the best cycle so far if it is."""
        value = cycle_reward(self.bandit, block)
        if value > self.value:
            self.block, self.value = block, value

    def scout(self) -> None:
        """Find a first cycle by planning blocks, each valued as if the last one came again.

        The first block earns nothing on first pulls. From then on a block is planned with, at its
        end, what the first pulls of the block before would pay after it.
        """
        from lastswitch.planning.certified import solve

        left = (self.deadline - time.perf_counter()) * SCOUT_SHARE
        until = time.perf_counter() + min(left, SCOUT_SECONDS)
        problem = BlockProblem.from_bandit(self.bandit, self.length)
        for _ in range(SCOUT_BLOCKS):
            left = max(until - time.perf_counter(), 1e-3)
            found = solve(problem, gap=SCOUT_GAP, time_limit=left)
            block = [int(arm) for arm in found.block]
            self.offer(block)
            if found.interrupted:
                raise KeyboardInterrupt  # the search as a whole was meant
            if time.perf_counter() > until or self.closed():
                return
            problem = self.followed_by(block)

    def closed(self) -> bool:
        """Tell whether the frequency bound alone proves the best cycle so far."""
        return self.ceiling(list(range(self.bandit.n_arms))) <= self.value + self.slack

    def followed_by(self, block: list[int]) -> BlockProblem:
        """Return the problem of a block after which ``block`` comes again."""
        problem = BlockProblem.from_bandit(self.bandit, self.length)
        idle = np.arange(1, self.length + 1)
        rest, streak = [], []
        for arm, curve in enumerate(self.bandit.curves):
            first = block.index(arm) if arm in block else self.length // 2
            rest.append(curve(idle + first))
            streak.append([curve(first or -1)])
        end = Terminal(np.array(rest), np.array(streak), np.zeros(self.bandit.n_arms))
        return BlockProblem(problem.rest, problem.streak, problem.first, terminal=end)

    @property
    def slack(self) -> float:
        """What rounding alone may add."""
        return rounding(self.value)

    def ordered_kinds(self) -> list[list[int]]:
        """Return the arms by kind (likes together), the kind hardest to miss first.

        Of likes, only the first ever leads: a cycle without it can swap it in.
        """
        kinds: dict[object, list[int]] = {}
        for arm, machine in enumerate(self.machines):
            kinds.setdefault(machine.behaviour, []).append(arm)
        if len(kinds) == 1:
            return list(kinds.values())
        everyone = range(self.bandit.n_arms)
        without = {
            kind: self.ceiling([arm for arm in everyone if arm not in members])
            for kind, members in kinds.items()
        }
        return [kinds[kind] for kind in sorted(kinds, key=lambda kind: without[kind])]

    def ceiling(self, arms: list[int]) -> float:
        """Return the frequency bound on a cycle of these arms."""
        return self.length * curves_bound(tuple(self.bandit.curves[arm] for arm in arms))

    def solve_share(self, users: list[int]) -> float:
        """Search the cycles of ``users`` that use the first of them; return a bound on them."""
        from lastswitch.planning.certified import solve_automata

        left = self.deadline - time.perf_counter()
        seconds = None if math.isinf(left) else max(left, 1e-3)
        automata = cycle_automata([self.machines[arm] for arm in users], self.length)
        # The best cycle so far is of another share, or cut elsewhere: no block of these automata,
        # but what a block has to beat.
        found = solve_automata(
            automata,
            gap=self.gap,
            time_limit=seconds,
            progress=self.progress,
            beat=self.value,
        )
        if len(found.block):
            self.offer([users[arm] for arm in found.block])
        return found.bound


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
