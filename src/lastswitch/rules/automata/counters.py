"""A rule as counters: small automata that hear, round by round, how often their arms are played.

A counter knows a few arms by a *letter* each; a round is heard as an *event*, the sum of the
letters of the arms it plays. What a counter must remember is any hashable state; its step is a
plain function of (round, state, event), so a new kind of rule is a few lines. :func:`tabulated`
lists the states that can be reached, round by round, as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import NamedTuple

from lastswitch.errors import RuleError
from lastswitch.rules.records import Counting, Rule, Succession, Who, Window

#: States a counter may begin a turn of a cycle in.
MOST_BEGINS = 2_000
#: (round, state, event) -> (next state, violations)
Step = Callable[[int, Hashable, int], tuple[Hashable, int]]


@dataclass(frozen=True)
class Counter:
    """One rule, or a part of one, as an automaton.

    Parameters
    ----------
    letters
        What each arm it hears is heard as.
    start
        Its state before round 0.
    step
        How it moves, and how many violations that is.
    cost
        What a violation costs; None: it may not happen.
    shared
        A label per round; rounds with the same label are alike to it but for how many plays they
        have in all, so that one price serves them.
    rule
        The rule it is a part of, for messages.
    key
        Counters with equal keys step alike: they differ in the arms they hear at most.
    begins
        For a cycle: the states it may be in before round 0.
    closed
        Whether a soft counter that has no state left ends the schedule, as one of a cycle does.
    phases
        A label per round; in rounds with the same label its steps are the same.
    """

    letters: dict[int, int]
    start: Hashable
    step: Step
    cost: float | None
    shared: tuple[int, ...]
    rule: Rule
    key: Hashable
    phases: tuple[Hashable, ...]
    begins: tuple[Hashable, ...] = ()
    closed: bool = False

    @property
    def steady(self) -> bool:
        """Whether its steps are the same in every round."""
        return len(set(self.phases)) == 1


def counters_of(
    rule: Rule,
    length: int,
    most_plays: int,
    history: Sequence[Sequence[int]],
    repeats: bool = False,
) -> list[Counter]:
    """Return the counters of a rule whose arms are numbers.

    Those of one turn of a cycle (``repeats``) step as in the middle of an endless repetition.

    Examples
    --------
    >>> from lastswitch.rules import apart, rest
    >>> len(counters_of(apart([0, 1], 3), 6, 1, ())), len(counters_of(rest([0, 1], 3), 6, 1, ()))
    (1, 2)
    """
    if isinstance(rule, Succession):
        return [_succession(rule, length, most_plays, history)]
    # Nothing at all of a group is nothing of each of its arms.
    none_of_each = rule.hard and rule.most == 0 and not rule.least
    counters: list[Counter] = []
    arms = numbers(rule.who)
    parts = list(_parts(_turn_windows(rule, length) if repeats else rule.windows(length)))
    for who in [(arm,) for arm in arms] if rule.each or none_of_each else [arms]:
        heard = [sum(arm in who for arm in played) for played in history]
        if rule.within is not None:
            at_once = min(most_plays, len(who))
            counters += [
                _sliding(rule, who, part, heard, length, at_once if repeats else 0)
                for part in parts
            ]
        else:
            for part in parts:
                counters += [
                    _fixed(rule, who, chain, heard, length, repeats) for chain in _chains(part)
                ]
    return counters


def _turn_windows(rule: Counting, length: int) -> list[Window]:
    """Return the windows of a cycle: spans stay in the turn, periods go across its seam."""
    windows = rule.windows(length)
    if rule.within is not None:
        return windows
    if rule.every is not None:
        return [window for window in windows if window.stop <= length]
    inside = []
    for window in windows:
        clipped = window._replace(start=max(window.start, 0), stop=min(window.stop, length))
        inside.append(clipped if clipped == window else clipped._replace(least=0))
    return inside


def numbers(who: Who) -> tuple[int, ...]:
    """Return the arms of a rule that has been bound.

    Examples
    --------
    >>> numbers((0, 2))
    (0, 2)
    """
    return tuple(arm for arm in who if isinstance(arm, int))


def _parts(windows: list[Window]) -> Iterable[list[Window]]:
    """Return the windows as asking for most plays only, and for least plays only."""
    if any(window.most is not None for window in windows):
        yield [window._replace(least=0) for window in windows]
    if any(window.least for window in windows):
        yield [window._replace(most=None) for window in windows]


def _chains(windows: list[Window]) -> list[list[Window]]:
    """Return the windows sorted into lists in which none overlap."""
    chains: list[list[Window]] = []
    for window in windows:
        for chain in chains:
            if chain[-1].stop <= window.start:
                chain.append(window)
                break
        else:
            chains.append([window])
    return chains


def _sliding(
    rule: Counting,
    who: tuple[int, ...],
    windows: list[Window],
    heard: list[int],
    length: int,
    at_once: int,
) -> Counter:
    """Count in the last so many rounds: the state is the ages of the latest plays in them."""
    width, (_, _, least, most) = windows[0].stop - windows[0].start, windows[0]
    memory = least if most is None else most
    past = [age for age, n in enumerate(reversed(heard), start=1) for _ in range(n) if age < width]
    start = tuple(past[:memory])
    # By round: what a window that reaches back asks for; nothing if its beginning is unknown.
    asks = [
        least
        if w.start >= 0 or at_once
        else 0
        if w.start < -len(heard)
        else min(least, sum(heard[len(heard) + w.start :]) + w.stop)
        for w in windows
    ]

    def too_many(_: int, state: Hashable, event: int) -> tuple[Hashable, int]:
        ages: tuple[int, ...] = state  # type: ignore[assignment]
        over = max(0, len(ages) + event - memory)
        ages = ((0,) * event + ages)[:memory]
        return tuple(age + 1 for age in ages if age + 1 < width), over

    def too_few(t: int, state: Hashable, event: int) -> tuple[Hashable, int]:
        ages: tuple[int, ...] = state  # type: ignore[assignment]
        ages = ((0,) * event + ages)[:memory]
        lack = max(0, asks[t] - len(ages))
        return tuple(age + 1 for age in ages if age + 1 < width), lack

    reaching = tuple(asks[: width - 1]) if most is None else ()
    if at_once and math.comb(width - 1 + memory, memory) > MOST_BEGINS:
        raise RuleError(
            f"{rule!r} has too much to remember across the seam of a cycle: ask for periods "
            "(every=) instead of sliding windows (within=), or for shorter windows."
        )
    return Counter(
        letters=dict.fromkeys(who, 1),
        start=start,
        step=too_many if most is not None else too_few,
        cost=rule.cost,
        shared=tuple(range(length)),
        rule=rule,
        key=("sliding", width, least, most, start, reaching, rule.cost),
        phases=tuple(asks) if most is None else (0,) * length,
        begins=tuple(age_states(width, memory, at_once)) if at_once else (),
    )


def _fixed(
    rule: Counting,
    who: tuple[int, ...],
    windows: list[Window],
    heard: list[int],
    length: int,
    repeats: bool,
) -> Counter:
    """Count in windows that do not overlap: the state is the plays of the current one so far."""
    at: list[Window | None] = [None] * length
    for window in windows:
        for t in range(max(window.start, 0), min(window.stop, length)):
            at[t] = window
    # A period that goes across the seam of a cycle begins with what the turn before counted.
    seam = windows[0] if repeats and windows and windows[0].start < 0 else None
    if seam is not None:
        for t in range(length + seam.start, length):
            at[t] = seam
    first = at[0]
    start, lost = 0, 0
    if first is not None and first.start < 0 and not repeats:
        known = max(first.start, -len(heard))
        start = sum(heard[len(heard) + known :]) if known < 0 else 0
        if first.most is None:
            unknown = first.start < -len(heard) or first.stop > length
            asked = 0 if unknown else min(first.least, start + first.stop)
            lost = first.least - asked
    start = min(start, _cap(first))

    phases = [
        _phase(t, window, length, lost if window is first else 0) for t, window in enumerate(at)
    ]

    def step(t: int, state: Hashable, event: int) -> tuple[Hashable, int]:
        phase, count = phases[t], state
        assert isinstance(count, int)
        if phase is None:
            return 0, 0
        wrong = 0
        if phase.most is not None:
            wrong = max(0, count + event - phase.most) - max(0, count - phase.most)
        count = min(count + event, phase.cap)
        return (0, wrong + max(0, phase.asked - count)) if phase.closes else (count, wrong)

    shared = tuple(-1 - t if w is None else w.start for t, w in enumerate(at))
    return Counter(
        letters=dict.fromkeys(who, 1),
        start=start,
        step=step,
        cost=rule.cost,
        shared=shared,
        rule=rule,
        key=("fixed", tuple(windows), start, lost, rule.cost),
        phases=tuple(phases),
        begins=tuple(range(_cap(seam) + 1)) if seam is not None else (0,),
    )


class Phase(NamedTuple):
    """What one round of a window asks: most plays so far, and how many at its end."""

    most: int | None
    cap: int
    closes: bool
    asked: int


def _phase(t: int, window: Window | None, length: int, lost: int) -> Phase | None:
    """Return what round ``t`` of a window asks, some plays being past mending; None outside."""
    if window is None:
        return None
    closes = t + 1 == window.stop
    asked = window.least - lost if closes and window.stop <= length else 0
    return Phase(window.most, _cap(window), closes, asked)


def _cap(window: Window | None) -> int:
    """Return how far plays in a window need be counted."""
    if window is None:
        return 0
    return window.least if window.most is None else window.most


def _succession(
    rule: Succession, length: int, most_plays: int, history: Sequence[Sequence[int]]
) -> Counter:
    """Remember whether ``whom`` was played the round before; ``who`` counts 1, ``whom`` base."""
    base = most_plays + 1
    who, whom = numbers(rule.who), numbers(rule.whom)
    letters = {arm: (arm in who) + base * (arm in whom) for arm in sorted({*who, *whom})}
    start = bool(history) and any(arm in rule.whom for arm in history[-1])

    def step(_: int, state: Hashable, event: int) -> tuple[Hashable, int]:
        return event >= base, (event % base if state else 0)

    return Counter(
        letters=letters,
        start=start,
        step=step,
        cost=rule.cost,
        shared=tuple(range(length)),
        rule=rule,
        key=("succession", start, rule.cost),
        phases=(0,) * length,
        begins=(False, True),
    )


def age_states(width: int, memory: int, at_once: int) -> list[tuple[int, ...]]:
    """Return all lists of up to ``memory`` ages below ``width``, none more often than ``at_once``.

    Examples
    --------
    >>> age_states(3, 2, 1)
    [(), (1,), (2,), (1, 2)]
    """
    return [
        ages
        for size in range(memory + 1)
        for ages in combinations_with_replacement(range(1, width), size)
        if all(ages.count(age) <= at_once for age in ages)
    ]


def relabelled(counter: Counter, arms: Iterable[int]) -> Counter:
    """Return the counter hearing some of its arms only.

    Examples
    --------
    >>> from lastswitch.rules import apart
    >>> relabelled(counters_of(apart([0, 1], 3), 6, 1, ())[0], [1]).letters
    {1: 1}
    """
    return replace(counter, letters={a: n for a, n in counter.letters.items() if a in set(arms)})
