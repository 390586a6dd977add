"""What has to be planned: one block of slots, and what every pull in it would pay.

An arm's pay depends on its own pulls only, so three tables say everything: ``first`` (the arm's
first pull in the block), ``rest`` (a pull after a pause) and ``streak`` (a pull right after
another). See Laforgue et al. (2022), Eq. (8) for the objective with ``first`` = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.checks import check_bandit, check_flag
from lastswitch.errors import BlockError, ProblemError
from lastswitch.model.packed import pack
from lastswitch.model.states import Start, as_array, as_start, moved
from lastswitch.planning._tables import (
    checked_length,
    checked_mask,
    checked_run,
    checked_table,
    held,
)
from lastswitch.planning.terminal import Terminal, fitting

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit


class Pulled(NamedTuple):
    """One slot of a block as it was paid.

    ``tau`` is the state the arm was pulled in, counted inside the block; ``None`` for the arm's
    first pull, whose state the block alone does not tell.
    """

    arm: int
    tau: int | None
    pay: float


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BlockProblem:
    """A block of ``length`` slots to fill, one arm per slot, for the largest total pay.

    Parameters
    ----------
    rest
        Table (K, R): a pull ``g >= 2`` slots after the arm's previous one pays ``rest[i, g-2]``,
        the entry of the state ``g - 1``. Shorter tables hold their last column.
    streak
        Table (K, S): a pull right after ``r`` pulls in a row pays ``streak[i, r-1]``, the entry
        of the state ``-r``. Shorter tables hold their last column.
    first
        Table (K, d): the pay of the arm's first pull in the block, by slot. ``d`` is the length.
    run
        Streak length of each arm before the block (0 by default): a pull of slot 0 continues it.
    allowed
        Which arms may take which slot: a table (d, K) of True and False; or which arms may play
        at all: one True or False per arm, or a list of arms by number. All of them by default.
    distinct_start
        The first two slots go to different arms: the constraint CA of Laforgue et al. (2022).
    terminal
        What the memories left at the end are worth; nothing by default.

    Examples
    --------
    >>> problem = BlockProblem(rest=[[0.9], [0.2]], streak=[[0.1], [0.2]], first=[[0] * 4] * 2)
    >>> problem.n_arms, problem.length
    (2, 4)
    >>> problem.value([0, 1, 0, 1])
    1.1
    """

    rest: FloatArray
    streak: FloatArray
    first: FloatArray
    run: IntArray
    allowed: BoolArray
    distinct_start: bool
    terminal: Terminal | None

    def __init__(
        self,
        rest: ArrayLike,
        streak: ArrayLike,
        first: ArrayLike,
        *,
        run: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        distinct_start: bool = False,
        terminal: Terminal | None = None,
    ) -> None:
        tables = {
            "rest": checked_table("rest", rest, 2),
            "streak": checked_table("streak", streak, 2),
        }
        first = checked_table("first", first, 2)
        check_flag("distinct_start", distinct_start)
        n_arms, length = first.shape
        if n_arms == 0 or length == 0:
            raise ProblemError(
                f"first needs a row per arm and a column per slot, at least 1; got {first.shape}."
            )
        for (name, table), needed in zip(tables.items(), (3, 2), strict=True):
            if table.shape[0] != n_arms:
                raise ProblemError(
                    f"{name} has {table.shape[0]} rows and first has {n_arms}; "
                    "give one row per arm in each."
                )
            if table.shape[1] == 0 and length >= needed:
                raise ProblemError(
                    f"{name} has no column, and a block of {length} slots can "
                    "need one; give at least one value per arm."
                )
        fields = {
            **tables,
            "first": first,
            "run": checked_run(run, n_arms),
            "allowed": checked_mask(allowed, length, n_arms),
            "distinct_start": bool(distinct_start),
            "terminal": fitting(terminal, n_arms),
        }
        for name, field in fields.items():
            object.__setattr__(self, name, field)
        self._check_feasible()

    @classmethod
    def from_bandit(
        cls,
        bandit: Bandit,
        length: int,
        start: Start = "initial",
        allowed: ArrayLike | None = None,
        distinct_start: bool = False,
    ) -> BlockProblem:
        """Return the problem of planning ``length`` rounds of ``bandit``.

        From ``"initial"`` (the bandit's own start) or a state vector the first pull of each arm
        pays what that state pays; from ``"unknown"`` it pays nothing (the calibrated reward of
        Laforgue et al. (2022)).

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([ls.Curve(rest=[0.5, 0.9], streak=[0.1])])
        >>> BlockProblem.from_bandit(bandit, 3, start=[1]).first
        array([[0.5, 0.9, 0.9]])
        """
        check_bandit("BlockProblem.from_bandit", bandit)
        length = checked_length(length)
        tau = as_start(start, bandit.start())
        if tau is None:
            run, first = None, np.zeros((bandit.n_arms, length))
        else:
            run = np.maximum(-tau, 0)
            slots = np.arange(length)
            states = np.maximum(tau, 0)[:, None] + slots  # an arm in a streak rests from 0
            states[:, 0] = tau
            first = pack(bandit.curves).pays(states)
        # Streaks hold their last value, so no more columns than the longest table are needed.
        depth = max(len(curve.streak) for curve in bandit.curves)
        rest, streak = bandit.tables(max(length - 2, 1), depth)
        return cls(rest, streak, first, run=run, allowed=allowed, distinct_start=distinct_start)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return int(self.first.shape[0])

    @property
    def length(self) -> int:
        """How many slots there are."""
        return int(self.first.shape[1])

    @property
    def scale(self) -> float:
        """The largest entry of all tables, by size."""
        tables = [self.rest, self.streak, self.first]
        if self.terminal is not None:
            tables += [self.terminal.rest, self.terminal.streak, self.terminal.unplayed]
        return max(float(np.abs(table).max(initial=0.0)) for table in tables)

    def __repr__(self) -> str:
        return f"BlockProblem({self.n_arms} arms, {self.length} slots)"

    def offers(self, block: Sequence[int] | IntArray) -> FloatArray:
        """Return what each arm would pay in each slot (d, K), were it pulled there after ``block``.

        Examples
        --------
        >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
        >>> problem.offers([0, 1, 0])
        array([[0. , 0. ],
               [0.1, 0. ],
               [0.9, 0.2]])
        """
        memory: list[int | None] = [None] * self.n_arms
        offers = np.empty((self.length, self.n_arms))
        for slot, arm in enumerate(self._checked(block)):
            offers[slot] = [self._pay(i, memory[i], slot) for i in range(self.n_arms)]
            self._step(memory, arm, slot)
        return offers

    def pulls(self, block: Sequence[int] | IntArray) -> list[Pulled]:
        """Return slot by slot which arm is pulled, in which state, and what it pays.

        Examples
        --------
        >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0] * 3] * 2)
        >>> problem.pulls([0, 1, 0])[2]
        Pulled(arm=0, tau=1, pay=0.9)
        """
        arms = self._checked(block)
        memories, _ = self._memories(arms)
        return list(map(Pulled, arms, memories, self._pays(arms, memories)))

    def value(self, block: Sequence[int] | IntArray) -> float:
        """Return what ``block`` is worth: its pays and, if any, the terminal values.

        This is the definition every solver is tested against.

        Examples
        --------
        >>> BlockProblem([[0.9]], [[0.1]], [[0.5] * 3]).value([0, 0, 0])
        0.7
        """
        return self.worth(block)[0]

    def size(self, block: Sequence[int] | IntArray) -> float:
        """Return the sum of what ``block`` pays, each term by its size: what rounding goes by.

        Examples
        --------
        >>> BlockProblem([[0.9]], [[-0.1]], [[0.5] * 2]).size([0, 0])
        0.6
        """
        return self.worth(block)[1]

    def worth(self, block: Sequence[int] | IntArray) -> tuple[float, float]:
        """Return the :meth:`value` and the :meth:`size` of ``block``, which is played once.

        Examples
        --------
        >>> BlockProblem([[0.9]], [[-0.1]], [[0.5] * 2]).worth([0, 0])
        (0.4, 0.6)
        """
        arms = self._checked(block)
        memories, left = self._memories(arms)
        terms = self._pays(arms, memories)
        if self.terminal is not None:
            terms += [self.terminal.worth(arm, tau) for arm, tau in enumerate(left)]
        return float(sum(terms)), float(sum(map(abs, terms)))

    def with_pays(self, rest: FloatArray, streak: FloatArray, first: FloatArray) -> BlockProblem:
        """Return this problem with other pays, for callers that plan again and again.

        Only their shapes are checked, which is why it is quick: the tables must be finite float64
        arrays.

        Examples
        --------
        >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.5] * 3])
        >>> problem.with_pays(problem.rest, np.array([[0.25]]), problem.first).value([0, 0, 0])
        1.0
        """
        rows = len(rest) == len(streak) == len(first)
        if not rows or first.shape != self.first.shape or not (rest.shape[1] and streak.shape[1]):
            raise ProblemError(
                f"this problem has {self.n_arms} arms and {self.length} slots; got tables of "
                f"shapes rest {rest.shape}, streak {streak.shape}, first {first.shape}."
            )
        other = object.__new__(BlockProblem)
        pays = {"rest": _view(rest), "streak": _view(streak), "first": _view(first)}
        other.__dict__.update(self.__dict__)
        other.__dict__.update(pays)
        return other

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain lists, for JSON.

        Examples
        --------
        >>> problem = BlockProblem([[0.9]], [[0.1]], [[0.5] * 3])
        >>> BlockProblem.from_dict(problem.to_dict()).value([0, 0, 0])
        0.7
        """
        terminal = None
        if self.terminal is not None:
            terminal = {k: getattr(self.terminal, k).tolist() for k in Terminal.__slots__}
        return {
            "rest": self.rest.tolist(),
            "streak": self.streak.tolist(),
            "first": self.first.tolist(),
            "run": self.run.tolist(),
            "allowed": self.allowed.tolist(),
            "distinct_start": self.distinct_start,
            "terminal": terminal,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BlockProblem:
        """Return the problem that :meth:`to_dict` wrote down."""
        fields = dict(data)
        terminal = fields.pop("terminal", None)
        tables = [fields.pop(name) for name in ("rest", "streak", "first")]
        # A table without columns becomes a list of empty lists, so every shape survives.
        return cls(*tables, terminal=None if terminal is None else Terminal(**terminal), **fields)

    def _memories(self, arms: list[int]) -> tuple[list[int | None], list[int | None]]:
        """Return the memory each slot's arm is pulled in, and those that all arms are left in.

        Only the arm that is pulled is looked at, so this takes one step per slot.
        """
        last = [-1] * self.n_arms  # slot of the arm's latest pull, and the run it ended
        row = self.run.tolist()
        memories: list[int | None] = []
        for slot, arm in enumerate(arms):
            before = last[arm]
            memories.append(None if before < 0 else slot - before - 1 or -row[arm])
            # A pull goes on with the run it follows, in slot 0 with that from before the block.
            row[arm] = row[arm] + 1 if before == slot - 1 else 1
            last[arm] = slot
        ends = (
            None if t < 0 else self.length - t - 1 or -r for t, r in zip(last, row, strict=True)
        )
        return memories, list(ends)

    def _pays(self, arms: list[int], memories: list[int | None]) -> list[float]:
        """Return what each slot pays, its arm in this memory: as :meth:`_pay`, all at once."""
        first, rest, streak = self.first.item, self.rest.item, self.streak.item
        rests, runs = self.rest.shape[1], self.streak.shape[1]
        return [
            first(arm, slot)
            if tau is None
            else (rest(arm, min(tau, rests) - 1) if tau > 0 else streak(arm, min(-tau, runs) - 1))
            for slot, (arm, tau) in enumerate(zip(arms, memories, strict=True))
        ]

    def _pay(self, arm: int, tau: int | None, slot: int) -> float:
        """Return what ``arm`` pays in ``slot`` from the memory ``tau`` (None: not pulled yet)."""
        if tau is None:
            return self.first.item(arm, slot)
        return held(self.rest if tau > 0 else self.streak, arm, abs(tau) - 1)

    def _step(self, memory: list[int | None], arm: int, slot: int) -> None:
        """Move every memory on after ``arm`` took ``slot``."""
        for i, tau in enumerate(memory):
            if i == arm:
                running = int(self.run[i]) if tau is None and slot == 0 else 0
                memory[i] = moved(-running if tau is None else tau, True)
            elif tau is not None:
                memory[i] = moved(tau, False)

    def _checked(self, block: Sequence[int] | IntArray) -> list[int]:
        """Return ``block`` as a list after checking that this problem admits it."""
        arms = as_array(block)
        if arms.shape != (self.length,):
            raise BlockError(f"block has shape {arms.shape}; this problem has {self.length} slots.")
        if arms.dtype.kind not in "iu":
            raise BlockError(f"block must hold arm numbers (integers), got dtype {arms.dtype}.")
        listed: list[int] = arms.tolist()
        known = min(listed) >= 0 and max(listed) < self.n_arms
        if not known or not all(map(self.allowed.item, range(self.length), listed)):
            self._refuse(arms)
        if self.distinct_start and self.length > 1 and arms[0] == arms[1]:
            raise BlockError(
                f"slots 0 and 1 both name arm {arms[0]}; distinct_start asks for two "
                "different arms."
            )
        return listed

    def _refuse(self, arms: IntArray) -> None:
        """Name the first slot whose arm does not exist or is not allowed there."""
        for slot, arm in enumerate(arms.tolist()):
            if not 0 <= arm < self.n_arms:
                known = f"the arms are 0 to {self.n_arms - 1}"
                raise BlockError(f"slot {slot} names arm {arm}; {known}.")
            if not self.allowed[slot, arm]:
                raise BlockError(f"slot {slot} names arm {arm}, which `allowed` forbids there.")

    def _check_feasible(self) -> None:
        """Refuse a mask that no block can satisfy, naming the slot."""
        counts = self.allowed.sum(axis=1)
        if not counts.all():
            slot = int(np.argmin(counts))
            raise ProblemError(
                f"no arm is allowed in slot {slot}; allow one in every slot (row) of `allowed`."
            )
        if self.distinct_start and self.length > 1:
            both = self.allowed[:2].any(axis=0)
            if both.sum() < 2:
                raise ProblemError(
                    f"only arm {int(np.argmax(both))} is allowed in slots 0 and 1, and "
                    "distinct_start asks for two; allow another in slot 1 or drop distinct_start."
                )


def _view(table: FloatArray) -> FloatArray:
    """Return a read-only view, as every table of a problem is."""
    view = np.ascontiguousarray(table, dtype=np.float64).view()
    view.flags.writeable = False
    return view
