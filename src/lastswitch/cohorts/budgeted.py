"""Plans of all subjects within the budgets: prices, a mix, and whole subjects."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.cohorts.assignment import Choices, balanced, whole_numbers
from lastswitch.cohorts.descent import Descent, Mixing, lowered
from lastswitch.cohorts.options import Options, all_options
from lastswitch.cohorts.pricing import Candidates, Cohort
from lastswitch.cohorts.table import Table
from lastswitch.errors import BudgetError, UndecidedError
from lastswitch.planning.certificate import TOLERANCE, rounding
from lastswitch.planning.clock import Clock

#: Choices up to which an integer program makes whole numbers of them.
MOST_CHOICES = 50_000
#: Seconds for that, at least and at most.
SECONDS = 2.0, 20.0
#: Ways to use the budgets that each standing of a small cohort must be allowed to have.
LEAST_OPTIONS = 200
#: Standings of a sample that first prices come from, and looks of it that are taken over.
SAMPLE, GUESSES = 20_000, 6
#: Plays held back from every budget, and the largest share of it, so that whole subjects fit.
MARGINS, MOST_MARGIN = (0, 2, 6, 20, 60), 0.02
#: Share of the gap that is left to the prices; the rest is for whole subjects.
FOR_PRICES = 0.2


class Found(NamedTuple):
    """Prices by budget row, the bound, what plans are worth and use, and the odd standings."""

    prices: FloatArray
    bound: float
    value: float
    use: IntArray
    table: Table


def within_budgets(cohort: Cohort, keys: IntArray, gap: float, clock: Clock) -> Found:
    """Find prices and plans that keep all budgets.

    Parameters
    ----------
    cohort
        All standings.
    keys
        (u, columns): what the table calls them.
    gap
        Plans within this share of the best possible are good enough.
    clock
        How long it may take.
    """
    _problem, most = cohort.problem, cohort.problem.rows.most.astype(np.float64)
    mixing = Mixing(most, _highest(cohort), float(cohort.count.sum()))
    begin = guessed(cohort, gap, clock) if len(cohort.rows) >= 2 * SAMPLE else []
    descent = lowered(mixing, cohort.look, gap * FOR_PRICES, clock, begin)
    if descent.lacking.max(initial=0.0) > 1e-6 * mixing.scale:
        refuse_lacking(cohort, clock)
    best: Found | None = None
    for margin in MARGINS if len(cohort.rows) <= SAMPLE else MARGINS[1:]:
        shares = descent.shares
        if margin:
            held = np.floor(np.minimum(margin, MOST_MARGIN * most))
            shares = mixing.solve(most - held)[0]
        found = _assigned(cohort, keys, descent, shares, gap, clock)
        if found is not None:
            best = found
            break
    if best is None or best.bound - best.value > max(gap, TOLERANCE) * abs(best.value):
        best = _exact(cohort, keys, descent, gap, clock) or best
    if best is None:
        raise UndecidedError(
            "no plans of whole subjects were found that keep all budgets, though shares of "
            "subjects would; raise the budgets a little."
        )
    return best


def guessed(cohort: Cohort, gap: float, clock: Clock) -> list[FloatArray]:
    """Return prices that a sample of the standings ends at, and those whose plans it mixes."""
    some = cohort.sample(SAMPLE)
    subjects = float(some.count.sum())
    most = cohort.problem.rows.most.astype(np.float64) * subjects / float(cohort.count.sum())
    descent = lowered(
        Mixing(most, _highest(cohort), subjects), some.look, gap * FOR_PRICES, clock.part(0.5)
    )
    shares = descent.shares.sum(axis=1)
    mixed = [j for j in np.argsort(-shares)[:GUESSES] if shares[j] > 0]
    return [descent.prices, *descent.looks[mixed]]


def _assigned(
    cohort: Cohort,
    keys: IntArray,
    descent: Descent,
    shares: FloatArray,
    gap: float,
    clock: Clock,
) -> Found | None:
    """Return plans of whole subjects near the shares; None if they do not keep the budgets."""
    odd = cohort.candidates(descent.prices, descent.looks, shares)
    left = cohort.problem.rows.most - odd.fixed_use
    number, bound = _numbers(odd, left, descent, gap, clock)
    if number is None:
        return None
    use = number @ odd.choices.use
    if (use > left).any():
        return None
    value = odd.fixed_value + float(number @ odd.choices.worth)
    plans = odd.arms, odd.value, odd.choices.worth
    table = Table.of(keys[odd.place], odd.choices.first, plans, number)
    limit = max(min(descent.bound, bound), value)
    return Found(descent.prices, limit, value, odd.fixed_use + use, table)


def _exact(
    cohort: Cohort, keys: IntArray, descent: Descent, gap: float, clock: Clock
) -> Found | None:
    """Return the best of all plans, if the cohort is small enough to list them; else None."""
    problem, share = cohort.problem, MOST_CHOICES // max(len(cohort.rows), 1)
    if share < LEAST_OPTIONS:
        return None
    listed: list[Options] = []
    for row in cohort.rows:
        options = all_options(problem, row, share)
        if options is None or clock.over:
            return None
        listed.append(options)
    sizes = [len(options.value) for options in listed]
    weight = np.repeat(cohort.weight, sizes)
    value = np.concatenate([options.value for options in listed])
    use = np.concatenate([options.use for options in listed])
    first = np.concatenate([[0], np.cumsum(sizes)])
    choices = Choices(first, cohort.count, use, weight * value)
    number, bound = whole_numbers(choices, problem.rows.most, 0.0, clock.limit)
    if number is None and bound == -math.inf:
        raise BudgetError(
            "the budgets can be kept by shares of subjects but not by whole ones; raise one of "
            "them a little."
        )
    if (keys[:, -2] != keys[:, -1]).any():
        bound = math.inf  # subjects between two levels differ: who has what matters too
    if number is None or (number @ use > problem.rows.most).any():
        return None
    worth = float(number @ choices.worth)
    arms = np.concatenate([options.arms for options in listed])
    table = Table.of(keys, first, (arms, value, choices.worth), number)
    limit = max(min(descent.bound, bound + rounding(bound, worth)), worth)
    return Found(descent.prices, limit, worth, number @ use, table)


def _numbers(
    odd: Candidates, left: IntArray, descent: Descent, gap: float, clock: Clock
) -> tuple[IntArray | None, float]:
    """Return how many subjects have each plan, and a bound if that comes with it."""
    choices = odd.choices
    if len(choices.worth) <= MOST_CHOICES:
        limit = min(max(clock.left, SECONDS[0]), SECONDS[1])
        return whole_numbers(choices, left, gap / 10, limit)[0], math.inf
    unit = float(descent.prices.max()) or 1.0
    number = np.zeros(len(choices.worth), np.int64)
    balanced(
        choices.first,
        choices.subjects,
        choices.use.astype(np.float64),
        choices.worth / unit,
        odd.share,
        number,
    )
    return number, math.inf


def _highest(cohort: Cohort) -> float:
    """Return a price above what any plan can gain by any number of plays."""
    problem = cohort.problem
    pays = max(max(machine.pay) for machine in problem.machines)
    costs = sum((rule.cost or 0.0) * problem.n_arms for rule in problem.rules)
    each = 1.0 + pays + abs(problem.silence) + costs
    return 2.0 * each * problem.length * problem.plays[1] * max(float(cohort.weight.max()), 1e-9)


def refuse_lacking(cohort: Cohort, clock: Clock) -> None:
    """Say which budgets no plans can keep, if that is so."""
    problem = cohort.problem
    rows = problem.rows
    without = cohort.without_worth()
    mixing = Mixing(rows.most.astype(np.float64), 1.0, float(cohort.count.sum()))
    descent = lowered(mixing, without.look, 1e-9, clock)
    lack = descent.lacking
    if -descent.bound <= 1e-6 * mixing.scale:
        return
    worst = int(np.argmax(lack))
    budget = problem.budgets[int(rows.budget[worst])]
    at = f" in round {int(rows.round[worst])}" if rows.round[worst] >= 0 else ""
    forced = math.ceil(rows.most[worst] + lack[worst] - 1e-6)
    raise BudgetError(
        f"the budget {budget} cannot be kept: rules and plays force at least {forced:,} plays{at}. "
        "Raise the budget, or drop what forces them: pinned plays, at_least, a least number of "
        "plays a round."
    )
