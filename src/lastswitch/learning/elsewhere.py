"""A learner whose subjects are kept elsewhere: in a database, say, that many processes share.

A policy that is asked keeps tracks, ids and open pulls. Here it keeps none of them: the caller
hands in a track to decide for, and later says what was played and what it paid, in any order and
from anywhere. What is learned is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lastswitch.errors import PolicyError
from lastswitch.learning.policy import Mask
from lastswitch.learning.policy.checks import as_reward, share
from lastswitch.learning.policy.tracks import Track
from lastswitch.learning.rotation.ucb import RotationUCB


class SharedRotation:
    """What :class:`~lastswitch.learning.RotationUCB` learns, for subjects that are kept elsewhere.

    Parameters
    ----------
    n_arms
        Number of arms.
    settings
        As of :class:`~lastswitch.learning.RotationUCB`.

    Examples
    --------
    >>> learner = SharedRotation(2)
    >>> track = Track((1, 1))
    >>> arm = learner.decide(track)
    >>> tau = track.play(arm)
    >>> learner.played(arm, tau)
    >>> learner.paid(arm, tau, 0.75)
    >>> float(learner.books.counts.sum()), float(learner.books.pending.sum())
    (1.0, 0.0)
    """

    def __init__(self, n_arms: int, **settings: Any) -> None:
        if settings.get("pooling", "all") != "all":
            raise PolicyError(
                f"subjects kept elsewhere share all they see, got pooling={settings['pooling']!r}; "
                "leave pooling out."
            )
        policy = RotationUCB(n_arms, **settings)
        self.n_arms, self.rewards, self.learner = policy.n_arms, policy.rewards, policy.learner
        self.memory = policy.learner.options.memory
        #: What was seen, and what is believed of it.
        self.books, self.tables = self.learner.books, self.learner.tables

    @property
    def bound(self) -> float:
        """The most any schedule could earn per round if the optimistic tables were true."""
        return self.learner.bound

    def decide(self, track: Track, allowed: Mask | None = None) -> int:
        """Return the arm to play for ``track``, counting nothing: it may never be played.

        Move the track with ``track.play`` once the arm is played.
        """
        return self.learner.decide(track, allowed)

    def played(self, arm: int, tau: int) -> None:
        """Count a play whose reward is still out, at the mean so far."""
        self.learner.played(arm, tau)

    def paid(self, arm: int, tau: int, reward: float | None) -> None:
        """Learn the reward of a play counted before; ``None`` if it will never come."""
        low, high = self.rewards
        value = as_reward(reward, low, high, "")
        if value != value:
            self.learner.missed(arm, tau)
        else:
            self.learner.paid(arm, tau, share(value, low, high))

    def news(self) -> dict[str, list[list[float]]]:
        """Return what was heard since the learner was made, its prior left out.

        That is all there is to know of it: what it believes and plans follows.
        """
        return self.learner.news()

    def hear(self, news: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Add what a learner of the same depth and no more arms has heard."""
        self.learner.hear(news)
