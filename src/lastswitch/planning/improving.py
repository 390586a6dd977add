"""How a search comes by better blocks: a few arms planned anew, and walks to blocks close by."""

from __future__ import annotations

import functools

from lastswitch._arrays import FloatArray
from lastswitch.planning.lineup import Lineup
from lastswitch.planning.neighbourhood import TRY_WORK, Neighbourhoods
from lastswitch.planning.record import Record
from lastswitch.planning.walking import Walk


class Improving(Record):
    """A record that can better its block. Parameters are those of a record.

    ``guide`` is the price of every slot, and how much of it each arm claims, while no arms are
    taken together: prices of products tell little about single arms.
    """

    guide: tuple[FloatArray, FloatArray]

    @functools.cached_property
    def large(self) -> bool:
        """Whether the problem has so many slots and arms that a proof is mostly out of reach."""
        return self.automata.n_arms * self.automata.length > self.params.large

    def plan_anew(self, lineup: Lineup) -> None:
        """Plan a few arms at a time anew, until that has failed again and again.

        At most as much work as everything before: where the incumbent is the best block, all of
        this is in vain. If it was, it goes on with more arms at a time when it is called again.
        """
        if self.blurred or self.block is None:
            return
        before, failures, most = self.value, 0, 2 * self.work
        around, (price, claims) = self._around, self.guide
        while failures < around.patience and self.work < most:
            better, work = around.improved(self.block, price, claims, self.rounding)
            self.work += TRY_WORK + work
            failures += 1
            if better is not None:
                value = self.value
                self.offer(better)
                failures = 0 if self.value > value else failures
            self.check(lineup)
        if self.value == before:
            around.widen()

    def walk(self, lineup: Lineup, share: float | None = None) -> None:
        """Look for better blocks a few steps away, with a share of all work; by default the usual.

        That is nothing at first: most problems are proven sooner than a walk gets anywhere. A walk
        that has been in vain for long gets less, unless it gets all there is.
        """
        if self.blurred or self.block is None:
            return
        if share is None:
            late = self.work >= self.params.walk_from[self.large]
            share = self.params.walk_share[self.large] if late else 0.0
        walk, (price, claims) = self._walk, self.guide
        least = share if share == 1.0 else min(share, self.params.walk_tired)
        while walk.work < (least if walk.tired else share) * (self.work + walk.work):
            better = walk.better(self.block, self.value, price, claims, self.rounding)
            if better is not None:
                self.offer(better)
            self.check(lineup)

    @functools.cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods(self.automata, self.params)

    @functools.cached_property
    def _walk(self) -> Walk:
        return Walk(self.automata, self.params)
