"""Table 1 measured: what repeating a block loses, by the shape of the curves.

Laforgue et al. (2022), Table 1, bounds what a block can lose when it is cut out of a schedule and
repeated, compared with what it paid where it was cut. Here that loss is measured on many random
bandits of each cell and on one bandit made to be bad; the larger of the two is set beside the
bound. In the two last cells the bound is the block itself: a block can lose everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from lastswitch._utils.random import stream
from lastswitch.experiments.runner import Result
from lastswitch.model.bandit import Bandit
from lastswitch.model.blocks import block_reward, cycle_reward, repaired_block
from lastswitch.model.curves import Curve, SideKind, spike
from lastswitch.model.instances import example_2
from lastswitch.model.states import state_after
from lastswitch.paper.theory import block_error

#: Arms of every bandit measured.
N_ARMS = 2
#: Random blocks measured per cell.
SAMPLES = 600
#: A bandit, what was played before, and the block that is cut out and repeated.
Case: TypeAlias = tuple[Bandit, Sequence[int], Sequence[int]]

RESTS: tuple[SideKind, ...] = ("nondecreasing", "arbitrary")
STREAKS: tuple[SideKind, ...] = ("constant", "nondecreasing", "arbitrary")


class Cell(NamedTuple):
    """One cell: the shapes, the printed bound as text and number, and what was measured.

    Attributes
    ----------
    length
        Length of the block that lost most; the bound is for this length.
    searched
        The largest loss among random blocks.
    made
        The loss of the bandit made to be bad.

    Examples
    --------
    >>> Cell("arbitrary", "constant", "K", 2, 2.0, searched=1.5, made=2.0).measured
    2.0
    """

    rest: SideKind
    streak: SideKind
    printed: str
    length: int
    bound: float
    searched: float
    made: float

    @property
    def measured(self) -> float:
        """The largest loss seen."""
        return max(self.searched, self.made)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: a block never loses more than itself."""
        return self.streak == "arbitrary"


def measure_cell(rest: SideKind, streak: SideKind, samples: int = SAMPLES, seed: int = 0) -> Result:
    """Return the :class:`Cell` of these shapes, as a dictionary.

    Examples
    --------
    >>> cell = Cell(**measure_cell("nondecreasing", "constant", samples=100))
    >>> cell.bound, cell.made, cell.searched <= cell.bound
    (1.0, 1.0, True)
    """
    rng = stream(seed, "table 1", rest, streak)
    made = _made_case(rest, streak)
    size = len(made[2])
    cases = (case for _ in range(samples // 4) for case in _random_cases(rest, streak, size, rng))
    return Cell(
        rest,
        streak,
        _PRINTED[rest, streak],
        length=size,
        bound=float(block_error(N_ARMS, size, rest=rest, streak=streak)),
        searched=max(loss(case) for case in cases),
        made=loss(made),
    )._asdict()


def loss(case: Case) -> float:
    """Return what a block paid where it was cut, minus what one turn of it pays when repeated.

    Where streaks wear out, what is repeated is the B' of Lemma 2 in place of B.

    Examples
    --------
    >>> loss((example_2(3), [0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1]))
    2.0
    """
    bandit, played, block = case
    constant = all(curve.kind.streak == "constant" for curve in bandit.curves)
    repeated = block if constant else repaired_block(block, bandit.n_arms)
    there = state_after(bandit.start(), played)
    return block_reward(bandit, block, there) - cycle_reward(bandit, repeated)


_PRINTED = {
    ("nondecreasing", "constant"): "K − 1",
    ("nondecreasing", "nondecreasing"): "K + 1",
    ("nondecreasing", "arbitrary"): "d",
    ("arbitrary", "constant"): "K",
    ("arbitrary", "nondecreasing"): "K + 2",
    ("arbitrary", "arbitrary"): "d",
}


def _made_case(rest: SideKind, streak: SideKind) -> Case:
    """Return a case made to lose as much as its cell allows (or as we know how)."""
    if streak == "arbitrary":
        # Pays only deep in a streak: eight rounds out of a long one are worth eight, repeated
        # from anywhere else nothing, since B' breaks the streak.
        rests = [0.0] if rest == "nondecreasing" else [0.0] * 49 + [1.0, 0.0]
        late = Curve(rests, [0.0] * 9 + [1.0], monotone=False)
        return Bandit([late] * N_ARMS), [0] * 10, [0] * 8
    if rest == "nondecreasing" and streak == "constant":
        return example_2(N_ARMS), [0, 1] * 3, [0, 1, 0]  # Example 2
    if rest == "nondecreasing":
        slow, keen = Curve([0, 0, 0, 1], [0]), Curve([1], [1, 1, 1, 1, 1, 1, 0])
        return Bandit([slow, keen]), [0], [1, 1, 1, 1, 0, 0, 0, 0, 1]
    if streak == "constant":
        return Bandit([spike(20, 1.0), Curve([0], [1])]), [0] + [1] * 19, [1, 0]
    first = Curve([0, 0, 0, 0, 1], [1, 1, 1, 1, 0])
    second = Curve([0, 1], [1, 1, 1, 1, 0])
    return Bandit([first, second]), [1, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1]


def _random_cases(
    rest: SideKind, streak: SideKind, longest: int, rng: np.random.Generator
) -> Iterator[Case]:
    """Draw a bandit of the cell and a few pasts and blocks to try on it."""
    bandit = Bandit([_random_curve(rest, streak, rng) for _ in range(N_ARMS)])
    for _ in range(4):
        yield bandit, _random_block(rng, 12), _random_block(rng, longest)


def _random_curve(rest: SideKind, streak: SideKind, rng: np.random.Generator) -> Curve:
    """Draw a curve of zeros and ones: losses are largest at the corners."""
    rests = rng.integers(0, 2, rng.integers(1, 7)).astype(float)
    streaks = rng.integers(0, 2, 1 if streak == "constant" else rng.integers(2, 12)).astype(float)
    if streak != "arbitrary":
        streaks = np.sort(streaks)[::-1]
    if rest == "nondecreasing":
        rests = np.sort(rests)
        # The row's works assume that resting never pays less than repeating.
        streaks = np.minimum(streaks, rests[0])
    return Curve(rests, streaks, monotone=streak != "arbitrary")


def _random_block(rng: np.random.Generator, longest: int) -> list[int]:
    """Draw a block of a few runs: single random pulls seldom make streaks."""
    arms = rng.integers(N_ARMS, size=4)
    return np.repeat(arms, rng.integers(1, 6, size=4))[:longest].tolist()  # type: ignore[no-any-return]
