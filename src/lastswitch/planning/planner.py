"""Planning the same kind of block again and again, as a learner does.

:func:`~lastswitch.planning.plan_block` checks its problem and explains its answer. A learner that
replans every few rounds with slightly different tables needs neither: it checks the shape once,
and every plan starts from the prices and the block of the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lastswitch.errors import ProblemError
from lastswitch.planning._tables import FloatArray, IntArray
from lastswitch.planning.automata import block_tables, table_automata
from lastswitch.planning.certified import solve_automata, solve_tiny
from lastswitch.planning.problem import BlockProblem, Terminal


class Planned(NamedTuple):
    """A block and its certificate: ``bound`` >= the best possible >= ``value``."""

    block: IntArray
    value: float
    bound: float


class Planner:
    """Plans many blocks of one shape, each starting from the last.

    Parameters
    ----------
    n_arms, length
        The shape of every block.
    run, allowed, distinct_start, terminal
        As in :class:`BlockProblem`, the same for every block.
    gap, time_limit
        As in :func:`~lastswitch.planning.plan_block`, for every block.

    Examples
    --------
    >>> import numpy as np
    >>> planner = Planner(n_arms=2, length=4)
    >>> rest, streak = np.array([[0.9], [0.2]]), np.array([[0.1], [0.2]])
    >>> planned = planner.plan(rest, streak)
    >>> planned.block, round(planned.value, 3)
    (array([0, 1, 0, 1]), 1.1)
    """

    def __init__(
        self,
        n_arms: int,
        length: int,
        *,
        run: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        distinct_start: bool = False,
        terminal: Terminal | None = None,
        gap: float = 0.0,
        time_limit: float | None = None,
    ) -> None:
        zeros = np.zeros((n_arms, length))
        shape = BlockProblem(
            *(zeros, zeros, zeros),
            run=run,
            allowed=allowed,
            distinct_start=distinct_start,
            terminal=terminal,
        )
        self._tables = block_tables(shape)
        self._gap, self._time_limit = gap, time_limit
        self._block: IntArray | None = None
        self._prices: FloatArray | None = None

    def plan(
        self, rest: FloatArray, streak: FloatArray, first: FloatArray | None = None
    ) -> Planned:
        """Return the best block for these tables (first pulls pay nothing without ``first``).

        Only the number of rows and the length are checked: the tables must be finite float64
        arrays with at least one column.

        Examples
        --------
        >>> import numpy as np
        >>> planner = Planner(n_arms=1, length=2)
        >>> planner.plan(np.array([[0.5]]), np.array([[0.25]]), np.array([[1.0, 1.0]])).value
        1.25
        """
        first = self._tables.first if first is None else first
        if first.shape != self._tables.first.shape or not len(rest) == len(streak) == len(first):
            raise ProblemError(
                f"this planner is for {self._tables.first.shape[0]} arms and "
                f"{self._tables.first.shape[1]} slots; got tables of shapes rest {rest.shape}, "
                f"streak {streak.shape}, first {first.shape}."
            )
        tables = self._tables._replace(
            first=_read_only(first), rest=_read_only(rest), streak=_read_only(streak)
        )
        solution = solve_tiny(tables)
        if solution is not None:
            return Planned(np.asarray(solution.block), solution.bound, solution.bound)
        automata = table_automata(*tables)
        solution = solve_automata(
            automata,
            gap=self._gap,
            time_limit=self._time_limit,
            start_block=self._block,
            prices=self._prices,
        )
        self._block, self._prices = np.asarray(solution.block), solution.prices
        return Planned(self._block, automata.value(self._block), solution.bound)


def _read_only(table: FloatArray) -> FloatArray:
    """Return a read-only view, the form the kernels are compiled for."""
    view = np.ascontiguousarray(table, dtype=np.float64).view()
    view.flags.writeable = False
    return view
