"""The answer to a planning problem: a block, and how far from the best possible it can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.ascii import printable
from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_flag, check_list, shown
from lastswitch._utils.codec import rebuilding, stamp, to_text, typed, unstamp
from lastswitch.errors import FileError, InputTypeError, PlanError
from lastswitch.model.states import as_array
from lastswitch.planning.certificate import Certificate, rounding
from lastswitch.planning.problem import BlockProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.calendars import Schedule
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.planning.explain import Explanation
    from lastswitch.planning.ruled_problem import RuledProblem

VERSION = 2
#: So many arms are given names of their own where a plan has none.
MOST_NAMED = 1_000_000

#: What a solver calls now and then with (seconds so far, best value, bound).
Tell = Callable[[float, float, float], None]


class Solution(NamedTuple):
    """What a solver hands back: a block, a bound on the best value, and prices to start from.

    Where rounds may play several arms, or none, the block has the arms of every round. It is empty
    if none was found; a bound of minus infinity then proves that there is none. ``interrupted``
    tells a caller that plans on whether Ctrl-C ended the search, and ``loading`` for how many
    seconds kernels were compiled or loaded, which no time limit counts.
    """

    block: IntArray | Sequence[int] | Sequence[Sequence[int]]
    bound: float
    prices: FloatArray | None = None
    interrupted: bool = False
    loading: float = 0.0

    @property
    def rounds(self) -> tuple[tuple[int, ...], ...] | None:
        """The arms of every round, whatever the form of the block; None if none was found."""
        if len(self.block) == 0:
            return None
        if isinstance(self.block[0], tuple):
            return tuple(self.block)
        return tuple((int(arm),) for arm in self.block)  # type: ignore[arg-type]

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no block."""
        return len(self.block) == 0 and self.bound == -math.inf


@dataclass(frozen=True, eq=False)
class Plan(Certificate):
    """A block to play and its certificate: ``bound`` >= the best possible >= ``value``.

    Parameters
    ----------
    block
        Arms in playing order, one a round; empty if some round plays none or several: see
        ``rounds``.
    value
        What the block is worth in all; for a cycle, one turn of it.
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
    repeats
        Whether the block is a cycle, meant to be repeated for ever.
    prices
        Price of each slot at the best bound, a start for the next plan (``warm=plan``).
    rounds
        The arms of each round, () for silence; by default those of ``block``.

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
    problem: BlockProblem | RuledProblem | None = field(default=None, repr=False)
    repeats: bool = False
    prices: FloatArray | None = field(default=None, repr=False)
    rounds: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.rounds:
            object.__setattr__(self, "rounds", tuple(map(_round, self.rounds)))
            single = all(len(arms) == 1 for arms in self.rounds)
            block = tuple(arms[0] for arms in self.rounds) if single else ()
            object.__setattr__(self, "block", block)
        else:
            object.__setattr__(self, "block", _arms(self.block))
            object.__setattr__(self, "rounds", tuple(zip(self.block, strict=True)))
        object.__setattr__(self, "prices", _prices(self.prices))
        check_flag("repeats", self.repeats)
        if not (self.problem is None or hasattr(self.problem, "pulls")):
            raise InputTypeError(
                f"problem must be a BlockProblem, got {type(self.problem).__name__}."
            )
        self._certify()
        if self.problem is None:
            n_arms = 1 + max((arm for arms in self.rounds for arm in arms), default=0)
        else:
            n_arms = self.problem.n_arms
        names = check_list("names", self.names, "one string per arm")
        if not names and n_arms > MOST_NAMED:
            raise PlanError(
                f"the plan plays arm {n_arms - 1}, and arms are numbered from 0; give names= or a "
                f"problem with so many arms if there really are more than {MOST_NAMED:,}."
            )
        if not all(isinstance(name, str) for name in names):
            raise InputTypeError(f"names must be strings, got {shown(names)}.")
        names = names or [f"arm {i}" for i in range(n_arms)]
        object.__setattr__(self, "names", tuple(names))
        if len(self.names) < n_arms:
            raise PlanError(
                f"names has {len(self.names)} entries for {n_arms} arms; name them all."
            )

    @property
    def scale(self) -> float:
        """The pays of the block summed up, each by its size."""
        if self.problem is None:
            return 0.0
        if isinstance(self.problem, BlockProblem):
            return self.problem.size(self.block)
        return self.problem.size(self.rounds)

    @property
    def per_round(self) -> float:
        """What the block is worth per round."""
        return self.value / len(self.rounds)

    def __str__(self) -> str:
        from lastswitch.planning.reading import calendar

        return printable(calendar(self))

    def calendar(self, calendar: Calendar, length: int | None = None) -> Schedule:
        """Return the plan's plays at the times of ``calendar``: to print, to draw, to write.

        Parameters
        ----------
        calendar
            When the rounds are.
        length
            How many rounds: the plan's own, or, for a cycle, as many as wanted.

        Examples
        --------
        >>> from lastswitch.calendars.calendar import Calendar
        >>> plan = Plan((0, 1), 1.0, 1.0, names=("jazz", "talk"), repeats=True)
        >>> june = plan.calendar(Calendar("2024-06-03", skip="sat-sun"), length=20)
        >>> june.plays[-1].name, june.plays[-1].day.isoformat()
        ('talk', '2024-06-28')
        """
        from lastswitch.calendars import Schedule

        return Schedule(self, calendar, length)

    def explain(self, time_limit: float | None = None) -> Explanation:
        """Say of every rule whether it binds, where, and what it costs.

        Parameters
        ----------
        time_limit
            Seconds to spend on each rule; costs that are not proven by then are intervals.

        Examples
        --------
        >>> import lastswitch as ls
        >>> from lastswitch import rules as r
        >>> bandit = ls.Bandit([ls.curves.constant(0.5), ls.curves.constant(0.25)])
        >>> print(ls.plan_block(bandit, 4, rules=[r.at_most(0, 2), r.at_most(1, 3)]).explain())
        4 rounds, worth 1.5 (0.375 per round), proven optimal
        arm 0: at most 2 plays
          costs 0.5; without it rounds 2, 3 would break it
        arm 1: at most 3 plays
          costs nothing
        """
        from lastswitch.planning.explain import explain

        return explain(self, time_limit)

    def plot(self, ax: Axes | None = None, *, calendar: Calendar | None = None) -> Axes:
        """Draw the schedule: who plays when, over what every arm's state would pay.

        With a ``calendar``, draw its days coloured by arm. Into ``ax``, or a new figure
        (``plan.plot().figure``); the axes are returned.
        """
        from lastswitch.planning.reading import draw

        return draw(self, ax) if calendar is None else self.calendar(calendar).plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON.

        Examples
        --------
        >>> Plan.from_dict(Plan((0, 1), 1.0, 1.0).to_dict()).block
        (0, 1)
        """
        content = {
            "block": list(self.block),
            "rounds": None if self.block else [list(arms) for arms in self.rounds],
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "per_round": self.per_round,
            "solver": self.solver,
            "seconds": self.seconds,
            "names": list(self.names),
            "repeats": self.repeats,
            "prices": None if self.prices is None else self.prices.tolist(),
            "problem": None if self.problem is None else self.problem.to_dict(),
        }
        return stamp("plan", VERSION, content)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the plan, with its problem and its certificate, to a JSON file.

        :func:`lastswitch.load_plan` reads it again.
        """
        return write_atomic(path, to_text(self.to_dict()))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that :meth:`to_dict` wrote down, its block evaluated again."""
        data = unstamp(data, "plan", VERSION, "this plan")
        with rebuilding("this plan"):
            prices, problem = data["prices"], data["problem"]
            plan = cls(
                block=tuple(data["block"]),
                rounds=tuple(tuple(arms) for arms in data["rounds"] or ()),
                value=data["value"],
                bound=data["bound"],
                solver=typed(str, data["solver"], "'solver'"),
                seconds=typed(float, data["seconds"], "'seconds'"),
                names=tuple(data["names"]),
                problem=None if problem is None else _problem(problem),
                repeats=data["repeats"],
                prices=None if prices is None else np.asarray(prices, dtype=np.float64),
            )
            plan._evaluate_again()
        return plan

    def _evaluate_again(self) -> None:
        """Refuse a value that is not the block's, or a bound that nothing supports."""
        if self.problem is None:
            return
        value = _worth(self.problem, self)
        if not abs(value - self.value) <= rounding(value, self.value, self.scale):
            raise FileError(
                f"the plan says that its block is worth {self.value}, and it is worth {value}; "
                "the file was changed: plan again."
            )
        if not np.isfinite(self.bound):
            raise FileError(f"the plan's bound must be finite, got {self.bound}; plan again.")


