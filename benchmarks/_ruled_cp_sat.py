"""A ruled problem for CP-SAT, in a process of its own: the flows as JSON in, result as JSON out.

The same program HiGHS gets (:mod:`lastswitch.planning.milp.flows`), with pays in millionths. Run as
``python -m benchmarks._ruled_cp_sat SECONDS < flow.json``.
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

    model = cp_model.CpModel()
    flows = [
        model.new_bool_var("") if most == 1 else model.new_int_var(0, most, "")
        for most in data["upper"]
    ]
    rows: list[list[tuple[int, int]]] = [[] for _ in data["right"]]
    for row, column, value in zip(data["rows"], data["columns"], data["values"], strict=True):
        rows[row].append((column, value))
    for row, right in zip(rows, data["right"], strict=True):
        if right == 1 and all(value == data["upper"][column] == 1 for column, value in row):
            model.add_exactly_one(flows[column] for column, _ in row)
        else:
            model.add(sum(value * flows[column] for column, value in row) == right)
    pays = [round(UNIT * pay) for pay in data["cost"]]
    model.maximize(sum(pay * flow for pay, flow in zip(pays, flows, strict=True) if pay))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2  # flows live by their linear relaxation
    solver.parameters.max_time_in_seconds = seconds
    began = time.perf_counter()
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "proven": status == cp_model.OPTIMAL,
        "found": found,
        "value": solver.objective_value / UNIT if found else None,
        "bound": solver.best_objective_bound / UNIT,
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    print(json.dumps(solve(json.load(sys.stdin), float(sys.argv[1]))))
