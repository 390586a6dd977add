"""A learner whose subjects are kept elsewhere: in a database, say, that many processes share.

A policy that is asked keeps tracks, ids and open pulls. Here it keeps none of them: the caller
hands in a track to decide for, and later says what was played and what it paid, in any order and
from anywhere. What is learned is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lastswitch.errors import PolicyError
from lastswitch.learning.checks import as_reward, share
from lastswitch.learning.ledger import Pull
from lastswitch.learning.proposals import Mask
from lastswitch.learning.rotation import RotationUCB
from lastswitch.learning.tracks import Track

#: What holds rewards seen so far, cell by cell, and may be handed to a learner of more arms.
_SEEN = ("counts", "sums", "squares", "pending")


class SharedRotation(RotationUCB):
    """:class:`~lastswitch.learning.RotationUCB` for subjects that are kept elsewhere.

    Examples
    --------
    >>> learner = SharedRotation(2)
    >>> track = Track((1, 1))
    >>> arm = learner.decide(track)
    >>> tau = track.play(arm)
    >>> learner.played(arm, tau)
    >>> learner.paid(arm, tau, 0.75)
    >>> float(learner.counts.sum()), float(learner.pending.sum())
    (1.0, 0.0)
    """

    def __init__(self, n_arms: int, **settings: Any) -> None:
        if settings.get("pooling", "all") != "all":
            raise PolicyError(
                f"subjects kept elsewhere share all they see, got pooling={settings['pooling']!r}; "
                "leave pooling out."
            )
        self._settings = dict(settings)
        super().__init__(n_arms, **settings)
        self._before = {name: getattr(self, name).copy() for name in _SEEN}

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"n_arms": self.n_arms, **self._settings}

    def decide(self, track: Track, allowed: Mask | None = None) -> int:
        """Return the arm to play for ``track``, counting nothing: it may never be played.

        The track keeps what is left of its plan, as with ``choose``. Move it with ``track.play``
        once the arm is played.
        """
        arm = self._choice(track, allowed)
        self.missed(_pull(arm, track.tau(arm)), None)  # choose() counts a play that is out
        return arm

    def played(self, arm: int, tau: int) -> None:
        """Count a play whose reward is still out, at the mean so far."""
        cell = self._cell(arm, tau)
        self._out[cell] += 1.0
        if self._seen[cell] + self._out[cell] >= self._limit_all[cell]:
            self._grown(cell)

    def paid(self, arm: int, tau: int, reward: float | None) -> None:
        """Learn the reward of a play counted before; ``None`` if it will never come."""
        value = as_reward(reward, self._low, self._high, "")
        if value != value:
            self.missed(_pull(arm, tau), None)
        else:
            self.learn(_pull(arm, tau), share(value, self._low, self._high), None)

    def news(self) -> dict[str, list[list[float]]]:
        """Return what was heard since the learner was made, its prior left out.

        That is all there is to know of it: what it believes and plans follows.
        """
        return {
            name: np.maximum(getattr(self, name) - self._before[name], 0.0).tolist()
            for name in _SEEN
        }

    def hear(self, news: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Add what a learner of the same depth and no more arms has heard.

        Examples
        --------
        >>> one, more = SharedRotation(1), SharedRotation(2)
        >>> one.played(0, 1)
        >>> more.hear(one.news())
        >>> more.pending.sum(axis=1).tolist()
        [1.0, 0.0]
        """
        tables = {name: np.asarray(news[name], dtype=float) for name in _SEEN}
        shape = (self.n_arms, self.counts.shape[1])
        for table in tables.values():
            if table.ndim != 2 or len(table) > shape[0] or table.shape[1] != shape[1]:
                raise PolicyError(
                    f"news of shape {table.shape} does not fit tables of shape {shape}."
                )
        for name, table in tables.items():
            getattr(self, name)[: len(table)] += table
        self.stale = True


def _pull(arm: int, tau: int) -> Pull:
    return Pull("", arm, tau, None)
