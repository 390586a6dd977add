"""Policies that learn nothing: a fixed cycle, and the greedy oracle."""

from __future__ import annotations

from collections.abc import Sequence

from lastswitch.errors import BlockError
from lastswitch.learning.policy import Mask, Policy
from lastswitch.learning.tracks import Track


class FixedCycle(Policy):
    """Plays one block for ever.

    A subject whose next arm is not allowed skips forward to the next one that is, or plays the
    first allowed arm if the cycle holds none.

    Parameters
    ----------
    block
        Arms in playing order.
    n_arms
        Number of arms; by default just enough for the block.
    initial
        States every subject starts in.

    Examples
    --------
    >>> policy = FixedCycle([0, 1, 1])
    >>> [policy.ask().arm for _ in range(4)]
    [0, 1, 1, 0]
    """

    def __init__(
        self, block: Sequence[int], n_arms: int | None = None, *, initial: int | Sequence[int] = 1
    ) -> None:
        self.block = [int(arm) for arm in block]
        if not self.block or min(self.block) < 0:
            raise BlockError(f"a cycle needs at least one arm, each 0 or more, got {block!r}.")
        super().__init__(max(self.block) + 1 if n_arms is None else n_arms, initial=initial)
        if max(self.block) >= self.n_arms:
            raise BlockError(f"block {block!r} names an arm beyond the {self.n_arms} arms.")

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the cycle."""
        block, at = self.block, track.at
        if allowed is not None:
            steps = (s for s in range(len(block)) if allowed[block[(at + s) % len(block)]])
            step = next(steps, None)
            if step is None:
                return allowed.index(True)
            at = (at + step) % len(block)
        track.at = at + 1 if at + 1 < len(block) else 0
        return block[at]
