"""A plan for every subject of a cohort: what it is worth, what it uses, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_choice
from lastswitch._utils.extras import load_extra
from lastswitch.errors import CohortError, PlanError
from lastswitch.planning.certificate import Certificate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lastswitch._utils.arrays import FloatArray, IntArray
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.cohorts.budgets import Budget
    from lastswitch.cohorts.problem import CohortProblem
    from lastswitch.cohorts.rows import Tally

Library = Literal["pandas", "polars", "arrow"]


class BudgetUse(NamedTuple):
    """One limit of a budget: in which round (None: in all), how much of it is used, its price.

    ``price`` is what one more play would be worth, in value of the whole cohort.
    """

    budget: Budget
    round: int | None
    most: int
    used: int
    price: float


@dataclass(frozen=True, eq=False, repr=False)
class CohortPlan(Certificate):
    """The next rounds of every subject, made by :func:`lastswitch.plan_cohort`.

    Printing it says what it is worth, how good that is, and what the budgets cost.

    Parameters
    ----------
    problem
        Curves, rules, length and budgets.
    value, bound
        What all plans together are worth, each times its subject's weight, and what no plans
        within the rules and budgets can exceed.
    tally
        Plays of every arm by round, and what other ways to play would be worth.
    prices, use
        By limit of the budgets, in the order of :attr:`budgets`.
    calendar
        When the rounds are; None: they are numbered.
    path
        The file or folder that was written; None: the plays are held here.
    habit
        What a play paid on average before.
    notices
        What was left out on the way, that its owner should know.
    seconds
        How long it took.

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pandas as pd
    >>> radio = ls.Bandit(
    ...     [ls.curves.step(2, 0.9), ls.curves.constant(0.3)], names=["jazz", "talk"]
    ... )
    >>> states = pd.DataFrame({"subject": ["ann", "bob"], "jazz": [5, -1], "talk": [1, 1]})
    >>> plan = ls.plan_cohort(radio, states, 3)
    >>> print(plan)
    2 subjects, 3 rounds: worth 3 (1.5 each), proven optimal
    round-robin would give 0.75 each, always talk 0.9 each
    >>> plan.to_frame()[["subject", "round", "arm"]].values.tolist()[:3]
    [['ann', 0, 'jazz'], ['ann', 1, 'talk'], ['ann', 2, 'talk']]
    """

    problem: CohortProblem
    value: float
    bound: float
    tally: Tally
    prices: FloatArray
    use: IntArray
    calendar: Calendar | None = None
    path: Path | None = None
    habit: float | None = None
    notices: tuple[str, ...] = ()
    seconds: float = 0.0
    _held: Any = field(default=None)

    def __post_init__(self) -> None:
        self._certify()

    @property
    def subjects(self) -> int:
        """How many subjects are planned."""
        return self.tally.subjects

    @property
    def per_subject(self) -> float:
        """What a subject's plan is worth on average (by weight, if there are weights)."""
        return self.value / self.tally.weight if self.tally.weight else 0.0

    @property
    def plays(self) -> IntArray:
        """How many subjects play each arm in each round: (length, arms)."""
        return self.tally.plays

    @property
    def budgets(self) -> tuple[BudgetUse, ...]:
        """Every limit: how much of it is used, and what one more play would be worth."""
        rows = self.problem.rows
        return tuple(
            BudgetUse(
                self.problem.budgets[int(rows.budget[r])],
                int(rows.round[r]) if rows.round[r] >= 0 else None,
                int(rows.most[r]),
                int(self.use[r]),
                float(self.prices[r]),
            )
            for r in range(len(rows))
        )

    @property
    def others(self) -> dict[str, float]:
        """What other ways to play would be worth, without keeping rules and budgets.

        ``round-robin`` plays the arms in turn, ``always X`` nothing but the one best arm (or the
        best few, if a round plays several), and ``the log's habit`` as many plays as the plan at
        what a play paid before.
        """
        names, most = self.problem.bandit.names, self.problem.plays[1]
        best = sorted(range(len(names)), key=lambda arm: (-self.tally.alone[arm], arm))[:most]
        always = f"always {' + '.join(names[arm] for arm in sorted(best))}"
        found = {
            "round-robin": self.tally.in_turn,
            always: float(sum(self.tally.alone[arm] for arm in best)),
        }
        if self.habit is not None:
            found["the log's habit"] = self.habit * self.tally.played
        return found

    def __str__(self) -> str:
        return "\n".join([self.headline(), self._others_words(), *self._budget_words()])

    def __repr__(self) -> str:
        return f"CohortPlan({self.headline()})"

    def headline(self) -> str:
        """Return what it is worth and how good that is, in one line."""
        quality = "proven optimal"
        if not self.optimal:
            quality = f"within {100 * self.gap:.2g} % of the best possible"
        return (
            f"{self.subjects:,} subjects, {self.problem.length} rounds: worth {self.value:,.6g} "
            f"({self.per_subject:.4g} each), {quality}"
        )

    def _others_words(self) -> str:
        weight = self.tally.weight or 1.0
        first, *rest = (f"{name} {value / weight:.4g} each" for name, value in self.others.items())
        told = ", ".join([first.replace(" ", " would give ", 1), *rest])
        free = " (rules and budgets not kept)" if self.problem.rules or self.problem.budgets else ""
        return f"{told}{free}"

    def _budget_words(self) -> list[str]:
        """Return one line per budget."""
        lines = []
        for budget in self.problem.budgets:
            rows = [row for row in self.budgets if row.budget is budget]
            used, most = sum(row.used for row in rows), sum(row.most for row in rows)
            prices = sorted(row.price for row in rows)
            worth = f"{prices[0]:.3g}" if prices else "0"
            if prices and prices[-1] > prices[0]:
                worth += f" to {prices[-1]:.3g}"
            lines.append(f"{budget}: {used:,} of {most:,} used; one more is worth {worth}")
        return lines

    def to_arrow(self) -> Any:
        """Return the plays as a long Arrow table: subject, round, date, arm, pay, value, bound.

        A round without any play has one row, whose arm is null. A written plan is read back.
        """
        if self._held is not None:
            return self._held
        if self.path is None or (self.path.suffix not in (".parquet", ".pq", ".csv")):
            raise CohortError(f"the plays are in {self.path}, which is no table to read back.")
        if self.path.suffix == ".csv":
            return load_extra("pyarrow.csv", "logs").read_csv(self.path)
        return load_extra("pyarrow.parquet", "logs").read_table(self.path)

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return the plays as a data frame of pandas or Polars."""
        check_choice("library", library, get_args(Library), PlanError)
        table = self.to_arrow()
        if library == "arrow":
            return table
        module = load_extra(library, "frames")
        return table.to_pandas() if library == "pandas" else module.from_arrow(table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many subjects play what in each round, and return the axes."""
        from lastswitch.cohorts.figures import draw_plays

        return draw_plays(self, ax)

    def figure(self, figure: Figure | None = None) -> Figure:
        """Draw the summary: plays by round, value against other ways to play, budgets."""
        from lastswitch.cohorts.figures import draw_summary

        return draw_summary(self, figure)

    def page(self, path: str | PathLike[str], *, title: str = "Calendars for a cohort") -> Path:
        """Write the summary as one self-contained HTML page."""
        from lastswitch.cohorts.page import page

        return write_atomic(path, page(self, title))
