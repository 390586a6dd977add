"""What learners earn of the optimum: the paper's instances, random ones, many subjects, long runs.

Every policy plays the same bandits with the same noise; a figure is the share of the best possible
expected total (``optimal_total``, or its upper bound where the optimum is out of reach), so 1 is
perfect play from the first round. Intervals are 95 % over runs, or over instances.

Run ``python -m benchmarks.learning [--quick] [--part tables|regret] [--figure STEM]``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch.learning import (
    RAWUCB,
    UCB1,
    ExploreThenCommit,
    FrequencyPolicy,
    Lookahead,
    ThompsonSampling,
)
from lastswitch.model.families import random_bandit
from lastswitch.model.instances import five_arms, two_arms

Factory = Callable[[ls.Bandit, int, int], Any]

FAMILIES = ("spike", "step", "monotone", "seasonal", "satiating", "mixed")
#: Arms and depth; the last is deeper than RotationUCB's table.
SHAPES = ((2, 8), (3, 6), (5, 8), (7, 6), (10, 8), (2, 30))


class Case(NamedTuple):
    """One bandit, for how long, and the best expected total on it."""

    name: str
    bandit: ls.Bandit
    horizon: int
    best: float
    exact: bool

    @classmethod
    def of(cls, name: str, bandit: ls.Bandit, horizon: int) -> Case:
        """Solve ``bandit``; fall back on the upper bound where it cannot be solved.

        A bound that was cut short may be several per cent too high, so there it gets more time.
        """
        optimum = ls.optimal_total(bandit, horizon, time_limit=5.0)
        if not optimum.optimal:
            optimum = ls.optimal_total(bandit, horizon, time_limit=30.0)
        best = optimum.value if optimum.optimal else optimum.bound
        return cls(name, bandit, horizon, best, optimum.optimal)


#: Policies by name; each is given the bandit (oracles alone look at it), the horizon and a seed.
POLICIES: Mapping[str, Factory] = {
    "RotationUCB": lambda b, T, s: ls.RotationUCB(b.n_arms, initial=b.initial, seed=s),
    "RotationUCB, Thompson": lambda b, T, s: ls.RotationUCB(
        b.n_arms, index="thompson", initial=b.initial, seed=s
    ),
    "RotationUCB, UCB1": lambda b, T, s: ls.RotationUCB(
        b.n_arms, index="ucb1", initial=b.initial, seed=s
    ),
    "RotationUCB, Bernstein": lambda b, T, s: ls.RotationUCB(
        b.n_arms, index="empirical-bernstein", initial=b.initial, seed=s
    ),
    "ISICombUCB1": lambda b, T, s: ls.ISICombUCB1(b.n_arms, _block(b), initial=b.initial),
    "CombUCB1": lambda b, T, s: ls.learning.CombUCB1(b.n_arms, _block(b, 1), initial=b.initial),
    "Lookahead, 2 steps": lambda b, T, s: Lookahead(b.n_arms, initial=b.initial, seed=s),
    "ExploreThenCommit": lambda b, T, s: ExploreThenCommit(
        b.n_arms, T, runs=3, initial=b.initial, seed=s
    ),
    "UCB1": lambda b, T, s: UCB1(b.n_arms, initial=b.initial),
    "ThompsonSampling": lambda b, T, s: ThompsonSampling(b.n_arms, initial=b.initial, seed=s),
    "RAWUCB": lambda b, T, s: RAWUCB(b.n_arms, initial=b.initial),
    "OracleGreedy (knows curves)": lambda b, T, s: ls.learning.OracleGreedy(b, seed=s),
    "FrequencyPolicy (knows curves)": lambda b, T, s: FrequencyPolicy(b, runs=3, seed=s),
}

#: Those compared on the random instances too.
ON_SUITE = (
    "RotationUCB",
    "ISICombUCB1",
    "UCB1",
    "CombUCB1",
    "Lookahead, 2 steps",
    "ExploreThenCommit",
    "OracleGreedy (knows curves)",
    "FrequencyPolicy (knows curves)",
)


def _block(bandit: ls.Bandit, less: int = 0) -> int:
    """Return the paper's block on its two instances (4 and 11, minus ``less``), 6 elsewhere."""
    return {5: 4, 2: 11}[bandit.n_arms] - less if bandit.initial[0] < 0 else 6


