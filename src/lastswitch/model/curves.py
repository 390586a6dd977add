"""What an arm pays: :class:`Curve`, and the shapes people have names for.

A curve says what an action pays after ``tau`` rounds of rest (its *rest curve*) and what it pays
when it has already been played ``r`` times in a row (its *streak curve*, ``tau = -r``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import (
    check_choice,
    check_flag,
    check_unit,
    check_whole,
    is_number,
    shown,
)
from lastswitch.errors import CurveError, InputTypeError
from lastswitch.model.states import Tau, as_array, check_reach, column

Tail = Literal["hold", "repeat"]
SideKind = Literal["constant", "nondecreasing", "arbitrary"]
#: The longest table a named shape makes; more is a slip of the pen, and would fill the memory.
MOST_ROUNDS = 1_000_000


class Support(NamedTuple):
    """How many states of each side can be told apart by what they pay, now or later."""

    rest: int
    streak: int


class Kind(NamedTuple):
    """The shape of each side, the index of Laforgue et al. (2022), Table 1."""

    rest: SideKind
    streak: SideKind


@dataclass(frozen=True, repr=False)
class Curve:
    r"""Mean reward of one arm in every state :math:`\tau`, Laforgue et al. (2022), Definition 1.

    Parameters
    ----------
    rest
        ``rest[k]`` is what the arm pays after ``k + 1`` rounds of rest, :math:`\mu(k + 1)`.
    streak
        ``streak[k]`` is what it pays after ``k + 1`` plays in a row, :math:`\mu(-(k + 1))`. It
        must not rise: a longer streak never pays more.
    tail
        Beyond the rest table: ``"hold"`` its last value, or ``"repeat"`` the table for ever
        (seasons). Beyond the streak table the last value always holds.
    monotone
        ``False`` accepts a streak that rises. The paper's guarantees are then void (its Table 1,
        last column); planning and learning still work.

    Examples
    --------
    >>> jazz = Curve(rest=[0.2, 0.5, 0.9], streak=[0.1, 0.0])
    >>> jazz(1), jazz(3), jazz(50), jazz(-1), jazz(-7)
    (0.2, 0.9, 0.9, 0.1, 0.0)
    >>> jazz([2, -2]).tolist()
    [0.5, 0.0]
    """

    rest: tuple[float, ...]
    streak: tuple[float, ...]
    tail: Tail = "hold"
    monotone: bool = field(default=True, kw_only=True, compare=False)

    def __init__(
        self,
        rest: ArrayLike,
        streak: ArrayLike,
        tail: Tail = "hold",
        *,
        monotone: bool = True,
    ) -> None:
        check_choice("tail", tail, get_args(Tail), CurveError)
        check_flag("monotone", monotone)
        rests, streaks = _table(rest, "rest", 1), _table(streak, "streak", -1)
        if monotone:
            _check_streak(streaks)
        object.__setattr__(self, "rest", rests)
        object.__setattr__(self, "streak", streaks)
        object.__setattr__(self, "tail", tail)
        object.__setattr__(self, "monotone", monotone)

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def from_delays(cls, values: ArrayLike, tail: Tail = "hold") -> Curve:
        """Build a curve from pay by *delay*, the rounds since the last play.

        Delay 1 is a repeat, so it becomes a constant streak; delay ``j >= 2`` is a rest of
        ``j - 1`` rounds. This is the only bridge between the two conventions of the literature.

        Examples
        --------
        >>> Curve.from_delays([0.0, 0.0, 0.95, 0.0])
        Curve(rest=[0, 0.95, 0], streak=[0])
        """
        pays = _table(values, "delays", 1)
        return cls(pays[1:] or pays, pays[:1], tail)

    @overload
    def __call__(self, tau: int) -> float: ...
    @overload
    def __call__(self, tau: Sequence[int] | NDArray[np.integer]) -> FloatArray: ...
    def __call__(self, tau: int | Sequence[int] | NDArray[np.integer]) -> float | FloatArray:
        """Return what the arm pays in state ``tau``; 0 is answered as -1, "just played"."""
        if type(tau) is int:
            return self._at(tau)
        states = as_array(tau)
        if not np.issubdtype(states.dtype, np.integer):
            raise InputTypeError(
                f"tau must be an integer or an array of integers, got {tau!r} "
                f"of type {states.dtype}."
            )
        if states.ndim == 0:
            return self._at(int(states))
        if states.size:
            check_reach(states)
        # Unsigned states would wrap around.
        pays: FloatArray = self._table[self.column(states.astype(np.int64))]
        return pays

    def _at(self, tau: int) -> float:
        return self._values[self.column(tau)]

    def column(self, tau: Tau) -> Tau:
        """Return where the pay of state ``tau`` stands in the rest table and then the streak table.

        Examples
        --------
        >>> Curve([0.2, 0.9], [0.1]).column(7), Curve([0.2, 0.9], [0.1]).column(-7)
        (1, 2)
        """
        return column(tau, len(self.rest), len(self.streak), self.tail == "repeat")

    @cached_property
    def _hash(self) -> int:  # bandits of many arms are looked up by their curves
        # Of numbers only: the hash of a text differs from one process to the next.
        return hash((self.rest, self.streak, self.tail == "repeat"))

    @cached_property
    def _values(self) -> tuple[float, ...]:
        return self.rest + self.streak

    @cached_property
    def _table(self) -> FloatArray:
        return np.array(self._values)

    def support(self) -> Support:
        """Count the states that can be told apart: rest states ``1..D``, streak states ``-1..-S``.

        A curve flat from ``D`` on has ``D`` rest states (the last one stands for all deeper ones);
        a season of period ``p`` has ``p``.

        Examples
        --------
        >>> Curve([0.1, 0.5, 0.5, 0.5], [0.1, 0.0, 0.0]).support()
        Support(rest=2, streak=2)
        >>> Curve([0.1, 0.5, 0.1, 0.5], [0.1], tail="repeat").support()
        Support(rest=2, streak=1)
        """
        rest = _period(self.rest) if self.tail == "repeat" else _flat_from(self.rest)
        return Support(rest, _flat_from(self.streak))

    @property
    def is_constant(self) -> bool:
        """Whether the arm pays the same in every state."""
        return len({*self.rest, *self.streak}) == 1

    @property
    def kind(self) -> Kind:
        """The kind of each side: constant, nondecreasing (in tau) or arbitrary.

        Examples
        --------
        >>> Curve([0.2, 0.9], [0.2, 0.1]).kind
        Kind(rest='nondecreasing', streak='nondecreasing')
        >>> Curve([0.2, 0.9], [0.2], tail="repeat").kind.rest
        'arbitrary'
        """
        rest = _kind(self.rest)
        if rest == "nondecreasing" and self.tail == "repeat":
            rest = "arbitrary"  # a season falls back at the end of each period
        return Kind(rest, _kind(self.streak[::-1]))

    def __repr__(self) -> str:
        tail = "" if self.tail == "hold" else f", tail={self.tail!r}"
        free = "" if self.monotone else ", monotone=False"
        return f"Curve(rest={_brief(self.rest)}, streak={_brief(self.streak)}{tail}{free})"


def constant(pay: float) -> Curve:
    """Pay the same whatever was played before.

    Examples
    --------
    >>> constant(0.3)(-4), constant(0.3)(12)
    (0.3, 0.3)
    """
    return Curve([pay], [pay])


def step(at: int, high: float, low: float = 0.0) -> Curve:
    """Pay ``low`` until rested ``at`` rounds, and ``high`` from then on: a cool-down.

    Examples
    --------
    >>> step(at=3, high=0.8, low=0.1)([-1, 1, 2, 3, 9]).tolist()
    [0.1, 0.1, 0.1, 0.8, 0.8]
    """
    return Curve([low] * (_rounds(at, "at") - 1) + [high], [low])


def spike(at: int, high: float, low: float = 0.0) -> Curve:
    """Pay ``high`` after exactly ``at`` rounds of rest, and ``low`` otherwise.

    Examples
    --------
    >>> spike(at=2, high=0.95)([-1, 1, 2, 3]).tolist()
    [0.0, 0.0, 0.95, 0.0]
    """
    return Curve([low] * (_rounds(at, "at") - 1) + [high, low], [low])


def periodic(values: ArrayLike, streak: ArrayLike) -> Curve:
    """Repeat ``values`` along the rest side: a season. ``streak`` is a pay or a table of pays.

    Examples
    --------
    >>> periodic([0.1, 0.2, 0.9], streak=0.0)([3, 4, 6]).tolist()
    [0.9, 0.1, 0.9]
    """
    return Curve(values, np.atleast_1d(np.asarray(streak)), "repeat")


def satiating(fresh: float, floor: float, after: int) -> Curve:
    """Pay ``fresh`` when rested; wear out in equal steps to ``floor`` at the ``after``-th repeat.

    Examples
    --------
    >>> satiating(fresh=0.8, floor=0.2, after=3)([1, -1, -2, -3, -9]).tolist()
    [0.8, 0.6, 0.4, 0.2, 0.2]
    """
    check_unit("fresh", fresh)
    check_unit("floor", floor)
    steps = np.arange(1, _rounds(after, "after") + 1) / after
    return Curve([fresh], np.round((1 - steps) * fresh + steps * floor, 12))


def recovering(ceiling: float, after: int, low: float = 0.0) -> Curve:
    """Recharge from ``low`` (a repeat) to ``ceiling``, quickly at first, full ``after`` rounds.

    The rest curve is concave: each further round of rest brings less than the one before.

    Examples
    --------
    >>> recovering(ceiling=0.8, after=4)([-1, 1, 2, 3, 4, 9]).tolist()
    [0.0, 0.35, 0.6, 0.75, 0.8, 0.8]
    """
    check_unit("ceiling", ceiling)
    check_unit("low", low)
    rested = np.arange(1, _rounds(after, "after") + 1) / after
    left = (1 - rested) ** 2
    return Curve(np.round((1 - left) * ceiling + left * low, 12), [low])


#: The named shapes, as a bandit's file and the command line know them.
SHAPES: dict[str, Callable[..., Curve]] = {
    "constant": constant,
    "step": step,
    "spike": spike,
    "periodic": periodic,
    "satiating": satiating,
    "recovering": recovering,
}


@contextmanager
def naming_arm(arm: str) -> Iterator[None]:
    """Put the arm's name in front of any :class:`CurveError` raised inside.

    Examples
    --------
    >>> with naming_arm("jazz"):
    ...     Curve([1.5], [0.0])
    Traceback (most recent call last):
    lastswitch.errors.CurveError: arm 'jazz': rest must lie in [0, 1], got 1.5 ...
    """
    try:
        yield
    except CurveError as error:
        raise CurveError(f"arm {arm!r}: {error}") from error


def _table(values: ArrayLike, side: str, sign: int) -> tuple[float, ...]:
    """Return ``values`` as a tuple of floats in [0, 1]; ``sign`` gives the tau an error names."""
    given = as_array(values)
    try:
        # Text, complex numbers, dates and None would be read as other numbers than they are.
        kind = given.dtype.kind
        if kind not in "biuf" and not (kind == "O" and all(map(is_number, given.flat))):
            raise TypeError
        array = given.astype(float)
    except (TypeError, ValueError) as error:
        raise CurveError(f"{side} must be a list of numbers, got {shown(values)}.") from error
    if array.ndim != 1 or array.size == 0:
        raise CurveError(
            f"{side} must be a list with at least one number, got {shown(values)}; "
            "for a pay that never changes give one number in a list, such as [0.3]."
        )
    for index, value in enumerate(array.tolist()):
        if not 0.0 <= value <= 1.0:  # also refuses NaN
            at = f"delay {index + 1}" if side == "delays" else f"tau {sign * (index + 1)}"
            raise CurveError(
                f"{side} must lie in [0, 1], got {value} at {at}; scale rewards to [0, 1] first."
            )
    return tuple((array + 0.0).tolist())  # + 0.0 turns -0.0 into 0.0


def _check_streak(streak: tuple[float, ...]) -> None:
    for run, (shorter, longer) in enumerate(pairwise(streak), start=1):
        if longer > shorter:
            raise CurveError(
                f"streak must not rise: tau {-run} pays {shorter} but tau {-run - 1} pays "
                f"{longer}; pass monotone=False to allow it (the paper's guarantees are void)."
            )


def _rounds(value: int, name: str) -> int:
    return check_whole(name, value, 1, CurveError, MOST_ROUNDS)


def _flat_from(values: tuple[float, ...]) -> int:
    """Return the length of ``values`` without its constant tail (which counts once)."""
    size = len(values)
    while size > 1 and values[size - 2] == values[-1]:
        size -= 1
    return size


def _period(values: tuple[float, ...]) -> int:
    """Return the smallest period of the endless repetition of ``values``."""
    size = len(values)
    return next(
        p for p in range(1, size + 1) if size % p == 0 and values == values[:p] * (size // p)
    )


def _kind(values: tuple[float, ...]) -> SideKind:
    if len(set(values)) == 1:
        return "constant"
    return "nondecreasing" if all(a <= b for a, b in pairwise(values)) else "arbitrary"


def _brief(values: tuple[float, ...], shown: int = 8) -> str:
    texts = [f"{value:.6g}" for value in values[:shown]]
    if len(values) > shown:
        texts.append(f"... {len(values)} values")
    return "[" + ", ".join(texts) + "]"
