"""The paper's learners: blocks planned on upper confidence bounds (CombUCB1 and its kin).

Laforgue et al. (2022), Algorithm 1 and Appendix C. What they share is in
:mod:`~lastswitch.learning.paper.block_ucb`; they differ in the state a block is planned from and in
the rewards they learn from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_flag, check_list, check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.paper.block_size import least_regret_size
from lastswitch.learning.paper.block_ucb import BlockUCB
from lastswitch.learning.policy import Mask, Pull
from lastswitch.learning.policy.tracks import Track


class ISICombUCB1(BlockUCB):
    """ISI-CombUCB1: Laforgue et al. (2022), Algorithm 1, as printed.

    Every block maximises the calibrated reward r̃ under the bounds: an arm's first pull in the
    block counts for nothing and teaches nothing, so what is learned never depends on what came
    before the block (*initial states independent*).

    A block of ``length`` rounds can reach the delays 1..``length`` − 1; those are the table. (The
    paper calls this d and says blocks of size d + 1 in its experiments.) The infinite bounds of
    states not seen yet come first exactly: a block with more of them always wins, and finite
    bounds decide between blocks with equally many.

    Parameters
    ----------
    n_arms
        Number of arms.
    length
        Rounds per block, at least 2. Without it, ``horizon`` decides: the block size that makes
        the bound of Theorem 1 (Theorem 2 with ``streaks``) smallest, which grows as T^(1/4).
    alpha
        Exploration; Theorem 1 holds for 1.5.
    streaks
        ``False``: pay does not depend on the length of a streak. ``True``: the paper's general
        case, one estimate per streak length, and blocks whose first two arms differ.
    horizon
        Rounds to be played; only used to choose ``length``.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`; ``initial`` is -1 for the paper's delay models.
    solver
        ``"certified"`` plans exactly; ``"relaxation"`` is the authors' Algorithm 2.

    Notes
    -----
    The authors' published code departs from the paper: its logarithm counts rounds instead of
    blocks, its unseen states start at d √(1.5 log(K d)) instead of +∞, and it refreshes only the
    bounds of the states the arms are in. On the paper's five arms (T = 5112, ten runs, mean ±
    standard error) this class collects 1582 ± 5, with the code's logarithm alone 1568 ± 6, with
    all three 1568 ± 7; the code itself was measured at 1564 ± 4. The logarithm of a larger number
    explores more, and that is the difference.
    ``benchmarks/paper_policies.py`` prints every difference side by side.

    Examples
    --------
    >>> policy = ISICombUCB1(n_arms=2, length=3)
    >>> for _ in range(300):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 1.0 if (pull.arm, pull.tau) == (0, 1) else 0.0)
    >>> [policy.ask().arm for _ in range(3)]  # what pays: arm 0 after one round of rest
    [0, 1, 0]
    """

    def __init__(
        self,
        n_arms: int,
        length: int | None = None,
        alpha: float = 1.5,
        streaks: bool = False,
        *,
        horizon: int | None = None,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        solver: str = "certified",
    ) -> None:
        if length is None:
            if horizon is None:
                raise PolicyError("give length, or horizon to choose it by Theorem 1.")
            check_flag("streaks", streaks)
            arms = check_whole("n_arms", n_arms, 1, PolicyError)
            rounds = check_whole("horizon", horizon, 2, PolicyError)
            length = least_regret_size(arms, rounds, streaks)
        self.horizon = horizon
        # The only pull of a block of one round would be a first one.
        size = check_whole("length", length, 2, PolicyError)
        check_flag("streaks", streaks)
        table = (size - 2, size - 1 if streaks else 1)
        super().__init__(n_arms, size, alpha, streaks, initial, rewards, solver, table)

    def next_block(self, track: Track, allowed: Mask | None, bounds: FloatArray) -> Sequence[int]:
        """Return the block with the largest calibrated reward."""
        choices = self.n_arms if allowed is None else sum(allowed)
        first = np.zeros((self.n_arms, self.length))
        return self._solve(bounds, first, allowed, distinct_start=self.streaks and choices > 1)

    def learn(self, pull: Pull, reward: float, note: int) -> None:
        """Learn from a pull of the block, unless it was its arm's first or of an older streak."""
        tau = pull.tau
        # ``note`` slots of the block were over: an earlier pull lies within it iff the delay does.
        within = tau < note if tau > 0 else note > 0 and (not self.streaks or -tau <= note)
        if within:
            self.estimates.add(pull.arm, tau, reward)


class CombUCB1(BlockUCB):
    """CombUCB1 run naively on an LSD bandit, the paper's baseline (Section 4).

    Plans each block of ``block`` = d rounds from the running state and learns from every pull. It
    keeps the delays 1..d; a pull at a longer delay is counted as delay d, as the paper assumes,
    and this is what blinds it to a spike at d.

    Parameters
    ----------
    n_arms
        Number of arms.
    length
        Rounds per block, the paper's d.
    alpha, streaks, initial, rewards, solver
        As in :class:`ISICombUCB1`; with ``streaks``, streaks up to d are told apart.

    Examples
    --------
    >>> policy = CombUCB1(n_arms=2, length=2)
    >>> for _ in range(120):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 1.0 if (pull.arm, pull.tau) == (0, 1) else 0.0)
    >>> [policy.ask().arm for _ in range(4)]  # what pays: arm 0 after one round of rest
    [1, 0, 1, 0]
    """

    def __init__(
        self,
        n_arms: int,
        length: int,
        alpha: float = 1.5,
        streaks: bool = False,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        solver: str = "certified",
    ) -> None:
        size = check_whole("length", length, 1, PolicyError)
        check_flag("streaks", streaks)
        table = (size - 1, size if streaks else 1)
        super().__init__(n_arms, size, alpha, streaks, initial, rewards, solver, table)

    def next_block(self, track: Track, allowed: Mask | None, bounds: FloatArray) -> Sequence[int]:
        """Return the best block from where the subject stands."""
        return self._from_state(track.state(), allowed, bounds)

    def learn(self, pull: Pull, reward: float, note: int) -> None:
        """Learn from every pull; states beyond the table count as its last one."""
        self.estimates.add(pull.arm, pull.tau, reward)


class CalibratedCombUCB1(BlockUCB):
    """CombUCB1 after a calibration sequence: Laforgue et al. (2022), Eq. (7) and Appendix C.

    Plays ``order`` (every arm once), then the block of ``length`` = d rounds that is best from the
    state ``order`` leaves, and learns from the latter. A turn takes K + d rounds. On the paper's
    five arms its CS-worst is the order 0, 1, 2, 3, 4 and CS-best the reverse; the authors' code
    numbers the arms differently and so plays 2, 0, 1, 3, 4 and 4, 3, 1, 0, 2, which alone explains
    why its CS-worst was measured at 679 ± 6 where the printed order collects 628 ± 7.

    Parameters
    ----------
    n_arms
        Number of arms.
    length
        Rounds per block after the calibration, the paper's d.
    alpha
        Exploration.
    streaks
        Whether streak lengths are told apart.
    order
        The calibration sequence: every arm once. By default 0, 1, ..., K − 1.
    initial, rewards, solver
        As in :class:`ISICombUCB1`.

    Examples
    --------
    >>> policy = CalibratedCombUCB1(n_arms=3, length=2, order=[2, 1, 0])
    >>> for _ in range(300):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 1.0 if (pull.arm, pull.tau) == (0, 1) else 0.0)
    >>> [policy.ask().arm for _ in range(5)]  # after the order, arm 0 rests for a round and pays
    [2, 1, 0, 1, 0]
    """

    def __init__(
        self,
        n_arms: int,
        length: int,
        alpha: float = 1.5,
        streaks: bool = False,
        *,
        order: Sequence[int] | None = None,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        solver: str = "certified",
    ) -> None:
        size = check_whole("length", length, 1, PolicyError)
        n_arms = check_whole("n_arms", n_arms, 1, PolicyError)
        # After the order an arm has waited at most K − 1 rounds, and d − 1 more within the block.
        check_flag("streaks", streaks)
        table = (n_arms + size - 2, size if streaks else 1)
        super().__init__(n_arms, size, alpha, streaks, initial, rewards, solver, table)
        given = list(range(n_arms)) if order is None else check_list("order", order, "the arms")
        if len(given) != n_arms or not all(arm in given for arm in range(n_arms)):
            raise PolicyError(f"order must name each of the {n_arms} arms once, got {given}.")
        self.order = [int(arm) for arm in given]

    def next_block(self, track: Track, allowed: Mask | None, bounds: FloatArray) -> Sequence[int]:
        """Return the calibration sequence and the best block from where it leads."""
        from lastswitch.model.states import state_after

        order = [arm for arm in self.order if allowed is None or allowed[arm]]
        left = state_after(np.array(track.state()), order)
        return (*order, *self._from_state(left, allowed, bounds))

    def learn(self, pull: Pull, reward: float, note: int) -> None:
        """Learn from the block, not from the calibration."""
        if note >= 0:
            self.estimates.add(pull.arm, pull.tau, reward)


class DoublePlayCombUCB1(BlockUCB):
    """CombUCB1 that plays every block twice: Laforgue et al. (2022), Eq. (6).

    The first play brings the arms into the state the block itself leaves, so the second pays what
    the block pays as a cycle, r(B | τ_B); only the second is learned from. Every block maximises
    that cycle reward under the bounds. The paper describes the idea, and dismisses it as costly;
    the planning is a cycle's, the hardest of the four.

    Parameters
    ----------
    n_arms
        Number of arms.
    length
        Rounds per block, the paper's d. Each is played twice.
    alpha, streaks, initial, rewards
        As in :class:`ISICombUCB1`.

    Examples
    --------
    >>> policy = DoublePlayCombUCB1(n_arms=2, length=2)
    >>> for _ in range(240):
    ...     pull = policy.ask()
    ...     policy.tell(pull.id, 1.0 if (pull.arm, pull.tau) == (0, 1) else 0.0)
    >>> [policy.ask().arm for _ in range(4)]  # the best cycle, twice
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        n_arms: int,
        length: int,
        alpha: float = 1.5,
        streaks: bool = False,
        *,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
    ) -> None:
        size = check_whole("length", length, 1, PolicyError)
        # An arm pulled once per turn has waited d − 1 rounds. A streak ends within the turn unless
        # one arm fills it; that endless streak has the last column.
        check_flag("streaks", streaks)
        table = (size - 1, size if streaks else 1)
        super().__init__(n_arms, size, alpha, streaks, initial, rewards, "certified", table)

    def next_block(self, track: Track, allowed: Mask | None, bounds: FloatArray) -> Sequence[int]:
        """Return the best cycle, twice."""
        from lastswitch.model.bandit import Bandit
        from lastswitch.model.curves import Curve
        from lastswitch.planning.cycles import plan_cycle

        arms = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        # Every block holds as many pays, so moving and scaling all of them into [0, 1] changes no
        # comparison.
        rest, streak = self._tables(_into_unit(bounds[arms]))
        if not self.length > 1:  # no rest within a cycle of one round
            rest = streak
        curves = [Curve(up, down, monotone=False) for up, down in zip(rest, streak, strict=True)]
        cycle = [arms[arm] for arm in plan_cycle(Bandit(curves), self.length).block]
        return (*cycle, *cycle)

    def learn(self, pull: Pull, reward: float, note: int) -> None:
        """Learn from the second play."""
        if note >= 0:
            self.estimates.add(pull.arm, pull.tau, reward)


def _into_unit(bounds: FloatArray) -> FloatArray:
    """Return ``bounds`` moved and scaled into [0, 1], their differences in proportion."""
    low, high = float(bounds.min()), float(bounds.max())
    scaled: FloatArray = (bounds - low) / max(high - low, 1.0)
    return scaled
