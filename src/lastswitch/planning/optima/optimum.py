"""The answer to what a bandit can pay at best: a schedule, what it pays, and a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lastswitch.planning.certificate import Certificate
from lastswitch.planning.optima.fractions import LARGEST_DENOMINATOR

FORMAT = "lastswitch-optimum-2"


@dataclass(frozen=True)
class Optimum(Certificate):
    """The best a bandit can pay, with the schedule that pays it.

    Parameters
    ----------
    value
        What the schedule pays: per round for an average, in all for a total.
    bound
        No policy can do better; ``bound >= best possible >= value``.
    fraction
        ``value`` as an exact fraction. Pays are read as the simplest fraction with a denominator
        up to a million that rounds to the given number (0.95 is 19/20), and as the binary number
        itself if there is none.
    block
        The arms to play: for an average, to repeat for ever; for a total, one per round. Empty if
        some round plays none or several: see ``rounds``.
    horizon
        For a total: the number of rounds. None for an average.
    states
        Joint states that were listed or followed; 0 if there was no need, or they were too many.
    seconds
        Time taken.
    rounds
        The arms of each round, () for silence; by default those of ``block``.

    Examples
    --------
    >>> best = Optimum(value=0.5, bound=0.6, fraction=Fraction(1, 2), block=(0, 1))
    >>> print(best)
    best average found: 0.5 = 1/2 (nothing can exceed 0.6)
    """

    value: float
    bound: float
    fraction: Fraction
    block: tuple[int, ...] = ()
    horizon: int | None = None
    states: int = 0
    seconds: float = 0.0
    rounds: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        self._certify()
        if not self.rounds:
            object.__setattr__(self, "rounds", tuple(zip(self.block, strict=True)))
        elif all(len(arms) == 1 for arms in self.rounds):
            object.__setattr__(self, "block", tuple(arms[0] for arms in self.rounds))

    @property
    def repeats(self) -> bool:
        """Whether the block is a cycle, to be repeated for ever: that of an average is."""
        return self.horizon is None

    def to_dict(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; arms by name if ``names`` are given.

        Examples
        --------
        >>> best = Optimum(0.5, 0.5, Fraction(1, 2), block=(0, 1))
        >>> best.to_dict(["jazz", "talk"])["block"]
        ['jazz', 'talk']
        """
        return {
            "format": FORMAT,
            "value": self.value,
            "fraction": str(self.fraction),
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "horizon": self.horizon,
            "block": [arm if names is None else names[arm] for arm in self.block],
            "rounds": [
                [arm if names is None else names[arm] for arm in arms] for arms in self.rounds
            ],
            "repeats": self.repeats,
            "states": self.states,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        what = "average" if self.horizon is None else f"total over {self.horizon} rounds"
        shown = f"{self.value:.6g}"
        if self.fraction.denominator <= LARGEST_DENOMINATOR and self.fraction.denominator > 1:
            shown += f" = {self.fraction}"
        if self.optimal:
            return f"best {what}: {shown} (proven optimal)"
        return f"best {what} found: {shown} (nothing can exceed {self.bound:.6g})"
