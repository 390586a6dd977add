"""Layered decision diagrams: what an arm, a merge of arms or a shared automaton remembers.

A *diagram* has a layer of states for every round and one for the end. In each round its machine
either idles or takes one of the arcs of its state, to a state of the next layer. Diagrams with
several roots are several machines that share states. The certified solver knows nothing else, so
blocks, cycles, terminal values and rules all go through it once written in this form.

Builders may be wasteful: a diagram *as it comes* has just one arc for every state, which leads to
-1 where the arm may not be pulled. :mod:`~lastswitch.planning.diagrams.minimise` drops what cannot
be reached and merges states whose futures are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from lastswitch.planning.diagrams.shared import Shared
    from lastswitch.planning.playing import RoundsPlayed

StateArray = NDArray[np.int32]


class Diagram(NamedTuple):
    """The diagrams of some machines in one set of arrays.

    States of round ``t`` are ``lo[t] .. hi[t] - 1``, rounds in order or in reverse. State ``s``
    idles to ``idle[s]`` (-1: it may not) or takes one of the arcs ``arc[s] .. arc[s+1] - 1``, which
    lead to ``nxt``, pay ``gain`` and have a ``label``: which of the machine's arms is pulled, or,
    with shared automata, what that is to them. A state of the last layer ``d`` is worth
    ``final[s - lo[d]]``. ``root`` holds the first state of each machine.
    """

    lo: IntArray
    hi: IntArray
    idle: StateArray
    arc: IntArray
    nxt: StateArray
    gain: FloatArray
    label: StateArray
    final: FloatArray
    root: StateArray

    @classmethod
    def of(
        cls,
        offset: ArrayLike,
        idle: ArrayLike,
        pull: ArrayLike,
        pay: ArrayLike,
        final: ArrayLike,
        root: ArrayLike,
    ) -> Diagram:
        """Return arms as they come: a layer begins at each ``offset``, a state has one arc.

        One arm, one round, that pays 0.5 if pulled:

        Examples
        --------
        >>> arm = Diagram.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
        ...                  final=[0.0], root=[0])
        >>> arm.length, arm.value([0])
        (1, 0.5)
        """
        begins = np.array(offset, dtype=np.int64)
        return as_it_comes(
            begins,
            np.array(idle, dtype=np.int32),
            np.array(pull, dtype=np.int32),
            np.array(pay, dtype=np.float64) + 0.0,  # -0.0 becomes 0.0: equal pays, equal bits
            np.array(final, dtype=np.float64) + 0.0,
            np.array(root, dtype=np.int32),
        )

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return int(self.lo.shape[-1]) - 1

    @property
    def size(self) -> int:
        """How many states and arcs there are."""
        return len(self.idle) + len(self.nxt)

    @property
    def most_arcs(self) -> int:
        """How many arcs a state has at most."""
        if self.arc.base is _NUMBERS:  # one each
            return 1
        return int(np.maximum.reduce(self.arc[1:] - self.arc[:-1]))

    def sources(self) -> StateArray:
        """Return the state that each arc leaves; nobody may change it."""
        states = numbered(len(self.idle))
        if self.arc.base is _NUMBERS:
            return states
        return states.repeat(self.arc[1:] - self.arc[:-1])

    def value(self, block: Sequence[int] | IntArray) -> float:
        """Return what a block of arms as they come is worth, minus infinity if one forbids it."""
        state = self.root.copy()
        total = 0.0
        for arm in block:
            after = self.idle[state]
            after[arm] = self.nxt[state[arm]]
            if after.min() < 0:
                return -np.inf
            total += float(self.gain[state[arm]])
            state = after
        return total + float(self.final[state - self.lo[-1]].sum())

    def survey(self) -> FloatArray:
        """Return the best pay of each round, the best end, the largest size, what is forbidden.

        Of arms as they come. The size is that of a pay or an end. The last entry is 1 if some move
        is forbidden, else 0.

        Examples
        --------
        >>> Diagram.of(offset=[0, 1, 2], idle=[1, -1], pull=[1, -1], pay=[0.5, 0.0],
        ...            final=[-0.75], root=[0]).survey()
        array([ 0.5 , -0.75,  0.75,  0.  ])
        """
        end = int(self.lo[-1])
        idle, pull, pay = self.idle[:end], self.nxt[:end], self.gain[:end]
        best = np.maximum.reduceat(np.where(pull >= 0, pay, -np.inf), self.lo[:-1])
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (pay[pull >= 0], self.final))
        forbidden = min(idle.min(), pull.min()) < 0
        return np.array([*best, self.final.max(), largest, forbidden])

    def greedy(self) -> IntArray | None:
        """Return the best pay in each round as a block; None where that leads nowhere.

        Of arms as they come. An arm that may not idle is pulled, and no arm is pulled into a state
        it cannot leave.
        """
        state, block = self.root, np.empty(self.length, np.int64)
        for t in range(self.length):
            idle, pull = self.idle[state], self.nxt[state]
            open_ = pull >= 0
            if t + 1 < self.length:
                open_ &= (self.idle[pull] >= 0) | (self.nxt[pull] >= 0)
            forced = idle < 0
            if forced.any():
                open_ &= forced & (forced.sum() == 1)
            if not open_.any():
                return None
            arm = int(np.where(open_, self.gain[state], -np.inf).argmax())
            block[t], state = arm, idle
            state[arm] = pull[arm]
        return block


class Model(NamedTuple):
    """What the certified solver is given.

    Parameters
    ----------
    arms
        A machine for each arm, as they come.
    alike
        Vector (K,): arms with the same label are symmetric, so that the search treats schedules
        that only swap them as one. A hint: any labels that tell unlike arms apart are correct.
    facts
        What :meth:`Diagram.survey` returns, if a builder found it on the way; else empty.
    shared
        The automata that arms share, and how many arms a round plays; None: one, and nothing else.
    """

    arms: Diagram
    alike: IntArray
    facts: FloatArray = np.empty(0)
    shared: Shared | None = None

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arms.root)

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return self.arms.length

    def value(self, schedule: Sequence[int] | IntArray | RoundsPlayed) -> float:
        """Return what a block, or the arms of every round, are worth; -inf if it is forbidden."""
        if self.shared is None:
            return self.arms.value(schedule)  # type: ignore[arg-type]
        return self.shared.value(self.arms, schedule)  # type: ignore[arg-type]


#: The first numbers, of which all that begin with 0 and count up are a part; and as many zeros.
_NUMBERS, _SHORT, _ZEROS = (
    np.arange(20_001),
    np.arange(20_000, dtype=np.int32),
    np.zeros(20_000, np.int32),
)


def numbered(n: int) -> StateArray:
    """Return the numbers of ``n`` states, which nobody may change.

    Examples
    --------
    >>> numbered(3)
    array([0, 1, 2], dtype=int32)
    """
    return _SHORT[:n] if n <= len(_SHORT) else np.arange(n, dtype=np.int32)


def as_it_comes(
    offset: IntArray,
    idle: StateArray,
    pull: StateArray,
    pay: FloatArray,
    final: FloatArray,
    root: StateArray,
    label: StateArray | None = None,
) -> Diagram:
    """Return a diagram in which every state has one arc; no pay may be -0.0."""
    n = len(idle)
    if n <= len(_ZEROS):
        arc, zeros = _NUMBERS[: n + 1], _ZEROS[:n]
    else:
        arc, zeros = np.arange(n + 1), np.zeros(n, np.int32)
    label = zeros if label is None else label
    return Diagram(offset[:-1], offset[1:], idle, arc, pull, pay, label, final, root)


def joined(one: Diagram, other: Diagram) -> Diagram:
    """Return the machines of both, the layers of one in ranges before those of the other.

    Its ranges have several rows, as :func:`~lastswitch.planning.diagrams.minimise.minimal` takes
    them.
    """
    n, arcs = len(one.idle), len(one.nxt)

    def moved(states: StateArray) -> StateArray:
        return np.where(states >= 0, states + n, -1).astype(np.int32)

    return Diagram(
        lo=np.concatenate([np.atleast_2d(one.lo), np.atleast_2d(other.lo) + n]),
        hi=np.concatenate([np.atleast_2d(one.hi), np.atleast_2d(other.hi) + n]),
        idle=np.concatenate([one.idle, moved(other.idle)]),
        arc=np.concatenate([one.arc, other.arc[1:] + arcs]),
        nxt=np.concatenate([one.nxt, moved(other.nxt)]),
        gain=np.concatenate([one.gain, other.gain]),
        label=np.concatenate([one.label, other.label]),
        final=np.concatenate([one.final, other.final]),
        root=np.concatenate([one.root, moved(other.root)]),
    )
