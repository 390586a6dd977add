"""The arms of a policy, that come and go: a new one is added at the end, a retired one stays.

Numbers never change, so pulls asked before, their rewards and saved files stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.policy.tracks import Mask
from lastswitch.model.states import as_allowed, as_array


class Roster:
    """Which arms there are, which of them may be played, and what they are called.

    Examples
    --------
    >>> roster = Roster(2)
    >>> roster.add("new song")
    2
    >>> roster.retire("new song", least=1)
    2
    >>> roster.alive, roster.mask([1, 2])
    ((True, True, False), (False, True, False))
    """

    __slots__ = ("alive", "n_arms", "names")

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        #: One bool per arm once some are retired.
        self.alive: Mask | None = None
        #: What the arms that were added are called, by number.
        self.names: dict[int, str] = {}

    @property
    def retired(self) -> list[int]:
        """The arms that are not played any more."""
        return [] if self.alive is None else [i for i, there in enumerate(self.alive) if not there]

    def check_name(self, name: str | None) -> None:
        """Refuse what is no name for one more arm."""
        if name is not None and (not isinstance(name, str) or name in self.names.values()):
            raise PolicyError(f"an arm's name is text that no other arm has, got {name!r:.60}.")

    def add(self, name: str | None) -> int:
        """Take up one more arm; return its number."""
        arm = self.n_arms
        self.n_arms += 1
        if self.alive is not None:
            self.alive = (*self.alive, True)
        if name is not None:
            self.names[arm] = name
        return arm

    def retire(self, arm: int | str, least: int) -> int:
        """Have ``arm`` played no more, if ``least`` are left; return its number."""
        number, gone = self.number(arm), self.retired
        alive = tuple(i != number and i not in gone for i in range(self.n_arms))
        if sum(alive) < least:
            raise PolicyError(
                f"without arm {arm!r} there are not enough left for a round; add another before "
                "it retires."
            )
        self.alive = alive
        return number

    def number(self, arm: int | str) -> int:
        """Return the number of an arm."""
        if isinstance(arm, str):
            for number, name in self.names.items():
                if name == arm:
                    return number
            raise PolicyError(
                f"no arm was added under the name {arm!r:.60}; names: {list(self.names.values())}."
            )
        return check_whole("arm", arm, 0, PolicyError, self.n_arms - 1)

    def mask(self, allowed: ArrayLike) -> Mask:
        """Return ``allowed`` as one bool per arm, without those that are retired."""
        mask: Mask = tuple(as_allowed(allowed, self.n_arms, PolicyError).tolist())
        if self.alive is None:
            return mask
        left = tuple(a and b for a, b in zip(mask, self.alive, strict=True))
        if not any(left):
            raise PolicyError(f"every arm allowed is retired; retired arms: {self.retired}.")
        return left

    def round_mask(self, allowed: ArrayLike | None, least: int) -> Mask | None:
        """Return the mask of a round of at least so many plays: of no arm where it may be silent.

        Examples
        --------
        >>> Roster(1).round_mask([], least=0)
        (False,)
        """
        if allowed is None:
            return self.alive
        given = as_array(allowed)
        nothing = given.shape == (0,) or (given.shape == (self.n_arms,) and not np.any(given))
        if least == 0 and nothing and given.dtype.kind in "bf":
            return (False,) * self.n_arms
        mask = self.mask(allowed)
        if sum(mask) < least:
            raise PolicyError(
                f"allowed leaves {sum(mask)} arms, and a round plays at least {least}; allow more."
            )
        return mask

    def rows(self) -> dict[str, Any]:
        """Return who is retired and what arms are called, if anything is to be told."""
        rows: dict[str, Any] = {}
        if self.alive is not None:
            rows["retired"] = self.retired
        if self.names:
            rows["names"] = [[arm, name] for arm, name in self.names.items()]
        return rows

    def checked_names(self, rows: Iterable[Any]) -> dict[int, str]:
        """Return the names of a snapshot, if arms can be called so."""
        names = {}
        for arm, name in rows:
            if not isinstance(name, str):
                raise PolicyError(f"{name!r:.60} is no name of an arm.")
            names[check_whole("arm", arm, 0, PolicyError, self.n_arms - 1)] = name
        return names
