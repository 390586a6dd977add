"""The books of a policy: which pulls were handed out, and what was told for each.

Ids never repeat, in any process: a random prefix, drawn where a run of them begins, and a number.
A policy that crashed between an ask and a save, or two processes that go on from one file, would
otherwise hand out one id twice, and a late reward would be credited to the wrong pull. So the
prefix is the one number in this library that no seed names; nothing is decided by it.

A told reward is kept as 8 bytes in the order of play; *spans* (a prefix, the first number, its
place in that order) lead from ids to places.
"""

from __future__ import annotations

import math
import secrets
from array import array
from typing import Any, NamedTuple

import numpy as np

from lastswitch.errors import PolicyError, TellError
from lastswitch.learning.policy.tracks import Subject

#: Ids are made this many at a time, which takes a third of what it takes to make them one by one.
_RUN = 256
_LAST_DIGITS = [f"{number:02x}" for number in reversed(range(_RUN))]
#: What rewards are until they are told.
_UNTOLD = array("d", [math.nan]) * _RUN


class Pull(NamedTuple):
    """What to play now, and the id under which to tell its reward.

    Examples
    --------
    >>> from lastswitch.learning import FixedCycle
    >>> pull = FixedCycle([2, 0], initial=-1).ask("ann")
    >>> pull.arm, pull.tau, pull.subject
    (2, -1, 'ann')
    """

    id: str
    arm: int
    tau: int
    subject: Subject


