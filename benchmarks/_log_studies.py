"""Fits of simulated logs held to the truth, one log at a time; ``benchmarks.logs`` runs many."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import lastswitch as ls
from lastswitch._utils.intervals import Interval
from lastswitch._utils.random import stream
from lastswitch.logs import CurveFit, predicted_gain, simulate, support
from lastswitch.logs.cycles import rounds_of
from lastswitch.logs.predict import Readings
from lastswitch.logs.questions import pooled_contrast
from lastswitch.logs.within import strata_of
from lastswitch.logs.worlds import coin_counts, coin_fit, count_plays, fit_plays
from lastswitch.model.states import column

TRUTH = ls.Bandit(
    [
        ls.curves.recovering(0.8, 5, low=0.02),
        ls.curves.step(4, 0.9, 0.1),
        ls.curves.satiating(0.7, 0.1, 4),
        ls.curves.constant(0.3),
        ls.curves.periodic([0.1, 0.1, 0.6], 0.05),
    ],
    names=["0", "1", "2", "3", "4"],  # numbered, so that a fit keeps their order
)
#: Means far enough from 0 and 1 that a subject's own shift moves them all by the same.
MILD = ls.Bandit(
    [
        ls.Curve(rest=[0.3, 0.45, 0.6, 0.7], streak=[0.25, 0.15]),
        ls.Curve(rest=[0.55], streak=[0.45, 0.3, 0.2]),
        ls.curves.constant(0.35),
    ],
    names=["0", "1", "2"],
)
#: Rounds of the rotations planned from fits with a truth, and from coin flips.
LENGTH, SHORT = 12, 6
#: Rests and streaks whose intervals are counted have at least so many events.
ENOUGH = 200


def keen(states: Any) -> Any:
    """Let the lucky (every other subject) repeat what they played last, the others seldom."""
    chances = np.full(states.shape, 1.0 / states.shape[1])
    stay = np.where(np.arange(len(states)) % 2 == 0, 0.55, 0.1)
    last = states < 0
    played = last.any(axis=1)
    mixed = stay[:, None] * last + (1 - stay)[:, None] * chances
    return np.where(played[:, None], mixed, chances)


#: What subjects are like, in which truth, and how they choose.
SUBJECTS: dict[str, tuple[ls.Bandit, dict[str, Any]]] = {
    "alike": (TRUTH, {}),
    "differ": (TRUTH, {"spread": 0.5}),
    "differ and choose": (MILD, {"shift": 0.09, "policy": keen}),
}


def simulated_fit(
    model: ls.Bandit, subjects: int, rounds: int, seed: int, **world: Any
) -> CurveFit:
    """Fit a simulated log, counted here rather than by the engine (the same counts)."""
    log = simulate(model, subjects, rounds, seed, **world)
    who = log["subject"].to_numpy() - 1
    when = np.arange(len(who)) - np.searchsorted(who, who)
    arm = np.asarray(log["arm"].to_pylist()).astype(np.int64)
    deal = stream(seed, "benchmarks", "logs", "deal")
    return fit_plays(count_plays(model.names, who, when, arm, log["reward"].to_numpy(), deal))


def truth_of(task: tuple[str, int]) -> dict[str, Any]:
    """Fit one log of 500 subjects and 50,000 events, and hold its states to the truth."""
    name, seed = task
    model, world = SUBJECTS[name]
    fit = simulated_fit(model, 500, 100, seed, **world)
    found: dict[str, Any] = {"covered": [], "plain": [], "within": [], "pooled": []}
    for arm, fitted in enumerate(fit.arms):
        events, total, _ = (table[arm] for table in fit.counts.pooled)
        for state in fitted.estimates:
            if state.events < ENOUGH or state.tau is None or state.pooled is not None:
                continue
            real = model.mean(arm, state.tau)
            place = 1 + column(state.tau, fit.counts.rest, fit.counts.streak)
            mean = total[place] / events[place]
            half = 1.96 * np.sqrt(real * (1 - real) / events[place])
            found["covered"].append(bool(state.low <= real <= state.high))
            found["plain"].append(bool(abs(mean - real) <= half))
            if state.tau < 0:
                found["within"].append(state.mean - real)
                found["pooled"].append(mean - real)
    plan = ls.plan_cycle(fit.bandit, LENGTH, gap=0.005, time_limit=10)
    found["share"] = ls.cycle_reward(model, plan.block) / best_of(model)
    return found


@cache
def best_of(model: ls.Bandit) -> float:
    """Return the most that a cycle can earn in truth: its proven bound."""
    return ls.plan_cycle(model, LENGTH, gap=0.002, time_limit=60).bound


def coins_of(task: tuple[str, int, int]) -> dict[str, Any]:
    """Look for effects in one log of coin flips, and predict a gain where there is none."""
    disguise, seed, again = task
    fit = coin_fit(disguise, seed)
    fresh = fit_plays(coin_counts(disguise, again))  # asked for a value, not for answers
    found = _prediction(fit, fresh, 0.0)
    found["alarm"] = any(one.answer in ("yes", "reverse") for row in fit.findings for one in row)
    found["pooled alarm"] = _pooled_alarm(fit)
    return found


def _pooled_alarm(fit: CurveFit) -> bool:
    """Say whether plain means over all events would find that anything wears out, or the opposite.

    The negative control: each arm in a row against rested, corrected for the number of arms.
    """
    counts, level = fit.counts, fit.rules.level
    rested, runs = range(1, 1 + counts.rest), range(1 + counts.rest, counts.width)
    chances = []
    for arm in range(counts.n_arms):
        events = counts.pooled.events[arm]
        if min(events[rested].sum(), events[runs].sum()) >= fit.rules.min_events:
            chances.append(pooled_contrast(strata_of(counts, arm), rested, runs, level).p_value)
    return min(chances, default=1.0) * counts.n_arms < 1 - level


def gain_of(task: tuple[int, int]) -> dict[str, Any]:
    """Predict a gain where there is one: the positive control."""
    model, world = SUBJECTS["differ and choose"]
    fit, again = (simulated_fit(model, 200, 40, seed, **world) for seed in task)
    plan = ls.plan_cycle(fit.bandit, SHORT)
    return _prediction(fit, again, ls.cycle_reward(model, plan.block) / SHORT - paid_by_log())


@cache
def paid_by_log() -> float:
    """Return what the log of the positive control pays the average subject, in truth."""
    model, world = SUBJECTS["differ and choose"]
    return float(np.mean(simulate(model, 50_000, 40, 77, **world)["reward"].to_numpy()))


def _prediction(fit: CurveFit, again: CurveFit, real: float) -> dict[str, Any]:
    """Predict on one log, and compare with the truth and with what a fresh log shows.

    A rotation with a state that the log does not know is not predicted; one with a state that the
    fresh log does not know is not shown by it.
    """
    plan = ls.plan_cycle(fit.bandit, SHORT)
    if not all(one.known for one in support(fit, plan)):
        return {"known": False, "shown": False}
    gain = predicted_gain(fit, plan)
    shown, _ = _as_given(again, plan)
    naive, whole = _as_given(fit, plan)
    return {
        "known": True,
        "shown": all(one.known for one in support(again, plan)),
        "truth": bool(gain.over_log.low <= real <= gain.over_log.high),
        "fresh": bool(gain.fresh.low <= shown <= gain.fresh.high),
        "naive": bool(whole.low <= real <= whole.high),
        "gain": gain.over_log.mean,
        "naive gain": naive,
        "real": real,
        "z": (gain.over_log.mean - real) / max(gain.over_log.error or 0.0, 1e-12),
        "half": (gain.over_log.high - gain.over_log.low) / 2,
        "above zero": bool(gain.over_log.low > 0),
    }


def _as_given(fit: CurveFit, plan: ls.Plan) -> tuple[float, Interval]:
    """Return what a log itself says that a rotation gains, wherever that was chosen."""
    worth = Readings(fit).worth(fit.counts.centred(), rounds_of(plan, fit.counts.names))
    return worth.value, worth.interval(fit.counts, fit.rules.level)
