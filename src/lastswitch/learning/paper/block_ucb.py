"""Blocks planned on upper confidence bounds, played out, and planned anew.

Keeps one count and one mean per (arm, state), plans on the table U = mean + √(α log t / n), t
counting blocks, and plays the block out: what the learners of Laforgue et al. (2022) share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import check_choice, check_whole, is_number
from lastswitch.errors import PolicyError
from lastswitch.learning.estimates import Estimates, unvisited_first
from lastswitch.learning.policy import Mask, Policy
from lastswitch.learning.policy.checks import check_cells, check_counted, check_like
from lastswitch.learning.policy.tracks import FARTHEST, Track
from lastswitch.model.states import column, moved

if TYPE_CHECKING:
    from lastswitch.planning.problem import BlockProblem


class BlockUCB(Policy):
    """Base of the paper's learners: a table of estimates, and blocks planned on its bounds.

    A subject whose next arm is not allowed leaves the rest of its block and gets a new one, planned
    as if what is allowed now stayed so until the block ends.
    """

    def __init__(
        self,
        n_arms: int,
        length: int,
        alpha: float,
        streaks: bool,
        initial: int | Sequence[int],
        rewards: Sequence[float],
        solver: str,
        table: tuple[int, int],
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards)
        if not (is_number(alpha) and 0 <= alpha < np.inf):
            raise PolicyError(f"alpha must be at least 0, got {alpha!r}; the paper uses 1.5.")
        from lastswitch.planning.solve import SOLVERS

        check_choice("solver", solver, SOLVERS, PolicyError)
        check_cells("its table", self.n_arms * sum(table))
        self.length = length
        self.alpha = float(alpha)
        self.streaks = bool(streaks)
        self.solver = solver
        self.estimates = Estimates(self.n_arms, *table)
        self._usual: BlockProblem | None = None
        self.blocks = 0  # t: blocks planned so far, for all subjects together

    @abstractmethod
    def next_block(self, track: Track, allowed: Mask | None, bounds: FloatArray) -> Sequence[int]:
        """Return the arms to play next, planned on ``bounds`` (one row per arm).

        The last ``self.length`` of them are the planned part; what comes before prepares the state.
        ``learn`` is told in ``note`` how many slots of the planned part were over, negative before.
        """

    def bounds(self) -> FloatArray:
        """Return the table to plan on, one row per arm: unseen states first, then the paper's U."""
        return unvisited_first(self.estimates.optimistic(self.alpha, self.blocks + 1), self.length)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the subject's block, planning a new one where it ended."""
        block, at = track.block, track.at
        if at >= len(block) or (allowed is not None and not allowed[block[at]]):
            block = track.block = self.next_block(track, allowed, self.bounds())
            at = 0
            self.blocks += 1
        track.at = at + 1
        track.note = at + self.length - len(block)  # slots of the planned part that are over
        return block[at]

    def learned(self) -> dict[str, Any]:
        """Return the estimates and the number of blocks."""
        return {**self.estimates.to_dict(), "blocks": self.blocks}

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what :meth:`learned` returned."""
        for name, model in self.learned().items():
            check_like(name, learned[name], model)
        check_counted(learned["counts"], learned["sums"])
        self.blocks = check_whole("blocks", learned["blocks"], 0, PolicyError)
        self.estimates.restore(learned)

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse notes that are no slots of a block."""
        for note in notes:
            check_whole("a slot", note, -FARTHEST, PolicyError)

    def _tables(self, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split ``bounds`` into the planner's rest and streak tables."""
        return bounds[:, : self.estimates.rest], bounds[:, self.estimates.rest :]

    def _from_state(
        self, states: Sequence[int] | IntArray, allowed: Mask | None, bounds: FloatArray
    ) -> tuple[int, ...]:
        """Return the block that pays most when it starts from ``states``."""
        tau = np.asarray(states, dtype=np.int64)
        ahead = moved(tau, False)[:, None] + np.arange(-1, self.length - 1)
        ahead[:, 0] = tau
        seen = self.estimates
        first = bounds[np.arange(self.n_arms)[:, None], column(ahead, seen.rest, seen.streak)]
        return self._solve(bounds, first, allowed, run=np.maximum(-tau, 0))

    def _solve(
        self,
        bounds: FloatArray,
        first: FloatArray,
        allowed: Mask | None,
        *,
        run: IntArray | None = None,
        distinct_start: bool = False,
    ) -> tuple[int, ...]:
        """Plan one block on ``bounds``."""
        rest, streak = self._tables(bounds)
        # One streak column holds for every run, so only longer tables need to know it.
        if self.solver == "certified" and allowed is None and (run is None or not self.streaks):
            return self._replan(rest, streak, first, distinct_start)
        from lastswitch.planning.problem import BlockProblem
        from lastswitch.planning.solve import plan_block

        problem = BlockProblem(
            rest,
            streak,
            first,
            run=run,
            allowed=None if allowed is None else np.tile(allowed, (self.length, 1)),
            distinct_start=distinct_start,
        )
        return plan_block(problem, solver=self.solver).block

    def _replan(
        self, rest: FloatArray, streak: FloatArray, first: FloatArray, distinct_start: bool
    ) -> tuple[int, ...]:
        """Plan the usual kind of block, at a third of the cost of checking it anew every time."""
        from lastswitch.planning.certified import solve
        from lastswitch.planning.problem import BlockProblem

        rest = rest if rest.shape[1] else streak
        if self._usual is None:
            self._usual = BlockProblem(rest, streak, first, distinct_start=distinct_start)
        # Without a warm start, so that ties are not broken by earlier blocks: a policy loaded from
        # a file plans as the one that was saved.
        found = solve(self._usual.with_pays(rest, streak, first))
        return tuple(np.asarray(found.block).tolist())