class Ledger:
    """Pulls handed out, those still open, and the rewards told.

    ``plays`` counts the pulls entered, ``names`` holds the ids of the next ones, from the end; the
    last span leads to the first of them before it is used. (``Policy.ask`` enters its pulls itself:
    it takes about a microsecond, and a call would be felt.)

    Examples
    --------
    >>> ledger = Ledger()
    >>> pull = Pull(ledger.new_id(), arm=0, tau=1, subject="ann")
    >>> ledger.place(pull.id)
    >>> ledger.enter(pull, note=None)
    >>> ledger.place(pull.id)
    0
    """

    __slots__ = ("_made", "_prefix", "_where", "names", "open", "plays", "rewards", "spans")

    def __init__(self) -> None:
        #: By id: the pull, the policy's note, and its place.
        self.open: dict[str, tuple[Pull, Any, int]] = {}
        self.rewards = array("d")  # by place; NaN where there is none (yet), and beyond
        self.plays = 0
        self.spans: list[tuple[str, int, int]] = []
        self._where: dict[str, list[int]] = {}  # the spans of each prefix
        self.names: list[str] = []
        self._prefix, self._made = "", 0

    def next_name(self) -> str:
        """Take the next id, making more of them where there is none."""
        if not self.names:
            if not self._prefix:
                self._prefix = f"{secrets.token_hex(6)}-"
                self._lead(self._prefix, 0)
            stem = f"{self._prefix}{self._made // _RUN:x}"
            self.names.extend([stem + digits for digits in _LAST_DIGITS])
            self._made += _RUN
            self.rewards.extend(_UNTOLD)
        return self.names.pop()

    def new_id(self) -> str:
        """Return an id for a pull that may never be played; it leaves no other trace."""
        name = self.next_name()
        self._lead_on()
        return name

    def hand_out(self, arm: int, tau: int, subject: Subject, note: Any) -> Pull:
        """Enter a play under the next id, and return it."""
        pull = Pull(self.next_name(), arm, tau, subject)
        self.open[pull.id] = (pull, note, self.plays)
        self.plays += 1
        return pull

    def enter(self, pull: Pull, note: Any) -> None:
        """Enter a play whose id was handed out before."""
        if self.plays == len(self.rewards):
            self.rewards.extend(_UNTOLD)
        self._lead(*(_parts(pull.id) or ("", 0)))
        self.open[pull.id] = (pull, note, self.plays)
        self.plays += 1
        self._lead_on()

    def place(self, name: Any) -> int | None:
        """Return where the pull called ``name`` comes in the order of play; None if unknown."""
        parts = _parts(name)
        for k in self._where.get(parts[0], ()) if parts else ():
            _, first, place = self.spans[k]
            end = self.spans[k + 1][2] if k + 1 < len(self.spans) else self.plays
            found = place + parts[1] - first  # type: ignore[index]
            if place <= found < end:
                return found
        return None

    def check_repeat(self, name: Any, value: float) -> None:
        """Accept a reward told again, refuse one that contradicts the first or has no pull."""
        place = self.place(name)
        if place is None:
            raise TellError(
                f"pull {name!r} is not one that this policy asked, or it was cancelled or has "
                "expired; a pull asked after the last save is lost if the policy is loaded again."
            )
        first = self.rewards[place]
        if first == value or (first != first and value != value):
            return
        told, again = ("missing" if v != v else v for v in (first, value))
        raise TellError(
            f"pull {name!r} was already told {told}, now {again}; "
            "tell each pull once, or repeat the same reward."
        )

    def snapshot(self) -> dict[str, Any]:
        """Return the books as lists and one array."""
        return {
            "open": [[*pull, note, place] for pull, note, place in self.open.values()],
            "spans": [list(span) for span in self.spans if span[2] < self.plays],
            "rewards": np.array(self.rewards[: self.plays]),
        }

    def resume(self, books: dict[str, Any], n_arms: int) -> None:
        """Take back what :meth:`snapshot` returned; ids go on under a new prefix."""
        rewards = books["rewards"]
        if not (isinstance(rewards, np.ndarray) and rewards.dtype == float and rewards.ndim == 1):
            raise PolicyError("the rewards told must be one row of numbers.")
        if np.isinf(rewards).any():
            raise PolicyError("a reward told is infinite.")
        self.rewards.frombytes(rewards.tobytes())
        for prefix, first, place in books["spans"]:
            before = self.spans[-1][2] if self.spans else -1
            sane = type(first) is int and type(place) is int and before < place < len(rewards)
            if not (isinstance(prefix, str) and sane and first >= 0):
                raise PolicyError(f"pulls under {prefix!r} cannot begin with {first!r}, {place!r}.")
            self.plays = place
            self._lead(prefix, first)
        if len(rewards) and (not self.spans or self.spans[0][2] != 0):
            raise PolicyError("the first pulls have no ids.")
        self.plays = len(rewards)
        for name, arm, tau, subject, note, place in books["open"]:
            pull = checked_pull(n_arms, name, arm, tau, subject)
            if self.place(name) != place or rewards[place] == rewards[place] or name in self.open:
                raise PolicyError(f"the outstanding pull {name!r} was never asked, or was told.")
            self.open[name] = (pull, note, place)

    def _lead_on(self) -> None:
        """Let the next play that gets an id at once have the next one."""
        self._lead(self._prefix, self._made - len(self.names))

    def _lead(self, prefix: str, number: int) -> None:
        """Let spans lead from this id to the next place."""
        if self.spans and self.spans[-1][2] == self.plays:  # another id was to have it
            self._where[self.spans.pop()[0]].pop()
        if self.spans:
            last, first, place = self.spans[-1]
            if last == prefix and number - first == self.plays - place:
                return
        self._where.setdefault(prefix, []).append(len(self.spans))
        self.spans.append((prefix, number, self.plays))


def checked_pull(n_arms: int, name: Any, arm: Any, tau: Any, subject: Any) -> Pull:
    """Return the pull a snapshot holds, if it can be one."""
    if _parts(name) and type(arm) is int and type(tau) is int and 0 <= arm < n_arms:
        return Pull(name, arm, tau, subject)
    raise PolicyError(f"{name!r} of arm {arm!r} in state {tau!r} is no pull of {n_arms} arms.")


def _parts(name: Any) -> tuple[str, int] | None:
    """Return the prefix and the number of an id; None for what is not one.

    Examples
    --------
    >>> _parts("5f0a1c-112"), _parts("5f0a1c-12"), _parts(3)
    (('5f0a1c-', 274), None, None)
    """
    if not isinstance(name, str):
        return None
    prefix, dash, digits = name.rpartition("-")
    try:
        number = int(digits, 16) if len(digits) < 16 else -1
    except ValueError:
        return None
    canonical = f"{number // _RUN:x}{number % _RUN:02x}"
    return (prefix + dash, number) if digits == canonical else None
