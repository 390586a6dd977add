"""The doubling trick: a policy that needs a horizon, for those who have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from lastswitch._utils.checks import check_whole
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.policy import Mask, Policy, Pull
from lastswitch.learning.policy.checks import generator_state, set_generator
from lastswitch.learning.policy.tracks import Track

#: No policy plays as many rounds as this epoch would have.
_LAST_EPOCH = 60


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
    >>> horizons = []
    >>> for _ in range(160):
    ...     policy.tell(policy.ask().id, 0.5)
    ...     horizons.append(policy.inner.horizon)
    >>> {horizon: horizons.count(horizon) for horizon in horizons}  # rounds so far in each epoch
    {50: 50, 100: 100, 200: 10}
    """

    def __init__(self, factory: Callable[..., Policy], first: int = 128) -> None:
        if not callable(factory):
            raise InputTypeError(
                f"factory must build a policy from a horizon, got {factory!r}; "
                "for example partial(ISICombUCB1, n_arms)."
            )
        takes = signature(factory).parameters
        if "horizon" not in takes and all(p.kind is not p.VAR_KEYWORD for p in takes.values()):
            raise PolicyError(
                "Anytime is for policies that need to know their horizon, and what this factory "
                f"builds takes none: {factory!r:.100}; use that policy as it is, for any number of "
                "rounds."
            )
        self.factory = factory
        self.first = check_whole("first", first, 1, PolicyError)
        self.epoch = 0
        self.left = self.first  # rounds to go in this epoch
        self.inner = self._build()
        super().__init__(self.inner.n_arms, initial=self.inner.initial, rewards=self.inner.rewards)
        self.inner.accompany(self, 0)

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return what this epoch's policy chooses."""
        if not self.left:
            self.epoch += 1
            self.left = self.first << self.epoch
            self.inner = self._build()
            self.inner.accompany(self, self.n_asked)
        epoch, memory = track.memory or (-1, None)
        if epoch != self.epoch:  # the block and the memory belong to an earlier policy
            track.block, track.at, track.cache, memory = (), 0, None, None
        track.memory = memory
        arm = self.inner.choose(track, allowed)
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

    def learned(self) -> dict[str, Any]:
        """Return the epoch and what its policy has learned."""
        inner = self.inner
        kept = {"learned": inner.learned(), "generator": generator_state(inner.generator)}
        return {"epoch": self.epoch, "left": self.left, "inner": kept}

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what :meth:`learned` returned."""
        self.epoch = check_whole("epoch", learned["epoch"], 0, PolicyError, _LAST_EPOCH)
        rounds = self.first << self.epoch
        self.left = check_whole("left", learned["left"], 0, PolicyError, rounds)
        if rounds - self.left > self.n_asked:
            raise PolicyError(f"an epoch of {rounds} rounds with {self.left} left has not begun.")
        self.inner = self._build()
        self.inner.accompany(self, self.n_asked - (rounds - self.left))
        self.inner.relearn(learned["inner"]["learned"])
        set_generator(self.inner.generator, learned["inner"]["generator"])

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a memory or notes that no epoch has left."""
        for kept in (track.memory or [self.epoch - 1, None], *notes):
            if not (isinstance(kept, list) and len(kept) == 2 and type(kept[0]) is int):
                raise PolicyError(f"{kept!r:.60} is not what an epoch leaves.")
        if track.memory and track.memory[0] == self.epoch:
            inside = track.copy()
            inside.memory = inside.memory[1]
            self.inner.check_kept(inside, [note[1] for note in notes if note[0] == self.epoch])

    def _build(self) -> Policy:
        """Return a fresh policy for the present epoch."""
        policy = self.factory(horizon=self.first << self.epoch)
        if not isinstance(policy, Policy):
            raise InputTypeError(f"factory must build a Policy, got {type(policy).__name__}.")
        return policy
