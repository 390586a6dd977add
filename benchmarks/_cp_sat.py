"""The block problem for CP-SAT, in a process of its own: problem as JSON in, result as JSON out.

OR-Tools and HiGHS carry the same symbols and cannot live in one process. Run as
``python -m benchmarks._cp_sat SECONDS < problem.json``. Calibrated problems with constant streaks
only: an arc per arm and pair of successive pulls, which suits CP-SAT best.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

#: CP-SAT wants integers: pays in millionths.
UNIT = 1_000_000


def solve(data: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return the value, the bound and the seconds CP-SAT took, on one worker."""
    from ortools.sat.python import cp_model

    rest, streak, first = data["rest"], data["streak"], data["first"]
    n_arms, length = len(first), len(first[0])
    model = cp_model.CpModel()
    gains: list[tuple[Any, int]] = []
    taken: list[list[Any]] = [[] for _ in range(length)]
    for arm in range(n_arms):
        # A path through the slots: node 0 is "before and after", node t + 1 is slot t.
        arcs = [(0, 0, model.new_bool_var(""))]
        for slot in range(length):
            out, back = model.new_bool_var(""), model.new_bool_var("")
            skip = model.new_bool_var("")
            arcs += [(0, slot + 1, out), (slot + 1, 0, back), (slot + 1, slot + 1, skip)]
            gains.append((out, round(UNIT * first[arm][slot])))
            taken[slot].append(skip.negated())
            for later in range(slot + 1, length):
                var, delay = model.new_bool_var(""), later - slot
                row = rest[arm] if delay > 1 else streak[arm]
                pay = row[min(max(delay - 2, 0), len(row) - 1)]
                arcs.append((slot + 1, later + 1, var))
                gains.append((var, round(UNIT * pay)))
        model.add_circuit(arcs)
    for slot in range(length):
        model.add_exactly_one(taken[slot])
    model.maximize(sum(pay * var for var, pay in gains))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    began = time.perf_counter()
    status = solver.solve(model)
    return {
        "proven": status == cp_model.OPTIMAL,
        "found": status in (cp_model.OPTIMAL, cp_model.FEASIBLE),
        "value": solver.objective_value / UNIT,
        "bound": solver.best_objective_bound / UNIT,
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    print(json.dumps(solve(json.load(sys.stdin), float(sys.argv[1]))))
