"""Rounds that are proposed and wait to be confirmed: at most one for each subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lastswitch.errors import PolicyError
from lastswitch.learning.policy.ledger import Pull
from lastswitch.learning.policy.tracks import Mask, Subject

#: In a snapshot: the pull of a round proposed to be silent.
_SILENCE = ("", -1, 0)


class Proposal(NamedTuple):
    """The pulls of a round that waits to be confirmed: none if it is to be silent."""

    subject: Subject
    pulls: tuple[Pull, ...]
    round: int
    allowed: Mask | None

    def fits(self, at: int | None, mask: Mask | None) -> bool:
        """Tell whether it answers an ask for round ``at`` with these arms allowed.

        Examples
        --------
        >>> Proposal("ann", (Pull("5f0a1c-00", 2, 1, "ann"),), 7, None).fits(7, (True, True, False))
        False
        """
        allowed = mask is None or all(mask[pull.arm] for pull in self.pulls)
        return at in (None, self.round) and allowed


class Proposals:
    """The proposals that stand, by subject and by the ids of their pulls.

    Examples
    --------
    >>> proposals = Proposals()
    >>> proposals.add(Proposal("ann", (Pull("5f0a1c-00", 2, 1, "ann"),), 7, None))
    >>> proposals.of("ann").round, "5f0a1c-00" in proposals.by_id
    (7, True)
    >>> proposals.withdraw("ann")
    >>> proposals.of("ann")
    """

    __slots__ = ("by_id", "standing")

    def __init__(self) -> None:
        self.by_id: dict[str, Proposal] = {}
        self.standing: dict[Subject, Proposal] = {}

    def add(self, proposal: Proposal) -> None:
        """Let a proposal stand, if none does for its subject."""
        if proposal.subject in self.standing or any(p.id in self.by_id for p in proposal.pulls):
            raise PolicyError(f"{proposal} is proposed already, or another is for its subject.")
        for pull in proposal.pulls:
            self.by_id[pull.id] = proposal
        self.standing[proposal.subject] = proposal

    def of(self, subject: Subject) -> Proposal | None:
        """Return the proposal that stands for ``subject``."""
        return self.standing.get(subject)

    def withdraw(self, subject: Subject) -> None:
        """Drop the proposal that stands for ``subject``, if one does."""
        standing = self.standing.pop(subject, None)
        for pull in standing.pulls if standing is not None else ():
            del self.by_id[pull.id]

    def grow(self) -> None:
        """Make room for one more arm, which no mask given before allows."""
        for subject, proposal in list(self.standing.items()):
            if proposal.allowed is not None:
                self.withdraw(subject)
                self.add(proposal._replace(allowed=(*proposal.allowed, False)))

    def rows(self) -> list[list[Any]]:
        """Return the proposals as JSON-able values: a row for every pull, or for a silence."""
        return [
            [*pull, subject, *rest]
            for subject, pulls, *rest in self.standing.values()
            for pull in ([pull[:3] for pull in pulls] or [_SILENCE])
        ]


def from_rows(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Subject, list[Any], int, Any]]:
    """Yield subject, pulls as rows, round and mask of each proposal of a snapshot.

    Examples
    --------
    >>> list(from_rows([["5f0a1c-00", 2, 1, "ann", 7, None], ["", -1, 0, "bob", 3, None]]))
    [('ann', [['5f0a1c-00', 2, 1, 'ann']], 7, None), ('bob', [], 3, None)]
    """
    together: dict[Subject, list[Sequence[Any]]] = {}
    for row in rows:
        together.setdefault(row[3], []).append(row)
    for subject, own in together.items():
        *_, at, allowed = own[0]
        if any(list(row[4:]) != [at, allowed] for row in own):
            raise PolicyError(f"two rounds are proposed for subject {subject!r}.")
        silent = [tuple(row[:3]) for row in own] == [_SILENCE]
        yield subject, [] if silent else [list(row[:4]) for row in own], at, allowed


def not_proposed(name: Any) -> PolicyError:
    """Return the error for an id under which nothing is proposed."""
    return PolicyError(
        f"no pull {name!r} is proposed: it was cancelled or withdrawn, has expired, or was never "
        "asked with confirm=False."
    )
