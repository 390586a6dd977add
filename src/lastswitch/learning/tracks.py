"""A subject's track: where its arms stand, and what is left of its block.

A track is plain data. A play costs O(1) whatever the number of arms: only the clock, the played
arm's last time and the current run move, and every state τ is derived from them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

#: What a subject may be called: anything that survives a JSON file unchanged.
Subject = str | int | None


class Track:
    """The switch states of one subject, and what a policy keeps about that subject.

    Attributes
    ----------
    clock
        Rounds this subject has played.
    start
        The states at ``clock == 0`` (shared between subjects that started alike).
    block, at
        The block being played, and how many of its slots are already played.
    note
        Set by a policy's ``choose``: what it wants handed back with this pull's reward.
    memory
        Anything else (JSON-able) a policy keeps per subject.
    cache
        Anything a policy can work out again; it is not saved.

    Examples
    --------
    >>> track = Track((1, 1, 1))
    >>> [track.play(arm) for arm in (0, 0, 2, 0)]
    [1, -1, 3, 1]
    >>> track.state()
    [-1, 5, 1]
    """

    __slots__ = ("arm", "at", "block", "cache", "clock", "last", "memory", "note", "run", "start")

    def __init__(self, start: tuple[int, ...]) -> None:
        self.start = start
        self.clock = 0
        # last[i] is the clock right after arm i's last play, so τ = clock − last[i] at rest.
        # An arm that starts in a streak (τ ≤ 0) acts, once rested, as one played just before.
        self.last = array("q", [-tau if tau > 0 else 0 for tau in start])
        self.arm = -1
        self.run = 0
        self.block: Sequence[int] = ()
        self.at = 0
        self.note: Any = None
        self.memory: Any = None
        self.cache: Any = None

    def play(self, arm: int) -> int:
        """Move every state as a play of ``arm`` does; return the τ it was played in."""
        clock = self.clock
        if arm == self.arm:
            tau = -self.run
            self.run += 1
        elif clock:
            tau = clock - self.last[arm]
            self.arm, self.run = arm, 1
        else:
            tau = self.start[arm]
            self.arm, self.run = arm, 1 - tau if tau < 0 else 1
        self.clock = clock = clock + 1
        self.last[arm] = clock
        return tau

    def tau(self, arm: int) -> int:
        """Return the state of ``arm`` now.

        Examples
        --------
        >>> Track((1, -2)).tau(1)
        -2
        """
        if arm == self.arm:
            return -self.run
        return self.clock - self.last[arm] if self.clock else self.start[arm]

    def state(self) -> list[int]:
        """Return the states of all arms now.

        Examples
        --------
        >>> Track((4, -1)).state()
        [4, -1]
        """
        clock = self.clock
        if not clock:
            return list(self.start)
        states = [clock - last for last in self.last]
        states[self.arm] = -self.run
        return states

    def to_row(self) -> list[Any]:
        """Return the track as JSON-able values (see :meth:`from_row`)."""
        rest = [list(self.last), self.arm, self.run, list(self.block), self.at, self.memory]
        return [list(self.start), self.clock, *rest]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Track:
        """Rebuild a track from :meth:`to_row`.

        Examples
        --------
        >>> track = Track((1, 1))
        >>> track.play(1)
        1
        >>> Track.from_row(track.to_row()).state()
        [2, -1]
        """
        start, clock, last, arm, run, block, at, memory = row
        track = cls(tuple(start))
        track.clock, track.last, track.arm, track.run = clock, array("q", last), arm, run
        track.block, track.at, track.memory = tuple(block), at, memory
        return track
