"""Policies that learn nothing: a fixed cycle, and the greedy oracle."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from lastswitch._utils.checks import check_whole
from lastswitch.errors import BlockError, InputTypeError, PolicyError
from lastswitch.learning.policy import ONE_PLAY, Mask, Policy
from lastswitch.learning.policy.checks import MOST_ARMS, check_like
from lastswitch.learning.policy.tracks import Track
from lastswitch.model.bandit import Bandit
from lastswitch.model.states import column

#: Joint states the greedy oracle remembers.
_MOMENTS = 20_000
#: Random numbers drawn at once.
_DRAWS = 256


class FixedCycle(Policy):
    """Plays one block for ever.

    A subject whose next arm is not allowed skips forward to the next one that is, or plays the
    first allowed arm if the cycle holds none. Of a cycle of rounds it skips to the next round whose
    arms are all allowed, or else plays the first allowed arms, as few as a round may have.

    Parameters
    ----------
    block
        Arms in playing order; or rounds of arms, such as ``plan.rounds``, where a round may hold
        several arms or none.
    n_arms
        Number of arms; by default just enough for the block.
    initial
        States every subject starts in.

    Examples
    --------
    >>> policy = FixedCycle([0, 1, 1])
    >>> [policy.ask().arm for _ in range(4)]
    [0, 1, 1, 0]
    >>> [len(policy.ask_round()) for policy in [FixedCycle([(0, 1), ()])] for _ in range(3)]
    [2, 0, 2]
    """

    learns = False

    def __init__(
        self,
        block: Sequence[int] | Sequence[Sequence[int]],
        n_arms: int | None = None,
        *,
        initial: int | Sequence[int] = 1,
    ) -> None:
        rounds = _rounds(block)
        arms = [arm for played in rounds for arm in played]
        if not arms or min(arms) < 0:
            raise BlockError(f"a cycle needs at least one arm, each 0 or more, got {block!r}.")
        n_arms = max(arms) + 1 if n_arms is None else n_arms
        if check_whole("n_arms", n_arms, 1, PolicyError, MOST_ARMS) <= max(arms):
            raise BlockError(f"block {block!r} names an arm beyond the {n_arms} arms.")
        if any(len(set(played)) < len(played) for played in rounds):
            raise BlockError(f"a round of {block!r} plays an arm twice; name each arm once.")
        sizes = [len(played) for played in rounds]
        super().__init__(n_arms, initial=initial, plays=(min(sizes), max(sizes)))
        one = self.plays == ONE_PLAY
        self.block: list[int] | list[tuple[int, ...]] = arms if one else rounds
        self._arms_of, self._rounds_of = arms if one else [], rounds
        self._after = [*range(1, len(rounds)), 0]

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the cycle."""
        block, at = self._arms_of, track.at
        if not block:
            raise self._plays_rounds()
        if allowed is not None:
            steps = (s for s in range(len(block)) if allowed[block[(at + s) % len(block)]])
            step = next(steps, None)
            if step is None:
                return allowed.index(True)
            at = (at + step) % len(block)
        track.at = self._after[at]
        return block[at]

    def choose_round(self, track: Track, allowed: Mask | None) -> Sequence[int]:
        """Return the next round of the cycle."""
        rounds, at = self._rounds_of, track.at
        for step in range(len(rounds)):
            here = (at + step) % len(rounds)
            if allowed is None or all(allowed[arm] for arm in rounds[here]):
                track.at = self._after[here]
                return rounds[here]
        return [arm for arm, free in enumerate(allowed or ()) if free][: self.plays[0]]

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a place beyond the cycle."""
        check_whole("the place in the cycle", track.at, 0, PolicyError, len(self.block) - 1)


def _rounds(block: Any) -> list[tuple[int, ...]]:
    """Return a cycle as rounds of arms."""
    try:
        return [
            tuple(map(index, played)) if isinstance(played, list | tuple) else (index(played),)
            for played in block
        ]
    except TypeError:
        raise InputTypeError(
            f"a cycle is a list of arms, or of rounds of arms, got {block!r}."
        ) from None


class OracleGreedy(Policy):
    """Plays the arm that pays most right now, knowing the curves; ties are broken at random.

    The paper's myopic baseline (Laforgue et al. (2022), Section 4 and Example 1).

    Parameters
    ----------
    bandit
        The curves to be greedy on.
    seed
        Names the random ties.
    initial
        States every subject starts in; the bandit's own by default.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([ls.Curve([0.2, 0.9], [0.0]), ls.Curve([0.4], [0.4])])
    >>> policy = OracleGreedy(bandit)
    >>> [policy.ask().arm for _ in range(4)]
    [1, 0, 1, 1]
    """

    shared = ("draws",)
    learns = False

    def __init__(
        self, bandit: Bandit, *, seed: int = 0, initial: int | Sequence[int] | None = None
    ) -> None:
        if not isinstance(bandit, Bandit):
            raise InputTypeError(
                f"OracleGreedy needs the Bandit it is greedy on, got {type(bandit).__name__}."
            )
        start = bandit.initial if initial is None else initial
        super().__init__(bandit.n_arms, initial=start, seed=seed)
        self.bandit = bandit
        self.draws: list[float] = []  # numbers in [0, 1) drawn ahead, used from the end
        supports = [curve.support() for curve in bandit.curves]
        self._supports = (
            [support.rest for support in supports],
            [support.streak for support in supports],
            [curve.tail == "repeat" for curve in bandit.curves],
        )
        self._moments: dict[tuple[int, ...], _Moment] = {}

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return an arm with the largest mean reward now."""
        before = track.cache
        moment = None if before is None else before.after.get(track.arm)
        if moment is None:
            moment = self._look(track)
        track.cache = moment
        ties = moment.ties if allowed is None else _best(moment.pays, allowed)
        if len(ties) == 1:
            return ties[0]
        if not self.draws:
            self.draws = self.rng.random(_DRAWS).tolist()
        return ties[int(self.draws.pop() * len(ties))]

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back the numbers drawn ahead."""
        check_like("draws", learned["draws"], [0.0] * min(len(learned["draws"]), _DRAWS))
        if not all(0.0 <= draw < 1.0 for draw in learned["draws"]):
            raise PolicyError("draws must lie between 0 and 1.")
        self.draws = learned["draws"]

    def _look(self, track: Track) -> _Moment:
        """Return the moment ``track`` is in, and remember that its last play leads there."""
        curves = self.bandit.curves
        states = track.state()
        key = tuple(map(column, states, *self._supports))
        moment = self._moments.get(key)
        if moment is None:
            moment = _Moment([curve(tau) for curve, tau in zip(curves, states, strict=True)])
            if len(self._moments) < _MOMENTS:
                self._moments[key] = moment
        if track.cache is not None and len(self._moments) < _MOMENTS:
            track.cache.after[track.arm] = moment
        return moment


class _Moment:
    """What is best in one joint state, and which moment follows each play of it.

    Pays change with every arm's state at every round; following moments instead of looking up K
    pays makes a greedy round as cheap as a fixed one.
    """

    __slots__ = ("after", "pays", "ties")

    def __init__(self, pays: list[float]) -> None:
        self.pays = pays
        self.ties = _best(pays, (True,) * len(pays))
        self.after: dict[int, _Moment] = {}


def _best(pays: list[float], allowed: Mask) -> list[int]:
    """Return the allowed arms that pay most."""
    best = max(pay for pay, may in zip(pays, allowed, strict=True) if may)
    pairs = zip(pays, allowed, strict=True)
    return [arm for arm, (pay, may) in enumerate(pairs) if may and pay == best]
