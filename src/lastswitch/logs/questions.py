"""Ask every arm whether it wears out, whether it recovers, and whether it has a period.

Each answer is a difference within subjects with its interval. All questions of all arms are one
family: their chances are corrected together (Holm), so that a log in which nothing happens gives
any *yes* or *reverse* at all with a chance of ``1 - level`` at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.listing import counted
from lastswitch.logs.armfit import ArmFit, FitRules, read_arm
from lastswitch.logs.counts import Counts
from lastswitch.logs.periods import LEAST, find_period
from lastswitch.logs.summary import ORDERS
from lastswitch.logs.within import Contrast, Strata, ratio, strata_of, within_contrast

if TYPE_CHECKING:
    from lastswitch.logs.curvefit import CurveFit

Question = Literal["wears out", "recovers", "has a period"]
Answer = Literal["yes", "no", "reverse", "unclear"]

#: A difference within this share of the arm's mean is called none.
NEGLIGIBLE = 0.1


@dataclass(frozen=True)
class Finding:
    """The answer to one question about one arm.

    ``effect`` is a difference in reward within subjects, ``low`` and ``high`` its interval;
    ``p_value`` is corrected for all questions and arms. ``pooled`` is the same difference over all
    events alike, whoever they are of; ``beside`` says so in words where it differs. ``period`` is
    the rounds of a period found.
    """

    question: Question
    answer: Answer
    words: str
    effect: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p_value: float = float("nan")
    pooled: float = float("nan")
    period: int | None = None
    beside: str = ""

    def __str__(self) -> str:
        return f"{self.question}: {self.answer}. {self.words} {self.beside}".rstrip()


Answers = tuple[Finding, Finding, Finding]


def answer_questions(fit: CurveFit) -> tuple[Answers, ...]:
    """Answer all three questions for every arm of a fit."""
    asked: list[Finding] = []
    for number, arm in enumerate(fit.arms):
        asked += _asked(fit, number, arm)
    raw = np.array([found.p_value for found in asked])
    known = ~np.isnan(raw)
    adjusted = raw.copy()
    adjusted[known] = _holm(raw[known])
    events, total, _ = fit.counts.pooled
    usual = (total.sum(axis=1) / events.sum(axis=1)).tolist()
    judged = [
        _verdict(found, float(p), usual[place // 3], fit.rules.level) if sure else found
        for place, (found, p, sure) in enumerate(zip(asked, adjusted, known, strict=True))
    ]
    answers = []
    for number, arm in enumerate(fit.arms):
        wear, back, beat = judged[3 * number : 3 * number + 3]
        answers.append((wear, _timed(back, arm), beat))
    return tuple(_settled(answers, fit.summary.agreed))


def _settled(answers: list[Answers], agreed: Sequence[Sequence[int]]) -> list[Answers]:
    """Take back what hangs on the order of events that have none."""
    if not agreed:
        return answers
    settled = []
    for findings, times in zip(answers, agreed, strict=True):
        row = []
        for found, many in zip(findings, times, strict=True):
            if found.answer in ("yes", "reverse") and many < ORDERS:
                words = (
                    f"{found.words} It is {found.answer} in {many} of {ORDERS} random orders of "
                    "the events that share a time: the log does not tell."
                )
                row.append(replace(found, answer="unclear", words=words, period=None))
            else:
                row.append(found)
        settled.append((row[0], row[1], row[2]))
    return settled


def _asked(fit: CurveFit, number: int, arm: ArmFit) -> Sequence[Finding]:
    """Ask one arm, before anything is corrected for the other arms."""
    questions: tuple[Question, ...] = ("wears out", "recovers", "has a period")
    if not arm.repeats:
        return [
            Finding(q, "unclear", "Nobody was seen to play it twice: the log says nothing of it.")
            for q in questions
        ]
    if fit.rules.blurred:
        return [Finding(question, "unclear", fit.summary.unordered) for question in questions]
    strata = strata_of(fit.counts, number)
    return [
        _wears_out(fit.counts, number, strata, fit.rules),
        _recovers(fit.counts, number, strata, fit.rules),
        _has_period(fit, number, arm),
    ]


def pooled_contrast(
    strata: Strata, before: Sequence[int], after: Sequence[int], level: float
) -> Contrast:
    """Return the plain difference of two means over all events, whoever they are of."""
    (n0, t0), (n1, t1) = strata.side(before), strata.side(after)
    means = [float(t.sum() / n.sum()) for n, t in ((n0, t0), (n1, t1))]
    pulls = strata.by_group((t1 - means[1] * n1) / n1.sum() - (t0 - means[0] * n0) / n0.sum())
    used = pulls[strata.by_group(n0 + n1) > 0]
    found = ratio(used * len(used) + (means[1] - means[0]), np.ones(len(used)), level)
    return Contrast(*found, means[0], means[1], int(((n0 > 0) | (n1 > 0)).sum()))


def _wears_out(counts: Counts, arm: int, strata: Strata, rules: FitRules) -> Finding:
    """Compare the deepest streaks with plays after a rest."""
    events = counts.pooled.events[arm]
    rested, runs = _sides(counts)
    worn = _deepest(events, runs, rules.min_events, share=0.1)
    if events[rested].sum() < rules.min_events or not worn:
        return _too_few("wears out", "plays after a rest or in a row")
    times = worn[0] - counts.rest
    deep = f"after {times} or more in a row" if times > 1 else "in a row"
    return _compared("wears out", strata, rested, worn, rules, ("after a rest", deep), -1)


def _recovers(counts: Counts, arm: int, strata: Strata, rules: FitRules) -> Finding:
    """Compare long rests with plays in a row, or with the shortest rest if there are none."""
    events = counts.pooled.events[arm]
    rested, runs = _sides(counts)
    low = runs if events[runs].sum() >= rules.min_events else [1]
    high = [c for c in _deepest(events, rested, rules.min_events, share=0.25) if c not in low]
    if events[low].sum() < rules.min_events or events[high].sum() < rules.min_events:
        return _too_few("recovers", "plays after a short and a long rest")
    start = "when repeated" if low is runs else "after one round of rest"
    long = f"after {high[0]} or more rounds of rest"
    return _compared("recovers", strata, low, high, rules, (start, long), 1)


def _compared(
    question: Question,
    strata: Strata,
    before: list[int],
    after: list[int],
    rules: FitRules,
    when: tuple[str, str],
    sign: int,
) -> Finding:
    """Compare two sets of states within subjects, and say what all events alike would say."""
    found = within_contrast(strata, before, after, rules.level)
    if found.subjects < rules.min_subjects:
        words = f"Only {found.subjects:,} subjects were seen both {when[0]} and {when[1]}."
        return Finding(question, "unclear", words)
    whole = pooled_contrast(strata, before, after, rules.level)
    words = f"It pays {found.before:.3g} {when[0]} and {found.after:.3g} {when[1]}"
    answer: Answer = "yes" if sign * found.effect > 0 else "reverse"
    made = Finding(question, answer, words, *found[:4], whole.effect)
    if not found.low <= whole.effect <= found.high:
        made = replace(made, beside=_beside(whole))
    return made


def _beside(whole: Contrast) -> str:
    """Return the sentence for a pooled answer that differs."""
    return (
        f"Over all events alike the difference would be {whole.effect:+.3g}, between "
        f"{whole.low:+.3g} and {whole.high:+.3g}: that also compares different subjects with one "
        "another, and is not used."
    )


def _has_period(fit: CurveFit, number: int, arm: ArmFit) -> Finding:
    """Look for a pattern that repeats along the rest side, beyond a rise or a fall."""
    seen = 0
    for state in arm.rest:  # the longest unbroken stretch of well-counted rests from 1 on
        if not state.known or state.events < fit.rules.min_events:
            break
        seen += 1
    if seen < LEAST:
        return _too_few("has a period", f"well-counted rests (at least {LEAST})")
    fitted = read_arm(fit.counts, number, fit.rules, fit.binary).shape
    chosen = slice(1, 1 + seen)
    beat = find_period(
        fitted.means[chosen], fitted.shape_pulls[:, chosen], fit.rules.level, arm.name
    )
    if beat is None:
        return Finding("has a period", "no", "", p_value=1.0)
    words = (
        f"Every {beat.period} rounds of rest (at {beat.peak}, {beat.peak + beat.period}, ...) it "
        f"pays {beat.effect:.3g} more than at the low point; periods up to {beat.longest} were "
        "tried"
    )
    numbers = (beat.effect, beat.low, beat.high, beat.p_value)
    return Finding("has a period", "yes", words, *numbers, period=beat.period)


def _timed(found: Finding, fitted: ArmFit) -> Finding:
    """Add how long recovery takes, where there is one."""
    known = [state for state in fitted.rest if state.known]
    if found.answer != "yes" or not known:
        return found
    repeated = next((state for state in fitted.streak if state.known), None)
    low = repeated.value if repeated is not None else known[0].value
    goal = low + 0.9 * (known[-1].value - low)
    # The first rest that cannot be told apart from that: a hair's breadth must not add rounds.
    reach = [(state.tau or 0, state.value + max(state.high - state.mean, 0.0)) for state in known]
    back = next((rest for rest, value in reach if value >= goal), reach[-1][0])
    words = f"{found.words} Nine tenths are back after {counted(back, 'round')}."
    return replace(found, words=words)


def _sides(counts: Counts) -> tuple[list[int], list[int]]:
    return list(range(1, 1 + counts.rest)), list(range(1 + counts.rest, counts.width))


def _deepest(events: FloatArray, columns: list[int], least: int, share: float) -> list[int]:
    """Return the deepest columns that hold enough events together: chosen by counts alone."""
    needed = max(least, share * float(events[columns].sum()))
    held = np.cumsum(events[columns][::-1])
    if held[-1] < needed:
        return []
    return columns[len(columns) - 1 - int(np.searchsorted(held, needed)) :]


def _too_few(question: Question, what: str) -> Finding:
    return Finding(question, "unclear", f"Too few {what} to tell.")


def _holm(p_values: FloatArray) -> FloatArray:
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _verdict(found: Finding, p_value: float, usual: float, level: float) -> Finding:
    """Say yes or no, once the chance is corrected for everything that was asked."""
    sure = p_value < 1 - level
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    between = f"difference {found.effect:+.3g}, between {found.low:+.3g} and {found.high:+.3g}"
    if found.question == "has a period" and not sure:
        words = f"No period stands out ({chance})."
        return replace(found, answer="no", words=words, p_value=p_value, period=None)
    words = f"{found.words} ({between}, {chance})."
    if sure:
        if found.answer == "reverse":
            words += " That is the opposite: habit, or the log's own choices, may explain it."
        if found.question == "has a period":
            words += " Beyond its table the fitted curve does not go on with it."
        return replace(found, words=words, p_value=p_value)
    small = max(abs(found.low), abs(found.high)) <= NEGLIGIBLE * usual
    answer: Answer = "no" if small else "unclear"
    return replace(found, answer=answer, words=words, p_value=p_value)
