"""What a log says of a rotation planned from it, in the words the fit itself uses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lastswitch._utils.listing import counted
from lastswitch.logs.cycles import cycle_cells, rounds_of, support, support_words
from lastswitch.logs.predict import predicted_gain
from lastswitch.logs.summary import CAUTION

if TYPE_CHECKING:
    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.logs.questions import Answers
    from lastswitch.logs.saving import FoundFit
    from lastswitch.planning.plan import Plan

#: Arms listed at most; a calendar of more names the first ones.
MOST_LISTED = 12


def plan_words(found: FoundFit, plan: Plan, file: str) -> str:
    """Return all that a log says of ``plan``; nothing for a bandit that came from no log."""
    if found.edited:
        return (
            f"The curves in {file} were changed since they were fitted: what the log predicts no "
            "longer applies to them. Fit again for a prediction."
        )
    if found.lost:
        return (
            f"These curves came from a log, but their fit is not in the folder of {file}: nothing "
            "can be predicted. Keep the .fit.npz with the .toml."
        )
    if found.fit is None:
        return ""
    fit = found.fit
    rests = support(fit, plan)
    gain = (
        ["", str(predicted_gain(fit, plan))]
        if all(one.known for one in rests)
        else [
            "What it would gain is not predicted: the plays above count as their lower bound only"
        ]
    )
    lines = [
        "What the log says",
        *_answers(fit, plan),
        *_against(fit, plan),
        *support_words(rests, sum(map(len, plan.rounds)), fit.rules.blurred),
        *gain,
        CAUTION,
    ]
    return "\n".join(lines)


def _answers(fit: CurveFit, plan: Plan) -> list[str]:
    """Repeat the answers of every arm in the plan, those played most first."""
    plays = Counter(arm for arms in rounds_of(plan, fit.counts.names) for arm in arms)
    width = max(len(fit.arms[arm].name) for arm in plays)
    lines = [
        f"  {fit.arms[arm].name:<{width}}  {_line(fit.arms[arm], fit.findings[arm])}"
        for arm, _ in plays.most_common(MOST_LISTED)
    ]
    more = len(plays) - MOST_LISTED
    return [*lines, f"  and {more:,} more arms (fit.findings has all)"] if more > 0 else lines


def _line(arm: ArmFit, findings: Answers) -> str:
    answers = ", ".join(f"{one.question}: {one.period or one.answer}" for one in findings)
    return f"{arm.events:,} events, {arm.repeats:,} after a first play; {answers}"


def _against(fit: CurveFit, plan: Plan) -> list[str]:
    """Name the arms whose evidence speaks against how the rotation uses them."""
    cells = Counter(cycle_cells(rounds_of(plan, fit.counts.names)))
    lines = []
    for arm in sorted({arm for arm, _ in cells}):
        wear, back, _ = fit.findings[arm]
        if "reverse" not in (wear.answer, back.answer):
            continue
        mine = {tau: many for (other, tau), many in cells.items() if other == arm}
        rested = sum(many for tau, many in mine.items() if tau > 0)
        if rested:
            lines.append(
                f"Against the evidence: {fit.arms[arm].name} is rested before "
                f"{counted(rested, 'play')}, but in the log it paid more when repeated (reverse)"
            )
        if rested < sum(mine.values()):
            lines.append(
                f"{fit.arms[arm].name} is repeated, which paid more in the log (reverse): habit or "
                "people's own choices may explain that, and a calendar brings neither with it"
            )
    unclear = [
        fit.arms[arm].name
        for arm in sorted({arm for arm, _ in cells})
        if all(found.answer in ("unclear", "no") for found in fit.findings[arm])
    ]
    if len(unclear) == len({arm for arm, _ in cells}):
        lines.append(
            "Nothing in the log says that any of these arms wears out or recovers: a rotation of "
            "them has no ground in it"
        )
    return lines
