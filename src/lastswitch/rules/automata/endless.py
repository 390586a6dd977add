"""Rules without end: which plays keep the door open for ever, for those who choose as they go.

A :class:`~lastswitch.rules.automata.keeping.Keeper` knows what breaks a rule *now*. Who plays on
without a plan to the end must also not get into rounds from which some rule can no longer be kept:
a window that asks for more plays than there are rounds left, say. So here every counter is a finite
automaton without rounds (what it does in a round, beyond its first few, repeats with a period), and
a joint memory of all hard rules is *safe* if some way of playing leads from it round and round
without breaking one. A safe memory has a safe play; whoever only makes safe plays never breaks a
hard rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch.errors import InfeasibleError, RuleError, UndecidedError
from lastswitch.rules.automata.counters import Counter, counters_of
from lastswitch.rules.records import Counting, Rule

#: States of one counter, sets of arms that a round may play, joint memories looked at for safety.
MOST_STATES, MOST_CHOICES, MOST_LOOKED = 100_000, 5_000, 50_000
#: Joint memories of which it is remembered whether they are safe.
_REMEMBERED = 500_000
#: A window that no idling breaks.
_NEVER = 1 << 30

Memory = tuple[int, ...]


class Automaton(NamedTuple):
    """A counter as tables: the state and the violations after each (state, event)."""

    counter: Counter
    after: NDArray[np.int64]
    wrong: NDArray[np.int64]
    #: By state: rounds that can go by without a play before a window lacks one.
    slack: NDArray[np.int64]


class Endless:
    """The rules of rounds that go on for ever, from nothing or from a history.

    Parameters
    ----------
    rules
        Rules whose arms are numbers.
    n_arms, plays
        How many arms there are, and how many a round plays, from least to most.
    began
        The number of the first round.
    history
        The rounds before it, the latest last.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> endless = Endless([r.at_least(0, 1, within=3), r.apart(0, 2)], n_arms=2, plays=(1, 1))
    >>> memory = endless.start
    >>> for arm in (1, 1):
    ...     memory = endless.step(memory, endless.number[arm,])[0]
    >>> [endless.safe(memory, endless.number[arm,]) for arm in (0, 1)]
    [True, False]
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        n_arms: int,
        plays: tuple[int, int],
        *,
        began: int = 0,
        history: Sequence[Sequence[int]] = (),
    ) -> None:
        self.n_arms, self.plays = n_arms, plays
        #: The sets of arms a round may play, and which is which.
        self.choices = _choices(n_arms, plays)
        self.number = {arms: number for number, arms in enumerate(self.choices)}
        counters = [
            (counter, *times)
            for rule in (shifted(rule, began) for rule in rules)
            for times in [_times(rule)]
            for counter in counters_of(rule, times[0] + 2 * times[1], plays[1], history)
        ]
        # A counter's events by number, silence first: rounds may go by that nobody chose.
        heard = [[_event(counter, arms) for arms in self.choices] for counter, *_ in counters]
        letters = [sorted({0, *events}) for events in heard]
        places = [list(map(known.index, row)) for known, row in zip(letters, heard, strict=True)]
        #: By choice and counter: the number of the event that it is to the counter.
        self.events = np.array(places, np.int64).reshape(len(counters), len(self.choices)).T.copy()
        self.automata = [
            _automaton(*each, events) for each, events in zip(counters, letters, strict=True)
        ]
        self.start: Memory = (0,) * len(self.automata)
        self._hard = [k for k, a in enumerate(self.automata) if a.counter.cost is None]
        self._after = [a.after.tolist() for a in self.automata]
        self._wrong = [a.wrong.tolist() for a in self.automata]
        self._events = self.events.tolist()
        self._safe: dict[Memory, bool] = {}
        found = self._look(tuple(self.start[k] for k in self._hard))
        if found is None:
            raise UndecidedError(
                f"{MOST_LOOKED} ways of playing were tried, and none was found to keep these rules "
                "for ever, nor shown not to exist; drop or loosen one of them."
            )
        if not found:
            raise InfeasibleError(
                "no way of playing keeps these rules for ever, from the first round on; drop or "
                "loosen one of them."
            )

    def step(self, memory: Memory, choice: int) -> tuple[Memory, int, float]:
        """Return the memory after a round, its hard violations, and what its soft ones cost."""
        after, hard, cost = [], 0, 0.0
        for k, (state, event) in enumerate(zip(memory, self._events[choice], strict=True)):
            after.append(self._after[k][state][event])
            wrong = self._wrong[k][state][event]
            if wrong:
                each = self.automata[k].counter.cost
                hard += wrong if each is None else 0
                cost += wrong * (each or 0.0)
        return tuple(after), hard, cost

    def safe(self, memory: Memory, choice: int) -> bool:
        """Tell whether a round that plays ``choice`` keeps the rules, and leaves a way to."""
        after, hard, _ = self.step(memory, choice)
        return not hard and self.lasting(after)

    def lasting(self, memory: Memory) -> bool:
        """Tell whether some way of playing is found that keeps all hard rules from here for ever.

        Of a memory that is, at least one safe play is found too.
        """
        hard = tuple([memory[k] for k in self._hard])
        known = self._safe.get(hard)
        return bool(self._look(hard)) if known is None else known

    def idle(self, memory: Memory, rounds: int) -> Memory:
        """Return the memory after rounds in which nothing is played, by choice or not."""
        after = []
        for k, state in enumerate(memory):
            seen: dict[int, int] = {}
            left = rounds
            while left:
                if state in seen:  # idling has come round: skip whole turns of it
                    left %= seen[state] - left
                    seen = {}
                    continue
                seen[state] = left
                state = self._after[k][state][0]
                left -= 1
            after.append(state)
        return tuple(after)

    def _look(self, start: Memory) -> bool | None:
        """Look for a way from ``start`` that comes round, or to where one is known; depth first.

        None if there was too much to look at.
        """
        if len(self._safe) > _REMEMBERED:
            self._safe = {memory: True for memory, safe in self._safe.items() if safe}
        path, on_path = [start], {start}
        ways = [self._ways(start)]
        looked = 0
        while path:
            found = None
            while ways[-1]:
                after = self._moved(path[-1], ways[-1].pop())
                if after is not None and self._safe.get(after) is not False:
                    found = after
                    break
            if found is None:
                self._safe[path[-1]] = False
                on_path.discard(path.pop())
                ways.pop()
                continue
            if found in on_path or self._safe.get(found):
                self._safe.update(dict.fromkeys(path, True))
                return True
            looked += 1
            if looked > MOST_LOOKED:
                return None
            path.append(found)
            on_path.add(found)
            ways.append(self._ways(found))
        return False

    def _moved(self, hard: Memory, choice: int) -> Memory | None:
        """Return what the hard rules remember after a round; None if it breaks one."""
        events, after = self._events[choice], []
        for k, state in zip(self._hard, hard, strict=True):
            event = events[k]
            if self._wrong[k][state][event]:
                return None
            after.append(self._after[k][state][event])
        return tuple(after)

    def _ways(self, hard: Memory) -> list[int]:
        """Return the choices to try, the best last: windows that lack plays soonest come first.

        What is tried first hangs on the memory alone, so that following it comes round.
        """
        rank = [_NEVER] * self.n_arms
        for k, state in zip(self._hard, hard, strict=True):
            slack = int(self.automata[k].slack[state])
            if slack < _NEVER:
                for arm in self.automata[k].counter.letters:
                    rank[arm] = min(rank[arm], slack)

        def order(choice: int) -> tuple[int, int, int]:
            ranks = [rank[arm] for arm in self.choices[choice]]
            urgent = min(ranks, default=_NEVER)
            return urgent, -ranks.count(urgent) if urgent < _NEVER else len(ranks), choice

        return sorted(range(len(self.choices)), key=order, reverse=True)


