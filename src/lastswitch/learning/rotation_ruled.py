"""RotationUCB under rules: plans that keep them, made by the planner that proves it.

A learner has no last round, so rules are those of a schedule that goes on: their rounds are those
of a subject's clock, and before each plan they are told from its present round. What the rules
remember are the subject's latest plays, as far back as the longest window reaches.

A plan keeps every hard rule for all its rounds, not only for those that are played before the next
one. So if no plan can be made from where a subject stands, the earlier one is followed further;
when that has ended too, the rules are said to contradict each other. No rule is broken on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastswitch.bandit import checked_rules
from lastswitch.errors import PolicyError, RuleError
from lastswitch.learning.indices import Floats
from lastswitch.learning.proposals import Mask
from lastswitch.learning.rotation_making import OptimisticTables
from lastswitch.learning.tracks import Track

if TYPE_CHECKING:
    from lastswitch.planning.ruled.problem import RuledProblem
    from lastswitch.rules import Rule

#: How far from the best a plan may be, per round of it.
_GAP = 0.01


def check_rules(rules: Iterable[Rule], n_arms: int) -> tuple[Rule, ...]:
    """Return the rules a learner can keep.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> check_rules([r.apart(0, 3)], 2)
    (apart(0, 3),)
    >>> check_rules([r.at_most(0, 3)], 2)
    Traceback (most recent call last):
    lastswitch.errors.RuleError: at_most(0, 3) counts over a whole schedule, and a learner's ...
    """
    given = checked_rules(rules, _labels(n_arms), {})
    for rule in given:
        if not rule.resolved:
            raise RuleError(
                f"{rule!r} speaks of times, which only a calendar can turn into rounds; give "
                "rules=calendar.resolve(rules, length)."
            )
        if windowless(rule):
            raise RuleError(
                f"{rule!r} counts over a whole schedule, and a learner's has no end; say within, "
                "every or which rounds."
            )
    return given


def windowless(rule: Any) -> bool:
    """Tell whether a rule counts plays over the whole of a schedule."""
    windows = (getattr(rule, "within", 1), getattr(rule, "every", 1), getattr(rule, "spans", 1))
    return all(window is None for window in windows)


def reach(rules: Sequence[Any]) -> int:
    """Return how many rounds back the rules remember.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> reach([r.apart(0, 3), r.at_least(1, 2, every=7)]), reach([])
    (7, 1)
    """
    longest = 1
    for rule in rules:
        spans = [stop - start for start, stop in getattr(rule, "spans", None) or ()]
        windows = (getattr(rule, "within", None), getattr(rule, "every", None), *spans)
        longest = max(longest, *(window or 1 for window in windows))
    return longest


def shifted(rule: Any, now: int) -> Any:
    """Return ``rule`` with its rounds counted from round ``now`` on; None if it is all over.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> shifted(r.pinned(0, 7), 5).spans, shifted(r.pinned(0, 7), 8)
    (((2, 3),), None)
    """
    if getattr(rule, "every", None) is not None:
        return replace(rule, offset=(rule.offset - now) % rule.every)
    if getattr(rule, "spans", None) is None:
        return rule
    spans = tuple((start - now, stop - now) for start, stop in rule.spans if stop > now)
    if rule.outside:  # everything else is forbidden, also when nothing is left
        return replace(rule, spans=spans or ((-1, 0),))
    return replace(rule, spans=spans) if spans else None


class RuledPlans(OptimisticTables):
    """The part of :class:`~lastswitch.learning.RotationUCB` that plans under rules."""

    rules: tuple[Rule, ...]
    lookahead: int
    commitment: int
    _alive: Mask | None

    def _choose_ruled(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of a plan that keeps the rules."""
        if self.memory is not None:
            self._tick(track.now)
        at = track.at
        if allowed is not None or at >= len(track.block) or at % self.commitment == 0:
            if self.stale:
                self._make_tables()
            track.block, at = self._ruled_plan(track, allowed), 0
        arm = track.block[at]
        track.at = at + 1
        remember_play(track, arm, reach(self.rules))
        cell = self._cell(arm, track.tau(arm))
        self._out[cell] += 1.0
        if self._seen[cell] + self._out[cell] >= self._limit_all[cell]:
            self.stale = True
        return arm

    def _ruled_plan(self, track: Track, allowed: Mask | None) -> tuple[int, ...]:
        """Return the arms of a plan that keeps the rules, or what is left of the earlier one."""
        from lastswitch.planning.ruled.solve import plan_ruled, solved

        problem = self._ruled_problem(track, allowed)
        rounds = solved(problem, gap=_GAP * self.lookahead).rounds
        if rounds is not None:
            return tuple(arms[0] for arms in rounds)
        left = tuple(track.block[track.at :])
        if left and (allowed is None or allowed[left[0]]):
            return left
        plan_ruled(problem)  # says which rules contradict each other
        raise RuleError("the rules leave no plan from here; drop one of them.")

    def _ruled_problem(self, track: Track, allowed: Mask | None) -> RuledProblem:
        """Return the rounds ahead as the planner takes them."""
        from lastswitch.planning.problem import BlockProblem
        from lastswitch.planning.ruled.problem import RuledProblem
        from lastswitch.planning.terminal import Terminal

        length, streaks = (
            max(self.lookahead, reach(self.rules) + self.commitment),
            self.streak_depth,
        )
        pays, worth = (_held(table, streaks, self.depths) for table in (self.values, self._worth))
        tau = np.array(track.state())
        ahead = np.maximum(tau, 0)[:, None] + np.arange(length + 1)
        last = pays.shape[1] - streaks
        cells = streaks + np.clip(ahead, 1, last) - 1
        now = np.where(tau > 0, streaks + np.clip(tau, 1, last), np.clip(-tau, 1, streaks)) - 1
        cells[:, 0] = now
        arms = np.arange(self.n_arms)
        free = np.ones((length, self.n_arms), np.bool_)
        if self._alive is not None:
            free &= np.array(self._alive)
        if allowed is not None:
            free[0] &= np.array(allowed)
        block = BlockProblem(
            pays[:, streaks:],
            pays[:, :streaks],
            pays[arms[:, None], cells[:, :length]],
            run=np.maximum(-tau, 0),
            allowed=free,
            terminal=Terminal(
                worth[:, streaks:], worth[:, :streaks], worth[arms, cells[:, length]]
            ),
        )
        rules = [rule for rule in (shifted(rule, track.now) for rule in self.rules) if rule]
        return RuledProblem(block, rules=rules, history=recent_rounds(track, reach(self.rules)))


