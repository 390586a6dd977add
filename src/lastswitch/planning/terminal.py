"""What the memories that a block leaves are worth: the end of a planning problem."""

from __future__ import annotations

from numpy.typing import ArrayLike

from lastswitch._utils.arrays import FloatArray
from lastswitch.errors import InputTypeError, ProblemError
from lastswitch.planning._tables import checked_table, held


class Terminal:
    """What each arm's memory is worth when the block ends.

    Parameters
    ----------
    rest
        Table (K, Rt): an arm last pulled ``m`` slots before the last slot adds ``rest[i, m-1]``.
    streak
        Table (K, St): an arm pulled in the last slot, ``r`` times in a row, adds
        ``streak[i, r-1]``.
    unplayed
        Vector (K,): an arm not pulled in the block adds ``unplayed[i]``.

    Examples
    --------
    >>> Terminal(rest=[[1.0, 2.0]], streak=[[-1.0]], unplayed=[0.5]).rest.shape
    (1, 2)
    """

    __slots__ = ("rest", "streak", "unplayed")

    def __init__(self, rest: ArrayLike, streak: ArrayLike, unplayed: ArrayLike) -> None:
        self.rest: FloatArray = checked_table("terminal.rest", rest, 2)
        self.streak: FloatArray = checked_table("terminal.streak", streak, 2)
        self.unplayed: FloatArray = checked_table("terminal.unplayed", unplayed, 1)
        for name, table in (("rest", self.rest), ("streak", self.streak)):
            if table.shape[1] == 0:
                raise ProblemError(
                    f"terminal.{name} has no column, shape {table.shape}; give at least one "
                    "value per arm (0 where the memory is worth nothing)."
                )

    def worth(self, arm: int, memory: int | None) -> float:
        """Return what ``arm`` adds when the block leaves it in state ``memory``.

        Examples
        --------
        >>> Terminal([[1.0, 2.0]], [[-1.0]], [0.5]).worth(0, 7)  # tables hold their last value
        2.0
        """
        if memory is None:
            return float(self.unplayed[arm])
        table = self.rest if memory > 0 else self.streak
        return held(table, arm, abs(memory) - 1)


def fitting(terminal: Terminal | None, n_arms: int) -> Terminal | None:
    """Return ``terminal`` after checking that it has one row per arm."""
    if terminal is None:
        return None
    if not isinstance(terminal, Terminal):
        raise InputTypeError(f"terminal must be a Terminal, got {type(terminal).__name__}.")
    for name in Terminal.__slots__:
        rows = getattr(terminal, name).shape[0]
        if rows != n_arms:
            raise ProblemError(
                f"terminal.{name} has {rows} rows and there are {n_arms} arms; give one per arm."
            )
    return terminal
