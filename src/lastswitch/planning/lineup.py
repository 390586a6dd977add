"""The machines of a search as they stand: priced, some taken together, hopeless arcs deleted."""

from __future__ import annotations

import math

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch.planning.automata import StateArray
from lastswitch.planning.bundle import Bundle
from lastswitch.planning.machines import Machines
from lastswitch.planning.prices import Prices


class Lineup:
    """Machines, their prices, and the arms each of them stands for.

    Blocks worth at most ``settled`` may no longer be in it; every other block is.

    Parameters
    ----------
    prices
        The priced machines.
    members
        The arms of each machine, in the order of its members.
    twins
        A label per machine; machines with equal labels are next to each other and alike.
    aim
        Only blocks worth more than this are of interest, even where worse ones would be better
        than the incumbent.

    Examples
    --------
    >>> from lastswitch.planning.automata import block_automata
    >>> from lastswitch.planning.machines import compact
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = BlockProblem([[0.9], [0.2]], [[0.1], [0.2]], [[0.5] * 3, [0.4] * 3])
    >>> machines = compact(block_automata(problem))
    >>> Lineup(Prices(machines), [[0], [1]], np.arange(2)).cluster is None
    True
    """

    def __init__(
        self,
        prices: Prices,
        members: list[list[int]],
        twins: IntArray,
        aim: float = -math.inf,
    ) -> None:
        self.prices, self.members, self.twins, self.aim = prices, members, twins, aim
        self.slack = math.inf  # from the bound down to the floor when arcs were last deleted
        self.settled = -math.inf

    @property
    def machines(self) -> Machines:
        """What is priced."""
        return self.prices.machines

    @property
    def is_bundled(self) -> bool:
        """Whether its prices are moved by a bundle method."""
        return isinstance(self.prices, Bundle)

    @property
    def cluster(self) -> int | None:
        """Which machine is a product; None if none is."""
        sizes = [len(arms) for arms in self.members]
        return int(np.argmax(sizes)) if max(sizes) > 1 else None

    def arms(self, machine: StateArray, member: StateArray) -> IntArray:
        """Return which arms these are: so many-th members of machines."""
        if len(self.twins) == sum(map(len, self.members)):  # one arm each
            heads: IntArray = np.array(self.members)[:, 0]
            return heads[machine]
        pairs = zip(machine.tolist(), member.tolist(), strict=True)
        return np.array([self.members[i][j] for i, j in pairs])

    def exchange(self, machines: Machines) -> None:
        """Put equal machines, with fewer states, in the place of these."""
        prices = self.prices
        self.prices = type(prices)(machines, prices.price, prices.claims, prices.params)

    def copy(self) -> Lineup:
        """Return a lineup that may take machines together without this one doing so."""
        copy = Lineup(self.prices, [list(arms) for arms in self.members], self.twins.copy())
        copy.slack, copy.settled = self.slack, self.settled
        return copy

    def bundled(self, aim: float = -math.inf) -> Lineup:
        """Return a copy whose prices are moved by a bundle method, on their own."""
        copy, prices = self.copy(), self.prices
        copy.prices = Bundle(prices.machines, prices.price, prices.claims, prices.params)
        copy.aim = aim
        return copy

    def join(self, one: int, other: int, machines: Machines) -> None:
        """Take up ``machines``, in which the product of two is in the place of the first."""
        claims = self.prices.claims.copy()
        claims[one] += claims[other]
        self.twins[one] = -1 - self.members[one][0]  # a product is like no other machine
        self.members[one] += self.members[other]
        del self.members[other]
        self.twins = np.delete(self.twins, other)
        claims = np.delete(claims, other, axis=0)
        prices = self.prices
        self.prices = type(prices)(machines, prices.price, claims, prices.params)

    def arm_claims(self) -> FloatArray:
        """Return how much of each slot each arm claims; a product's members share alike."""
        claims = self.prices.claims
        by_arm = np.empty((sum(map(len, self.members)), claims.shape[1]))
        for arms, share in zip(self.members, claims, strict=True):
            by_arm[arms] = share / len(arms)
        return by_arm
