r"""Subjects that differ: how much of what others showed counts for one of them.

A subject's own rewards are kept as a flat list, cell after cell: where, how many, what they paid.
It grows with the states the subject has been seen in, never beyond three numbers per (arm, state),
however long the subject stays.

*Partial* pooling is empirical Bayes. In a state others have seen :math:`c` times, they count for
:math:`c \nu / (c + \nu)` rewards: at most :math:`\nu`, the *strength* of what is common. The
strength is the one under which the subjects' own rewards would have been least surprising, given
the others' (a beta-binomial likelihood, over a grid from 0, where nobody teaches anybody, to
:math:`\infty`, where all are one).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.errors import PolicyError

#: Strengths tried, from none to all.
STRENGTHS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, math.inf)
#: Subjects whose rewards are weighed to find the strength.
MOST_WEIGHED = 200
#: That all are one is believed if its log-likelihood is this close to the best.
_ABOUT = 2.0


def add_own(own: list[Any], cell: int, reward: float) -> None:
    """Add a reward to what a subject was paid in ``cell``.

    Examples
    --------
    >>> own = []
    >>> for cell, reward in ((7, 1.0), (3, 0.5), (7, 0.0)):
    ...     add_own(own, cell, reward)
    >>> own
    [7, 2.0, 1.0, 3, 1.0, 0.5]
    """
    for k in range(0, len(own), 3):
        if own[k] == cell:
            own[k + 1] += 1.0
            own[k + 2] += reward
            return
    own += [cell, 1.0, reward]


def own_tables(own: Sequence[Any] | None, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return counts and sums per (arm, raw state) of one subject."""
    n, s = np.zeros(math.prod(shape)), np.zeros(math.prod(shape))
    if own:
        cells = own[::3]
        n[cells], s[cells] = own[1::3], own[2::3]
    return n.reshape(shape), s.reshape(shape)


def check_own(own: Any, cells: int) -> None:
    """Refuse what no subject can have been paid in so many cells.

    Examples
    --------
    >>> check_own([3, 2.0, 1.5], cells=4)
    >>> check_own([3, 2.0, 2.5], cells=4)
    Traceback (most recent call last):
    lastswitch.errors.PolicyError: a subject cannot have been paid [3, 2.0, 2.5].
    """
    fine = isinstance(own, list) and len(own) % 3 == 0 and len(set(own[::3])) * 3 == len(own)
    for k in range(0, len(own) if fine else 0, 3):
        cell, count, paid = own[k : k + 3]
        fine &= type(cell) is int and type(count) is float and type(paid) is float
        fine = fine and 0 <= cell < cells and 0.0 <= paid <= count * (1 + 1e-9) < math.inf
    if not fine:
        raise PolicyError(f"a subject cannot have been paid {own!r:.80}.")


def mixed(
    own: tuple[FloatArray, FloatArray], common: tuple[FloatArray, FloatArray], strength: float
) -> tuple[FloatArray, FloatArray]:
    """Return counts and sums for one subject: its own, and as much of the others' as counts.

    Examples
    --------
    >>> own, common = (np.array([2.0]), np.array([2.0])), (np.array([8.0]), np.array([5.0]))
    >>> [mixed(own, common, strength)[0].tolist() for strength in (0.0, 3.0, math.inf)]
    [[2.0], [4.0], [8.0]]
    """
    n, s = own
    others = np.maximum(common[0] - n, 0.0)
    paid = np.clip(common[1] - s, 0.0, others)
    share = _share(others, strength)
    return n + share * others, s + share * paid


def likeliest_strength(
    subjects: Sequence[tuple[FloatArray, FloatArray]], common: tuple[FloatArray, FloatArray]
) -> int:
    """Return which of `STRENGTHS` makes the subjects' own rewards least surprising.

    Examples
    --------
    Two subjects who agree, and two who do not:

    >>> def pair(one, other):
    ...     subjects = [(np.full(6, 50.0), np.full(6, paid)) for paid in (one, other)]
    ...     return likeliest_strength(subjects, tuple(map(sum, zip(*subjects))))
    >>> STRENGTHS[pair(25.0, 25.0)], STRENGTHS[pair(2.0, 48.0)] < 4
    (inf, True)
    """
    from scipy.special import betaln

    likely = np.zeros(len(STRENGTHS))
    for n, s in subjects:
        seen = n > 0.0
        hits, misses = s[seen], np.maximum(n[seen] - s[seen], 0.0)
        others = np.maximum(common[0][seen] - n[seen], 0.0)
        paid = np.clip(common[1][seen] - hits, 0.0, others)
        for k, strength in enumerate(STRENGTHS):
            share = _share(others, strength)
            a, b = 0.5 + share * paid, 0.5 + share * (others - paid)
            likely[k] += float((betaln(a + hits, b + misses) - betaln(a, b)).sum())
    if likely[-1] >= likely.max() - _ABOUT:  # with little to tell subjects apart they are one
        return len(STRENGTHS) - 1
    return int(likely.argmax())


def _share(others: FloatArray, strength: float) -> FloatArray:
    """Return which part of others' rewards counts."""
    if math.isinf(strength):
        return np.ones_like(others)
    return strength / np.maximum(others + strength, 1e-12)
