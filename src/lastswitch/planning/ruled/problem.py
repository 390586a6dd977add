"""A block of rounds to fill under rules, and what a schedule of it is worth by definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._checks import check_bandit, check_list
from lastswitch._suggest import suggestion
from lastswitch.bandit import checked_plays, checked_rules, checked_silence
from lastswitch.errors import BlockError, InputTypeError, ProblemError
from lastswitch.planning._tables import BoolArray, checked_mask
from lastswitch.planning.problem import BlockProblem, Pulled
from lastswitch.rules.checking import PlayedRounds, check_rounds, violations
from lastswitch.states import as_states

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.rules import Rule

#: The arms of every round; () is silence.
RoundsPlayed = tuple[tuple[int, ...], ...]


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
    ) -> None:
        if not isinstance(block, BlockProblem):
            raise InputTypeError(f"block must be a BlockProblem, got {type(block).__name__}.")
        labels = tuple(names or (f"arm {i}" for i in range(block.n_arms)))
        given = checked_rules(rules, labels, groups or {})
        for rule in given:
            check_rounds(rule, block.length, repeats=False)
        mask = checked_mask(allowed, block.length, block.n_arms) & block.allowed
        mask.flags.writeable = False
        fields = {
            "block": block,
            "rules": given,
            "plays": checked_plays(plays, block.n_arms),
            "silence": checked_silence(silence),
            "history": as_rounds(history, labels, "history"),
            "names": labels,
            "groups": dict(groups or {}),
            "allowed": mask,
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

    @classmethod
    def from_bandit(
        cls,
        bandit: Bandit,
        length: int,
        *,
        start: ArrayLike | None = None,
        history: Iterable[object] = (),
        rules: Iterable[Rule] | None = None,
        plays: int | tuple[int, int] | None = None,
        silence: float | None = None,
        allowed: ArrayLike | None = None,
    ) -> RuledProblem:
        """Return the problem of planning ``length`` rounds of ``bandit``.

        ``rules``, ``plays`` and ``silence`` are the bandit's own where not given. ``start`` None
        is the calibrated objective: first pulls pay nothing.

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([ls.Curve([0.5, 0.9], [0.1])], plays=(0, 1))
        >>> RuledProblem.from_bandit(bandit, 3, start=[1]).value([(), (0,), ()])
        0.9
        """
        check_bandit("RuledProblem.from_bandit", bandit)
        return cls(
            BlockProblem.from_bandit(bandit, length, start),
            rules=bandit.rules if rules is None else rules,
            plays=bandit.plays if plays is None else plays,
            silence=bandit.silence if silence is None else silence,
            history=history,
            names=bandit.names,
            groups=bandit.groups,
            allowed=allowed,
        )

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
        )

    def pulls(self, rounds: PlayedRounds) -> list[list[Pulled]]:
        """Return round by round what each of its plays pays, and in which state."""
        played = self.checked(rounds)
        pulls: list[list[Pulled]] = [[] for _ in played]
        for arm in range(self.n_arms):
            slots = [t for t, arms in enumerate(played) if arm in arms]
            for t, pull in zip(slots, _pulls(self.block, arm, slots), strict=True):
                pulls[t].append(pull)
        return pulls

    def value(self, rounds: PlayedRounds) -> float:
        """Return what a schedule is worth: pays, silence and the end, less what soft rules cost.

        This is the definition every solver is tested against.
        """
        pulls = self.pulls(rounds)
        empty = self.plays[1] * self.length - sum(map(len, pulls))
        total = sum(pull.pay for row in pulls for pull in row) + self.silence * empty
        end = self.block.terminal
        if end is not None:
            total += sum(
                end.worth(arm, _left(self.block, arm, [t for t, row in enumerate(rounds) if arm in row]))
                for arm in range(self.n_arms)
            )
        return float(total - self.cost(rounds))

    def cost(self, rounds: PlayedRounds) -> float:
        """Return what broken soft rules cost; a broken hard rule is refused."""
        cost = 0.0
        for rule, bound in zip(self.rules, self.bound_rules, strict=True):
            found = violations(bound, rounds, self.history)
            if found and rule.cost is None:
                raise BlockError(f"round {found[0].round} breaks the rule {rule}.")
            cost += sum(v.amount for v in found) * (rule.cost or 0.0)
        return cost

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
        if self.block.distinct_start and self.length > 1 and set(rounds[0]) & set(rounds[1]):
            raise BlockError("rounds 0 and 1 share an arm; distinct_start forbids it.")
        return tuple(tuple(int(arm) for arm in arms) for arms in rounds)


def as_rounds(rounds: Iterable[object], names: Sequence[str], what: str) -> RoundsPlayed:
    """Return plays as rounds of arm numbers; a round is an arm, a list of arms, or None (silence).

    Examples
    --------
    >>> as_rounds(["jazz", None, ["talk", 0]], ["jazz", "talk"], "history")
    ((0,), (), (1, 0))
    """
    return tuple(
        tuple(
            _arm(arm, names, what)
            for arm in (
                []
                if played is None
                else [played]
                if isinstance(played, str | int | np.integer)
                else check_list(f"a round of {what}", played, "of arms")  # type: ignore[arg-type]
            )
        )
        for played in check_list(what, rounds, "the arms of every round, the latest last")
    )


def states_after(start: ArrayLike, rounds: RoundsPlayed) -> list[int]:
    """Return the states that ``rounds`` leave, several plays a round allowed.

    Examples
    --------
    >>> states_after([1, 1], ((0, 1), (0,), ()))
    [1, 2]
    """
    tau: list[int] = as_states(start).tolist()
    for arms in rounds:
        tau = [min(t, 0) - 1 if i in arms else max(t, 0) + 1 for i, t in enumerate(tau)]
    return tau


def _arm(arm: object, names: Sequence[str], what: str) -> int:
    if isinstance(arm, str) and arm in names:
        return list(names).index(arm)
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and 0 <= arm < len(names):
        return int(arm)
    raise BlockError(
        f"{what} plays {arm!r}{suggestion(arm, names)}; name an arm ({', '.join(names)}) or number "
        f"it 0 to {len(names) - 1}."
    )


def _pulls(block: BlockProblem, arm: int, slots: list[int]) -> list[Pulled]:
    """Return what the pulls of one arm pay."""
    pulls: list[Pulled] = []
    last, run = None, int(block.run[arm])
    for t in slots:
        if last is None:
            pulls.append(Pulled(arm, None, float(block.first[arm, t])))
            run = run + 1 if t == 0 else 1
        else:
            tau = t - last - 1 or -run
            table = block.rest if tau > 0 else block.streak
            pulls.append(Pulled(arm, tau, float(table[arm, min(abs(tau), table.shape[1]) - 1])))
            run = run + 1 if tau < 0 else 1
        last = t
    return pulls


def _left(block: BlockProblem, arm: int, slots: list[int]) -> int | None:
    """Return the memory one arm is left with."""
    if not slots:
        return None
    run = 1
    while run < len(slots) and slots[-run - 1] == slots[-1] - run:
        run += 1
    if slots[-1] - run + 1 == 0:
        run += int(block.run[arm])
    return block.length - 1 - slots[-1] or -run
