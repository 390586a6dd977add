"""How long true optima take, and how that grows: ``python -m benchmarks.optima [--quick]``.

Each row is one bandit: how many joint states its arms' tables span, how many are left once states
and arms that behave alike are merged and what play never reaches is dropped, and the seconds of
``optimal_average`` and of ``optimal_total`` once compiled. The last column is a plain Python
policy-free reference (value iteration until the bounds meet) over the same answer, in multiples
of the library's time, where it ends within ten seconds.

A second table has ten arms of depth 8, of every random family: how many of their best averages, and
best totals over ten thousand rounds, are proven within five seconds each, and how far value and
bound are apart where not.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import lastswitch as ls
from benchmarks._table import keep, print_table
from benchmarks.learning import FAMILIES
from lastswitch._utils.random import stream
from lastswitch.model.instances import five_arms, two_arms
from lastswitch.planning.diagrams.arm_states import arm_states

#: (arms, rest states per arm) of the random monotone bandits; the last ones span millions.
SIZES = [(3, 8), (4, 8), (4, 16), (5, 12), (5, 16), (6, 11), (5, 21), (6, 14)]
QUICK_SIZES = SIZES[:4]
HORIZON = 5112
PATIENCE = 10.0
#: The ten-arm bandits: family f's are drawn with the seeds base + its number.
MANY_ARMS, DEPTH = 10, 8
BASES = (300, 2000, 3000, 3100)
LONG, SECONDS = 10_000, 5.0


def monotone(n_arms: int, depth: int) -> ls.Bandit:
    """Return arms whose pay rises with rest up to ``depth``."""
    rng = stream(0, "optima", n_arms, depth)
    return ls.Bandit([ls.Curve(np.sort(rng.random(depth)), [0.0]) for _ in range(n_arms)])


def seconds_of(call: Callable[[], object]) -> float:
    """Return the best of up to five timings, one if it is slow."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
        if times[-1] > 1.0:
            break
    return min(times)


def reference_seconds(bandit: ls.Bandit, answer: float) -> float | None:
    """Time plain value iteration on dictionaries of states until its mean is near ``answer``."""
    began = time.perf_counter()
    machines = [arm_states(curve) for curve in bandit.curves]
    start = tuple(machine.at(1) for machine in machines)
    graph: dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]] = {}
    frontier = [start]
    while frontier:
        state = frontier.pop()
        if state in graph:
            continue
        if time.perf_counter() - began > PATIENCE:
            return None
        moves = []
        for arm in range(len(machines)):
            after = tuple(
                m.on_pull[s] if k == arm else m.on_idle[s]
                for k, (m, s) in enumerate(zip(machines, state, strict=True))
            )
            moves.append((machines[arm].pay[state[arm]], after))
        graph[state] = moves
        frontier += [after for _, after in moves]
    values, rounds = dict.fromkeys(graph, 0.0), 0
    while rounds == 0 or abs(values[start] / rounds - answer) > 1e-3:
        values = {s: max(pay + values[after] for pay, after in graph[s]) for s in graph}
        rounds += 1
        if time.perf_counter() - began > PATIENCE:
            return None
    return time.perf_counter() - began


