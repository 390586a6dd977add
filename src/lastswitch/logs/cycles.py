"""A rotation repeated for ever: its arms by number, and the state of each arm at each play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._checks import check_list
from lastswitch.errors import LogError

if TYPE_CHECKING:
    from lastswitch.planning.plan import Plan

#: How the state of an endless streak is written.
ENDLESS = -(10**9)


def cycle_cells(block: Sequence[int]) -> list[tuple[int, int]]:
    """Return the arm and its state at every slot of a block repeated for ever.

    A block of a single arm is one endless streak, whose state is written -10⁹.

    Examples
    --------
    >>> cycle_cells([0, 0, 1])
    [(0, 1), (0, -1), (1, 2)]
    """
    if len(set(block)) == 1:
        return [(block[0], ENDLESS)] * len(block)
    cells: list[tuple[int, int]] = []
    last: dict[int, int] = {}
    run = 0
    for now, arm in enumerate([*block, *block]):
        gap = now - last.get(arm, -1)
        run = run + 1 if gap == 1 and now else 0
        cells.append((arm, -run if run else gap - 1))
        last[arm] = now
    return cells[len(block) :]  # the second turn finds the states that the first one left


def arms_of(plan: Plan | Sequence[int] | Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the arms of a plan as numbers into ``names``: by name where the plan has names.

    Examples
    --------
    >>> arms_of(["talk", "jazz"], ["jazz", "talk"]), arms_of([0, 1], ["jazz", "talk"])
    ([1, 0], [0, 1])
    """
    from lastswitch.planning.plan import Plan

    given: list[int | str] = (
        [plan.names[arm] for arm in plan.block]
        if isinstance(plan, Plan)
        else check_list("the rotation", plan, "its arms by name or number")
    )
    known: dict[int | str, int] = {name: arm for arm, name in enumerate(names)}
    known |= {arm: arm for arm in range(len(names))}
    strange = [
        arm for arm in given if not (isinstance(arm, int | str | np.integer) and arm in known)
    ]
    if strange or not given:
        raise LogError(f"the log has no arm {strange or given}; its arms are {list(names[:20])}.")
    return [known[arm] for arm in given]