def shares(case: Case, factory: Factory, runs: int) -> list[float]:
    """Return the share of the best expected total earned in each run."""
    return [
        ls.simulate(
            case.bandit, factory(case.bandit, case.horizon, run), case.horizon, run
        ).mean_total
        / case.best
        for run in range(runs)
    ]


def interval(values: Sequence[float]) -> str:
    """Return mean ± the half-width of a 95 % interval."""
    data = np.asarray(values)
    if len(data) < 2:
        return f"{data.mean():.3f}"
    return f"{data.mean():.3f} ± {1.96 * data.std(ddof=1) / math.sqrt(len(data)):.3f}"


def paper_table(runs: int) -> list[dict[str, Any]]:
    """Compare everything on the paper's two instances."""
    cases = [Case.of("five arms", five_arms(), 5112), Case.of("two arms", two_arms(), 5060)]
    rows = []
    for name, factory in POLICIES.items():
        row: dict[str, Any] = {"policy": name}
        for case in cases:
            row[case.name] = interval(shares(case, factory, runs))
        rows.append(row)
    return rows


def suite(horizon: int) -> list[Case]:
    """Return the random instances: every family in every shape, seeds fixed beforehand."""
    return [
        Case.of(
            f"{family}, {arms} arms, depth {depth}",
            random_bandit(family, arms, depth, seed=number),
            horizon,
        )
        for number, family in enumerate(FAMILIES)
        for arms, depth in SHAPES
    ]


def suite_table(
    cases: Sequence[Case], names: Sequence[str], runs: int
) -> tuple[list[dict[str, Any]], dict[str, dict[str, list[float]]]]:
    """Compare policies on the random instances; return the rows and every run's share."""
    every: dict[str, dict[str, list[float]]] = {}
    rows = []
    for name in names:
        every[name] = {case.name: shares(case, POLICIES[name], runs) for case in cases}
        means = {case: float(np.mean(values)) for case, values in every[name].items()}
        row: dict[str, Any] = {"policy": name, "all": interval(list(means.values()))}
        for arms, depth in SHAPES:
            here = [mean for case, mean in means.items() if f" {arms} arms, depth {depth}" in case]
            row[f"K={arms}, depth {depth}"] = float(np.mean(here))
        row["worst run"] = min(min(values) for values in every[name].values())
        rows.append(row)
    return rows, every


def family_table(every: Mapping[str, Mapping[str, Sequence[float]]]) -> list[dict[str, Any]]:
    """Split the suite's results by family."""
    rows = []
    for name, cases in every.items():
        row: dict[str, Any] = {"policy": name}
        for family in FAMILIES:
            row[family] = float(
                np.mean([np.mean(v) for case, v in cases.items() if case.startswith(family)])
            )
        rows.append(row)
    return rows


def subjects_table(runs: int) -> list[dict[str, Any]]:
    """Let fifty subjects of two hundred rounds share what is learned."""
    rows = []
    for case in (
        Case.of("five arms", five_arms(), 200),
        *(Case.of(f"{f}, 5 arms, depth 8", random_bandit(f, 5, 8, 0), 200) for f in FAMILIES),
    ):
        totals = []
        for run in range(runs):
            policy = ls.RotationUCB(case.bandit.n_arms, initial=case.bandit.initial)
            played = ls.simulate(case.bandit, policy, case.horizon, run, subjects=50)
            totals.append(played.mean_total / (50 * case.best))
        rows.append({"instance": case.name, "share of 50 × optimum": interval(totals)})
    return rows


def regret_curves(horizon: int, runs: int) -> dict[str, dict[str, list[float]]]:
    """Return RotationUCB's regret at rounds spread over the decades up to ``horizon``.

    Also which share of the optimal average it is, per round.
    """
    points = np.unique(np.geomspace(100, horizon, 60).astype(int))
    curves = {}
    for name, bandit in (
        ("five arms", five_arms()),
        ("two arms", two_arms()),
        ("monotone, 3 arms", random_bandit("monotone", 3, 6, 0)),
        ("mixed, 5 arms", random_bandit("mixed", 5, 8, 5)),
    ):
        average = ls.optimal_average(bandit).value
        runs_at = []
        for run in range(runs):
            policy = ls.RotationUCB(bandit.n_arms, initial=bandit.initial, seed=run)
            played = ls.simulate(bandit, policy, horizon, run)
            runs_at.append(average * points - played.cumulative_means[points - 1])
        curves[name] = {
            "rounds": points.tolist(),
            "regret": np.mean(runs_at, axis=0).round(2).tolist(),
            "share": (np.mean(runs_at, axis=0) / (average * points)).tolist(),
        }
    return curves


