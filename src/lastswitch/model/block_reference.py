"""The rewards of a block by definition: play it out, state by state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lastswitch.model.states import transition

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit


def pays_of_block(bandit: Bandit, block: Sequence[int], start: Sequence[int]) -> list[float]:
    """Return what each play pays: Laforgue et al. (2022), Definition 1 and Eq. (2), literally."""
    state, pays = start, []
    for arm in block:
        pays.append(bandit.mean(arm, state[arm]))
        state = transition(state, arm).tolist()
    return pays


def calibrated_reward(bandit: Bandit, block: Sequence[int]) -> float:
    """Sum the pays of plays whose arm was played before in the block."""
    pays = pays_of_block(bandit, block, [1] * bandit.n_arms)
    return sum(pay for t, pay in enumerate(pays) if block[t] in block[:t])


def cycle_reward(bandit: Bandit, block: Sequence[int]) -> float:
    """Repeat the block until every streak table is exhausted, and return the last turn's pay."""
    turns = 2 + max(len(curve.streak) for curve in bandit.curves)
    pays = pays_of_block(bandit, list(block) * turns, [1] * bandit.n_arms)
    return sum(pays[-len(block) :])
