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
from lastswitch.learning.tracks import Subject

_new_tuple = tuple.__new__
_NAN = math.nan


class Pull(NamedTuple):
    """What to play now, and the id under which to tell its reward.

    Examples
    --------
    >>> Pull(id="5f0a1c-0", arm=2, tau=1, subject=None).arm
    2
    """

    id: str
    arm: int
    tau: int
    subject: Subject


class Ledger:
    """Pulls handed out, those still open, and the rewards told.

    Examples
    --------
    >>> ledger = Ledger()
    >>> pull = ledger.issue(0, 1, "ann", None)
    >>> ledger.place(pull.id), ledger.place("5f0a1c-0")
    (0, None)
    """

    __slots__ = ("_broken", "_prefix", "_serial", "_where", "open", "rewards", "spans")

    def __init__(self) -> None:
        #: By id: the pull, the policy's note, and its place.
        self.open: dict[str, tuple[Pull, Any, int]] = {}
        self.rewards = array("d")  # by place; NaN where there is none (yet)
        self.spans: list[tuple[str, int, int]] = []
        self._where: dict[str, list[int]] = {}  # the spans of each prefix
        self._prefix, self._serial = "", 0
        self._broken = True  # whether the next number may not go on with the last span

    def issue(self, arm: int, tau: int, subject: Subject, note: Any) -> Pull:
        """Enter a play under a new id."""
        serial = self._serial
        if self._broken:
            self._go_on(self._prefix or self._draw(), serial)
            self._broken = False
        self._serial = serial + 1
        name = self._prefix + str(serial)
        # Half the cost of Pull(...), which would only repack its four arguments.
        pull: Pull = _new_tuple(Pull, (name, arm, tau, subject))
        rewards = self.rewards
        self.open[name] = (pull, note, len(rewards))
        rewards.append(_NAN)
        return pull

    def new_id(self) -> str:
        """Return an id for a pull that may never be played; it leaves no other trace."""
        serial = self._serial
        self._serial, self._broken = serial + 1, True
        return f"{self._prefix or self._draw()}{serial}"

    def enter(self, pull: Pull, note: Any) -> None:
        """Enter a play whose id was handed out before."""
        self._go_on(*(_parts(pull.id) or ("", 0)))
        self._broken = True
        self.open[pull.id] = (pull, note, len(self.rewards))
        self.rewards.append(_NAN)

    def place(self, name: Any) -> int | None:
        """Return where the pull called ``name`` comes in the order of play; None if unknown."""
        parts = _parts(name)
        for k in self._where.get(parts[0], ()) if parts else ():
            _, first, place = self.spans[k]
            end = self.spans[k + 1][2] if k + 1 < len(self.spans) else len(self.rewards)
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
            "spans": [list(span) for span in self.spans],
            "rewards": np.array(self.rewards, dtype=np.float64),
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
            self._where.setdefault(prefix, []).append(len(self.spans))
            self.spans.append((prefix, first, place))
        if len(rewards) and (not self.spans or self.spans[0][2] != 0):
            raise PolicyError("the first pulls have no ids.")
        for name, arm, tau, subject, note, place in books["open"]:
            pull = checked_pull(n_arms, name, arm, tau, subject)
            if self.place(name) != place or rewards[place] == rewards[place] or name in self.open:
                raise PolicyError(f"the outstanding pull {name!r} was never asked, or was told.")
            self.open[name] = (pull, note, place)

    def _draw(self) -> str:
        """Choose the prefix of the ids to come: from the system, so that no other has it."""
        self._prefix = f"{secrets.token_hex(6)}-"
        return self._prefix

    def _go_on(self, prefix: str, serial: int) -> None:
        """Begin a span with this id, unless it is the next of the last one."""
        if self.spans:
            last, first, place = self.spans[-1]
            if last == prefix and serial - first == len(self.rewards) - place:
                return
        self._where.setdefault(prefix, []).append(len(self.spans))
        self.spans.append((prefix, serial, len(self.rewards)))


def checked_pull(n_arms: int, name: Any, arm: Any, tau: Any, subject: Any) -> Pull:
    """Return the pull a snapshot holds, if it can be one."""
    if _parts(name) and type(arm) is int and type(tau) is int and 0 <= arm < n_arms:
        return Pull(name, arm, tau, subject)
    raise PolicyError(f"{name!r} of arm {arm!r} in state {tau!r} is no pull of {n_arms} arms.")


def _parts(name: Any) -> tuple[str, int] | None:
    """Return the prefix and the number of an id; None for what is not one.

    Examples
    --------
    >>> _parts("5f0a1c-12"), _parts("5f0a1c-012"), _parts(3)
    (('5f0a1c-', 12), None, None)
    """
    if not isinstance(name, str):
        return None
    prefix, dash, number = name.rpartition("-")
    if not (number.isdecimal() and number.isascii() and len(number) < 19):
        return None
    return (prefix + dash, int(number)) if str(int(number)) == number else None
