"""A problem under rules as the solvers see it: arms, and the automata they share.

Rule automata that hear one arm only are multiplied into that arm. The others stay apart as *shared
automata*. Arms that every shared automaton hears alike are of one *kind*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams.build import block_model
from lastswitch.planning.diagrams.diagram import Diagram, Model, StateArray, joined
from lastswitch.planning.diagrams.folding import folded
from lastswitch.planning.diagrams.sharing import Machine, Sharing
from lastswitch.planning.diagrams.tables import Table, tabulated
from lastswitch.planning.playing import RoundsPlayed
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.ruled_problem import RuledProblem
from lastswitch.planning.terminal import Terminal
from lastswitch.rules import Rule
from lastswitch.rules.automata.counters import Counter, counters_of, relabelled


@dataclass(frozen=True, eq=False)
class Shared:
    """The automata that arms share, and how many arms a round plays.

    State ``s`` moves on event ``e`` to ``after[s, e]`` (-1: forbidden) and pays ``pay[s, e]``.
    Automaton ``m`` has the states ``offset[m, t] .. offset[m, t+1] - 1`` in round ``t`` and begins
    in ``root[m]``. An event ``n + base * n'`` is n plays heard as its first letter and n' as its
    second; ``column[m, letter, t]`` numbers the prices of letters, some of which share one.
    ``kinds`` is the kind of each arm, ``owner`` the arm that each state of the arms belongs to, and
    ``watch[kind, m]`` what an automaton hears of a play of a kind; ``plays`` and ``silence`` are as
    in :class:`RuledProblem`.
    """

    offset: IntArray
    after: StateArray
    pay: FloatArray
    root: StateArray
    base: int
    column: IntArray
    owner: StateArray
    kinds: IntArray
    watch: IntArray
    plays: tuple[int, int]
    silence: float

    def __len__(self) -> int:
        return len(self.root)

    @cached_property
    def first(self) -> IntArray:
        """The label of event 0 of each automaton."""
        first: IntArray = len(self.watch) + self.after.shape[1] * np.arange(len(self))
        return first

    @cached_property
    def diagram(self) -> Diagram:
        """The automata as machines: they idle by event 0 if it pays nothing."""
        idles = (self.after[:, 0] >= 0) & (self.pay[:, 0] == 0.0)
        arcs = self.after >= 0
        arcs[idles, 0] = False
        state, event = np.nonzero(arcs)
        whose = np.repeat(np.arange(len(self)), self.offset[:, -1] - self.offset[:, 0])
        last = sum(int(row[-1] - row[-2]) for row in self.offset)
        return Diagram(
            lo=self.offset[:, :-1],
            hi=self.offset[:, 1:],
            idle=np.where(idles, self.after[:, 0], -1).astype(np.int32),
            arc=np.concatenate([[0], np.cumsum(arcs.sum(axis=1))]),
            nxt=self.after[state, event],
            gain=self.pay[state, event] + 0.0,
            label=(self.first[whose[state]] + event).astype(np.int32),
            final=np.zeros(last),
            root=self.root,
        )

    def beside(self, arms: Diagram) -> Diagram:
        """Return the machines of some arms and of the automata."""
        return joined(arms, self.diagram) if len(self) else arms

    def sharing(self, length: int) -> Sharing:
        """Return labels and automata as kernels take them, for so many rounds."""
        kinds, events, automata = len(self.watch), self.after.shape[1], len(self)
        labels = kinds + events * automata
        heard = np.zeros((labels, automata), np.int64)
        need = np.full((labels, automata), -1)
        heard[:kinds] = self.watch
        letters = np.zeros((2, labels, automata), np.int64)
        letters[:, :kinds] = self.watch % self.base, self.watch // self.base
        event = np.arange(events)
        for m, first in enumerate(self.first.tolist()):
            need[first : first + events, m] = event
            letters[:, first : first + events, m] = -(event % self.base), -(event // self.base)
        return Sharing(
            plays=(np.arange(labels) < kinds).astype(np.int64),
            heard=heard,
            need=need,
            coefficient=letters,
            alone=np.arange(automata),
            first=self.first,
            column=self.column,
            base=self.base,
            n_arms=len(self.kinds),
            least=self.plays[0],
            most=self.plays[1],
            silence=self.silence,
            cost=np.zeros((length, labels)),
            spoken=np.zeros((automata, 2, length), np.int64),
        )

    def machines(self) -> list[Machine]:
        """Return what the machines are made of: arms one by one, then automata."""
        nothing, events = np.zeros(len(self), np.bool_), range(self.after.shape[1])
        arms = [Machine([arm], nothing, {int(kind): (0,)}) for arm, kind in enumerate(self.kinds)]
        own = np.eye(len(self), dtype=np.bool_)
        automata = [
            Machine([], own[m], {int(first) + event: () for event in events})
            for m, first in enumerate(self.first)
        ]
        return arms + automata

    def value(self, arms: Diagram, rounds: RoundsPlayed) -> float:
        """Return what a schedule of arms as they come is worth; minus infinity if forbidden."""
        state, memory = arms.root.copy(), self.root.copy()
        total = 0.0
        for played in rounds:
            if not self.plays[0] <= len(played) <= self.plays[1]:
                return -np.inf
            chosen = list(played)
            after = arms.idle[state]
            after[chosen] = arms.nxt[state[chosen]]
            event = self.watch[self.kinds[chosen]].sum(axis=0)
            if after.min(initial=0) < 0 or self.after[memory, event].min(initial=0) < 0:
                return -np.inf
            total += float(arms.gain[state[chosen]].sum() + self.pay[memory, event].sum())
            total += self.silence * (self.plays[1] - len(chosen))
            state, memory = after, self.after[memory, event]
        return total + float(arms.final[state - arms.lo[-1]].sum())


def ruled_model(problem: RuledProblem, clock: Clock | None = None) -> Model:
    """Return the arms of a problem under rules, and the automata they share.

    Raises :class:`~lastswitch.planning.clock.OutOfTime` when the clock says so.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> model = ruled_model(RuledProblem(block, rules=[r.apart([0, 1], 2)], plays=(0, 1)))
    >>> model.value(((0,), (), (1,))), model.value(((0,), (0,), ()))
    (1.0, -inf)
    """
    from lastswitch.planning.diagrams.turn import cycle_arms

    arms = cycle_arms(problem) if problem.repeats else plain_arms(problem)
    if clock is not None:
        clock.check()
    counters = rule_counters(problem)
    return assembled(arms, counters, problem.allowed, problem.plays, problem.silence, clock=clock)


def without_pays(model: Model) -> Model:
    """Return a model of the same schedules, all worth nothing."""
    arms, shared = model.arms, model.shared
    assert shared is not None
    return model._replace(
        arms=arms._replace(gain=np.zeros_like(arms.gain), final=np.zeros_like(arms.final)),
        shared=replace(shared, pay=np.zeros_like(shared.pay), silence=0.0),
    )


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
    from lastswitch.planning.diagrams.turn import turned

    length, most = problem.length, problem.plays[1]
    if not problem.repeats:
        return counters_of(rule, length, most, problem.history)
    return [
        turned(counter, length) for counter in counters_of(rule, length, most, (), repeats=True)
    ]


def plain_arms(problem: RuledProblem) -> Model:
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
    arms, alike, *_ = block_model(free)
    return Model(arms._replace(root=arms.root[: block.n_arms]), alike[: block.n_arms])


def assembled(
    model: Model,
    counters: Sequence[Counter],
    allowed: BoolArray,
    plays: tuple[int, int],
    silence: float,
    *,
    clock: Clock | None = None,
) -> Model:
    """Return the model of some arms and counters."""
    n_arms, length = model.n_arms, model.length
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
    arms, alike, owner = folded(model, own, allowed, kinds, clock)
    label = kinds[owner].astype(np.int32)
    shared = _automata(watching, letters, plays, length, clock)
    shared = replace(shared, owner=owner, kinds=kinds, watch=watch, silence=silence)
    return Model(arms._replace(label=label), alike, shared=shared)


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


def _automata(
    counters: Sequence[Counter],
    letters: IntArray,
    plays: tuple[int, int],
    length: int,
    clock: Clock | None,
) -> Shared:
    """Return the tables of the counters that stay apart, the arms left out."""
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
    return Shared(
        offset=offset,
        after=np.concatenate(after).astype(np.int32),
        pay=np.concatenate(pay),
        root=offset[:, 0].astype(np.int32),
        base=base,
        column=column,
        owner=np.empty(0, np.int32),
        kinds=np.empty(0, np.int64),
        watch=np.empty((0, len(counters)), np.int64),
        plays=plays,
        silence=0.0,
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
