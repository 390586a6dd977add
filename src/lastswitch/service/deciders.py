"""What to play: a cycle, a plan or a learner, under rules; beside a holdout, with propensities.

Which part of a rotation decides is drawn from a hash: of the decision's id, or, for a holdout of
subjects, of the subject's name. So anyone can work the draw out again from the journal, and no
randomness has to be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from lastswitch.errors import CalendarError, InfeasibleError, LastSwitchError, ServiceError
from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.learning.tracks import Track
from lastswitch.rules import Rule, at_most, violations
from lastswitch.service.clock import Clock
from lastswitch.service.operations import Standing
from lastswitch.service.rotation import Arms, Version, prior_of, shifted
from lastswitch.service.rounds import SharedRounds

#: Plans and tracks remembered by one worker.
_REMEMBERED = 50_000
#: Seconds that the best cycle is looked for, or a first plan: other rotations wait.
CYCLE_SECONDS = 2.0


class NoArmError(ServiceError):
    """No arm may be played in this round."""


class Choice(NamedTuple):
    """What to play, how likely that was, and why."""

    arms: Arms
    propensity: float
    #: Which part decided: policy, holdout, explore or shadow.
    by: str
    reason: str
    #: In shadow mode, what would have been decided.
    would: Arms | None = None


class Asked(NamedTuple):
    """What is asked of a decider."""

    id: str
    subject: str
    round: int
    allowed: frozenset[int] | None = None
    plays: int | None = None
    #: How long deciding may take; as long as the rotation says by default.
    seconds: float | None = None


class Decider:
    """Decides for subjects of one version of a rotation.

    Examples
    --------
    >>> from lastswitch.service.rotation import make_version
    >>> spec = {"arms": [{"name": "jazz"}, {"name": "talk"}]}
    >>> spec["serve"] = {"decide": "cycle", "cycle": ["jazz", "talk", "talk"]}
    >>> spec["arms"] = [arm | {"rest": [0.5], "streak": [0.1]} for arm in spec["arms"]]
    >>> decider = Decider(make_version("radio", 1, spec))
    >>> [decider.decide(Asked("x", "ann", k), Standing()).arms for k in range(4)]
    [(0,), (1,), (1,), (0,)]
    """

    def __init__(self, version: Version) -> None:
        self.version = version
        self.learner: SharedRotation | None = None
        if version.settings.decide == "learner":
            self.learner = make_learner(version)
        self.clock = Clock(version.calendar)
        self._tracks: dict[str, Track] = {}
        self._plans: dict[object, Arms] = {}
        self._rules: dict[int, tuple[Rule, ...]] = {}
        self._caps = [
            (-curve.support().streak, None if curve.tail == "repeat" else curve.support().rest)
            for curve in version.bandit.curves
        ]
        self._cycle = version.cycle
        if version.settings.decide == "cycle" and not self._cycle:
            self._cycle = _best_cycle(version)

    def decide(self, asked: Asked, standing: Standing) -> Choice:
        """Return what the subject plays in its round."""
        state = standing.before(self.version, asked.round)
        free = self._free(asked, standing)
        settings = self.version.settings
        policy, reason = self._policy(asked, standing, state, free)
        if not settings.holdout and not settings.explore and not settings.shadow:
            return Choice(policy, 1.0, "policy", reason)
        ways = self._ways(asked, standing, free)
        held = self._holdout(asked, state, free, ways) if settings.holdout else None
        if settings.shadow:
            arms = self._holdout(asked, state, free, ways)
            return Choice(arms, 1.0, "shadow", "shadow: " + self._holdout_words(), policy)
        drawn, part = self._draw(asked), ""
        if drawn < settings.holdout:
            arms, part, reason = held or (), "holdout", "holdout: " + self._holdout_words()
        elif _unit(asked.id, "explore") < settings.explore / (1.0 - settings.holdout):
            arms = ways[int(_unit(asked.id, "arm") * len(ways))] if ways else ()
            part, reason = "explore", "drawn evenly among the arms allowed"
        else:
            arms, part = policy, "policy"
        even = settings.explore / len(ways) if arms in ways else 0.0
        own = 1.0 - settings.holdout - settings.explore
        chance = own * (arms == policy) + settings.holdout * (arms == held) + even
        return Choice(arms, min(1.0, chance), part, reason)

    def settled(self, subject: str, arms: Arms, played: bool) -> None:
        """Hear whether what was decided is played: the learner's plan goes on, or is dropped."""
        track = self._tracks.get(subject)
        if track is not None:
            if played and len(arms) == 1:
                if arms[0] != track.note:  # another part decided: what was to follow is off
                    track.drop_block()
                track.play(arms[0])
            else:
                del self._tracks[subject]

    def forget(self, subject: str) -> None:
        """Keep nothing of a subject."""
        self._tracks.pop(subject, None)

    # What may be played.

    def _free(self, asked: Asked, standing: Standing) -> list[int]:
        """Return the arms that may be played: active, allowed, and within hard rules."""
        version = self.version
        free = [
            arm
            for arm, active in enumerate(version.active)
            if active and (asked.allowed is None or arm in asked.allowed)
        ]
        dated = isinstance(self.learner, SharedRounds)  # which sees to the others itself
        hard = [rule for rule in self._rules_at(asked.round, dated=dated) if rule.hard]
        if hard:
            past = standing.history(version, asked.round)
            free = [a for a in free if not any(violations(r, [(a,)], past) for r in hard)]
        if not free and self._least(asked) > 0:
            raise NoArmError(
                f"no arm may be played in round {asked.round} of {asked.subject!r}: retired arms, "
                "what was allowed and the rules leave none; allow more, or let rounds be silent "
                "(plays = [0, 1])."
            )
        return free

    def _least(self, asked: Asked) -> int:
        return self.version.bandit.plays[0] if asked.plays is None else asked.plays

    def _most(self, plays: int | None) -> int:
        return self.version.bandit.plays[1] if plays is None else plays

    def _rules_at(self, round_: int, length: int = 1, *, dated: bool = False) -> tuple[Rule, ...]:
        """Return the rules, or those of dates, bound to arms, with rounds from ``round_`` on."""
        bandit, calendar = self.version.bandit, self.version.calendar
        rules = [rule for rule in bandit.rules if not (dated and rule.resolved)]
        if not rules:
            return ()
        key = (round_ * 2048 + length) * 2 + dated
        found = self._rules.get(key)
        if found is None:
            if len(self._rules) > 256:
                self._rules.clear()
            moved = shifted(rules, round_)
            if calendar is not None and not all(rule.resolved for rule in moved):
                moved = calendar.starting(calendar.time(round_)).resolve(moved, length)
            found = tuple(rule.bound(bandit.names, bandit.groups) for rule in moved)
            self._rules[key] = found
        return found

    def _ways(self, asked: Asked, standing: Standing, free: list[int]) -> list[Arms]:
        """Return the rounds among which is drawn: those a learner of rounds may play, or arms."""
        learner = self.learner
        if isinstance(learner, SharedRounds):
            past = standing.history(self.version, asked.round)
            return learner.ways(asked.round, past, self._mask(free), asked.plays)
        return [(arm,) for arm in free]

    def _mask(self, free: list[int]) -> tuple[bool, ...] | None:
        count = len(self.version.arms)
        return None if len(free) == count else tuple(arm in free for arm in range(count))

    # Who decides.

    def _policy(
        self, asked: Asked, standing: Standing, state: list[int], free: list[int]
    ) -> tuple[Arms, str]:
        decide = self.version.settings.decide
        if isinstance(self.learner, SharedRounds):
            return self._learned_round(self.learner, asked, standing, free)
        if decide == "learner":
            return self._learned(asked, state, free)
        if decide == "plan":
            return self._planned(asked, standing, state, free)
        turn = asked.round % len(self._cycle)
        arms = self._cycle[turn]
        kept = tuple(arm for arm in arms if arm in free)[: self._most(asked.plays)]
        if len(kept) >= self._least(asked) and len(kept) == len(arms):
            return kept, f"round {turn} of a cycle of {len(self._cycle)}"
        rest = [arm for arm in _longest_rested(free, state) if arm not in kept]
        kept += tuple(rest[: max(0, self._least(asked) - len(kept))])
        return kept, f"round {turn} of a cycle, without what may not be played"

    def _learned(self, asked: Asked, state: list[int], free: list[int]) -> tuple[Arms, str]:
        if not free or asked.plays == 0:
            return (), "no arm may be played"
        learner = self.learner
        assert learner is not None
        track = self._tracks.get(asked.subject)
        if track is not None and track.now < asked.round:
            track.rest(asked.round - track.now)
        if track is None or track.now != asked.round or track.state() != state:
            track = Track(tuple(state), asked.round)
        if len(self._tracks) >= _REMEMBERED:
            self._tracks.clear()
        self._tracks[asked.subject] = track
        arm = track.note = learner.decide(track, self._mask(free))
        return (arm,), f"learned; worth up to {learner.bound:.3f} a round"

    def _learned_round(
        self, learner: SharedRounds, asked: Asked, standing: Standing, free: list[int]
    ) -> tuple[Arms, str]:
        state = standing.before(self.version, asked.round)
        past, mask = standing.history(self.version, asked.round), self._mask(free)
        try:
            arms = learner.decide_round(state, asked.round, past, mask, asked.plays)
        except LastSwitchError as error:
            raise NoArmError(f"the rules leave no round: {error}") from error
        if arms is None:
            raise NoArmError(
                f"no round may be played in round {asked.round} of {asked.subject!r}: what was "
                "allowed leaves none from which all hard rules can be kept; allow more."
            )
        return arms, f"learned under rules; worth up to {learner.bound:.3f} a round"

    def _planned(
        self, asked: Asked, standing: Standing, state: list[int], free: list[int]
    ) -> tuple[Arms, str]:
        key = self._plan_key(asked, standing, state, free)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            found = self._plans[key] = self.plan(standing, asked, free)[0]
        return found, f"planned {self.version.settings.lookahead} rounds ahead"

    def plan(
        self, standing: Standing, asked: Asked, free: Sequence[int] | None = None
    ) -> tuple[Arms, ...]:
        """Return the arms of the coming rounds, planned from where the subject stands."""
        import numpy as np

        from lastswitch.planning import plan_block

        version, length = self.version, self.version.settings.lookahead
        allowed = np.tile(np.array(version.active), (length, 1))
        if free is not None:
            allowed[0] = False
            allowed[0, list(free)] = True
        limit = version.settings.time_limit
        try:
            plan = plan_block(
                version.bandit,
                length,
                start=np.array(standing.before(version, asked.round)),
                history=standing.history(version, asked.round),
                rules=self._rules_at(asked.round, length) if version.bandit.rules else None,
                allowed=None if allowed.all() else allowed,
                gap=0.01,
                time_limit=limit if asked.seconds is None else min(limit, asked.seconds),
            )
        except InfeasibleError as error:
            raise NoArmError(f"the rules leave no schedule: {error}") from error
        except LastSwitchError as error:
            raise NoArmError(f"no plan from here: {error}") from error
        if asked.plays is None:
            return plan.rounds
        return (plan.rounds[0][: asked.plays], *plan.rounds[1:])

    def _plan_key(
        self, asked: Asked, standing: Standing, state: list[int], free: list[int]
    ) -> object:
        capped = tuple(
            max(tau, low) if tau < 0 or high is None else min(tau, high)
            for tau, (low, high) in zip(state, self._caps, strict=True)
        )
        if not self.version.bandit.rules:
            return capped, tuple(free), asked.plays
        past = tuple(standing.history(self.version, asked.round))
        return capped, tuple(free), asked.plays, asked.round, past

    def _holdout(self, asked: Asked, state: list[int], free: list[int], ways: list[Arms]) -> Arms:
        cycle, most = self.version.holdout_cycle, self._most(asked.plays)
        turn = () if cycle is None else cycle[asked.round % len(cycle)]
        if isinstance(self.learner, SharedRounds):
            kept = tuple(sorted(turn))
            rested = [sorted((state[arm] for arm in arms), reverse=True) for arms in ways]
            longest = max(range(len(ways)), key=lambda k: (len(ways[k]), rested[k], -k), default=-1)
            return kept if kept in ways and cycle is not None else ways[longest] if ways else ()
        arms = tuple(arm for arm in turn if arm in free)[:most]
        return arms or tuple(_longest_rested(free, state)[:most])

    def _holdout_words(self) -> str:
        return "round-robin" if self.version.holdout_cycle is None else "a fixed cycle"

    def _draw(self, asked: Asked) -> float:
        if self.version.settings.holdout_by == "decision":
            return _unit(asked.id, "holdout")
        return _unit(self.version.rotation, "holdout", asked.subject)