def draw_regret(curves: Mapping[str, Mapping[str, Sequence[float]]], stem: str) -> None:
    """Draw regret against rounds, in total and per round; logarithmic, as it spans decades."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    from lastswitch._utils.drawing import FAINT, colour, house_style, save_figure

    with house_style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.7))
        for number, (name, curve) in enumerate(curves.items()):
            left.plot(curve["rounds"], curve["regret"], color=colour(number), label=name)
            right.plot(curve["rounds"], 100 * np.array(curve["share"]), color=colour(number))
        left.set(ylabel="rewards lost so far", title="Regret of RotationUCB")
        right.set(ylabel="share of the optimum lost", title="The same, of what could be earned")
        for axes in (left, right):
            axes.set(xscale="log", yscale="log", xlabel="rounds")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}"))
            axes.grid(visible=True, which="major", color=FAINT)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_formatter(NullFormatter())
        left.yaxis.set_major_formatter(FuncFormatter(lambda lost, _: f"{lost:,.0f}"))
        right.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:g} %"))
        left.legend(loc="upper left")
        figure.tight_layout()
        save_figure(figure, stem, formats=("png", "svg"))
        plt.close(figure)


def compare_learners(quick: bool) -> None:
    """Print and keep the tables."""
    runs, horizon = (2, 2000) if quick else (10, 10_000)
    paper = paper_table(runs)
    print_table("share of the optimum, the paper's instances", paper)
    cases = suite(horizon)
    rows, every = suite_table(cases, ON_SUITE[:3] if quick else ON_SUITE, 1 if quick else 3)
    print_table(f"share of the optimum, {len(cases)} random instances, T = {horizon}", rows)
    families = family_table(every)
    print_table("the same, by family", families)
    ours, paper_s = every["RotationUCB"], every["ISICombUCB1"]
    behind = [case for case in ours if np.mean(ours[case]) < np.mean(paper_s[case])]
    print(f"instances where ISICombUCB1 earns more than RotationUCB: {behind or 'none'}")
    subjects = subjects_table(1 if quick else 5)
    print_table("50 subjects × 200 rounds, sharing what is learned", subjects)
    if not quick:
        about = "Share of the best possible expected total; 95 % intervals over runs or instances."
        each = [
            {"instance": case.name, "optimum": "exact" if case.exact else "bound"}
            | {name: float(np.mean(every[name][case.name])) for name in ON_SUITE}
            for case in cases
        ]
        tables = {
            "the paper's instances": paper,
            "random instances, by size": rows,
            "random instances, by family": families,
            "fifty subjects at once": subjects,
            "every random instance": each,
        }
        keep("learning", "Learning", about, tables)


def follow_regret(quick: bool, figure: str | None) -> None:
    """Print, keep and draw how RotationUCB's regret grows."""
    curves = regret_curves(10_000 if quick else 1_000_000, 1 if quick else 2)
    rows = [
        {"instance": name, **{f"T = {T:,}": _at(curve, T) for T in (10**3, 10**4, 10**5, 10**6)}}
        for name, curve in curves.items()
    ]
    print_table("regret of RotationUCB", rows)
    if figure:
        draw_regret(curves, figure)
    if not quick:
        about = "Regret of RotationUCB against the optimal average, mean of two runs."
        keep("learning_regret", "Learning: regret over a million rounds", about, {"regret": rows})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison and keep its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, shorter horizons")
    parser.add_argument("--part", choices=["all", "tables", "regret"], default="all")
    parser.add_argument("--figure", default=None, help="draw the regret curves to this stem")
    options = parser.parse_args(arguments)
    if options.part in ("all", "tables"):
        compare_learners(options.quick)
    if options.part in ("all", "regret"):
        follow_regret(options.quick, options.figure)


def _at(curve: Mapping[str, Sequence[float]], rounds: int) -> float | None:
    """Return the regret at ``rounds``, between the points kept."""
    if rounds > curve["rounds"][-1]:
        return None
    return float(np.interp(rounds, curve["rounds"], curve["regret"]))


if __name__ == "__main__":
    main()
