"""A rotation repeated for ever: its arms by number, and the state of each arm at each play."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lastswitch._checks import check_list
from lastswitch.errors import LogError

if TYPE_CHECKING:
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