def shifted(rule: Rule, rounds: int) -> Rule:
    """Return the rule as seen from so many rounds later.

    Examples
    --------
    >>> from lastswitch.rules import at_most
    >>> shifted(at_most(0, 1, every=7), 3).offset
    4
    """
    if not rounds or not isinstance(rule, Counting):
        return rule
    if rule.every is not None:
        return replace(rule, offset=(rule.offset - rounds) % rule.every)
    if rule.spans is not None:
        spans = tuple((a - rounds, b - rounds) for a, b in rule.spans if b > rounds)
        return replace(rule, spans=spans)
    return rule


def _times(rule: Rule) -> tuple[int, int]:
    """Return after how many rounds what a rule asks repeats, and with which period."""
    if not rule.resolved:
        raise RuleError(
            f"{rule!r} speaks in words of time, which only a calendar can turn into rounds; give "
            "rounds, within or every."
        )
    if not isinstance(rule, Counting):
        return 1, 1
    if rule.within is not None:
        return rule.within, 1
    if rule.every is not None:
        return 2 * rule.every, rule.every
    if rule.spans is None:
        raise RuleError(
            f"{rule!r} speaks of a whole block, and who plays on has no end; give within= or "
            "every=."
        )
    return max((stop for _, stop in rule.spans), default=0) + 1, 1


def _choices(n_arms: int, plays: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return the sets of arms that a round may play, the smaller first."""
    choices: list[tuple[int, ...]] = []
    for size in range(plays[0], plays[1] + 1):
        for arms in combinations(range(n_arms), size):
            choices.append(arms)
            if len(choices) > MOST_CHOICES:
                raise RuleError(
                    f"a round of {plays[0]} to {plays[1]} of {n_arms} arms can be played in more "
                    f"than {MOST_CHOICES} ways; plan it with plan_block, or play fewer."
                )
    return choices


def _automaton(counter: Counter, lead: int, period: int, events: list[int]) -> Automaton:
    """List the states of a counter that goes on for ever; round ``lead + period`` is ``lead``."""
    last = 0 if counter.steady else lead + period - 1
    origin: tuple[int, Hashable] = (0, counter.start)
    known = {origin: 0}
    after, wrong = [], []
    for t, memory in (states := [origin]):
        row, faults = [], []
        for event in events:
            state, fault = counter.step(t, memory, event)
            node = (min(t + 1, last) if t < last or counter.steady else lead, state)
            if node not in known:
                if len(known) == MOST_STATES:
                    raise RuleError(
                        f"{counter.rule!r} has too much to remember for a learner: ask for periods "
                        "(every=) instead of sliding windows (within=), or for shorter windows."
                    )
                known[node] = len(known)
                states.append(node)
            row.append(known[node])
            faults.append(fault)
        after.append(row)
        wrong.append(faults)
    tables = np.array(after, np.int64), np.array(wrong, np.int64)
    return Automaton(counter, *tables, _slack(*tables, lead + 2 * period))


def _slack(after: NDArray[np.int64], wrong: NDArray[np.int64], rounds: int) -> NDArray[np.int64]:
    """Return how many rounds of silence each state can bear."""
    slack = np.full(len(after), _NEVER, np.int64)
    for _ in range(rounds):
        slack = np.where(wrong[:, 0] > 0, 0, np.minimum(slack[after[:, 0]] + 1, _NEVER))
    return slack


def _event(counter: Counter, arms: Sequence[int]) -> int:
    """Return as what a counter hears a round."""
    return sum(counter.letters.get(arm, 0) for arm in arms)
