"""Logs in which nothing wears out or recovers, in the disguises real logs come in.

Every reward is a coin's. Whoever finds an effect in one of these has found the disguise: they are
there to measure how often a fit raises a false alarm, and how honest its predictions are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.extras import load_extra
from lastswitch._utils.random import stream
from lastswitch.errors import LogError
from lastswitch.logs.armfit import FitRules
from lastswitch.logs.counts import GROUPS, Counts, sum_by
from lastswitch.logs.curvefit import CurveFit, fit_counts
from lastswitch.logs.fitting import agreed_orders
from lastswitch.logs.reading import Scale
from lastswitch.logs.summary import ORDERS, LogSummary

NAMES = ("jazz", "news", "talk")
_REST, _STREAK = 60, 20  # how deep states are told apart, as ``fit_curves`` does
_DAY = np.timedelta64(1, "D")
_START = np.datetime64("2024-01-01", "us")


class _Rows(NamedTuple):
    subject: IntArray
    day: IntArray
    arm: IntArray
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
    deal them. Up to those two draws the counts are the same.

    Examples
    --------
    >>> int(coin_counts("choosers", seed=1, subjects=50).events.sum())
    2000
    """
    rng = stream(seed, "logs", "coin counts", disguise, order)
    rows = DISGUISES[disguise](stream(seed, "logs", "coin flips", disguise), subjects)
    if "every" in READINGS[disguise]:  # several events of an arm in one round are one play
        size = int(rows.day.max()) + 1
        key = (rows.subject * size + rows.day) * len(NAMES) + rows.arm
        play, at = np.unique(key, return_inverse=True)
        day, arm = np.divmod(play, len(NAMES))
        reward = np.bincount(at, rows.reward) / np.bincount(at)
        return count_plays(NAMES, *np.divmod(day, size), arm, reward, rng)
    line = np.lexsort((rng.random(len(rows.day)), rows.day, rows.subject))
    subject = rows.subject[line]
    place = np.arange(len(line)) - np.searchsorted(subject, subject)
    return count_plays(NAMES, subject, place, rows.arm[line], rows.reward[line], rng)


def coin_fit(disguise: str, seed: int, *, subjects: int = 200) -> CurveFit:
    """Return the fit to :func:`coin_counts`, ties tried in several orders as a log's are.

    Examples
    --------
    >>> fit = coin_fit("single", seed=1, subjects=20)
    >>> {found.answer for row in fit.findings for found in row}
    {'unclear'}
    """
    fit = fit_plays(coin_counts(disguise, seed, subjects=subjects))
    if "order" not in READINGS[disguise]:
        return fit
    others = tuple(
        coin_counts(disguise, seed, subjects=subjects, order=order) for order in range(1, ORDERS)
    )
    return replace(fit, summary=replace(fit.summary, agreed=agreed_orders(fit, others)))


def fit_plays(counts: Counts) -> CurveFit:
    """Return the fit to counts that no log was read for."""
    plays, people = int(counts.events.sum()), int(np.unique(counts.subject).size)
    summary = LogSummary(plays, plays, people, 0, None, Scale("none"))
    return fit_counts(counts, summary, FitRules())


def count_plays(
    names: tuple[str, ...],
    subject: IntArray,
    when: IntArray,
    arm: IntArray,
    reward: NDArray[np.float64],
    rng: np.random.Generator,
) -> Counts:
    """Count plays by subject, arm and state; one row a play, ``when`` its round.

    Examples
    --------
    >>> rows = (np.array(column) for column in ([0, 0, 0], [0, 1, 3], [0, 0, 0], [1.0, 0.0, 1.0]))
    >>> count_plays(("jazz",), *rows, np.random.default_rng(0)).column.tolist()  # first, rest, row
    [0, 1, 61]
    """
    size, width = int(subject.max()) + 1, 1 + _REST + _STREAK
    deal = rng.permutation(size)[subject]
    column = _columns(deal * len(names) + arm, when)
    cell, at = np.unique((arm * size + deal) * width + column, return_inverse=True)
    sums = (sum_by(at, values, len(cell)) for values in (np.ones(len(at)), reward, reward**2))
    key = (cell // width % size, cell // width // size, cell % width)
    return Counts(names, _REST, _STREAK, min(GROUPS, size), *key, *sums)


def _columns(line: IntArray, when: IntArray) -> IntArray:
    """Return the column of every play's state; ``line`` is its subject and arm."""
    order = np.lexsort((when, line))
    who = line[order]
    first = np.append(True, who[1:] != who[:-1])
    gap = np.where(first, 0, np.diff(when[order], prepend=0))
    again = ~first & (gap == 1)
    place = np.arange(len(order))
    run = place - np.maximum.accumulate(np.where(again, 0, place))
    rested = np.where(first, 0, np.minimum(gap - 1, _REST))
    column = np.empty(len(order), dtype=np.int64)
    column[order] = np.where(again, _REST + np.minimum(run, _STREAK), rested)
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
) -> tuple[IntArray, IntArray]:
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


def _flat(arms: IntArray, paid: NDArray[np.float64]) -> _Rows:
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
