"""The relaxation a search works on: priced machines, some merged, hopeless arcs deleted.

There are two, which differ in what couples the machines. Of *arms alone* one is played in every
round. Arms *with shared automata* have rules, and a round may play several of them, or none. What
is done with them is the same: :class:`Relaxation` prices, reduces and merges either.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lastswitch._utils.arrays import BoolArray, FloatArray, IntArray
from lastswitch.planning.diagrams.diagram import Diagram, StateArray
from lastswitch.planning.diagrams.minimise import Pause, minimal
from lastswitch.planning.diagrams.sharing import Joint, Machine, joint
from lastswitch.planning.search import merge
from lastswitch.planning.search.beam import Beam
from lastswitch.planning.search.bundle import Bundle
from lastswitch.planning.search.opportunity import cost_to_others, n_arms, reduced
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.shared_beam import SharedBeam, most_moves

if TYPE_CHECKING:
    from lastswitch.planning.playing import RoundsPlayed

#: A merge of shared automata is undone if it brings the bound less than this share closer, times
#: how much it makes the diagram grow, and less than that one.
LEAST_GAIN, MOST_GAIN = 0.03, 0.2
#: Labels that a merge may have, at most.
MOST_LABELS = 2_000
_NONE = np.empty(0, np.bool_)


class AnyBeam(Protocol):
    """What a search asks of a beam, whichever relaxation it is of."""

    def run(self, floor: float, budget: int) -> bool:
        """Go on for about so much work; return whether the end of the schedule was reached."""

    @property
    def dropped(self) -> float:
        """The best bound dropped for lack of width so far."""

    @property
    def work(self) -> int:
        """What a pass costs, in states swept."""

    def open_bound(self) -> float:
        """Return the best bound of what this pass has not settled yet."""

    def best(self) -> tuple[float, int]:
        """Return the value and the node of the best complete schedule; (-inf, -1) if none."""


class Relaxation:
    """Machines, their prices, and the arms each of them stands for.

    Schedules worth at most ``settled`` may no longer be in it; every other one is.

    Parameters
    ----------
    prices
        The priced machines.
    machines
        What each of them is made of.
    alike
        A label per machine with arms; those with equal labels are next to each other and alike.
    target
        Only schedules worth more than this are of interest, even where worse ones would be better
        than the incumbent.

    Examples
    --------
    >>> from lastswitch.planning.diagrams.build import block_model
    >>> from lastswitch.planning.diagrams.minimise import compact
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3, [0.4] * 3])
    >>> diagram = compact(block_model(problem))
    >>> Relaxation(Prices(diagram), single_arms([0, 1]), np.arange(2)).cluster is None
    True
    """

    def __init__(
        self,
        prices: Prices,
        machines: list[Machine],
        alike: IntArray,
        target: float = -math.inf,
    ) -> None:
        self.prices, self.machines, self.alike, self.target = prices, machines, alike, target
        self.slack = math.inf  # from the bound down to the floor when arcs were last deleted
        self.settled = -math.inf
        self.grown = False  # whether its last merge cost more than it was worth

    @property
    def diagram(self) -> Diagram:
        """What is priced."""
        return self.prices.diagram

    @property
    def is_bundled(self) -> bool:
        """Whether its prices are moved by a bundle method."""
        return isinstance(self.prices, Bundle)

    @property
    def cluster(self) -> int | None:
        """Which machine is the largest merge; None if none is."""
        sizes = [len(machine.members) + int(machine.inside.sum()) for machine in self.machines]
        return int(np.argmax(sizes)) if max(sizes) > 1 else None

    @property
    def sweep(self) -> int:
        """The work of a step of the prices: states and arcs looked at."""
        shared = self.prices.sharing is not None
        return self.diagram.size if shared else len(self.prices.worth)

    def exchange(self, diagram: Diagram) -> None:
        """Put an equal diagram, with fewer states, in the place of this one."""
        self.prices = self.prices.again(diagram)

    def copy(self) -> Relaxation:
        """Return a relaxation that may merge machines without this one doing so."""
        copy = Relaxation(self.prices, list(self.machines), self.alike.copy())
        copy.slack, copy.settled = self.slack, self.settled
        return copy

    def bundled(self, target: float = -math.inf) -> Relaxation:
        """Return a copy whose prices are moved by a bundle method, on their own."""
        copy = self.copy()
        copy.prices = self.prices.again(self.diagram, kind=Bundle)
        copy.target = target
        return copy

    def state(self) -> tuple[Prices, list[Machine], IntArray]:
        """Return what :meth:`restore` takes to undo merges."""
        return self.prices, list(self.machines), self.alike.copy()

    def restore(self, state: tuple[Prices, list[Machine], IntArray]) -> None:
        """Undo merges that were worth less than they cost; there are no more from here on."""
        self.prices, self.machines, self.alike = state
        self.slack, self.grown = math.inf, True

    def outgrew(self, state: tuple[Prices, list[Machine], IntArray], floor: float) -> bool:
        """Whether the last merge lowered the bound by less than it makes everything else slower."""
        before = state[0]
        lowered = before.bound - self.prices.bound
        growth = self.diagram.size / before.diagram.size
        return lowered < min(LEAST_GAIN * growth, MOST_GAIN) * (before.bound - floor)

    def reduced(self, floor: float, pause: Pause | None, rounding: float | None) -> Diagram | None:
        """Return the diagram without arcs of no use above ``floor``; None: nothing is above it."""
        return reduced(self.prices, floor, pause, rounding)

    def rivals(self, floor: float, limit: int) -> tuple[int, int, int] | None:
        """Return the two machines to merge next, and how many states to make room for."""
        sharing = self.prices.sharing
        speaks = None
        if sharing is not None:
            speaks = np.zeros((len(self.machines), len(self.machines)), np.bool_)
            speaks[:, sharing.n_arms :] = self._speaking()[:, sharing.alone]
        prices, params = self.prices, self.prices.params
        return merge.rivals(prices, self.cluster, floor, limit, params, speaks)

    def merged(
        self,
        one: int,
        other: int,
        floor: float,
        room: tuple[int, int],
        pause: Pause,
        rounding: float | None,
    ) -> Diagram | None:
        """Merge two machines, at the place of the first, and return the diagram there is then.

        None if nothing is worth more than ``floor``; :class:`~.merge.TooLarge` if there is no room.
        """
        prices = self.prices
        charge = cost_to_others(prices, one, other, floor, rounding)
        if prices.sharing is None:
            size = len(self.machines[one].members)
            diagram = merge.merged(prices, one, other, size, floor, room, pause, charge)
            if diagram is not None:
                members = self.machines[one].members + self.machines[other].members
                self._join(one, other, diagram, Machine(members, self.machines[one].inside, {}))
            return diagram
        if other < one:
            one, other = other, one  # arms first
        rest = np.delete(np.arange(len(self.machines)), [one, other])
        outside = np.atleast_1d(self._speaking()[rest].any(axis=0))
        labels = joint(prices.sharing, self.machines[one], self.machines[other], outside)
        if len(labels.machine.pulled) > MOST_LABELS:
            raise merge.TooLarge
        diagram = merge.merged(prices, one, other, labels, floor, room, pause, charge)
        if diagram is not None:
            self._join(one, other, diagram, labels.machine, labels)
        return diagram

    def _join(
        self, one: int, other: int, diagram: Diagram, machine: Machine, labels: Joint | None = None
    ) -> None:
        """Take up a diagram in which the merge of two machines is in the place of the first."""
        usage, sharing = self.prices.usage.copy(), None
        usage[one] += usage[other]
        if labels is not None:
            sharing, arms = labels.sharing, labels.sharing.n_arms
            if other < arms:
                sharing = sharing._replace(n_arms=arms - 1)
            else:
                sharing = sharing._replace(alone=np.delete(sharing.alone, other - arms))
        self.alike[one] = -1 - self.machines[one].members[0]  # a merge is like no other machine
        if other < len(self.alike):
            self.alike = np.delete(self.alike, other)
        self.machines[one] = machine
        del self.machines[other]
        usage = np.delete(usage, other, axis=0)
        self.prices = self.prices.again(diagram, usage=usage, sharing=sharing)

    def _speaking(self) -> BoolArray:
        """Return which machines may say anything to which automata."""
        sharing = self.prices.sharing
        assert sharing is not None
        return np.array(
            [sharing.heard[list(each.pulled)].any(axis=0) for each in self.machines]
        ).reshape(len(self.machines), -1)

    def finished(self, pause: Pause) -> Diagram | None:
        """With one machine left, return what it may do: its best path is the best schedule.

        None if it can do nothing. Of several plays a round the prices become those of silence, at
        which the bound is the value of that path.
        """
        m, sharing = self.diagram, self.prices.sharing
        idle, nxt = np.full_like(m.idle, -1), m.nxt.copy()
        least = 1
        if sharing is not None:
            least = sharing.least
            nxt[sharing.plays[m.label] < least] = -1
            self.prices.price[: m.length] = sharing.silence
        last = np.arange(m.lo[-1], m.hi[-1]) if least else slice(None)
        idle[last] = m.idle[last]
        return minimal(m._replace(idle=idle, nxt=nxt), pause)

    def beam(self, width: int, blur: float, again: AnyBeam | None = None) -> AnyBeam:
        """Return a beam of this width; ``again`` may be an earlier one over the same machines."""
        prices = self.prices
        if isinstance(again, Beam):
            again.start()
            return again
        if prices.sharing is None:
            return Beam(
                *(prices.diagram, self.alike, width, prices.worth, prices.price, prices.params)
            )
        return SharedBeam(prices, self.machines, self.alike, width, blur, prices.params)

    def bytes_per_node(self) -> int:
        """Return how much memory one place in a beam takes."""
        n, d, sharing = len(self.machines), self.diagram.length, self.prices.sharing
        if sharing is None:
            return Beam.bytes_per_node(n, d, self.prices.params)
        depth = most_moves(self.machines, sharing)
        return SharedBeam.bytes_per_node(n, d, depth, self.prices.params)

    def schedule(self, beam: AnyBeam, node: int) -> IntArray | RoundsPlayed:
        """Return the arms on the way to a node of a complete schedule."""
        if isinstance(beam, SharedBeam):
            return beam.rounds(node)
        assert isinstance(beam, Beam)
        return self._arms(*beam.way_to(node))

    def _arms(self, machine: StateArray, member: StateArray) -> IntArray:
        """Return which arms these are: so many-th members of machines."""
        if len(self.alike) == sum(len(each.members) for each in self.machines):  # one arm each
            heads: IntArray = np.array([each.members[0] for each in self.machines])
            return heads[machine]
        pairs = zip(machine.tolist(), member.tolist(), strict=True)
        return np.array([self.machines[i].members[j] for i, j in pairs])

    def arm_usage(self) -> FloatArray:
        """Return how much of each round each arm uses; the members of a merge share alike."""
        usage = self.prices.usage
        machines = self.machines[: n_arms(self.prices)]
        by_arm = np.empty((sum(len(each.members) for each in machines), usage.shape[1]))
        for machine, share in zip(machines, usage, strict=False):
            by_arm[machine.members] = share / len(machine.members)
        return by_arm


def single_arms(arms: list[int]) -> list[Machine]:
    """Return machines of one arm each, which share no automata."""
    return [Machine([arm], _NONE, {}) for arm in arms]
