"""The answer to a planning problem: a block, and how far from the best possible it can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lastswitch._checks import check_list, is_number
from lastswitch.errors import FileError, InputTypeError, LastSwitchError, PlanError
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.problem import BlockProblem
from lastswitch.states import as_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Relative size below which a difference between two sums of pays is rounding.
TOLERANCE = 1e-9
FORMAT = "lastswitch-plan-1"

#: Called now and then during a long plan with (seconds so far, best value, bound).
Progress = Callable[[float, float, float], None]


class Solution(NamedTuple):
    """What a solver hands back: a block, a bound on the best value, and prices to start from.

    ``interrupted`` tells a caller that plans on whether Ctrl-C ended the search.
    """

    block: IntArray | Sequence[int]
    bound: float
    prices: FloatArray | None = None
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Plan:
    """A block to play and its certificate: ``bound`` >= the best possible >= ``value``.

    Parameters
    ----------
    block
        Arms in playing order.
    value
        What the block is worth.
    bound
        No block is worth more.
    solver
        Which solver found it.
    seconds
        How long that took.
    names
        One name per arm.
    problem
        What was planned; lets the plan explain itself. For a cycle, the problem of one turn
        that starts in the state the cycle itself leaves.
    cycle
        Whether the block is meant to be repeated for ever.
    prices
        Price of each slot at the best bound, a start for the next plan (``warm=plan``).

    Examples
    --------
    >>> plan = Plan(block=(0, 1, 0), value=1.0, bound=1.25)
    >>> plan.gap, plan.optimal
    (0.25, False)
    """

    block: tuple[int, ...]
    value: float
    bound: float
    solver: str = "given"
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    problem: BlockProblem | None = field(default=None, repr=False)
    cycle: bool = False
    prices: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", _arms(self.block))
        for name in ("value", "bound"):
            number = getattr(self, name)
            if not is_number(number):
                raise PlanError(f"{name} must be a number, got {number!r}.")
            object.__setattr__(self, name, float(number))
        if not (self.problem is None or isinstance(self.problem, BlockProblem)):
            raise InputTypeError(
                f"problem must be a BlockProblem, got {type(self.problem).__name__}."
            )
        # Written so that a NaN on either side is refused too.
        if not self.value <= self.bound + rounding(self.value, self.bound):
            raise PlanError(
                f"value {self.value} is not within bound {self.bound}: the certificate is "
                "broken; please report the problem that gave it."
            )
        n_arms = max(self.block) + 1 if self.problem is None else self.problem.n_arms
        names = check_list("names", self.names, "one string per arm")
        names = names or [f"arm {i}" for i in range(n_arms)]
        object.__setattr__(self, "names", tuple(names))
        if len(self.names) < n_arms:
            raise PlanError(
                f"names has {len(self.names)} entries for {n_arms} arms; name them all."
            )

    @property
    def gap(self) -> float:
        """How far below the best possible the value can be, relative to the value."""
        return max(self.bound - self.value, 0.0) / max(abs(self.value), 1e-300)

    @property
    def optimal(self) -> bool:
        """Whether the block is proven to be the best possible, up to rounding."""
        return self.bound <= self.value + rounding(self.value, self.bound)

    def __str__(self) -> str:
        from lastswitch.planning.reading import calendar

        return calendar(self)

    def plot(self) -> Figure:
        """Draw the schedule: who plays when, over what every arm's state would pay."""
        from lastswitch.planning.reading import draw

        return draw(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON.

        Examples
        --------
        >>> Plan.from_dict(Plan((0, 1), 1.0, 1.0).to_dict()).block
        (0, 1)
        """
        return {
            "format": FORMAT,
            "block": list(self.block),
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "solver": self.solver,
            "seconds": self.seconds,
            "names": list(self.names),
            "cycle": self.cycle,
            "prices": None if self.prices is None else self.prices.tolist(),
            "problem": None if self.problem is None else self.problem.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that :meth:`to_dict` wrote down, its certificate checked again."""
        if not isinstance(data, Mapping):
            raise FileError(
                f"a plan is a table as to_dict() makes it, got {type(data).__name__}; "
                "save one with save_plan."
            )
        if data.get("format") != FORMAT:
            raise FileError(
                f"this release reads plans of format {FORMAT!r}, got {data.get('format')!r}; "
                "plan again, or use the release that wrote it."
            )
        try:
            prices, problem = data["prices"], data["problem"]
            return cls(
                block=tuple(data["block"]),
                value=data["value"],
                bound=data["bound"],
                solver=data["solver"],
                seconds=data["seconds"],
                names=tuple(data["names"]),
                problem=None if problem is None else BlockProblem.from_dict(problem),
                cycle=data["cycle"],
                prices=None if prices is None else np.asarray(prices, dtype=np.float64),
            )
        except KeyError as error:
            raise FileError(
                f"the plan lacks its entry {error}; write it with to_dict()."
            ) from error
        except LastSwitchError:
            raise
        except (TypeError, ValueError) as error:
            raise FileError(
                f"the plan cannot be read: {error}; write it with to_dict()."
            ) from error


def _arms(block: Sequence[int] | IntArray) -> tuple[int, ...]:
    """Return the arms of a block, whose number is not known here."""
    arms = as_array(block)
    if arms.size == 0:
        raise PlanError("block is empty: a plan needs at least one slot.")
    if arms.ndim != 1 or not np.issubdtype(arms.dtype, np.integer) or arms.min() < 0:
        raise PlanError(f"block must list arms by number, 0 or more; got {block!r}.")
    return tuple(arms.tolist())


def rounding(*values: float) -> float:
    """Return how much two sums of the given sizes may differ by rounding alone.

    Examples
    --------
    >>> rounding(0.5, -2.0)
    2e-09
    """
    return TOLERANCE * max(1.0, *(abs(value) for value in values))
