"""The doubling trick: a policy that needs a horizon, for those who have none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lastswitch._checks import check_whole
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.tracks import Track


class Anytime(Policy):
    """Runs ``factory(horizon=T)`` for T rounds, then afresh for 2T, for 4T, and so on.

    Laforgue et al. (2022) after Theorem 1: the doubling trick keeps the order of the bound without
    knowing the horizon. Rounds are counted over all subjects. Every epoch forgets what the one
    before has learned; the states of the arms carry over, and a reward told after its epoch has
    ended teaches nothing.

    Parameters
    ----------
    factory
        Builds the policy of an epoch, called with ``horizon``. Give a policy class or a
        :func:`functools.partial` of one if the policy is to be saved.
    first
        Rounds of the first epoch.

    Examples
    --------
    >>> from functools import partial
    >>> from lastswitch.learning import ISICombUCB1
    >>> policy = Anytime(partial(ISICombUCB1, 3, solver="brute-force"), first=50)
    >>> for _ in range(160):
    ...     policy.tell(policy.ask().id, 0.5)
    >>> policy.inner.horizon
    200
    """

    def __init__(self, factory: Callable[..., Policy], first: int = 128) -> None:
        if not callable(factory):
            raise InputTypeError(
                f"factory must build a policy from a horizon, got {factory!r}; "
                "for example partial(ISICombUCB1, n_arms)."
            )
        self.factory = factory
        self.first = check_whole("first", first, 1, PolicyError)
        self.epoch = 0
        self.left = self.first  # rounds to go in this epoch
        self.inner = self._build()
        super().__init__(self.inner.n_arms, initial=self.inner.initial)
        self._share()

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return what this epoch's policy chooses."""
        if not self.left:
            self.epoch += 1
            self.left = self.first << self.epoch
            self.inner = self._build()
            self._share()
        epoch, memory = track.memory or (-1, None)
        if epoch != self.epoch:  # the block and the memory belong to an earlier policy
            track.block, track.at, track.cache, memory = (), 0, None, None
        track.memory = memory
        arm = self.inner.choose(track, allowed)
        self.inner._rewards.append(math.nan)  # so that it knows how often it was asked
        track.memory = [self.epoch, track.memory]
        track.note = [self.epoch, track.note]
        self.left -= 1
        return arm

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Pass the reward on, if its epoch has not ended."""
        epoch, inner_note = note
        if epoch == self.epoch:
            self.inner.learn(pull, reward, inner_note)

    def missed(self, pull: Pull, note: Any) -> None:
        """Pass the news on, if its epoch has not ended."""
        epoch, inner_note = note
        if epoch == self.epoch:
            self.inner.missed(pull, inner_note)

    def state(self) -> dict[str, Any]:
        """Return the epoch and what its policy has learned."""
        from lastswitch.learning.saving import generator_state

        inner = {"state": self.inner.state(), "generator": generator_state(self.inner.generator)}
        return {"epoch": self.epoch, "left": self.left, "inner": inner}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` returned."""
        from lastswitch.learning.saving import generator_from

        self.epoch, self.left = state["epoch"], state["left"]
        self.inner = self._build()
        self.inner.restore(state["inner"]["state"])
        self.inner.generator = generator_from(state["inner"]["generator"])
        self._share()
        asked = (self.first << self.epoch) - self.left
        self.inner._rewards.extend([math.nan] * asked)

    def _share(self) -> None:
        """Let this epoch's policy see the subjects: some plan differently for one and for many."""
        self.inner._tracks = self._tracks

    def _build(self) -> Policy:
        """Return a fresh policy for the present epoch."""
        policy = self.factory(horizon=self.first << self.epoch)
        if not isinstance(policy, Policy):
            raise InputTypeError(f"factory must build a Policy, got {type(policy).__name__}.")
        return policy
