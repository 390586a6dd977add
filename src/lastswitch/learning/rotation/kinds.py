r"""Kinds of curves an arm may have: how likely each is, and what its states then pay.

Lay an arm's states on one axis: streaks from the longest to the first repeat, then rests 1, 2, ….
A *kind* says how levels (:mod:`lastswitch.learning.rotation.levels`) follow one another on it:

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

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.jit import jit
from lastswitch.learning.rotation.levels import LEVELS, MOST, WIDTHS, Room

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
CHAINS = int(np.sum(KINDS[:, 0] != PERIODIC))
#: Of each chain, the rate.
RATES = KINDS[:CHAINS, 2].copy()
#: How likely each kind is before any arm was seen: every form is as likely as the others.
BEFOREHAND = np.array([1 / 4 / np.sum(KINDS[:, 0] == form) for form in KINDS[:, 0]])
#: Of rises, those to any higher level.
_ANY = 0.3
#: A peak becomes rarer beyond this rest.
_EARLY = 8
IMPOSSIBLE = -1e300
_NOTHING = 1e-200


def room_for(cells: int, streaks: int, even: int) -> Room:
    """Make room for an arm of so many states; changes become rarer beyond the rest ``even``."""
    changes = [[_change(kind, k, streaks, even) for k in range(cells)] for kind in KINDS[:CHAINS]]
    falls, reach = np.empty((2, CHAINS, MOST))
    likely, higher, pays = np.empty((3, cells, MOST))
    by_level, ahead = np.empty((6, max(MOST, cells))), np.empty((CHAINS, 3, cells, MOST))
    tables = likely, higher, pays, ahead, np.empty(len(KINDS))
    return Room(np.empty((3, cells)), np.array(changes), by_level, falls, reach, *tables)


def _change(kind: FloatArray, place: int, streaks: int, even: int) -> float:
    """Return how likely the pay changes between the place before and this one."""
    rest, chance = place - streaks, float(kind[1])  # the rest before
    if kind[0] == PEAK:
        return chance * min(1.0, _EARLY / (rest + 1)) if rest >= 0 else 0.0
    return chance * min(1.0, even / max(rest, 1))


@jit(inner=True)
def forwards(way: int, size: int, room: Room, begin: int, end: int) -> float:
    """Fill in how likely each place has each level, by all before; return the log-likelihood.

    ``ahead`` holds, for a peak, the level before it, at it, and after it. It is filled in for the
    places from ``begin`` to before ``end``; where nothing was seen nothing becomes more or less
    likely. The first place of a kind that rises begins low.
    """
    form, rate, evidence = KINDS[way, 0], KINDS[way, 2], 0.0
    n, changes, ahead = room.by_place[0], room.changes[way], room.ahead[way]
    levels, widths = room.by_level[LEVELS], room.by_level[WIDTHS]
    likely, higher = room.likely, room.higher
    above, falls, reach = room.reach[0], room.falls[way], room.reach[way]
    for place in range(begin, end):
        first, second, third = ahead[0, place], ahead[1, place], ahead[2, place]
        here, total, change = likely[place], 0.0, changes[place]
        stay = 1.0 - change
        if place == 0:
            for k in range(size):
                first[k], second[k], third[k] = widths[k], 0.0, 0.0
                if rate > 0.0:
                    first[k] *= math.exp(-rate * levels[k])
                total += first[k]
            for k in range(size):
                first[k] *= here[k] / total
        elif form == CHANGING:
            before = ahead[0, place - 1]
            for k in range(size):
                first[k] = (stay * before[k] + change * widths[k]) * here[k]
        elif form == RISING:
            before, near, anywhere = ahead[0, place - 1], 0.0, 0.0
            for k in range(size):
                near = near * falls[k] + before[k] * reach[k]
                anywhere += before[k] * above[k]
                rise = (1.0 - _ANY) * near + _ANY * anywhere
                first[k] = (stay * before[k] + change * widths[k] * rise) * here[k]
        else:
            before, at, after = ahead[0, place - 1], ahead[1, place - 1], ahead[2, place - 1]
            for k in range(size):
                third[k] = (after[k] + at[k]) * here[k]
                second[k] = change * before[k] * higher[place, k]
                first[k] = stay * before[k] * here[k]
        if n[place] == 0.0:
            continue
        total = 0.0
        for row in range(3 if form == PEAK else 1):
            for k in range(size):
                total += ahead[row, place, k]
        if not total > _NOTHING:
            return IMPOSSIBLE
        evidence += math.log(total)
        scale = 1.0 / total
        for row in range(3 if form == PEAK else 1):
            for k in range(size):
                ahead[row, place, k] *= scale
    return evidence


@jit(inner=True)
def backwards(way: int, weight: float, size: int, room: Room, seen: int, places: int) -> None:
    """Add to ``pays`` what each place pays by all, weighed; only the first were ``seen``."""
    form, changes, ahead, pays = KINDS[way, 0], room.changes[way], room.ahead[way], room.pays
    widths, back, later = room.by_level[WIDTHS], room.by_level[0], room.by_level[1]
    above, falls, reach = room.reach[0], room.falls[way], room.reach[way]
    likely, higher = room.likely, room.higher
    for place in range(seen, places):
        lower = 0.0
        for k in range(size):
            here = ahead[0, place, k]
            if form == PEAK:
                lower += ahead[1, place, k] * above[k]
                here += lower * widths[k] + ahead[2, place, k]
            pays[place, k] += weight * here
    for k in range(size):
        back[k], later[k] = 1.0, 1.0  # by the level, the peak to come or not any more
    for place in range(seen - 1, -1, -1):
        first, second, third = ahead[0, place], ahead[1, place], ahead[2, place]
        total, lower = 0.0, 0.0
        for k in range(size):
            total += first[k] * back[k]
            if form == PEAK:
                total += (second[k] + third[k]) * later[k]
        share = weight / total
        for k in range(size):
            pays[place, k] += share * first[k] * back[k]
            if form == PEAK:
                if second[k] > 0.0:
                    lower += second[k] * later[k] * above[k] / higher[place, k]
                peak = lower * widths[k] * likely[place, k]
                pays[place, k] += share * (peak + third[k] * later[k])
        if place == 0:
            break
        change, near, anywhere, scale = changes[place], 0.0, 0.0, 1.0 / total
        stay = 1.0 - change
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
