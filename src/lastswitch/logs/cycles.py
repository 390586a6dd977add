"""A rotation repeated for ever: the state of each arm at each play, and what the log knows of it.

What a rotation rests on is, for every play, how often and by how many its state was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lastswitch._utils.checks import check_list
from lastswitch._utils.listing import counted
from lastswitch.errors import LogError

if TYPE_CHECKING:
    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.planning.plan import Plan


#: Rounds of a cycle: an arm each, or the arms each plays.
Rounds: TypeAlias = Sequence[int] | Sequence[tuple[int, ...]]
#: How the state of an endless streak is written.
ENDLESS = -(10**9)


def cycle_cells(rounds: Rounds) -> list[tuple[int, int]]:
    """Return the arm and its state at every play of rounds repeated for ever.

    A round is an arm, or the arms it plays, () for silence. An arm of every round is in one
    endless streak, whose state is written -10⁹.

    Examples
    --------
    >>> cycle_cells([0, 0, 1])
    [(0, 1), (0, -1), (1, 2)]
    >>> cycle_cells([(0, 1), (), (0,)])
    [(0, -1), (1, 2), (0, 1)]
    """
    turn = [(arms,) if isinstance(arms, int | np.integer) else tuple(arms) for arms in rounds]
    always = set.intersection(*(set(arms) for arms in turn)) if turn else set()
    cells: list[tuple[int, int]] = []
    last: dict[int, int] = {}
    run: dict[int, int] = {}
    for now, arms in enumerate([*turn, *turn]):
        for arm in arms:
            gap = now - last.get(arm, -1)
            run[arm] = run.get(arm, 0) + 1 if gap == 1 and now else 0
            state = -run[arm] if run[arm] else gap - 1
            cells.append((int(arm), ENDLESS if arm in always else state))
            last[arm] = now
    return cells[len(cells) // 2 :]  # the second turn finds the states that the first one left


def same_plays(one: Rounds, other: Rounds) -> bool:
    """Say whether two rotations, repeated for ever, play the same arms in the same states.

    Examples
    --------
    >>> same_plays([0, 1], [1, 0, 1, 0]), same_plays([0, 1], [0, 0, 1, 1])
    (True, False)
    """
    shares = []
    for rounds in (one, other):
        cells = Counter(cycle_cells(rounds))
        shares.append({cell: Fraction(many, cells.total()) for cell, many in cells.items()})
    return shares[0] == shares[1]


def rounds_of(
    plan: Plan | Sequence[int] | Sequence[str], names: Sequence[str]
) -> list[tuple[int, ...]]:
    """Return the rounds of a plan as numbers into ``names``: by name where the plan has names.

    Examples
    --------
    >>> rounds_of(["talk", "jazz"], ["jazz", "talk"]), rounds_of([0, 1], ["jazz", "talk"])
    ([(1,), (0,)], [(0,), (1,)])
    """
    from lastswitch.planning.plan import Plan

    given: list[Sequence[int | str]] = (
        [[plan.names[arm] for arm in arms] for arms in plan.rounds]
        if isinstance(plan, Plan)
        else [[arm] for arm in check_list("the rotation", plan, "its arms by name or number")]
    )
    known: dict[int | str, int] = {name: arm for arm, name in enumerate(names)}
    known |= {arm: arm for arm in range(len(names))}
    played = [arm for arms in given for arm in arms]
    strange = [
        arm for arm in played if not (isinstance(arm, int | str | np.integer) and arm in known)
    ]
    if strange or not played:
        raise LogError(f"the log has no arm {strange or played}; its arms are {list(names[:20])}.")
    return [tuple(known[arm] for arm in arms) for arms in given]


@dataclass(frozen=True)
class Support:
    """The plays of one arm in one state, and the events of how many subjects they rest on.

    ``beyond`` says that the state is deeper than any seen, and taken to pay what the deepest does.
    """

    arm: str
    tau: int
    plays: int
    events: int
    subjects: int
    known: bool
    beyond: bool = False

    @property
    def state(self) -> str:
        """The state in words."""
        if self.tau == ENDLESS:
            return "repeated for ever"
        if self.tau > 0:
            return f"after {counted(self.tau, 'round')} of rest"
        return f"after {-self.tau} in a row" if self.tau < -1 else "repeated once"

    @property
    def rests(self) -> str:
        """What these plays rest on, in words."""
        return _rests(self.events, self.subjects)


def _rests(events: int, subjects: int) -> str:
    return f"{counted(events, 'event')} of {counted(subjects, 'subject')}"


def support(fit: CurveFit, plan: Plan | Sequence[int] | Sequence[str]) -> tuple[Support, ...]:
    """Return what each kind of play of a repeated rotation rests on, the weakest first.

    Examples
    --------
    >>> import lastswitch as ls
    >>> truth = ls.Bandit([([0.9], [0.0]), ([0.3], [0.3])], names=["jazz", "talk"])
    >>> fit = ls.fit_curves(ls.logs.simulate(truth, subjects=50, rounds=50, seed=1))
    >>> [(found.arm, found.tau, found.known) for found in support(fit, ["jazz", "talk"])]
    [('jazz', 1, True), ('talk', 1, True)]
    """
    visits = Counter(cycle_cells(rounds_of(plan, fit.counts.names)))
    found = [_support(fit.arms[arm], tau, plays) for (arm, tau), plays in visits.items()]
    return tuple(sorted(found, key=lambda one: (one.known, one.events, one.arm, one.tau)))


def _support(arm: ArmFit, tau: int, plays: int) -> Support:
    state = arm.at(tau)
    if state is None:
        return Support(arm.name, tau, plays, 0, 0, False)
    depth = len(arm.rest if tau > 0 else arm.streak)
    beyond = abs(tau) > depth
    return Support(arm.name, tau, plays, state.seen, state.subjects, state.known, beyond)


def support_words(found: Sequence[Support], rounds: int, blurred: int = 0) -> list[str]:
    r"""Return what to say of a rotation's evidence, a sentence a line.

    ``blurred`` is the longest rest that events without an order leave untold.

    Examples
    --------
    >>> thin = Support("Musical", 1, 28, 8, 5, known=False)
    >>> print(*support_words([thin], 28), sep="\n")
    28 of 28 plays rest on 8 events of 5 subjects: the log cannot support this rotation
      Musical after 1 round of rest: 28 plays, 8 events of 5 subjects
    """
    weak = [one for one in found if not one.known]
    if not weak:
        least = min(found, key=lambda one: one.events)
        return [f"Every play rests on at least {least.rests} ({least.arm} {least.state})"]
    plays, events = sum(one.plays for one in weak), sum(one.events for one in weak)
    rests = _rests(events, max(one.subjects for one in weak))
    lines = [f"{plays} of {rounds} plays rest on {rests}: the log cannot support this rotation"]
    lines += [
        f"  {one.arm} {one.state}: {counted(one.plays, 'play')}, {one.rests}" for one in weak[:6]
    ]
    if len(weak) > 6:
        lines.append(f"  and {len(weak) - 6} more")
    if blurred:
        lines.append(
            "  Which of the events that share a time came first is not in the log: streaks, and "
            f"rests up to {counted(blurred, 'round')}, are unknown however often seen"
        )
    return lines