def make_learner(version: Version) -> SharedRotation:
    """Return the learner of a version, which has seen nothing yet."""
    settings, bandit = version.settings, version.bandit
    known = {
        "initial": bandit.initial,
        "rewards": tuple(settings.rewards),
        "memory": settings.memory,
        "prior": prior_of(version),
    }
    rules = [rule for rule in bandit.rules if rule.resolved]
    if not rules and bandit.plays == (1, 1):
        return SharedRotation(len(version.arms), **known)
    retired = [arm for arm, active in enumerate(version.active) if not active]
    rules += [at_most(arm, 0, within=1) for arm in retired]
    more = {name: getattr(bandit, name) for name in ("plays", "silence", "names", "groups")}
    return SharedRounds(len(version.arms), rules=rules, **more, **known)


def hear(
    learner: SharedRotation | None,
    rewards: Sequence[float],
    kind: str,
    arms: Sequence[int],
    taus: Sequence[int],
    told: Sequence[float | None] | None,
) -> None:
    """Let a learner of ``rewards`` hear a play, or what one paid.

    What was told while the rotation paid more, or less, counts as the nearest reward it knows now.
    """
    if learner is None:
        return
    if kind == "play":
        for arm, tau in zip(arms, taus, strict=True):
            learner.played(arm, tau)
    elif kind == "reward":
        low, high = rewards
        for arm, tau, paid in zip(arms, taus, told or (), strict=True):
            learner.paid(arm, tau, None if paid is None else min(max(paid, low), high))


