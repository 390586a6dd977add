"""A learner of rounds for subjects that are kept in a database: rules, several plays, or none.

The library's learner keeps, for each subject, what its rules remember. Here that is worked out anew
from the rounds that the subject's row holds, which are all that any rule can see; so it does not
matter which worker is asked, or what was played by others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.learning.proposals import Mask
from lastswitch.learning.rotation_ruled import RuledRotationUCB, _Packed
from lastswitch.learning.tracks import Track
from lastswitch.rules.automata.endless import Endless, Memory

#: The arms of a round, by number.
Arms = tuple[int, ...]


class SharedRounds(SharedRotation, RuledRotationUCB):
    """:class:`~lastswitch.learning.rotation_ruled.RuledRotationUCB` for subjects kept elsewhere.

    **Guaranteed:** no round it decides breaks a hard rule as long as all the rounds before were
    decided by it, or were among its :meth:`ways`.

    Examples
    --------
    >>> from lastswitch import rules as r
    >>> learner = SharedRounds(2, rules=[r.apart(0, 3)], plays=(0, 1), silence=0.2)
    >>> learner.ways(7, [(0,), ()])
    [(), (1,)]
    >>> learner.decide_round([2, 9], 7, [(0,), ()]) in learner.ways(7, [(0,), ()])
    True
    """

    def decide_round(
        self,
        state: Sequence[int],
        number: int,
        past: Sequence[Arms],
        allowed: Mask | None = None,
        plays: int | None = None,
    ) -> Arms | None:
        """Return the arms that round ``number`` plays after the rounds ``past``, the latest last.

        Nothing is counted: it may never be played. None if ``allowed`` and ``plays`` leave nothing
        from which all hard rules can be kept.
        """
        packed, held = self._recalled(number, past)
        if self.stale:
            self._make_tables()
        if allowed is None and plays is None:
            plan = self._planned(Track(tuple(state), number), packed, held, None)
            return packed.endless.choices[plan[0]]
        free = self._kept(packed, held, allowed, plays)
        if not free.any():
            return None
        cells = self._cells(list(state))
        plan = self._beam(cells, packed, held, free) or np.flatnonzero(free)[:1].tolist()
        return packed.endless.choices[plan[0]]

    def ways(
        self,
        number: int,
        past: Sequence[Arms],
        allowed: Mask | None = None,
        plays: int | None = None,
    ) -> list[Arms]:
        """Return every round that may be played; see :meth:`decide_round`."""
        packed, held = self._recalled(number, past)
        free = self._kept(packed, held, allowed, plays)
        return [packed.endless.choices[choice] for choice in np.flatnonzero(free).tolist()]

    def _recalled(self, number: int, past: Sequence[Arms]) -> tuple[_Packed, Memory]:
        """Return the rules as a subject meets them, and what they remember of its rounds."""
        packed = self._rules_from(number - len(past))
        endless, held = packed.endless, packed.endless.start
        for arms in past:
            choice = endless.number.get(tuple(sorted(arms)))
            held = endless.step(held, _likest(endless, arms) if choice is None else choice)[0]
        return packed, held

    def _kept(
        self, packed: _Packed, held: Memory, allowed: Mask | None, plays: int | None
    ) -> NDArray[np.bool_]:
        """Tell which choices may be made and leave all hard rules a way to be kept."""
        endless = packed.endless
        free = packed.free(allowed)
        if plays is not None:
            free &= packed.choices.sum(axis=1) == plays
        if not endless.lasting(held):  # rounds went by that cannot be mended: break as little
            least = self._least_broken(endless, held, free) if free.any() else None
            free[:] = False
            if least is not None:
                free[least] = True
            return free
        for choice in np.flatnonzero(free).tolist():
            free[choice] = endless.safe(held, choice)
        return free


def _likest(endless: Endless, arms: Arms) -> int:
    """Return the choice most like a round that is none: an earlier version had other plays."""
    common = [len(set(arms) & set(choice)) for choice in endless.choices]
    return max(range(len(common)), key=lambda k: (common[k], -len(endless.choices[k])))
