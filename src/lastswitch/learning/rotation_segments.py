r"""Where an arm's curve may change: a posterior over all ways to cut its states into segments.

Lay an arm's states on one axis: streaks from the longest to the first repeat, then rests 1, 2, ….
Between two neighbours the pay changes with probability :math:`h`, one of a few hazards, and less
between long rests (:math:`R h / r` beyond rest :math:`R`). Between two changes lies a *segment*,
whose states share one pay, uniform on [0, 1]. A segment with :math:`n` rewards of sum :math:`s` has
likelihood :math:`B(1 + s, 1 + n - s)`. Of states never seen all that matters is whether there is a
change between the two seen around them; so sums over all ways to cut the axis into segments take
:math:`O(L^2)` for :math:`L` states seen.

How likely each hazard is beforehand is for whoever asks to say: arms that were seen can tell of
those that were not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray
from lastswitch._kernels import jit
from lastswitch.learning.beta_excess import log_beta_of

#: How likely the pay changes from one state to the next: rarely, often, nearly always.
HAZARDS = (0.2, 0.6, 0.9)


@jit
def segment_likelihoods(n: FloatArray, s: FloatArray) -> FloatArray:
    """Return the log-likelihood of one pay for the states seen from i to before j.

    ``n`` and ``s`` are cumulative along the states seen, from 0.
    """
    places = n.size
    likely = np.zeros((places, places))
    for i in range(places):
        for j in range(i + 1, places):
            likely[i, j] = log_beta_of(n[j] - n[i], s[j] - s[i])
    return likely


@jit
def staying(hazards: FloatArray, places: int, streaks: int, even: int) -> FloatArray:
    """Return by hazard and place the log-probability of no change from the first place to it.

    The axis begins with ``streaks`` streaks, and changes are rarer beyond rest ``even``.
    """
    stays = np.zeros((hazards.size, places))
    for k in range(hazards.size):
        for place in range(1, places):
            hazard, rest = hazards[k], place - streaks
            if rest > even:
                hazard *= even / rest
            stays[k, place] = stays[k, place - 1] + math.log1p(-hazard)
    return stays


@jit
def segment_weights(
    likely: FloatArray, seen: NDArray[np.int64], stays: FloatArray, prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return by hazard how likely it is, and a segment holds just the i-th to j-th state seen.

    And how likely each hazard is, which was ``prior`` beforehand. States never seen tell nothing,
    so all ways to cut them are summed up by whether there is a change between two that were.

    ``likely`` is of :func:`segment_likelihoods`, ``seen`` are the places of the states seen, and
    ``stays`` is of :func:`staying`.
    """
    states, ways = seen.size, stays.shape[0]
    share, evidence = np.zeros((ways, states, states)), np.empty(ways)
    leads, so_far = np.empty(states), np.empty(states)
    for k in range(ways):
        leads[0] = -stays[k, seen[0]]
        for j in range(states):
            here, most = stays[k, seen[j]], -np.inf
            for i in range(j + 1):
                share[k, i, j] = leads[i] + likely[i, j + 1]
                most = max(most, share[k, i, j])
            total = 0.0
            for i in range(j + 1):
                share[k, i, j] = math.exp(share[k, i, j] - most)
                total += share[k, i, j]
            for i in range(j + 1):
                share[k, i, j] /= total
            so_far[j] = most + here + math.log(total)
            if j + 1 < states:
                after = stays[k, seen[j + 1]]
                leads[j + 1] = so_far[j] + math.log(-math.expm1(after - here)) - after
        evidence[k] = so_far[states - 1]
    evidence = prior * np.exp(evidence - evidence.max())
    evidence /= evidence.sum()
    ends = np.empty(states)
    for k in range(ways):
        # Backwards: a segment that ends here begins where `share` says.
        ends[:] = 0.0
        ends[states - 1] = evidence[k]
        for j in range(states - 1, -1, -1):
            for i in range(j + 1):
                share[k, i, j] *= ends[j]
                if i > 0:
                    ends[i - 1] += share[k, i, j]
    return share, evidence


def segment_weights_reference(
    n: FloatArray,
    s: FloatArray,
    hazards: Sequence[float],
    prior: Sequence[float],
    streaks: int,
    first: int,
    even: int,
) -> tuple[FloatArray, FloatArray]:
    """Say what :func:`segment_weights` means: list every cut of the axis, weigh it, add it up.

    Weights are of segments from one place to another, states never seen included, whatever the
    hazard. ``n`` and ``s`` are by place, not cumulative, and the axis begins ``first`` places into
    the streaks.
    """
    length, cuts = n.size, []
    for k, hazard in enumerate(hazards):
        rests = np.arange(1, length) + first - streaks
        changes = hazard * np.minimum(1.0, even / np.maximum(rests, 1))
        for cut in product([False, True], repeat=length - 1):
            segments = list(pairwise([0, *(p + 1 for p in range(length - 1) if cut[p]), length]))
            likely = math.log(prior[k]) + np.log(np.where(cut, changes, 1.0 - changes)).sum()
            for i, end in segments:
                hits, misses = s[i:end].sum(), (n - s)[i:end].sum()
                likely += math.lgamma(1 + hits) + math.lgamma(1 + misses)
                likely -= math.lgamma(2 + hits + misses)
            cuts.append((k, likely, segments))
    weights, each = np.zeros((length, length)), np.zeros(len(hazards))
    most = max(likely for _, likely, _ in cuts)
    for k, likely, segments in cuts:
        each[k] += math.exp(likely - most)
        for i, end in segments:
            weights[i, end - 1] += math.exp(likely - most)
    return weights / each.sum(), each / each.sum()
