r"""Kinds of curves an arm may have: how likely each is, and what its states then pay.

Lay an arm's states on one axis: streaks from the longest to the first repeat, then rests 1, 2, ….
A *kind* says how levels (:mod:`lastswitch.learning.rotation_levels`) follow one another on it:

- *changing*: between neighbours the pay stays, or changes with probability :math:`h` to any level;
- *rising*: it stays, or rises: to any higher level, or by a step whose likelihood falls off
  exponentially, at a rate;
- *peak*: one level throughout, but for one rest, which pays more;
- *periodic*: rests a period apart pay the same, and streaks one pay of their own.

Changes become rarer with long rests, in proportion. But for the last, which is a matter of adding
up, these are hidden Markov chains whose steps are sums over lower or higher levels; so to go
forwards and backwards over :math:`L` states and :math:`M` levels takes :math:`O(L M)`. Forwards
says how likely the kind makes all that was seen; both together say what each state pays.

How likely each kind is beforehand is for whoever asks to say: arms that were seen can tell of those
that were not.
"""

from __future__ import annotations

import math

import numpy as np

from lastswitch._arrays import FloatArray
from lastswitch._kernels import jit
from lastswitch.learning.rotation_periods import log_beta_of, log_periodic, pay_periodic

CHANGING, RISING, PEAK, PERIODIC = range(4)
#: Of each kind: its form; how likely a change is, or the period; and the rate at which the
#: likelihood of rises falls off.
KINDS = np.array(
    [
        (CHANGING, 0.2, 0.0),
        (CHANGING, 0.6, 0.0),
        (CHANGING, 0.9, 0.0),
        (RISING, 0.2, 0.0),
        (RISING, 0.8, 12.0),
        (PEAK, 0.15, 0.0),
        *[(PERIODIC, period, 0.0) for period in range(2, 13)],
    ]
)
#: Those that are chains come first.
_CHAINS = int(np.sum(KINDS[:, 0] != PERIODIC))
#: How likely each kind is before any arm was seen: every form is as likely as the others.
BEFOREHAND = np.array([1 / 4 / np.sum(KINDS[:, 0] == form) for form in KINDS[:, 0]])
#: Of rises, those to any higher level.
_ANY = 0.3
#: A peak becomes rarer beyond this rest.
_EARLY = 8
#: Kinds less likely than this are left out of what states pay.
_RARE = 5e-3
_IMPOSSIBLE = -1e300
_NOTHING = 1e-200


@jit(inner=True)
def _change(kind: FloatArray, place: int, streaks: int, even: int) -> float:
    """Return how likely the pay changes between the place before and this one."""
    rest, chance = place - streaks, float(kind[1])  # the rest before
    if kind[0] == PEAK:
        return chance * min(1.0, _EARLY / (rest + 1)) if rest >= 0 else 0.0
    return chance * min(1.0, even / max(rest, 1))


@jit(inner=True)
def _falls(
    rate: float, levels: FloatArray, widths: FloatArray, falls: FloatArray, reach: FloatArray
) -> None:
    """Fill in how much less likely a rise is one level further up, and 1 by what all weigh."""
    falls[0] = 1.0
    for k in range(1, levels.size):
        falls[k] = math.exp(rate * (levels[k - 1] - levels[k]))
    so_far = 0.0
    for k in range(levels.size - 1, -1, -1):
        so_far += widths[k]
        reach[k] = 1.0 / so_far
        so_far *= falls[k]


@jit(inner=True)
def _start(
    kind: FloatArray, levels: FloatArray, widths: FloatArray, likely: FloatArray, ahead: FloatArray
) -> None:
    """Fill in how likely the first place has each level; one that rises begins low."""
    ahead[:, 0] = 0.0
    total = 0.0
    for k in range(levels.size):
        ahead[0, 0, k] = widths[k]
        if kind[2] > 0.0:
            ahead[0, 0, k] *= math.exp(-kind[2] * levels[k])
        total += ahead[0, 0, k]
    for k in range(levels.size):
        ahead[0, 0, k] *= likely[0, k] / total


