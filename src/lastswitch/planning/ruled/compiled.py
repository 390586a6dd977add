"""A ruled problem as its solvers see it: arms as automata, and monitors that hear them.

Counters that hear one arm only are multiplied into that arm's automaton. The others stay apart as
*monitors*. Arms that every monitor hears alike are of one *kind*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lastswitch._arrays import BoolArray, FloatArray, IntArray
from lastswitch.planning.automata import Automata, StateArray, block_automata
from lastswitch.planning.clock import Clock
from lastswitch.planning.machines import Machines, as_machines, minimal
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.ruled.counters import Counter, counters_of, relabelled
from lastswitch.planning.ruled.folding import folded
from lastswitch.planning.ruled.playing import RoundsPlayed
from lastswitch.planning.ruled.prices import Heard
from lastswitch.planning.ruled.problem import RuledProblem
from lastswitch.planning.ruled.tables import Table, tabulated
from lastswitch.planning.terminal import Terminal
from lastswitch.rules import Rule


@dataclass(frozen=True, eq=False)
class Monitors:
    """Counters that hear several arms, in one set of arrays.

    State ``s`` moves on event ``e`` to ``after[s, e]`` (-1: forbidden) and pays ``pay[s, e]``.
    Monitor ``m`` has the states ``offset[m, t] .. offset[m, t+1] - 1`` in round ``t`` and begins
    in ``root[m]``. An event ``n + base * n'`` is n plays heard as its first letter and n' as its
    second; ``column[m, letter, t]`` numbers the prices of letters, some of which share one.
    """

    offset: IntArray
    after: StateArray
    pay: FloatArray
    root: StateArray
    base: int
    column: IntArray
    n_columns: int

    def __len__(self) -> int:
        return len(self.root)


@dataclass(frozen=True, eq=False)
class Compiled:
    """Arms, monitors, and how many plays a round has.

    Parameters
    ----------
    automata
        The arms with the counters that hear one of them only.
    owner
        The arm each of their states belongs to.
    kinds
        The kind of each arm.
    watch
        Table (kinds, monitors): what each monitor hears of a play of each kind.
    monitors
        The other counters.
    plays, silence
        As in :class:`RuledProblem`.
    """

    automata: Automata
    owner: StateArray
    kinds: IntArray
    watch: IntArray
    monitors: Monitors
    plays: tuple[int, int]
    silence: float

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return self.automata.length

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.automata.n_arms

    @cached_property
    def machines(self) -> Machines | None:
        """The arms as minimal machines whose arcs say the kind in ``who``; None: no schedule."""
        machines = as_machines(self.automata)
        return minimal(machines._replace(who=self.kinds[self.owner].astype(np.int32)))

    @cached_property
    def heard(self) -> Heard:
        """The monitors as kernels take them."""
        m = self.monitors
        events = np.arange(m.after.shape[1])
        return Heard(
            *(m.offset, m.after, m.pay, m.root, m.column, np.ascontiguousarray(self.watch)),
            said=np.stack([self.watch % m.base, self.watch // m.base]),
            counts=np.stack([events % m.base, events // m.base]),
            least=self.plays[0],
            most=self.plays[1],
            silence=self.silence,
        )

    def without_pays(self) -> Compiled:
        """Return the same schedules, all worth nothing."""
        a, m = self.automata, self.monitors
        return replace(
            self,
            automata=a._replace(pay=np.zeros_like(a.pay), final=np.zeros_like(a.final)),
            monitors=replace(m, pay=np.zeros_like(m.pay)),
            silence=0.0,
        )

    def value(self, rounds: RoundsPlayed) -> float:
        """Return what a schedule is worth by the automata; minus infinity if it is forbidden.

        Examples
        --------
        >>> from lastswitch import rules as r
        >>> from lastswitch.planning.problem import BlockProblem
        >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
        >>> arms = compiled(RuledProblem(block, rules=[r.apart([0, 1], 2)], plays=(0, 1)))
        >>> arms.value(((0,), (), (1,))), arms.value(((0,), (0,), ()))
        (1.0, -inf)
        """
        a, m = self.automata, self.monitors
        state, memory = a.root.copy(), m.root.copy()
        total = 0.0
        for arms in rounds:
            if not self.plays[0] <= len(arms) <= self.plays[1]:
                return -np.inf
            chosen = list(arms)
            after = a.idle[state]
            after[chosen] = a.pull[state[chosen]]
            event = self.watch[self.kinds[chosen]].sum(axis=0)
            if after.min(initial=0) < 0 or m.after[memory, event].min(initial=0) < 0:
                return -np.inf
            total += float(a.pay[state[chosen]].sum() + m.pay[memory, event].sum())
            total += self.silence * (self.plays[1] - len(chosen))
            state, memory = after, m.after[memory, event]
        return total + float(a.final[state - a.offset[-2]].sum())


def compiled(problem: RuledProblem, clock: Clock | None = None) -> Compiled:
    """Return the automata and monitors of a problem under rules.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.
    """
    from lastswitch.planning.ruled.cycles import cycle_arms

    arms = cycle_arms(problem) if problem.repeats else plain_arms(problem)
    if clock is not None:
        clock.check()
    counters = rule_counters(problem)
    return assembled(arms, counters, problem.allowed, problem.plays, problem.silence, clock=clock)


def rule_counters(problem: RuledProblem) -> list[Counter]:
    """Return the counters of all rules of a problem, those that mean the same once."""
    counters: dict[object, Counter] = {}
    for rule in problem.bound_rules:
        for counter in all_counters(rule, problem):
            heard = tuple(sorted(counter.letters.items()))
            again = (counter.key, heard) if counter.cost is None else object()
            counters.setdefault(again, counter)
    return list(counters.values())


def all_counters(rule: Rule, problem: RuledProblem) -> list[Counter]:
    """Return the counters of one rule, of a block or of a turn of a cycle."""
    from lastswitch.planning.ruled.cycles import turned

    length, most = problem.length, problem.plays[1]
    if not problem.repeats:
        return counters_of(rule, length, most, problem.history)
    return [
        turned(counter, length) for counter in counters_of(rule, length, most, (), repeats=True)
    ]


def plain_arms(problem: RuledProblem) -> Automata:
    """Return the arms without masks and rules, each free to idle."""
    block = problem.block
    rows = slice(None) if block.n_arms > 1 else [0, 0]  # an only arm could not idle
    end = block.terminal
    if end is not None:
        end = Terminal(end.rest[rows], end.streak[rows], end.unplayed[rows])
    free = BlockProblem(
        *(table[rows] for table in (block.rest, block.streak, block.first)),
        run=block.run[rows],
        distinct_start=problem.distinct_start,
        terminal=end,
    )
    arms = block_automata(free)
    return Automata.of(
        *(arms.offset, arms.idle, arms.pull, arms.pay, arms.final),
        root=arms.root[: block.n_arms],
        twins=arms.twins[: block.n_arms],
    )


def assembled(
    arms: Automata,
    counters: Sequence[Counter],
    allowed: BoolArray,
    plays: tuple[int, int],
    silence: float,
    *,
    clock: Clock | None = None,
) -> Compiled:
    """Return the compiled problem of some arms and counters."""
    n_arms, length = arms.n_arms, arms.length
    own: list[list[Counter]] = [[] for _ in range(n_arms)]
    watching: list[Counter] = []
    for counter in counters:
        heard = list(counter.letters)
        if len(heard) == 1 and _pays_on_plays_only(counter):
            own[heard[0]].append(counter)
            continue
        if not heard and counter.cost is None and _never_fails(counter, length):
            continue
        watching.append(counter)
        if _excludes(counter):  # what holds for all together holds for each: a tighter bound
            for arm in heard:
                own[arm].append(relabelled(counter, [arm]))
    letters = np.zeros((n_arms, len(watching)), np.int64)
    for m, counter in enumerate(watching):
        for arm, letter in counter.letters.items():
            letters[arm, m] = letter
    watch, kinds = kinds_of(letters)
    return Compiled(
        *folded(arms, own, allowed, kinds, clock),
        kinds=kinds,
        watch=watch,
        monitors=_monitors(watching, letters, plays, length, clock),
        plays=plays,
        silence=silence,
    )


def _pays_on_plays_only(counter: Counter) -> bool:
    """Tell whether a counter can be part of an arm, whose idling pays nothing."""
    on_plays = getattr(counter.rule, "most", 0) is not None and not counter.closed
    return counter.cost is None or on_plays


def _never_fails(counter: Counter, length: int) -> bool:
    """Tell whether a counter that hears nobody is content with that."""
    state = counter.start
    for t in range(length):
        state, wrong = counter.step(t, state, 0)
        if wrong:
            return False
    return True


def _excludes(counter: Counter) -> bool:
    """Tell whether a counter forbids two plays in a window, of one arm or of two."""
    most = getattr(counter.rule, "most", None)
    return counter.cost is None and isinstance(most, int) and most == 1  # 1.0 is a share


def _monitors(
    counters: Sequence[Counter],
    letters: IntArray,
    plays: tuple[int, int],
    length: int,
    clock: Clock | None,
) -> Monitors:
    """Return the tables of the counters that stay apart."""
    base = plays[1] + 1
    size = base * base if letters.max(initial=0) >= base else base
    offset = np.zeros((len(counters), length + 2), np.int64)
    column = np.zeros((len(counters), 2, length), np.int64)
    after, pay, total, columns = [np.zeros((0, size), np.int64)], [np.zeros((0, size))], 0, 0
    known: dict[object, Table] = {}
    for m, counter in enumerate(counters):
        heard = sorted(round_events(letters[:, m], plays))
        like = (counter.key, tuple(heard))
        if like not in known:
            known[like] = tabulated([counter], [(event,) for event in heard], length, clock)
        table = known[like]
        moves = np.full((len(table.after), size), -1)
        pays = np.zeros((len(table.after), size))
        moves[:, heard] = np.where(table.after >= 0, table.after + total, -1)
        pays[:, heard] = table.pay
        offset[m] = table.offset + total
        total += len(table.after)
        after.append(moves)
        pay.append(pays)
        for letter in range(1 if letters[:, m].max(initial=0) < base else 2):
            _, which = np.unique(counter.shared, return_inverse=True)
            column[m, letter] = columns + which
            columns += int(which.max()) + 1
    return Monitors(
        offset=offset,
        after=np.concatenate(after).astype(np.int32),
        pay=np.concatenate(pay),
        root=offset[:, 0].astype(np.int32),
        base=base,
        column=column,
        n_columns=columns,
    )


def kinds_of(letters: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different rows of a table (arms, monitors), sorted, and which is whose.

    Examples
    --------
    >>> kinds_of(np.array([[1, 0], [0, 1], [1, 0]]))
    (array([[0, 1],
           [1, 0]]), array([1, 0, 1]))
    """
    rows = list(map(tuple, letters.tolist()))
    watch = sorted(set(rows))
    number = {row: kind for kind, row in enumerate(watch)}
    table = np.array(watch, np.int64).reshape(len(watch), letters.shape[1])
    return table, np.array([number[row] for row in rows])


def round_events(letters: IntArray, plays: tuple[int, int]) -> set[int]:
    """Return every sum of letters that a round of so many different arms can have."""
    sums: list[set[int]] = [{0}, *(set() for _ in range(plays[1]))]
    for letter in letters.tolist():
        for n in range(plays[1], 0, -1):
            sums[n] |= {event + letter for event in sums[n - 1]}
    return set().union(*sums[plays[0] :])
