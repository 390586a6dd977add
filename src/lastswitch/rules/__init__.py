"""What a schedule must respect: rules as values that print as sentences.

A rule is one of two records. :class:`Counting` says how often some arms may or must be played in
each of certain windows of rounds; :class:`Succession` says which arm may not follow which. The
functions of this module write them down in the words people use:

>>> from lastswitch import rules as r
>>> print(r.at_most("Adele", 3, within=24))
Adele: at most 3 plays in any 24 rounds
>>> print(r.apart("Adele", 3))
Adele: any two plays at least 3 rounds apart
>>> r.apart("Adele", 3) == r.at_most("Adele", 1, within=3)
True

Rounds are counted from 0, the first planned one; rounds before it are negative. Every rule takes
``cost=`` (a price per violation instead of a prohibition) and ``name=``.
"""

from __future__ import annotations

from lastswitch.rules.checking import Violation, check_rounds, cost_of, violations
from lastswitch.rules.making import (
    apart,
    at_least,
    at_most,
    from_dict,
    never,
    never_after,
    only,
    pinned,
    rest,
)
from lastswitch.rules.records import Counting, Rule, Succession, TimeWords, everyone

__all__ = [
    "Counting",
    "Rule",
    "Succession",
    "TimeWords",
    "Violation",
    "apart",
    "at_least",
    "at_most",
    "check_rounds",
    "cost_of",
    "everyone",
    "from_dict",
    "never",
    "never_after",
    "only",
    "pinned",
    "rest",
    "violations",
]
