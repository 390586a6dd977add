"""A subject's track: where its arms stand, and what is left of its block.

A track is plain data. A play costs O(1) whatever the number of arms: only the clock, the played
arm's last time and the current run move, and every state τ is derived from them. A round of several
plays, or of none, costs as much for each of them (:meth:`Track.play_round`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.model.states import moved

#: The arms that may be played, one bool per arm.
Mask = tuple[bool, ...]
#: What a subject may be called: anything that survives a JSON file unchanged.
Subject = str | int | None
#: No clock, rest or streak goes beyond this, so that none overflows.
FARTHEST = 2**53
#: The latest round, and the longest rest, that can be asked for: what is then played round by round
#: never comes to the farthest.
LATEST = FARTHEST // 4
#: Of a track whose last round did not play several arms; never changed.
_NO_RUNS: dict[int, int] = {}


class Track:
    """The switch states of one subject, and what a policy keeps about that subject.

    Attributes
    ----------
    began
        The round in which the subject was enrolled.
    clock
        Rounds since then: plays, and rounds of rest (see :meth:`Policy.advance`).
    start
        The states at ``clock == 0`` (shared between subjects that started alike).
    arm, run
        The arm of the last round, and for how many rounds in a row; -1 and 0 if it played none, or
        several.
    runs
        If the last round played several arms: for how many rounds in a row each of them.
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
    >>> track.rest(30)
    >>> track.now, track.state()
    (34, [30, 35, 31])

    Several plays a round, and a silent one:

    >>> track.play_round((0, 2)), track.play_round((2,)), track.play_round(())
    ((30, 31), (-1,), ())
    >>> track.state()
    [2, 38, 1]
    """

    __slots__ = (
        "arm",
        "at",
        "began",
        "block",
        "cache",
        "clock",
        "last",
        "memory",
        "note",
        "run",
        "runs",
        "start",
    )

    def __init__(self, start: tuple[int, ...], began: int = 0) -> None:
        self.start, self.began = start, began
        self.clock = 0
        # last[i] is the clock right after arm i's last play, so τ = clock − last[i] at rest.
        # An arm that starts in a streak (τ ≤ 0) acts, once rested, as one played just before.
        # (A list: an array would save some bytes and cost a tenth of an ask.)
        self.last = [-tau if tau > 0 else 0 for tau in start]
        self.arm = -1
        self.run = 0
        self.runs: dict[int, int] = _NO_RUNS
        self.block: Sequence[int] = ()
        self.at = 0
        self.note: Any = None
        self.memory: Any = None
        self.cache: Any = None

    @property
    def now(self) -> int:
        """The round to be played next."""
        return self.began + self.clock

    def play(self, arm: int) -> int:
        """Move every state as a play of ``arm`` alone does; return the τ it was played in.

        Not after a round of several plays: those who have such rounds use :meth:`play_round`.
        """
        clock = self.clock
        if arm == self.arm:
            tau = -self.run
            self.run += 1
        elif clock:
            tau = clock - self.last[arm]
            self.arm, self.run = arm, 1
        else:
            tau = self.start[arm]
            self.arm, self.run = arm, -moved(tau, True)
        self.clock = clock = clock + 1
        self.last[arm] = clock
        return tau

    def play_round(self, arms: Sequence[int]) -> tuple[int, ...]:
        """Move every state as a round of these plays does; return the τ each was played in.

        No arms are a silent round, which, unlike :meth:`rest`, drops no plan.
        """
        taus = tuple(map(self.tau, arms))
        self.clock = clock = self.clock + 1
        self.arm, self.run, self.runs = -1, 0, _NO_RUNS
        for arm in arms:
            self.last[arm] = clock
        if len(arms) == 1:
            self.arm, self.run = arms[0], -moved(taus[0], True)
        elif arms:
            self.runs = {a: -moved(tau, True) for a, tau in zip(arms, taus, strict=True)}
        return taus

    def rest(self, rounds: int) -> None:
        """Let ``rounds`` pass in which nothing is played; a plan made before is dropped."""
        if rounds > 0:
            self.clock += rounds
            self.arm, self.run, self.runs, self.cache = -1, 0, _NO_RUNS, None
            self.drop_block()

    def drop_block(self) -> None:
        """Forget the block being played; a place in no block stays."""
        if self.block:
            self.block, self.at = (), 0

    def tau(self, arm: int) -> int:
        """Return the state of ``arm`` now.

        Examples
        --------
        >>> Track((1, -2)).tau(1)
        -2
        """
        if arm == self.arm:
            return -self.run
        if not self.clock:
            return self.start[arm]
        return self.clock - self.last[arm] or -self.runs[arm]

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
        if self.run:
            states[self.arm] = -self.run
        if self.runs:
            for arm, run in self.runs.items():
                states[arm] = -run
        return states

    def grow(self, start: tuple[int, ...]) -> None:
        """Take up one more arm, the last of ``start``; once the clock runs it has rested.

        Examples
        --------
        >>> track = Track((1, 1))
        >>> track.play(0)
        1
        >>> track.grow((1, 1, -1))
        >>> track.state()
        [-1, 2, 1]
        """
        tau = start[-1]
        self.start = start if start[:-1] == self.start else (*self.start, tau)
        self.last.append(self.clock - max(tau, 1) if self.clock else -max(tau, 0))
        self.cache = None
        self.drop_block()

    def become(self, other: Track) -> None:
        """Stand where ``other`` does, which is given up.

        Examples
        --------
        >>> track = Track((1, 1))
        >>> before = track.copy()
        >>> track.rest(5)
        >>> track.become(before)
        >>> track.state()
        [1, 1]
        """
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> Track:
        """Return a track that can be tried out without moving this one."""
        twin = Track(self.start, self.began)
        twin.clock, twin.last, twin.arm, twin.run = self.clock, self.last[:], self.arm, self.run
        twin.runs = self.runs
        twin.block, twin.at, twin.memory = self.block, self.at, deepcopy(self.memory)
        twin.note, twin.cache = deepcopy(self.note), self.cache
        return twin

    def to_row(self) -> list[Any]:
        """Return the track as JSON-able values (see :meth:`from_row`)."""
        played = [self.last[:], self.arm, self.run]
        kept = [list(self.block), self.at, self.memory]
        runs = [[arm, run] for arm, run in self.runs.items()]
        return [list(self.start), self.began, self.clock, *played, *kept, *([runs] if runs else [])]

    @classmethod
    def from_row(cls, row: Sequence[Any], n_arms: int) -> Track:
        """Rebuild a track of ``n_arms`` arms from :meth:`to_row`; refuse what no play leads to.

        Examples
        --------
        >>> track = Track((1, 1))
        >>> track.play(1)
        1
        >>> Track.from_row(track.to_row(), 2).state()
        [2, -1]
        """
        start, began, clock, last, arm, run, block, at, memory, *more = row
        runs: dict[int, int] = dict(more[0]) if more else _NO_RUNS
        whole = [began, clock, arm, run, at, *start, *last, *block, *runs, *runs.values()]
        if not all(type(number) is int and abs(number) <= FARTHEST for number in whole):
            raise PolicyError("a track holds what is no round, state or arm.")
        track = cls(tuple(start), began)
        running = runs or ({arm: run} if run else {})
        if not (
            len(start) == len(last) == n_arms
            and min(began, clock, at) >= 0
            and len(more) <= 1
            and len(runs) != 1
            and ((arm, run) == (-1, 0) or (run > 0 and not runs))
            and (clock > 0 or not running)
            and all(0 <= played < n_arms for played in (*running, *block))
            and min(running.values(), default=1) > 0
            and (track.last == last if not clock else max(last) <= clock)
            and (not clock or {i for i, when in enumerate(last) if when == clock} == {*running})
        ):
            raise PolicyError(f"a track is not one that {n_arms} arms can leave.")
        track.clock, track.last, track.arm, track.run = clock, list(last), arm, run
        track.runs = runs
        track.block, track.at, track.memory = tuple(block), at, memory
        return track


class Tracks:
    """The tracks of all subjects, those of new ones starting in ``start``.

    Examples
    --------
    >>> tracks = Tracks((1, 4))
    >>> tracks.rested("ann", at=7).now
    7
    >>> tracks.trial("ann", at=9).state(), tracks.of["ann"].state()
    ([3, 6], [1, 4])
    """

    __slots__ = ("of", "start")

    def __init__(self, start: tuple[int, ...]) -> None:
        self.start = start
        self.of: dict[Subject, Track] = {}

    def enrol(self, subject: Subject, at: int, start: tuple[int, ...] | None = None) -> Track:
        """Add a subject in round ``at``."""
        self.of[subject] = track = Track(self.start if start is None else start, at)
        return track

    def rested(self, subject: Subject, at: int) -> Track:
        """Return the track of ``subject`` after rest until round ``at``, enrolled if it is new."""
        track = self.of.get(subject)
        if track is None:
            return self.enrol(subject, at)
        track.rest(at - track.now)
        return track

    def trial(self, subject: Subject, at: int) -> Track:
        """Return a track such as :meth:`rested` would, which belongs to nobody."""
        track = self.of.get(subject)
        twin = Track(self.start, at) if track is None else track.copy()
        twin.rest(at - twin.now)
        return twin

    def grow(self, start: tuple[int, ...]) -> None:
        """Take up one more arm, the last of ``start``, on every track."""
        self.start = start
        for track in self.of.values():
            track.grow(start)

    def rows(self) -> list[list[Any]]:
        """Return the tracks as JSON-able values."""
        return [[subject, *track.to_row()] for subject, track in self.of.items()]

    def resume(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take back what :meth:`rows` returned."""
        starts = {self.start: self.start}
        for subject, *row in rows:
            check_subject(subject)
            self.of[subject] = track = Track.from_row(row, len(self.start))
            track.start = starts.setdefault(track.start, track.start)  # share equal starts


def check_subject(subject: Any) -> None:
    """Refuse what a file cannot hold as the name of a subject."""
    if subject is None or (type(subject) is int and abs(subject) < 2**63):
        return
    if not isinstance(subject, str):
        raise InputTypeError(
            f"a subject is a string, an integer or None, got {subject!r:.60} "
            f"({type(subject).__name__}); pass a name that a file can hold."
        )
    try:
        subject.encode()
    except UnicodeEncodeError:
        raise PolicyError(
            f"subject {subject!r:.60} holds half a character (a lone surrogate); correct the name."
        ) from None
