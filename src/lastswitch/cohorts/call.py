"""From where every subject stands to what each plays: :func:`plan_cohort`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import (
    check_bandit,
    check_choice,
    check_limits,
    check_list,
    is_number,
)
from lastswitch._utils.extras import load_extra
from lastswitch._utils.progress import Report, reporter
from lastswitch.cohorts.budgets import Budget, checked_budgets, read_budget
from lastswitch.cohorts.job import Job
from lastswitch.cohorts.local import LocalCohort, total_of, work_folder
from lastswitch.cohorts.problem import CohortProblem
from lastswitch.cohorts.reading import (
    OpenRoster,
    Question,
    StatesLike,
    SubjectsLike,
    open_roster,
)
from lastswitch.cohorts.result import CohortPlan
from lastswitch.cohorts.rows import Tally
from lastswitch.cohorts.solving import Solution, solve
from lastswitch.cohorts.writing import Format, check_target, write
from lastswitch.errors import CohortError, InputTypeError, PlanError
from lastswitch.logs.reading import EventLog
from lastswitch.model.bandit import checked_plays
from lastswitch.planning.certificate import rounding

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.bandit import Bandit
    from lastswitch.rules import Rule

Backend = Literal["processes", "ray", "dask", "spark"]
#: A budget, several, or budgets in words such as ``"everyone: 1000 per round"``.
BudgetLike = Budget | str | Iterable[Budget | str]


def plan_cohort(
    bandit: Bandit,
    states: StatesLike,
    length: int,
    *,
    rules: Iterable[Rule] | None = None,
    plays: int | tuple[int, int] | None = None,
    silence: float | None = None,
    budget: BudgetLike | None = None,
    calendar: Calendar | None = None,
    subjects: SubjectsLike | None = None,
    subject: str = "subject",
    weight: str | None = None,
    drop_unknown: bool = False,
    habit: float | None = None,
    gap: float = 1e-3,
    time_limit: float | None = None,
    backend: Backend | None = None,
    n_jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    form: Format | None = None,
    progress: bool | Report | None = None,
) -> CohortPlan:
    """Plan the next ``length`` rounds of every subject, within budgets that all of them share.

    Parameters
    ----------
    bandit
        Whose curves everyone has.
    states
        Where every subject stands: a table with one row per subject and one column per arm; one
        with the columns subject, arm and tau (as :func:`lastswitch.logs.current_states` returns);
        or recent plays with the columns subject, arm and round (-1 for the last one) or time. A
        CSV or Parquet file, a data frame (pandas, Polars, Arrow) or an Ibis table. Or a log of
        events, :class:`lastswitch.logs.EventLog`, whose rounds are the calendar's. An arm that a
        subject never played stands in the bandit's ``initial``.
    length
        How many rounds to plan.
    rules, plays, silence
        As for :func:`lastswitch.plan_block`; the bandit's own by default. Rules that look back see
        what recent plays and logs say; a table of states says nothing of that.
    budget
        What all subjects together may play: a :class:`lastswitch.Budget`, a list of them, or words
        such as ``"everyone: 1000 per round"`` and ``"jazz: 500 in all"``.
    calendar
        When the rounds are. Its first one is the round that comes.
    subjects
        Who is planned: a list of names, or a table with a column of them. Those without a state
        start in ``initial``. By default everyone in ``states``.
    subject, weight
        The column that says who, and the one that says how much a subject's value counts, in the
        table of subjects or in that of states (``weight``, if there is one, by default).
    drop_unknown
        Leave out arms of a log that the bandit does not have, instead of refusing it.
    habit
        What a play paid on average before, such as ``fit.log_mean``, to compare with.
    gap, time_limit
        Plans within this share of the best possible are good enough; seconds for finding prices.
    backend, n_jobs
        ``"processes"`` of this machine (the default), ``"ray"``, ``"dask"`` or ``"spark"``: the
        cluster that is there, else a local one. The plans are the same. Ray and Dask workers must
        see the folder of ``out``; Spark reads the states too, and writes a folder.
    out, form
        Where to write: ``"parquet"`` or ``"csv"`` (told by the suffix), or ``"ics"``, a folder
        with a calendar per subject. A run that is ended in the middle goes on where it was when
        it is started again. Without ``out`` the plays are held in memory.
    progress
        True for a bar, or a function of one :class:`lastswitch.Progress`.

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pandas as pd
    >>> radio = ls.Bandit(
    ...     [ls.curves.step(2, 0.9), ls.curves.constant(0.3)], names=["jazz", "talk"]
    ... )
    >>> states = pd.DataFrame({"subject": ["ann", "bob"], "jazz": [5, -1], "talk": [1, 1]})
    >>> plan = ls.plan_cohort(radio, states, 3, calendar=ls.Calendar("2024-06-03"))
    >>> plan.to_frame()["date"].astype(str).tolist()[:3]
    ['2024-06-03', '2024-06-04', '2024-06-05']
    """
    began = time.perf_counter()
    problem = _problem(bandit, length, rules, plays, silence, budget, calendar)
    check_limits(gap, time_limit)
    engine = "processes" if backend is None else backend
    check_choice("backend", engine, get_args(Backend), CohortError)
    if habit is not None and not is_number(habit):
        raise InputTypeError(f"habit must be a number, what a play paid before, got {habit!r}.")
    target = None
    if out is not None:
        sources = [states.log if isinstance(states, EventLog) else states, subjects]
        target = check_target(out, form, calendar, sources, folder=engine == "spark")
    job = Job(problem, calendar)
    question = Question(
        bandit,
        job.lookback,
        calendar,
        subjects,
        subject,
        weight,
        drop_unknown,
        "spark" if engine == "spark" else None,
    )
    with open_roster(states, question) as opened, reporter(progress, "planning") as report:
        job = Job(problem, calendar, opened.known)
        run = _on_spark if engine == "spark" else _in_parts
        made = run(job, opened, target, (gap, time_limit), (engine, n_jobs), report)
    solution, tally, held = made
    use = _checked_use(problem, solution, tally)
    return CohortPlan(
        problem,
        solution.value,
        solution.bound,
        tally,
        solution.prices,
        use,
        calendar,
        None if target is None else target[0],
        habit,
        opened.notices,
        time.perf_counter() - began,
        held,
    )


def _checked_use(problem: CohortProblem, solution: Solution, tally: Tally) -> IntArray:
    """Return what the written plans use of every budget; they must be what was promised."""
    use: IntArray = np.einsum("rat,ta->r", problem.rows.counts.astype(np.int64), tally.plays)
    slack = rounding(solution.value, solution.scale * tally.weight)
    if (use > problem.rows.most).any() or not abs(tally.value - solution.value) <= slack:
        raise PlanError(
            f"the plans are worth {tally.value} and use {use.tolist()} of the budgets, which is "
            f"not what was promised ({solution.value}); please report the cohort that gave it."
        )
    return use


def _problem(
    bandit: Bandit,
    length: int,
    rules: Iterable[Rule] | None,
    plays: int | tuple[int, int] | None,
    silence: float | None,
    budget: BudgetLike | None,
    calendar: Calendar | None,
) -> CohortProblem:
    """Return what is to be planned, with words of time turned into rounds."""
    from lastswitch.calendars.calendar import Calendar

    check_bandit("plan_cohort", bandit)
    if calendar is not None and not isinstance(calendar, Calendar):
        raise InputTypeError(
            f"calendar must be a lastswitch.Calendar, got {type(calendar).__name__}."
        )
    if calendar is not None:
        asked = (
            bandit if plays is None else replace(bandit, plays=checked_plays(plays, bandit.n_arms))
        )
        rules = calendar.resolve(bandit.rules if rules is None else rules, length, asked)
    given: Any = () if budget is None else [budget] if isinstance(budget, Budget | str) else budget
    said = "each a Budget or such words as 'everyone: 500 per round'"
    budgets = checked_budgets(
        [
            read_budget(one, length, calendar) if isinstance(one, str) else one
            for one in check_list("budget", given, said)
        ]
    )
    return CohortProblem(bandit, length, rules=rules, plays=plays, silence=silence, budgets=budgets)


def _priced(job: Job, cohort: Any, opened: OpenRoster, limits: Any, report: Report) -> Solution:
    """Return the prices of the budgets, and who gets which plan."""
    census = cohort.census(opened)
    gap, time_limit = limits
    solution = solve(
        job.problem,
        census.rows,
        census.counts,
        census.weights,
        gap=gap,
        time_limit=time_limit,
        progress=report,
    )
    if len(solution.pending):
        solution = solution.settled(*cohort.pending(job.solved(solution)))
    return solution


def _in_parts(
    job: Job, opened: OpenRoster, target: Any, limits: Any, engine: Any, report: Report
) -> tuple[Solution, Any, Any]:
    """Plan on this machine, or on the workers of Ray or Dask."""
    parquet = load_extra("pyarrow.parquet", "logs")
    backend: Any = "loky" if engine[0] == "processes" else engine[0]
    with _folder(target) as folder:
        cohort = LocalCohort(job, folder, engine[1], backend)
        solution = _priced(job, cohort, opened, limits, report)
        parts = cohort.plan(job.solved(solution), report)
        tables = (parquet.read_table(part.path) for part in parts)
        held = None
        if target is None:
            held = load_extra("pyarrow", "logs").concat_tables(
                table.replace_schema_metadata(None) for table in tables
            )
        else:
            path, form = target
            write(tables, path, form, job.calendar)
        return solution, total_of(parts), held


@contextmanager
def _folder(target: tuple[Path, Format] | None) -> Iterator[Path]:
    """Yield the folder to work in: one that is found again, or one that goes."""
    with ExitStack() as stack:
        if target is not None:
            yield stack.enter_context(work_folder(target[0]))
        else:
            yield Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastswitch-")))


def _on_spark(
    job: Job, opened: OpenRoster, target: Any, limits: Any, engine: Any, report: Report
) -> tuple[Solution, Any, Any]:
    """Plan where the roster is: on the partitions of Spark."""
    from lastswitch.cohorts.on_spark import SparkCohort

    cohort = SparkCohort(job, opened.connection)
    solution = _priced(job, cohort, opened, limits, report)
    tally, held = cohort.plan(job.solved(solution), target, report)
    return solution, tally, held