def warm(decider: Decider, now: float = 0.0) -> None:
    """Decide once for nobody: kernels are compiled before anyone waits for them."""
    round_ = 0
    with suppress(CalendarError):
        round_ = 0 if decider.version.calendar is None else decider.clock.round(now)
    with suppress(NoArmError):
        decider.decide(Asked("", "", round_, seconds=CYCLE_SECONDS), Standing())
    decider.forget("")


def _best_cycle(version: Version) -> tuple[Arms, ...]:
    from lastswitch.planning import plan_cycle

    rules = tuple(rule for rule in version.bandit.rules if rule.resolved)
    plan = plan_cycle(
        replace(version.bandit, rules=rules),  # without any, the planner of plain cycles is meant
        version.settings.lookahead,
        allowed=None if all(version.active) else version.active,
        time_limit=min(max(1.0, version.settings.time_limit), CYCLE_SECONDS),
    )
    return plan.rounds


def _longest_rested(free: Sequence[int], state: Sequence[int]) -> list[int]:
    return sorted(free, key=lambda arm: (-state[arm], arm))


def _unit(*words: str) -> float:
    """Return a number from 0 to 1 that depends on the words alone.

    Examples
    --------
    >>> 0.0 <= _unit("a") < 1.0 and _unit("a") == _unit("a") != _unit("b")
    True
    """
    text = "\x1f".join(words).encode()
    return int.from_bytes(sha256(text).digest()[:7], "big") / 2**56
