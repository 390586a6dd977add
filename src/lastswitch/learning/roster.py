"""Arms that come and go: a new arm is added at the end, a retired one keeps its number.

Numbers never change, so pulls asked before, their rewards and saved files stay valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from lastswitch._checks import check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.checks import MOST_ARMS
from lastswitch.learning.chooser import Chooser
from lastswitch.learning.proposals import Mask
from lastswitch.states import as_allowed

if TYPE_CHECKING:
    from lastswitch.learning.proposals import Proposals
    from lastswitch.learning.tracks import Tracks


class Roster(Chooser):
    """The part of a :class:`~lastswitch.learning.Policy` that knows which arms there are."""

    _subjects: Tracks
    _proposals: Proposals
    #: One bool per arm once some are retired.
    _alive: Mask | None = None
    #: What the arms that were added are called, by number.
    added: dict[int, str]

    @property
    def retired(self) -> list[int]:
        """The arms that are not played any more."""
        return (
            [] if self._alive is None else [i for i, there in enumerate(self._alive) if not there]
        )

    def add_arm(self, name: str | None = None, prior: Any = None) -> int:
        """Take up one more arm; return its number.

        What is known of the other arms stays. A subject that has begun finds the new arm rested:
        in ``initial``, or for one round where ``initial`` is a streak.

        Parameters
        ----------
        name
            What to call it, for :meth:`retire` and for ``added``.
        prior
            What is known of it: a :class:`~lastswitch.learning.Prior` of one arm.

        Raises
        ------
        PolicyError
            If this policy cannot learn of an arm it was not built with.

        Examples
        --------
        >>> from lastswitch import RotationUCB
        >>> policy = RotationUCB(2)
        >>> policy.add_arm("new song"), policy.n_arms
        (2, 3)
        >>> policy.retire("new song")
        >>> policy.retired
        [2]
        """
        check_whole("n_arms with the new arm", self.n_arms + 1, 1, PolicyError, MOST_ARMS)
        if name is not None and (not isinstance(name, str) or name in self.added.values()):
            raise PolicyError(f"an arm's name is text that no other arm has, got {name!r:.60}.")
        self.grow(prior)
        arm = self.n_arms
        self.n_arms = arm + 1
        tau = 1 if isinstance(self.initial, tuple) else self.initial
        self._start = (*self._start, tau)
        if isinstance(self.initial, tuple):
            self.initial = self._start
        if self._alive is not None:
            self._alive = (*self._alive, True)
        if name is not None:
            self.added[arm] = name
        self._subjects.grow(self._start)
        self._proposals.grow()
        return arm

    def retire(self, arm: int | str) -> None:
        """Never play ``arm`` (its number, or the name it was added under) again.

        Rewards of its earlier pulls are still heard. A proposal to play it is withdrawn. Retiring
        it again does nothing.
        """
        number = self._number(arm)
        alive = tuple(i != number and i not in self.retired for i in range(self.n_arms))
        if sum(alive) < max(1, self.plays[0]):
            raise PolicyError(
                f"without arm {arm!r} there are not enough left for a round; add another before "
                "it retires."
            )
        self._alive = alive
        for track in self._subjects.of.values():
            track.drop_block()
            track.cache = None
        for proposal in list(self._proposals.standing.values()):
            if any(pull.arm == number for pull in proposal.pulls):
                self._proposals.withdraw(proposal.subject)
        self.retiring(number)

    def grow(self, prior: Any) -> None:
        """Make room for one more arm, or refuse before anything changes (the default)."""
        raise PolicyError(
            f"{type(self).__name__} cannot take up a new arm; build a new policy with "
            f"n_arms={self.n_arms + 1}, or use RotationUCB."
        )

    def retiring(self, arm: int) -> None:
        """Hear that ``arm`` is retired; masks keep it from being chosen."""

    def _number(self, arm: int | str) -> int:
        """Return the number of an arm."""
        if isinstance(arm, str):
            for number, name in self.added.items():
                if name == arm:
                    return number
            raise PolicyError(
                f"no arm was added under the name {arm!r:.60}; names: {list(self.added.values())}."
            )
        return check_whole("arm", arm, 0, PolicyError, self.n_arms - 1)

    def _mask(self, allowed: ArrayLike) -> Mask:
        """Return ``allowed`` as one bool per arm, without those that are retired."""
        mask: Mask = tuple(as_allowed(allowed, self.n_arms, PolicyError).tolist())
        if self._alive is None:
            return mask
        left = tuple(a and b for a, b in zip(mask, self._alive, strict=True))
        if not any(left):
            raise PolicyError(f"every arm allowed is retired; retired arms: {self.retired}.")
        return left

    def _roster_rows(self) -> dict[str, Any]:
        """Return who is retired and what arms are called, if anything is to be told."""
        rows: dict[str, Any] = {}
        if self._alive is not None:
            rows["retired"] = self.retired
        if self.added:
            rows["names"] = [[arm, name] for arm, name in self.added.items()]
        return rows

    def _resume_roster(self, snapshot: dict[str, Any]) -> None:
        """Take back what :meth:`_roster_rows` returned."""
        for arm, name in snapshot.get("names", ()):
            if not isinstance(name, str):
                raise PolicyError(f"{name!r:.60} is no name of an arm.")
            self.added[check_whole("arm", arm, 0, PolicyError, self.n_arms - 1)] = name
        for arm in snapshot.get("retired", ()):
            self.retire(arm)
