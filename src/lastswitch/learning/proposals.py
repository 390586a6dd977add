"""Pulls that are proposed and wait to be confirmed: at most one for each subject."""

from __future__ import annotations

from typing import Any, NamedTuple

from lastswitch.errors import PolicyError
from lastswitch.learning.ledger import Pull
from lastswitch.learning.tracks import Subject

#: The arms that may be played, one bool per arm.
Mask = tuple[bool, ...]


class Proposal(NamedTuple):
    """A pull that waits to be confirmed, its round, and the arms that were allowed."""

    pull: Pull
    round: int
    allowed: Mask | None


class Proposals:
    """The proposals that stand, by subject and by id.

    Examples
    --------
    >>> proposals = Proposals()
    >>> proposals.add(Proposal(Pull("5f0a1c-0", 2, 1, "ann"), 7, None))
    >>> proposals.of("ann").round, "5f0a1c-0" in proposals.by_id
    (7, True)
    >>> proposals.withdraw("ann")
    >>> proposals.of("ann")
    """

    __slots__ = ("by_id", "standing")

    def __init__(self) -> None:
        self.by_id: dict[str, Proposal] = {}
        self.standing: dict[Subject, str] = {}

    def add(self, proposal: Proposal) -> None:
        """Let a proposal stand, if none does for its subject."""
        pull = proposal.pull
        if pull.id in self.by_id or pull.subject in self.standing:
            raise PolicyError(f"{pull} is proposed already, or another is for its subject.")
        self.by_id[pull.id] = proposal
        self.standing[pull.subject] = pull.id

    def of(self, subject: Subject) -> Proposal | None:
        """Return the proposal that stands for ``subject``."""
        return self.by_id.get(self.standing.get(subject, ""))

    def withdraw(self, subject: Subject) -> None:
        """Drop the proposal that stands for ``subject``, if one does."""
        standing = self.standing.pop(subject, None)
        if standing is not None:
            del self.by_id[standing]

    def grow(self) -> None:
        """Make room for one more arm, which no mask given before allows."""
        for name, (pull, at, allowed) in self.by_id.items():
            if allowed is not None:
                self.by_id[name] = Proposal(pull, at, (*allowed, False))

    def rows(self) -> list[list[Any]]:
        """Return the proposals as JSON-able values."""
        return [[*pull, *rest] for pull, *rest in self.by_id.values()]


def not_proposed(name: Any) -> PolicyError:
    """Return the error for an id under which nothing is proposed."""
    return PolicyError(
        f"no pull {name!r} is proposed: it was cancelled or withdrawn, has expired, or was never "
        "asked with confirm=False."
    )
