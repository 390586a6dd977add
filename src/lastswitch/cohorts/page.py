"""A cohort plan as one self-contained HTML page: words, a figure, tables, nothing fetched."""

from __future__ import annotations

import io
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lastswitch._utils.drawing import house_style
from lastswitch.calendars.sheet import say_day
from lastswitch.cohorts.figures import draw_summary

if TYPE_CHECKING:
    from lastswitch.cohorts.result import CohortPlan

#: Limits of budgets that the page lists one by one.
LISTED = 60


def page(plan: CohortPlan, title: str) -> str:
    """Return the page as text.

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pandas as pd
    >>> states = pd.DataFrame({"subject": ["ann", "bob"], "arm 0": [5, -1], "arm 1": [1, 1]})
    >>> plan = ls.plan_cohort(ls.instances.two_arms(), states, 3)
    >>> "<script" in page(plan, "<script>")
    False
    """
    import jinja2

    source = files("lastswitch.cohorts").joinpath("templates/cohort.html").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(
        title=title,
        plan=plan,
        names=plan.problem.bandit.names,
        rounds=[_head(plan, t) for t in range(plan.problem.length)],
        plays=plan.plays.tolist(),
        silent=plan.tally.silent.tolist(),
        budgets=_budgets(plan),
        others=_others(plan),
        figure=_svg(plan),
    )


def _say(plan: CohortPlan, t: int) -> str:
    return f"round {t}" if plan.calendar is None else plan.calendar.say(t)


def _head(plan: CohortPlan, t: int) -> str:
    """Return a round as the head of a column has it: in few words."""
    if plan.calendar is None:
        return str(t)
    clock = "" if plan.calendar.daily else f" {plan.calendar.time(t):%H:%M}"
    return f"{say_day(plan.calendar.day(t))}{clock}"


def _others(plan: CohortPlan) -> list[tuple[str, float, float, float | None]]:
    """Return each way to play: its value, per subject, and how much more the plan is worth."""
    weight = plan.tally.weight or 1.0
    rows: list[tuple[str, float, float, float | None]] = [
        ("this plan", plan.value, plan.per_subject, None)
    ]
    for name, value in plan.others.items():
        more = plan.value / value - 1 if value > 0 else None
        rows.append((name, value, value / weight, more))
    rows.append(("no plan can exceed", plan.bound, plan.bound / weight, None))
    return rows


def _budgets(plan: CohortPlan) -> list[dict[str, Any]]:
    return [
        {
            "title": str(row.budget),
            "when": "in all" if row.round is None else _say(plan, row.round),
            "most": row.most,
            "used": row.used,
            "price": row.price,
        }
        for row in plan.budgets[:LISTED]
    ]


def _svg(plan: CohortPlan) -> str:
    buffer = io.StringIO()
    with house_style():
        draw_summary(plan).savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