@jit(inner=True)
def _forwards(
    kind: FloatArray,
    levels: FloatArray,
    widths: FloatArray,
    above: FloatArray,
    likely: FloatArray,
    higher: FloatArray,
    streaks: int,
    even: int,
    falls: FloatArray,
    reach: FloatArray,
    ahead: FloatArray,
    n: FloatArray,
    begin: int,
    end: int,
) -> float:
    """Fill in how likely each place has each level, by all before; return the log-likelihood.

    ``ahead`` holds, for a peak, the level before it, at it, and after it. It is filled in for the
    places from ``begin`` to before ``end``; where nothing was seen nothing becomes more or less
    likely.
    """
    form, evidence, size = kind[0], 0.0, levels.size
    for place in range(begin, end):
        first, second, third = ahead[0, place], ahead[1, place], ahead[2, place]
        here = likely[place]
        if place == 0:
            _start(kind, levels, widths, likely, ahead)
        else:
            change = _change(kind, place, streaks, even)
            before, at, after = ahead[0, place - 1], ahead[1, place - 1], ahead[2, place - 1]
            stay = 1.0 - change
            if form == CHANGING:
                for k in range(size):
                    first[k] = (stay * before[k] + change * widths[k]) * here[k]
            elif form == RISING:
                near, anywhere = 0.0, 0.0
                for k in range(size):
                    near = near * falls[k] + before[k] * reach[k]
                    anywhere += before[k] * above[k]
                    rise = (1.0 - _ANY) * near + _ANY * anywhere
                    first[k] = (stay * before[k] + change * widths[k] * rise) * here[k]
            else:
                for k in range(size):
                    third[k] = (after[k] + at[k]) * here[k]
                    second[k] = change * before[k] * higher[place, k]
                    first[k] = stay * before[k] * here[k]
        if n[place] == 0.0:
            continue
        rows, total = 3 if form == PEAK else 1, 0.0
        for row in range(rows):
            for k in range(size):
                total += ahead[row, place, k]
        if not total > _NOTHING:
            return _IMPOSSIBLE
        evidence += math.log(total)
        scale = 1.0 / total
        for row in range(rows):
            for k in range(size):
                ahead[row, place, k] *= scale
    return evidence


@jit(inner=True)
def _backwards(
    kind: FloatArray,
    weight: float,
    widths: FloatArray,
    above: FloatArray,
    likely: FloatArray,
    higher: FloatArray,
    streaks: int,
    even: int,
    falls: FloatArray,
    reach: FloatArray,
    ahead: FloatArray,
    places: int,
    back: FloatArray,
    later: FloatArray,
    pays: FloatArray,
) -> None:
    """Add to ``pays`` what so many places pay by all of them, weighed.

    ``back`` and ``later`` are room for one number per level.
    """
    form, size = kind[0], widths.size
    back[:], later[:] = 1.0, 1.0  # by the level, the peak to come or not any more
    for place in range(places - 1, -1, -1):
        first, second, third = ahead[0, place], ahead[1, place], ahead[2, place]
        total = 0.0
        for k in range(size):
            total += first[k] * back[k]
            if form == PEAK:
                total += (second[k] + third[k]) * later[k]
        share, lower = weight / total, 0.0
        for k in range(size):
            pays[place, k] += share * first[k] * back[k]
            if form == PEAK:
                if second[k] > 0.0:
                    lower += second[k] * later[k] * above[k] / higher[place, k]
                peak = lower * widths[k] * likely[place, k]
                pays[place, k] += share * (peak + third[k] * later[k])
        if place == 0:
            break
        change = _change(kind, place, streaks, even)
        stay, near, anywhere, scale = 1.0 - change, 0.0, 0.0, 1.0 / total
        for k in range(size):
            back[k] *= likely[place, k] * scale
            if form == PEAK:
                event = higher[place, k] * later[k] * scale
                back[k] = stay * back[k] + change * event
                later[k] *= likely[place, k] * scale
        if form == CHANGING:
            for k in range(size):
                anywhere += widths[k] * back[k]
            for k in range(size):
                back[k] = stay * back[k] + change * anywhere
        elif form == RISING:
            for k in range(size - 1, -1, -1):
                near += widths[k] * back[k]
                anywhere += widths[k] * back[k]
                rise = (1.0 - _ANY) * near * reach[k] + _ANY * anywhere * above[k]
                back[k] = stay * back[k] + change * rise
                near *= falls[k]