def _problem(data: dict[str, Any]) -> BlockProblem | RuledProblem:
    """Return the problem of a plan, with rules or without."""
    if "rules" not in data:
        return BlockProblem.from_dict(data)
    from lastswitch.planning.ruled_problem import RuledProblem

    return RuledProblem.from_dict(data)


def _worth(problem: BlockProblem | RuledProblem, plan: Plan) -> float:
    if isinstance(problem, BlockProblem):
        return problem.value(plan.block)
    return problem.value(plan.rounds)


def _round(arms: Sequence[int]) -> tuple[int, ...]:
    """Return the arms of one round."""
    if not all(isinstance(arm, int | np.integer) and arm >= 0 for arm in arms):
        raise PlanError(f"a round lists arms by number, 0 or more; got {arms!r}.")
    return tuple(int(arm) for arm in arms)


def _prices(prices: FloatArray | None) -> FloatArray | None:
    """Return the prices as an array of floats; whether they are of use is seen when they are."""
    if prices is None:
        return None
    given = as_array(prices)
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise InputTypeError(
            f"prices must be numbers, one per slot or more; got shape {given.shape} of "
            f"{given.dtype}."
        )
    return given.astype(np.float64, copy=False)


def _arms(block: Sequence[int] | IntArray) -> tuple[int, ...]:
    """Return the arms of a block, whose number is not known here."""
    if isinstance(block, tuple) and block and all(type(arm) is int and arm >= 0 for arm in block):
        return block  # as solvers write it
    arms = as_array(block)
    if arms.size == 0:
        raise PlanError("block is empty: a plan needs at least one slot.")
    if arms.ndim != 1 or not np.issubdtype(arms.dtype, np.integer) or arms.min() < 0:
        raise PlanError(f"block must list arms by number, 0 or more; got {block!r}.")
    return tuple(arms.tolist())
