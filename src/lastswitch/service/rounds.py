"""A learner of rounds for subjects that are kept in a database: rules, several plays, or none.

The library's learner keeps, for each subject, what its rules remember. Here that is worked out anew
from the rounds that the subject's row holds, which are all that any rule can see; so it does not
matter which worker is asked, or what was played by others.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.learning.policy import Mask

#: The arms of a round, by number.
Arms = tuple[int, ...]


class SharedRounds(SharedRotation):
    """What :class:`~lastswitch.learning.RotationUCB` learns under rules, for subjects elsewhere.

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
        return self.learner.next_round(state, number, past, allowed, plays)

    def ways(
        self,
        number: int,
        past: Sequence[Arms],
        allowed: Mask | None = None,
        plays: int | None = None,
    ) -> list[Arms]:
        """Return every round that may be played; see :meth:`decide_round`."""
        return self.learner.ways(number, past, allowed, plays)
