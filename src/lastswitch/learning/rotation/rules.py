"""What a rotation learner knows of its rules: which rounds may be played, now and for ever."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import BoolArray
from lastswitch.errors import PolicyError
from lastswitch.learning.policy.tracks import Mask, Track
from lastswitch.learning.rotation.rounds import Choices
from lastswitch.rules.automata.endless import Endless, Memory
from lastswitch.rules.records import Counting, Rule

#: The arms of a round, by number.
Arms = tuple[int, ...]


class RuleBook:
    """The rules of rounds, each of no, one or several plays.

    Rules speak of rounds by their numbers; so subjects that begin in different rounds may meet
    different ones. They are worked out once for each.

    Parameters
    ----------
    rules
        Rules whose arms are numbers.
    n_arms, plays
        How many arms there are, and how many a round plays, from least to most.
    history
        The rounds before the first, the latest last.
    silence
        What an empty place pays, as a share of the range of rewards.
    scale
        That range.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        n_arms: int,
        plays: tuple[int, int],
        history: Sequence[Arms],
        silence: float,
        scale: float,
    ) -> None:
        self.rules, self.n_arms, self.plays, self.history = rules, n_arms, plays, history
        self.silence, self.scale = silence, scale
        self._met: dict[tuple[int, int], Met] = {}
        counting = [rule for rule in rules if isinstance(rule, Counting)]
        self._period = math.lcm(*(rule.every or 1 for rule in counting))
        self._last = max((stop for rule in counting for _, stop in rule.spans or ()), default=0)
        self.met(0)  # tells at once if they cannot be kept

    def met(self, began: int) -> Met:
        """Return the rules as a subject that came in round ``began`` meets them."""
        key = (began % self._period, min(began, self._last))
        found = self._met.get(key)
        if found is None:
            endless = Endless(
                self.rules, self.n_arms, self.plays, began=began, history=self.history
            )
            found = self._met[key] = Met.of(endless, self.silence, self.scale)
        return found

    def places(self) -> float:
        """Return how many plays a round may have on average, if a rule caps all arms together."""
        caps = [float(self.plays[1])]
        for rule in self.rules:
            if isinstance(rule, Counting):
                window = rule.within or rule.every
                if window and rule.hard and len(rule.who) == self.n_arms and not rule.each:
                    most = rule.windows(3 * window)[-1].most
                    caps.append(math.inf if most is None else most / window)
        return min(caps)

    def recalled(self, number: int, past: Sequence[Arms]) -> tuple[Met, Memory]:
        """Return the rules, and what they remember in a round, after the rounds ``past``."""
        met = self.met(number - len(past))
        endless, held = met.endless, met.endless.start
        for arms in past:
            choice = endless.number.get(tuple(sorted(arms)))
            held = endless.step(held, _likest(endless, arms) if choice is None else choice)[0]
        return met, held

    def check_track(self, track: Track) -> None:
        """Refuse what no rounds of these rules leave in the memory of a subject."""
        if track.memory is None:
            return
        endless = self.met(track.began).endless
        clock, held, plan = track.memory
        right = (
            type(clock) is int
            and 0 <= clock <= track.clock
            and len(held) == len(endless.automata)
            and all(type(number) is int for number in (*held, *plan))
            and all(0 <= s < len(a.after) for s, a in zip(held, endless.automata, strict=True))
            and all(0 <= choice < len(endless.choices) for choice in plan)
        )
        if not right:
            raise PolicyError("a track holds what its rules cannot remember.")


class Met(NamedTuple):
    """Rules without end, as a subject meets them, and as tables for the look-ahead."""

    endless: Endless
    choices: Choices

    @classmethod
    def of(cls, endless: Endless, silence: float, scale: float) -> Met:
        """Return endless rules as tables; see :class:`RuleBook`."""
        tables = endless.automata
        nothing = [np.zeros(0, np.int64)]
        sizes = [table.after.size for table in tables]
        costs = [math.inf if t.counter.cost is None else t.counter.cost / scale for t in tables]
        most = endless.plays[1]
        choices = Choices(
            np.array([[arm in arms for arm in range(endless.n_arms)] for arms in endless.choices]),
            np.array([silence * (most - len(arms)) for arms in endless.choices]),
            endless.events,
            np.cumsum([0, *sizes], dtype=np.int64)[:-1],
            np.array([table.after.shape[1] for table in tables], np.int64),
            np.concatenate([t.after.ravel() for t in tables] or nothing),
            np.concatenate([t.wrong.ravel() for t in tables] or nothing),
            np.array(costs, np.float64),
        )
        return cls(endless, choices)

    def recall(self, track: Track) -> tuple[Memory, list[int]]:
        """Return what the rules remember of a subject now, and what is left of its plan."""
        clock, held, plan = track.memory or (0, self.endless.start, [])
        if clock < track.clock:  # rounds went by that were not asked for
            return self.endless.idle(tuple(held), track.clock - clock), []
        return tuple(held), plan

    def free(self, allowed: Mask | None, plays: int | None = None) -> BoolArray:
        """Tell which choices play no arm that is not allowed, and so many arms."""
        arms = self.choices.arms
        free = np.ones(len(arms), np.bool_)
        if allowed is not None:
            free = ~(arms & ~np.array(allowed)).any(axis=1)
        if plays is not None:
            free &= arms.sum(axis=1) == plays
        return free

    def kept(self, held: Memory, free: BoolArray) -> BoolArray:
        """Return those of the ``free`` choices that leave all hard rules a way to be kept.

        If rounds went by that cannot be mended, that is the one which breaks least.
        """
        endless, kept = self.endless, np.zeros(len(free), np.bool_)
        choices = np.flatnonzero(free).tolist()
        if endless.lasting(held):
            for choice in choices:
                kept[choice] = endless.safe(held, choice)
        elif choices:
            kept[min(choices, key=lambda choice: (endless.step(held, choice)[1], choice))] = True
        return kept

    def check_allowed(self, held: Memory, allowed: Mask) -> None:
        """Refuse a mask that leaves no play from which the rules can be kept, if there is one."""
        choices = np.flatnonzero(self.free(allowed)).tolist()
        endless = self.endless
        if endless.lasting(held) and not any(endless.safe(held, choice) for choice in choices):
            raise PolicyError(
                "allowed leaves no play from which all hard rules can be kept; allow more arms, or "
                "drop a rule."
            )

    def play(self, track: Track, arms: Arms) -> Any:
        """Return what a subject's memory is after a round that plays ``arms``."""
        held, plan = self.recall(track)
        choice = self.endless.number[arms]
        follows = plan[1:] if plan and plan[0] == choice else []
        return [track.clock + 1, list(self.endless.step(held, choice)[0]), follows]


def _likest(endless: Endless, arms: Arms) -> int:
    """Return the choice most like a round that is none: an earlier version had other plays."""
    common = [len(set(arms) & set(choice)) for choice in endless.choices]
    return max(range(len(common)), key=lambda k: (common[k], -len(endless.choices[k])))
