"""Playing several arms a round: schedules, the states after them, what each arm's pulls pay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_list
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import BlockError
from lastswitch.model.states import as_states
from lastswitch.planning.problem import BlockProblem, Pulled

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.model.curves import Curve
    from lastswitch.model.states import Start

#: The arms of every round; () is silence.
RoundsPlayed = tuple[tuple[int, ...], ...]


def as_rounds(rounds: Iterable[object], names: Sequence[str], what: str) -> RoundsPlayed:
    """Return plays as rounds of arm numbers; a round is an arm, a list of arms, or None (silence).

    Examples
    --------
    >>> as_rounds(["jazz", None, ["talk", 0]], ["jazz", "talk"], "history")
    ((0,), (), (1, 0))
    """
    given = check_list(what, rounds, "the arms of every round, the latest last")
    played = []
    for arms in given:
        if isinstance(arms, str | int | np.integer):
            arms = [arms]
        arms = [] if arms is None else check_list(f"a round of {what}", arms, "of arms")
        played.append(tuple(_arm(arm, names, what) for arm in arms))
    return tuple(played)


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


def start_after(bandit: Bandit, start: Start, history: Iterable[object] | None) -> Start:
    """Return the start that a history leaves; one that is not the bandit's own stands as it is.

    Examples
    --------
    >>> import lastswitch as ls
    >>> start_after(ls.instances.five_arms(), "initial", [0, 0, None])
    [1, 3, 3, 3, 3]
    """
    past = as_rounds(history or (), bandit.names, "history")
    if past and isinstance(start, str) and start == "initial":
        return states_after(bandit.start(), past)
    return start


def _arm(arm: object, names: Sequence[str], what: str) -> int:
    if isinstance(arm, str) and arm in names:
        return list(names).index(arm)
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and 0 <= arm < len(names):
        return int(arm)
    raise BlockError(
        f"{what} plays {arm!r}{suggestion(arm, names)}; name an arm ({', '.join(names)}) or number "
        f"it 0 to {len(names) - 1}."
    )


def block_pulls(block: BlockProblem, arm: int, slots: list[int]) -> list[Pulled]:
    """Return what the pulls of one arm in the rounds ``slots`` of a block pay.

    Examples
    --------
    >>> block_pulls(BlockProblem([[0.9]], [[0.1]], [[0.5] * 3]), 0, [0, 2])[1]
    Pulled(arm=0, tau=1, pay=0.9)
    """
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


def memory_left(block: BlockProblem, arm: int, slots: list[int]) -> int | None:
    """Return the memory one arm is left with; None if it was not pulled.

    Examples
    --------
    >>> memory_left(BlockProblem([[0.9]], [[0.1]], [[0.5] * 3]), 0, [1, 2])
    -2
    """
    if not slots:
        return None
    run = 1
    while run < len(slots) and slots[-run - 1] == slots[-1] - run:
        run += 1
    if slots[-1] - run + 1 == 0:
        run += int(block.run[arm])
    return block.length - 1 - slots[-1] or -run


def turn_pulls(curve: Curve, arm: int, slots: list[int], length: int) -> list[Pulled]:
    """Return what the pulls of one arm pay in a turn of a cycle that repeats for ever.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> [pull.tau for pull in turn_pulls(Curve([0.5], [0.1]), 0, [0, 3], 4)]
    [-1, 2]
    """
    if len(slots) == length:
        endless = -len(curve.streak)
        return [Pulled(arm, endless, float(curve(endless))) for _ in slots]
    pulls = []
    for t in slots:
        back = 1
        while (t - back) % length not in slots:
            back += 1
        tau = back - 1
        if tau == 0:  # how long the run before it is, around the seam
            while (t - back) % length in slots:
                back += 1
            tau = 1 - back
        pulls.append(Pulled(arm, tau, float(curve(tau))))
    return pulls
