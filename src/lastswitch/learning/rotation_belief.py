r"""What an arm's states may pay by the kinds of curves there are, and what looking is worth.

**Posterior.** The pay of a state is known as far as :mod:`lastswitch.learning.rotation_kinds` says:
every kind of curve is weighed by how likely it makes all that was seen of the arm, so states share
what was seen of them in whatever way explains it. Changes are rarer beyond rest 4, or beyond 2 less
than the arms, which those that take turns have. Which kinds there are is learned from all arms:
beforehand each is as likely as the others' posteriors say, with as many votes as arms were seen
beside a few for how likely kinds are at all.

**Reservation index.** The value of a state is the :math:`U` at which paying :math:`U - m` for one
look, :math:`m` its mean, is just worth what the look may win,

.. math:: U - m = \frac{N}{1 + \kappa n} E[(\mu - U)_+].

:math:`N` is how many later plays would profit. A look teaches less the more was seen of the state
itself, which is what :math:`1 + \kappa n` says; that its neighbours are well known makes a look no
less telling, for what it tells is whether the state is like them. Pays are a distribution over
levels, so the right side is linear between two of them, and one walk down the levels finds the
solution.

The posterior alone would give up too soon on a state that is unlike its neighbours and was unlucky
when first seen. So with a small and fixed weight each state is also taken for itself. And short
rests, of which there are few, are worth 1 until they are seen; a longer one never seen is judged by
the others at once, because seeing each of many long rests costs many rounds.

Cells are those of :mod:`lastswitch.learning.rotation_price`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray
from lastswitch._kernels import jit
from lastswitch.learning.rotation_kinds import BEFOREHAND, pays_of
from lastswitch.learning.rotation_levels import levels_of, likelihoods

#: Changes are rarer, in proportion, beyond this rest, or beyond one that arms in turn have.
_EVEN_RESTS, _TURNS = 4, 2
#: Votes for the kinds as they are beforehand; every arm seen has one.
_ALIKE = 3.0
#: How fast a look teaches less as rewards accumulate (κ).
_TAUGHT = 0.23
#: The weight of a state taken for itself; it falls where changes do, on both of its sides.
_ALONE = 0.05
#: Rests up to this one are to be seen before they are judged.
_CURIOUS = 4
#: Later plays that profit from a look, per play so far and state seen.
PROFIT = 4.0


@jit(inner=True)
def _cell_at(place: int, streaks: int) -> int:
    """Return the cell at a place of the axis; the places of the cells are the same way round."""
    return streaks - 1 - place if place < streaks else place


@jit
def reservation(mean: float, wins: float, levels: FloatArray, shares: FloatArray) -> float:
    """Return the U ≥ mean at which U - mean = wins · Σ shares (levels - U)₊.

    The levels rise. From the top, U is what it would be if only the levels so far were above it;
    once the next is not, it is right.
    """
    u, weight, paid = mean, 1.0, mean
    for k in range(levels.size - 1, -1, -1):
        if levels[k] <= u:
            break
        weight += wins * shares[k]
        paid += wins * shares[k] * levels[k]
        u = paid / weight
    return u


def reservation_reference(
    mean: float, wins: float, levels: FloatArray, shares: FloatArray
) -> float:
    """Say what :func:`reservation` means, by bisection."""
    low, high = mean, 1.0
    for _ in range(60):
        u = 0.5 * (low + high)
        worth = wins * float(shares @ np.maximum(levels - u, 0.0)) > u - mean
        low, high = (u, high) if worth else (low, u)
    return low


@jit(makes_arrays=True)
def believe(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    profit: float,
    arms: int,
    kinds: FloatArray,
    values: FloatArray,
    means: FloatArray,
) -> None:
    """Fill in the index and the mean of one arm's cells; those to be seen first are worth 1.

    Parameters
    ----------
    n, s
        Rewards and their sum by cell.
    streaks
        How many of the cells are streaks.
    profit
        Later plays that would profit from a look at any one state; fewer do after a rest that is
        longer than ``arms`` in turn have, by as much as it is longer.
    kinds
        How likely each kind of curve is beforehand, and then how likely it is after all.
    values, means
        What to fill in.
    """
    count, total = np.empty(n.size), np.empty(n.size)  # along the axis
    for place in range(n.size):
        cell = _cell_at(place, streaks)
        count[place], total[place] = n[cell], min(max(s[cell], 0.0), n[cell])
    if not count.any():
        values[: n.size] = 1.0
        return
    even = max(_EVEN_RESTS, arms - _TURNS)
    levels, widths = levels_of(count, total)
    likely = likelihoods(count, total, levels, widths)
    pays = np.empty(likely.shape)
    pays_of(count, total, streaks, even, levels, widths, likely, kinds, pays)
    found = False
    for place in range(n.size):
        cell, rest = _cell_at(place, streaks), place - streaks + 1
        if count[place] == 0.0 and (rest <= _CURIOUS or not found):
            values[cell] = 1.0  # longer streaks than were ever seen tell nothing
            continue
        found = True
        alone = _ALONE * min(1.0, even / max(rest, 1)) ** 2
        wins = profit / max(1.0, (rest + 1) / arms) / (1.0 + _TAUGHT * count[place])
        mean = 0.0
        for k in range(levels.size):
            mean += pays[place, k] * levels[k]
            pays[place, k] += alone * widths[k] * likely[place, k]
        means[cell] = mean
        values[cell] = reservation(mean, wins, levels, pays[place])


@jit(makes_arrays=True)
def believe_arms(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    depths: NDArray[np.int64],
    profit: float,
    again: NDArray[np.bool_],
    kinds: FloatArray,
    values: FloatArray,
) -> None:
    """Fill in the rows of the arms ``again``: the index of each cell, 1 where it is to be seen.

    Also how likely each kind is of each of them, nothing for an arm never seen; what is there of
    the others is what is known beforehand.
    """
    arms, means = n.shape[0], np.empty(n.shape[1])
    for arm in range(arms):
        if again[arm]:
            cells, own = streaks + depths[arm], kinds[arm]
            own[:] = 0.0
            own += (kinds.sum(axis=0) + _ALIKE * BEFOREHAND) / (kinds.sum() + _ALIKE)
            seen = n[arm, :cells], s[arm, :cells]
            believe(*seen, streaks, profit, arms, own, values[arm], means)
            if not n[arm, :cells].any():
                own[:] = 0.0
