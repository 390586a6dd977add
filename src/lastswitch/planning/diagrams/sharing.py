"""What couples machines: how many arms a round plays, and what shared automata hear of them.

A *shared automaton* is a machine like any other, but its arcs are *events*: sums of what the plays
of a round say to it. Machines agree through their labels. A label says how many arms are pulled,
what that adds to the event of every shared automaton, and, for those that are part of the machine
itself, which event they need. So an arm and an automaton, or several of both, may be merged into
one machine: its labels are the pairs of labels that can go together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch._utils.jit import index, jit
from lastswitch.planning.diagrams.diagram import Diagram, StateArray


class Sharing(NamedTuple):
    """The labels and the shared automata, as kernels take them.

    By label: ``plays`` is how many arms it pulls, ``heard[label, m]`` what it adds to the event of
    automaton ``m``, ``need[label, m]`` the event it needs there (-1: any). ``coefficient[letter,
    label, m]`` is how often it pays the price of a letter, negative where an automaton earns it.

    The first ``n_arms`` roots are machines with arms; behind them come the automata ``alone``,
    whose label of event 0 is ``first[m]``; other events follow. An event ``n + base * n'`` is n
    plays heard as its first letter and n' as its second; ``column[m, letter, t]`` numbers the
    prices of letters, which follow those of the rounds; some share one. A round plays ``least`` to
    ``most`` arms, and an empty place pays ``silence``.

    ``cost`` becomes what each label costs in each round, ``spoken[m, letter, t]`` what the best
    paths of the arms say.
    """

    plays: IntArray
    heard: IntArray
    need: IntArray
    coefficient: IntArray
    alone: IntArray
    first: IntArray
    column: IntArray
    base: int
    n_arms: int
    least: int
    most: int
    silence: float
    cost: FloatArray
    spoken: IntArray

    @property
    def n_prices(self) -> int:
        """How many prices there are: of rounds, then of letters."""
        return len(self.cost) + int(self.column.max(initial=-1)) + 1

    def fresh(self) -> Sharing:
        """Return the same with costs of its own."""
        return self._replace(cost=np.empty((len(self.cost), len(self.plays))))

    def priced(self, price: FloatArray) -> Sharing:
        """Return the same with what its labels cost at some prices."""
        letters = price[len(self.cost) + self.column]
        cost = np.einsum("alm,mat->tl", self.coefficient, letters)
        cost += self.plays * price[: len(self.cost), None]
        return self._replace(cost=np.ascontiguousarray(cost))

    def ahead(self, price: FloatArray) -> FloatArray:
        """Return by round what this and all later rounds are worth at their prices."""
        rounds = price[: len(self.cost)]
        terms = self.least * rounds + (self.most - self.least) * np.maximum(rounds, self.silence)
        return np.append(np.cumsum(terms[::-1])[::-1], 0.0)


class Machine(NamedTuple):
    """What a machine is made of.

    ``members`` are its arms, ``inside[m]`` says whether automaton ``m`` is part of it. It moves by
    ``labels``, of which each pulls the members ``pulled[label]``; without shared automata a label
    is the place of the only member pulled, and none is listed.
    """

    members: list[int]
    inside: BoolArray
    pulled: dict[int, tuple[int, ...]]

    @property
    def is_merge(self) -> bool:
        """Whether it is more than one arm, or one automaton."""
        return len(self.members) + int(self.inside.sum()) > 1


class Joint(NamedTuple):
    """The labels of a merge of two machines.

    ``together[a + 1, b + 1]`` is the label of arcs with the labels ``a`` and ``b`` (0: idle) taken
    in the same round, -1 if they do not go together.
    """

    machine: Machine
    together: IntArray
    sharing: Sharing


def joint(sharing: Sharing, one: Machine, other: Machine, outside: BoolArray) -> Joint:
    """Return the merge of two machines, and all labels that there are then.

    ``outside[m]`` says whether other machines, too, say anything to automaton ``m``.
    """
    n, size = len(sharing.plays), len(one.members)
    first, second = (np.array([-1, *machine.pulled]) for machine in (one, other))
    plays, heard = (
        (_with_idle(table)[first][:, None] + _with_idle(table)[second])
        for table in (sharing.plays, sharing.heard)
    )
    needs = _with_idle(sharing.need)  # idling needs that nothing is heard
    need = np.where(one.inside, needs[first][:, None], -1)
    need = np.where(other.inside, needs[second], need)
    # Others must be able to add what is missing from what is heard to what is needed.
    most = np.where(outside, (sharing.most - plays)[:, :, None], 0)
    fits = plays <= sharing.most
    for wanted, said in zip(divmod(need, sharing.base), divmod(heard, sharing.base), strict=True):
        possible = (said <= wanted) & (wanted - said <= most)  # a play may say both letters
        fits &= (possible | (need < 0)).all(axis=2)
    fits[0, 0] = False
    a, b = np.nonzero(fits)
    labels = n + np.arange(len(a))
    together = np.full((n + 1, n + 1), -1, np.int64)
    together[0, 0] = 0  # idling together is no label, and always possible
    together[first[a] + 1, second[b] + 1] = labels
    pulled = {}
    for label, x, y in zip(labels.tolist(), first[a].tolist(), second[b].tolist(), strict=True):
        theirs = tuple(size + member for member in other.pulled.get(y, ()))
        pulled[label] = one.pulled.get(x, ()) + theirs
    said = _with_idle(sharing.coefficient.swapaxes(0, 1))
    coefficient = (said[first[a]] + said[second[b]]).swapaxes(0, 1)
    more = sharing._replace(
        plays=np.concatenate([sharing.plays, plays[a, b]]),
        heard=np.concatenate([sharing.heard, heard[a, b]]),
        need=np.concatenate([sharing.need, need[a, b]]),
        coefficient=np.ascontiguousarray(
            np.concatenate([sharing.coefficient, coefficient], axis=1)
        ),
    )
    machine = Machine(one.members + other.members, one.inside | other.inside, pulled)
    return Joint(machine, together, more.fresh())


def _with_idle(table: IntArray) -> IntArray:
    """Return a table by label with a last row of zeros: that of idling, label -1."""
    return np.concatenate([table, np.zeros((1, *table.shape[1:]), table.dtype)])


@jit(inline=True)
def costs(sharing: Sharing, price: FloatArray) -> None:
    """Fill what each label costs in each round: its plays and its letters, at their prices."""
    d, n = sharing.cost.shape
    for label in range(n):
        for t in range(d):
            sharing.cost[t, label] = sharing.plays[label] * price[t]
        for m in range(sharing.column.shape[0]):
            for letter in range(2):
                times = sharing.coefficient[letter, label, m]
                if times:
                    for t in range(d):
                        sharing.cost[t, label] += times * price[d + sharing.column[m, letter, t]]


@jit(inner=True)
def stock_shared(
    m: Diagram,
    source: StateArray,
    sharing: Sharing,
    price: FloatArray,
    worth: FloatArray,
    slope: FloatArray,
    paths: NDArray[np.float32],
) -> float:
    """Fill every cost-to-go, and slope and paths of the best paths; return the bound.

    Ties are broken so that what is asked for and what is offered agree: a round at the price of
    silence takes as many plays as come, an automaton hears what is said if it may as well.
    """
    d, nowhere, bound, k = len(m.lo) - 1, len(m.idle), 0.0, 0
    cost, spoken = sharing.cost, sharing.spoken
    costs(sharing, price)
    for t in range(d - 1, -1, -1):
        begin, end = m.lo[t], m.hi[t]
        for s in range(index(begin), index(end)):
            after = m.idle[s]
            worth[s] = worth[index(after if after >= 0 else nowhere)]
        for a in range(index(m.arc[begin]), index(m.arc[end])):
            s, spent = index(source[a]), cost[t, index(m.label[a])]
            v = m.gain[a] - spent + worth[index(m.nxt[a])]
            best = worth[s]
            worth[s] = v if v > best else best
    for c in range(len(slope)):
        slope[c] = 0.0
    for x in range(spoken.shape[0]):
        for t in range(d):
            spoken[x, 0, t] = 0
            spoken[x, 1, t] = 0
    for i in range(len(m.root)):
        s, alone = m.root[i], -1
        bound += worth[s]
        if i >= sharing.n_arms:
            alone = sharing.alone[i - sharing.n_arms]
        for t in range(d):
            taken = best_move(m, sharing, worth, s, t, alone)
            paths[k] = np.float32(0.0)
            s = m.idle[s] if taken < 0 else m.nxt[taken]
            if s < 0:
                return -np.inf  # no way at all
            if taken >= 0:
                label = m.label[taken]
                paths[k] = np.float32(1.0)
                speak(sharing, label, t, alone < 0, slope)
            k += 1
    for t in range(d):
        most, least, silence, pulls = sharing.most, sharing.least, sharing.silence, -slope[t]
        better = price[t] if price[t] > silence else silence
        bound += least * price[t] + (most - least) * better
        taken_rounds = float(most)
        if price[t] < silence:
            taken_rounds = float(least)
        elif price[t] == silence:
            taken_rounds = pulls if pulls > least else float(least)
            taken_rounds = taken_rounds if taken_rounds < most else float(most)
        slope[t] = taken_rounds - pulls
    return bound


@jit(inline=True)
def best_move(
    m: Diagram, sharing: Sharing, worth: FloatArray, s: int, t: int, alone: int
) -> np.int64:
    """Return an arc by which state ``s`` keeps its worth, -1 to idle.

    An automaton that is ``alone`` (else -1) takes the one that agrees with what is spoken, if any.
    """
    best, found, after = worth[s], np.int64(-1), m.idle[s]
    spoken = sharing.spoken
    idles = after >= 0 and worth[after] == best
    if idles and (alone < 0 or (spoken[alone, 0, t] == 0 and spoken[alone, 1, t] == 0)):
        return found
    for a in range(m.arc[s], m.arc[s + 1]):
        label = m.label[a]
        if m.gain[a] - sharing.cost[t, label] + worth[m.nxt[a]] == best:
            if alone < 0:
                return np.int64(a)
            event = sharing.need[label, alone]
            agrees = event == spoken[alone, 0, t] + sharing.base * spoken[alone, 1, t]
            if agrees or (found < 0 and not idles):
                found = np.int64(a)
            if agrees:
                break
    return found


@jit(inline=True)
def speak(sharing: Sharing, label: int, t: int, aloud: bool, slope: FloatArray) -> None:
    """Take what a label taken in round ``t`` uses off the slope; note what is said ``aloud``."""
    d = len(sharing.cost)
    slope[t] -= sharing.plays[label]
    for x in range(sharing.column.shape[0]):
        for letter in range(2):
            times = sharing.coefficient[letter, label, x]
            if times:
                slope[d + sharing.column[x, letter, t]] -= times
                if aloud:
                    sharing.spoken[x, letter, t] += times
