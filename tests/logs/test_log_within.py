"""Comparisons within subjects: right where pooled ones are not, and equal to their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.logs import fit_curves
from lastswitch.logs.counts import Counts
from lastswitch.logs.questions import pooled_contrast
from lastswitch.logs.within import FULL, fit_within, strata_of, within_contrast
from lastswitch.logs.worlds import coin_flips


def counts_of(cells):
    """Return counts of one arm from {(subject, column): rewards}."""
    keys = sorted(cells)
    subject, column = (np.array(part) for part in zip(*keys, strict=True))
    events = np.array([float(len(cells[key])) for key in keys])
    total = np.array([float(sum(cells[key])) for key in keys])
    return Counts(("a",), 2, 1, 200, subject, 0 * subject, column, events, total, total)


CELLS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 3)),
    st.lists(st.integers(0, 1), min_size=1, max_size=4),
    min_size=1,
    max_size=20,
)


@given(CELLS)
@settings(max_examples=60, deadline=None)
def test_the_contrast_is_mantel_and_haenszels(cells):
    """It equals the textbook formula, subject by subject."""
    above = below = 0.0
    for who in {subject for subject, _ in cells}:
        before = [r for c in (1, 2) for r in cells.get((who, c), [])]
        after = cells.get((who, 3), [])
        if before and after:
            weight = len(before) * len(after) / (len(before) + len(after))
            above += weight * (np.mean(after) - np.mean(before))
            below += weight
    found = within_contrast(strata_of(counts_of(cells), 0), [1, 2], [3], 0.95)
    if below:
        assert found.effect == pytest.approx(above / below)
    else:
        assert np.isnan(found.effect)


@given(CELLS)
@settings(max_examples=60, deadline=None)
def test_the_fit_is_least_squares_with_a_level_per_subject(cells):
    """Differences of means equal those of a plain regression on every single event."""
    rows = [(who, column, paid) for (who, column), pays in cells.items() for paid in pays]
    who, column, paid = (np.array(part) for part in zip(*rows, strict=True))
    people, columns = np.unique(who), np.unique(column)
    design = np.hstack([who[:, None] == people, column[:, None] == columns]).astype(float)
    fitted = fit_within(strata_of(counts_of(cells), 0), np.arange(4), 4)
    solution = np.linalg.lstsq(design, paid, rcond=None)[0]
    # Compare what the data identify: fitted values with each subject's own level put back.
    mine = fitted.means[column]
    level = {p: np.mean((paid - mine)[who == p]) for p in people}
    assert mine + [level[p] for p in who] == pytest.approx(design @ solution, abs=1e-3)
    # And the level is that of the average subject, who counts in full from a few events on.
    weight = {p: min((who == p).sum(), FULL) for p in people}
    assert sum(weight[p] * level[p] for p in people) == pytest.approx(0, abs=1e-9)


def harsh_bingers(seed, subjects=150, plays=40):
    """Return a world where a repeat costs 0.2, and unlucky subjects repeat far more."""
    rng = np.random.default_rng(seed)
    luck = rng.choice([-0.2, 0.2], subjects)
    repeats = rng.random((subjects, plays)) < np.where(luck > 0, 0.2, 0.8)[:, None]
    column = np.where(repeats, 3, 1)
    column[:, 0] = 0
    mean = np.where(column == 3, 0.4, 0.6) + luck[:, None]
    paid = rng.random(mean.shape) < mean
    key = (np.arange(subjects)[:, None] * 4 + column).ravel()
    events = np.bincount(key, minlength=4 * subjects).astype(float)
    total = np.bincount(key, paid.ravel(), minlength=4 * subjects)
    at = np.flatnonzero(events)
    sums = (events[at], total[at], total[at])
    return Counts(("a",), 2, 1, subjects, at // 4, 0 * at, at % 4, *sums)


def test_within_is_right_where_pooled_is_biased():
    """Over 60 worlds: the truth is -0.2; pooled says about -0.44; within covers at its rate."""
    found = [strata_of(harsh_bingers(seed), 0) for seed in range(60)]
    within = [within_contrast(strata, [1, 2], [3], 0.95) for strata in found]
    pooled = [pooled_contrast(strata, [1, 2], [3], 0.95) for strata in found]
    assert np.mean([one.effect for one in within]) == pytest.approx(-0.2, abs=0.01)
    assert np.mean([one.effect for one in pooled]) < -0.4
    assert np.mean([one.low <= -0.2 <= one.high for one in within]) >= 0.88
    assert not any(one.low <= -0.2 <= one.high for one in pooled)
    fits = [fit_within(strata, np.arange(4), 4) for strata in found]
    sure = np.array([np.abs(one.means - [0.6, 0.6, 0.6, 0.4]) <= 1.98 * one.errors for one in fits])
    assert (sure[:, [0, 1, 3]].mean(axis=0) >= 0.85).all()


def test_nothing_wears_out_among_rewards_shuffled_within_subjects():
    """Harsh subjects binge; shuffled within each, no reward can depend on a streak."""
    fit = fit_curves(coin_flips("permuted", seed=5))
    assert {found.answer for row in fit.findings for found in row} <= {"no", "unclear"}
    wear = fit.findings[0][0]
    assert wear.pooled < -0.1  # what all events alike would say
    assert "is not used" in wear.beside


def test_answers_need_several_subjects_who_were_seen_both_ways():
    """Three people, however busy, are three people."""
    table = coin_flips("choosers", seed=1, subjects=3)
    fit = fit_curves(table, min_events=5)
    assert {found.answer for row in fit.findings for found in row} == {"unclear"}
    assert "subjects were seen both" in fit.findings[0][0].words
