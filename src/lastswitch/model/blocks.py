"""What a block of plays pays: from a state, calibrated, or as an endless cycle.

The definitions are the short functions of :mod:`lastswitch.model.block_reference`; what runs is one
compiled pass over the block (:mod:`lastswitch.model.block_kernel`), tied to them by tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import check_bandit, check_whole
from lastswitch.errors import BlockError
from lastswitch.model.states import Start, as_block, as_start

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit


def block_pays(bandit: Bandit, block: ArrayLike, start: Start = "initial") -> FloatArray:
    """Return what each play of ``block`` pays on average, starting in state ``start``.

    ``start`` is ``"initial"`` (the bandit's own), ``"unknown"`` (the first play of each arm pays
    nothing, the calibrated reward) or a state vector.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> radio = Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.4])])
    >>> block_pays(radio, [1, 0, 0], start=[1, 1]).tolist()
    [0.4, 0.9, 0.0]
    """
    check_bandit("block_pays", bandit)
    state = as_start(start, bandit.start())
    arms = as_block(block, bandit.n_arms)
    pays = _pays(bandit, arms, _rested(bandit) if state is None else state)
    if state is None:
        pays[np.unique(arms, return_index=True)[1]] = 0.0
    return pays


def block_reward(bandit: Bandit, block: ArrayLike, start: Start = "initial") -> float:
    r"""Return :math:`r(B \mid \tau)`, what ``block`` pays in total from state ``start``.

    ``start`` as in :func:`block_pays`.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> radio = Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.4])])
    >>> round(block_reward(radio, [1, 0, 0], start=[1, 1]), 3)
    1.3
    """
    return float(block_pays(bandit, block, start).sum())


def calibrated_reward(bandit: Bandit, block: ArrayLike) -> float:
    r"""Return :math:`\tilde r(B)`: the block's pay where each arm's first play pays nothing.

    It does not depend on the state the block starts in (Laforgue et al., 2022, Section 3), as
    long as streaks are constant or the first two plays differ; a block that opens with a repeat
    is taken to start from rest.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> radio = Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.4])])
    >>> round(calibrated_reward(radio, [0, 1, 1, 0]), 3)
    1.3
    """
    check_bandit("calibrated_reward", bandit)
    return block_reward(bandit, block, "unknown")


def cycle_reward(bandit: Bandit, block: ArrayLike) -> float:
    r"""Return :math:`r(B \mid \tau_B)`: what one turn of the endlessly repeated block pays.

    A block of two arms or more settles after one turn. A block of a single arm never does, its
    streak only grows; its turn is worth what the arm pays in an endless streak.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> radio = Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.4])])
    >>> round(cycle_reward(radio, [0, 1, 1]), 3)
    1.7
    """
    check_bandit("cycle_reward", bandit)
    arms = as_block(block, bandit.n_arms)
    first = int(arms[0])
    if (arms == first).all():
        return len(arms) * bandit.curves[first].streak[-1]
    pays = _pays(bandit, np.concatenate([arms, arms]), _rested(bandit))
    return float(pays[len(arms) :].sum())


def _rested(bandit: Bandit) -> IntArray:
    """Return a state in which no arm is in a streak."""
    return np.ones(bandit.n_arms, dtype=np.int64)


def _pays(bandit: Bandit, arms: IntArray, state: IntArray) -> FloatArray:
    """Return what each play pays, of what is known to be a bandit, its arms and a state."""
    from lastswitch._utils.jit import announce
    from lastswitch.model.block_kernel import pays_of_block
    from lastswitch.model.packed import pack

    announce("reward", pays_of_block)
    pays: FloatArray = pays_of_block(*pack(bandit.curves), arms, state)
    return pays


def repaired_block(block: ArrayLike, n_arms: int) -> list[int]:
    r"""Return the block :math:`B'` of Laforgue et al. (2022), Lemma 2, general case.

    :math:`B'` is :math:`B` with its second play replaced by the second *different* arm of
    :math:`B`, which breaks a streak the block may start in. Whatever the two initial states,
    :math:`r(B' \mid \tau') \ge r(B \mid \tau) - (K + 2)`.

    Examples
    --------
    >>> repaired_block([0, 0, 0, 2, 1], n_arms=3)
    [0, 2, 0, 2, 1]
    >>> repaired_block([0, 1, 0], n_arms=3)
    [0, 1, 0]
    """
    check_whole("n_arms", n_arms, 1)
    arms: list[int] = as_block(block, n_arms).tolist()
    if len(arms) < 2 or arms[1] != arms[0]:
        return arms
    if n_arms == 1:
        raise BlockError("a single arm cannot break its own streak: B' needs at least two arms.")
    # The proof of Proposition 2 prints an insertion; the lemma's own proof replaces, and counts.
    another = 1 if arms[0] == 0 else 0
    second = next((arm for arm in arms if arm != arms[0]), another)
    return [arms[0], second, *arms[2:]]
