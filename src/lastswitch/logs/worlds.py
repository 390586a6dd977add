"""Logs in which nothing wears out or recovers, in the disguises real logs come in.

Every reward is a coin's. Whoever finds an effect in one of these has found the disguise: they are
there to measure how often a fit raises a false alarm, and how honest its predictions are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._checks import check_choice, check_whole
from lastswitch._extras import load_extra
from lastswitch._random import stream
from lastswitch.errors import LogError
from lastswitch.logs.counts import GROUPS, Counts

NAMES = ("jazz", "news", "talk")
_REST, _STREAK = 60, 20  # how deep states are told apart, as ``fit_curves`` does
_DAY = np.timedelta64(1, "D")
_START = np.datetime64("2024-01-01", "us")
Ints = NDArray[np.int64]


class _Rows(NamedTuple):
    subject: Ints
    day: Ints
    arm: Ints
    reward: NDArray[np.float64]


def coin_flips(disguise: str, seed: int, *, subjects: int = 200) -> Any:
    """Return a log of coin flips as an Arrow table ``subject, time, arm, reward``.

    Parameters
    ----------
    disguise
        ``"ties"``: four events on each of ten dates, in no order. ``"batches"``: days of one to six
        events, to be read by the day. ``"choosers"``: subjects differ in luck, and the unlucky
        repeat themselves. ``"permuted"``: rewards of a log that does wear out, of unlike subjects,
        shuffled within each. ``"single"``: one event per subject.
    subjects
        How many there are; ten times as many for ``"single"``.

    Examples
    --------
    >>> coin_flips("single", seed=1).num_rows
    2000
    """
    check_choice("disguise", disguise, list(DISGUISES), LogError)
    check_whole("subjects", subjects, 1, LogError)
    arrow = load_extra("pyarrow", "logs")
    rows = DISGUISES[disguise](stream(seed, "logs", "coin flips", disguise), subjects)
    return arrow.table(
        {
            "subject": rows.subject,
            "time": _START + rows.day * _DAY,
            "arm": arrow.array(list(NAMES)).take(arrow.array(rows.arm)),
            "reward": rows.reward,
        }
    )


def coin_counts(disguise: str, seed: int, *, subjects: int = 200, order: int = 0) -> Counts:
    """Return what ``fit_curves`` would count in :func:`coin_flips`, without an engine.

    The plain reference of the engine's counting, and quick enough for studies of many logs. Ties
    come in a random order, another for every ``order``; subjects are dealt at random, as hashes
    deal them. Equal counts are tested, up to those two draws.

    Examples
    --------
    >>> coin_counts("choosers", seed=1, subjects=50).events.sum()
    2000.0
    """
    rng = stream(seed, "logs", "coin counts", disguise, order)
    rows = DISGUISES[disguise](stream(seed, "logs", "coin flips", disguise), subjects)
    by_clock = "every" in READINGS[disguise]
    size = int(rows.subject.max()) + 1
    if by_clock:
        span = int(rows.day.max()) + 1
        play, who = np.unique(
            (rows.subject * span + rows.day) * 3 + rows.arm, return_inverse=True
        )
        subject, when, arm = play // (3 * span), play // 3 % span, play % 3
        reward = np.bincount(who, rows.reward) / np.bincount(who)
    else:
        line = np.lexsort((rng.random(len(rows.day)), rows.day, rows.subject))
        subject, arm, reward = rows.subject[line], rows.arm[line], rows.reward[line]
        when = np.arange(len(line)) - np.searchsorted(subject, subject)
    deal = rng.permutation(size)[subject]
    column = _columns(deal, arm, when)
    width = 1 + _REST + _STREAK
    cell, at = np.unique((arm * size + deal) * width + column, return_inverse=True)
    sums = (np.bincount(at, values) for values in (np.ones(len(at)), reward, reward**2))
    key = (cell // width % size, cell // width // size, cell % width)
    return Counts(NAMES, _REST, _STREAK, min(GROUPS, size), *key, *sums)


def _columns(subject: Ints, arm: Ints, when: Ints) -> Ints:
    """Return the column of the state of every play: first, rounds of rest, or plays in a row."""
    line = np.lexsort((when, arm, subject))
    who = (subject * 3 + arm)[line]
    first = np.append(True, who[1:] != who[:-1])
    gap = np.where(first, 0, np.diff(when[line], prepend=0))
    again = ~first & (gap == 1)
    place = np.arange(len(line))
    run = place - np.maximum.accumulate(np.where(again, 0, place))
    rested = np.where(first, 0, np.minimum(gap - 1, _REST))
    column = np.empty(len(line), dtype=np.int64)
    column[line] = np.where(again, _REST + np.minimum(run, _STREAK), rested)
    return column


def _ties(rng: np.random.Generator, subjects: int) -> _Rows:
    who = np.repeat(np.arange(subjects), 40)
    day = np.tile(np.repeat(np.arange(10), 4), subjects)
    size = len(who)
    return _Rows(who, day, rng.integers(3, size=size), rng.integers(2, size=size).astype(float))


def _batches(rng: np.random.Generator, subjects: int) -> _Rows:
    many = rng.integers(1, 7, size=(subjects, 15))
    who = np.repeat(np.arange(subjects), many.sum(axis=1))
    day = np.repeat(np.tile(np.arange(15), subjects), many.ravel())
    size = len(who)
    luck = rng.beta(2, 2, size=subjects)[who]
    return _Rows(who, day, rng.integers(3, size=size), (rng.random(size) < luck).astype(float))


def _walk(
    rng: np.random.Generator, subjects: int, days: int, stay: NDArray[np.float64]
) -> tuple[Ints, Ints]:
    """Return arms, and plays in a row before each, shape (subjects, days): ``stay`` repeats."""
    arms, runs = np.zeros((2, subjects, days), dtype=np.int64)
    arms[:, 0] = rng.integers(3, size=subjects)
    for day in range(1, days):
        same = rng.random(subjects) < stay
        other = (arms[:, day - 1] + rng.integers(1, 3, size=subjects)) % 3
        arms[:, day] = np.where(same, arms[:, day - 1], other)
        runs[:, day] = np.where(same, runs[:, day - 1] + 1, 0)
    return arms, runs


def _choosers(rng: np.random.Generator, subjects: int) -> _Rows:
    luck = rng.beta(2, 2, size=subjects)
    arms, _ = _walk(rng, subjects, 40, 0.1 + 0.8 * (1 - luck))
    paid = rng.random(arms.shape) < luck[:, None]
    return _flat(arms, paid.astype(float))


def _permuted(rng: np.random.Generator, subjects: int) -> _Rows:
    luck = rng.beta(2, 2, size=subjects)
    arms, runs = _walk(rng, subjects, 40, 0.1 + 0.8 * (1 - luck))
    paid = (rng.random(arms.shape) < luck[:, None] * 0.6**runs).astype(float)
    return _flat(arms, rng.permuted(paid, axis=1))


def _single(rng: np.random.Generator, subjects: int) -> _Rows:
    size = 10 * subjects
    return _Rows(
        np.arange(size),
        rng.integers(30, size=size),
        rng.integers(3, size=size),
        rng.integers(2, size=size).astype(float),
    )


def _flat(arms: Ints, paid: NDArray[np.float64]) -> _Rows:
    subjects, days = arms.shape
    who, day = np.repeat(np.arange(subjects), days), np.tile(np.arange(days), subjects)
    return _Rows(who, day, arms.ravel(), paid.ravel())


#: Every disguise, and how it is drawn.
DISGUISES: dict[str, Callable[[np.random.Generator, int], _Rows]] = {
    "ties": _ties,
    "batches": _batches,
    "choosers": _choosers,
    "permuted": _permuted,
    "single": _single,
}
#: How each is read: as its owner would have to.
READINGS: dict[str, dict[str, Any]] = {
    "ties": {"order": 0},
    "batches": {"every": "1d"},
    "choosers": {},
    "permuted": {},
    "single": {},
}