@jit(inner=True)
def _beyond(
    kind: FloatArray,
    weight: float,
    widths: FloatArray,
    above: FloatArray,
    ahead: FloatArray,
    first: int,
    pays: FloatArray,
) -> None:
    """Add to ``pays`` what the places from ``first`` on pay, of which none was seen, weighed."""
    for place in range(first, pays.shape[0]):
        lower = 0.0
        for k in range(widths.size):
            here = ahead[0, place, k]
            if kind[0] == PEAK:
                lower += ahead[1, place, k] * above[k]
                here += lower * widths[k] + ahead[2, place, k]
            pays[place, k] += weight * here


@jit(makes_arrays=True)
def pays_of(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    even: int,
    levels: FloatArray,
    widths: FloatArray,
    likely: FloatArray,
    shares: FloatArray,
    pays: FloatArray,
) -> None:
    """Fill in how likely each place of the axis pays each level, whatever the kind.

    Parameters
    ----------
    n, s
        Rewards and their sum by place.
    streaks
        How many of the places are streaks.
    even
        Changes become rarer beyond this rest.
    levels, widths
        Of :func:`~lastswitch.learning.rotation_levels.levels_of`.
    likely
        Of :func:`~lastswitch.learning.rotation_levels.likelihoods`.
    shares
        How likely each of the `KINDS` is beforehand, and then how likely it is after all.
    pays
        What to fill in.
    """
    places, size, ways = n.size, levels.size, KINDS.shape[0]
    above, higher = np.empty(size), np.ones((places, size))
    falls, reach = np.empty(size), np.empty(size)
    _falls(0.0, levels, widths, falls, above)
    alone, last = np.zeros(places), 0  # the last place seen: those behind it tell nothing
    for place in range(places):
        if n[place] > 0.0:
            last, alone[place], so_far = place, log_beta_of(n[place], s[place]), 0.0
            for k in range(size - 1, -1, -1):
                so_far += widths[k] * likely[place, k]
                higher[place, k] = so_far * above[k]
    ahead, evidence = np.empty((_CHAINS, 3, places, size)), np.empty(ways)
    table = levels, widths, above, likely, higher, streaks, even
    for way in range(ways):
        kind = KINDS[way]
        if kind[0] == PERIODIC:
            evidence[way] = log_periodic(n, s, alone, streaks, int(kind[1]))
        else:
            if kind[0] == RISING:
                _falls(kind[2], levels, widths, falls, reach)
            steps = falls, reach, ahead[way]
            evidence[way] = _forwards(kind, *table, *steps, n, 0, last + 1)
        if shares[way] == 0.0:
            evidence[way] = _IMPOSSIBLE
    shares *= np.exp(evidence - evidence.max())
    shares /= shares.sum()
    pays[:] = 0.0
    kept, room = shares[shares >= _RARE].sum(), np.empty((2, size))
    for way in range(ways):
        kind, weight = KINDS[way], shares[way] / kept
        if shares[way] < _RARE:
            continue
        if kind[0] == PERIODIC:
            pay_periodic(weight, n, streaks, int(kind[1]), widths, likely, pays)
        else:
            if kind[0] == RISING:
                _falls(kind[2], levels, widths, falls, reach)
            steps = falls, reach, ahead[way]
            _forwards(kind, *table, *steps, n, last + 1, places)
            _backwards(kind, weight, *table[1:], *steps, last + 1, room[0], room[1], pays)
            _beyond(kind, weight, widths, above, ahead[way], last + 1, pays)


