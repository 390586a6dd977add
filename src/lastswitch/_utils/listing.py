"""Long lists in few words: the first dozen, and where the rest is; and how many of a thing."""

from __future__ import annotations

from collections.abc import Sequence

#: As many entries as people read one by one.
DOZEN = 12


def first_dozen(names: Sequence[str], where: str = "") -> str:
    """Return ``names`` with commas: all, or the first dozen, how many more, and ``where``.

    Examples
    --------
    >>> first_dozen(["jazz", "talk"])
    'jazz, talk'
    >>> first_dozen([f"song {k}" for k in range(2000)], "all in plan.names").partition("song 10")[2]
    ', song 11 and 1,988 more (all in plan.names)'
    """
    shown = ", ".join(names[:DOZEN])
    return f"{shown} and {more(len(names), where)}" if len(names) > DOZEN else shown


def more(total: int, where: str = "") -> str:
    """Return how many there are beyond the first dozen, and ``where``.

    Examples
    --------
    >>> more(1682, "all in radio.states.csv")
    '1,670 more (all in radio.states.csv)'
    """
    return f"{total - DOZEN:,} more" + (f" ({where})" if where else "")


def counted(many: int, thing: str) -> str:
    """Return how many of a thing there are, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "row"), counted(2658, "row")
    ('1 row', '2,658 rows')
    """
    return f"{many:,} {thing}{'' if many == 1 else 's'}"