def optima_rows(sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Measure the paper's bandits and random ones of growing size."""
    cases = [("paper, five arms", five_arms()), ("paper, two arms", two_arms())]
    cases += [(f"monotone {k} × {depth}", monotone(k, depth)) for k, depth in sizes]
    ls.optimal_total(five_arms(), 10)  # compiles
    rows = []
    for name, bandit in cases:
        best = ls.optimal_average(bandit)
        average = (
            best.seconds
            if best.seconds > 1
            else seconds_of(lambda bandit=bandit: ls.optimal_average(bandit))
        )
        total = ls.optimal_total(bandit, HORIZON)
        plain = reference_seconds(bandit, best.value)
        spanned = math.prod(len(arm_states(curve)) for curve in bandit.curves)
        rows.append(
            {
                "bandit": name,
                "joint states": f"{spanned:,}",
                "listed": f"{best.states:,}",
                "best average": f"{best.value:.6f}"
                + ("" if best.optimal else f" ≤ {best.bound:.6f}"),
                "average, s": average,
                "total, s": total.seconds,
                "plain / ours": f"over {PATIENCE / average:.0f}"
                if plain is None
                else f"{plain / average:.0f}",
            }
        )
    return rows


def many_arms_rows(bases: tuple[int, ...]) -> list[dict[str, Any]]:
    """Measure what is proven of ten arms in time, family by family."""
    rows = []
    for number, family in enumerate(FAMILIES):
        bandits = [
            ls.instances.random_bandit(family, MANY_ARMS, DEPTH, seed=base + number)
            for base in bases
        ]
        averages = [ls.optimal_average(bandit, time_limit=SECONDS) for bandit in bandits]
        totals = [ls.optimal_total(bandit, LONG, time_limit=SECONDS) for bandit in bandits]
        row: dict[str, Any] = {"family": family}
        for what, found in (("average", averages), ("total", totals)):
            proven = sum(best.optimal for best in found)
            row[f"{what}: proven"] = f"{proven} of {len(found)}"
            row[f"{what}: mean gap"] = f"{np.mean([best.gap for best in found]):.3%}"
            row[f"{what}: worst"] = f"{max(best.gap for best in found):.3%}"
            row[f"{what}: s"] = float(np.mean([best.seconds for best in found]))
        frequency = [ls.average_bound(bandit) for bandit in bandits]
        loose = [most / best.value - 1 for most, best in zip(frequency, averages, strict=True)]
        row["frequency bound"] = f"{np.mean(loose):.2%}"
        rows.append(row)
    return rows


def pinwheel_line(longest: int) -> str:
    """Decide every dense pinwheel instance of up to five tasks, and say how long it took."""
    dense = [
        periods
        for size in range(1, 6)
        for periods in combinations_with_replacement(range(1, longest + 1), size)
        if sum(Fraction(1, period) for period in periods) == 1
    ]
    began = time.perf_counter()
    bandits = [ls.instances.pinwheel(list(periods)) for periods in dense]
    yes = sum(ls.optimal_average(bandit).fraction == 1 for bandit in bandits)
    seconds = time.perf_counter() - began
    return (
        f"dense pinwheel, up to 5 tasks, periods up to {longest}: {len(dense)} instances, "
        f"{yes} schedulable, {len(dense) - yes} not, decided in {seconds:.2f} s"
    )


def main(quick: bool) -> None:
    """Print the table and the pinwheel line, and keep them."""
    rows, line = optima_rows(QUICK_SIZES if quick else SIZES), pinwheel_line(12)
    print_table(f"true optima, once compiled (total over {HORIZON} rounds)", rows)
    many = many_arms_rows(BASES[:1] if quick else BASES)
    print_table(f"ten arms of depth {DEPTH}, {SECONDS:g} s each (total over {LONG} rounds)", many)
    print(line)
    if not quick:
        about = (
            "How long `optimal_average` and `optimal_total` (over 5,112 rounds) take once "
            "compiled. States that behave alike are merged, those play never reaches are dropped, "
            "and of large graphs only states that fall little short of the frequency bound are "
            "looked at. The last column is plain value "
            f"iteration on dictionaries of states, stopped after {PATIENCE:g} seconds, in "
            f"multiples of our time. Besides, {line}. The second table has {MANY_ARMS} arms of "
            f"depth {DEPTH}, {len(BASES)} bandits per family, given {SECONDS:g} seconds for the "
            f"best average and as many for the best total over {LONG:,} rounds: how many are "
            "proven, the gap between value and bound, and by how much the frequency bound alone "
            "exceeds the average."
        )
        keep("optima", "True optima", about, {"optima": rows, "ten arms": many})


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
