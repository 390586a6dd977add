"""The paper's integer programs for one block, constraint by constraint.

Slots are counted from 0 here and from 1 in the paper. For arm i, slot t:

- ``F[i, t]``: t is the arm's first pull in the block;
- *core form* (Laforgue et al., 2022, Section 3; streaks of constant pay):
  ``Y[i, j, t]``: pulled at t with delay j, that is j slots after its last pull;
- *general form* (Appendix B): ``Y⁺[i, j, t]``: pulled at t in state j, after j slots of rest;
  ``Y⁻[i, j, t]``: pulled at t in state -j, after j pulls in a row.

With P(i, t) the sum of all variables of arm i at slot t (1 if it is pulled there):

- AC (action consistency): for all t, Σ_i P(i, t) = 1;
- UFP (unique first pull): for all i, Σ_t F[i, t] ≤ 1;
- FPF (first pulls first): for all i, t, P(i, t) - F[i, t] ≤ Σ_{s<t} F[i, s];
- CA (change action): Σ_i F[i, 1] = 1, only when ``distinct_start`` asks for it;
- TC: for all i, j, t, Y[i, j, t] + Σ_{0<s<j} Y[i, j-s, t-s] ≤ P(i, t-j);
- TC⁺: for all i, j, t, with p = t-(j+1) the pull before,
  Y⁺[i, j, t] + Σ_{0<s<j} Y⁺[i, j-s, t-s] + Σ_l Y⁻[i, l, p+1] ≤ P(i, p);
- TC⁻₁: for all i, t, Y⁻[i, 1, t] ≤ F[i, t-1] + Σ_l Y⁺[i, l, t-1];
- TC⁻₂: for all i, t, j ≥ 2, Y⁻[i, j, t] ≤ Y⁻[i, j-1, t-1].

What had to be settled, "for index limits that make sense" leaving it open:

1. A variable exists only if the pull it counts from lies in the block: 1 ≤ j ≤ t for Y and Y⁻,
   1 ≤ j ≤ t-1 for Y⁺. The text zeroes the first column only; the others must be zero too, or TC
   would refer to slots before the block.
2. The sum over s in TC and TC⁺ runs over 0 < s < j: each term is another pull whose last one is
   the same as that of ``Y[i, j, t]``. At s = j it would be a delay of 0, which does not exist.
   Read this way a pull is the last one of at most one later pull, which is all that time
   consistency means: with one first pull per arm, the pulls of an arm then form one chain forward
   in time, so each delay is what it should be.
3. The sentence introducing TC⁺ says "pulled at time step t-j"; a state of rest j means the last
   pull was at t-(j+1), as the printed formula has it.
4. The objective of the general form prints one factor ``U(i, j)`` for both ``Y⁺`` and ``Y⁻``; the
   latter is paid in state -j, so it is ``U(i, j)`` and ``U(i, -j)``.
5. Printed for calibrated blocks, the programs give first pulls no reward, start outside any streak
   and value nothing at the end. Here ``F[i, t]`` earns ``first[i, t]``; a row of pulls that began
   in slot 0 continues the streak before the block, so ``Y⁻[i, t, t]`` is paid in state
   -(t + run[i]); a forbidden pull has its variables fixed to 0. Terminal values need no new
   variable: if W(i, t) is what the arm is worth when its last pull is at t, then crediting each
   pull with W(i, t) and debiting W of the pull before it leaves exactly the last one's, and an arm
   with no pull keeps its ``unplayed`` worth.

Two remarks. TC and TC⁺ with the last slot as t imply those with earlier t (variables are
nonnegative), and FPF follows from the others. Dropping all that is implied leaves a flow along
each arm's pulls, the ``arc-flow`` form: the same relaxation with K·d rows in place of K·d². There
only ``X[i, t]`` = P(i, t), whether arm i takes slot t, need be integer (rows named SUM): once the
slots are assigned, the chain of each arm is the only flow left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch.errors import PlanError
from lastswitch.model.states import column
from lastswitch.planning.problem import BlockProblem

Form = Literal["core", "general", "arc-flow"]

FIRST, RESTED, REPEATED = 0, 1, 2


class Columns(NamedTuple):
    """The variables of one arm: what kind of pull, its slot, its index j and the pull before."""

    kind: IntArray
    slot: IntArray
    j: IntArray
    before: IntArray


@dataclass(frozen=True)
class LinearProgram:
    """max cost·x + constant over 0 ≤ x ≤ upper and low ≤ Ax ≤ high, A by rows.

    ``integer`` says which variables must be whole.
    """

    cost: FloatArray
    constant: float
    upper: FloatArray
    low: FloatArray
    high: FloatArray
    starts: IntArray
    indices: IntArray
    values: FloatArray
    integer: NDArray[np.bool_]


@dataclass(frozen=True)
class Program(LinearProgram):
    """The program of one block.

    ``arm`` and ``slot`` say what each variable plays; ``families`` counts the constraints by name,
    in order.
    """

    arm: IntArray
    slot: IntArray
    columns: Columns
    families: tuple[tuple[str, int], ...]


def build_program(problem: BlockProblem, form: Form | None = None) -> Program:
    """Return the integer program of ``problem``.

    ``form`` None picks the core form where streaks pay a constant, the general form elsewhere;
    ``"arc-flow"`` uses the variables of whichever applies and only the constraints that bind.

    Examples
    --------
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
    >>> build_program(problem).families
    (('UFP', 2), ('FPF', 4), ('TC', 6), ('AC', 3))
    """
    constant = _constant_streaks(problem)
    if form not in (None, "core", "general", "arc-flow"):
        raise PlanError(
            f"form must be 'core', 'general' or 'arc-flow', got {form!r}; None picks one."
        )
    if form == "core" and not constant:
        raise PlanError(
            "the core form needs streaks whose pay does not depend on their length; "
            "use form='general'."
        )
    core = form == "core" or (form != "general" and constant)
    columns = _core_columns(problem.length) if core else _general_columns(problem.length)
    rows = _Rows(columns)
    add_rows = _add_core_rows if core else _add_general_rows
    add_rows(rows, problem.length, form == "arc-flow")
    program = _assemble(problem, columns, rows, _cost(problem, columns, core))
    return _with_slots(problem, program) if form == "arc-flow" else program


def _constant_streaks(problem: BlockProblem) -> bool:
    """Tell whether neither a repeat nor the end of the block asks how long a streak is."""
    tables = [problem.streak]
    if problem.terminal is not None:
        tables.append(problem.terminal.streak)
    return all(bool((table == table[:, :1]).all()) for table in tables if table.shape[1])


def _core_columns(d: int) -> Columns:
    entries = [(FIRST, t, 0, -1) for t in range(d)]
    entries += [(RESTED, t, j, t - j) for t in range(d) for j in range(1, t + 1)]
    return Columns(*np.array(entries, dtype=np.int64).T)


def _general_columns(d: int) -> Columns:
    entries = [(FIRST, t, 0, -1) for t in range(d)]
    entries += [(RESTED, t, j, t - j - 1) for t in range(d) for j in range(1, t)]
    entries += [(REPEATED, t, j, t - 1) for t in range(d) for j in range(1, t + 1)]
    return Columns(*np.array(entries, dtype=np.int64).T)


class _Rows:
    """Constraints Σ plus - Σ minus ≤ bound of one arm, gathered family by family."""

    def __init__(self, columns: Columns) -> None:
        self.bound: list[float] = []
        self.row: list[int] = []
        self.column: list[int] = []
        self.value: list[float] = []
        self.families: dict[str, int] = {}
        self._at: dict[tuple[int, int], list[int]] = {}
        self._one: dict[tuple[int, int, int], int] = {}
        fields = (columns.kind.tolist(), columns.slot.tolist(), columns.j.tolist())
        for c, (kind, t, j) in enumerate(zip(*fields, strict=True)):
            self._at.setdefault((kind, t), []).append(c)
            self._one[kind, j, t] = c

    def one(self, kind: int, j: int, t: int) -> int:
        """Return the variable of this kind with index ``j`` at slot ``t``."""
        return self._one[kind, j, t]

    def pulled(self, t: int, *kinds: int) -> list[int]:
        """Return the variables of slot ``t`` of the given kinds."""
        return [c for kind in kinds for c in self._at.get((kind, t), [])]

    def add(self, family: str, plus: list[int], minus: list[int], bound: float = 0.0) -> None:
        """Add Σ ``plus`` - Σ ``minus`` ≤ ``bound``."""
        number = len(self.bound)
        self.bound.append(bound)
        self.row += [number] * (len(plus) + len(minus))
        self.column += plus + minus
        self.value += [1.0] * len(plus) + [-1.0] * len(minus)
        self.families[family] = self.families.get(family, 0) + 1


def _add_first_rows(rows: _Rows, d: int, binding_only: bool) -> None:
    """Add UFP and FPF, the same in both forms."""
    rows.add("UFP", [rows.one(FIRST, 0, t) for t in range(d)], [], 1.0)
    if not binding_only:
        for t in range(1, d):
            earlier = [rows.one(FIRST, 0, s) for s in range(t)]
            rows.add("FPF", rows.pulled(t, RESTED, REPEATED), earlier)


def _add_core_rows(rows: _Rows, d: int, binding_only: bool) -> None:
    """Add the constraints of the core form."""
    _add_first_rows(rows, d, binding_only)
    for t in [d - 1] if binding_only else range(1, d):
        for j in range(1, t + 1):
            chained = [rows.one(RESTED, j - s, t - s) for s in range(j)]
            rows.add("TC", chained, rows.pulled(t - j, FIRST, RESTED))


def _add_general_rows(rows: _Rows, d: int, binding_only: bool) -> None:
    """Add the constraints of the general form."""
    _add_first_rows(rows, d, binding_only)
    for t in [d - 1] if binding_only else range(2, d):
        for j in range(1, t):
            before = t - (j + 1)
            chained = [rows.one(RESTED, j - s, t - s) for s in range(j)]
            repeated = rows.pulled(before + 1, REPEATED)
            rows.add("TC+", chained + repeated, rows.pulled(before, FIRST, RESTED, REPEATED))
    for t in range(1, d):
        rows.add("TC-1", [rows.one(REPEATED, 1, t)], rows.pulled(t - 1, FIRST, RESTED))
    for t in range(2, d):
        for j in range(2, t + 1):
            rows.add("TC-2", [rows.one(REPEATED, j, t)], [rows.one(REPEATED, j - 1, t - 1)])


def _cost(problem: BlockProblem, columns: Columns, core: bool) -> FloatArray:
    """Return what each variable of each arm adds to the objective, shape (K, n)."""
    kind, slot, index, _ = columns
    arms = np.arange(problem.n_arms)[:, None]
    # A row of pulls that began in slot 0 goes on from the streak before the block.
    length: IntArray = index + ((kind == REPEATED) & (index == slot)) * problem.run[:, None]
    tau = np.where(kind == REPEATED, -length, index - core)  # a delay of 1 reads as τ = 0, a repeat
    held = column(tau, problem.rest.shape[1], problem.streak.shape[1])
    pays = np.hstack([problem.rest, problem.streak])[arms, held]
    cost = np.where(kind == FIRST, problem.first[:, slot], pays)
    if problem.terminal is not None:
        cost = cost + _terminal_cost(problem, columns, length)
    return np.asarray(cost, dtype=np.float64)


def _terminal_cost(
    problem: BlockProblem, columns: Columns, length: NDArray[np.int64]
) -> FloatArray:
    """Return what each variable changes of the end's worth: its own minus the pull's before."""
    end = problem.terminal
    assert end is not None
    kind, slot, _, before = columns
    arms = np.arange(problem.n_arms)[:, None]
    last = problem.length - 1

    def worth(tau: IntArray) -> FloatArray:
        held = column(tau, end.rest.shape[1], end.streak.shape[1])
        return np.asarray(np.hstack([end.rest, end.streak])[arms, held])

    opening = ((kind == FIRST) & (slot == 0)) * problem.run[:, None]
    row = np.where(kind == REPEATED, length + 1, 1 + opening)
    own = worth(np.where(slot == last, -row, last - slot))
    return np.where(kind == FIRST, own - end.unplayed[:, None], own - worth(last - before))


def _assemble(problem: BlockProblem, columns: Columns, rows: _Rows, cost: FloatArray) -> Program:
    """Repeat the rows of one arm for each arm and add what couples the arms, AC and CA."""
    K, d, n, m = problem.n_arms, problem.length, len(columns.kind), len(rows.bound)
    arm, slot = np.repeat(np.arange(K), n), np.tile(columns.slot, K)
    shift = np.arange(K)[:, None]
    row = [(np.array(rows.row, dtype=np.int64) + m * shift).ravel(), K * m + slot]
    column = [(np.array(rows.column, dtype=np.int64) + n * shift).ravel(), np.arange(K * n)]
    value = [np.tile(rows.value, K), np.ones(K * n)]
    low = [np.full(K * m, -np.inf), np.ones(d)]
    high = [np.tile(rows.bound, K), np.ones(d)]
    families = [*((name, K * count) for name, count in rows.families.items()), ("AC", d)]
    if problem.distinct_start and d > 1:
        second = np.flatnonzero((np.tile(columns.kind, K) == FIRST) & (slot == 1))
        row.append(np.full(len(second), K * m + d))
        column.append(second)
        value.append(np.ones(len(second)))
        low.append(np.ones(1))
        high.append(np.ones(1))
        families.append(("CA", 1))
    rows_of, order = np.concatenate(row), np.argsort(np.concatenate(row), kind="stable")
    counts = np.bincount(rows_of, minlength=sum(map(len, low)))
    return Program(
        cost=cost.ravel(),
        constant=0.0 if problem.terminal is None else float(problem.terminal.unplayed.sum()),
        upper=problem.allowed.T[:, columns.slot].astype(np.float64).ravel(),
        low=np.concatenate(low),
        high=np.concatenate(high),
        starts=np.concatenate([[0], np.cumsum(counts)]),
        indices=np.concatenate(column)[order],
        values=np.concatenate(value)[order],
        integer=np.ones(K * n, dtype=np.bool_),
        arm=arm,
        slot=slot,
        columns=columns,
        families=tuple(families),
    )


def _with_slots(problem: BlockProblem, program: Program) -> Program:
    """Add X[i, t] = P(i, t), the only variables that then need be integer."""
    K, d, n = problem.n_arms, problem.length, len(program.cost)
    owner = program.arm * d + program.slot
    members = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=K * d)
    # Each new row lists P(i, t) with +1 and then X[i, t] with -1.
    ends = np.cumsum(sizes)
    indices = np.insert(members, ends, n + np.arange(K * d))
    values = np.insert(np.ones(n), ends, -1.0)
    zeros = np.zeros(K * d)
    return replace(
        program,
        cost=np.append(program.cost, zeros),
        upper=np.append(program.upper, problem.allowed.T.astype(np.float64).ravel()),
        low=np.append(program.low, zeros),
        high=np.append(program.high, zeros),
        starts=np.append(program.starts, program.starts[-1] + np.cumsum(sizes + 1)),
        indices=np.append(program.indices, indices),
        values=np.append(program.values, values),
        integer=np.repeat([False, True], [n, K * d]),
        arm=np.append(program.arm, np.repeat(np.arange(K), d)),
        slot=np.append(program.slot, np.tile(np.arange(d), K)),
        families=(*program.families, ("SUM", K * d)),
    )