def remember_play(track: Track, arm: int, rounds: int) -> None:
    """Note that ``arm`` is played now, for as many rounds as rules look back."""
    kept = track.memory or []
    old = 0
    while old < len(kept) and kept[old] < track.now - rounds:
        old += 2
    track.memory = [*kept[old:], track.now, arm]


def recent_rounds(track: Track, rounds: int) -> list[tuple[int, ...]]:
    """Return the arms of the latest rounds since the subject was enrolled, the last one last."""
    first = max(track.began, track.now - rounds)
    played: list[tuple[int, ...]] = [()] * (track.now - first)
    kept = track.memory or []
    for when, arm in zip(kept[::2], kept[1::2], strict=True):
        if when >= first:
            played[when - first] = (arm,)
    return played


def check_recent(track: Track, n_arms: int) -> None:
    """Refuse latest plays that the subject cannot have made."""
    kept = [] if track.memory is None else track.memory
    fine = isinstance(kept, list) and len(kept) % 2 == 0
    fine = fine and all(type(number) is int for number in kept)
    if fine:
        rounds = [track.began - 1, *kept[::2], track.now]
        fine = all(one < other for one, other in pairwise(rounds))
        fine = fine and all(0 <= arm < n_arms for arm in kept[1::2])
    if not fine:
        raise PolicyError(f"a subject cannot have played {kept!r:.80} lately.")


def _held(table: Floats, streaks: int, depths: NDArray[np.int64]) -> Floats:
    """Return a table whose rows hold their last rest beyond each arm's depth."""
    column = np.arange(table.shape[1])[None, :]
    last = (streaks + depths - 1)[:, None]
    return np.take_along_axis(table, np.minimum(column, last), axis=1)


def _labels(n_arms: int) -> tuple[str, ...]:
    return tuple(f"arm {i}" for i in range(n_arms))