def pays_reference(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    even: int,
    levels: FloatArray,
    widths: FloatArray,
    likely: FloatArray,
    shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Say what :func:`pays_of` means: whole matrices of steps, every place of a peak.

    Returns how likely each kind is after all, and how likely each place pays each level; no kind is
    left out.
    """
    from scipy.special import betaln, logsumexp

    logs, found = [], []
    for kind in KINDS:
        if kind[0] == PERIODIC:
            groups = [range(streaks)]
            groups += [range(streaks + k, n.size, int(kind[1])) for k in range(int(kind[1]))]
            pays, log = np.empty_like(likely), -betaln(1 + s, 1 + n - s).sum()
            for places in map(list, groups):
                log += betaln(1 + s[places].sum(), 1 + (n - s)[places].sum())
                together = widths * likely[places].prod(axis=0)
                pays[places] = together / together.sum()
        elif kind[0] == PEAK:
            pays, log = _peak_reference(kind, streaks, widths, likely)
        else:
            pays, log = _chain_reference(kind, streaks, even, levels, widths, likely)
        found.append(pays)
        logs.append(log)
    with np.errstate(divide="ignore"):
        logs = np.log(shares) + logs
    shares = np.exp(logs - logsumexp(logs))
    return shares, np.tensordot(shares, found, axes=1)


def _chain_reference(
    kind: FloatArray,
    streaks: int,
    even: int,
    levels: FloatArray,
    widths: FloatArray,
    likely: FloatArray,
) -> tuple[FloatArray, float]:
    """Return what places pay by a kind that changes or rises, and its log-likelihood."""
    start = widths * np.exp(-kind[2] * levels)
    anywhere = np.tile(widths, (levels.size, 1))
    near = anywhere * np.exp(-kind[2] * np.abs(levels - levels[:, None]))
    if kind[0] == RISING:
        near, anywhere = np.triu(near), np.triu(anywhere)
    near, anywhere = (steps / steps.sum(axis=1, keepdims=True) for steps in (near, anywhere))
    change = (1.0 - _ANY) * near + _ANY * anywhere
    ahead, back = [start / start.sum() * likely[0]], [np.ones(levels.size)]
    steps = []
    for place in range(1, len(likely)):
        rare = kind[1] * min(1.0, even / max(place - streaks, 1))
        steps.append((1.0 - rare) * np.eye(levels.size) + rare * change)
        ahead.append(ahead[-1] @ steps[-1] * likely[place])
    for step, here in zip(steps[::-1], likely[:0:-1], strict=True):
        back.append(step @ (here * back[-1]))
    total = float(ahead[-1].sum())
    return np.array(ahead) * back[::-1] / total, math.log(total)


def _peak_reference(
    kind: FloatArray, streaks: int, widths: FloatArray, likely: FloatArray
) -> tuple[FloatArray, float]:
    """Return what places pay if at most one rest pays more, and the log-likelihood of that."""
    pays, left = np.zeros_like(likely), 1.0
    higher = np.triu(np.tile(widths, (widths.size, 1)))  # the peak's level by that of the others
    higher /= higher.sum(axis=1, keepdims=True)
    for peak in range(streaks, len(likely)):
        chance = kind[1] * min(1.0, _EARLY / (peak - streaks + 1))
        others = left * chance * widths * np.delete(likely, peak, axis=0).prod(axis=0)
        both = others[:, None] * higher * likely[peak]
        pays += both.sum(axis=1)
        pays[peak] += both.sum(axis=0) - both.sum(axis=1)
        left *= 1.0 - chance
    pays += left * widths * likely.prod(axis=0)
    total = float(pays[0].sum())
    return pays / total, math.log(total)
