"""A block of rounds to fill under rules, and what a schedule of it is worth by definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import BoolArray, FloatArray
from lastswitch._utils.checks import check_bandit, check_flag
from lastswitch.errors import BlockError, InputTypeError, ProblemError
from lastswitch.model.bandit import checked_plays, checked_rules, checked_silence
from lastswitch.model.states import Start
from lastswitch.planning._tables import checked_mask
from lastswitch.planning.greedy import best_end, best_offers
from lastswitch.planning.playing import (
    RoundsPlayed,
    as_rounds,
    block_pulls,
    memory_left,
    start_after,
    turn_pulls,
)
from lastswitch.planning.problem import BlockProblem, Pulled
from lastswitch.rules.checking import PlayedRounds, check_rounds, violations

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.model.curves import Curve
    from lastswitch.rules import Rule


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RuledProblem:
    """A block problem with rules, several plays a round, and silence.

    Parameters
    ----------
    block
        What every pull pays, round by round; which arms are allowed where.
    rules
        What the schedule must respect, made with :mod:`lastswitch.rules`.
    plays
        How many different arms a round plays: a number or a range.
    silence
        What each empty place of a round pays.
    history
        The rounds before the block, the latest last: what rules with windows that reach back see.
    names, groups
        What rules call the arms; ``arm 0``, ``arm 1``, ... and no groups by default.
    allowed
        Mask (d, K) on top of the block's own; a round may have no arm at all here.
    distinct_start
        Rounds 0 and 1 share no arm; as the block says by default.
    curves
        What the arms pay if the rounds are one turn of a cycle; None: they are a block. A cycle
        makes its own start, so the block's first pays and the history play no part.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
    >>> problem = RuledProblem(block, rules=[r.apart(0, 3)], plays=(0, 1))
    >>> problem.value([(0,), (1,), ()])
    1.0
    """

    block: BlockProblem
    rules: tuple[Rule, ...]
    plays: tuple[int, int]
    silence: float
    history: RoundsPlayed
    names: tuple[str, ...]
    groups: Mapping[str, Sequence[str]]
    allowed: BoolArray
    distinct_start: bool
    curves: tuple[Curve, ...] | None
    bound_rules: tuple[Rule, ...] = field(repr=False)

    def __init__(
        self,
        block: BlockProblem,
        *,
        rules: Iterable[Rule] = (),
        plays: int | tuple[int, int] = 1,
        silence: float = 0.0,
        history: Iterable[object] = (),
        names: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        allowed: ArrayLike | None = None,
        distinct_start: bool = False,
        curves: Sequence[Curve] | None = None,
    ) -> None:
        if not isinstance(block, BlockProblem):
            raise InputTypeError(f"block must be a BlockProblem, got {type(block).__name__}.")
        labels = tuple(names or (f"arm {i}" for i in range(block.n_arms)))
        given = checked_rules(rules, labels, groups or {})
        for rule in given:
            check_rounds(rule, block.length, repeats=curves is not None)
        mask = checked_mask(allowed, block.length, block.n_arms) & block.allowed
        mask.flags.writeable = False
        check_flag("distinct_start", distinct_start)
        fields = {
            "block": block,
            "rules": given,
            "plays": checked_plays(plays, block.n_arms),
            "silence": checked_silence(silence),
            "history": as_rounds(history, labels, "history"),
            "names": labels,
            "groups": dict(groups or {}),
            "allowed": mask,
            "distinct_start": bool(distinct_start) or block.distinct_start,
            "curves": None if curves is None else tuple(curves),
            "bound_rules": tuple(rule.bound(labels, groups or {}) for rule in given),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        short = self.allowed.sum(axis=1) < self.plays[0]
        if short.any():
            raise ProblemError(
                f"round {int(np.argmax(short))} must play at least {self.plays[0]} and "
                f"`allowed` leaves {int(self.allowed[np.argmax(short)].sum())}; allow more there, "
                "or fewer plays."
            )
        both = self.allowed[:2].any(axis=0)
        if self.distinct_start and self.length > 1 and both.sum() < 2 * self.plays[0]:
            raise ProblemError(
                f"`allowed` leaves {int(both.sum())} arms in rounds 0 and 1, and distinct_start "
                f"asks for {2 * self.plays[0]}; allow more there, or drop distinct_start."
            )

    @classmethod
    def from_bandit(
        cls,
        bandit: Bandit,
        length: int,
        *,
        start: Start = "initial",
        history: Iterable[object] | None = None,
        rules: Iterable[Rule] | None = None,
        plays: int | tuple[int, int] | None = None,
        silence: float | None = None,
        allowed: ArrayLike | None = None,
        distinct_start: bool = False,
        repeats: bool = False,
    ) -> RuledProblem:
        """Return the problem of planning ``length`` rounds of ``bandit``.

        ``rules``, ``plays`` and ``silence`` are the bandit's own where not given. A ``history``
        moves the bandit's initial state; another ``start`` stands as it is. ``repeats``: the
        rounds are one turn of a cycle.

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([ls.Curve([0.5, 0.9], [0.1])], plays=(0, 1))
        >>> RuledProblem.from_bandit(bandit, 3, start=[1]).value([(), (0,), ()])
        0.9
        """
        check_bandit("RuledProblem.from_bandit", bandit)
        past = as_rounds(history or (), bandit.names, "history")
        start = start_after(bandit, start, past)
        return cls(
            BlockProblem.from_bandit(bandit, length, "unknown" if repeats else start),
            rules=bandit.rules if rules is None else rules,
            plays=bandit.plays if plays is None else plays,
            silence=bandit.silence if silence is None else silence,
            history=past,
            names=bandit.names,
            groups=bandit.groups,
            allowed=allowed,
            distinct_start=distinct_start,
            curves=bandit.curves if repeats else None,
        )

    @property
    def repeats(self) -> bool:
        """Whether the rounds are one turn of a cycle."""
        return self.curves is not None

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.block.n_arms

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return self.block.length

    def __repr__(self) -> str:
        least, most = self.plays
        plays = f"{most}" if least == most else f"{least} to {most}"
        return (
            f"RuledProblem({self.n_arms} arms, {self.length} rounds of {plays} plays, "
            f"{len(self.rules)} rules)"
        )

    def without(self, number: int) -> RuledProblem:
        """Return the problem without rule ``number``."""
        return self.with_rules([*self.rules[:number], *self.rules[number + 1 :]])

    def with_rules(self, rules: Iterable[Rule]) -> RuledProblem:
        """Return the problem under other rules."""
        return RuledProblem(
            self.block,
            rules=rules,
            plays=self.plays,
            silence=self.silence,
            history=self.history,
            names=self.names,
            groups=self.groups,
            allowed=self.allowed,
            distinct_start=self.distinct_start,
            curves=self.curves,
        )

    def pulls(self, rounds: PlayedRounds) -> list[list[Pulled]]:
        """Return round by round what each of its plays pays, and in which state."""
        played = self.checked(rounds)
        pulls: list[list[Pulled]] = [[] for _ in played]
        for arm in range(self.n_arms):
            slots = [t for t, arms in enumerate(played) if arm in arms]
            for t, pull in zip(slots, self._row(arm, slots), strict=True):
                pulls[t].append(pull)
        return pulls

    def _row(self, arm: int, slots: list[int]) -> list[Pulled]:
        """Return the pulls of one arm in the rounds ``slots``."""
        if self.curves is None:
            return block_pulls(self.block, arm, slots)
        return turn_pulls(self.curves[arm], arm, slots, self.length)

    def offers(self, rounds: PlayedRounds) -> FloatArray:
        """Return what each arm would pay in each round (d, K), were it pulled there."""
        offers = np.zeros((self.length, self.n_arms))
        for arm in range(self.n_arms):
            slots = {t for t, arms in enumerate(rounds) if arm in arms}
            for t in range(self.length):
                others = {s for s in slots if s < t or self.repeats}
                with_it = sorted({*others, t})
                offers[t, arm] = self._row(arm, with_it)[with_it.index(t)].pay
        return offers

    def size(self, rounds: PlayedRounds) -> float:
        """Return the size of all that is summed up in the value: what rounding is relative to."""
        pays = sum(abs(pull.pay) for row in self.pulls(rounds) for pull in row)
        end = self.block.terminal
        ends = 0.0
        if end is not None:
            ends = float(sum(abs(part).sum() for part in (end.rest, end.streak, end.unplayed)))
        costs = max((rule.cost or 0.0 for rule in self.rules), default=0.0)
        return pays + ends + (abs(self.silence) + costs) * self.length * self.plays[1]

    @property
    def scale(self) -> float:
        """The largest number of all that may be summed up in a value, by size."""
        return self.sizes[1]

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """The smallest and the largest number that may be summed up in a value, zeros aside."""
        block, end = self.block, self.block.terminal
        parts = [np.array([self.silence, *(rule.cost or 0.0 for rule in self.rules)])]
        if self.curves is not None:
            parts += [np.array((*curve.rest, *curve.streak)) for curve in self.curves]
        else:
            parts += [block.rest, block.streak, block.first]
        if end is not None:
            parts += [end.rest, end.streak, end.unplayed]
        sizes = np.abs(np.concatenate([part.ravel() for part in parts]))
        sizes = sizes[sizes > 0.0]
        return float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))

    def ceiling(self) -> float:
        """Return a bound in no time: the best each place of each round could pay.

        Examples
        --------
        >>> block = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3] * 2)
        >>> round(RuledProblem(block, plays=(0, 2), silence=0.3).ceiling(), 6)
        3.4
        """
        least, most = self.plays
        if self.curves is None:
            offers, end = best_offers(self.block), best_end(self.block)
        else:
            best = [max((*curve.rest, *curve.streak)) for curve in self.curves]
            offers, end = np.tile(np.array(best), (self.length, 1)), 0.0
        offers = np.sort(np.where(self.allowed, offers, -np.inf), axis=1)[:, ::-1][:, :most]
        offers[:, least:] = np.maximum(offers[:, least:], self.silence)
        return float(offers.sum()) + end

    def value(self, rounds: PlayedRounds) -> float:
        """Return what a schedule is worth: pays, silence and the end, less what soft rules cost.

        This is the definition every solver is tested against.
        """
        pulls = self.pulls(rounds)
        empty = self.plays[1] * self.length - sum(map(len, pulls))
        total = sum(pull.pay for row in pulls for pull in row) + self.silence * empty
        end = self.block.terminal
        if end is not None:
            for arm in range(self.n_arms):
                slots = [t for t, arms in enumerate(rounds) if arm in arms]
                total += end.worth(arm, memory_left(self.block, arm, slots))
        return float(total - self.cost(rounds))

    def cost(self, rounds: PlayedRounds) -> float:
        """Return what broken soft rules cost; a broken hard rule is refused."""
        cost = 0.0
        for rule, bound in zip(self.rules, self.bound_rules, strict=True):
            found = violations(bound, rounds, self.history, repeats=self.repeats)
            if found and rule.cost is None:
                raise BlockError(f"round {found[0].round} breaks the rule {rule}.")
            cost += sum(v.amount for v in found) * (rule.cost or 0.0)
        return cost

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain values, for JSON.

        Examples
        --------
        >>> problem = RuledProblem(BlockProblem([[0.9]], [[0.1]], [[0.5] * 3]), plays=(0, 1))
        >>> RuledProblem.from_dict(problem.to_dict()).value([(), (0,), ()])
        0.5
        """
        curves = self.curves
        return {
            "block": self.block.to_dict(),
            "rules": [rule.to_dict() for rule in self.rules],
            "plays": list(self.plays),
            "silence": self.silence,
            "history": [list(arms) for arms in self.history],
            "names": list(self.names),
            "groups": {name: list(arms) for name, arms in self.groups.items()},
            "allowed": self.allowed.tolist(),
            "distinct_start": self.distinct_start,
            "curves": None
            if curves is None
            else [[list(c.rest), list(c.streak), c.tail] for c in curves],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RuledProblem:
        """Return the problem that :meth:`to_dict` wrote down."""
        from lastswitch.model.curves import Curve
        from lastswitch.rules import from_dict

        fields = dict(data)
        curves = fields.pop("curves")
        if curves is not None:
            curves = [Curve(rest, streak, tail, monotone=False) for rest, streak, tail in curves]
        return cls(
            BlockProblem.from_dict(fields.pop("block")),
            rules=[from_dict(rule) for rule in fields.pop("rules")],
            plays=tuple(fields.pop("plays")),
            allowed=np.array(fields.pop("allowed"), dtype=np.bool_),
            curves=curves,
            **fields,
        )

    def checked(self, rounds: PlayedRounds) -> RoundsPlayed:
        """Return the schedule as tuples after checking plays and masks (rules: see `cost`)."""
        if len(rounds) != self.length:
            raise BlockError(f"the schedule has {len(rounds)} rounds; the problem {self.length}.")
        least, most = self.plays
        for t, arms in enumerate(rounds):
            if not least <= len(arms) <= most or len(set(arms)) < len(arms):
                raise BlockError(
                    f"round {t} plays {tuple(arms)}; it must play {least} to {most} different arms."
                )
            for arm in arms:
                if not (0 <= arm < self.n_arms and self.allowed[t, arm]):
                    raise BlockError(f"round {t} plays arm {arm}, which is not allowed there.")
        if self.distinct_start and self.length > 1 and set(rounds[0]) & set(rounds[1]):
            raise BlockError("rounds 0 and 1 share an arm; distinct_start forbids it.")
        return tuple(tuple(int(arm) for arm in arms) for arms in rounds)
