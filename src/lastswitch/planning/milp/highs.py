"""HiGHS, silent and on one thread, for linear and integer programs of blocks and schedules."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.planning.milp.programs import LinearProgram

#: HiGHS' tightest safe tolerances: pays that differ by more than this are told apart.
ACCURACY = 1e-9
#: Seconds between two looks at the clock, the progress callback and Ctrl-C.
_TICK = 0.1
#: Seconds that HiGHS has for ending after Ctrl-C.
PATIENCE = 1.0


class Ended(NamedTuple):
    """How an integer program ended: the best variables (or None) and the bound on any.

    A bound of minus infinity proves that there are none; ``interrupted``: Ctrl-C ended it.
    """

    variables: FloatArray | None
    bound: float
    interrupted: bool = False


class Model:
    """One program loaded into HiGHS, its costs scaled so that pays of any size stay accurate."""

    def __init__(self, program: LinearProgram, *, integer: bool) -> None:
        highspy: Any = importlib.import_module("highspy")

        self.program = program
        self.scale = float(np.abs(program.cost).max(initial=0.0)) or 1.0
        self._highs: Any = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": ACCURACY,
            "dual_feasibility_tolerance": ACCURACY,
            "mip_feasibility_tolerance": ACCURACY,
            "mip_abs_gap": 0.0,
        }.items():
            self._highs.setOptionValue(option, value)
        self._highs.passModel(self._lp(highspy, integer))
        self._status: Any = highspy.HighsModelStatus

    def _lp(self, highspy: Any, integer: bool) -> Any:
        program, lp = self.program, highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(program.cost), len(program.low)
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = program.cost / self.scale
        lp.offset_ = program.constant / self.scale  # HiGHS' relative gap counts it in
        lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), program.upper
        lp.row_lower_, lp.row_upper_ = program.low, program.high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = program.starts
        lp.a_matrix_.index_ = program.indices
        lp.a_matrix_.value_ = program.values
        if integer:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(whole)] for whole in program.integer]
        return lp

    def relax(self, columns: IntArray, upper: FloatArray) -> float:
        """Set the upper bounds of ``columns``, solve the relaxation from where it was.

        Returns its value: minus infinity if it has no solution, infinity (which bounds
        nothing) if HiGHS cannot tell, even from scratch.
        """
        self._highs.changeColsBounds(
            len(columns), columns.astype(np.int32), np.zeros(len(columns)), upper
        )
        self._highs.run()
        if self._highs.getModelStatus() not in (self._status.kOptimal, self._status.kInfeasible):
            self._highs.clearSolver()  # a basis that led into numerical trouble
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != self._status.kOptimal:
            return -np.inf if status == self._status.kInfeasible else np.inf
        return float(self._highs.getInfo().objective_function_value) * self.scale

    def optimise(
        self,
        start: FloatArray | None,
        *,
        gap: float,
        time_limit: float | None,
        known: tuple[float, float],
        progress: Callable[[float, float, float], None] | None,
    ) -> Ended:
        """Solve the integer program from a feasible ``start``, if any; stop early when told to.

        ``known`` is the value of ``start`` and some bound, to report until HiGHS has its own.
        HiGHS runs on a thread of its own, so that Ctrl-C reaches us and cancels it politely.
        """
        highspy: Any = importlib.import_module("highspy")
        highs = self._highs
        highs.setOptionValue("mip_rel_gap", float(gap))
        if time_limit is not None:
            highs.setOptionValue("time_limit", float(time_limit))
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = start
            highs.setSolution(solution)
        latest = [known]
        if progress is not None:

            def note(event: Any) -> None:
                value, bound = event.data_out.mip_primal_bound, event.data_out.mip_dual_bound
                latest[0] = (max(known[0], value * self.scale), min(known[1], bound * self.scale))

            highs.cbMipInterrupt += note
        interrupted, ended = self._run(latest, progress)
        if not ended:
            return Ended(None, known[1], interrupted)
        info, status = highs.getInfo(), highs.getModelStatus()
        # All variables are bounded, so a program is never unbounded.
        if status in (self._status.kInfeasible, self._status.kUnboundedOrInfeasible):
            return Ended(None, -np.inf)
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        variables = np.array(highs.getSolution().col_value) if feasible else None
        bound = info.mip_dual_bound if self.program.integer.any() else np.inf
        if status == self._status.kOptimal and not np.isfinite(bound):
            bound = info.objective_function_value  # nothing was left to decide
        return Ended(variables, min(known[1], bound * self.scale), interrupted)

    def _run(
        self,
        latest: list[tuple[float, float]],
        progress: Callable[[float, float, float], None] | None,
    ) -> tuple[bool, bool]:
        """Run HiGHS, reporting on the way; return whether Ctrl-C came, and whether HiGHS ended.

        On Ctrl-C its end is brought about. While it presolves, HiGHS does not listen: then it is
        left behind on its thread, and its model with it.

        On a thread of ours: highspy's own way of doing so has one lock for all solvers of a
        process, which two threads, or a solver left behind by Ctrl-C, would wait for.
        """
        highs, began, done, interrupted = self._highs, time.perf_counter(), Event(), False
        highs.HandleUserInterrupt = True

        def solve() -> None:
            try:
                highs.solve()
            finally:
                done.set()

        worker = Thread(target=solve, daemon=True)
        patience = np.inf
        while not done.is_set() and time.perf_counter() < patience:
            try:
                if not worker.ident:
                    worker.start()
                if not done.wait(_TICK) and progress is not None:
                    progress(time.perf_counter() - began, *latest[0])
            except KeyboardInterrupt:
                interrupted, patience = True, time.perf_counter() + PATIENCE
                highs.cancelSolve()
            except BaseException:  # the callback's own trouble: stop HiGHS before passing it on
                highs.cancelSolve()
                done.wait()
                raise
        return interrupted, done.is_set()
